"""Alarms that are not judged, and the headline while broadband is paused, as a broker's clients get them."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from jinja2 import Environment
from msgspec.structs import replace

from monitor.messages.alarms import Alarm, AlarmAction, AlarmState, Severity, Transition
from monitor.messages.blocks import Column, ResultBlock, ResultStream
from monitor.messages.health import Health
from monitor.transport.mqtt import payloads
from monitor.transport.mqtt.discovery import Discovery, StateEncoder
from monitor.transport.mqtt.outbox import RigTopics
from monitor.transport.mqtt.payloads import Summary, TelemetryEncoder
from monitor.transport.mqtt.sink import _description

S, A = AlarmState, AlarmAction
REASON = "broadband paused: overload"
ALARM = Alarm(
    "north.delay.trip", "delay", "north", "s", Severity.TRIP, high=0.06, last=0.01, source="broadband_delay"
)
NOT_JUDGED = replace(ALARM, state=S.NOT_JUDGED, not_judged=REASON, last=None)


def step(action: AlarmAction, state: AlarmState, reason: str) -> Transition:
    return Transition(1, ALARM.name, Severity.TRIP, action, S.NORMAL, state, 1.0, 100, None, 0.06, "s", reason)


@pytest.mark.parametrize(
    ("alarm", "shown"),
    [
        (ALARM, "OFF"),
        (NOT_JUDGED, "None"),  # Home Assistant's word for unknown
        (replace(ALARM, state=S.UNACKNOWLEDGED, active=True), "ON"),
        (replace(ALARM, state=S.UNACKNOWLEDGED, active=True, not_judged=REASON), "ON"),
        (replace(ALARM, state=S.SHELVED), "OFF"),
        (replace(ALARM, state=S.SHELVED, not_judged=REASON), "None"),
    ],
)
def test_a_sensor_of_an_alarm_is_off_only_where_it_is_judged(alarm: Alarm, shown: str) -> None:
    (message,) = Discovery("homeassistant", RigTopics("lab", "rig")).alarms((alarm,))
    sensor = json.loads(message.payload)
    told = json.loads(payloads.alarm(alarm))
    assert Environment(autoescape=False).from_string(sensor["value_template"]).render(value_json=told) == shown
    # the reason is among the attributes, which are the whole message
    assert sensor["json_attributes_topic"] == sensor["state_topic"] and told["not_judged"] == alarm.not_judged


def test_each_transition_is_told_with_the_judgement_that_it_led_to() -> None:
    lost = json.loads(payloads.alarm(ALARM, step(A.LOSE_VALUE, S.NOT_JUDGED, f"not judged: {REASON}")))
    assert (lost["state"], lost["not_judged"], lost["last"], lost["standing"]) == ("not_judged", REASON, None, False)
    back = json.loads(payloads.alarm(NOT_JUDGED, step(A.REGAIN_VALUE, S.NORMAL, "judged again")))
    assert (back["state"], back["not_judged"], back["source"]) == ("normal", "", "broadband_delay")


def test_a_change_without_a_transition_is_published_too() -> None:
    first_value = replace(ALARM, state=S.NOT_JUDGED, not_judged="no value yet", last=None)
    other_speaker = replace(ALARM, source="paei_delay")
    assert len({_description(each) for each in (ALARM, first_value, NOT_JUDGED, other_speaker)}) == 4
    # values come five times a second, and are in `indicators`
    assert _description(ALARM) == _description(replace(ALARM, last=0.02))


def test_the_summary_counts_what_is_not_judged() -> None:
    told = json.loads(Summary().message(Health(), (ALARM, NOT_JUDGED, replace(NOT_JUDGED, state=S.SHELVED))))
    assert told["alarms"] == {"all": 3, "standing": 0, "unacknowledged": 0, "shelved": 0, "not_judged": 2}


COLUMNS = tuple(
    Column(f"{prefix}_{name}", "1" if name == "ratio" else "s", "north")
    for prefix in ("broadband", "fdb", "paei")
    for name in ("delay", "ratio")
)
STREAM = ResultStream("rig", 1, 100.0, 1, COLUMNS)
PAUSED = ("viewers", "results", "broadband")
WITHOUT = ResultBlock(STREAM, 0, 0.0, np.array([[math.nan, math.nan, 0.071, 1.0, 0.0697, 1.0]]))


@pytest.mark.parametrize(
    ("paused", "delay", "indicator"),
    [
        (PAUSED, 0.0697, "paei"),
        ((*PAUSED, "paei"), 0.071, "fdb"),
        ((), None, "broadband"),  # it declined: nobody speaks for it
        (("viewers", "transfer"), None, "broadband"),
    ],
)
def test_another_indicator_speaks_for_a_paused_headline(paused, delay, indicator) -> None:
    told = json.loads(TelemetryEncoder(STREAM, reliability=False).message(WITHOUT, "now", paused) or b"")
    found = told["headline"]["north"]
    assert (found["delay"], found["indicator"]) == (delay, indicator)
    shown = json.loads(StateEncoder(STREAM, all_values=False, window=2.0).message(WITHOUT, "now", paused))
    assert shown["headline"]["north"]["attributes"]["indicator"] == indicator
    summary = Summary()
    summary.update(WITHOUT, paused)
    last = json.loads(summary.message(Health(shed=paused), ()))["headline"]
    assert last == ({} if delay is None else {"north": {**last["north"], "delay": delay, "indicator": indicator}})
