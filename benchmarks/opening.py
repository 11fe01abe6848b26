"""A large file in the window: the time until its signals, and its indicators, are there, against a table drawn."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter, sleep

from benchmarks.figures import MB, SECONDS, Figure
from benchmarks.text_tables import HEADER, SIZE, write_table
from benchmarks.window_stage import application
from gui.sources.processes.run_loader import RunLoader
from monitor.system.worker_process import start_python

SUMMARY = "a CSV file in the window, from the start of a process to signals and to indicators, against a table drawn"
_MEMORY = 512 << 20  # bytes of the history, as in the window
_COLUMNS = "--command", "command", "--measured", "measured"
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
    """Yield the times of opening a file, over that of each other way that is installed, and the memory taken."""
    application()
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "run.csv"
        write_table(path, 1e6 if quick else SIZE)
        case = f"{path.stat().st_size / 1e6:.0f} MB, {HEADER.count(',') + 1} columns"
        first, complete, peak = _open(path)
        for against, read in _READ.items():
            if find_spec(against.partition(",")[0]):
                begin = perf_counter()
                subprocess.run([sys.executable, "-c", _TABLE_DRAWN.format(read=read), str(path)], check=True)
                other = perf_counter() - begin
                yield Figure(
                    "opening", f"{case}: to signals", first, SECONDS, None, against, other, first / other,
                    most=None if quick else 2.0,
                )  # fmt: skip
        yield Figure("opening", f"{case}: to indicators", complete, SECONDS)
        most = None if quick else 2.0 * path.stat().st_size / 1e6
        yield Figure("opening", f"{case}: memory of the process that reads, at most", peak / 1e6, MB, most=most)


def _open(path: Path) -> tuple[float, float, int]:
    """Return the times until signals and results are there, s, and the bytes that the process of them takes."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*words: object, **options: object) -> subprocess.Popen[bytes]:
        started.append(start_python(*words, **options))  # type: ignore[arg-type]
        return started[0]

    begin, first, peak = perf_counter(), 0.0, 0
    loader = RunLoader(path, _COLUMNS, _MEMORY, start)
    while not loader.done:
        loader.store()
        if loader.history is not None and not first:
            first = perf_counter() - begin
        if started:
            peak = max(peak, _resident(started[0].pid))
        sleep(0.005)
    if loader.failed:
        raise RuntimeError(loader.failed)
    return first, perf_counter() - begin, peak


def _resident(pid: int) -> int:
    """Return the largest memory of a process so far, bytes; 0 where it has ended, or the system does not tell."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)
