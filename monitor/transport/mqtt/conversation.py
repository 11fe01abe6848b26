"""What is said and heard on a connection for as long as it lasts."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import replace
from time import monotonic

import aiomqtt

from monitor.config import MqttSettings
from monitor.messages.blocks import ResultBlock
from monitor.transport.mqtt import discovery
from monitor.transport.mqtt.connection import Connection
from monitor.transport.mqtt.outbox import Message, Outbox
from monitor.transport.mqtt.pace import Pace
from monitor.transport.mqtt.topics import ALARMS, COMMAND, META, STATUS, Place

LOOK = 0.05
"""s between two looks at what there is to do."""

GOODBYE = 1.0
"""s more than was given for what waits, after which the connection ends whatever the broker does."""

_WATCH = 0.25
_TIDYING = 1.0

Rows = Callable[[ResultBlock], tuple[tuple[str, bytes], ...]]


class Conversation:
    """Publish what the outbox holds, and hear what the broker has for us, on one connection after another.

    Parameters
    ----------
    settings : the broker.
    outbox : what waits for it.
    place : asked where things stand now.
    rows : block of results -> topics and payloads of its last row.
    command : takes payload and whether it was retained, of what comes on the command topic.
    say : takes a line about the connection.
    """

    def __init__(
        self,
        settings: MqttSettings,
        outbox: Outbox,
        place: Callable[[], Place],
        rows: Rows,
        command: Callable[[bytes, bool], None],
        say: Callable[[str], None],
    ) -> None:
        self._settings, self._outbox, self._place, self._rows = settings, outbox, place, rows
        self._command, self._say = command, say
        self._stop = threading.Event()
        self._deadline = float("inf")
        self._was: Place | None = None
        self._listens, self._tidies = settings.commands, True

    @property
    def over(self) -> bool:
        """Whether it is to end."""
        return self._stop.is_set()

    def end(self, linger: float) -> None:
        """Let it end; what waits may still go for `linger` s. From any thread."""
        self._deadline = min(self._deadline, monotonic() + linger)
        self._stop.set()

    def leave_out(self, topic: str) -> None:
        """Never again ask for what came under `topic`."""
        if topic == self._place().topic(COMMAND):
            self._listens = False
        else:
            self._tidies = False

    async def hold(self, connection: Connection, place: Place) -> None:
        """Go on until it is to end or the rig is another one; raises ``MqttError`` when the connection is lost."""
        try:
            async with asyncio.TaskGroup() as group:
                beside = (self._listen(connection, place), self._tell_rows(connection, place), self._watch())
                tasks = [group.create_task(work) for work in (*beside, self._tidy(connection, place))]
                await self._tell(connection, place)
                for task in tasks:
                    task.cancel()
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from None

    async def _tell(self, connection: Connection, place: Place) -> None:
        # whoever sees that we are online is heard
        await self._subscribe(connection, place)
        self._outbox.renew()
        if self._was is not None and self._was != place:
            await self._clear(connection, self._was)
        self._was = place
        while not self.over:
            if self._place() != place:
                await self._clear(connection, place)
                self._was = None
                return
            if not await self._tell_next(connection, place):
                await asyncio.sleep(LOOK)
        while monotonic() < self._deadline and await self._tell_next(connection, place):
            pass
        # the last word goes even if others had no time
        for message in self._outbox.standing():
            if message.topic == STATUS:
                await self._publish(connection, place, message)

    async def _clear(self, connection: Connection, former: Place) -> None:
        """Take away what the broker keeps under a name that is ours no longer."""
        for message in self._outbox.standing():
            if not message.absolute:
                await self._publish(connection, former, replace(message, payload=b"", retain=True))

    async def _watch(self) -> None:
        while monotonic() < self._deadline + GOODBYE:
            await asyncio.sleep(_WATCH)
        raise aiomqtt.MqttError("it does not answer")

    async def _tell_next(self, connection: Connection, place: Place) -> bool:
        message = self._outbox.next()
        if message is None:
            return False
        await self._publish(connection, place, message)
        self._outbox.done(message)
        return True

    async def _publish(self, connection: Connection, place: Place, message: Message) -> None:
        topic = message.topic if message.absolute else place.topic(message.topic)
        await connection.publish(topic, message.payload, qos=1, retain=message.retain)

    async def _tell_rows(self, connection: Connection, place: Place) -> None:
        pace = Pace(1.0 / self._settings.rate)
        while True:
            block = self._outbox.take_row() if self._place() == place else None
            for topic, payload in self._rows(block) if block is not None else ():
                await connection.publish(place.topic(topic), payload, qos=0)
            await asyncio.sleep(pace.left())

    async def _subscribe(self, connection: Connection, place: Place) -> None:
        if self._listens:
            granted = await connection.subscribe(place.topic(COMMAND), qos=1)
            if any(getattr(code, "is_failure", False) for code in granted):
                self._say(f"it does not let us read {place.topic(COMMAND)}")

    async def _listen(self, connection: Connection, place: Place) -> None:
        # without commands too: it is here that a connection that is lost is noticed
        command, prefix = place.topic(COMMAND), place.topic("")
        alarms, shown = self._kept(place)
        async for message in connection.messages:
            topic = str(message.topic)
            if topic == command and self._listens:
                self._command(message.payload, bool(message.retain))
            elif message.retain and message.payload and message.topic.matches(alarms):
                self._outbox.disown(topic.removeprefix(prefix))
            elif message.retain and message.payload and message.topic.matches(shown):
                self._outbox.disown(topic, absolute=True)

    def _kept(self, place: Place) -> tuple[str, str]:
        """Return the filters of alarms and of what Home Assistant is told."""
        return place.topic(ALARMS), discovery.topics(self._settings.discovery_prefix, place)

    async def _tidy(self, connection: Connection, place: Place) -> None:
        """Take away what the broker still keeps from other settings, once it is known what there is."""
        while not self._outbox.stands(META):
            await asyncio.sleep(LOOK)
        # the alarms of a stream are told a little after its columns
        await asyncio.sleep(_TIDYING)
        if not self._tidies:
            return
        kept = self._kept(place)[: 1 + self._settings.discovery]
        await connection.subscribe([(topic, 0) for topic in kept])
        await asyncio.sleep(_TIDYING)
        await connection.unsubscribe(list(kept))
