"""Large files in the window, as a user opens them: the time until curves, signals and indicators are there.

`python -m benchmarks.opening FILE` opens one, and prints times [s], memory of what reads, and of all [MB] as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter, sleep

# first, as it says on which screen Qt draws
from benchmarks import window_stage as stage  # isort: skip

import numpy as np
from PySide6.QtCore import QSettings

from benchmarks.figures import MB, SECONDS, Figure
from benchmarks.text_tables import HEADER, SIZE, write_table
from gui.model.history import History
from gui.window.application import Program
from gui.window.launch import LaunchOptions
from monitor.__main__ import offers
from monitor.messages.blocks import Channel, Role, SignalBlock, Stream
from monitor.recording import RunWriter

SUMMARY = "a CSV and a run file in the window, to curves of some rows, signals and indicators, against a table drawn"
# what one would write: read all, draw all columns, look at the picture
_TABLE_DRAWN = """
import sys
import pyqtgraph as pg
application = pg.mkQApp()
{read}
plot = pg.PlotWidget()
plot.resize(1280, 720)
plot.setDownsampling(auto=True, mode="peak")
plot.setClipToView(True)
for column in range(1, cells.shape[1]):
    plot.plot(cells[:, 0], cells[:, column])
plot.show()
application.processEvents()
plot.grab()
"""
_READ = {
    "pandas, pyqtgraph": "import pandas\ncells = pandas.read_csv(sys.argv[1]).to_numpy()",
    "polars, pyqtgraph": "import polars\ncells = polars.read_csv(sys.argv[1]).to_numpy()",
}


def run(quick: bool) -> Iterator[Figure]:
    """Yield the times of opening two files, over that of each other way that is installed, and the memory taken."""
    size = 1e6 if quick else SIZE
    with tempfile.TemporaryDirectory() as name:
        table, recorded = Path(name) / "run.csv", Path(name) / "run.h5"
        write_table(table, size)
        _write_run(recorded, size)
        for path in (table, recorded):
            case = f"{path.stat().st_size / 1e6:.0f} MB of {path.suffix[1:]}, {HEADER.count(',')} signals"
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.opening", path], stdout=subprocess.PIPE, check=True
            )
            times, own, peak = json.loads(done.stdout)
            yield Figure("opening", f"{case}: to curves", times[0], SECONDS, most=None if quick else 2.0)
            for against, read in _READ.items() if path is table else ():
                if find_spec(against.partition(",")[0]):
                    begin = perf_counter()
                    subprocess.run([sys.executable, "-c", _TABLE_DRAWN.format(read=read), str(path)], check=True)
                    other = perf_counter() - begin
                    yield Figure(
                        "opening", f"{case}: to signals", times[1], SECONDS, None, against, other, times[1] / other,
                        most=None if quick else 2.0,
                    )  # fmt: skip
            if path is recorded:
                yield Figure("opening", f"{case}: to signals", times[1], SECONDS)
            yield Figure("opening", f"{case}: to indicators", times[2], SECONDS)
            most = None if quick else 2.0 * path.stat().st_size / 1e6
            yield Figure("opening", f"{case}: memory of the process that reads, at most", own, MB, most=most)
            yield Figure("opening", f"{case}: of the window and it, at most", peak, MB)


def _write_run(path: Path, size: float) -> None:
    writer, rng, block = RunWriter(path, {}), np.random.default_rng(5), 1 << 15
    channels = (
        *(Channel(f"{role}", role, "mm", "a") for role in (Role.COMMAND, Role.MEASURED, Role.FORCE)),
        *(Channel(name, Role.AUXILIARY, "", "") for name in ("lvdt", "oil")),
    )
    stream = Stream("run", 1, stage.RATE, channels)
    # epoch, index and time are beside the samples
    for index in range(0, int(size / (8 * (len(channels) + 3))), block):
        samples = rng.standard_normal((block, len(channels)))
        writer.signals(SignalBlock(stream, index, index / stage.RATE, samples))
    writer.close()


def _open(path: Path, folder: Path) -> tuple[tuple[float, ...], float, float]:
    """Return the times until curves, signals and results are there, s; and the MB of the reader, and of all."""
    application = stage.application()
    store = QSettings(str(folder / f"{path.name}.ini"), QSettings.Format.IniFormat)
    program = Program(offers(), store, LaunchOptions())
    program.start()
    program.window.resize(*stage.SIZE)
    stage.settle()
    begin, times, own, peak = perf_counter(), dict[str, float](), 0.0, 0.0
    program.sources.opener.open_path(path)
    while program.sessions.player is None:
        application.processEvents()
        if _is_drawn(program, program.connection.history):
            stage.settle()
            coarse = bool(program.connection.history.recording and program.connection.history.recording.coarse)
            times.setdefault("curves", perf_counter() - begin)
            if not coarse:
                times.setdefault("signals", perf_counter() - begin)
        readers = _children()
        own = max(own, sum(readers))
        peak = max(peak, sum(readers) + _resident(os.getpid()))
        if any("error" in entry.line for entry in program.window.notification_bar.log.entries):
            raise RuntimeError(program.window.notification_bar.log.entries[-1].line)
        sleep(0.005)
    times["indicators"] = perf_counter() - begin
    program.window.close_now()
    program.finish()
    return (times["curves"], times["signals"], times["indicators"]), own, peak


def _is_drawn(program: Program, history: History) -> bool:
    return history.recording is not None and program.window.is_configured and history.end_x > 0.0


def _children() -> list[float]:
    """Return the memory of the processes that this one has started, MB; nothing where the system does not tell."""
    tasks = Path(f"/proc/{os.getpid()}/task")
    found = [
        word for task in (tasks.iterdir() if tasks.exists() else ()) for word in _read(task / "children").split()
    ]
    return [_resident(int(pid)) for pid in found]


def _resident(pid: int) -> float:
    lines = _read(Path(f"/proc/{pid}/status")).splitlines()
    return next((int(line.split()[1]) / 1e3 for line in lines if line.startswith("VmRSS:")), 0.0)


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="synchroscope-benchmark-") as place:
        print(json.dumps(_open(Path(sys.argv[1]), Path(place))))
