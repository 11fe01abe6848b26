"""Catalogue of runs: a folder listed from its index and without one, against a loop over all files with h5py."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median

import h5py
import numpy as np

from benchmarks.figures import MS, SECONDS, Figure
from benchmarks.timing import in_turns, median_ratio
from monitor.messages.blocks import (
    Channel,
    Column,
    Event,
    EventKind,
    ResultBlock,
    ResultStream,
    Role,
    SignalBlock,
    Stream,
)
from monitor.recording import RunWriter
from replay.runs.index import list_runs

SUMMARY = "runs of a folder listed from the index, and without it, against a loop with h5py"
RATE, EVERY, DURATION, RUNS = 1000, 10, 12, 300
ACTUATORS = "north", "south"
N_MEASURES = 25  # columns of an actuator, as by default
WARM_MOST = 0.1  # of the time of the loop


def run(quick: bool) -> Iterator[Figure]:
    """Yield the time of a listing from the index and of one that reads all files, over that of the loop."""
    runs, repeats = (3, 1) if quick else (RUNS, 5)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(folder / "run.h5")
        for number in range(1, runs):
            shutil.copyfile(folder / "run.h5", folder / f"run{number:03}.h5")
        taken = in_turns(
            {
                "warm": partial(list_runs, folder),
                "cold": partial(list_runs, folder, rebuild=True),
                "loop": partial(_loop, folder),
            },
            repeats,
        )
        listed = [row.worst_delay_ms for row in list_runs(folder).rows]
        # fitted levels, against the largest value
        np.testing.assert_allclose(listed, [found[2] for found in _loop(folder)], rtol=1e-4)
    other, size = median(taken["loop"]), f"{runs} runs of {DURATION} s at {RATE} Hz"
    # a row has more than the loop reads: losses, restarts, levels of the delay, what is damaged
    for kind, case, most in (("warm", "from the index", WARM_MOST), ("cold", "all files read", None)):
        ratio = median_ratio(taken[kind], taken["loop"])
        own, best = median(taken[kind]), min(taken[kind])
        yield Figure("runs", f"{size}, {case}", own, SECONDS, best, "loop, h5py", other, ratio, most_ratio=most)
    each = [1e3 * seconds / runs for seconds in taken["cold"]]
    yield Figure("runs", "a file that is new or changed", median(each), MS, min(each))


def _write(path: Path) -> None:
    """Record a run whose second actuator becomes later in the middle."""
    roles = Role.COMMAND, Role.MEASURED
    channels = tuple(Channel(f"{name}.{role}", role, "mm", name) for name in ACTUATORS for role in roles)
    stream = Stream("rig", 1, float(RATE), channels)
    names = ["broadband_delay", "broadband_delay_sd", "broadband_ratio", "broadband_ratio_sd"]
    names += [f"measure{n}" for n in range(N_MEASURES - len(names))]
    columns = tuple(Column(name, "s", actuator) for actuator in ACTUATORS for name in names)
    n = DURATION * RATE
    values = np.full((n // EVERY, len(columns)), 1e-4)
    values[:, [names.index("broadband_ratio"), N_MEASURES + names.index("broadband_ratio")]] = 1.0
    values[:, 0] = 0.012
    values[:, N_MEASURES] = np.where(np.arange(n // EVERY) < n // EVERY // 2, 0.01, 0.03)
    writer = RunWriter(path, {"indicators": {"window": 2.0}})
    time = np.arange(n + 1) / RATE
    samples = np.stack([np.sin(6.0 * (time - late)) for late in (0.0, 0.012, 0.0, 0.02)], 1)
    for start in range(0, n, RATE):
        writer.signals(SignalBlock(stream, start, float(time[start]), samples[start : start + RATE]))
        rows = slice(start // EVERY, (start + RATE) // EVERY)
        results = ResultStream("rig", 1, float(RATE), EVERY, columns)
        writer.results(ResultBlock(results, start, float(time[start]), values[rows]))
    writer.event(Event(EventKind.NOTE, 1.0, RATE, 0, "pump 2 on"))
    writer.signals(SignalBlock(stream, n, float(time[n]), samples[n:], last=True))
    writer.close()


def _loop(folder: Path) -> list[tuple[str, float, float, int, int]]:
    """Return outcome, duration, worst delay [ms], alarms and notes of the runs, as a script reads them."""
    found = []
    for path in sorted(folder.glob("*.h5")):
        with h5py.File(path) as file:
            time, events = file["signals/time"], file["events"]
            names = file["result_columns"]["name"]
            columns = [place for place, name in enumerate(names) if name.rstrip(b"\0") == b"broadband_delay"]
            # neighbouring columns are read at once: h5py is slow at lists of columns
            delays = file["results/values"][:][:, columns]
            kinds = events["kind"] if len(events) else np.empty(0, "S16")
            found.append(
                (
                    file["outcome"][()].rstrip(b"\0").decode(),
                    float(time[-1] - time[0]),
                    1e3 * float(delays.flat[np.nanargmax(np.abs(delays))]),
                    int(np.count_nonzero(kinds == b"alarm")),
                    int(np.count_nonzero(kinds == b"note")),
                )
            )
    return found
