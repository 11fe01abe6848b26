"""The alarms of the service itself: their conditions, judged at every look at its health."""

from __future__ import annotations

from dataclasses import dataclass

from monitor.alarms.alarm_instance import AlarmInstance, Moment
from monitor.alarms.health_metric import HealthMetric, words_of_return
from monitor.alarms.watch import Watch
from monitor.messages.alarms import Transition
from monitor.messages.health import Health


@dataclass(slots=True)
class Condition:
    """Whether a value of the service is out of its limits, as `LimitJudge` has it, but in seconds.

    Parameters
    ----------
    low, high, deadband : as in `Limit`.
    on_delay, off_delay : s for which the value must have been out, or back, since the first such look.
    active : it holds.
    """

    low: float
    high: float
    deadband: float = 0.0
    on_delay: float = 0.0
    off_delay: float = 0.0
    active: bool = False
    held: float | None = None

    def turns(self, value: float, passed: float) -> bool:
        """Judge the value of a look `passed` s after the one before; tell whether the condition has changed."""
        if self.active:
            turns = self.low + self.deadband <= value <= self.high - self.deadband
        else:
            turns = value < self.low or value > self.high
        if not turns:
            self.held = None
            return False
        self.held = 0.0 if self.held is None else self.held + passed
        if self.held < (self.off_delay if self.active else self.on_delay):
            return False
        self.held, self.active = None, not self.active
        return True


class ServiceWatch:
    """One alarm of the service, and what it watches."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.standing = AlarmInstance(watch.alarm, watch.kind)
        self._gauge = HealthMetric(watch.gauge)
        self._condition = Condition(watch.low, watch.high, watch.deadband, watch.on_delay, watch.off_delay)

    def go_on(self) -> None:
        """Take for the condition what the alarm says of it."""
        self._condition.active, self._condition.held = self.standing.alarm.active, None

    def look(self, health: Health, at: Moment, passed: float) -> Transition | None:
        """Judge a look `passed` s after the one before."""
        value = self._gauge.read(health)
        self.standing.seen(value)
        if not self._condition.turns(value, passed):
            return None
        words = words_of_return(self.watch.gauge, health)
        return self.watch.turned(self.standing, value, at, entered=self._condition.active, returns=words)
