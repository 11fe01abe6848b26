"""All settings of a service, and how they are read from TOML with every problem told at once."""

from __future__ import annotations

import tomllib
from pathlib import Path

from pydantic import ValidationError

from monitor.config.alarms import AlarmSettings
from monitor.config.indicators import IndicatorSettings
from monitor.config.outlets import MqttSettings, SecuritySettings, ViewerSettings
from monitor.config.reliability import ReliabilitySettings
from monitor.config.section import Section
from monitor.config.streams import RecordSettings, ResultSettings, StreamSettings
from monitor.system.files import check_regular

_MOST_BYTES = 1 << 20
_MOST_VALUE = 40  # characters of a value in a sentence


class SettingsError(ValueError):
    """The settings cannot be used; the text is one line and names every wrong key, and `problems` has one each."""

    def __init__(self, *problems: str, where: str = "") -> None:
        super().__init__(where + "; ".join(problems))
        self.problems = tuple(where + problem for problem in problems)


class Settings(Section):
    """All settings of a service."""

    stream: StreamSettings = StreamSettings()
    indicators: IndicatorSettings = IndicatorSettings()
    results: ResultSettings = ResultSettings()
    record: RecordSettings = RecordSettings()
    reliability: ReliabilitySettings = ReliabilitySettings()
    alarms: AlarmSettings = AlarmSettings()
    mqtt: MqttSettings = MqttSettings()
    security: SecuritySettings = SecuritySettings()
    viewers: ViewerSettings = ViewerSettings()


def load_settings(path: Path | None, overrides: dict[str, dict[str, object]]) -> Settings:
    """Read a TOML file, if there is one, and lay `overrides` (section -> key -> value) over it.

    Raises
    ------
    SettingsError : the file cannot be read, or settings are wrong: all of them are named.
    """
    document: dict[str, dict[str, object]] = {}
    if path is not None:
        try:
            check_regular(path, _MOST_BYTES)
            document = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as problem:
            raise SettingsError(f"{path}: cannot be read ({problem.strerror})") from problem
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
            raise SettingsError(f"{path}: is not TOML: {problem}") from problem
        except RecursionError as problem:
            raise SettingsError(f"{path}: its lists or tables are nested too deep for settings") from problem
    for section, keys in overrides.items():
        if keys and isinstance(document.setdefault(section, {}), dict):
            document[section] = _laid_over(document[section], keys)
    try:
        return Settings.model_validate(document)
    except ValidationError as problem:
        where = f"{path}: " if path is not None else ""
        # a list whose every word is wrong is called too short as well
        errors = problem.errors()
        told = [e for e in errors if e["type"] != "too_short" or not any(_within(o["loc"], e["loc"]) for o in errors)]
        raise SettingsError(*(_sentence(e["loc"], e["msg"], document) for e in told), where=where) from None


def _laid_over(section: dict[str, object], keys: dict[str, object]) -> dict[str, object]:
    """Return a section with `keys` over its own; of a table within it only what is given is replaced."""
    merged = section | keys
    for key, value in keys.items():
        held = section.get(key)
        if isinstance(held, dict) and isinstance(value, dict):
            merged[key] = held | value
    return merged


def _within(inner: tuple[int | str, ...], outer: tuple[int | str, ...]) -> bool:
    return len(inner) > len(outer) and inner[: len(outer)] == outer


def _sentence(location: tuple[int | str, ...], message: str, document: dict[str, dict[str, object]]) -> str:
    key = _of_limit(location, document) or ".".join(str(part) for part in location)
    message = message.removeprefix("Value error, ")
    message = "there is no such setting" if "Extra inputs" in message else message[:1].lower() + message[1:]
    return f"{key}: {message}"


def _of_limit(location: tuple[int | str, ...], document: dict[str, dict[str, object]]) -> str:
    """Return the place of a limit, counted from 1 and with its value; empty where it is none."""
    match location:
        case ("alarms", "limit", int(position), *within):
            pass
        case _:
            return ""
    limits = document["alarms"]["limit"]
    limit = limits[position] if isinstance(limits, list | tuple) else None
    value = limit.get("value") if isinstance(limit, dict) else None
    named = f" ({value[:_MOST_VALUE]})" if isinstance(value, str) and value.isprintable() else ""
    return ": ".join([f"alarms.limit {position + 1}{named}", *filter(None, [".".join(map(str, within))])])
