"""Content of a tile: the numbers, verdict and alarm of an actuator, the reliability and decision of a site."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from gui.model.alarms import Limits, level_of, limits_of, own_limits_hold, worst_of
from gui.model.history import History
from gui.model.verdict import NO_VALUE, Verdict, amplitude_word, contradiction_mark, verdict
from gui.panels.base import TileMoment
from gui.wording.event_text import alarm_value, severity_level, severity_shape, severity_word, value_name
from gui.wording.level import Level
from gui.wording.numbers import DASH, number
from monitor.messages.headline import LABELS, first_indicator, read_headline

_WIDTH = 6
"""Characters of a number on a tile, at least."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A number with its unit, its standard deviation beside it, and whether it is over a limit."""

    label: str
    text: str
    unit: str = ""
    spread: str = ""
    level: Level = Level.NONE


@dataclass(frozen=True, slots=True)
class TileFace:
    """All that a tile says.

    Parameters
    ----------
    name : of the actuator or site.
    source : which indicator the numbers are of.
    verdict : a word and a shape for all of it.
    readings : the most important first.
    remark : what else there is to say.
    alarm, alarm_level : what is over a limit; empty where nothing is.
    said : of which instant that is; empty for now.
    standing : the service says so: an alarm stands.
    window : s that the numbers are of; NaN for no window.
    contradicting : prefixes of the indicators that contradict the numbers.
    """

    name: str
    source: str
    verdict: Verdict
    readings: tuple[Reading, ...]
    remark: str = ""
    alarm: str = ""
    alarm_level: Level = Level.NONE
    said: str = ""
    standing: bool = False
    window: float = math.nan
    contradicting: tuple[str, ...] = ()

    @property
    def origin(self) -> tuple[str, str]:
        """Two lines: which indicator and over how long a window, or of which instant and which indicator."""
        seconds = f"{self.window:.3g} s" if math.isfinite(self.window) else ""
        if self.said:
            return self.said, ", ".join(filter(None, (self.source, seconds)))
        return self.source, seconds and f"{seconds} window"

    @property
    def mark(self) -> str:
        """``≠ FDB, PAEI`` where these contradict the numbers; empty where nothing does."""
        return contradiction_mark(self.contradicting)

    @property
    def known(self) -> bool:
        """There is a number on it."""
        return any(reading.text != DASH for reading in self.readings)

    @property
    def text(self) -> str:
        """The whole of it in one line, for who cannot see it."""
        numbers = (" ".join(filter(None, (r.label, r.text, r.unit, r.spread))) for r in self.readings)
        origin = ", ".join(filter(None, self.origin))
        parts = (self.name, self.verdict.words, *numbers, origin, self.mark, self.remark, self.alarm)
        return "; ".join(part for part in parts if part)


def _spread_text(deviation: float, decimals: int) -> str:
    """Return ``± 0.2``; nothing where it is not known."""
    if not math.isfinite(deviation):
        return ""
    least = 10.0**-decimals
    if 0.0 < deviation < 0.5 * least:
        return f"± <{least:.{decimals}f}"
    return f"± {number(deviation, _WIDTH, decimals)}"


_OF_PHASE = ("fdb", "paei", "paei_adaptive")
_DEGREES = 180.0 / math.pi


def actuator_face(history: History, actuator: str, at: TileMoment, limits: Limits, window: float) -> TileFace:
    """Return the tile of an actuator; `window` [s] is that of the indicators; the first value comes after one."""

    def read(name: str) -> float:
        return at.value(history, actuator, name)

    method = first_indicator(partial(_has, history, actuator))
    found = read_headline(method, read)
    delay, ratio = found.delay, found.ratio
    phase_of = _phase_of(history, actuator, method)
    phase = read(f"{phase_of}_phase")
    unit = _unit(history, actuator, f"{method}_ratio")
    # volts over millimetres are no share: they can be neither too large nor too small
    share = ratio if unit == "1" else 1.0
    if not own_limits_hold(history.limits):
        limits = {}
    levels = {
        "delay": _over(limits, "delay", 1e3 * delay),
        "phase": _over(limits, "phase", _DEGREES * phase),
        "ratio": _over(limits, "ratio", 100.0 * (share - 1.0)),
    }
    for prefix, quantity, value in ((method, "delay", delay), (phase_of, "phase", phase), (method, "ratio", ratio)):
        watched = limits_of(history.limits, (actuator,), (f"{prefix}_{quantity}",))
        if watched:
            levels[quantity] = level_of(watched, value)
    readings = [_reading("delay", 1e3 * delay, 1e3 * found.delay_sd, "ms", levels["delay"])]
    if _has(history, actuator, f"{phase_of}_phase"):
        deviation = _DEGREES * read(f"{phase_of}_phase_sd")
        of_phase = _reading("phase", _DEGREES * phase, deviation, "°", levels["phase"])
        if phase_of != method and math.isfinite(phase):
            of_phase = replace(of_phase, spread=_phase_is(phase_of, read("fdb_frequency")))
        readings.append(of_phase)
    if _has(history, actuator, f"{method}_ratio"):
        scale, unit, decimals = (100.0, "%", 1) if unit == "1" else (1.0, unit, 3)
        readings.append(_reading("ratio", scale * ratio, scale * found.ratio_sd, unit, levels["ratio"], decimals))
    else:
        share = 1.0
    told = _standing(history, actuator, method) if at.x is None else None
    alarm, level = told or _alarm(levels)
    return TileFace(
        actuator,
        LABELS[method],
        _found(at, verdict(delay, share, phase), window),
        tuple(readings),
        at.why or (amplitude_word(share) if math.isfinite(delay) and math.isfinite(share) else ""),
        alarm,
        level,
        at.said,
        told is not None,
        window,
        found.contradicting,
    )


def _phase_of(history: History, actuator: str, method: str) -> str:
    """Return whose phase is shown: a delay over a band has none, and the dominant frequency's stands beside it."""
    return next((one for one in (method, *_OF_PHASE) if _has(history, actuator, f"{one}_phase")), method)


def _phase_is(indicator: str, frequency: float) -> str:
    """Return at which frequency a phase is that of another indicator, or whose it is."""
    if indicator == "fdb" and math.isfinite(frequency):
        return f"at {number(frequency, 4, 1)} Hz"
    return LABELS[indicator]


def _has(history: History, owner: str, name: str) -> bool:
    return history.results is not None and history.results.column(owner, name) is not None


def _unit(history: History, owner: str, name: str) -> str:
    column = None if history.results is None else history.results.column(owner, name)
    return "1" if history.results is None or column is None else history.results.columns[column].unit


def _reading(label: str, value: float, deviation: float, unit: str, level: Level, decimals: int = 1) -> Reading:
    text = number(value, _WIDTH, decimals)
    if text == DASH:
        return Reading(label, DASH, unit)
    return Reading(label, text, unit, _spread_text(deviation, decimals), level)


def _over(limits: Limits, quantity: str, value: float) -> Level:
    limit = limits.get(quantity)
    if limit is None or not math.isfinite(value):
        return Level.NONE
    return Level.BAD if abs(value) > limit.trip else Level.WARN if abs(value) > limit.warn else Level.NONE


def _standing(history: History, actuator: str, method: str) -> tuple[str, Level] | None:
    """Return the gravest alarm of an actuator that stands now; None where there is none."""
    alarm, others = worst_of(history.alarms or (), actuator)
    if alarm is None:
        return None
    grave = f"{severity_shape(alarm.severity)} {severity_word(alarm.severity)}"
    more = f", +{others}" if others else ""
    # whether it holds, or has gone and waits for somebody to take note of it
    how = alarm_value(alarm, alarm.last) if alarm.active else "has returned"
    # of another indicator than that of the numbers beside it, it says so
    words = value_name(alarm.value, measure=not alarm.value.startswith(f"{method}_"))
    return f"{grave}: {words} {how}{more}", severity_level(alarm.severity)


def _alarm(levels: Mapping[str, Level]) -> tuple[str, Level]:
    for level, word, shape in ((Level.BAD, "trip", "■"), (Level.WARN, "warn", "▲")):
        over = [quantity for quantity, found in levels.items() if found is level]
        if over:
            return f"{shape} over limit ({word}): {', '.join(over)}", level
    return "", Level.NONE


def _found(at: TileMoment, found: Verdict, window: float) -> Verdict:
    if at.instead is not None:
        return at.instead
    if found is NO_VALUE and at.running < window:
        return Verdict("window not full", "○", Level.NONE)
    return found


_DECISIONS = {
    1.0: Verdict("accept", "●", Level.GOOD),
    0.0: Verdict("watch", "▲", Level.WARN),
    -1.0: Verdict("reject", "■", Level.BAD),
}
_UNDECIDED = Verdict("not decided", "○", Level.NONE)


def site_face(history: History, site: str, at: TileMoment) -> TileFace:
    """Return the tile of a validation site.

    Now, it shows what was last known of the model, and says so where that is not of now: after the end of its time
    there are no new values, and the old ones stay true.
    """
    results = history.results
    now = at.value(history, site, "reliability_accumulated")
    kept = at.x is None and results is not None and at.instead is None

    def value(name: str) -> float:
        if kept and results is not None:
            return results.last_valid(site, f"reliability_{name}")
        return at.value(history, site, f"reliability_{name}")

    readings = tuple(
        Reading(label, number(value(name), _WIDTH, 3), "", _spread_text(value(f"{name}_se"), 4))
        for name, label in (("accumulated", "accumulated"), ("first_passage", "first-passage"))
    )
    known = math.isfinite(value("accumulated"))
    remark = at.why or ("last known" if known and math.isnan(now) else "")
    if at.instead is not None:
        decided = at.instead
    elif results is not None and results.column(site, "reliability_decision") is not None:
        decided = _DECISIONS.get(value("decision"), _UNDECIDED)
    else:
        decided = Verdict("no limits", "○", Level.NONE) if known else NO_VALUE
    return TileFace(site, "model", decided, readings, remark, said=at.said)
