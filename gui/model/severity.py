"""Severity of an actuator: state of its alarms, else of the limits of the window; and the most severe of several."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace

from gui.model.alarms import DisplayLimits, most_severe
from gui.model.results import ResultHistory
from gui.wording.event_text import (
    NOT_JUDGED_SHAPE,
    alarm_value,
    normal_range,
    severity_level,
    severity_shape,
    severity_word,
    value_name,
)
from gui.wording.level import Level
from monitor.messages.alarms import Alarm, AlarmState, Severity
from monitor.messages.blocks import Samples


@dataclass(frozen=True, slots=True)
class ActuatorSeverity:
    """Whether action is needed.

    Parameters
    ----------
    words : ``TRIP``, ``WARN``, ``not judged``, ``shelved``, ``normal``, or those for limits of the window; empty
        without limits.
    details : what is outside its limits, why it is not judged, or what is normal.
    active : an alarm of the service is active.
    """

    words: str = ""
    shape: str = ""
    level: Level = Level.NONE
    details: str = ""
    active: bool = False

    @property
    def text(self) -> str:
        """Shape, words and details."""
        return ": ".join(filter(None, (f"{self.shape} {self.words}".strip(), self.details)))


Levels = Mapping[str, Level]
"""Levels of displayed quantities."""

NO_LIMITS = ActuatorSeverity()
_WITHIN_LIMITS = ActuatorSeverity("within display limits", "●", Level.GOOD)


def amplitude_percent(ratio: float) -> float:
    """Return the measured amplitude in % of the command, from command over measured."""
    return 100.0 / ratio if ratio else math.nan


def _as_amplitude(alarm: Alarm, quantities: Mapping[str, str]) -> Alarm:
    """Return an alarm on a ratio that is shown as an amplitude with its value and limits in %."""
    if quantities.get(alarm.value) != "amplitude":
        return alarm

    def percent(ratio: float | None) -> float | None:
        return None if ratio is None else round(amplitude_percent(ratio), 1)

    # the highest ratio is the lowest amplitude; limits in whole numbers
    low, high = (round(amplitude_percent(limit)) if limit else None for limit in (alarm.high, alarm.low))
    return replace(alarm, value="amplitude", unit="%", low=low, high=high, last=percent(alarm.last))


def alarm_severity(alarms: Sequence[Alarm], quantities: Mapping[str, str]) -> tuple[ActuatorSeverity, Levels]:
    """Return the severity of an actuator by its alarms, and the levels of the displayed quantities.

    Parameters
    ----------
    alarms : on values of the actuator.
    quantities : displayed quantity of each value that can have an alarm.
    """
    levels: dict[str, Level] = {}
    for alarm in alarms:
        if alarm.is_annunciated and alarm.active and (quantity := quantities.get(alarm.value)):
            levels[quantity] = _highest((levels.get(quantity, Level.NONE), severity_level(alarm.severity)))
    return _of_alarms(alarms, quantities), levels


def limit_severity(limits: DisplayLimits, values: Mapping[str, float]) -> tuple[ActuatorSeverity, Levels]:
    """Return the severity by the limits of the window, and the levels of the quantities.

    Parameters
    ----------
    values : of the quantities, in the unit of their limits.
    """
    levels: dict[str, Level] = {}
    for quantity, value in values.items():
        if _is_limited(limits, quantity) and math.isfinite(value):
            limit, size = limits[quantity], abs(value)
            levels[quantity] = Level.BAD if size > limit.trip else Level.WARN if size > limit.warn else Level.NONE
    over = [quantity for quantity, level in levels.items() if level is not Level.NONE]
    if not over:
        unknown = [quantity for quantity in values if _is_limited(limits, quantity) and quantity not in levels]
        return (NO_LIMITS if unknown or not levels else _WITHIN_LIMITS), levels
    # a shape and words other than those of an alarm
    return ActuatorSeverity("over display limit", "◇", _highest(levels.values()), ", ".join(over)), levels


def importance(level: Level) -> int:
    """Return the rank of a level; the larger, the more important."""
    return list(Level).index(level)


def _is_limited(limits: DisplayLimits, quantity: str) -> bool:
    limit = limits.get(quantity)
    return limit is not None and math.isfinite(min(limit.warn, limit.trip))


def _of_alarms(alarms: Sequence[Alarm], quantities: Mapping[str, str]) -> ActuatorSeverity:
    """Return the first that holds: active, not judged, shelved, out of service; normal is what none of them is."""
    if not alarms:
        return NO_LIMITS
    alarms = [_as_amplitude(alarm, quantities) for alarm in alarms]
    quantities = {**quantities, "amplitude": "amplitude"}
    first, others = most_severe(alarms, alarms[0].actuator)
    if first is not None:
        word, details = severity_word(first.severity), _name(first, quantities)
        if first.not_judged:
            word, details = f"{word}, not judged", f"{details}, {first.not_judged}"
        else:
            # the value while the condition holds; else it has returned to normal and is unacknowledged
            how = alarm_value(first, first.last) if first.active else "back to normal"
            details += f" {how}" + (f" (+{others} more)" if others else "")
        return ActuatorSeverity(word, severity_shape(first.severity), severity_level(first.severity), details, True)
    if unjudged := [alarm for alarm in alarms if alarm.state is AlarmState.NOT_JUDGED]:
        # that of a displayed value first; the names where others are judged
        details = min(unjudged, key=lambda alarm: alarm.value not in quantities).not_judged
        if len(unjudged) < len(alarms):
            details = f"{_names(unjudged, quantities)}: {details}"
        return ActuatorSeverity("not judged", NOT_JUDGED_SHAPE, Level.NONE, details)
    if shelved := [alarm for alarm in alarms if alarm.state is AlarmState.SHELVED]:
        return ActuatorSeverity("shelved", "◷", Level.INFO, _names(shelved, quantities))
    if idle := [alarm for alarm in alarms if alarm.state is AlarmState.OUT_OF_SERVICE]:
        details = "" if len(idle) == len(alarms) else _names(idle, quantities)
        return ActuatorSeverity("alarms out of service", "◌", Level.NONE, details)
    return ActuatorSeverity("normal", "●", Level.GOOD, _normal_details(alarms, quantities))


def _normal_details(alarms: Sequence[Alarm], quantities: Mapping[str, str]) -> str:
    """Return the innermost limits of the first displayed quantity that has any; else what is judged."""
    for value in quantities:
        if own := [alarm for alarm in alarms if alarm.value == value]:
            inner = min(own, key=lambda alarm: alarm.severity is Severity.TRIP)
            return f"{_name(inner, quantities)} {normal_range(inner)}"
    return _names(alarms, quantities)


def _names(alarms: Iterable[Alarm], quantities: Mapping[str, str]) -> str:
    return ", ".join(dict.fromkeys(_name(alarm, quantities) for alarm in alarms))


def _name(alarm: Alarm, quantities: Mapping[str, str]) -> str:
    """Return the name of a value; with its indicator where that is not the one of the displayed values."""
    return value_name(alarm.value, measure=alarm.value not in quantities)


def _highest(levels: Iterable[Level]) -> Level:
    return max(levels, key=importance)


_BUCKETS = 256
_KEEP = 1.25  # factor by which another actuator must be larger to replace one that is shown


@dataclass(frozen=True, slots=True)
class RankedResult:
    """A result of several actuators.

    Parameters
    ----------
    name : of the result.
    actuators : that have it.
    ideal : its value for perfect tracking.
    """

    name: str
    actuators: tuple[str, ...]
    ideal: float = 0.0


def severities(alarms: Iterable[Alarm]) -> dict[str, int]:
    """Return 3 for each actuator with an active trip alarm, else 2 for a warning, 1 for one that is not judged."""
    found: dict[str, int] = {}
    for alarm in alarms:
        rank = 1 if alarm.not_judged else 0
        if alarm.is_annunciated:
            rank = 3 if severity_level(alarm.severity) is Level.BAD else 2
        if rank:
            found[alarm.actuator] = max(rank, found.get(alarm.actuator, 0))
    return found


def worst(
    results: ResultHistory, ranked: RankedResult, left: float, right: float, most: int, severity: dict[str, int],
    shown: Sequence[str] = (),
) -> tuple[str, ...]:  # fmt: skip
    """Return the `most` actuators with the most severe alarms and, of equal severity, the largest deviation in view.

    Parameters
    ----------
    left, right : the view, s on the display's axis.
    severity : by actuator; see `severities`.
    shown : those returned before; they remain where others are about as large, and keep their order.
    """
    size = dict(zip(ranked.actuators, _largest(results, ranked, left, right).tolist(), strict=True))

    def rank(actuator: str) -> tuple[int, float]:
        return severity.get(actuator, 0), size[actuator] * (_KEEP if actuator in shown else 1.0)

    # sorting is stable: equal ones are in the order of the actuators
    found = sorted(ranked.actuators, key=rank, reverse=True)[:most]
    return tuple(shown) if set(found) == set(shown) else tuple(found)


def _largest(results: ResultHistory, ranked: RankedResult, left: float, right: float) -> Samples:
    """Return the largest deviation from the ideal value in view, (n_actuators,); -1 where there is no value."""
    found = results.envelope(left, right, _BUCKETS, [(actuator, ranked.name) for actuator in ranked.actuators])
    if not len(found):
        return np.full(len(ranked.actuators), -1.0)
    size = np.fmax(np.abs(found.low - ranked.ideal), np.abs(found.high - ranked.ideal))
    largest: Samples = np.nan_to_num(np.fmax.reduce(size, axis=0), nan=-1.0)
    return largest
