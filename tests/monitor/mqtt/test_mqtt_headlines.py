"""What stands first in the messages: the broadband values, or the next best, and what contradicts them."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from monitor.messages.blocks import Column, ResultBlock, ResultStream
from monitor.messages.health import Health
from monitor.transport.mqtt.discovery import Discovery
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
    rows = [
        [*FDB, *BROADBAND, *SOUTH],
        [*FDB, 0.011, *BROADBAND[1:], *SOUTH],
        [*FDB, NAN, *BROADBAND[1:], *SOUTH],
    ]
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
    sensors = [json.loads(message.payload) for message in Discovery("ha", RigTopics("lab", "rig")).sensors(STREAM)]
    assert [sensor["name"] for sensor in sensors][:5] == [
        "north delay", "north ratio", "south delay", "south ratio", "north fdb_delay",
    ]  # fmt: skip
    delay, _, _, ratio, *others = sensors
    assert delay["state_topic"] == delay["json_attributes_topic"] == "synchroscope/v1/lab/rig/indicators"
    assert delay["value_template"] == """{{ value_json['headline']["north"]['delay'] }}"""
    assert delay["json_attributes_template"] == """{{ value_json['headline']["north"] | tojson }}"""
    assert (delay["unit_of_measurement"], delay["device_class"]) == ("s", "duration")
    assert ratio["unit_of_measurement"] == "V/mm"
    assert "json_attributes_topic" not in others[0]
    assert len({sensor["unique_id"] for sensor in sensors}) == len(sensors)
