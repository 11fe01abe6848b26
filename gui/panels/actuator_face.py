"""What the tile of an actuator says: how late and how large it is, and what of that is over a limit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from gui.model.alarm_limits import level_of, limits_of, own_limits_hold
from gui.model.alarm_summary import worst_of
from gui.model.history.history import History
from gui.model.limits import Limits
from gui.model.verdict import NO_VALUE, Verdict, amplitude_word, verdict
from gui.panels.tile_face import WIDTH, Reading, TileFace, spread_text
from gui.panels.tile_moment import TileMoment
from gui.wording.alarm_text import amount, severity_level, severity_shape, severity_word, value_words
from gui.wording.level import Level
from gui.wording.numbers import DASH, number
from monitor.messages.headline import LABELS, first_indicator, read_headline

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
        of_phase = _reading("phase", _DEGREES * phase, deviation, "deg", levels["phase"])
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
    text = number(value, WIDTH, decimals)
    if text == DASH:
        return Reading(label, DASH, unit)
    return Reading(label, text, unit, spread_text(deviation, decimals), level)


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
    how = amount(alarm, alarm.last) if alarm.active else "has returned"
    # of another indicator than that of the numbers beside it, it says so
    words = value_words(alarm.value, measure=not alarm.value.startswith(f"{method}_"))
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
