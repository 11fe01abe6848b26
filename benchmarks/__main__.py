"""`python -m benchmarks [NAME ...]`: measure, compare, and say whether the targets are met."""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict
from importlib import import_module
from typing import Any

from rich.console import Console

from benchmarks import truth
from benchmarks.figures import Figure, table

NAMES = (
    "truth",
    "kernels",
    "embedding",
    "throughput",
    "latency",
    "overload",
    "client",
    "broker",
    "recording",
    "realizations",
    "archive",
    "runs",
    "text_tables",
    "reliability",
    "delay_fits",
    "missing_force",
    "conduction",
    "chains",
    "updating",
    "opening",
    "frames",
    "window_latency",
    "watching",
    "endurance",
)


def main(words: Sequence[str] | None = None) -> int:
    """Run the benchmarks that are named, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}; default all")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it run, not how fast it is")
    arguments = parser.parse_args(words)
    unknown = [name for name in arguments.names if name not in NAMES]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}: choose from {', '.join(NAMES)}")
    figures: list[Figure] = []
    truths: list[truth.Truth] = []
    for name in arguments.names or NAMES:
        benchmark = import_module(f"benchmarks.{name}")
        print(f"{name}: {benchmark.SUMMARY} ...", file=sys.stderr, flush=True)
        for row in benchmark.run(arguments.quick):
            if isinstance(row, truth.Truth):
                truths.append(row)
            else:
                figures.append(row)
    machine = _machine()
    if arguments.json:
        rows = [asdict(figure) | {"met": figure.met} for figure in figures]
        truth_rows = [asdict(row) | {"honest": truth.is_honest(row)} for row in truths]
        print(json.dumps(without_nan({"machine": machine, "figures": rows, "truth": truth_rows}), indent=1))
    else:
        # a table wider than a pipe's 80 columns would be cut
        console = Console(width=None if sys.stdout.isatty() else 170)
        if truths:
            console.print(truth.table(truths))
        if figures:
            console.print(table(figures))
        console.print(", ".join(f"{key} {value}" for key, value in machine.items()), style="dim")
    return 0


def without_nan(value: Any) -> Any:
    """Return the value with None for what is no number: JSON knows no NaN."""
    if isinstance(value, dict):
        return {key: without_nan(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _machine() -> dict[str, object]:
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    return {
        "python": platform.python_version(),
        "system": platform.system(),
        "processor": platform.machine(),
        "cores": os.cpu_count() or 0,
        "load": round(load, 2),
    }


if __name__ == "__main__":
    sys.exit(main())
