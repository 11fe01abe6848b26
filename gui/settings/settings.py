"""What the window remembers of its user, checked, and kept where the desktop keeps such things."""

from __future__ import annotations

import json
import math
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from PySide6.QtCore import QSettings

from gui.model.limits import DEFAULT, LimitLine, Limits

_KEY = "window/settings"
_Limit = Annotated[float, Field(gt=0.0, allow_inf_nan=False)] | None


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


def _limit(value: float) -> float | None:
    return value if math.isfinite(value) else None


class LimitSettings(_Section):
    """Where a deviation begins to warn and where it is too large: delay in ms, phase in degrees, ratio in % off 1."""

    delay_warn: _Limit = _limit(DEFAULT["delay"].warn)
    delay_trip: _Limit = _limit(DEFAULT["delay"].trip)
    phase_warn: _Limit = _limit(DEFAULT["phase"].warn)
    phase_trip: _Limit = _limit(DEFAULT["phase"].trip)
    ratio_warn: _Limit = _limit(DEFAULT["ratio"].warn)
    ratio_trip: _Limit = _limit(DEFAULT["ratio"].trip)

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


class WindowSettings(_Section):
    """What the user chooses for the window; the service has settings of its own.

    ``span`` in s is what is looked at after a start; ``memory`` in MB and ``history_minutes`` say how much is
    remembered as it came; ``record_folder`` is offered where a service is started for a rig. Without ``blink``
    alarms do not; ``operator`` is who acknowledges them, by default who has logged in.
    """

    theme: Literal["system", "light", "dark"] = "system"
    font_scale: Annotated[float, Field(ge=0.5, le=3.0)] = 1.0
    antialias_when_paused: bool = True
    frame_rate: Annotated[int, Field(ge=5, le=60)] = 25
    span: Annotated[float, Field(ge=0.1, le=86400.0)] = 30.0
    history_minutes: Annotated[float, Field(ge=1.0, le=1440.0)] = 10.0
    memory: Annotated[int, Field(ge=64, le=65536)] = 512
    record_folder: str = ""
    blink: bool = True
    operator: Annotated[str, Field(max_length=64, pattern=r"^[^\x00-\x1f\x7f]*$")] = ""
    limits: LimitSettings = LimitSettings()


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
    told = f"settings of the window could not be used and are as at first: {', '.join(wrong)}"
    return WindowSettings.model_validate(sound), told


def keep_window_settings(store: QSettings, settings: WindowSettings) -> None:
    """Put the settings into `store`."""
    store.setValue(_KEY, settings.model_dump_json())
