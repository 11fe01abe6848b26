"""The settings of a service: frozen, checked, and read from TOML."""

from monitor.config.alarms import AlarmSettings, LimitSettings
from monitor.config.analysis import (
    MEASURES,
    IndicatorSettings,
    Measure,
    ReliabilityLimits,
    ReliabilitySettings,
)
from monitor.config.connections import (
    MqttSettings,
    RecordSettings,
    ResultSettings,
    SecuritySettings,
    StreamSettings,
    ViewerSettings,
)
from monitor.config.loading import Settings, SettingsError, load_settings
from monitor.config.section import Section, SettingField, field_at, fields_of, problem_text, setting

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
