"""The subscription to commands at a broker that refuses it for a while, as a cluster does that elects a leader."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.reasoncodes import ReasonCode

from monitor.config import MqttSettings
from monitor.transport.mqtt import client
from monitor.transport.mqtt.client import ConnectionTasks
from monitor.transport.mqtt.outbox import Outbox, RigTopics


class Refusing:
    """A connection whose first subscriptions fail."""

    def __init__(self, failures: int) -> None:
        self.failures, self.subscribed = failures, 0
        self.messages = self._none()

    async def subscribe(self, topic: str, qos: int) -> list[ReasonCode]:
        self.subscribed += 1
        return [ReasonCode(PacketTypes.SUBACK, identifier=128 if self.subscribed <= self.failures else 1)]

    async def _none(self) -> AsyncIterator[object]:
        await asyncio.Event().wait()
        yield


def test_a_refused_subscription_is_tried_again_and_noted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_SUBSCRIBE_INTERVAL", 0.0)
    notes: list[str] = []
    settings, topics = MqttSettings(host="h", username="desk", commands=True), RigTopics("lab", "rig")
    tasks = ConnectionTasks(settings, Outbox(), lambda: topics, lambda _: (), lambda *_: None, notes.append)
    connection = Refusing(3)

    async def check(topic: str) -> str:
        return ""

    async def run() -> None:
        running = asyncio.create_task(tasks.run(connection, topics, check))
        while connection.subscribed < 4:
            await asyncio.sleep(0.0)
        # once it is granted there are no more
        for _ in range(100):
            await asyncio.sleep(0.0)
        tasks.stop(0.0)
        await running

    asyncio.run(run())
    assert connection.subscribed == 4
    assert notes == ["no permission to read synchroscope/v1/lab/rig/command"]
