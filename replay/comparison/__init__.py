"""Recorded runs compared with a reference: aligned in time, figure by figure, within tolerances."""

from __future__ import annotations

from replay.comparison.quantities import KEYS, P_MEANING, Quantity, Tolerance, chance_text, parse_tolerance
from replay.comparison.runs import ActuatorComparison, Alignment, AssessedRun, RunComparison, assess_run, compare_runs

__all__ = [
    "KEYS",
    "P_MEANING",
    "ActuatorComparison",
    "Alignment",
    "AssessedRun",
    "Quantity",
    "RunComparison",
    "Tolerance",
    "assess_run",
    "chance_text",
    "compare_runs",
    "parse_tolerance",
]
