"""What is watched: settings and published values -> one watch for each alarm."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence

from monitor.alarms.alarm_instance import Kind
from monitor.alarms.health_alarms import metric_unit, standard_alarms
from monitor.alarms.watch import HEALTH, Watch
from monitor.config import AlarmSettings, LimitSettings
from monitor.messages.alarms import MAX_ALARMS, Alarm, AlarmState, Severity
from monitor.messages.blocks import Column

_LISTED = 120  # characters of a note that list what there is


def plan(
    settings: AlarmSettings, stale_after: float, columns: Sequence[Column], kept: Collection[str] = ()
) -> tuple[list[Watch], list[str]]:
    """Return the watches over the service and `columns`, and what there is to note, one line each.

    Parameters
    ----------
    kept : names of alarms that are not normal. They have room, watched or not; after them the service's have.
    """
    notes: list[str] = []
    found: dict[str, Watch] = {}
    doubled = 0
    for watch in (*standard_alarms(settings, stale_after), *_limits(settings.limit, columns, notes)):
        doubled += watch.alarm.name in found
        found.setdefault(watch.alarm.name, watch)
    room = MAX_ALARMS - sum(name not in found for name in kept)
    first = sorted(found, key=lambda name: 0 if name in kept else 1 if found[name].column < 0 else 2)
    left_out = set(first[room:])
    if doubled:
        notes.append(f"alarms: {doubled} left out that have the names of others: give their limits names")
    if left_out:
        notes.append(f"alarms: {len(left_out)} left out: there are {MAX_ALARMS} at most")
    return [watch for name, watch in found.items() if name not in left_out], notes


def missing(limits: Sequence[LimitSettings], columns: Sequence[Column]) -> list[str]:
    """Return one line for each limit on a value that is neither the service's nor among `columns`."""
    notes: list[str] = []
    for _ in _limits(limits, columns, notes):
        pass
    return notes


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
    metric = limit.value.removeprefix(HEALTH)
    yield from _both(limit, "", metric_unit(metric), metric=metric)


def _both(limit: LimitSettings, actuator: str, unit: str, column: int = -1, metric: str = "") -> Iterator[Watch]:
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
            metric,
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
