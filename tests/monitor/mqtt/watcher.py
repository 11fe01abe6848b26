"""A client of a broker that keeps everything it hears."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass
from time import sleep
from typing import Any

from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

from tests.waiting import until

TIMEOUT = 30.0


@dataclass(frozen=True)
class Heard:
    topic: str
    payload: bytes
    retained: bool

    @property
    def json(self) -> Any:
        return json.loads(self.payload)


class Watcher:
    """Subscribed with QoS 1, again after every reconnection."""

    def __init__(
        self,
        port: int,
        *topics: str,
        user: tuple[str, str] | None = None,
        tls: ssl.SSLContext | None = None,
        lasting: str = "",
    ) -> None:
        self.heard: list[Heard] = []
        self.subscribed = threading.Semaphore(0)
        self._topics = topics or ("#",)
        self._client = Client(CallbackAPIVersion.VERSION2, client_id=lasting or None, clean_session=not lasting)
        if user is not None:
            self._client.username_pw_set(*user)
        if tls is not None:
            self._client.tls_set_context(tls)
        # annotated as int, used as float
        self._client.reconnect_delay_set(0.05, 0.1)  # type: ignore[arg-type]
        self._client.on_connect = lambda *_: self._subscribe()
        self._client.on_subscribe = lambda *_: self.subscribed.release()
        self._client.on_message = lambda _client, _data, m: self.heard.append(Heard(m.topic, m.payload, m.retain))
        self._client.connect("127.0.0.1", port, keepalive=5)
        self._client.loop_start()
        self.wait()

    def wait(self) -> None:
        """Wait for a subscription that has not been waited for yet."""
        assert self.subscribed.acquire(timeout=TIMEOUT)

    def _subscribe(self) -> None:
        self._client.subscribe([(topic, 1) for topic in self._topics])

    def subscribe(self) -> None:
        """Subscribe again, and wait."""
        self._subscribe()
        self.wait()
        sleep(0.5)

    def send(self, topic: str, payload: bytes, retain: bool = False) -> None:
        self._client.publish(topic, payload, qos=1, retain=retain).wait_for_publish(TIMEOUT)

    def settle(self) -> None:
        """Wait until the broker has our word for everything heard so far: else it would tell it again."""
        before = len(self.on("/marker"))
        self.send("synchroscope/marker", b"{}")
        until(lambda: len(self.on("/marker")) > before)
        # what was acknowledged before this is acknowledged now
        self.send("synchroscope/marker", b"{}")

    def on(self, ending: str) -> list[Heard]:
        """Return what came under topics with this ending, in order."""
        return [one for one in tuple(self.heard) if one.topic.endswith(ending)]

    def until(self, ending: str, wanted: Callable[[Any], bool] = lambda _: True) -> Any:
        """Wait for a message under such a topic whose JSON is as wanted; return the newest of them."""

        def look() -> list[Any]:
            return [[one.json] for one in self.on(ending) if one.payload and wanted(one.json)]

        return until(look)[-1][0]

    def transitions(self) -> list[dict[str, Any]]:
        """Return the transitions of alarms as they came, without what was told again."""
        alarms = [
            one.json for one in tuple(self.heard) if "/alarm/" in one.topic and one.payload and not one.retained
        ]
        return [alarm["transition"] for alarm in alarms if not alarm["refresh"]]

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()
        # paho wakes its thread through a pair of sockets, and closes them when it is collected
        del self._client
