"""Whether a missing force is within its band, by case: `python -m benchmarks.force_bands [--quick]`, 100 seeds."""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks.force_records import CASES, known_force
from replay.identification.missing_force import find_missing_force

SEEDS = 100
_BAND = 1.96


@dataclass(frozen=True)
class ForceBand:
    """What became of the records of one case.

    Parameters
    ----------
    case, seeds : which, how many.
    covered, covered_error : share of the instants within the band of 95 %, mean over seeds and its standard error;
        of the process alone, and with the laws. A band of few coefficients is of one piece.
    width : 1.96 standard deviations, rms, over 1.96 times the rms error.
    error : rms error over the force's rms; of the process, and with laws.
    laws : how often each law was the best.
    scores : rms of (estimate - truth) / standard error, of each coefficient where the law is the right one.
    nothing : share of the records of which it is said that nothing is missing.
    doubts : how often each was said.
    seconds : of the processor, of one record, median.
    """

    case: str
    seeds: int
    covered: tuple[float, float]
    covered_error: tuple[float, float]
    width: tuple[float, float]
    error: tuple[float, float]
    laws: dict[str, int]
    scores: dict[str, float]
    nothing: float
    doubts: dict[str, int]
    seconds: float


def judge(name: str, seed: int) -> dict[str, Any]:
    """Return what was found in one record, as numbers and words."""
    case = CASES[name]
    known = known_force(case, seed)
    began = process_time()
    found = find_missing_force(known.recording, known.model)
    seconds, squares = process_time() - began, float(np.mean(known.force**2))
    ways = ((found.recovered.force, found.recovered.force_sd), (found.force, found.force_sd))
    errors = [force[:, 0] - known.force for force, _ in ways]
    spreads = [sd[:, 0] for _, sd in ways]
    best = found.laws[0] if found.laws else None
    law = ", ".join(sorted(best.names)) if best is not None else ""
    scores: list[float] = []
    if best is not None and law == case.law and len(case.coefficients) == len(best.names):
        true = dict(zip(case.law.split(", "), case.coefficients, strict=True))
        order = [true[each] for each in best.names]
        scores = ((best.coefficients - order) / best.standard_errors).tolist()
    return {
        "case": name,
        "seed": seed,
        "covered": [float(np.mean(np.abs(e) <= _BAND * sd)) for e, sd in zip(errors, spreads, strict=True)],
        "square_errors": [float(np.mean(each**2)) for each in errors],
        "variances": [float(np.mean(each**2)) for each in spreads],
        "squares": squares,
        "law": law,
        "names": list(best.names) if best is not None else [],
        "scores": scores,
        "residual": best.fit.sigma if best is not None and best.fit is not None else None,
        "by_laws": 1.0 - float(found.weights[0]),
        "nothing": all(found.nothing),
        "doubts": list(found.warnings),
        "seconds": seconds,
    }


def summary(name: str, rows: Sequence[dict[str, Any]]) -> ForceBand:
    """Return the means over the seeds of a case."""
    covered, squares, variances = (
        np.array([row[key] for row in rows]) for key in ("covered", "square_errors", "variances")
    )
    whole = np.mean([row["squares"] for row in rows])
    right = [row for row in rows if row["scores"]]
    scores = np.sqrt(np.nanmean(np.square([row["scores"] for row in right]), axis=0)) if right else []
    names = right[0]["names"] if right else []
    doubts = Counter(" ".join(each.split()[:7]) for row in rows for each in row["doubts"])
    with np.errstate(divide="ignore", invalid="ignore"):
        width = np.sqrt(variances.mean(axis=0) / squares.mean(axis=0))
        error = np.sqrt(squares.mean(axis=0) / whole)
    spread = covered.std(axis=0) / np.sqrt(len(rows))
    first, second, third, fourth = ((float(a), float(b)) for a, b in (covered.mean(axis=0), spread, width, error))
    laws = Counter(row["law"] or "none" for row in rows)
    return ForceBand(
        name, len(rows), first, second, third, fourth, dict(laws.most_common()),
        dict(zip(names, np.asarray(scores).tolist(), strict=True)), float(np.mean([row["nothing"] for row in rows])),
        dict(doubts.most_common()), float(np.median([row["seconds"] for row in rows])),
    )  # fmt: skip


def table(rows: Sequence[ForceBand]) -> Table:
    """Return them as one table for a terminal."""
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for i, heading in enumerate(
        (
            "case",
            "seeds",
            "covered",
            "laws'",
            "width",
            "laws'",
            "error %",
            "laws'",
            "laws",
            "z",
            "nothing",
            "doubts",
            "s",
        )
    ):
        grid.add_column(heading, justify="right" if 0 < i < 8 else "left")
    for row in rows:
        covered = [f"{mean:.3f} ± {sd:.3f}" for mean, sd in zip(row.covered, row.covered_error, strict=True)]
        numbers = [*(f"{each:.2f}" for each in row.width), *(f"{100.0 * each:.3g}" for each in row.error)]
        laws = ", ".join(f"{count} {law}" for law, count in row.laws.items())
        scores = ", ".join(f"{score:.2f}" for score in row.scores.values())
        doubts = "; ".join(f"{count} {doubt}" for doubt, count in row.doubts.items())
        grid.add_row(
            row.case,
            str(row.seeds),
            *covered,
            *numbers,
            laws,
            scores,
            f"{row.nothing:.2f}",
            doubts,
            f"{row.seconds:.1f}",
        )
    return grid


def main(words: Sequence[str] | None = None) -> int:
    """Judge cases and seeds in processes, each in a line of a file, from which the table is made at any time."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.force_bands", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help="beginning of a name; all by default")
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"0 to this (default {SEEDS})")
    parser.add_argument("--quick", action="store_true", help="two seeds: does it run")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--rows", type=Path, help="a file of lines of JSON; what it has is not done again")
    arguments = parser.parse_args(words)
    chosen = [name for name in CASES if not arguments.cases or any(map(name.startswith, arguments.cases))]
    kept: Path = arguments.rows or Path(os.devnull)
    kept.touch()
    rows = [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()]
    done = {(row["case"], row["seed"]) for row in rows}
    # the seeds of all cases in turn, so that a part of them is a part of each
    wanted = [
        (name, seed)
        for seed in range(2 if arguments.quick else arguments.seeds)
        for name in chosen
        if (name, seed) not in done
    ]
    with get_context("spawn").Pool(arguments.processes) as pool, kept.open("a", encoding="utf-8") as file:
        for row in pool.imap_unordered(_judged, wanted):
            print(json.dumps(row), file=file, flush=True)
            rows.append(row)
    found = [summary(name, of) for name in chosen if (of := [row for row in rows if row["case"] == name])]
    Console(width=220).print(table(found))
    return 0


def _judged(which: tuple[str, int]) -> dict[str, Any]:
    return judge(*which)


if __name__ == "__main__":
    raise SystemExit(main())
