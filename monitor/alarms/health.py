"""Alarms on the health of the service: whether a metric is out of its limits."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from monitor.alarms.alarm_instance import NO_VALUE, AlarmInstance, StreamPosition
from monitor.alarms.definitions import AlarmDefinition
from monitor.alarms.health_metrics import HealthMetric
from monitor.messages.alarms import Transition
from monitor.messages.health import Health


@dataclass(slots=True)
class HealthCondition:
    """Whether a health metric is out of its limits; as `ConditionEvaluator`, with delays in seconds.

    Parameters
    ----------
    low, high, deadband : as in `RowCondition`.
    on_delay, off_delay : s for which the value must have been out of the range, or back.
    active : the value is out of its limits.
    """

    low: float
    high: float
    deadband: float = 0.0
    on_delay: float = 0.0
    off_delay: float = 0.0
    active: bool = False
    held: float | None = None

    def update(self, value: float, elapsed: float) -> bool:
        """Evaluate a value `elapsed` s after the previous one; return whether `active` has changed."""
        if self.active:
            changes = self.low + self.deadband <= value <= self.high - self.deadband
        else:
            changes = value < self.low or value > self.high
        if not changes:
            self.held = None
            return False
        self.held = 0.0 if self.held is None else self.held + elapsed
        if self.held < (self.off_delay if self.active else self.on_delay):
            return False
        self.held, self.active = None, not self.active
        return True


class HealthAlarm:
    """An alarm on a health metric of the service.

    Parameters
    ----------
    max_age : s without a value after which it is not judged.
    """

    def __init__(self, definition: AlarmDefinition, max_age: float) -> None:
        self.definition = definition
        self._max_age, self._absent = max_age, 0.0  # s without a value
        self.instance = AlarmInstance(definition.alarm, definition.kind)
        self._metric = HealthMetric(definition.metric)
        self._condition = HealthCondition(
            definition.low, definition.high, definition.deadband, definition.on_delay, definition.off_delay
        )

    def set_limits(self, definition: AlarmDefinition) -> None:
        """Evaluate other limits from now on; the delays restart."""
        self.definition = definition
        self._condition.low, self._condition.high, self._condition.held = definition.low, definition.high, None
        self.instance.set_limits(definition.alarm)

    def restore_condition(self) -> None:
        """Set the condition from the restored alarm."""
        self._condition.active, self._condition.held = self.instance.alarm.active, None

    def evaluate(self, health: Health, at: StreamPosition, elapsed: float) -> tuple[Transition, ...]:
        """Evaluate the metric `elapsed` s after the previous time."""
        value = self._metric.read(health)
        self._absent = self._absent + elapsed if math.isnan(value) else 0.0
        if self._absent > self._max_age:
            return _as_tuple(self.instance.set_not_judged("no data", at))
        if math.isnan(value):
            return ()
        awaited = self.instance.not_judged == NO_VALUE
        judged = _as_tuple(self.instance.set_not_judged("", at, reported=not awaited))
        self.instance.record_value(value)
        if not self._condition.update(value, elapsed):
            return judged
        # the end of the stream also ends the alarm on its age
        ended = self.definition.metric == "age" and health.state == "ended"
        reason = "the stream has ended" if ended else ""
        occurs = self.definition.occurs.replace("{seconds}", f"{health.memory_seconds:.0f}")
        definition = replace(self.definition, occurs=occurs)
        active = self._condition.active
        return judged + _as_tuple(definition.change(self.instance, value, at, active=active, returns=reason))


def _as_tuple(transition: Transition | None) -> tuple[Transition, ...]:
    return () if transition is None else (transition,)
