"""MQTT discovery messages, by which Home Assistant shows indicators and alarms automatically."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

from monitor import __version__
from monitor.catalogue import CODE_UNIT, Output, display_unit, outputs_by_name
from monitor.messages.alarms import Alarm, Severity
from monitor.messages.blocks import Column, ResultBlock, ResultStream
from monitor.messages.headline import QUANTITIES, first_indicator
from monitor.messages.requests import AcknowledgeRequest, encode
from monitor.transport.mqtt import payloads
from monitor.transport.mqtt.outbox import COMMAND, DISCOVERED, STATUS, Message, RigTopics

MAX_SENSORS = 1000

_UNCERTAINTY = ("_sd", "_se")
_CLASSES = {"ms": "duration", "s": "duration", "Hz": "frequency"}
# decimals; without them Home Assistant shows 1.3 Hz as 1 Hz
_PRECISION = {"ms": 1, "s": 3, "Hz": 2, "%": 1, "°": 1, "": 3, "1": 3}
_DECIMALS = 6
_OUTPUTS = outputs_by_name()
_UNFIT = re.compile(r"[^A-Za-z0-9_-]")


class Discovery:
    """Create the configuration messages of one rig.

    Parameters
    ----------
    prefix : topic under which Home Assistant looks for them.
    topics : of the rig.
    all_values : announce every value, not only headlines and reliabilities.
    commands : announce a button that acknowledges alarms.
    """

    def __init__(self, prefix: str, topics: RigTopics, *, all_values: bool = False, commands: bool = False) -> None:
        self._prefix = prefix
        self._topics = topics
        self._all_values, self._commands = all_values, commands
        self._node = _node(topics)
        self._device = {
            "identifiers": [self._node],
            "name": f"Synchroscope {topics.rig or topics.lab}",
            "manufacturer": "Synchroscope",
            "model": "synchroscope monitor",
            "sw_version": __version__,
        }

    def sensors(self, stream: ResultStream) -> tuple[Message, ...]:
        """Return sensors of headlines, then of values, without standard deviations and the bands of models."""
        first = [self._headline(name, quantity, unit) for name, quantity, unit in _headlines(stream)]
        shown = (stream.columns[place] for place in _shown(stream, self._all_values))
        return (*first, *(self._sensor(column) for column in shown))[:MAX_SENSORS]

    def alarms(self, alarms: Sequence[Alarm]) -> tuple[Message, ...]:
        """Return a binary sensor for each alarm, on while active, unknown where it is not judged; the button."""
        button = [self._button()] if self._commands and alarms else []
        return (*(self._alarm(alarm) for alarm in alarms), *button)

    def _headline(self, actuator: str, quantity: str, unit: str) -> Message:
        """Return a sensor of a headline; its indicator and the contradicting indicators are attributes."""
        topic, path = self._topics.topic(DISCOVERED), f"value_json['headline'][{_literal(actuator)}]"
        content = {
            "name": f"{actuator} {quantity}".strip(),
            "state_topic": topic,
            "value_template": f"{{{{ {path}['{quantity}'] }}}}",
            "json_attributes_topic": topic,
            "json_attributes_template": f"{{{{ {path}['attributes'] | tojson }}}}",
        }
        return self._measurement(f"{actuator}_headline_{quantity}", _display(quantity, unit)[0], content)

    def _sensor(self, column: Column) -> Message:
        path = f"value_json['values'][{_literal(column.actuator)}][{_literal(column.name)}]"
        content = {
            "name": f"{column.actuator} {column.name}".strip(),
            "state_topic": self._topics.topic(DISCOVERED),
            "value_template": f"{{{{ {path} }}}}",
        }
        return self._measurement(f"{column.actuator}_{column.name}", _display(column.name, column.unit)[0], content)

    def _measurement(self, name: str, unit: str, content: dict[str, Any]) -> Message:
        content = {**content, "state_class": "measurement"}
        if unit not in ("", "1"):
            content["unit_of_measurement"] = unit
        if unit in _CLASSES:
            content["device_class"] = _CLASSES[unit]
        if unit in _PRECISION:
            content["suggested_display_precision"] = _PRECISION[unit]
        return self._message("sensor", name, content)

    def _alarm(self, one: Alarm) -> Message:
        topic = self._topics.topic(self._topics.alarm(one.name))
        content = {
            "name": one.name,
            "state_topic": topic,
            # None: unknown, with the reason among the attributes
            "value_template": "{{ 'ON' if value_json.standing else 'None' if value_json.not_judged else 'OFF' }}",
            "json_attributes_topic": topic,
            "device_class": "safety" if one.severity is Severity.TRIP else "problem",
        }
        return self._message("binary_sensor", f"alarm_{one.name}", content)

    def _button(self) -> Message:
        content = {
            "name": "Acknowledge alarms",
            "command_topic": self._topics.topic(COMMAND),
            "payload_press": encode(AcknowledgeRequest(by="Home Assistant")).decode(),
            "qos": 1,
        }
        return self._message("button", "acknowledge_alarms", content)

    def _message(self, component: str, name: str, content: dict[str, Any]) -> Message:
        identifier = _identifier(name)
        common = {
            "unique_id": f"{self._node}_{identifier}",
            "availability_topic": self._topics.topic(STATUS),
            "availability_template": "{{ value_json.status }}",
            "payload_available": "online",
            "payload_not_available": "offline",
            "device": self._device,
            "origin": {"name": "synchroscope", "sw_version": __version__},
        }
        topic = f"{self._prefix}/{component}/{self._node}/{identifier}/config"
        return Message(topic, payloads.encode({**content, **common}), retain=True, absolute=True)


class StateEncoder:
    """Encode the newest row for the sensors of `Discovery`, in display units, to four digits, at most six decimals.

    Home Assistant stores a state in its database whenever it differs from the one before.

    Parameters
    ----------
    stream : of the results.
    all_values : as of `Discovery`.
    window : s, of the indicators.
    """

    def __init__(self, stream: ResultStream, *, all_values: bool, window: float) -> None:
        self._headlines, self._window = payloads.HeadlineReader(stream), window
        self._columns = [(place, stream.columns[place]) for place in _shown(stream, all_values)]
        units = {(actuator, quantity): unit for actuator, quantity, unit in _headlines(stream)}
        self._factors = {key: _display(key[1], unit)[1] for key, unit in units.items()}

    def message(self, block: ResultBlock, utc: str, paused: tuple[str, ...] = ()) -> bytes:
        """Return the payload; `paused` as of `HeadlineReader`."""
        row = block.values[-1]
        self._headlines.set_paused(paused)
        headline: dict[str, Any] = {}
        for actuator in self._headlines.names:
            found = self._headlines.read(actuator, row, self._window)
            headline[actuator] = {
                quantity: _rounded(found[quantity], self._factors.get((actuator, quantity), 1.0))
                for quantity in QUANTITIES
            }
            attributes = {name: found[name] for name in ("indicator", "window", "contradicting")}
            headline[actuator]["attributes"] = attributes
        values: dict[str, dict[str, float | None]] = {}
        for place, column in self._columns:
            value = _rounded(float(row[place]), _display(column.name, column.unit)[1])
            values.setdefault(column.actuator, {})[column.name] = value
        return payloads.encode({"utc": utc, "headline": headline, "values": values})


def _rounded(value: float | None, factor: float) -> float | None:
    # a delay of 1e-15 ms would be another state, and another row, each time
    return None if value is None or not math.isfinite(value) else round(float(f"{value * factor:.4g}"), _DECIMALS)


def _display(name: str, unit: str) -> tuple[str, float]:
    """Return unit and factor in which a value is shown."""
    output = _OUTPUTS.get(name)
    if output is None or (output.display is None and output.unit != (unit or "1")):
        output = Output(name, unit)
    return display_unit(output.display_unit, unit), output.display_factor


def _shown(stream: ResultStream, all_values: bool) -> list[int]:
    """Return the numbers of the columns that have a sensor, besides the headlines."""
    return [
        place
        for place, column in enumerate(stream.columns)
        if not column.name.endswith(_UNCERTAINTY)
        and column.unit != CODE_UNIT
        and not column.name.startswith("model_")
        and (all_values or payloads.is_reliability(column.name))
    ]


def topic_filter(prefix: str, topics: RigTopics) -> str:
    """Return the topic filter of all configuration messages of a rig."""
    return f"{prefix}/+/{_node(topics)}/+/config"


def check_topic(prefix: str, topics: RigTopics) -> str:
    """Return the topic of a sensor that does not exist, to check whether it may be written."""
    return f"{prefix}/sensor/{_node(topics)}/check/config"


def _headlines(stream: ResultStream) -> Iterator[tuple[str, str, str]]:
    """Yield actuator, quantity and unit of each headline."""
    for actuator, own in stream.places.items():
        indicator = first_indicator(own.__contains__)
        for quantity in QUANTITIES:
            if (place := own.get(f"{indicator}_{quantity}")) is not None:
                yield actuator, quantity, stream.columns[place].unit


def _node(topics: RigTopics) -> str:
    return _identifier(f"synchroscope_{topics.lab}_{topics.rig}")


def _identifier(name: str) -> str:
    """Return a name with only characters that Home Assistant allows; different names stay different."""
    plain = _UNFIT.sub("_", name)
    return plain if plain == name else f"{plain}_{hashlib.sha256(name.encode(errors='replace')).hexdigest()[:8]}"


def _literal(text: str) -> str:
    """Return a string literal for a template, in which nothing can end the string or begin an expression."""
    return re.sub("[{}%#']", lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))
