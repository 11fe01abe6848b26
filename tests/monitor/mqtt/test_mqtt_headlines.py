"""What a broker's clients get: what stands first and what contradicts it, and alarms that are not judged."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from jinja2 import Environment
from msgspec import structs

from monitor.messages.alarms import Alarm, AlarmAction, AlarmState, Severity, Transition
from monitor.messages.blocks import Column, ResultBlock, ResultStream
from monitor.messages.health import Health
from monitor.messages.requests import AcknowledgeRequest, decode_request
from monitor.transport.mqtt import payloads
from monitor.transport.mqtt.discovery import Discovery, StateEncoder
from monitor.transport.mqtt.outbox import RigTopics
from monitor.transport.mqtt.payloads import Summary, TelemetryEncoder
from monitor.transport.mqtt.sink import _description

NAN = math.nan
NAMES = ("delay", "delay_sd", "ratio", "ratio_sd")
# of north all indicators, of south only FDB, of the roof none with a delay; a model is judged
COLUMNS = (
    *(Column(f"fdb_{name}", "1" if "ratio" in name else "s", "north") for name in NAMES),
    *(Column(f"broadband_{name}", "1" if "ratio" in name else "s", "north") for name in NAMES),
    *(Column(f"fdb_{name}", "V/mm" if "ratio" in name else "s", "south") for name in NAMES),
    Column("ti", "m^2", "roof"),
    Column("reliability_accumulated", "1", "beam"),
)
FDB, BROADBAND, SOUTH = [0.014, 0.0002, 1.02, 0.001], [0.012, 0.0004, 1.02, 0.002], [0.03, NAN, 2.5, NAN]
STREAM = ResultStream("rig", 7, 100.0, 2, COLUMNS)


def block(first: int, *rows: list[float]) -> ResultBlock:
    return ResultBlock(STREAM, first, first / 100.0, np.array([[*row, 1.0, 0.5] for row in rows]))


def headline(delay, delay_sd, ratio, ratio_sd, indicator, *contradicting):
    values = {"delay": delay, "delay_sd": delay_sd, "ratio": ratio, "ratio_sd": ratio_sd}
    return {**values, "indicator": indicator, "window": 2.0, "contradicting": list(contradicting)}


def test_the_values_of_a_row_come_after_its_headlines() -> None:
    told = TelemetryEncoder(STREAM, reliability=False, window=2.0).message(
        block(0, [*FDB, *BROADBAND, *SOUTH]), "now"
    )
    found = json.loads(told)
    assert list(found) == ["time", "index", "utc", "headline", "values"]
    # 2 ms apart, and the bands of 2 sd reach 0.8 and 0.4 ms
    assert found["headline"] == {
        "north": headline(0.012, 0.0004, 1.02, 0.002, "broadband", "fdb"),
        "south": headline(0.03, None, 2.5, None, "fdb"),
    }
    assert found["values"]["north"]["fdb_delay"] == 0.014
    judged = json.loads(TelemetryEncoder(STREAM, reliability=True, window=2.0).message(block(0, [0.0] * 12), "now"))
    assert "headline" not in judged


@pytest.mark.parametrize(("fdb", "contradicting"), [(0.0133, ()), (0.0135, ("fdb",)), (NAN, ())])
def test_within_the_bands_nothing_contradicts(fdb: float, contradicting: tuple[str, ...]) -> None:
    row = [fdb, *FDB[1:], *BROADBAND, *SOUTH]
    found = json.loads(TelemetryEncoder(STREAM, reliability=False).message(block(0, row), "now"))
    assert tuple(found["headline"]["north"]["contradicting"]) == contradicting


@pytest.mark.parametrize("together", [True, False])
def test_the_summary_has_the_last_headline_that_meant_something(together: bool) -> None:
    rows = [[*FDB, *BROADBAND, *SOUTH], [*FDB, 0.011, *BROADBAND[1:], *SOUTH], [*FDB, NAN, *BROADBAND[1:], *SOUTH]]
    summary = Summary()
    health = Health(window=2.0)
    assert json.loads(summary.message(health, ()))["headline"] == {}
    for blocks in [block(100, *rows)] if together else [block(100 + 2 * i, row) for i, row in enumerate(rows)]:
        summary.update(blocks)
    found = json.loads(summary.message(health, ()))
    assert list(found)[:2] == ["state", "headline"]
    assert found["headline"] == {
        "north": {**headline(0.011, 0.0004, 1.02, 0.002, "broadband", "fdb"), "time": 1.02},
        "south": {**headline(0.03, None, 2.5, None, "fdb"), "time": 1.04},
    }


def test_home_assistant_has_the_headlines_before_all_values() -> None:
    announced = Discovery("ha", RigTopics("lab", "rig"), all_values=True)
    sensors = [json.loads(message.payload) for message in announced.sensors(STREAM)]
    assert [sensor["name"] for sensor in sensors][:5] == [
        "north delay", "north ratio", "south delay", "south ratio", "north fdb_delay",
    ]  # fmt: skip
    delay, _, _, ratio, *others = sensors
    assert delay["state_topic"] == delay["json_attributes_topic"] == "synchroscope/v1/lab/rig/homeassistant"
    assert delay["value_template"] == """{{ value_json['headline']["north"]['delay'] }}"""
    assert delay["json_attributes_template"] == """{{ value_json['headline']["north"]['attributes'] | tojson }}"""
    assert (delay["unit_of_measurement"], delay["device_class"]) == ("ms", "duration")
    assert delay["suggested_display_precision"] == 1
    assert ratio["unit_of_measurement"] == "V/mm"
    assert "json_attributes_topic" not in others[0]
    assert len({sensor["unique_id"] for sensor in sensors}) == len(sensors)


def test_home_assistant_gets_main_values_in_display_units() -> None:
    topics = RigTopics("lab", "rig")
    columns = (
        *STREAM.columns,
        Column("fdb_frequency", "Hz", "north"),
        Column("reliability_accumulated", "1", "roof"),
    )
    stream = replace(STREAM, columns=columns)
    row = np.array([[*FDB, 0.042, *BROADBAND[1:], *SOUTH, 1.0, 0.5, 1.29999, 0.9]])
    block = ResultBlock(stream, 100, 1.0, row)
    # rounding errors of a perfect actuator are not a new state each
    row[0, 8] = 1.4e-18
    found = json.loads(StateEncoder(stream, all_values=False, window=2.0).message(block, "now"))
    assert found["headline"]["north"]["delay"] == 42.0
    assert found["headline"]["south"]["delay"] == 0.0
    assert found["headline"]["north"]["attributes"].keys() == {"indicator", "window", "contradicting"}
    assert found["values"] == {"beam": {"reliability_accumulated": 0.5}, "roof": {"reliability_accumulated": 0.9}}
    names = [json.loads(message.payload)["name"] for message in Discovery("ha", topics).sensors(stream)]
    assert names[:4] == ["north delay", "north ratio", "south delay", "south ratio"]
    assert names[4:] == ["beam reliability_accumulated", "roof reliability_accumulated"]
    found = json.loads(StateEncoder(stream, all_values=True, window=2.0).message(block, "now"))
    assert found["values"]["north"]["fdb_frequency"] == 1.3
    sensors = [json.loads(m.payload) for m in Discovery("ha", topics, all_values=True).sensors(stream)]
    frequency = next(sensor for sensor in sensors if sensor["name"] == "north fdb_frequency")
    assert (frequency["unit_of_measurement"], frequency["suggested_display_precision"]) == ("Hz", 2)
    # every sensor finds its value
    for sensor in sensors:
        value = eval(sensor["value_template"].strip("{} "), {"value_json": found})
        assert value is None or isinstance(value, float)


def test_home_assistant_has_a_button_where_commands_are_accepted() -> None:
    alarm = Alarm("x.trip", "x", "", "", Severity.TRIP)
    assert len(Discovery("ha", RigTopics("lab", "rig")).alarms((alarm,))) == 1
    _, button = Discovery("ha", RigTopics("lab", "rig"), commands=True).alarms((alarm,))
    assert button.topic == "ha/button/synchroscope_lab_rig/acknowledge_alarms/config"
    content = json.loads(button.payload)
    assert content["command_topic"] == "synchroscope/v1/lab/rig/command"
    assert decode_request(content["payload_press"].encode()) == AcknowledgeRequest(by="Home Assistant")


S, A = AlarmState, AlarmAction
REASON = "broadband paused: overload"
ALARM = Alarm(
    "north.delay.trip", "delay", "north", "s", Severity.TRIP, high=0.06, last=0.01, source="broadband_delay"
)
NOT_JUDGED = structs.replace(ALARM, state=S.NOT_JUDGED, not_judged=REASON, last=None)


def step(action: AlarmAction, state: AlarmState, reason: str) -> Transition:
    return Transition(1, ALARM.name, Severity.TRIP, action, S.NORMAL, state, 1.0, 100, None, 0.06, "s", reason)


@pytest.mark.parametrize(
    ("alarm", "shown"),
    [
        (ALARM, "OFF"),
        (NOT_JUDGED, "None"),  # Home Assistant's word for unknown
        (structs.replace(ALARM, state=S.UNACKNOWLEDGED, active=True), "ON"),
        (structs.replace(ALARM, state=S.UNACKNOWLEDGED, active=True, not_judged=REASON), "ON"),
        (structs.replace(ALARM, state=S.SHELVED), "OFF"),
        (structs.replace(ALARM, state=S.SHELVED, not_judged=REASON), "None"),
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
    first_value = structs.replace(ALARM, state=S.NOT_JUDGED, not_judged="no value yet", last=None)
    other_speaker = structs.replace(ALARM, source="paei_delay")
    assert len({_description(each) for each in (ALARM, first_value, NOT_JUDGED, other_speaker)}) == 4
    # values come five times a second, and are in `indicators`
    assert _description(ALARM) == _description(structs.replace(ALARM, last=0.02))


def test_the_summary_counts_what_is_not_judged() -> None:
    told = json.loads(Summary().message(Health(), (ALARM, NOT_JUDGED, structs.replace(NOT_JUDGED, state=S.SHELVED))))
    assert told["alarms"] == {"all": 3, "standing": 0, "unacknowledged": 0, "shelved": 0, "not_judged": 2}


JUDGED_COLUMNS = tuple(
    Column(f"{prefix}_{name}", "1" if name == "ratio" else "s", "north")
    for prefix in ("broadband", "fdb", "paei")
    for name in ("delay", "ratio")
)
JUDGED_STREAM = ResultStream("rig", 1, 100.0, 1, JUDGED_COLUMNS)
PAUSED = ("viewers", "results", "broadband")
WITHOUT = ResultBlock(JUDGED_STREAM, 0, 0.0, np.array([[math.nan, math.nan, 0.071, 1.0, 0.0697, 1.0]]))


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
    told = json.loads(TelemetryEncoder(JUDGED_STREAM, reliability=False).message(WITHOUT, "now", paused) or b"")
    found = told["headline"]["north"]
    assert (found["delay"], found["indicator"]) == (delay, indicator)
    shown = json.loads(StateEncoder(JUDGED_STREAM, all_values=False, window=2.0).message(WITHOUT, "now", paused))
    assert shown["headline"]["north"]["attributes"]["indicator"] == indicator
    summary = Summary()
    summary.update(WITHOUT, paused)
    last = json.loads(summary.message(Health(shed=paused), ()))["headline"]
    assert last == ({} if delay is None else {"north": {**last["north"], "delay": delay, "indicator": indicator}})
