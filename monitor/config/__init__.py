"""The settings of a service: frozen, checked, and read from TOML."""

from monitor.config.alarms import AlarmSettings, LimitSettings
from monitor.config.indicators import MEASURES, IndicatorSettings, Measure
from monitor.config.loading import Settings, SettingsError, load_settings
from monitor.config.outlets import MqttSettings, SecuritySettings, ViewerSettings
from monitor.config.reliability import ReliabilityLimits, ReliabilitySettings
from monitor.config.streams import RecordSettings, ResultSettings, StreamSettings

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
    "SecuritySettings",
    "Settings",
    "SettingsError",
    "StreamSettings",
    "ViewerSettings",
    "load_settings",
]
