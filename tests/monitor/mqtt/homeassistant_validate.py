"""Read discovery messages and states as Home Assistant does; run by a Python that has it, with JSON on stdin.

``{"configs": {TOPIC: CONFIG}, "states": {TOPIC: PAYLOAD}}``; prints ``{"VERSION": ..., TOPIC OF CONFIG: STATE}``.
"""

import asyncio
import json
import sys
from importlib import import_module

from homeassistant.components.mqtt.discovery import MQTTDiscoveryPayload
from homeassistant.components.sensor.const import DEVICE_CLASS_STATE_CLASSES, DEVICE_CLASS_UNITS
from homeassistant.const import __version__
from homeassistant.core import HomeAssistant
from homeassistant.helpers.template import Template


async def main() -> None:
    given = json.load(sys.stdin)
    hass = HomeAssistant("/tmp")
    found = {"VERSION": __version__}
    for topic, config in given["configs"].items():
        _, component, node, name, _ = topic.split("/")
        for level in (node, name):
            assert set(level) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"), level
        schema = import_module(f"homeassistant.components.mqtt.{component}").DISCOVERY_SCHEMA
        checked = schema(MQTTDiscoveryPayload(config))
        kind, unit = checked.get("device_class"), checked.get("unit_of_measurement")
        if component == "sensor" and kind is not None:
            assert unit in DEVICE_CLASS_UNITS[kind], (kind, unit)
            assert checked["state_class"] in DEVICE_CLASS_STATE_CLASSES[kind], (kind, checked["state_class"])
        if component == "button":
            continue

        def render(key: str, source: str, config: dict = config) -> str:
            template = Template(str(config[key]), hass)
            return template.async_render_with_possible_json_value(given["states"][config[source]], "failed")

        assert render("availability_template", "availability_topic") == config["payload_available"]
        found[topic] = render("value_template", "state_topic")
        if "json_attributes_template" in config:
            json.loads(render("json_attributes_template", "json_attributes_topic"))
    print(json.dumps(found))
    await hass.async_stop(force=True)


asyncio.run(main())
