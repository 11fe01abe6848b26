"""What can be watched of the service itself: a number from each look at its health."""

from __future__ import annotations

import math
from collections.abc import Callable

from monitor.messages.health import Health

Reading = Callable[[Health], float]


def _count(name: str) -> Reading:
    return lambda health: getattr(health.counts, name)


_SAMPLES = ("lost", "duplicates", "reordered")
_TIMES = ("gaps", "restarts", "clock_jumps", "reconnects")


def _age(health: Health) -> float:
    # a stream that has ended does not grow old; of one that has not begun nothing can be said
    if health.state == "waiting":
        return math.nan
    return 0.0 if health.state == "ended" else health.age


def _free(health: Health) -> float:
    if not health.recording:
        return math.inf
    return float(health.disk_free) if health.disk_free >= 0 else math.nan


# value -> (unit, reading); what only ever grows is judged by what it has grown since the last look
_GROWING: dict[str, tuple[str, Reading]] = {
    **{name: ("samples", _count(name)) for name in _SAMPLES},
    **{name: ("", _count(name)) for name in _TIMES},
    "rejected": ("messages", _count("rejected")),
    "unrecorded": ("samples", lambda health: health.unrecorded),
    "recording_breaks": ("", lambda health: health.recording_breaks),
    "requests_refused": ("requests", lambda health: health.requests_refused),
    "broker_dropped": ("messages", lambda health: health.broker.dropped),
    "unpublished": ("messages", lambda health: health.unpublished),
}
_STANDING: dict[str, tuple[str, Reading]] = {
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


NAMES = (*_GROWING, *_STANDING)


def unit(name: str) -> str:
    """Return the unit of a value."""
    return (_GROWING.get(name) or _STANDING[name])[0]


def words_of_return(name: str, health: Health) -> str:
    """Return why a value is normal again, where its limit was not what has brought it back; else nothing."""
    return "the stream has ended" if name == "age" and health.state == "ended" else ""


class HealthMetric:
    """Read one value of the service, look after look; NaN where nothing can be said."""

    def __init__(self, name: str) -> None:
        self._grows = name in _GROWING
        self._read = (_GROWING.get(name) or _STANDING[name])[1]
        self._before: float | None = None

    def read(self, health: Health) -> float:
        """Return the value, or by how much it has grown; the first look at what grows tells nothing."""
        now = float(self._read(health))
        if not self._grows:
            return now
        before, self._before = self._before, now
        return math.nan if before is None else now - before
