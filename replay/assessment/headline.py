"""What the headline of an actuator says over the record: whether its delay changes, and the error that it makes."""

from __future__ import annotations

import cmath
import math

from replay.assessment.results import PairAssessment


def delay_changes(found: PairAssessment) -> bool:
    """Whether the headline's delay is not the same throughout the record."""
    return found.headline is not None and found.headline.delay_range is not None


def milliseconds(seconds: float) -> str:
    """Return a delay in ms with one decimal, and no minus before a zero."""
    return f"{round(1e3 * seconds, 1) + 0.0:.1f}"


def farthest_delay(found: PairAssessment) -> float:
    """Return the headline's delay [s]; where it changes, the end of its range that is farther from zero."""
    if found.headline is None:
        return math.nan
    if found.headline.delay_range is None:
        return found.headline.delay
    return max(found.headline.delay_range, key=abs)


def phase_at_dominant(found: PairAssessment) -> tuple[float, float]:
    """Return the phase [rad] that the farthest delay is at the dominant frequency, and that frequency [Hz]."""
    spread = found.spreads.get("fdb_frequency")
    if spread is None:
        return math.nan, math.nan
    return -2.0 * math.pi * spread.median * farthest_delay(found), spread.median


def synchronization_error(found: PairAssessment) -> float:
    """Return |measured - command| over |command| that the headline makes of the dominant motion; NaN: unknown."""
    phase, _ = phase_at_dominant(found)
    if found.headline is None or not math.isfinite(phase * found.headline.ratio):
        return math.nan
    return abs(cmath.rect(1.0 / found.headline.ratio, phase) - 1.0)
