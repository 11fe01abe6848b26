"""What the headline of an actuator says over the record: whether its delay changes, and the error that it makes."""

from __future__ import annotations

import cmath
import math

from replay.assessment.results import PairAssessment

# the delay changes when its range is so many standard deviations of one window, s, and of its median
_CHANGE_SDS, _CHANGE, _CHANGE_SHARE = 6.0, 1e-3, 0.1
# and the ratio, of its median
_RATIO_CHANGE = 0.02


def delay_changes(found: PairAssessment) -> bool:
    """Whether the headline's delay is not the same throughout the record."""
    spread = found.spreads.get("broadband_delay")
    if found.headline is None or spread is None:
        return False
    least = max(_CHANGE_SDS * found.headline.delay_sd, _CHANGE, _CHANGE_SHARE * abs(found.headline.delay))
    return bool(spread.p95 - spread.p05 > least)


def ratio_changes(found: PairAssessment) -> bool:
    """Whether the headline's ratio is not the same throughout the record."""
    spread = found.spreads.get("broadband_ratio")
    if found.headline is None or spread is None:
        return False
    least = max(_CHANGE_SDS * found.headline.ratio_sd, _RATIO_CHANGE * found.headline.ratio)
    return bool(spread.p95 - spread.p05 > least)


def milliseconds(seconds: float) -> str:
    """Return a delay in ms with one decimal, and no minus before a zero."""
    return f"{round(1e3 * seconds, 1) + 0.0:.1f}"


def farthest_delay(found: PairAssessment) -> float:
    """Return the headline's delay [s]; where it changes, its 5 % or 95 %, whichever is farther from zero."""
    if found.headline is None:
        return math.nan
    if not delay_changes(found):
        return found.headline.delay
    spread = found.spreads["broadband_delay"]
    return max(spread.p05, spread.p95, key=abs)


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
