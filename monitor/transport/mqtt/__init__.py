"""A broker is told by MQTT what the service finds, and may pass requests on to it (docs/mqtt.md is the contract)."""

from monitor.transport.mqtt.sink import MqttCommandHandler, MqttSink

__all__ = ["MqttCommandHandler", "MqttSink"]
