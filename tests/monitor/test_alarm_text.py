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
from msgspec import structs

from monitor.alarms.text import attributed, describe_transition, format_value
from monitor.commands.alarms import print_alarms, state_text
from monitor.messages.alarms import Alarm, AlarmAction, AlarmState, Severity, Transition
from monitor.messages.blocks import Column, Event, EventKind, ResultStream
from monitor.messages.requests import RequestError, decode_request
from monitor.recording.layout import DETAIL_BYTES, event_rows, events_of
from monitor.transport.prometheus import indicator_metrics

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


S, A = AlarmState, AlarmAction
REASON = "broadband paused: overload"
ALARM = Alarm("north.delay.warn", "delay", "north", "s", Severity.WARN, high=0.04, last=0.01, source="paei_delay")


def test_the_list_has_the_reason_and_who_speaks(capsys) -> None:
    alarms = (
        ALARM,
        structs.replace(ALARM, name="roof.delay.warn", state=S.NOT_JUDGED, not_judged=REASON, last=None),
        structs.replace(
            ALARM, name="south.delay.trip", severity=Severity.TRIP, state=S.UNACKNOWLEDGED, active=True, time=2.0
        ),
    )
    print_alarms(alarms)
    lines = [line for line in capsys.readouterr().out.splitlines() if ".delay." in line]
    # active, then not judged, then normal
    assert [name in line for name, line in zip(("south", "roof", "north"), lines, strict=True)] == [True] * 3
    assert "■" in lines[0] and f"not judged: {REASON}" in lines[1] and "⊘" in lines[1] and "—" in lines[1]
    assert "0.01 s PAEI" in lines[2]


def test_a_speaker_of_a_later_version_is_named_as_it_is(capsys) -> None:
    print_alarms([structs.replace(ALARM, source="kalman_delay")])
    assert "0.01 s kalman" in capsys.readouterr().out


def test_other_states_keep_their_words_with_the_reason_beside_them() -> None:
    assert (
        state_text(structs.replace(ALARM, state=S.ACKNOWLEDGED, not_judged="no data"))
        == "acknowledged, not judged: no data"
    )
    shelved = structs.replace(ALARM, state=S.SHELVED, shelved_for=60.0, not_judged="no data")
    assert state_text(shelved) == "shelved for 60 s, not judged: no data"


def step(action: AlarmAction, previous: AlarmState, state: AlarmState, reason: str) -> Transition:
    return Transition(
        7, ALARM.name, Severity.WARN, action, previous, state, 1.5, 150, None, 0.04, "s", reason, "", "north", "delay"
    )


@pytest.mark.parametrize(
    ("transition", "line"),
    [
        (step(A.LOSE_VALUE, S.NORMAL, S.NOT_JUDGED, f"not judged: {REASON}"), f"not judged: {REASON}"),
        (
            step(A.LOSE_VALUE, S.ACKNOWLEDGED, S.ACKNOWLEDGED, f"not judged: {REASON}"),
            f"acknowledged: not judged: {REASON}",
        ),
        (step(A.REGAIN_VALUE, S.NOT_JUDGED, S.NORMAL, "judged again"), "normal: judged again"),
    ],
)
def test_a_transition_is_a_line_and_is_recorded(transition: Transition, line: str) -> None:
    assert describe_transition(transition) == f"{ALARM.name} {line}"
    event = Event.of_alarm(transition)
    assert events_of(event_rows([event])) == [event]
    assert bool(transition.not_judged) is (transition.action is A.LOSE_VALUE)


@pytest.mark.parametrize("field", ["action", "state", "previous"])
def test_a_word_of_a_later_version_leaves_the_event_and_its_text(field: str) -> None:
    rows = event_rows([Event.of_alarm(step(A.LOSE_VALUE, S.NORMAL, S.NOT_JUDGED, "not judged: no data"))])
    rows[field] = b"something_new"
    (event,) = events_of(rows)
    assert (event.kind, event.alarm, event.detail) == ("alarm", None, "not judged: no data")


@pytest.mark.parametrize(("paused", "delay"), [((), None), (("viewers", "broadband"), 0.07)])
def test_prometheus_has_the_delay_of_who_speaks_for_a_paused_headline(paused, delay) -> None:
    columns = tuple(Column(f"{prefix}_delay", "s", "north") for prefix in ("broadband", "paei"))
    found = list(indicator_metrics(ResultStream("rig", 1, 100.0, 1, columns), np.array([math.nan, 0.07]), paused))
    samples = [s.value for family in found if family.name == "synchroscope_delay_seconds" for s in family.samples]
    assert samples == ([] if delay is None else [delay])
