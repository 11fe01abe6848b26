"""What stands first in the messages: the broadband values, or the next best, and what contradicts them."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from monitor.messages.alarms import Alarm, Severity
from monitor.messages.blocks import Column, ResultBlock, ResultStream
from monitor.messages.health import Health
from monitor.messages.requests import AcknowledgeRequest, decode_request
from monitor.transport.mqtt.discovery import Discovery, StateEncoder
from monitor.transport.mqtt.outbox import RigTopics
from monitor.transport.mqtt.payloads import Summary, TelemetryEncoder

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
