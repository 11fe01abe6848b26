"""MQTT discovery messages, by which Home Assistant shows indicators and alarms automatically."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from monitor.messages.alarms import Alarm, Severity
from monitor.messages.blocks import Column, ResultStream
from monitor.messages.headline import QUANTITIES, first_indicator
from monitor.transport.mqtt import payloads
from monitor.transport.mqtt.outbox import INDICATORS, RELIABILITY, STATUS, Message, RigTopics, alarm_topic

MAX_SENSORS = 1000

_UNCERTAINTY = ("_sd", "_se")
_CLASSES = {"s": "duration", "Hz": "frequency"}
_UNFIT = re.compile(r"[^A-Za-z0-9_-]")


class Discovery:
    """Create the configuration messages of one rig.

    Parameters
    ----------
    prefix : topic under which Home Assistant looks for them.
    topics : of the rig.
    """

    def __init__(self, prefix: str, topics: RigTopics) -> None:
        self._prefix = prefix
        self._topics = topics
        self._node = _node(topics)
        self._device = {
            "identifiers": [self._node],
            "name": f"Synchroscope {topics.rig or topics.lab}",
            "manufacturer": "Synchroscope",
            "model": "synchroscope monitor",
            "sw_version": payloads.VERSION,
        }

    def sensors(self, stream: ResultStream) -> tuple[Message, ...]:
        """Return sensors of headlines, then of values, without standard deviations and the bands of models."""
        first = [self._headline(name, quantity, unit) for name, quantity, unit in _headlines(stream)]
        shown = [c for c in stream.columns if not c.name.endswith(_UNCERTAINTY) and not c.name.startswith("model_")]
        return (*first, *(self._sensor(column) for column in shown))[:MAX_SENSORS]

    def alarms(self, alarms: Sequence[Alarm]) -> tuple[Message, ...]:
        """Return a binary sensor for each alarm, on while the alarm is active."""
        return tuple(self._alarm(alarm) for alarm in alarms)

    def _headline(self, actuator: str, quantity: str, unit: str) -> Message:
        """Return a sensor of a headline; its indicator and the contradicting indicators are attributes."""
        topic, path = self._topics.topic(INDICATORS), f"value_json['headline'][{_literal(actuator)}]"
        content = {
            "name": f"{actuator} {quantity}".strip(),
            "state_topic": topic,
            "value_template": f"{{{{ {path}['{quantity}'] }}}}",
            "json_attributes_topic": topic,
            "json_attributes_template": f"{{{{ {path} | tojson }}}}",
        }
        return self._measurement(f"{actuator}_headline_{quantity}", unit, content)

    def _sensor(self, column: Column) -> Message:
        topic = RELIABILITY if payloads.is_reliability(column.name) else INDICATORS
        path = f"value_json['values'][{_literal(column.actuator)}][{_literal(column.name)}]"
        content = {
            "name": f"{column.actuator} {column.name}".strip(),
            "state_topic": self._topics.topic(topic),
            "value_template": f"{{{{ {path} }}}}",
        }
        return self._measurement(f"{column.actuator}_{column.name}", column.unit, content)

    def _measurement(self, name: str, unit: str, content: dict[str, Any]) -> Message:
        content = {**content, "state_class": "measurement"}
        if unit not in ("", "1"):
            content["unit_of_measurement"] = unit
        if unit in _CLASSES:
            content["device_class"] = _CLASSES[unit]
        return self._message("sensor", name, content)

    def _alarm(self, one: Alarm) -> Message:
        topic = self._topics.topic(alarm_topic(one.name))
        content = {
            "name": one.name,
            "state_topic": topic,
            "value_template": "{{ 'ON' if value_json.standing else 'OFF' }}",
            "json_attributes_topic": topic,
            "device_class": "safety" if one.severity is Severity.TRIP else "problem",
        }
        return self._message("binary_sensor", f"alarm_{one.name}", content)

    def _message(self, component: str, name: str, content: dict[str, Any]) -> Message:
        identifier = _identifier(name)
        common = {
            "unique_id": f"{self._node}_{identifier}",
            "availability_topic": self._topics.topic(STATUS),
            "availability_template": "{{ value_json.status }}",
            "payload_available": "online",
            "payload_not_available": "offline",
            "device": self._device,
            "origin": {"name": "synchroscope", "sw_version": payloads.VERSION},
        }
        topic = f"{self._prefix}/{component}/{self._node}/{identifier}/config"
        return Message(topic, payloads.encode({**content, **common}), retain=True, absolute=True)


def topic_filter(prefix: str, topics: RigTopics) -> str:
    """Return the topic filter of all configuration messages of a rig."""
    return f"{prefix}/+/{_node(topics)}/+/config"


def check_topic(prefix: str, topics: RigTopics) -> str:
    """Return the topic of a sensor that does not exist, to check whether it may be written."""
    return f"{prefix}/sensor/{_node(topics)}/check/config"


def _headlines(stream: ResultStream) -> Iterator[tuple[str, str, str]]:
    """Yield actuator, quantity and unit of each headline."""
    units = {(column.actuator, column.name): column.unit for column in stream.columns}
    for actuator in dict.fromkeys(column.actuator for column in stream.columns):
        indicator = first_indicator({name for owner, name in units if owner == actuator}.__contains__)
        for quantity in QUANTITIES:
            unit = units.get((actuator, f"{indicator}_{quantity}"))
            if unit is not None:
                yield actuator, quantity, unit


def _node(topics: RigTopics) -> str:
    return _identifier(f"synchroscope_{topics.lab}_{topics.rig}")


def _identifier(name: str) -> str:
    """Return a name with only characters that Home Assistant allows; different names stay different."""
    plain = _UNFIT.sub("_", name)
    return plain if plain == name else f"{plain}_{hashlib.sha256(name.encode(errors='replace')).hexdigest()[:8]}"


def _literal(text: str) -> str:
    """Return a string literal for a template, in which nothing can end the string or begin an expression."""
    return re.sub("[{}%#']", lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))
