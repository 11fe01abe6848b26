"""Several actuators of one record side by side."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from monitor.messages.blocks import units_differ
from replay.assessment.headline import (
    delay_changes,
    farthest_delay,
    milliseconds,
    phase_at_dominant,
    synchronization_error,
)
from replay.assessment.warnings import worst
from replay.commands.assess_words import plus_minus

if TYPE_CHECKING:
    from replay.assessment import Assessment, PairAssessment

# ms, and part of the command, that do not show in what is printed
_ALIKE_MS, _ALIKE_ERROR = 0.05, 5e-4


def comparison_table(assessment: Assessment, *, wide: bool) -> Table:
    """Return a row an actuator: its delay and ratio, the phase where the motion is largest, and its worst warning.

    Parameters
    ----------
    wide : there is room for the phase and its frequency.
    """
    table = Table(title="the actuators side by side", title_justify="left")
    table.add_column("actuator")
    for heading in ("delay ms", "ratio", *(("phase deg", "at Hz") if wide else ()), "error %"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("worst warning")
    for found in assessment.pairs:
        phase, frequency = phase_at_dominant(found)
        gravest = worst(assessment.warnings_of(found.pair.actuator))
        error = math.nan if _in_other_units(found, assessment) else synchronization_error(found)
        table.add_row(
            Text(found.pair.actuator),
            _delay(found),
            _ratio(found),
            *((_number(math.degrees(phase)), _number(frequency)) if wide else ()),
            _number(100.0 * error),
            "" if gravest is None else gravest.code,
        )
    return table


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


def _delay(found: PairAssessment) -> str:
    if found.headline is None:
        return "—"
    if found.headline.delay_range is not None:
        return " to ".join(map(milliseconds, found.headline.delay_range))
    return plus_minus(1e3 * found.headline.delay, 1e3 * found.headline.delay_sd)


def _ratio(found: PairAssessment) -> str:
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
