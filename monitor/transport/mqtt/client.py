"""The thread that keeps a connection to the broker: connects, publishes the outbox, reconnects."""

from __future__ import annotations

import asyncio
import logging
import secrets
import threading
from collections.abc import Callable
from dataclasses import replace
from time import monotonic

import aiomqtt

from monitor.config import MqttSettings
from monitor.messages.blocks import ResultBlock
from monitor.messages.requests import MAX_REQUEST
from monitor.transport.mqtt import discovery, payloads
from monitor.transport.mqtt.connection import (
    Connection,
    CredentialError,
    NoConnectionError,
    password,
    tls_context,
    url_of,
)
from monitor.transport.mqtt.outbox import ALARMS, COMMAND, META, STATUS, Message, Outbox, Place
from monitor.transport.rate_limit import Backoff, FixedInterval

POLL_INTERVAL = 0.05
"""s between two looks at what there is to do."""

DISCONNECT_TIMEOUT = 1.0
"""s more than was given for what waits, after which the connection ends whatever the broker does."""

_DEADLINE_CHECK = 0.25
_CLEANUP_DELAY = 1.0
_MAX_PAYLOAD = 2 * MAX_REQUEST  # bytes kept: still too long for a request

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
        self._last_place: Place | None = None

    @property
    def over(self) -> bool:
        """Whether it is to end."""
        return self._stop.is_set()

    def end(self, linger: float) -> None:
        """Let it end; what waits may still go for `linger` s. From any thread."""
        self._deadline = min(self._deadline, monotonic() + linger)
        self._stop.set()

    async def hold(self, connection: Connection, place: Place) -> None:
        """Go on until it is to end or the rig is another one; raises ``MqttError`` when the connection is lost."""
        try:
            async with asyncio.TaskGroup() as group:
                beside = (
                    self._listen(connection, place),
                    self._publish_rows(connection, place),
                    self._enforce_deadline(),
                )
                tasks = [group.create_task(work) for work in (*beside, self._clear_foreign(connection, place))]
                await self._publish_all(connection, place)
                for task in tasks:
                    task.cancel()
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from None

    async def _publish_all(self, connection: Connection, place: Place) -> None:
        # whoever sees that we are online is heard
        await self._subscribe(connection, place)
        self._outbox.republish_retained()
        if self._last_place is not None and self._last_place != place:
            await self._clear(connection, self._last_place)
        self._last_place = place
        while not self.over:
            if self._place() != place:
                await self._clear(connection, place)
                self._last_place = None
                return
            if not await self._publish_next(connection, place):
                await asyncio.sleep(POLL_INTERVAL)
        while monotonic() < self._deadline and await self._publish_next(connection, place):
            pass
        # the last word goes even if others had no time
        for message in self._outbox.retained():
            if message.topic == STATUS:
                await self._publish(connection, place, message)

    async def _clear(self, connection: Connection, former: Place) -> None:
        """Take away what the broker keeps under a name that is ours no longer."""
        for message in self._outbox.retained():
            if not message.absolute:
                await self._publish(connection, former, replace(message, payload=b"", retain=True))

    async def _enforce_deadline(self) -> None:
        while monotonic() < self._deadline + DISCONNECT_TIMEOUT:
            await asyncio.sleep(_DEADLINE_CHECK)
        raise aiomqtt.MqttError("it does not answer")

    async def _publish_next(self, connection: Connection, place: Place) -> bool:
        message = self._outbox.next()
        if message is None:
            return False
        await self._publish(connection, place, message)
        self._outbox.done(message)
        return True

    async def _publish(self, connection: Connection, place: Place, message: Message) -> None:
        topic = message.topic if message.absolute else place.topic(message.topic)
        await connection.publish(topic, message.payload, qos=1, retain=message.retain)

    async def _publish_rows(self, connection: Connection, place: Place) -> None:
        interval = FixedInterval(1.0 / self._settings.rate)
        while True:
            block = self._outbox.take_row() if self._place() == place else None
            for topic, payload in self._rows(block) if block is not None else ():
                await connection.publish(place.topic(topic), payload, qos=0)
            await asyncio.sleep(interval.remaining())

    async def _subscribe(self, connection: Connection, place: Place) -> None:
        if self._settings.commands:
            granted = await connection.subscribe(place.topic(COMMAND), qos=1)
            if any(getattr(code, "is_failure", False) for code in granted):
                self._say(f"it does not let us read {place.topic(COMMAND)}")

    async def _listen(self, connection: Connection, place: Place) -> None:
        # without commands too: it is here that a connection that is lost is noticed
        command, prefix = place.topic(COMMAND), place.topic("")
        alarms, shown = self._filters(place)
        async for message in connection.messages:
            topic = str(message.topic)
            if topic == command and self._settings.commands:
                self._command(message.payload[:_MAX_PAYLOAD], bool(message.retain))
            elif message.retain and message.payload and message.topic.matches(alarms):
                self._outbox.clear_retained(topic.removeprefix(prefix))
            elif message.retain and message.payload and message.topic.matches(shown):
                self._outbox.clear_retained(topic, absolute=True)

    def _filters(self, place: Place) -> tuple[str, str]:
        """Return the filters of alarms and of what Home Assistant is told."""
        return place.topic(ALARMS), discovery.topics(self._settings.discovery_prefix, place)

    async def _clear_foreign(self, connection: Connection, place: Place) -> None:
        """Take away what the broker still keeps from other settings, once it is known what there is."""
        while not self._outbox.is_retained(META):
            await asyncio.sleep(POLL_INTERVAL)
        # the alarms of a stream are told a little after its columns
        await asyncio.sleep(_CLEANUP_DELAY)
        kept = self._filters(place)[: 1 + self._settings.discovery]
        await connection.subscribe([(topic, 0) for topic in kept])
        await asyncio.sleep(_CLEANUP_DELAY)
        await connection.unsubscribe(list(kept))


# beside its own errors aiomqtt lets through those of sockets, of what cannot be sent, and of numbers used twice
_TROUBLE = (aiomqtt.MqttError, OSError, ValueError, RuntimeError)

_logger = logging.getLogger("synchroscope.mqtt")


class Session:
    """Publish what the outbox holds for as long as there is a broker, and try again for as long as there is none.

    The thread is started by `start`. MQTT can change the will of a connection only by another connection: when
    the rig becomes known the session leaves properly, takes away what it had the broker keep under the former name,
    and comes again.

    Parameters
    ----------
    settings, outbox, place, rows, command, say : as of a `Conversation`.
    backoff : how long to wait between attempts.
    """

    def __init__(
        self,
        settings: MqttSettings,
        outbox: Outbox,
        place: Callable[[], Place],
        rows: Rows,
        command: Callable[[bytes, bool], None],
        say: Callable[[str], None],
        backoff: Backoff | None = None,
    ) -> None:
        self._settings, self._outbox, self._place, self._note = settings, outbox, place, say
        self._backoff = backoff or Backoff()
        self._identifier = settings.client_id or f"synchroscope-{secrets.token_hex(4)}"
        self._name = url_of(settings)
        self._conversation = Conversation(settings, outbox, place, rows, command, self._say)
        self._last_reason: str | None = ""  # the trouble that was told last; None while there is none
        self._thread = threading.Thread(target=self._run, name="mqtt", daemon=True)
        self.connected = False

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self, linger: float) -> None:
        """End; what waits may still go for `linger` s where there is a connection. A second call does nothing."""
        self._outbox.closing = True
        self._conversation.end(linger)
        if self._thread.is_alive():
            # a name that is being looked up cannot be interrupted: the thread is left to itself then
            self._thread.join(linger + 2.0 * DISCONNECT_TIMEOUT)

    def _run(self) -> None:
        # aiomqtt watches sockets, which the default loop of Windows cannot
        with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        while not self._conversation.over:
            try:
                wait = await self._once()
            except Exception as problem:
                # whatever it is, the alarms that come after it are to be told
                _logger.exception("unforeseen")
                wait = self._disconnected(f"unforeseen: {_line(problem)}", self._backoff.wait())
            again = monotonic() + wait
            while not self._conversation.over and (left := again - monotonic()) > 0.0:
                await asyncio.sleep(min(left, POLL_INTERVAL))

    async def _once(self) -> float:
        """Connect and stay as long as it lasts; return the s after which to try again."""
        place = self._place()
        try:
            # read every time: they may have been renewed
            secret, context = password(self._settings), tls_context(self._settings)
            will = aiomqtt.Will(place.topic(STATUS), payloads.will(), qos=1, retain=True)
            connection = Connection(self._settings, self._identifier, secret, context, will)
            await connection.open()
        except CredentialError as problem:
            return self._disconnected(str(problem), self._backoff.long_wait())
        except NoConnectionError as problem:
            return self._disconnected(
                str(problem), self._backoff.long_wait() if problem.refused else self._backoff.wait()
            )
        self.connected = True
        if self._last_reason is not None:
            self._last_reason = None
            self._say("connected")
        began, trouble = monotonic(), ""
        try:
            await self._conversation.hold(connection, place)
            await connection.leave()
        except _TROUBLE as problem:
            trouble = str(problem.__cause__ or problem) or type(problem).__name__
        finally:
            self.connected = False
            connection.abandon()
            self._backoff.disconnected(monotonic() - began)
        return self._disconnected(trouble, self._backoff.wait()) if trouble else 0.0

    def _disconnected(self, reason: str, wait: float) -> float:
        # once, and again when the reason is another one
        if reason != self._last_reason and not self._conversation.over:
            self._last_reason = reason
            self._say(reason)
        return wait

    def _say(self, text: str) -> None:
        self._note(f"broker {self._name}: {text}")


def _line(problem: Exception) -> str:
    return " ".join(f"{type(problem).__name__}: {problem}".split())
