"""Discovery messages of every value in Home Assistant's own schemas and templates.

It needs a newer Python than this one: set SYNCHROSCOPE_HOMEASSISTANT to one with `homeassistant` and `paho-mqtt`.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from monitor.catalogue import outputs_by_name
from monitor.messages.alarms import Alarm, Severity
from monitor.messages.blocks import Column, ResultBlock, ResultStream
from monitor.transport.mqtt import payloads
from monitor.transport.mqtt.discovery import Discovery, StateEncoder
from monitor.transport.mqtt.outbox import DISCOVERED, STATUS, RigTopics
from tests.monitor.mqtt.conftest import transition

PYTHON = os.environ.get("SYNCHROSCOPE_HOMEASSISTANT", "")
# a name that would end a literal or begin an expression in a template
ODD = 'o\'ne} {{ 1/0 }} "%7"'


@pytest.mark.skipif(not PYTHON, reason="SYNCHROSCOPE_HOMEASSISTANT is not set")
def test_home_assistant_accepts_every_sensor_and_reads_its_value() -> None:
    outputs = outputs_by_name()
    columns = [Column(name, output.unit, actuator) for actuator in ("north", ODD) for name, output in outputs.items()]
    columns += [Column("peak_error", unit, f"in {unit}") for unit in ("V", "mm", "°C", "kN", "")]
    stream = ResultStream("hall 7", 7, 100.0, 2, tuple(columns))
    topics = RigTopics("lab", "hall 7", plain=True)
    discovery = Discovery("homeassistant", topics, all_values=True, commands=True)
    alarms = tuple(
        Alarm(f"{actuator}.fdb_delay.{severity}", "fdb_delay", actuator, "s", severity, high=0.02)
        for actuator in ("north", ODD)
        for severity in Severity
    )
    values = 1e-3 * np.arange(1.0, 1.0 + len(columns))
    values[3] = np.nan
    block = ResultBlock(stream, 0, 0.0, values[np.newaxis])
    states = {
        topics.topic(DISCOVERED): StateEncoder(stream, all_values=True, window=2.0).message(block, payloads.now()),
        topics.topic(STATUS): payloads.status("online", state="receiving"),
    }
    for number, alarm in enumerate(alarms, 1):
        states[topics.topic(topics.alarm(alarm.name))] = payloads.alarm(alarm, transition(number, alarm))
    configs = {m.topic: json.loads(m.payload) for m in (*discovery.sensors(stream), *discovery.alarms(alarms))}
    given = {"configs": configs, "states": {topic: payload.decode() for topic, payload in states.items()}}
    program = Path(__file__).with_name("homeassistant_validate.py")
    done = subprocess.run(
        [PYTHON, program], input=json.dumps(given), capture_output=True, text=True, check=False, env={}
    )
    assert not done.returncode, done.stderr
    found = json.loads(done.stdout)
    # each but the button has a state
    assert len(found) == len(configs)
    read = json.loads(states[topics.topic(DISCOVERED)])["values"]["north"]
    shown = {
        topic.split("/")[3]: state for topic, state in found.items() if topic.startswith("homeassistant/sensor/")
    }
    assert len(read) > 30
    for name, value in read.items():
        state = shown[f"north_{name}"]
        assert state == "None" if value is None else float(state) == value, (name, state)
    assert [state for topic, state in found.items() if "/binary_sensor/" in topic] == ["ON", "OFF"] * 2
