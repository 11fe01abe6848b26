"""Alarms on the health of the service: its metrics, and whether one is out of its limits."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from monitor.alarms.alarm_instance import AlarmInstance, StreamPosition
from monitor.messages.alarms import Transition
from monitor.messages.health import Health

if TYPE_CHECKING:
    from monitor.alarms.definitions import AlarmDefinition

MetricReader = Callable[[Health], float]


def _count(name: str) -> MetricReader:
    return lambda health: getattr(health.counts, name)


_SAMPLES = ("lost", "duplicates", "reordered")
_TIMES = ("gaps", "restarts", "clock_jumps", "reconnects")


def _age(health: Health) -> float:
    # the age of an ended stream does not increase; that of one that has not started is unknown
    if health.state == "waiting":
        return math.nan
    return 0.0 if health.state == "ended" else health.age


def _free(health: Health) -> float:
    if not health.recording:
        return math.inf
    return float(health.disk_free) if health.disk_free >= 0 else math.nan


# value -> (unit, reader); counters are evaluated by their increase since the last evaluation
_COUNTERS: dict[str, tuple[str, MetricReader]] = {
    **{name: ("samples", _count(name)) for name in _SAMPLES},
    **{name: ("", _count(name)) for name in _TIMES},
    "rejected": ("messages", _count("rejected")),
    "unrecorded": ("samples", lambda health: health.unrecorded),
    "recording_breaks": ("", lambda health: health.recording_breaks),
    "requests_refused": ("requests", lambda health: health.requests_refused),
    "broker_dropped": ("messages", lambda health: health.broker.dropped),
    "unpublished": ("messages", lambda health: health.unpublished),
}
_GAUGES: dict[str, tuple[str, MetricReader]] = {
    "age": ("s", _age),
    "latency": ("s", lambda health: health.latency),
    "lag": ("s", lambda health: health.lag),
    "load": ("1", lambda health: health.load),
    "sample_rate": ("Hz", lambda health: health.sample_rate if health.state != "waiting" else math.nan),
    "measured_rate": ("Hz", lambda health: health.measured_rate if health.state == "receiving" else math.nan),
    "disk_free": ("B", _free),
    "unwritten_age": ("s", lambda health: health.unwritten_age),
    "broker_waiting": ("messages", lambda health: health.broker.waiting),
    "all_unrecorded": ("samples", lambda health: health.unrecorded),
    "unaccounted": ("samples", lambda health: health.unaccounted),
}


METRICS = (*_COUNTERS, *_GAUGES)


def metric_unit(name: str) -> str:
    """Return the unit of a health metric."""
    return (_COUNTERS.get(name) or _GAUGES[name])[0]


class HealthMetric:
    """One value of the service's health; NaN if it is not known.

    Gauges are read as they are, counters as the increase since the last reading.
    """

    def __init__(self, name: str) -> None:
        self._is_counter = name in _COUNTERS
        self._read = (_COUNTERS.get(name) or _GAUGES[name])[1]
        self._previous: float | None = None

    def read(self, health: Health) -> float:
        """Return the value, or the increase of a counter; NaN at the first reading of a counter."""
        now = float(self._read(health))
        if not self._is_counter:
            return now
        previous, self._previous = self._previous, now
        return math.nan if previous is None else now - previous


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
    """An alarm on a health metric of the service."""

    def __init__(self, definition: AlarmDefinition) -> None:
        self.definition = definition
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

    def evaluate(self, health: Health, at: StreamPosition, elapsed: float) -> Transition | None:
        """Evaluate the metric `elapsed` s after the previous time."""
        value = self._metric.read(health)
        self.instance.record_value(value)
        if not self._condition.update(value, elapsed):
            return None
        # the end of the stream also ends the alarm on its age
        ended = self.definition.metric == "age" and health.state == "ended"
        reason = "the stream has ended" if ended else ""
        return self.definition.change(self.instance, value, at, active=self._condition.active, returns=reason)
