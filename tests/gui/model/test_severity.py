"""Severity of an actuator by alarms and limits, its tracking status, and the worst of several."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gui.model.alarms import DisplayLimit, sorted_alarms, summarize, unknown_now
from gui.model.severity import NO_LIMITS, alarm_severity, limit_severity, severities
from gui.model.tracking_status import tracking_status
from gui.wording import event_text
from gui.wording.event_text import NOT_JUDGED_SHAPE, alarm_source, event_sentence, normal_range, state_text
from gui.wording.level import Level
from monitor.messages.alarms import Alarm, AlarmAction, AlarmState, Severity, Transition
from monitor.messages.blocks import Event

S = AlarmState


QUANTITIES = {"delay": "delay", "ratio": "ratio", "broadband_delay": "delay"}


REASON = "broadband paused: overload"


KEEPS_ITS_REASON = [state for state in S if state not in (S.NORMAL, S.OUT_OF_SERVICE)]


@st.composite
def alarms_of_an_actuator(draw):
    found = []
    for number in range(draw(st.integers(1, 6))):
        state = draw(st.sampled_from(S))
        judged = state is not S.NOT_JUDGED and (state not in KEEPS_ITS_REASON or draw(st.booleans()))
        found.append(
            Alarm(
                f"n.{number}", draw(st.sampled_from(("delay", "ratio", "nrmse"))), "n", "s",
                draw(st.sampled_from(Severity)),
                high=0.04, state=state, active=draw(st.booleans()), last=0.01 if judged else None,
                not_judged="" if judged else REASON,
            )
        )  # fmt: skip
    return found


@given(alarms_of_an_actuator())
def test_only_what_is_in_service_judged_and_normal_is_normal(alarms):
    severity, _ = alarm_severity(alarms, QUANTITIES)
    normal = all(alarm.state is S.NORMAL and not alarm.not_judged for alarm in alarms)
    assert (severity.words == "normal") is (severity.level is Level.GOOD) is normal
    standing = any(alarm.is_annunciated for alarm in alarms)
    assert severity.active is standing
    # what is not judged is told wherever nothing more urgent is, and with its reason
    if not standing and any(alarm.state is S.NOT_JUDGED for alarm in alarms):
        assert (severity.words, severity.shape, severity.level) == ("not judged", NOT_JUDGED_SHAPE, Level.NONE)
        assert REASON in severity.details


@given(alarms_of_an_actuator())
def test_of_a_service_that_is_lost_nothing_is_normal_and_nothing_has_a_value(alarms):
    unknown = unknown_now(alarms, "no data from the service")
    severity, _ = alarm_severity(unknown, QUANTITIES)
    assert severity.level is not Level.GOOD
    idle = [alarm for alarm in alarms if alarm.state is S.OUT_OF_SERVICE]
    assert [alarm for alarm in unknown if not alarm.not_judged] == idle
    assert all(alarm.last is None for alarm in unknown if alarm not in idle)
    # what has to be acknowledged still has to be
    assert [a.needs_acknowledgement for a in unknown] == [a.needs_acknowledgement for a in alarms]


@given(alarms_of_an_actuator())
def test_counts_and_places_of_what_is_not_judged(alarms):
    found = summarize(alarms)
    assert found.not_judged == sum(alarm.not_judged != "" for alarm in alarms)
    places = [S.NOT_JUDGED, S.SHELVED, S.OUT_OF_SERVICE, S.NORMAL]
    order = [0 if alarm.is_annunciated else 1 + places.index(alarm.state) for alarm in sorted_alarms(alarms)]
    assert order == sorted(order)


def test_an_actuator_without_alarms_has_no_severity():
    assert alarm_severity((), QUANTITIES) == (NO_LIMITS, {})


ALARM = Alarm("n.delay.warn", "delay", "n", "s", Severity.WARN, -0.04, 0.04, source="broadband_delay")


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "● normal: delay ± 40 ms"),
        ({"value": "nrmse", "unit": "%", "low": None, "high": 5.0, "source": ""}, "● normal: NRMSE"),
        ({"state": S.NOT_JUDGED, "not_judged": REASON}, f"⊘ not judged: {REASON}"),
        ({"state": S.UNACKNOWLEDGED, "active": True, "last": 0.05}, "▲ WARN: delay 50 ms"),
        ({"state": S.UNACKNOWLEDGED, "active": True, "not_judged": REASON}, f"▲ WARN, not judged: delay, {REASON}"),
        ({"state": S.RETURNED}, "▲ WARN: delay back to normal"),
        ({"state": S.OUT_OF_SERVICE}, "◌ alarms out of service"),
    ],
)
def test_the_words_say_what_holds_in_the_units_of_the_display(changes, text):
    assert alarm_severity([replace(ALARM, **changes)], QUANTITIES)[0].text == text


def test_limits_of_the_window_are_kept_only_by_values_that_are_there():
    limits = {name: DisplayLimit(name, 5.0, 10.0) for name in ("delay", "phase")}
    assert limit_severity(limits, {"delay": 1.0, "phase": 1.0, "ratio": math.nan})[0].level is Level.GOOD
    for values in ({"delay": 1.0, "phase": math.nan}, {"delay": math.nan, "phase": math.nan}, {}):
        assert limit_severity(limits, values)[0] == NO_LIMITS
    assert limit_severity(limits, {"delay": 7.0, "phase": math.nan})[0].level is Level.WARN


def test_no_other_state_has_the_shape_of_not_judged():
    shapes = {*event_text._SEVERITY_SHAPES.values(), *event_text._KIND_SHAPES.values(), *"●○◷◌◇◆❚→←↑↓=≠"}
    assert NOT_JUDGED_SHAPE not in shapes


def test_an_alarm_on_the_headline_says_who_speaks_and_what_is_normal():
    assert alarm_source(ALARM) == "n delay"
    assert alarm_source(replace(ALARM, source="paei_delay")) == "n delay (PAEI)"
    assert normal_range(ALARM) == "± 40 ms"
    assert state_text(replace(ALARM, state=S.NOT_JUDGED, not_judged=REASON)) == f"not judged: {REASON}"
    assert (
        state_text(replace(ALARM, state=S.ACKNOWLEDGED, not_judged=REASON)) == f"acknowledged, not judged: {REASON}"
    )


@pytest.mark.parametrize(
    ("action", "state", "reason", "value", "sentence"),
    [
        (
            AlarmAction.LOSE_VALUE,
            S.NOT_JUDGED,
            f"not judged: {REASON}",
            None,
            f"⊘ WARN n delay, not judged: {REASON}",
        ),
        (AlarmAction.REGAIN_VALUE, S.NORMAL, "judged again", None, "▲ WARN n delay, judged again: normal"),
        (
            AlarmAction.LOSE_VALUE,
            S.ACKNOWLEDGED,
            "not judged: no data",
            None,
            "⊘ WARN n delay, not judged: no data: acknowledged",
        ),
        (
            AlarmAction.OCCUR,
            S.UNACKNOWLEDGED,
            "n delay 0.05 s is above 0.04 s, by PAEI",
            0.05,
            "▲ WARN n delay (PAEI) 50 ms, limit 40 ms: unacknowledged",
        ),
    ],
)
def test_the_sentence_of_a_transition(action, state, reason, value, sentence):
    step = Transition(
        1, ALARM.name, Severity.WARN, action, S.NORMAL, state, 1.0, 1, value, 0.04, "s", reason, "", "n", "delay"
    )
    assert event_sentence(Event.of_alarm(step)) == sentence


def test_actuators_are_ranked_by_trips_warnings_and_what_is_not_judged():
    found = severities(
        (
            replace(ALARM, actuator="calm"),
            replace(ALARM, actuator="lost", state=S.NOT_JUDGED, not_judged=REASON),
            replace(ALARM, actuator="warns", state=S.UNACKNOWLEDGED),
            replace(ALARM, actuator="warns", state=S.NOT_JUDGED, not_judged=REASON),
            replace(ALARM, actuator="trips", state=S.ACKNOWLEDGED, severity=Severity.TRIP, not_judged=REASON),
        )
    )
    assert sorted(found, key=found.__getitem__) == ["lost", "warns", "trips"]


RATIO = Alarm("n.ratio.warn", "ratio", "n", "", Severity.WARN, low=0.85, high=1.15)


@pytest.mark.parametrize(
    ("alarm", "text"),
    [
        (RATIO, "● normal: amplitude 87 … 118 %"),
        (replace(RATIO, low=None), "● normal: amplitude ≥ 87 %"),
        (replace(RATIO, state=S.UNACKNOWLEDGED, active=True, last=1.25), "▲ WARN: amplitude 80 %"),
        (replace(RATIO, state=S.UNACKNOWLEDGED, active=True, last=0.0), "▲ WARN: amplitude —"),
        (replace(RATIO, low=0.0), "● normal: amplitude ≥ 87 %"),
    ],
)
def test_a_ratio_that_is_shown_as_an_amplitude_has_its_limits_in_percent_of_the_command(alarm, text):
    # 100/0.85 = 117.6, 100/1.15 = 87.0: the highest ratio is the lowest amplitude
    severity, levels = alarm_severity([alarm], {"ratio": "amplitude"})
    assert severity.text == text
    assert levels == ({"amplitude": Level.WARN} if alarm.active else {})


def test_counts_are_written_out():
    lost = Alarm("lost_data.warn", "health.lost", "", "samples", Severity.WARN, high=0.0)
    assert event_text.alarm_value(lost, 12280.0) == "12,280 samples"
    assert event_text.alarm_value(lost, 1228.0) == "1228 samples"
    late = Alarm("delay.trip", "delay", "n", "s", Severity.TRIP, high=0.058)
    assert event_text.alarm_value(late, 1.479e-17) == "0 ms"


@pytest.mark.parametrize(
    ("delay", "ratio", "words"),
    [
        (0.012, 1.0, "lag"),
        (-0.002, 1.0, "lead"),
        (0.0005, 1.01, "no lag"),
        (0.0, 1.11, "undershoot"),
        (0.0, 0.9, "overshoot"),
        (0.008, 0.95, "lag, overshoot"),
        (-0.008, 1.2, "lead, undershoot"),
        (math.nan, 1.0, "no delay"),
        (0.01, math.nan, "no ratio"),
    ],
)
def test_words_are_facts_without_a_level(delay, ratio, words):
    found = tracking_status(delay, ratio)
    assert (found.words, found.level) == (words, Level.NONE)


@pytest.mark.parametrize(
    ("delay", "delay_sd", "ratio", "ratio_sd", "words"),
    [
        (0.005, 0.010, 1.6, 0.8, "not determined"),
        (0.0, 0.0006, 1.0, 0.0, "not determined"),
        (0.0, 0.0004, 1.0, 0.009, "no lag"),
        (0.005, 0.0019, 1.0, 0.0, "lag"),
        (0.005, 0.0019, 1.03, 0.006, "lag"),
        (0.005, 0.010, 1.1, 0.01, "undershoot"),
        (0.005, math.nan, 0.9, math.nan, "lag, overshoot"),
    ],
)
def test_words_say_no_more_than_the_bands(delay, delay_sd, ratio, ratio_sd, words):
    """Right only where error and two sd are below 1 ms or 2 %, wrong only where error less two sd is above."""
    assert tracking_status(delay, ratio, delay_sd, ratio_sd).words == words
