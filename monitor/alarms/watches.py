"""What is watched: settings and published values -> one watch for each alarm."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from monitor.alarm_report import MAX_ALARMS, Alarm, AlarmState, Severity, Transition
from monitor.alarms import gauges, text
from monitor.alarms.life import Kind
from monitor.alarms.limits import Limit
from monitor.alarms.standing import Moment, StandingAlarm
from monitor.blocks import Column
from monitor.config import AlarmSettings, LimitSettings

HEALTH = "health."
_LISTED = 120  # characters of a note that list what there is
_CALM = 5.0  # s without a loss until lost data have returned to normal
_DISK_DEADBAND = 0.05
_ROUNDING = 1e-6  # rows: 0.3 s at 10 rows a second are 3 rows


@dataclass(frozen=True, slots=True)
class Watch:
    """One alarm that is to be, and when its condition holds.

    Parameters
    ----------
    alarm : as it begins.
    kind : how its life goes.
    low, high, deadband, on_delay, off_delay : of the condition; low and high may be infinite, delays are in s.
    column : of the value in the results; -1 where it is the service's.
    gauge : of the value, where it is the service's.
    occurs, returns : what is said of it, with {value} and {limit}; empty: what is said of any value.
    """

    alarm: Alarm
    kind: Kind
    low: float
    high: float
    deadband: float = 0.0
    on_delay: float = 0.0
    off_delay: float = 0.0
    column: int = -1
    gauge: str = ""
    occurs: str = ""
    returns: str = ""

    def limit(self, rows_a_second: float) -> Limit:
        """Return the condition in rows of results; delays are rounded up."""
        on, off = (math.ceil(delay * rows_a_second - _ROUNDING) for delay in (self.on_delay, self.off_delay))
        return Limit(self.column, self.low, self.high, self.deadband, on, off)

    def turned(self, standing: StandingAlarm, value: float, at: Moment, *, entered: bool) -> Transition | None:
        """Let the condition begin or cease to hold, and say why."""
        crossed = text.crossed(self.alarm, value)
        if entered:
            reason = text.occurred(self.alarm, value, crossed, self.on_delay, self.occurs)
        else:
            reason = text.returned(self.alarm, value, crossed, self.returns)
        return standing.turn(value, reason, at, entered=entered)


def plan(settings: AlarmSettings, stale_after: float, columns: Sequence[Column]) -> tuple[list[Watch], list[str]]:
    """Return the watches over the service and `columns`, and what there is to note, one line each."""
    notes: list[str] = []
    found: dict[str, Watch] = {}
    doubled = left_out = 0
    for watch in (*_standing(settings, stale_after), *_limits(settings.limit, columns, notes)):
        if watch.alarm.name in found:
            doubled += 1
        elif len(found) >= MAX_ALARMS:
            left_out += 1
        else:
            found[watch.alarm.name] = watch
    if doubled:
        notes.append(f"alarms: {doubled} left out that have the names of others: give their limits names")
    if left_out:
        notes.append(f"alarms: {left_out} left out: there are {MAX_ALARMS} at most")
    return list(found.values()), notes


def _limits(limits: Sequence[LimitSettings], columns: Sequence[Column], notes: list[str]) -> Iterator[Watch]:
    own = {(limit.called, limit.actuator) for limit in limits if limit.actuator}
    for limit in limits:
        if limit.value.startswith(HEALTH):
            yield from _of_service(limit)
            continue
        matching = [
            (position, column)
            for position, column in enumerate(columns)
            # a limit for one actuator takes the place of the one for all
            if column.name == limit.value
            and (column.actuator == limit.actuator if limit.actuator else (limit.called, column.actuator) not in own)
        ]
        if not matching and not any(_same(column, limit) for column in columns):
            notes.append(_missing(limit, columns))
        for position, column in matching:
            yield from _both(limit, column.actuator, column.unit, column=position)


def _same(column: Column, limit: LimitSettings) -> bool:
    return column.name == limit.value and limit.actuator in ("", column.actuator)


def _of_service(limit: LimitSettings) -> Iterator[Watch]:
    gauge = limit.value.removeprefix(HEALTH)
    yield from _both(limit, "", gauges.unit(gauge), gauge=gauge)


def _both(limit: LimitSettings, actuator: str, unit: str, column: int = -1, gauge: str = "") -> Iterator[Watch]:
    """Give the watches of one value: warn and trip, as far as they are set."""
    for severity, boundary in ((Severity.WARN, limit.warn), (Severity.TRIP, limit.trip)):
        if boundary is None:
            continue
        low, high = limit.bounds(boundary)
        alarm = Alarm(
            name=".".join(filter(None, (actuator, limit.called, severity))),
            value=limit.value,
            actuator=actuator,
            unit="" if unit == "1" else unit,
            severity=severity,
            low=low if math.isfinite(low) else None,
            high=high if math.isfinite(high) else None,
            state=AlarmState.NORMAL if limit.in_service else AlarmState.OUT_OF_SERVICE,
            advice=limit.advice,
        )
        yield Watch(
            alarm,
            Kind(limit.latching, limit.acknowledge),
            low,
            high,
            limit.deadband,
            limit.on_delay,
            limit.off_delay,
            column,
            gauge,
        )


def _missing(limit: LimitSettings, columns: Sequence[Column]) -> str:
    what = f"value {limit.value!r}" + (f" of {limit.actuator!r}" if limit.actuator else "")
    there = dict.fromkeys(column.name for column in columns)
    if limit.value in there:
        there = dict.fromkeys(column.actuator for column in columns if column.name == limit.value)
    listed = ", ".join(there)
    if len(listed) > _LISTED:
        listed = listed[:_LISTED].rpartition(",")[0] + ", ..."
    return f"alarms: no {what}; there are {listed}" if listed else f"alarms: no {what}"


def _standing(settings: AlarmSettings, stale_after: float) -> Iterator[Watch]:
    """Give those that every service has, unless it is told otherwise."""
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
