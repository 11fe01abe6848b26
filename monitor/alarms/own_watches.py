"""The alarms that every service has: of its stream, its recording and its disk."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from monitor.alarms import health_metric as gauges
from monitor.alarms.life import Kind
from monitor.alarms.watch import HEALTH, Watch
from monitor.config import AlarmSettings
from monitor.messages.alarms import Alarm, Severity
from monitor.messages.health import LONGEST_UNWRITTEN

_CALM = 5.0  # s without a loss until lost data have returned to normal
_SETTLED = 1.0  # s: the recorder's thread moves a sample from one count to the next while they are read
_LONGEST_LATENCY = 2.0  # s
_DISK_DEADBAND = 0.05


def own_watches(settings: AlarmSettings, stale_after: float) -> Iterator[Watch]:
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
    gauge: str,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    occurs: str = "",
    returns: str = "",
    advice: str,
) -> Watch:
    alarm = Alarm(
        name=f"{name}.{severity}",
        value=HEALTH + gauge,
        actuator="",
        unit=gauges.unit(gauge),
        severity=severity,
        low=low if math.isfinite(low) else None,
        high=high if math.isfinite(high) else None,
        advice=advice,
    )
    return Watch(alarm, Kind(), low, high, gauge=gauge, occurs=occurs, returns=returns)
