"""The headline of an actuator in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from monitor.messages.blocks import ratio_unit, units_differ
from replay.assessment.headline import milliseconds

if TYPE_CHECKING:
    from replay.assessment import Assessment, PairAssessment

_MOST_DECIMALS = 3
# ms, from which one decimal shows a delay
_SHOWN = 0.05
# a ratio that is nearer to 1, in standard deviations or by itself, is right
_RIGHT_SDS, _RIGHT = 2.0, 5e-4


def headline_words(found: PairAssessment, assessment: Assessment) -> str:
    """Return in one line how late and how large an actuator was."""
    name, headline, window = found.pair.actuator, found.headline, assessment.settings.window
    if headline is None:
        return f"{name}: no headline: broadband is not among the measures"
    over = f"broadband over a window of {window:.4g} s"
    if not math.isfinite(headline.delay):
        return f"{name}: no delay from {over}{_instead(found)}"
    return f"{name}: {_delay(found)}, {_ratio(found, assessment)}, {over}"


def plus_minus(value: float, sd: float) -> str:
    """Return ``12.0 ± 0.1``, with as many decimals as the standard deviation allows; a dash for NaN."""
    if not math.isfinite(value):
        return "—"
    if not math.isfinite(sd):
        return f"{value:.4g}"
    # one digit of the standard deviation, two where the first is a one
    decimals = _MOST_DECIMALS if sd <= 0.0 else -math.floor(math.log10(sd / 2.0))
    decimals = min(max(decimals, 0), _MOST_DECIMALS)
    least = 10.0**-decimals
    value = 0.0 if abs(value) < 0.5 * least else value
    return f"{value:.{decimals}f} ± {f'{sd:.{decimals}f}' if sd >= 0.5 * least else f'<{least:.{decimals}f}'}"


def _instead(found: PairAssessment) -> str:
    """Return what FDB says where the headline says nothing; empty where it says nothing either."""
    delay, frequency = (found.spreads.get(name) for name in ("fdb_delay", "fdb_frequency"))
    if delay is None or frequency is None or not math.isfinite(delay.median):
        return ""
    sd = found.spreads["fdb_delay_sd"].median
    late = "late" if delay.median > 0.0 else "early"
    return f"; FDB reads {plus_minus(abs(1e3 * delay.median), 1e3 * sd)} ms {late} at {frequency.median:.4g} Hz"


def _delay(found: PairAssessment) -> str:
    headline = found.headline
    assert headline is not None
    delay, sd = 1e3 * headline.delay, 1e3 * headline.delay_sd
    if headline.delay_range is not None:
        low, high = (f"{milliseconds(abs(value))} ms" for value in headline.delay_range)
        early, late = (" early" if 1e3 * value < -_SHOWN else "" for value in headline.delay_range)
        return f"between {low}{early} and {high}{late or ' late'}, changing within the record"
    if abs(delay) <= max(2.0 * sd, 0.5 * 10.0**-_MOST_DECIMALS):
        return f"neither late nor early ({plus_minus(delay, sd)} ms)"
    return f"{plus_minus(abs(delay), sd)} ms {'late' if delay > 0.0 else 'early'}"


def _ratio(found: PairAssessment, assessment: Assessment) -> str:
    headline, channels = found.headline, assessment.stream.channels
    assert headline is not None
    command, measured = channels[found.pair.command], channels[found.pair.measured]
    said = f"ratio {plus_minus(headline.ratio, headline.ratio_sd)}"
    if headline.ratio_range is not None:
        said = f"ratio between {headline.ratio_range[0]:.3f} and {headline.ratio_range[1]:.3f}"
        if not units_differ(command, measured):
            return f"{said}, changing within the record"
    if units_differ(command, measured):
        return f"{said} {ratio_unit(command, measured)}"
    if abs(headline.ratio - 1.0) <= max(_RIGHT_SDS * headline.ratio_sd, _RIGHT):
        return f"amplitude right ({said})"
    missing = 100.0 * (1.0 - 1.0 / headline.ratio)
    return f"{'under' if missing > 0.0 else 'over'}shoots by {abs(missing):.1f} % ({said})"
