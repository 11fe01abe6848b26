"""A transition as an event: it can be read back, and never has more bytes than a run file keeps."""

from __future__ import annotations

import math
from dataclasses import replace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.alarms.text import MAX_DETAIL, asked, event_of, in_words, reading, transition_of
from monitor.messages.alarms import AlarmAction, AlarmState, Severity, Transition
from monitor.messages.blocks import Event, EventKind
from monitor.messages.requests import RequestError, decode_request

STEP = Transition(
    *(17, "north.fdb_delay.trip", Severity.TRIP, AlarmAction.OCCUR, AlarmState.NORMAL, AlarmState.UNACKNOWLEDGED),
    *(12.5, 1250, 0.0731, 0.05, "s", "north fdb_delay 0.0731 s is above 0.05 s"),
)
WORD = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=150)
NUMBER = st.none() | st.floats(allow_nan=False, allow_infinity=False)


def test_the_words_are_as_the_page_on_run_files_has_them() -> None:
    event = event_of(STEP)
    assert event == Event(
        EventKind.ALARM,
        12.5,
        1250,
        0,
        "#17 north.fdb_delay.trip occur: normal -> unacknowledged, value 0.0731, limit 0.05 s: "
        "north fdb_delay 0.0731 s is above 0.05 s",
    )
    assert transition_of(event) == STEP
    assert in_words(event) == "north.fdb_delay.trip unacknowledged: north fdb_delay 0.0731 s is above 0.05 s"
    assert in_words(replace(event, detail="of another version")) == "of another version"


@pytest.mark.parametrize(
    "other",
    [
        {"unit": ""},
        {"value": None},
        {"limit": None},
        {"value": None, "limit": None, "unit": ""},
        {"reason": ""},
        {"value": -1e-300, "limit": 1e300},
        {"reason": "a: b -> c, value 3: d"},
        {"name": "two words.v.warn", "severity": Severity.WARN},
    ],
)
def test_what_is_short_is_read_back_as_it_was(other) -> None:
    step = replace(STEP, **other)
    assert transition_of(event_of(step)) == step


@given(
    name=WORD,
    severity=st.sampled_from(Severity),
    unit=st.just("") | WORD,
    reason=WORD,
    number=st.integers(1, 10**9),
    value=NUMBER,
    limit=NUMBER,
    action=st.sampled_from(AlarmAction),
    states=st.tuples(st.sampled_from(AlarmState), st.sampled_from(AlarmState)),
)
def test_whatever_it_says_it_fits_and_what_matters_can_be_read(
    name, severity, unit, reason, number, value, limit, action, states
) -> None:
    step = Transition(number, f"{name}.{severity}", severity, action, *states, 1.0, 2, value, limit, unit, reason)
    event = event_of(step)
    assert len(event.detail.encode()) <= MAX_DETAIL
    read = transition_of(event)
    assert (read.number, read.severity, read.action, read.previous, read.state) == (number, severity, action, *states)
    for one, other in ((read.value, value), (read.limit, limit)):
        assert (one is None) == (other is None)
        assert one is None or math.isclose(one, other, rel_tol=1e-8)


@given(st.text(max_size=200), st.sampled_from(EventKind))
def test_any_other_event_is_no_transition(detail, kind) -> None:
    assert transition_of(Event(kind, 0.0, 0, 0, detail)) is None


def test_a_value_never_looks_like_the_limit_that_it_is_beyond() -> None:
    assert reading(5.0001, "ms", 5.0) == "5.0001 ms"
    assert reading(5.0, "ms", 5.0) == "5 ms"
    assert reading(7.31234, "ms", 5.0) == "7.312 ms"
    assert reading(2.5e9, "B", 2e9) == "2.5 GB"
    assert reading(1e8, "B", 2e9) == "0.1 GB"
    assert reading(math.inf, "s") == "inf s"
    assert reading(0.5, "") == "0.5"


@given(st.text(max_size=60) | st.sampled_from(["kim\n", "a\x9b31m", "a\u202eb", "a\u2028b"]))
def test_whoever_is_let_in_by_a_request_can_be_read_from_the_event(by) -> None:
    try:
        request = decode_request(msgspec.json.encode({"request": "acknowledge", "by": by}))
    except RequestError:
        assert not by.isprintable()
        return
    assert request.by == by
    assert by.isprintable()
    assert transition_of(event_of(replace(STEP, reason=asked("acknowledged", by)))) is not None


def test_a_reason_of_several_lines_is_read_and_a_number_without_end_is_not() -> None:
    assert transition_of(event_of(replace(STEP, reason="two\nlines"))).reason == "two\nlines"
    endless = "#" + "9" * 5000 + " n.v.warn occur: normal -> unacknowledged: x"
    assert transition_of(Event(EventKind.ALARM, 0.0, 0, 0, endless)) is None
