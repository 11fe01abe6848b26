"""Results, alarms and events published to an MQTT broker, and requests of its clients (contract: docs/mqtt.md)."""

from monitor.transport.mqtt.sink import MqttCommandHandler, MqttSink

__all__ = ["MqttCommandHandler", "MqttSink"]
