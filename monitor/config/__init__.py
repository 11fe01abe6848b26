"""Settings of a service: frozen, checked, and read from TOML with all problems reported at once."""

from __future__ import annotations

import tomllib
from pathlib import Path

from pydantic import ValidationError

from monitor.config.analysis import MEASURES as MEASURES
from monitor.config.analysis import IndicatorSettings as IndicatorSettings
from monitor.config.analysis import Measure as Measure
from monitor.config.analysis import ReliabilityLimits as ReliabilityLimits
from monitor.config.analysis import ReliabilitySettings as ReliabilitySettings
from monitor.config.section import Section as Section
from monitor.config.section import SettingField as SettingField
from monitor.config.section import SettingsError as SettingsError
from monitor.config.section import field_at as field_at
from monitor.config.section import fields_of as fields_of
from monitor.config.section import problem_lines
from monitor.config.section import problem_text as problem_text
from monitor.config.section import setting as setting
from monitor.config.service import AlarmSettings as AlarmSettings
from monitor.config.service import LimitSettings as LimitSettings
from monitor.config.service import MqttSettings as MqttSettings
from monitor.config.service import RecordSettings as RecordSettings
from monitor.config.service import ResultSettings as ResultSettings
from monitor.config.service import SecuritySettings as SecuritySettings
from monitor.config.service import StreamSettings as StreamSettings
from monitor.config.service import ViewerSettings as ViewerSettings
from monitor.system.files import check_regular

_MAX_BYTES = 1 << 20
_MAX_VALUE = 40  # characters of a value in a message


class Settings(Section):
    """All settings of a service."""

    stream: StreamSettings = setting(StreamSettings(), "Rig", "Source of the signals.")
    indicators: IndicatorSettings = setting(
        IndicatorSettings(), "Indicators", "Measures of tracking, from command and measured."
    )
    reliability: ReliabilitySettings = setting(ReliabilitySettings(), "Model", "Live reliability of a model.")
    results: ResultSettings = setting(ResultSettings(), "Results", "Where results are published.")
    record: RecordSettings = setting(RecordSettings(), "Recording", "Where runs are recorded.")
    alarms: AlarmSettings = setting(
        AlarmSettings(),
        "Alarms",
        "Built-in alarms. Limits on values are written in the settings file, as [[alarms.limit]].",
    )
    mqtt: MqttSettings = setting(MqttSettings(), "MQTT", "Broker for values, states and alarms.")
    security: SecuritySettings = setting(SecuritySettings(), "Security", "Network access control.")
    viewers: ViewerSettings = setting(ViewerSettings(), "Viewers", "Feeds for third-party viewers.")


def load_settings(path: Path | None, overrides: dict[str, dict[str, object]]) -> Settings:
    """Read a TOML file, if given, and apply `overrides` (section -> key -> value).

    Raises
    ------
    SettingsError : the file cannot be read, or settings are invalid; it names all of them.
    """
    document: dict[str, dict[str, object]] = {}
    if path is not None:
        try:
            check_regular(path, _MAX_BYTES)
            document = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as problem:
            raise SettingsError(f"{path}: cannot be read ({problem.strerror})") from problem
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
            raise SettingsError(f"{path}: is not TOML: {problem}") from problem
        except RecursionError as problem:
            raise SettingsError(f"{path}: its lists or tables are nested too deeply") from problem
    for section, keys in overrides.items():
        if keys and isinstance(document.setdefault(section, {}), dict):
            document[section] = _merged(document[section], keys)
    try:
        return Settings.model_validate(document)
    except ValidationError as problem:
        where = f"{path}: " if path is not None else ""
        lines = problem_lines(problem, Settings, lambda location: _key_of(location, document))
        raise SettingsError(*lines, where=where) from None


def _merged(section: dict[str, object], keys: dict[str, object]) -> dict[str, object]:
    """Return a section updated by `keys`; of a table within it only the given keys are replaced."""
    result = section | keys
    for key, value in keys.items():
        held = section.get(key)
        if isinstance(held, dict) and isinstance(value, dict):
            result[key] = held | value
    return result


def _key_of(location: tuple[int | str, ...], document: dict[str, dict[str, object]]) -> str:
    """Return the key of a setting, ``section.name``; that of a limit with its number from 1 and its value."""
    match location:
        case ("alarms", "limit", int(position), *within):
            pass
        case _:
            return ".".join(map(str, location))
    limits = document["alarms"]["limit"]
    limit = limits[position] if isinstance(limits, list | tuple) else None
    value = limit.get("value") if isinstance(limit, dict) else None
    named = f" ({value[:_MAX_VALUE]})" if isinstance(value, str) and value.isprintable() else ""
    return ": ".join([f"alarms.limit {position + 1}{named}", *filter(None, [".".join(map(str, within))])])
