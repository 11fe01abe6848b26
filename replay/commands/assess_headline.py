"""The headline of each actuator in words, and several actuators side by side."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.console import Console

from monitor.messages.blocks import ratio_unit, units_differ
from replay.assessment.results import (
    delay_changes,
    farthest_delay,
    milliseconds,
    phase_at_dominant,
    synchronization_error,
)
from replay.assessment.warnings import worst
from replay.commands.folded_table import print_table

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
    return f"{name}: {_delay_words(found)}, {_ratio_words(found, assessment)}, {over}"


def change_words(found: PairAssessment) -> list[str]:
    """Return a line for each change of the delay and the ratio within the record: from what to what, and when."""
    headline = found.headline
    if headline is None:
        return []
    lines = []
    quantities = ("delay", headline.delay_course, 1e3, " ms"), ("ratio", headline.ratio_course, 1.0, "")
    for name, course, factor, unit in quantities:
        whose = f"{found.pair.actuator}: {name}"
        for step in course.steps:
            before, after = (
                plus_minus(factor * value, factor * sd)
                for value, sd in ((step.before, step.before_sd), (step.after, step.after_sd))
            )
            when = f"at {step.time:.1f} ± {step.time_uncertainty:.2g} s"
            lines.append(f"{whose} changes from {before} to {after}{unit} {when}")
        for segment in course.drifts:
            first, last = (plus_minus(factor * value, factor * segment.sd) for value in (segment.first, segment.last))
            when = f"between {segment.start:.1f} and {segment.stop:.1f} s"
            lines.append(f"{whose} drifts from {first} to {last}{unit} {when}")
    return lines


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


def _delay_words(found: PairAssessment) -> str:
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


def _ratio_words(found: PairAssessment, assessment: Assessment) -> str:
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


# ms, and part of the command, that do not show in what is printed
_ALIKE_MS, _ALIKE_ERROR = 0.05, 5e-4


def print_comparison(console: Console, assessment: Assessment) -> None:
    """Print a row an actuator: its delay and ratio, the phase where the motion is largest, and its worst warning."""
    rows = []
    for found in assessment.pairs:
        phase, frequency = phase_at_dominant(found)
        gravest = worst(assessment.warnings_of(found.pair.actuator))
        error = math.nan if _in_other_units(found, assessment) else synchronization_error(found)
        numbers = _number(math.degrees(phase)), _number(frequency), _number(100.0 * error)
        warning = "" if gravest is None else gravest.code
        rows.append((found.pair.actuator, _delay_cell(found), _ratio_cell(found), *numbers, warning))
    headings = ("actuator", "delay ms", "ratio", "phase deg", "at Hz", "error %", "worst warning")
    print_table(console, "the actuators side by side", headings, rows)


def worst_actuator(assessment: Assessment) -> str:
    """Return a line that names the worst actuator and how far the delays are apart; empty where none is known.

    The worst is the one with the largest error at the dominant frequency, or, in other units, the latest.
    """
    known = [p for p in assessment.pairs if math.isfinite(farthest_delay(p))]
    if len(known) < 2:
        return ""
    delays = {p.pair.actuator: 1e3 * farthest_delay(p) for p in known}
    errors = {p.pair.actuator: synchronization_error(p) for p in known}
    by_error = all(map(math.isfinite, errors.values())) and not any(_in_other_units(p, assessment) for p in known)
    changing = [p.pair.actuator for p in known if delay_changes(p)]
    apart = max(delays.values()) - min(delays.values())
    if apart < _ALIKE_MS and not changing and (not by_error or max(errors.values()) < _ALIKE_ERROR):
        return "the actuators are alike: no delay differs, and none makes an error"
    name = max(delays, key=lambda one: errors[one] if by_error else abs(delays[one]))
    error = f", an error of {100.0 * errors[name]:.3g} % of its command's dominant motion" if by_error else ""
    spread = (
        f"the delay of {', '.join(changing)} changes" if changing else f"the delays are up to {apart:.1f} ms apart"
    )
    return f"worst: {name}, delay {'up to ' if name in changing else ''}{delays[name]:.1f} ms{error}; {spread}"


def _delay_cell(found: PairAssessment) -> str:
    if found.headline is None:
        return "—"
    if found.headline.delay_range is not None:
        return " to ".join(map(milliseconds, found.headline.delay_range))
    return plus_minus(1e3 * found.headline.delay, 1e3 * found.headline.delay_sd)


def _ratio_cell(found: PairAssessment) -> str:
    if found.headline is None:
        return "—"
    if found.headline.ratio_range is not None:
        return " to ".join(f"{ratio:.3f}" for ratio in found.headline.ratio_range)
    return plus_minus(found.headline.ratio, found.headline.ratio_sd)


def _in_other_units(found: PairAssessment, assessment: Assessment) -> bool:
    channels = assessment.stream.channels
    return units_differ(channels[found.pair.command], channels[found.pair.measured])


def _number(value: float) -> str:
    # what is smaller is rounding
    return f"{value if abs(value) > 1e-9 else 0.0:.4g}" if math.isfinite(value) else "—"
