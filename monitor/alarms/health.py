"""Alarms on the health of the service: whether a metric is out of its limits."""

from __future__ import annotations

import math
from dataclasses import replace

from monitor.alarms.alarm_instance import NO_VALUE, AlarmInstance, StreamPosition
from monitor.alarms.definitions import AlarmDefinition, HealthMetric
from monitor.messages.alarms import Transition
from monitor.messages.health import Health


class HealthAlarm:
    """An alarm on a health metric of the service: a condition as those of `ConditionEvaluator`, with delays in s.

    Parameters
    ----------
    max_age : s without a value after which it is not judged.
    """

    def __init__(self, definition: AlarmDefinition, max_age: float) -> None:
        self.definition = definition
        self._max_age, self._absent = max_age, 0.0  # s without a value
        self.instance = AlarmInstance(definition.alarm, definition.kind)
        self._metric = HealthMetric(definition.metric)
        self._active = False
        self._held: float | None = None  # s for which the value has been out of the limits, or back

    def set_limits(self, definition: AlarmDefinition) -> None:
        """Evaluate other limits from now on; the delays restart."""
        self.definition = definition
        self._held = None
        self.instance.set_limits(definition.alarm)

    def restore_condition(self) -> None:
        """Set the condition from the restored alarm."""
        self._active, self._held = self.instance.alarm.active, None

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
        if not self._has_changed(value, elapsed):
            return judged
        # the end of the stream also ends the alarm on its age
        ended = self.definition.metric == "age" and health.state == "ended"
        reason = "the stream has ended" if ended else ""
        occurs = self.definition.occurs.replace("{seconds}", f"{health.memory_seconds:.0f}")
        definition = replace(self.definition, occurs=occurs)
        change = definition.change(self.instance, value, at, active=self._active, returns=reason)
        return judged + _as_tuple(change)

    def _has_changed(self, value: float, elapsed: float) -> bool:
        """Evaluate a value `elapsed` s after the previous one; return whether the condition begins or ends."""
        low, high, deadband = self.definition.low, self.definition.high, self.definition.deadband
        out, back = value < low or value > high, low + deadband <= value <= high - deadband
        if not (back if self._active else out):
            self._held = None
            return False
        self._held = 0.0 if self._held is None else self._held + elapsed
        if self._held < (self.definition.off_delay if self._active else self.definition.on_delay):
            return False
        self._held, self._active = None, not self._active
        return True


def _as_tuple(transition: Transition | None) -> tuple[Transition, ...]:
    return () if transition is None else (transition,)
