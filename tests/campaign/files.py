"""Damaged run files, recordings of every format, settings and ensembles through every reader."""

from __future__ import annotations

import resource
from collections import Counter
from collections.abc import Callable
from functools import partial

from tests.campaign import damaged_files, damaged_run_files
from tests.campaign.bench import Bench, Trial

_FULL, _SHORT = 20_000, 800
_EACH = 500


def trials(short: bool) -> list[Trial]:
    """Return what is tried: so many files in all, half of them run files."""
    total = (_SHORT if short else _FULL) // 2
    each = min(total, _EACH)
    ways: dict[str, Callable[..., None]] = {"run-files": read_run_files, "others": read_files}
    return [
        Trial(f"files/{name}-{number}", partial(run, files=each))
        for name, run in ways.items()
        for number in range(total // each)
    ]


def read_run_files(bench: Bench, *, files: int) -> None:
    """Read damaged run files by everything that reads such."""
    seed, readers = bench.chance.randrange(1 << 30), damaged_run_files.ALL
    _count(bench, files, damaged_run_files.campaign(bench.folder, files, seed, readers)[1])


def read_files(bench: Bench, *, files: int) -> None:
    """Read damaged recordings of every format, settings and ensembles."""
    _count(bench, files, damaged_files.campaign(bench.folder, files, bench.chance.randrange(1 << 30))[1])


def _count(bench: Bench, files: int, faults: Counter[str]) -> None:
    bench.tally.tried += files
    bench.tally.memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    for fault, count in faults.items():
        bench.fault(f"{count} times {fault}")
        if "longer than" in fault:
            bench.tally.hangs += count
        elif "by signal" in fault:
            bench.tally.aborts += count
        elif "not told" in fault:
            bench.tally.unannounced += count
        elif " at " in fault:
            bench.tally.tracebacks += count
        else:
            bench.tally.wrong += count
