"""Damaged run files, tables, settings and ensembles through every reader."""

from __future__ import annotations

import resource
import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial

from tests.campaign import damaged_run_files, damaged_tables
from tests.campaign.bench import Bench, Trial

_FULL, _SHORT = 20_000, 800
_EACH = 500


def trials(short: bool) -> list[Trial]:
    """Return what is tried: so many files in all, half of them run files."""
    total = (_SHORT if short else _FULL) // 2
    each = min(total, _EACH)
    ways: dict[str, Callable[..., None]] = {"run-files": read_run_files, "tables": read_tables}
    return [
        Trial(f"files/{name}-{number}", partial(run, files=each))
        for name, run in ways.items()
        for number in range(total // each)
    ]


def read_run_files(bench: Bench, *, files: int) -> None:
    """Read damaged run files by everything that reads such."""
    with warnings.catch_warnings():
        # what is only warned of here is a line on somebody's screen
        warnings.simplefilter("error")
        seed, readers = bench.chance.randrange(1 << 30), damaged_run_files.ALL
        found = damaged_run_files.campaign(bench.folder, files, seed, readers)
    _count(bench, files, found.faults)


def read_tables(bench: Bench, *, files: int) -> None:
    """Read damaged texts, settings and ensembles."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, faults = damaged_tables.campaign(bench.folder, files, bench.chance.randrange(1 << 30))
    _count(bench, files, faults)


def _count(bench: Bench, files: int, faults: Counter[str]) -> None:
    bench.tally.tried += files
    bench.tally.memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    for fault, count in faults.items():
        bench.fault(f"{count} times {fault}")
        if "longer than" in fault:
            bench.tally.hangs += count
        elif "not told" in fault:
            bench.tally.unannounced += count
        elif " at " in fault:
            bench.tally.tracebacks += count
        else:
            bench.tally.wrong += count
