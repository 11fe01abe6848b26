"""Several actuators side by side: which is worst, and how far they are apart."""

from __future__ import annotations

import cmath
import math
from collections.abc import Iterator, Sequence

from replay.assessment.results import PairAssessment, RecordWarning

# s, and standard deviations of both, from which two delays are different
_APART, _APART_SDS = 1e-3, 3.0


def phase_at_dominant(found: PairAssessment) -> tuple[float, float]:
    """Return the phase [rad] that the headline's delay is at the dominant frequency, and that frequency [Hz]."""
    spread = found.spreads.get("fdb_frequency")
    if found.headline is None or spread is None:
        return math.nan, math.nan
    return -2.0 * math.pi * spread.median * found.headline.delay, spread.median


def synchronization_error(found: PairAssessment) -> float:
    """Return |measured - command| over |command| that the headline makes of the dominant motion; NaN: unknown."""
    phase, _ = phase_at_dominant(found)
    if found.headline is None or not math.isfinite(phase * found.headline.ratio):
        return math.nan
    return abs(cmath.rect(1.0 / found.headline.ratio, phase) - 1.0)


def actuator_warnings(pairs: Sequence[PairAssessment]) -> Iterator[RecordWarning]:
    """Say that the actuators of a record are not equally late."""
    known = sorted(
        ((p.pair.actuator, p.headline) for p in pairs if p.headline is not None and math.isfinite(p.headline.delay)),
        key=lambda each: each[1].delay,
    )
    if len(known) < 2:
        return
    (first, least), (last, most) = known[0], known[-1]
    apart = most.delay - least.delay
    if apart > max(_APART, _APART_SDS * math.hypot(least.delay_sd, most.delay_sd)):
        yield RecordWarning(
            "actuators_differ",
            f"the actuators are not equally late: {first} {1e3 * least.delay:.1f} ms, "
            f"{last} {1e3 * most.delay:.1f} ms, "
            f"{1e3 * apart:.1f} ms apart; "
            "compensate each by its own delay",
        )
