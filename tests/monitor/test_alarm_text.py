"""Alarms in words: values that never look like their limits, and the steps of alarms in a run file."""

from __future__ import annotations

import math
from dataclasses import replace

import h5py
import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.alarms.text import attributed, describe_transition, format_value
from monitor.messages.alarms import AlarmAction, AlarmState, Severity, Transition
from monitor.messages.blocks import Event, EventKind
from monitor.messages.requests import RequestError, decode_request
from monitor.recording.rows import DETAIL_BYTES, event_rows, events_of

STEP = Transition(
    *(17, "north.fdb_delay.trip", Severity.TRIP, AlarmAction.OCCUR, AlarmState.NORMAL, AlarmState.UNACKNOWLEDGED),
    *(12.5, 1250, 0.0731, 0.05, "s", "north fdb_delay 0.0731 s is above 0.05 s", "", "north", "fdb_delay"),
)
WORD = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=150)
NUMBER = st.none() | st.floats(allow_nan=False, allow_infinity=False)
# as files had events before there were columns for the steps of alarms
PLAIN_TYPE = np.dtype(
    [
        *(("time", "<f8"), ("index", "<i8"), ("count", "<i8")),
        *(("kind", h5py.string_dtype("utf-8", 16)), ("detail", h5py.string_dtype("utf-8", 200))),
    ]
)


def kept(event: Event) -> Event:
    (found,) = events_of(event_rows([event]))
    return found


def without_alarm_columns(detail: str, kind: EventKind = EventKind.ALARM) -> Event:
    """Return an event as read from a table that lacks them."""
    (found,) = events_of(np.array([(12.5, 1250, 0, kind.encode(), detail.encode())], PLAIN_TYPE))
    return found


def test_a_step_is_told_in_a_sentence() -> None:
    assert (
        describe_transition(STEP) == "north.fdb_delay.trip unacknowledged: north fdb_delay 0.0731 s is above 0.05 s"
    )
    assert Event.of_alarm(STEP) == Event(EventKind.ALARM, 12.5, 1250, 0, STEP.reason, STEP)


@pytest.mark.parametrize(
    "other",
    [
        {"unit": ""},
        {"value": None},
        {"limit": None},
        {"value": None, "limit": None, "unit": ""},
        {"reason": "", "by": "kim"},
        {"value": -1e-300, "limit": 1e300},
        {"reason": "a: b -> c, value 3: d"},
        {"name": "two words.v.warn", "severity": Severity.WARN, "actuator": "two words", "quantity": "v"},
    ],
)
def test_a_step_is_read_back_from_the_wire_and_from_a_run_file_as_it_was(other) -> None:
    event = Event.of_alarm(replace(STEP, **other))
    assert kept(event) == event
    assert msgspec.json.decode(msgspec.json.encode(event), type=Event) == event


@given(
    name=WORD,
    actuator=WORD,
    severity=st.sampled_from(Severity),
    unit=st.just("") | WORD,
    reason=st.text(max_size=300),
    number=st.integers(1, 1 << 53),
    value=NUMBER,
    limit=NUMBER,
    action=st.sampled_from(AlarmAction),
    states=st.tuples(st.sampled_from(AlarmState), st.sampled_from(AlarmState)),
)
def test_whatever_a_step_says_a_run_file_keeps_what_matters(
    name, actuator, severity, unit, reason, number, value, limit, action, states
) -> None:
    step = Transition(
        *(number, f"{name}.{severity}", severity, action, *states, 1.0, 2, value, limit, unit, reason),
        actuator=actuator,
    )
    read = kept(Event.of_alarm(step))
    assert len(read.detail.encode()) <= DETAIL_BYTES
    assert read.alarm is not None
    assert replace(read.alarm, name="", unit="", reason="", actuator="") == replace(
        step, name="", unit="", reason="", actuator=""
    )


def test_events_beside_alarms_have_no_step_and_are_kept_as_they_were() -> None:
    event = Event(EventKind.GAP, 1.5, 15, 3, "lost")
    assert kept(event) == event


def test_a_step_of_a_later_version_is_read_as_an_event() -> None:
    rows = event_rows([Event.of_alarm(STEP)])
    rows["state"] = b"suppressed by design"
    assert events_of(rows) == [Event(EventKind.ALARM, 12.5, 1250, 0, STEP.reason)]


@given(st.text(st.characters(exclude_categories=["C"]), max_size=40), st.sampled_from(EventKind))
def test_an_event_without_the_columns_of_alarms_has_no_transition(detail, kind) -> None:
    found = without_alarm_columns(detail, kind)
    assert (found.kind, found.alarm) == (kind, None)


def test_a_value_never_looks_like_the_limit_that_it_is_beyond() -> None:
    assert format_value(5.0001, "ms", 5.0) == "5.0001 ms"
    assert format_value(5.0, "ms", 5.0) == "5 ms"
    assert format_value(7.31234, "ms", 5.0) == "7.312 ms"
    assert format_value(2.5e9, "B", 2e9) == "2.5 GB"
    assert format_value(1e8, "B", 2e9) == "0.1 GB"
    assert format_value(math.inf, "s") == "inf s"
    assert format_value(0.5, "") == "0.5"


@given(st.text(max_size=60) | st.sampled_from(["kim\n", "a\x9b31m", "a\u202eb", "a\u2028b"]))
def test_whoever_is_let_in_by_a_request_can_be_read_from_the_event(by) -> None:
    try:
        request = decode_request(msgspec.json.encode({"request": "acknowledge", "by": by}))
    except RequestError:
        assert not by.isprintable()
        return
    assert request.by == by
    assert by.isprintable()
    read = kept(Event.of_alarm(replace(STEP, reason=attributed("acknowledged", by))))
    assert read.detail == attributed("acknowledged", by)
