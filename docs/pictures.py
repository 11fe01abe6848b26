"""Makes the pictures of the README from the real thing: ``python -m docs.pictures``."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from rich.console import Console

from monitor.commands.demo import stage

IMAGES = Path(__file__).parent / "images"
DURATION = 45.0
SHOWN = 0.97  # of the test, when the picture is taken
RATE = 1024.0


def dashboard(path: Path) -> None:
    """Run the demonstration and write what its dashboard shows shortly before the end."""
    console = Console(record=True, width=104, file=open(os.devnull, "w"), force_terminal=True)  # noqa: SIM115, PTH123
    with console.file, stage(DURATION, Path("runs/demo.h5"), console) as (watched, finished):
        while not finished() and (watched.health is None or watched.health.counts.received < SHOWN * DURATION * RATE):
            watched.take(0.1)
        console.print(watched.screen)
    path.write_text(console.export_svg(title="synchroscope demo"), encoding="utf-8")


def main() -> None:
    """Make all pictures."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        # the path of the recording is in the picture
        os.chdir(folder)
        Path("runs").mkdir()
        dashboard(IMAGES.resolve() / "dashboard.svg")
        os.chdir(IMAGES)


if __name__ == "__main__":
    main()
