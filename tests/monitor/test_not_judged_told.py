"""Alarms that are not judged in the list of `synchroscope alarms`, in lines of events, and in run files."""

from __future__ import annotations

import math

import numpy as np
import pytest
from msgspec import structs

from monitor.alarms.text import describe_transition
from monitor.commands.alarms import print_alarms, state_text
from monitor.messages.alarms import Alarm, AlarmAction, AlarmState, Severity, Transition
from monitor.messages.blocks import Column, Event, ResultStream
from monitor.recording.rows import event_rows, events_of
from monitor.transport.prometheus import indicator_metrics

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
