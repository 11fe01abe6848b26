"""Severity of an actuator: state of its alarms, else of the limits of the window, as a shape, a word and a colour."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gui.model.alarms import DisplayLimits, most_severe
from gui.wording.event_text import alarm_value, severity_level, severity_shape, severity_word, value_name
from gui.wording.level import Level
from monitor.messages.alarms import Alarm, AlarmState


@dataclass(frozen=True, slots=True)
class ActuatorSeverity:
    """Whether action is needed.

    Parameters
    ----------
    words : ``TRIP``, ``WARN``, ``shelved``, ``normal``, or those for limits of the window; empty without limits.
    details : what is outside its limits.
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
_NORMAL = ActuatorSeverity("normal", "●", Level.GOOD)
_WITHIN_LIMITS = ActuatorSeverity("within display limits", "●", Level.GOOD)
_OUT_OF_SERVICE = ActuatorSeverity("alarms out of service", "◌")


def alarm_severity(
    alarms: Sequence[Alarm], quantities: Mapping[str, str], *, known: bool
) -> tuple[ActuatorSeverity, Levels]:
    """Return the severity of an actuator by its alarms, and the levels of the displayed quantities.

    Parameters
    ----------
    alarms : on values of the actuator.
    quantities : displayed quantity of each value that can have an alarm.
    known : values of the actuator are known and current; else it is not normal, whatever the alarms.
    """
    levels: dict[str, Level] = {}
    for alarm in alarms:
        if alarm.is_annunciated and alarm.active and (quantity := quantities.get(alarm.value)):
            levels[quantity] = _highest((levels.get(quantity, Level.NONE), severity_level(alarm.severity)))
    return _of_alarms(alarms, quantities, known=known), levels


def limit_severity(limits: DisplayLimits, values: Mapping[str, float]) -> tuple[ActuatorSeverity, Levels]:
    """Return the severity by the limits of the window, and the levels of the quantities.

    Parameters
    ----------
    values : of the quantities, in the unit of their limits.
    """
    levels: dict[str, Level] = {}
    for quantity, value in values.items():
        limit = limits.get(quantity)
        if limit is not None and math.isfinite(value) and math.isfinite(min(limit.warn, limit.trip)):
            size = abs(value)
            levels[quantity] = Level.BAD if size > limit.trip else Level.WARN if size > limit.warn else Level.NONE
    if not levels:
        return NO_LIMITS, {}
    over = [quantity for quantity, level in levels.items() if level is not Level.NONE]
    if not over:
        return _WITHIN_LIMITS, levels
    # a shape and words other than those of an alarm
    return ActuatorSeverity("over display limit", "◇", _highest(levels.values()), ", ".join(over)), levels


def importance(level: Level) -> int:
    """Return the rank of a level; the larger, the more important."""
    return list(Level).index(level)


def _of_alarms(alarms: Sequence[Alarm], quantities: Mapping[str, str], *, known: bool) -> ActuatorSeverity:
    if not alarms:
        return NO_LIMITS
    first, others = most_severe(alarms, alarms[0].actuator)
    if first is not None:
        more = f" (+{others} more)" if others else ""
        # the value while the condition holds; else it has returned to normal and is unacknowledged
        how = alarm_value(first, first.last) if first.active else "back to normal"
        words = f"{_name(first, quantities)} {how}{more}"
        severity = first.severity
        return ActuatorSeverity(
            severity_word(severity), severity_shape(severity), severity_level(severity), words, True
        )
    shelved = [alarm for alarm in alarms if alarm.state is AlarmState.SHELVED]
    if shelved:
        return ActuatorSeverity(
            "shelved", "◷", Level.INFO, ", ".join(dict.fromkeys(_name(a, quantities) for a in shelved))
        )
    if all(alarm.state is AlarmState.OUT_OF_SERVICE for alarm in alarms):
        return _OUT_OF_SERVICE
    return _NORMAL if known else NO_LIMITS


def _name(alarm: Alarm, quantities: Mapping[str, str]) -> str:
    """Return the name of a value; with its indicator where that is not the one of the displayed values."""
    return value_name(alarm.value, measure=alarm.value not in quantities)


def _highest(levels: Iterable[Level]) -> Level:
    return max(levels, key=importance)
