"""Archive: runs at 1 kHz by FDB and PAEI, as a share of real time on one core; two processes against one."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median
from time import process_time

import numpy as np

from benchmarks.figures import MS, REAL_TIME, SECONDS, Figure
from benchmarks.timing import in_turns, median_ratio
from replay.archive import Archive, Assigned, assess_archive, assess_file
from replay.formats import Selection
from replay.workers import ProcessWorkers, run_tasks

SUMMARY = "runs of an archive by FDB and PAEI at 1 kHz: one core against real time, two processes against one"
RATE, DURATION, RUNS = 1000, 600.0, 8
MOST = 1.0 / 1000.0
GIVEN = {"measures": ("fdb", "paei"), "window": 2.0}


def run(quick: bool) -> Iterator[Figure]:
    """Yield the CPU time of a run over its duration, by format, and the time of all runs by 1 and 2 processes."""
    duration, runs, repeats = (20.0, 2, 1) if quick else (DURATION, RUNS, 3)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(runs):
            _write(folder / f"run{number:02}.npz", duration, 0.001 * number)
        table = folder / "run.csv"
        with np.load(folder / "run01.npz") as run:
            columns = [run[each] for each in ("time", "command", "measured")]
            np.savetxt(table, np.column_stack(columns), "%.6g", ",", header="time,command,measured", comments="")
        for path, most in ((folder / "run01.npz", MOST), (table, None)):
            assigned = Assigned(str(path), path.name, dict(GIVEN), Selection())
            shares = [_cpu(partial(assess_file, assigned)) / duration for _ in range(repeats + 1)][1:]
            case = f"one core, {path.suffix}, {duration:.0f} s at 1 kHz"
            yield Figure("archive", case, median(shares), REAL_TIME, min(shares), most=most)
        table.unlink()
        one, two = (partial(_archive, folder, number) for number in (1, 2))
        taken = in_turns({"one": one, "two": two}, repeats)
        ratio = median_ratio(taken["two"], taken["one"])
        case = f"{runs} runs of {duration:.0f} s, 2 processes with their start"
        two_best, one_median = min(taken["two"]), median(taken["one"])
        yield Figure("archive", case, median(taken["two"]), SECONDS, two_best, "1 process", one_median, ratio)
    yield _overhead(20 if quick else 500)


def _write(path: Path, duration: float, late: float) -> None:
    t = np.arange(round(duration * RATE)) / RATE
    rng = np.random.default_rng(1)

    def motion(at: np.ndarray) -> np.ndarray:
        return np.sin(2 * np.pi * 1.5 * at) + 0.3 * np.sin(2 * np.pi * 4.0 * at)

    measured = 0.97 * motion(t - late) + 1e-3 * rng.standard_normal(len(t))
    np.savez(path, time=t, command=motion(t), measured=measured)


def _cpu(function: partial) -> float:
    start = process_time()
    function()
    return process_time() - start


def _archive(folder: Path, number: int) -> None:
    table = folder.parent / f"{folder.name}.csv"
    try:
        with ProcessWorkers(number) as workers:
            assess_archive(Archive((folder,), table, GIVEN), workers)
    finally:
        for path in (table, table.with_name(f"{table.name}.rows")):
            path.unlink(missing_ok=True)


def _overhead(tasks: int) -> Figure:
    """Return the time of a task that does nothing, without the start of the process."""
    with ProcessWorkers(1) as workers:
        list(run_tasks(workers, abs, range(1)))
        taken = in_turns({"tasks": lambda: list(run_tasks(workers, abs, range(tasks)))}, 3)["tasks"]
    each = [1e3 * seconds / tasks for seconds in taken]
    return Figure("archive", "a task that does nothing, by a process", median(each), MS, min(each))
