"""Settings as they are stored: those of the window in QSettings, those of the service in a TOML file."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import tomli_w
from pydantic import Field, ValidationError, model_validator
from PySide6.QtCore import QSettings

from gui.model.alarms import LIMITED_QUANTITIES, DisplayLimit, DisplayLimits
from monitor.config import Section, Settings, SettingsError, load_settings, setting
from monitor.system.files import atomic_write

_KEY = "window/settings"
_HEADER = "# Settings of a Synchroscope service; what is not named is at its default.\n\n"
_Limit = Annotated[float, Field(gt=0.0, allow_inf_nan=False)] | None
_QUANTITIES = {"delay": ("Delay", "ms"), "phase": ("Phase", "°"), "ratio": ("Ratio", "%")}
_DEVIATIONS = {"delay": "delay", "phase": "phase error", "ratio": "deviation of the ratio from 1"}


def _limit(quantity: str, *, trip: bool) -> Any:
    name, unit = _QUANTITIES[quantity]
    return setting(
        None,
        f"{name}, {'too large' if trip else 'warning'}",
        f"Absolute {_DEVIATIONS[quantity]} that is shown as {'too large' if trip else 'a warning'}.",
        unit=unit,
        empty="no limit",
    )


class DisplayLimitSettings(Section):
    """Limits shown in plots and on tiles: delay in ms, phase in degrees, ratio as deviation from 1 in %."""

    delay_warn: _Limit = _limit("delay", trip=False)
    delay_trip: _Limit = _limit("delay", trip=True)
    phase_warn: _Limit = _limit("phase", trip=False)
    phase_trip: _Limit = _limit("phase", trip=True)
    ratio_warn: _Limit = _limit("ratio", trip=False)
    ratio_trip: _Limit = _limit("ratio", trip=True)

    @model_validator(mode="after")
    def _warn_first(self) -> Self:
        for quantity in LIMITED_QUANTITIES:
            warn, trip = getattr(self, f"{quantity}_warn"), getattr(self, f"{quantity}_trip")
            if warn is not None and trip is not None and trip < warn:
                raise ValueError(
                    f"{quantity}: the limit for too large ({trip:g}) is below that for a warning ({warn:g})"
                )
        return self

    @property
    def lines(self) -> DisplayLimits:
        """The limits by quantity."""
        return {
            quantity: DisplayLimit(
                quantity, *(_or_none(getattr(self, f"{quantity}_{at}")) for at in ("warn", "trip"))
            )
            for quantity in LIMITED_QUANTITIES
        }


def _or_none(limit: float | None) -> float:
    return math.inf if limit is None else limit


class WindowSettings(Section):
    """Settings of the window; the service has its own."""

    theme: Literal["system", "light", "dark"] = setting(
        "system", "Theme", "Colours of the window.", labels=("as the desktop", "light", "dark")
    )
    font_scale: Annotated[float, Field(ge=0.5, le=3.0)] = setting(
        1.0, "Text size", "Factor on the desktop's text size, 0.5 to 3.", unit="×"
    )
    antialias_when_paused: bool = setting(
        True, "Smooth curves when paused", "Live curves are not antialiased, which keeps the frame rate."
    )
    clock_time: bool = setting(
        False,
        "Clock time on time axes",
        "Labels the samples of a live rig with the time of day at which they arrived, where the rig sends no dates.",
    )
    frame_rate: Annotated[int, Field(ge=5, le=60)] = setting(
        25, "Frame rate", "Frames per second, 5 to 60.", unit="Hz"
    )
    span: Annotated[float, Field(ge=0.1, le=86400.0)] = setting(
        30.0, "Time span", "Visible time range at startup.", unit="s"
    )
    history_minutes: Annotated[float, Field(ge=1.0, le=1440.0)] = setting(
        10.0, "History", "Duration that is held at full rate; earlier data are decimated.", unit="min"
    )
    memory: Annotated[int, Field(ge=64, le=65536)] = setting(
        512, "Memory of a recording", "Maximum size; a longer one is held in less detail.", unit="MB"
    )
    live_memory: Annotated[int, Field(ge=64, le=65536)] = setting(
        140, "Memory of a live rig", "Maximum size of the history; of many channels it covers less time.", unit="MB"
    )
    blink: bool = setting(True, "Alarms blink", "Unacknowledged alarms blink once a second.")
    sound: bool = setting(
        False, "Alarm sound", "The alert sound of the desktop, every 2 s while an alarm is unacknowledged."
    )
    confirm_limits: bool = setting(
        False, "Confirm limits", "Ask before a limit of an alarm is changed in the window."
    )
    operator: Annotated[str, Field(max_length=64, pattern=r"^[^\x00-\x1f\x7f]*$")] = setting(
        "", "Operator", "Name recorded with acknowledgements.", empty="the user who is logged in"
    )
    limits: DisplayLimitSettings = setting(
        DisplayLimitSettings(), "Limits", "Limits in plots and on tiles, where no alarm defines limits.", shown=False
    )


def load_window_settings(store: QSettings) -> tuple[WindowSettings, str]:
    """Return the stored settings, and a line that names those that could not be used; empty if all could."""
    stored = store.value(_KEY)
    if stored is None:
        return WindowSettings(), ""
    try:
        document = json.loads(str(stored))
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        return WindowSettings(), "the settings of the window were damaged: defaults are used"
    try:
        return WindowSettings.model_validate(document), ""
    except ValidationError as problem:
        invalid = sorted({str(error["loc"][0]) for error in problem.errors() if error["loc"]})
    valid = {key: value for key, value in document.items() if key not in invalid}
    return WindowSettings.model_validate(
        valid
    ), f"settings of the window reset to their defaults: {', '.join(invalid)}"


def save_window_settings(store: QSettings, settings: WindowSettings) -> None:
    """Store the settings of the window."""
    store.setValue(_KEY, settings.model_dump_json())


def read_service_settings(path: Path) -> tuple[Settings, str]:
    """Return the settings in a file, and why they are the defaults, if they are; the file may be missing."""
    if not path.exists():
        return Settings(), ""
    try:
        return load_settings(path, {}), ""
    except SettingsError as problem:
        return Settings(), f"{problem}; defaults are used"


def write_service_settings(settings: Settings, path: Path) -> None:
    """Write a settings file.

    Raises
    ------
    WriteError : it cannot be written.
    """
    with atomic_write(path) as file:
        file.write(service_settings_text(settings).encode())


def service_settings_text(settings: Settings) -> str:
    """Return the TOML of the settings that are not at their defaults."""
    sections = settings.model_dump(mode="json", exclude_unset=True, exclude_none=True)
    return _HEADER + tomli_w.dumps({name: section for name, section in sections.items() if section})
