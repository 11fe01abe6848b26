"""MQTT client: a thread that connects to the broker, publishes the outbox, and reconnects."""

from __future__ import annotations

import asyncio
import logging
import secrets
import threading
from collections.abc import Callable
from functools import partial
from time import monotonic

import aiomqtt

from monitor.config import MqttSettings
from monitor.transport.mqtt import payloads
from monitor.transport.mqtt.connection import (
    MqttConnection,
    NoConnectionError,
    connection_error,
    url_of,
    write_refusal,
)
from monitor.transport.mqtt.connection_tasks import DISCONNECT_TIMEOUT, POLL_INTERVAL, ConnectionTasks, RowEncoder
from monitor.transport.mqtt.credentials import CredentialError, password, tls_context
from monitor.transport.mqtt.outbox import NATS_FORBIDDEN, STATUS, Outbox, RigTopics
from monitor.transport.rate_limit import Backoff

# aiomqtt also raises errors of sockets, of invalid messages, and of packet numbers used twice
_ERRORS = (aiomqtt.MqttError, OSError, ValueError, RuntimeError)

_logger = logging.getLogger("synchroscope.mqtt")


class MqttClient:
    """A thread that publishes the outbox while the broker is connected, and reconnects while it is not.

    MQTT ties the last will to a connection: when the rig becomes known the client disconnects, connects again with
    the will under the new topics, and clears what is retained under the former ones.

    Parameters
    ----------
    settings, outbox, topics, rows, command, note : as of `ConnectionTasks`.
    backoff : waits between attempts.
    """

    def __init__(
        self,
        settings: MqttSettings,
        outbox: Outbox,
        topics: Callable[[], RigTopics],
        rows: RowEncoder,
        command: Callable[[bytes, bool], None],
        note: Callable[[str], None],
        backoff: Backoff | None = None,
    ) -> None:
        self._settings, self._outbox, self._topics, self._note_callback = settings, outbox, topics, note
        self._backoff = backoff or Backoff()
        self._identifier = settings.client_id or f"synchroscope-{secrets.token_hex(4)}"
        self._name = url_of(settings)
        self._tasks = ConnectionTasks(settings, outbox, topics, rows, command, self._note)
        self._last_reason: str | None = ""  # reported last; None while connected
        self._thread = threading.Thread(target=self._run, name="mqtt", daemon=True)
        self.connected = False

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self, linger: float) -> None:
        """Stop; if connected, the outbox is published for `linger` s more. A second call does nothing."""
        self._outbox.closing = True
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
                wait = self._disconnected(f"unexpected error: {_line(problem)}", self._backoff.wait())
            next_attempt = monotonic() + wait
            while not self._tasks.stopping and (left := next_attempt - monotonic()) > 0.0:
                await asyncio.sleep(min(left, POLL_INTERVAL))

    async def _connect_once(self) -> float:
        """Connect, and run until the connection ends; return the s to wait before the next attempt."""
        topics = self._topics()
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
            self._note("connected")
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
            self._note(reason)
        return wait

    def _note(self, text: str) -> None:
        self._note_callback(f"broker {self._name}: {text}")


def _line(problem: Exception) -> str:
    return " ".join(f"{type(problem).__name__}: {problem}".split())
