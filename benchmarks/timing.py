"""How long things take, measured in turns so that a busy machine troubles all of them alike."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter

Seconds = list[float]


def in_turns(runs: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, Seconds]:
    """Call every run once for warmth, then `repeats` times in the order A B C A B C; return the s of each call."""
    taken: dict[str, Seconds] = {name: [] for name in runs}
    for run in runs.values():
        run()
    for _ in range(repeats):
        for name, run in runs.items():
            start = perf_counter()
            run()
            taken[name].append(perf_counter() - start)
    return taken


def median_ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Return the median of the ratios of runs that were neighbours in time."""
    return median(a / b for a, b in zip(ours, theirs, strict=True))


def resident_memory() -> float:
    """Return the MB that this process takes; where the system does not say so in a file, the most it ever took."""
    said = Path("/proc/self/statm")
    if said.exists():
        return int(said.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
