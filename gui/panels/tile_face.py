"""What a tile says, in words and numbers; how it is drawn is another thing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from gui.history.history import History
from gui.level import Level
from gui.limits import Limits
from gui.numbers import DASH, number
from gui.panels.tile_moment import TileMoment
from gui.verdict import NO_VALUE, Verdict, amplitude_word, verdict

_METHODS = (("fdb", "FDB"), ("paei", "PAEI"), ("broadband", "broadband"), ("xcorr", "correlation"))
_WIDTH = 6
_DEGREES = 180.0 / math.pi
_DECISIONS = {
    1.0: Verdict("accept", "●", Level.GOOD),
    0.0: Verdict("watch", "▲", Level.WARN),
    -1.0: Verdict("reject", "■", Level.BAD),
}
_UNDECIDED = Verdict("not decided", "○", Level.NONE)


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
    """

    name: str
    source: str
    verdict: Verdict
    readings: tuple[Reading, ...]
    remark: str = ""
    alarm: str = ""
    alarm_level: Level = Level.NONE
    said: str = ""

    @property
    def known(self) -> bool:
        """There is a number on it."""
        return any(reading.text != DASH for reading in self.readings)

    @property
    def text(self) -> str:
        """The whole of it in one line, for who cannot see it."""
        numbers = (" ".join(filter(None, (r.label, r.text, r.unit, r.spread))) for r in self.readings)
        parts = (self.name, self.verdict.words, *numbers, self.remark, self.alarm, self.said)
        return "; ".join(part for part in parts if part)


def actuator_face(history: History, actuator: str, at: TileMoment, limits: Limits, window: float) -> TileFace:
    """Return the tile of an actuator; `window` [s] is how long an indicator takes to its first value."""
    method, source = _method(history, actuator)
    delay, ratio, phase, delay_sd, ratio_sd, phase_sd = (
        at.value(history, actuator, f"{method}_{name}")
        for name in ("delay", "ratio", "phase", "delay_sd", "ratio_sd", "phase_sd")
    )
    unit = _unit(history, actuator, f"{method}_ratio")
    # volts over millimetres are no share: they can be neither too large nor too small
    share = ratio if unit == "1" else 1.0
    levels = {
        "delay": _over(limits, "delay", 1e3 * delay),
        "phase": _over(limits, "phase", _DEGREES * phase),
        "ratio": _over(limits, "ratio", 100.0 * (share - 1.0)),
    }
    readings = [_reading("delay", 1e3 * delay, 1e3 * delay_sd, "ms", levels["delay"])]
    if _has(history, actuator, f"{method}_phase"):
        readings.append(_reading("phase", _DEGREES * phase, _DEGREES * phase_sd, "deg", levels["phase"]))
    if _has(history, actuator, f"{method}_ratio"):
        scale, unit, decimals = (100.0, "%", 1) if unit == "1" else (1.0, unit, 3)
        readings.append(_reading("ratio", scale * ratio, scale * ratio_sd, unit, levels["ratio"], decimals))
    else:
        share = 1.0
    alarm, level = _alarm(levels)
    return TileFace(
        actuator,
        source,
        _found(at, verdict(delay, share, phase), window),
        tuple(readings),
        at.why or (amplitude_word(share) if math.isfinite(delay) and math.isfinite(share) else ""),
        alarm,
        level,
        at.said,
    )


def site_face(history: History, site: str, at: TileMoment) -> TileFace:
    """Return the tile of a site where a model is judged.

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
        Reading(label, number(value(name), _WIDTH, 3), "", _spread(value(f"{name}_se"), 4))
        for name, label in (("accumulated", "accumulated"), ("first_passage", "first-passage"))
    )
    known = math.isfinite(value("accumulated"))
    remark = at.why or ("last known" if known and math.isnan(now) else "")
    if at.instead is not None:
        decided = at.instead
    elif _has(history, site, "reliability_decision"):
        decided = _DECISIONS.get(value("decision"), _UNDECIDED)
    else:
        decided = Verdict("no limits", "○", Level.NONE) if known else NO_VALUE
    return TileFace(site, "model", decided, readings, remark, said=at.said)


def _method(history: History, actuator: str) -> tuple[str, str]:
    """Return the first method that the service computes a delay with; services may compute some only."""
    return next((m for m in _METHODS if _has(history, actuator, f"{m[0]}_delay")), _METHODS[0])


def _has(history: History, owner: str, name: str) -> bool:
    return history.results is not None and history.results.column(owner, name) is not None


def _unit(history: History, owner: str, name: str) -> str:
    column = None if history.results is None else history.results.column(owner, name)
    return "1" if history.results is None or column is None else history.results.columns[column].unit


def _reading(label: str, value: float, deviation: float, unit: str, level: Level, decimals: int = 1) -> Reading:
    text = number(value, _WIDTH, decimals)
    if text == DASH:
        return Reading(label, DASH, unit)
    return Reading(label, text, unit, _spread(deviation, decimals), level)


def _spread(deviation: float, decimals: int) -> str:
    if not math.isfinite(deviation):
        return ""
    least = 10.0**-decimals
    if 0.0 < deviation < 0.5 * least:
        return f"± <{least:.{decimals}f}"
    return f"± {number(deviation, _WIDTH, decimals)}"


def _over(limits: Limits, quantity: str, value: float) -> Level:
    limit = limits.get(quantity)
    if limit is None or not math.isfinite(value):
        return Level.NONE
    return Level.BAD if abs(value) > limit.trip else Level.WARN if abs(value) > limit.warn else Level.NONE


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
