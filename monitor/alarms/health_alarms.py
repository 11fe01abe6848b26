"""Alarms of the service's own health: the metrics, the alarms that every service has, and their conditions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from monitor.alarms.alarm_instance import AlarmInstance, Kind, Moment
from monitor.alarms.watch import HEALTH, Watch
from monitor.config import AlarmSettings
from monitor.messages.alarms import Alarm, Severity, Transition
from monitor.messages.health import LONGEST_UNWRITTEN, Health

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


METRICS = (*_GROWING, *_STANDING)


def metric_unit(name: str) -> str:
    """Return the unit of a value."""
    return (_GROWING.get(name) or _STANDING[name])[0]


def return_reason(name: str, health: Health) -> str:
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


_CALM = 5.0  # s without a loss until lost data have returned to normal
_SETTLED = 1.0  # s: the recorder's thread moves a sample from one count to the next while they are read
_LONGEST_LATENCY = 2.0  # s
_DISK_DEADBAND = 0.05


def standard_alarms(settings: AlarmSettings, stale_after: float) -> Iterator[Watch]:
    """Give the watches that every service has, unless it is told otherwise."""
    trip, warn = Severity.TRIP, Severity.WARN
    if settings.dead_stream:
        yield _service(
            "dead_stream",
            trip,
            "age",
            high=stale_after,
            occurs="nothing has come for {value}",
            returns="samples come again",
            advice="see to the rig and its connection",
        )
    if settings.overload:
        yield _service(
            "overload",
            warn,
            "latency",
            high=_LONGEST_LATENCY,
            occurs="results are {value} behind the rig",
            returns="results keep up with the rig",
            advice="choose fewer measures, a larger every, or a faster machine",
        )
    if settings.lost_data:
        lost = _service(
            "lost_data",
            warn,
            "lost",
            high=0.0,
            occurs="{value} lost",
            returns=f"nothing lost for {_CALM:g} s",
            advice="see to the network and to how busy the machines are",
        )
        yield replace(lost, off_delay=_CALM)
        unaccounted = _service(
            "account",
            trip,
            "unaccounted",
            high=0.0,
            occurs="{value} in none of the service's counts, or in two",
            returns="the service's counts add up",
            advice="a defect of the service: keep its log and the run file, and report it",
        )
        yield replace(unaccounted, on_delay=_SETTLED)
    if not settings.recording:
        return
    yield _service(
        "recording",
        trip,
        "all_unrecorded",
        high=0.0,
        occurs="{value} could not be recorded",
        returns="the recording is whole",
        advice="see to the disk; the run has a hole",
    )
    yield _service(
        "recording",
        warn,
        "unwritten_age",
        high=LONGEST_UNWRITTEN,
        occurs="the disk has not taken the samples of the last {value}",
        returns="the disk has taken what waited",
        advice="see to the disk; what waits is lost if the service is killed",
    )
    broken = _service(
        "run_file",
        warn,
        "recording_breaks",
        high=0.0,
        occurs="the run file is gone or its disk refuses: a new file is begun as soon as it can be",
        returns=f"no break for {_CALM:g} s",
        advice="see the notes; the run is in several files",
    )
    yield replace(broken, off_delay=_CALM)
    for severity, least in ((warn, settings.disk_warn), (trip, settings.disk_trip)):
        if least > 0.0:
            disk = _service("disk", severity, "disk_free", low=least, advice="make room on the disk")
            yield replace(disk, deadband=_DISK_DEADBAND * least)


def _service(
    name: str,
    severity: Severity,
    metric: str,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    occurs: str = "",
    returns: str = "",
    advice: str,
) -> Watch:
    alarm = Alarm(
        name=f"{name}.{severity}",
        value=HEALTH + metric,
        actuator="",
        unit=metric_unit(metric),
        severity=severity,
        low=low if math.isfinite(low) else None,
        high=high if math.isfinite(high) else None,
        advice=advice,
    )
    return Watch(alarm, Kind(), low, high, metric=metric, occurs=occurs, returns=returns)


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


class HealthAlarm:
    """One alarm of the service, and what it watches."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.instance = AlarmInstance(watch.alarm, watch.kind)
        self._metric = HealthMetric(watch.metric)
        self._condition = Condition(watch.low, watch.high, watch.deadband, watch.on_delay, watch.off_delay)

    def go_on(self) -> None:
        """Take for the condition what the alarm says of it."""
        self._condition.active, self._condition.held = self.instance.alarm.active, None

    def look(self, health: Health, at: Moment, passed: float) -> Transition | None:
        """Judge a look `passed` s after the one before."""
        value = self._metric.read(health)
        self.instance.seen(value)
        if not self._condition.turns(value, passed):
            return None
        words = return_reason(self.watch.metric, health)
        return self.watch.turned(self.instance, value, at, entered=self._condition.active, returns=words)
