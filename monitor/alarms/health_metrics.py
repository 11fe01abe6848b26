"""Metrics of the health of the service that can have alarms: unit, and how each is read."""

from __future__ import annotations

import math
from collections.abc import Callable

from monitor.catalogue import CATALOGUE
from monitor.messages.health import Health

MetricReader = Callable[[Health], float]


def _count(name: str) -> MetricReader:
    return lambda health: getattr(health.counts, name)


_SAMPLES = ("lost", "duplicates", "reordered", "rejected_samples")
_TIMES = ("gaps", "restarts", "clock_jumps", "contradictions", "reconnects")


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
    "load": ("", lambda health: health.load),
    "sample_rate": ("Hz", lambda health: health.sample_rate if health.state != "waiting" else math.nan),
    "measured_rate": ("Hz", lambda health: health.measured_rate if health.state == "receiving" else math.nan),
    "disk_free": ("B", _free),
    "unwritten_age": ("s", lambda health: health.unwritten_age),
    "broker_waiting": ("messages", lambda health: health.broker.waiting),
    "broker_denied": ("messages", lambda health: health.broker.denied),
    "all_unrecorded": ("samples", lambda health: health.unrecorded),
    "unaccounted": ("samples", lambda health: health.unaccounted),
    "paused": ("measures", lambda health: len(set(health.shed) & CATALOGUE.keys())),
    "not_judged": ("alarms", lambda health: health.not_judged),
    "memory_used": ("", lambda health: health.memory_used),
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
