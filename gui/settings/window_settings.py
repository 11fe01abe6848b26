"""The settings of the window: checked, and kept in QSettings."""

from __future__ import annotations

import json
import math
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, model_validator
from PySide6.QtCore import QSettings

from gui.model.alarms import DEFAULT, LimitLine, Limits
from monitor.config import Section, setting

_KEY = "window/settings"
_Limit = Annotated[float, Field(gt=0.0, allow_inf_nan=False)] | None
_QUANTITIES = {"delay": ("Delay", "ms"), "phase": ("Phase", "°"), "ratio": ("Ratio", "% off 1")}


def _limit(quantity: str, *, trip: bool) -> Any:
    name, unit = _QUANTITIES[quantity]
    value = DEFAULT[quantity].trip if trip else DEFAULT[quantity].warn
    return setting(
        value if math.isfinite(value) else None,
        f"{name}, {'too large' if trip else 'warning'}",
        f"The {name.lower()} from which {'it is too large' if trip else 'it is shown as a warning'}, up or down.",
        unit=unit,
        empty="no limit",
    )


class DisplayLimitSettings(Section):
    """Where a deviation begins to warn and where it is too large: delay in ms, phase in degrees, ratio in % off 1."""

    delay_warn: _Limit = _limit("delay", trip=False)
    delay_trip: _Limit = _limit("delay", trip=True)
    phase_warn: _Limit = _limit("phase", trip=False)
    phase_trip: _Limit = _limit("phase", trip=True)
    ratio_warn: _Limit = _limit("ratio", trip=False)
    ratio_trip: _Limit = _limit("ratio", trip=True)

    @model_validator(mode="after")
    def _warn_first(self) -> Self:
        for quantity in DEFAULT:
            warn, trip = getattr(self, f"{quantity}_warn"), getattr(self, f"{quantity}_trip")
            if warn is not None and trip is not None and trip < warn:
                raise ValueError(
                    f"{quantity}: what is too large ({trip:g}) must not come before the warning ({warn:g})"
                )
        return self

    @property
    def lines(self) -> Limits:
        """The limits as plots and tiles take them."""
        return {
            quantity: LimitLine(quantity, *(_or_none(getattr(self, f"{quantity}_{at}")) for at in ("warn", "trip")))
            for quantity in DEFAULT
        }


def _or_none(limit: float | None) -> float:
    return math.inf if limit is None else limit


class WindowSettings(Section):
    """What the user chooses for the window; the service has settings of its own."""

    theme: Literal["system", "light", "dark"] = setting(
        "system", "Theme", "Colours of the window.", labels=("as the desktop", "light", "dark")
    )
    font_scale: Annotated[float, Field(ge=0.5, le=3.0)] = setting(
        1.0, "Text size", "Relative to the desktop's, 0.5 to 3; for a screen that is far away.", unit="times"
    )
    antialias_when_paused: bool = setting(
        True, "Smooth curves when paused", "Live curves are never smoothed: that costs frames."
    )
    frame_rate: Annotated[int, Field(ge=5, le=60)] = setting(
        25, "Frame rate", "How often the window is drawn, 5 to 60.", unit="Hz"
    )
    span: Annotated[float, Field(ge=0.1, le=86400.0)] = setting(
        30.0, "Time span", "Visible time range after a start.", unit="s"
    )
    history_minutes: Annotated[float, Field(ge=1.0, le=1440.0)] = setting(
        10.0, "History", "How far back every sample is kept; further back in less detail.", unit="min"
    )
    memory: Annotated[int, Field(ge=64, le=65536)] = setting(
        512,
        "Memory",
        "Most that the history of a rig may take; many channels are kept for a shorter time.",
        unit="MB",
    )
    record_folder: str = setting(
        "", "Folder for runs", "Offered where a service is started for a rig.", empty="none", opens="folder"
    )
    blink: bool = setting(True, "Alarms blink", "Once a second, until they are acknowledged.")
    operator: Annotated[str, Field(max_length=64, pattern=r"^[^\x00-\x1f\x7f]*$")] = setting(
        "", "Operator", "Name of who acknowledges alarms here; it is recorded.", empty="the user who has logged in"
    )
    limits: DisplayLimitSettings = setting(
        DisplayLimitSettings(), "Limits", "Lines in plots and words on tiles, where no alarm has limits.", shown=False
    )


def load_window_settings(store: QSettings) -> tuple[WindowSettings, str]:
    """Return what `store` keeps, and a line that says what of it could not be used; empty if all could."""
    kept = store.value(_KEY)
    if kept is None:
        return WindowSettings(), ""
    try:
        document = json.loads(str(kept))
    except (ValueError, RecursionError):
        return WindowSettings(), "the settings of the window were damaged: defaults are used"
    if not isinstance(document, dict):
        return WindowSettings(), "the settings of the window were damaged: defaults are used"
    try:
        return WindowSettings.model_validate(document), ""
    except ValidationError as problem:
        wrong = sorted({str(error["loc"][0]) for error in problem.errors() if error["loc"]})
    sound = {key: value for key, value in document.items() if key not in wrong}
    told = f"settings of the window could not be used and are at their defaults: {', '.join(wrong)}"
    return WindowSettings.model_validate(sound), told


def keep_window_settings(store: QSettings, settings: WindowSettings) -> None:
    """Put the settings into `store`."""
    store.setValue(_KEY, settings.model_dump_json())
