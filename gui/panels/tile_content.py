"""Content of a tile: values, status and alarm of an actuator; reliability and decision of a site."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from gui.model.alarms import DisplayLimits, display_limits_apply
from gui.model.history import History
from gui.model.severity import NO_LIMITS, ActuatorSeverity, alarm_severity, amplitude_percent, limit_severity
from gui.model.tracking_status import NO_VALUE, Status, contradiction_mark, decision_status, tracking_status
from gui.panels.base import PanelInstant
from gui.wording.event_text import NOT_JUDGED_SHAPE
from gui.wording.level import Level
from monitor.messages.alarms import Alarm
from monitor.messages.headline import LABELS, QUANTITIES, first_indicator, read_headline
from monitor.messages.reasons import reason_word
from monitor.text.numbers import DASH, fitted

_WIDTH = 6
"""Maximum characters of a number."""


@dataclass(frozen=True, slots=True)
class TileValue:
    """A number on a tile: label, unit, standard deviation, and level where it exceeds a limit."""

    label: str
    text: str
    unit: str = ""
    spread: str = ""
    level: Level = Level.NONE


@dataclass(frozen=True, slots=True)
class TileContent:
    """Content of a tile.

    Parameters
    ----------
    name : of the actuator or site.
    source : indicator of the values.
    status : what the values are, or why there are none.
    values : the most important first.
    remark : further text.
    severity : state of the alarms, else of the limits of the window; without words where there are neither.
    time_label : instant of the values; empty for now.
    window : of the indicator, s; NaN for no window.
    contradicting : prefixes of the indicators that contradict the values.
    is_site : of a validation site or a specimen, not of an actuator.
    """

    name: str
    source: str
    status: Status
    values: tuple[TileValue, ...]
    remark: str = ""
    severity: ActuatorSeverity = NO_LIMITS
    time_label: str = ""
    window: float = math.nan
    contradicting: tuple[str, ...] = ()
    is_site: bool = False

    @property
    def level(self) -> Level:
        """Level of the severity; without one, that of the status."""
        return self.severity.level if self.severity.words else self.status.level

    @property
    def origin(self) -> tuple[str, str]:
        """Two lines: indicator and window, or instant and indicator."""
        seconds = f"{self.window:.3g} s" if math.isfinite(self.window) else ""
        if self.time_label:
            return self.time_label, ", ".join(filter(None, (self.source, seconds)))
        return self.source, seconds and f"{seconds} window"

    @property
    def mark(self) -> str:
        """``≠ FDB, PAEI`` where these contradict the values; else empty."""
        return contradiction_mark(self.contradicting)

    @property
    def known(self) -> bool:
        """Whether any value is known."""
        return any(value.text != DASH for value in self.values)

    @property
    def current(self) -> bool:
        """Whether the values are known, of now, and judged where they have alarms."""
        return self.known and not self.time_label and self.severity.shape != NOT_JUDGED_SHAPE

    @property
    def text(self) -> str:
        """The content in one line, for screen readers."""
        numbers = (" ".join(filter(None, (r.label, r.text, r.unit, r.spread))) for r in self.values)
        origin = ", ".join(filter(None, self.origin))
        parts = (self.name, self.status.words, *numbers, origin, self.mark, self.remark, self.severity.text)
        return "; ".join(part for part in parts if part)


def _spread_text(deviation: float, decimals: int) -> str:
    """Return ``± 0.2``; empty where it is unknown."""
    if not math.isfinite(deviation):
        return ""
    least = 10.0**-decimals
    if 0.0 < deviation < 0.5 * least:
        return f"± <{least:.{decimals}f}"
    return f"± {fitted(deviation, _WIDTH, decimals)}"


_OF_PHASE = ("fdb", "paei", "paei_adaptive")
_DEGREES = 180.0 / math.pi


def actuator_content(
    history: History, actuator: str, at: PanelInstant, alarms: Sequence[Alarm], limits: DisplayLimits, window: float
) -> TileContent:
    """Return the tile of an actuator.

    Parameters
    ----------
    alarms : of all actuators at the instant; see `History.alarms_at`.
    limits : of the window; used where the service has no alarms on values of actuators.
    window : of the indicators, s.
    """

    def read(name: str) -> float:
        return at.value(history, actuator, name)

    alarms = [alarm for alarm in alarms if alarm.actuator == actuator]
    method = _speaker(history, actuator, alarms)
    found = read_headline(method, read)
    # a judged value may be missing from a few rows
    delay, ratio = (_or_last(alarms, f"{method}_{name}", getattr(found, name)) for name in QUANTITIES)
    phase_of = _phase_of(history, actuator, method)
    phase = read(f"{phase_of}_phase")
    unit = _unit(history, actuator, f"{method}_ratio")
    # a ratio of different units can be neither too large nor too small
    share, share_sd = (ratio, found.ratio_sd) if unit == "1" else (1.0, 0.0)
    deviations = {"delay": 1e3 * delay, "phase": _DEGREES * phase}
    # of equal units the amplitude is shown, in % of the command
    of_ratio = "amplitude" if unit == "1" else "ratio"
    if unit == "1":
        deviations[of_ratio] = 100.0 * (share - 1.0)
    shown = {"delay": "delay", "ratio": of_ratio}
    shown |= {f"{method}_delay": "delay", f"{phase_of}_phase": "phase", f"{method}_ratio": of_ratio}
    severity: ActuatorSeverity = NO_LIMITS
    levels: Mapping[str, Level] = {}
    if alarms:
        severity, levels = alarm_severity(alarms, shown)
        if at.replacement is not None and not severity.active:
            # the status says why nothing is judged
            severity = NO_LIMITS
    elif display_limits_apply(history.limits):
        # those on the ratio are on the amplitude, which is shown
        limits = {**limits, "amplitude": limits["ratio"]} if "ratio" in limits else limits
        severity, levels = limit_severity(limits, deviations)
    values = [_tile_value("delay", 1e3 * delay, 1e3 * found.delay_sd, "ms", levels)]
    if _has(history, actuator, f"{phase_of}_phase"):
        deviation = _DEGREES * read(f"{phase_of}_phase_sd")
        of_phase = _tile_value("phase", _DEGREES * phase, deviation, "°", levels)
        if phase_of != method and math.isfinite(phase):
            of_phase = replace(of_phase, spread=_phase_is(phase_of, read("fdb_frequency")))
        values.append(of_phase)
    if _has(history, actuator, f"{method}_ratio"):
        if unit == "1":
            # what a viewer asks is how much of the command is done; tables have the ratio of the papers
            amplitude = amplitude_percent(ratio)
            values.append(_tile_value("amplitude", amplitude, 0.01 * amplitude**2 * found.ratio_sd, "%", levels))
        else:
            values.append(_tile_value("ratio", ratio, found.ratio_sd, unit, levels, 3))
    else:
        share, share_sd = 1.0, 0.0
    return TileContent(
        actuator,
        LABELS[method],
        at.replacement or tracking_status(delay, share, found.delay_sd, share_sd, read(f"{method}_reason")),
        tuple(values),
        at.reason,
        severity,
        at.label,
        window,
        found.contradicting,
    )


def _speaker(history: History, actuator: str, alarms: Sequence[Alarm]) -> str:
    """Return the indicator of the figures: that of an alarm on the headline, else the first that is not paused."""
    speaking = [alarm.source.rpartition("_")[0] for alarm in alarms if alarm.value in QUANTITIES]
    if known := [prefix for prefix in speaking if prefix in LABELS]:
        return known[0]
    paused = () if history.health is None else history.health.paused
    return first_indicator(partial(_has, history, actuator), paused)


def _or_last(alarms: Sequence[Alarm], column: str, value: float) -> float:
    """Return a value, or where it is NaN that of an alarm on its column, which is recent while it is judged."""
    last = [alarm.last for alarm in alarms if column in (alarm.source, alarm.value) and alarm.last is not None]
    return last[0] if last and math.isnan(value) else value


def _phase_of(history: History, actuator: str, method: str) -> str:
    """Return the indicator of the phase: a broadband delay has none, and is shown with that of another one."""
    return next((one for one in (method, *_OF_PHASE) if _has(history, actuator, f"{one}_phase")), method)


def _phase_is(indicator: str, frequency: float) -> str:
    """Return the frequency of a phase of another indicator, or that indicator's name."""
    if indicator == "fdb" and math.isfinite(frequency):
        return f"at {fitted(frequency, 4, 1)} Hz"
    return LABELS[indicator]


def _has(history: History, owner: str, name: str) -> bool:
    return history.results is not None and history.results.column(owner, name) is not None


def _unit(history: History, owner: str, name: str) -> str:
    column = None if history.results is None else history.results.column(owner, name)
    return "1" if history.results is None or column is None else history.results.columns[column].unit


def _tile_value(
    label: str, value: float, deviation: float, unit: str, levels: Mapping[str, Level], decimals: int = 1
) -> TileValue:
    text = fitted(value, _WIDTH, decimals)
    if text == DASH:
        return TileValue(label, DASH, unit)
    return TileValue(label, text, unit, _spread_text(deviation, decimals), levels.get(label, Level.NONE))


_WHOLE = 100.0  # a larger value of a specimen has no decimals
_LOOP = {"specimen_loop_stiffness": "stiffness", "specimen_loop_damping": "damping"}


def specimens(history: History) -> tuple[str, ...]:
    """Return the actuators whose specimen is read loop by loop."""
    actuators = () if history.results is None else history.results.actuators
    return tuple(name for name in actuators if _has(history, name, "specimen_loop_stiffness"))


def specimen_content(history: History, actuator: str, at: PanelInstant, alarms: Sequence[Alarm]) -> TileContent:
    """Return the tile of an actuator's specimen: secant stiffness and equivalent damping of its newest loop."""
    of_loop = [alarm for alarm in alarms if alarm.actuator == actuator and alarm.value in _LOOP]
    severity, levels = alarm_severity(of_loop, _LOOP) if of_loop else (NO_LIMITS, {})
    values = []
    for column, label in _LOOP.items():
        unit = _unit(history, actuator, column)
        factor, unit = (100.0, "%") if unit == "1" else (1.0, unit)
        value, deviation = (factor * at.value(history, actuator, name) for name in (column, f"{column}_sd"))
        values.append(_tile_value(label, value, deviation, unit, levels, 0 if abs(value) >= _WHOLE else 2))
    reason = at.value(history, actuator, "specimen_loop_reason")
    status = at.replacement or Status(reason_word(reason) if reason > 0.0 else "newest loop", "○")
    name = f"{actuator} specimen"
    return TileContent(name, "loop", status, tuple(values), at.reason, severity, at.label, is_site=True)


def site_content(history: History, site: str, at: PanelInstant) -> TileContent:
    """Return the tile of a validation site.

    For now, the last valid values of the model are shown, marked where they are older: after the end of the model's
    time there are no new values, and the last ones remain valid.
    """
    results = history.results
    now = at.value(history, site, "reliability_accumulated")
    use_last = at.x is None and results is not None and at.replacement is None

    def value(name: str) -> float:
        if use_last and results is not None:
            return results.last_valid(site, f"reliability_{name}")
        return at.value(history, site, f"reliability_{name}")

    values = tuple(
        TileValue(label, fitted(value(name), _WIDTH, 3), "", _spread_text(value(f"{name}_se"), 4))
        for name, label in (("accumulated", "accumulated"), ("first_passage", "first-passage"))
    )
    known = math.isfinite(value("accumulated"))
    remark = at.reason or ("last known" if known and math.isnan(now) else "")
    if at.replacement is not None:
        decided = at.replacement
    elif results is not None and results.column(site, "reliability_decision") is not None:
        decided = decision_status(value("decision"))
    else:
        decided = Status("no limits", "○", Level.NONE) if known else NO_VALUE
    return TileContent(site, "model", decided, values, remark, time_label=at.label, is_site=True)
