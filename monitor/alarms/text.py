"""A transition as an event of the stream, in words."""

from __future__ import annotations

from monitor.alarm_report import Transition
from monitor.blocks import Event, EventKind


def event_of(transition: Transition) -> Event:
    """Return the event that the run file and every client get."""
    return Event(EventKind.ALARM, transition.time, transition.index, 0, transition.reason)
