"""What a window that watches costs the service: the way of a sample with it, and without."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.figures import COUNT, REAL_TIME, US, Figure
from benchmarks.lanes import ServiceLane
from benchmarks.latency import measure
from benchmarks.timing import median_ratio

SUMMARY = "source to result over loopback TCP, 8 pairs at 1 kHz, one sample a message, the window watching or not"
RATE, N_PAIRS, WINDOW = 1000.0, 8, 1.0
AGAINST = "no window"
STALL = 5e-3  # s

Turns = list[list[float]]


def run(quick: bool) -> Iterator[Figure]:
    """Yield latencies of two services in turns: the window watches one, and rests while the other has its turn."""
    per_turn, turns, warm = (50, 2, 3000) if quick else (1000, 30, 8000)
    taken: dict[str, Turns] = {"watched": [], "alone": []}
    busy = 0.0
    with (
        ServiceLane(N_PAIRS, RATE, WINDOW) as watched,
        ServiceLane(N_PAIRS, RATE, WINDOW) as alone,
        _window(watched.results) as window,
    ):
        lanes = {"watched": watched, "alone": alone}
        following = {name: lane.start() for name, lane in lanes.items()}
        for turn in range(turns + 1):
            # the first also lets the window open
            n = per_turn if turn else warm
            for name, lane in lanes.items():
                before = _processor_time(window.pid)
                latencies = measure(lane, following[name], n)
                following[name] += n
                if turn:
                    taken[name].append(latencies)
                    busy += _processor_time(window.pid) - before if lane is watched else 0.0
        if window.poll() is not None:
            raise RuntimeError(f"the window ended by itself, with exit code {window.returncode}")
    yield from _figures(taken["watched"], taken["alone"])
    if busy:
        yield Figure("window_latency", "processor time of the window", busy * RATE / (turns * per_turn), REAL_TIME)


@contextmanager
def _window(results: str) -> Iterator[subprocess.Popen[bytes]]:
    """Open the real window offscreen, with default settings."""
    with TemporaryDirectory(prefix="synchroscope-benchmark-") as home:
        surroundings = {"QT_QPA_PLATFORM": "offscreen", **os.environ, "XDG_CONFIG_HOME": home}
        command = [sys.executable, "-m", "monitor", "gui", "--connect", results]
        with subprocess.Popen(command, env=surroundings, stderr=subprocess.DEVNULL) as process:
            try:
                yield process
            finally:
                process.terminate()


def _processor_time(pid: int) -> float:
    """Return the s that a process has computed; 0 where the system does not say so in a file."""
    said = Path(f"/proc/{pid}/stat")
    if not said.exists():
        return 0.0
    # what follows the name, which may contain anything
    fields = said.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _figures(watched: Turns, alone: Turns) -> Iterator[Figure]:
    medians = [1e6 * median(turn) for turn in watched], [1e6 * median(turn) for turn in alone]
    value, other, ratio = median(medians[0]), median(medians[1]), median_ratio(*medians)
    yield Figure("window_latency", "median", value, US, min(medians[0]), AGAINST, other, ratio, most_ratio=1.2)
    flat = 1e6 * np.concatenate(watched), 1e6 * np.concatenate(alone)
    for case, percent in (("99th percentile", 99.0), ("largest", 100.0)):
        a, b = (float(np.percentile(x, percent)) for x in flat)
        yield Figure("window_latency", case, a, US, None, AGAINST, b, a / b)
    a, b = (float(np.count_nonzero(x > 1e6 * STALL)) for x in flat)
    yield Figure("window_latency", "stalls over 5 ms", a, COUNT, None, AGAINST, b)
