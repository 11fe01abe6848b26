"""A broker is told by MQTT what the service finds, and may pass requests on to it (docs/mqtt.md is the contract)."""

from monitor.transport.mqtt.inlet import MqttInlet
from monitor.transport.mqtt.sink import MqttSink

__all__ = ["MqttInlet", "MqttSink"]
