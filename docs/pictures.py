"""Makes the pictures of the documentation from the real thing: ``python -m docs.pictures [PART ...]``."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from runpy import run_path

IMAGES = Path(__file__).parent.resolve() / "images"


def tracking() -> None:
    """Draw the cases of the paper on tracking indicators."""
    from replay.papers.tracking.blocks import study_blocks
    from replay.papers.tracking.study import PARTS, run_study
    from replay.pictures import save_figures

    (IMAGES / "tracking").mkdir(exist_ok=True, parents=True)
    save_figures(study_blocks(run_study(PARTS)), IMAGES / "tracking")


def diagrams() -> None:
    """Draw what was injected and what was indicated, and the examples of reliability."""
    from docs.picturing.diagrams import indicators, reliabilities

    reliabilities(IMAGES / "reliability")
    indicators(IMAGES / "indicators.png")


def terminal() -> None:
    """Write what the dashboard shows of a demonstration, and of a model that goes bad."""
    from docs.picturing.terminal import dashboard, rejection

    with tempfile.TemporaryDirectory() as folder:
        # the path of the recording is in the picture
        os.chdir(folder)
        Path("runs").mkdir()
        dashboard(IMAGES / "dashboard.svg")
        rejection(IMAGES / "reliability" / "watch.svg")
        os.chdir(IMAGES)


def identification() -> None:
    """Draw what two methods of parameter estimation predict."""
    from replay.papers.delays.pictures import prediction
    from replay.papers.delays.study import run_study

    levels = [level for level in run_study([0.1, 0.3]).levels if level.example.number == 3]
    (IMAGES / "identification").mkdir(exist_ok=True, parents=True)
    prediction(levels).savefig(IMAGES / "identification" / "prediction.png", dpi=90)


def thermal() -> None:
    """Draw the thermal challenge: material, experiments beside models, decision."""
    from replay.papers.thermal.blocks import study_blocks
    from replay.papers.thermal.study import run_study
    from replay.pictures import save_figures

    (IMAGES / "thermal").mkdir(exist_ok=True, parents=True)
    save_figures(study_blocks(run_study()), IMAGES / "thermal")


def laboratory() -> None:
    """Draw the loop that a delay makes unstable."""
    from replay.papers.loop.blocks import instability
    from replay.papers.loop.study import run_stability

    (IMAGES / "laboratory").mkdir(exist_ok=True, parents=True)
    instability(run_stability(1)).savefig(IMAGES / "laboratory" / "instability.png", dpi=90)


def updating() -> None:
    """Draw the force that a chain of four masses is missing."""
    from replay import silent
    from replay.papers.nonlinear.four_dof import force, identify_four_masses

    (IMAGES / "updating").mkdir(exist_ok=True, parents=True)
    force(identify_four_masses(1, 1, silent)).savefig(IMAGES / "updating" / "four-dof-force.png", dpi=80)


def gallery() -> None:
    """Run the programs of the gallery, each of which draws its own picture."""
    (IMAGES / "gallery").mkdir(exist_ok=True, parents=True)
    os.chdir(IMAGES / "gallery")
    for path in sorted((IMAGES.parent / "examples").glob("*.py")):
        if f'savefig("{path.stem}.png"' in path.read_text(encoding="utf-8"):
            run_path(str(path))


def window() -> None:
    """Photograph the window."""
    from docs.picturing.window import photograph

    photograph(IMAGES / "window")


PARTS: Mapping[str, Callable[[], None]] = {
    "tracking": tracking,
    "diagrams": diagrams,
    "identification": identification,
    "thermal": thermal,
    "laboratory": laboratory,
    "updating": updating,
    "gallery": gallery,
    "terminal": terminal,
    "window": window,
}


def main() -> None:
    """Make all pictures, or the parts that are named."""
    parser = argparse.ArgumentParser(prog="python -m docs.pictures", description="Make the pictures.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"one of {', '.join(PARTS)}; all by default")
    parts = parser.parse_args().parts or list(PARTS)
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        parser.error(f"there is no part {unknown[0]!r}: choose among {', '.join(PARTS)}")
    for part in parts:
        PARTS[part]()


if __name__ == "__main__":
    main()
