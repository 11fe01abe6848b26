"""Tables of a report in the reader's words: actuators compared, the indicators of one, settings and limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monitor.catalogue import display_unit, outputs_by_name
from monitor.config import IndicatorSettings, Settings
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


_HEADINGS = ("setting", "value")
_MAIN = frozenset({"indicators.window", "indicators.measures"})
_RECORDED = "recorded: "
_LIMITS = f"{_RECORDED}alarms.limit"


@dataclass(frozen=True, slots=True)
class SettingTables:
    """Settings as tables.

    Parameters
    ----------
    main : what a reader asks for, and what differs from its default.
    limits : of the alarms; None without.
    rest : at their defaults.
    where : the sentence that says so.
    """

    main: Table
    limits: Table | None
    rest: Table
    where: str


def setting_tables(
    indicators: IndicatorSettings | None,
    recorded: Mapping[str, object],
    rate: float | None,
    caption: str = "Settings",
) -> SettingTables:
    """Return the settings of the indicators, and those of the service that recorded the run.

    Parameters
    ----------
    recorded : by section; empty of a file without.
    rate : samples/s; None where runs have several.
    """
    service, limits = dict(recorded), None
    usual = {_RECORDED + name: value for name, value in flat_settings("", Settings().model_dump(mode="json"))}
    rows: list[tuple[str, str]] = []
    if indicators is not None:
        usual |= dict(flat_settings("indicators", IndicatorSettings().model_dump()))
        rows += flat_settings("indicators", indicators.model_dump())
        service.pop("indicators", None)
    for name, value in service.items():
        if name == "alarms" and isinstance(value, Mapping):
            limits = _limits(value.get("limit"))
            value = {key: each for key, each in value.items() if key != "limit" or limits is None}
        rows += flat_settings(f"{_RECORDED}{name}", value)
    main = [row for row in rows if row[0] in _MAIN or usual.get(row[0]) != row[1]]
    rest = [row for row in rows if row not in main]
    if rate is not None:
        main.insert(0, ("sample rate", f"{rate:g} Hz"))
    where = "All other settings have their default values"
    where += "; the run file has them all." if service else "."
    return SettingTables(
        Table(caption, _HEADINGS, tuple(main)),
        limits,
        Table("Settings at their default values", _HEADINGS, tuple(rest)),
        where,
    )


def _limits(found: object) -> Table | None:
    """Return a row for each limit of the alarms; None without, or where a file has them in another form."""
    if not isinstance(found, Sequence) or not found or not all(isinstance(each, Mapping) for each in found):
        return None
    rows = []
    for each in found:
        name = str(each.get("value", ""))
        output = outputs_by_name().get(name)
        factor, unit = (output.display_factor, output.display_unit) if output is not None else (1.0, "")
        words = indicator_words(name) if output is not None else name
        sides = (_side(each.get(key), factor) for key in ("warn", "trip"))
        actuator = str(each.get("actuator") or "all")
        rows.append((str(each.get("name") or words), actuator, unit or DASH, *sides))
    return Table(
        "Limits of the alarms", ("value", "actuator", "unit", "warning outside", "trip outside"), tuple(rows)
    )


def _side(limit: object, factor: float) -> str:
    if limit is None:
        return DASH
    ends = limit if isinstance(limit, (list, tuple)) else (limit,)
    return " to ".join(f"{factor * x:.4g}" if isinstance(x, (int, float)) else "any" for x in ends)


def flat_settings(name: str, value: object) -> Iterator[tuple[str, str]]:
    """Yield the names, with dots, and the values of settings as text."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from flat_settings(f"{name}.{key}" if name else str(key), each)
    elif isinstance(value, (list, tuple)):
        yield name, ", ".join(map(str, value)) or DASH
    elif value is None or value == "":
        yield name, DASH
    else:
        yield name, f"{value:.6g}" if isinstance(value, float) else str(value)
