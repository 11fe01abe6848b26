"""Several actuators of one record side by side."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from monitor.blocks import units_differ
from monitor.commands.assess_words import plus_minus

if TYPE_CHECKING:
    from replay.assessment import Assessment, PairAssessment

# ms, and part of the command, that do not show in what is printed
_ALIKE_MS, _ALIKE_ERROR = 0.05, 5e-4


def comparison_table(assessment: Assessment) -> Table:
    """Return a row an actuator: its delay and ratio, the phase where the motion is largest, and its worst warning."""
    from replay.assessment.actuator_checks import phase_at_dominant, synchronization_error
    from replay.assessment.warnings import worst

    table = Table(title="the actuators side by side", title_justify="left")
    table.add_column("actuator")
    for heading in ("delay ms", "ratio", "phase deg", "at Hz", "error %"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("worst warning")
    for found in assessment.pairs:
        headline, (phase, frequency) = found.headline, phase_at_dominant(found)
        gravest = worst(assessment.warnings_of(found.pair.actuator))
        error = math.nan if _in_other_units(found, assessment) else synchronization_error(found)
        table.add_row(
            Text(found.pair.actuator),
            "—" if headline is None else plus_minus(1e3 * headline.delay, 1e3 * headline.delay_sd),
            "—" if headline is None else plus_minus(headline.ratio, headline.ratio_sd),
            _number(math.degrees(phase)),
            _number(frequency),
            _number(100.0 * error),
            "" if gravest is None else gravest.code,
        )
    return table


def worst_actuator(assessment: Assessment) -> str:
    """Return a line that names the worst actuator and how far the delays are apart; empty where none is known.

    The worst is the one with the largest error at the dominant frequency, or, in other units, the latest.
    """
    from replay.assessment.actuator_checks import synchronization_error

    known = [p for p in assessment.pairs if p.headline is not None and math.isfinite(p.headline.delay)]
    if len(known) < 2:
        return ""
    delays = {p.pair.actuator: p.headline.delay for p in known if p.headline is not None}
    errors = {p.pair.actuator: synchronization_error(p) for p in known}
    by_error = all(map(math.isfinite, errors.values())) and not any(_in_other_units(p, assessment) for p in known)
    worst = max(delays, key=lambda name: errors[name] if by_error else abs(delays[name]))
    error = f", an error of {100.0 * errors[worst]:.3g} % of its command's dominant motion" if by_error else ""
    apart = 1e3 * (max(delays.values()) - min(delays.values()))
    if apart < _ALIKE_MS and (not by_error or max(errors.values()) < _ALIKE_ERROR):
        return "the actuators are alike: no delay differs, and none makes an error"
    return f"worst: {worst}, delay {1e3 * delays[worst]:.1f} ms{error}; the delays are up to {apart:.1f} ms apart"


def _in_other_units(found: PairAssessment, assessment: Assessment) -> bool:
    channels = assessment.stream.channels
    return units_differ(channels[found.pair.command], channels[found.pair.measured])


def _number(value: float) -> str:
    # what is smaller is rounding
    return f"{value if abs(value) > 1e-9 else 0.0:.4g}" if math.isfinite(value) else "—"
