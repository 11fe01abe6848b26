"""MQTT client: a thread that connects to the broker, publishes the outbox, and reconnects."""

from __future__ import annotations

import asyncio
import logging
import secrets
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from time import monotonic

import aiomqtt

from monitor.config import MqttSettings
from monitor.messages.blocks import ResultBlock
from monitor.messages.requests import MAX_REQUEST
from monitor.transport.mqtt import discovery, payloads
from monitor.transport.mqtt.connection import (
    MqttConnection,
    NoConnectionError,
    advice,
    connection_error,
    url_of,
    write_refusal,
)
from monitor.transport.mqtt.credentials import CredentialError, password, tls_context
from monitor.transport.mqtt.outbox import (
    ALARMS,
    CHECK,
    COMMAND,
    META,
    NATS_FORBIDDEN,
    STATUS,
    DiscoveryState,
    Message,
    Outbox,
    RigTopics,
)
from monitor.transport.rate_limit import Backoff, FixedInterval

POLL_INTERVAL = 0.05
"""s between two polls of the outbox."""

DISCONNECT_TIMEOUT = 1.0
"""s after the linger time, after which the connection is closed whatever the broker does."""

_DEADLINE_CHECK = 0.25
_CLEANUP_DELAY = 1.0
_SUBSCRIBE_INTERVAL = 10.0  # s, after which a refused subscription is tried again
_CHECK_INTERVAL = 60.0  # s, after which denied topics are tried again
_MAX_PAYLOAD = 2 * MAX_REQUEST  # bytes; a longer one is truncated, and still too long for a request

WriteCheck = Callable[[str], Awaitable[str | None]]
RowEncoder = Callable[[ResultBlock], tuple[tuple[str, bytes], ...]]


class ConnectionTasks:
    """The tasks on an open connection: publish the outbox and the newest rows, receive commands.

    Parameters
    ----------
    settings : of the broker.
    outbox : messages to publish.
    topics : returns the current topics of the rig.
    rows : returns topics and payloads of the last row of a block of results.
    command : called with payload and retain flag of each message on the command topic.
    note : called with a line about the connection.
    """

    def __init__(
        self,
        settings: MqttSettings,
        outbox: Outbox,
        topics: Callable[[], RigTopics],
        rows: RowEncoder,
        command: Callable[[bytes, bool], None],
        note: Callable[[str], None],
    ) -> None:
        self.settings, self.outbox, self.topics, self._rows = settings, outbox, topics, rows
        self._command, self._note, self._name = command, note, url_of(settings)
        self._stopping = threading.Event()
        self._deadline = float("inf")
        self._last_topics: RigTopics | None = None
        self.unconfirmed = ""
        """Topic of the message that is being published, which the broker has not acknowledged."""
        self._refused = False  # the subscription to commands
        self._reported: set[str] = set()

    def note(self, text: str) -> None:
        """Tell a line about the broker."""
        self._note(f"broker {self._name}: {text}")

    @property
    def stopping(self) -> bool:
        """`stop` was called."""
        return self._stopping.is_set()

    def stop(self, linger: float) -> None:
        """Stop; the outbox is published for `linger` s more. From any thread."""
        self._deadline = min(self._deadline, monotonic() + linger)
        self._stopping.set()

    async def run(self, connection: MqttConnection, topics: RigTopics, check: WriteCheck) -> None:
        """Run until `stop` or until the rig changes; raises ``MqttError`` when the connection is lost.

        `check` returns why the broker refuses messages to a topic.
        """
        self.unconfirmed = ""
        if self.settings.discovery:
            self.outbox.discovery = DiscoveryState.UNKNOWN
        self._refused = False
        try:
            async with asyncio.TaskGroup() as group:
                background = (
                    self._subscribe_later(connection, topics),
                    self._listen(connection, topics),
                    self._publish_rows(connection, topics),
                    self._enforce_deadline(),
                    self._check_topics(topics, check),
                )
                tasks = [group.create_task(work) for work in (*background, self._clear_foreign(connection, topics))]
                await self._publish_all(connection, topics)
                for task in tasks:
                    task.cancel()
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from None

    async def _publish_all(self, connection: MqttConnection, topics: RigTopics) -> None:
        # before the status says online, so that no command is missed
        await self._subscribe(connection, topics)
        self.outbox.republish_retained()
        if self._last_topics is not None and self._last_topics != topics:
            await self._clear(connection, self._last_topics)
        self._last_topics = topics
        while not self.stopping:
            if self.topics() != topics:
                await self._clear(connection, topics)
                self._last_topics = None
                return
            if not await self._publish_next(connection, topics):
                await asyncio.sleep(POLL_INTERVAL)
        while monotonic() < self._deadline and await self._publish_next(connection, topics):
            pass
        # the final status is published even if there was no time for the rest
        for message in self.outbox.retained():
            if message.topic == STATUS:
                await self._publish(connection, topics, message)

    async def _clear(self, connection: MqttConnection, former: RigTopics) -> None:
        """Clear our retained messages under the former topics."""
        for message in self.outbox.retained():
            if not message.absolute:
                await self._publish(connection, former, replace(message, payload=b"", retain=True))

    async def _enforce_deadline(self) -> None:
        while monotonic() < self._deadline + DISCONNECT_TIMEOUT:
            await asyncio.sleep(_DEADLINE_CHECK)
        raise aiomqtt.MqttError("no answer from the broker")

    async def _publish_next(self, connection: MqttConnection, topics: RigTopics) -> bool:
        message = self.outbox.next()
        if message is None:
            return False
        await self._publish(connection, topics, message)
        self.outbox.confirm(message)
        return True

    async def _publish(self, connection: MqttConnection, topics: RigTopics, message: Message) -> None:
        self.unconfirmed = topic = message.topic if message.absolute else topics.topic(message.topic)
        await connection.publish(topic, message.payload, qos=1, retain=message.retain)
        self.unconfirmed = ""

    async def _publish_rows(self, connection: MqttConnection, topics: RigTopics) -> None:
        interval = FixedInterval(1.0 / self.settings.rate)
        while True:
            block = self.outbox.pop_row() if self.topics() == topics else None
            for topic, payload in self._rows(block) if block is not None else ():
                await connection.publish(topics.topic(topic), payload, qos=0)
            await asyncio.sleep(interval.remaining())

    async def _check_topics(self, topics: RigTopics, check: WriteCheck) -> None:
        """Report topics that the broker does not let us write; discovery is published only if it does."""
        if self.settings.username or self.settings.certificate:
            await self._is_denied(topics.topic(CHECK), check)
        while self.settings.discovery:
            denied = await self._is_denied(discovery.check_topic(self.settings.discovery_prefix, topics), check)
            self.outbox.discovery = DiscoveryState.DENIED if denied else DiscoveryState.ALLOWED
            if not denied:
                return
            await asyncio.sleep(_CHECK_INTERVAL)

    async def _is_denied(self, topic: str, check: WriteCheck) -> bool:
        refusal = await check(topic)
        if refusal and topic not in self._reported:
            self.note(f"refuses messages to {topic}: {refusal}; {advice(topic, refusal)}")
        self._reported = self._reported | {topic} if refusal else self._reported - {topic}
        return bool(refusal)

    async def _subscribe(self, connection: MqttConnection, topics: RigTopics) -> None:
        """Subscribe to commands, if they are accepted."""
        command = topics.topic(COMMAND)
        self._refused = self.settings.commands and any(
            getattr(code, "is_failure", False) for code in await connection.subscribe(command, qos=1)
        )
        if self._refused and command not in self._reported:
            self.note(f"no permission to read {command}")
        self._reported = self._reported | {command} if self._refused else self._reported - {command}

    async def _subscribe_later(self, connection: MqttConnection, topics: RigTopics) -> None:
        # permissions change, and a cluster that is electing a leader refuses subscriptions
        while True:
            await asyncio.sleep(_SUBSCRIBE_INTERVAL)
            if self._refused:
                await self._subscribe(connection, topics)

    async def _listen(self, connection: MqttConnection, topics: RigTopics) -> None:
        # without commands too: a lost connection raises here
        command, prefix = topics.topic(COMMAND), topics.topic("")
        alarms, discovered = self._filters(topics)
        async for message in connection.messages:
            topic = str(message.topic)
            if topic == command and self.settings.commands:
                self._command(message.payload[:_MAX_PAYLOAD], bool(message.retain))
            elif message.retain and message.payload and message.topic.matches(alarms):
                self.outbox.clear_retained(topic.removeprefix(prefix))
            elif message.retain and message.payload and message.topic.matches(discovered):
                self.outbox.clear_retained(topic, absolute=True)

    def _filters(self, topics: RigTopics) -> tuple[str, str]:
        """Return the topic filters of alarms and of discovery messages."""
        return topics.topic(ALARMS), discovery.topic_filter(self.settings.discovery_prefix, topics)

    async def _clear_foreign(self, connection: MqttConnection, topics: RigTopics) -> None:
        """Clear messages retained from a run with other settings, once our own messages are known."""
        while not self.outbox.is_retained(META):
            await asyncio.sleep(POLL_INTERVAL)
        # the alarms of a stream are published a little after its columns
        await asyncio.sleep(_CLEANUP_DELAY)
        filters = self._filters(topics)[: 1 + self.settings.discovery]
        await connection.subscribe([(topic, 0) for topic in filters])
        await asyncio.sleep(_CLEANUP_DELAY)
        await connection.unsubscribe(list(filters))


# aiomqtt also raises errors of sockets, of invalid messages, and of packet numbers used twice
_ERRORS = (aiomqtt.MqttError, OSError, ValueError, RuntimeError)

_logger = logging.getLogger("synchroscope.mqtt")


class MqttClient:
    """A thread that publishes the outbox while the broker is connected, and reconnects while it is not.

    MQTT ties the last will to a connection: when the rig becomes known the client disconnects, connects again with
    the will under the new topics, and clears what is retained under the former ones.

    Parameters
    ----------
    tasks : on each connection.
    backoff : waits between attempts.
    """

    def __init__(self, tasks: ConnectionTasks, backoff: Backoff | None = None) -> None:
        self._tasks, self._settings = tasks, tasks.settings
        self._backoff = backoff or Backoff()
        self._identifier = self._settings.client_id or f"synchroscope-{secrets.token_hex(4)}"
        self._last_reason: str | None = ""  # reported last; None while connected
        self._thread = threading.Thread(target=self._run, name="mqtt", daemon=True)
        self.connected = False

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self, linger: float) -> None:
        """Stop; if connected, the outbox is published for `linger` s more. A second call does nothing."""
        self._tasks.outbox.closing = True
        self._tasks.stop(linger)
        if self._thread.is_alive():
            # a name lookup cannot be interrupted: the thread is then left running
            self._thread.join(linger + 2.0 * DISCONNECT_TIMEOUT)

    def _run(self) -> None:
        # aiomqtt needs add_reader, which the default loop of Windows lacks
        with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        # callbacks of a connection that has just ended may fail; its end is reported
        asyncio.get_running_loop().set_exception_handler(lambda _, context: _logger.debug("%s", context))
        while not self._tasks.stopping:
            try:
                wait = await self._connect_once()
            except Exception as problem:
                # whatever it is, later alarms must be published
                _logger.exception("unexpected error")
                wait = self._disconnected(
                    " ".join(f"unexpected error: {type(problem).__name__}: {problem}".split()), self._backoff.wait()
                )
            next_attempt = monotonic() + wait
            while not self._tasks.stopping and (left := next_attempt - monotonic()) > 0.0:
                await asyncio.sleep(min(left, POLL_INTERVAL))

    async def _connect_once(self) -> float:
        """Connect, and run until the connection ends; return the s to wait before the next attempt."""
        topics = self._tasks.topics()
        try:
            # read at every attempt: they may have been renewed
            secret, context = password(self._settings), tls_context(self._settings)
            will = aiomqtt.Will(topics.topic(STATUS), payloads.will(), qos=1, retain=True)
            connection = MqttConnection(self._settings, self._identifier, secret, context, will)
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
            self._tasks.note("connected")
        start, reason = monotonic(), ""
        try:
            await self._tasks.run(connection, topics, partial(write_refusal, self._settings, secret, context))
            await connection.disconnect()
        except _ERRORS as problem:
            reason = connection.violation or self._end_of_connection(problem)
        finally:
            self.connected = False
            connection.abort()
            self._backoff.disconnected(monotonic() - start)
        return self._disconnected(reason, self._backoff.wait()) if reason else 0.0

    def _end_of_connection(self, problem: Exception) -> str:
        reason, topic = str(problem.__cause__ or problem) or type(problem).__name__, self._tasks.unconfirmed
        if not reason.startswith("Disconnected during"):
            return str(connection_error(reason))
        if not self._settings.plain_topics and set(NATS_FORBIDDEN) & set(topic):
            return f"connection closed by broker at {topic}: if it is NATS, set plain_topics"
        return "connection closed by broker"

    def _disconnected(self, reason: str, wait: float) -> float:
        # each reason is reported once, until another follows
        if reason != self._last_reason and not self._tasks.stopping:
            self._last_reason = reason
            self._tasks.note(reason)
        return wait
