"""Content of a tile: values, status and alarm of an actuator; reliability and decision of a site."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from gui.model.alarms import DisplayLimits, display_limits_apply, most_severe, select_limits, severity_of
from gui.model.history import History
from gui.model.tracking_status import NO_VALUE, Status, amplitude_word, contradiction_mark, tracking_status
from gui.panels.base import PanelInstant
from gui.wording.event_text import alarm_value, severity_level, severity_shape, severity_word, value_name
from gui.wording.level import Level
from gui.wording.numbers import DASH, number
from monitor.messages.headline import LABELS, first_indicator, read_headline

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
    status : summary in words and a shape.
    values : the most important first.
    remark : further text.
    alarm, alarm_level : what exceeds a limit; empty where nothing does.
    time_label : instant of the values; empty for now.
    alarm_active : `alarm` is an active alarm of the service.
    window : of the indicator, s; NaN for no window.
    contradicting : prefixes of the indicators that contradict the values.
    """

    name: str
    source: str
    status: Status
    values: tuple[TileValue, ...]
    remark: str = ""
    alarm: str = ""
    alarm_level: Level = Level.NONE
    time_label: str = ""
    alarm_active: bool = False
    window: float = math.nan
    contradicting: tuple[str, ...] = ()

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
    def text(self) -> str:
        """The content in one line, for screen readers."""
        numbers = (" ".join(filter(None, (r.label, r.text, r.unit, r.spread))) for r in self.values)
        origin = ", ".join(filter(None, self.origin))
        parts = (self.name, self.status.words, *numbers, origin, self.mark, self.remark, self.alarm)
        return "; ".join(part for part in parts if part)


def _spread_text(deviation: float, decimals: int) -> str:
    """Return ``± 0.2``; empty where it is unknown."""
    if not math.isfinite(deviation):
        return ""
    least = 10.0**-decimals
    if 0.0 < deviation < 0.5 * least:
        return f"± <{least:.{decimals}f}"
    return f"± {number(deviation, _WIDTH, decimals)}"


_OF_PHASE = ("fdb", "paei", "paei_adaptive")
_DEGREES = 180.0 / math.pi


def actuator_content(
    history: History, actuator: str, at: PanelInstant, limits: DisplayLimits, window: float
) -> TileContent:
    """Return the tile of an actuator; `window` [s] of the indicators, after which the first value is available."""

    def read(name: str) -> float:
        return at.value(history, actuator, name)

    method = first_indicator(partial(_has, history, actuator))
    found = read_headline(method, read)
    delay, ratio = found.delay, found.ratio
    phase_of = _phase_of(history, actuator, method)
    phase = read(f"{phase_of}_phase")
    unit = _unit(history, actuator, f"{method}_ratio")
    # a ratio of different units can be neither too large nor too small
    share = ratio if unit == "1" else 1.0
    if not display_limits_apply(history.limits):
        limits = {}
    levels = {
        "delay": _over(limits, "delay", 1e3 * delay),
        "phase": _over(limits, "phase", _DEGREES * phase),
        "ratio": _over(limits, "ratio", 100.0 * (share - 1.0)),
    }
    for prefix, quantity, value in ((method, "delay", delay), (phase_of, "phase", phase), (method, "ratio", ratio)):
        watched = select_limits(history.limits, (actuator,), (f"{prefix}_{quantity}",))
        if watched:
            levels[quantity] = severity_of(watched, value)
    values = [_tile_value("delay", 1e3 * delay, 1e3 * found.delay_sd, "ms", levels["delay"])]
    if _has(history, actuator, f"{phase_of}_phase"):
        deviation = _DEGREES * read(f"{phase_of}_phase_sd")
        of_phase = _tile_value("phase", _DEGREES * phase, deviation, "°", levels["phase"])
        if phase_of != method and math.isfinite(phase):
            of_phase = replace(of_phase, spread=_phase_is(phase_of, read("fdb_frequency")))
        values.append(of_phase)
    if _has(history, actuator, f"{method}_ratio"):
        scale, unit, decimals = (100.0, "%", 1) if unit == "1" else (1.0, unit, 3)
        values.append(_tile_value("ratio", scale * ratio, scale * found.ratio_sd, unit, levels["ratio"], decimals))
    else:
        share = 1.0
    active = _active_alarm(history, actuator, method) if at.x is None else None
    alarm, level = active or _exceeded_limits(levels)
    return TileContent(
        actuator,
        LABELS[method],
        _status(at, tracking_status(delay, share, phase), window),
        tuple(values),
        at.reason or (amplitude_word(share) if math.isfinite(delay) and math.isfinite(share) else ""),
        alarm,
        level,
        at.label,
        active is not None,
        window,
        found.contradicting,
    )


def _phase_of(history: History, actuator: str, method: str) -> str:
    """Return the indicator of the phase: a broadband delay has none, and is shown with that of another one."""
    return next((one for one in (method, *_OF_PHASE) if _has(history, actuator, f"{one}_phase")), method)


def _phase_is(indicator: str, frequency: float) -> str:
    """Return the frequency of a phase of another indicator, or that indicator's name."""
    if indicator == "fdb" and math.isfinite(frequency):
        return f"at {number(frequency, 4, 1)} Hz"
    return LABELS[indicator]


def _has(history: History, owner: str, name: str) -> bool:
    return history.results is not None and history.results.column(owner, name) is not None


def _unit(history: History, owner: str, name: str) -> str:
    column = None if history.results is None else history.results.column(owner, name)
    return "1" if history.results is None or column is None else history.results.columns[column].unit


def _tile_value(label: str, value: float, deviation: float, unit: str, level: Level, decimals: int = 1) -> TileValue:
    text = number(value, _WIDTH, decimals)
    if text == DASH:
        return TileValue(label, DASH, unit)
    return TileValue(label, text, unit, _spread_text(deviation, decimals), level)


def _over(limits: DisplayLimits, quantity: str, value: float) -> Level:
    limit = limits.get(quantity)
    if limit is None or not math.isfinite(value):
        return Level.NONE
    return Level.BAD if abs(value) > limit.trip else Level.WARN if abs(value) > limit.warn else Level.NONE


def _active_alarm(history: History, actuator: str, method: str) -> tuple[str, Level] | None:
    """Return text and level of the most severe active alarm of an actuator; None where there is none."""
    alarm, others = most_severe(history.alarms or (), actuator)
    if alarm is None:
        return None
    severity = f"{severity_shape(alarm.severity)} {severity_word(alarm.severity)}"
    more = f" (+{others} more)" if others else ""
    # the value while the condition holds; else it has returned to normal and is unacknowledged
    how = alarm_value(alarm, alarm.last) if alarm.active else "back to normal"
    # an indicator other than that of the values is named
    words = value_name(alarm.value, measure=not alarm.value.startswith(f"{method}_"))
    return f"{severity}: {words} {how}{more}", severity_level(alarm.severity)


def _exceeded_limits(levels: Mapping[str, Level]) -> tuple[str, Level]:
    for level, word, shape in ((Level.BAD, "trip", "■"), (Level.WARN, "warn", "▲")):
        over = [quantity for quantity, found in levels.items() if found is level]
        if over:
            return f"{shape} over limit ({word}): {', '.join(over)}", level
    return "", Level.NONE


def _status(at: PanelInstant, found: Status, window: float) -> Status:
    if at.replacement is not None:
        return at.replacement
    if found is NO_VALUE and at.running < window:
        return Status("window not full", "○", Level.NONE)
    return found


_DECISIONS = {
    1.0: Status("accept", "●", Level.GOOD),
    0.0: Status("watch", "▲", Level.WARN),
    -1.0: Status("reject", "■", Level.BAD),
}
_UNDECIDED = Status("not decided", "○", Level.NONE)


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
        TileValue(label, number(value(name), _WIDTH, 3), "", _spread_text(value(f"{name}_se"), 4))
        for name, label in (("accumulated", "accumulated"), ("first_passage", "first-passage"))
    )
    known = math.isfinite(value("accumulated"))
    remark = at.reason or ("last known" if known and math.isnan(now) else "")
    if at.replacement is not None:
        decided = at.replacement
    elif results is not None and results.column(site, "reliability_decision") is not None:
        decided = _DECISIONS.get(value("decision"), _UNDECIDED)
    else:
        decided = Status("no limits", "○", Level.NONE) if known else NO_VALUE
    return TileContent(site, "model", decided, values, remark, time_label=at.label)
