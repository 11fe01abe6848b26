"""The steps of alarms that a run holds, for a reader: one by one, or where they are many alarm by alarm."""

from __future__ import annotations

from collections.abc import Iterable

from monitor.alarms.text import sentence
from monitor.messages.alarms import Severity, Transition
from monitor.messages.blocks import Event, EventKind

_MOST_TRIPS, _MOST_WARNS = 50, 10


def alarm_steps(events: Iterable[Event]) -> list[str]:
    """Return a line for each step, trips first; of more than 50 (of warnings: 10) a line for each alarm.

    No alarm is left out: its line has the number of its steps, and the first and the last of them.
    """
    trips: list[tuple[str, Event]] = []
    warns: list[tuple[str, Event]] = []
    for event in events:
        if event.kind is EventKind.ALARM:
            step = event.alarm
            warning = step is not None and step.severity is Severity.WARN
            (warns if warning else trips).append((_name(step), event))
    return [*_lines(trips, _MOST_TRIPS), *_lines(warns, _MOST_WARNS)]


def _lines(steps: list[tuple[str, Event]], most: int) -> list[str]:
    if len(steps) <= most:
        return [f"alarm at {_said(event)}" for _, event in steps]
    of_each: dict[str, list[Event]] = {}
    for name, event in steps:
        of_each.setdefault(name, []).append(event)
    return [
        f"alarm {name}: {len(found)} steps, the first at {_said(found[0])}; the last at {_said(found[-1])}"
        if len(found) > 1
        else f"alarm at {_said(found[0])}"
        for name, found in of_each.items()
    ]


def _said(event: Event) -> str:
    return f"{event.time:.7g} s: {event.detail if event.alarm is None else sentence(event.alarm)}"


def _name(step: Transition | None) -> str:
    return "of another form" if step is None else step.name
