"""Settings in a report: the main ones and those that were changed, the limits, and apart from them the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from monitor.catalogue import outputs_by_name
from monitor.config import IndicatorSettings, Settings
from monitor.text.numbers import DASH
from replay.report.tables import Table, indicator_words

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
