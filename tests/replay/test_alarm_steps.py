"""The steps of alarms of a run: every trip, and of many warnings how often, from when and until when."""

from __future__ import annotations

from monitor.messages.alarms import AlarmAction, AlarmState, Severity, Transition
from monitor.messages.blocks import Event, EventKind
from replay.formats.alarm_steps import alarm_steps


def step(name: str, number: int, severity: Severity) -> Event:
    states = (AlarmState.NORMAL, AlarmState.UNACKNOWLEDGED)
    made = Transition(number, f"{name}.{severity}", severity, AlarmAction.OCCUR, *states, float(number), number)
    return Event.of_alarm(made)


def test_no_warning_hides_a_trip_and_many_are_told_alarm_by_alarm() -> None:
    trip = step("dead_stream", 0, Severity.TRIP)
    warns = [step("ab"[i % 2], i, Severity.WARN) for i in range(1, 41)]
    assert alarm_steps([trip, *warns, Event(EventKind.GAP, 1.0, 1, 3, "")]) == [
        "alarm at 0 s: dead_stream.trip unacknowledged: ",
        *(
            f"alarm {n}.warn: 20 steps, the first at {one} s: {n}.warn unacknowledged: "
            f"; the last at {last} s: {n}.warn unacknowledged: "
            for n, one, last in (("b", 1, 39), ("a", 2, 40))
        ),
    ]
    assert len(alarm_steps(warns[:10])) == 10


def test_fifty_trips_are_listed_and_of_more_each_alarm() -> None:
    trips = [step("x", i, Severity.TRIP) for i in range(51)]
    assert len(alarm_steps(trips[:50])) == 50
    assert [line.split(",")[0] for line in alarm_steps(trips)] == ["alarm x.trip: 51 steps"]
