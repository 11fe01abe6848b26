"""Tables of a report in the reader's words: the actuators compared, the indicators of one, numbers and lengths."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monitor.catalogue import display_unit, outputs_by_name
from monitor.messages.headline import LABELS
from monitor.text.numbers import DASH
from replay.assessment import Assessment, PairAssessment
from replay.assessment.wording import COMPARED_AS, comparison_row

# below this, of a command of ordinary size, a value is rounding
_ROUNDING = 1e-9
_LONGEST_FIRST = sorted(LABELS, key=len, reverse=True)
_ORDINARY = frozenset({"ms", "°", "%", ""})

WARNING_WORDS = {
    "time_unit": "the unit of the time is in doubt",
    "dead_channel": "a channel is constant",
    "not_a_pair": "the channels do not belong together",
    "no_value": "no result is valid",
    "stuck": "a signal is stuck",
    "clipped": "a signal is clipped",
    "held": "a signal has a lower rate",
    "leads": "the measured signal leads",
    "large_phase": "large phase",
    "delay_changes": "delay changes",
    "delay_departs": "delay departs",
    "ratio_changes": "ratio changes",
    "actuators_differ": "the actuators differ",
    "feeds_energy": "feeds energy in",
    "play": "play",
    "contradicted": "the indicators disagree",
    "not_numbers": "samples without a number",
    "gaps": "samples are missing",
    "offset": "an offset",
    "units_differ": "units differ",
    "identical": "the signals are identical",
}
"""Warnings in a few words, by their codes."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its caption, headings, and rows whose first cell is a heading."""

    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def shown_length(unit: str, largest: float) -> tuple[str, float]:
    """Return the unit in which numbers up to `largest` are shown, mm for less than one metre, and its factor."""
    return ("mm", 1e3) if unit == "m" and largest < 1.0 else (unit, 1.0)


def compared_table(assessment: Assessment) -> Table:
    """Return the actuators side by side, each with its most severe warning in words."""
    rows = tuple(comparison_row(found, assessment) for found in assessment.pairs)
    rows = tuple((*row[:-1], WARNING_WORDS.get(row[-1], row[-1])) for row in rows)
    return Table("The actuators compared", COMPARED_AS, rows)


def indicators_table(found: PairAssessment, assessment: Assessment) -> Table:
    """Return the statistics of the indicators that have values."""
    known, rows = outputs_by_name(), []
    units = {c.name: c.unit for c in assessment.series.columns if c.actuator == found.pair.actuator}
    for name, spread in found.spreads.items():
        if name.endswith("_sd") or name.startswith("fei_") or name not in known or not np.isfinite(spread.median):
            continue
        numbers = np.array([spread.median, spread.mean, spread.p05, spread.p95])
        unit, factor = _shown_as(name, units[name], float(np.nanmax(np.abs(numbers))))
        rows.append((indicator_words(name), unit or DASH, *_texts(factor * numbers, unit)))
    fei, criteria = found.whole.fei_tapered, found.whole.criteria
    for label, unit, value in (
        ("FEI phase", "°", np.degrees(fei.phase)),
        ("FEI ratio", "", fei.ratio),
        ("FEI delay*", "ms", 1e3 * fei.delay),
        ("J1", "ms", criteria.j1),
        ("J2", "%", criteria.j2),
        ("J3", "%", criteria.j3),
    ):
        if np.isfinite(value):
            texts = _texts(np.array([value]), unit)
            rows.append((f"{label}, whole record", unit or DASH, *texts, DASH, DASH, DASH))
    headings = ("indicator", "unit", "median", "mean", "5 %", "95 %")
    return Table(f"Indicators of {found.pair.actuator} while it moves", headings, tuple(rows))


def indicator_words(name: str) -> str:
    """Return a result as it is called in the window: its row, and its curve where several share the row."""
    output = outputs_by_name()[name]
    if not output.row:
        label = next((one for one in _LONGEST_FIRST if name.startswith(f"{one}_")), "")
        rest = name.removeprefix(f"{label}_").replace("_", " ")
        return f"{rest}, {LABELS[label]}" if label else rest
    return f"{output.row}, {output.label}" if output.label and output.label not in output.row else output.row


def _shown_as(name: str, unit: str, largest: float) -> tuple[str, float]:
    output = outputs_by_name()[name]
    if output.display_unit:
        return display_unit(output.display_unit, unit), output.display_factor
    return shown_length("" if unit == "1" else unit, largest)


def _texts(numbers: NDArray[np.float64], unit: str) -> list[str]:
    """Return numbers with four digits; what is rounding as 0, or with one digit in a unit of any size."""
    floor = _ROUNDING * max(1.0 if unit in _ORDINARY else 0.0, float(np.nanmax(np.abs(numbers), initial=0.0)))
    return [
        "0" if abs(x) < floor else f"{x:.0e}" if 0.0 < abs(x) < _ROUNDING else f"{x + 0.0:.4g}"
        for x in numbers.tolist()
    ]
