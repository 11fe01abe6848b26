"""Settings of a service: frozen, checked, and read from TOML with all problems reported at once."""

from __future__ import annotations

import tomllib
from pathlib import Path

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from monitor.config.analysis import (
    MEASURES,
    IndicatorSettings,
    Measure,
    ReliabilityLimits,
    ReliabilitySettings,
)
from monitor.config.section import Section, SettingField, field_at, fields_of, problem_text, setting
from monitor.config.service import (
    AlarmSettings,
    LimitSettings,
    MqttSettings,
    RecordSettings,
    ResultSettings,
    SecuritySettings,
    StreamSettings,
    ViewerSettings,
)
from monitor.system.files import check_regular

__all__ = [
    "MEASURES",
    "AlarmSettings",
    "IndicatorSettings",
    "LimitSettings",
    "Measure",
    "MqttSettings",
    "RecordSettings",
    "ReliabilityLimits",
    "ReliabilitySettings",
    "ResultSettings",
    "Section",
    "SecuritySettings",
    "SettingField",
    "Settings",
    "SettingsError",
    "StreamSettings",
    "ViewerSettings",
    "field_at",
    "fields_of",
    "load_settings",
    "problem_text",
    "setting",
]

_MOST_BYTES = 1 << 20
_MOST_VALUE = 40  # characters of a value in a sentence


class SettingsError(ValueError):
    """The settings cannot be used; the text is one line and names every wrong key, and `problems` has one each."""

    def __init__(self, *problems: str, where: str = "") -> None:
        super().__init__(where + "; ".join(problems))
        self.problems = tuple(where + problem for problem in problems)


class Settings(Section):
    """All settings of a service."""

    stream: StreamSettings = setting(StreamSettings(), "Rig", "Where the signals come from.")
    indicators: IndicatorSettings = setting(
        IndicatorSettings(), "Indicators", "What is computed from command and measured."
    )
    reliability: ReliabilitySettings = setting(ReliabilitySettings(), "Model", "The reliability of a model, live.")
    results: ResultSettings = setting(ResultSettings(), "Results", "Where results go.")
    record: RecordSettings = setting(RecordSettings(), "Recording", "Where runs are recorded.")
    alarms: AlarmSettings = setting(
        AlarmSettings(),
        "Alarms",
        "Built-in alarms. Limits on values are written in the settings file, as [[alarms.limit]].",
    )
    mqtt: MqttSettings = setting(MqttSettings(), "MQTT", "A broker that values, states and alarms are published to.")
    security: SecuritySettings = setting(SecuritySettings(), "Security", "Network access control.")
    viewers: ViewerSettings = setting(ViewerSettings(), "Viewers", "Feeds for third-party viewers.")


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
        raise SettingsError(*(_sentence(e, document) for e in told), where=where) from None


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


def _sentence(error: ErrorDetails, document: dict[str, dict[str, object]]) -> str:
    location = error["loc"]
    key = _of_limit(location, document) or ".".join(str(part) for part in location)
    text = problem_text(error)
    field = field_at(Settings, location)
    if field is not None and text.startswith("must "):
        text = f"{field.title}{f' ({field.unit})' if field.unit else ''} {text}"
    return f"{key}: {text}"


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
