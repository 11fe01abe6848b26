"""One connection to a broker: opening, closing, and what it refuses."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import re
import secrets
import socket
import ssl
from collections.abc import Callable
from typing import Any

import aiomqtt
from aiomqtt.exceptions import MqttConnectError
from paho.mqtt.reasoncodes import ReasonCode

from monitor.config import MqttSettings
from monitor.transport.mqtt.outbox import NATS_FORBIDDEN

KEEPALIVE = 10
"""s of silence after which a ping is sent; a broker that hangs is detected within twice that."""

ANSWER_TIMEOUT = 5.0
"""s, for each answer of the broker."""

MAX_PACKET = 4 << 20
"""Bytes of a packet from the broker; a command that is far too long, but not beyond this, is answered."""

_QUEUE = 64
_REFUSAL_TIME = 0.1  # s from the end of a connection until a refusal read before it has been processed
_BAD_USER, _NOT_AUTHORIZED = 134, 135

_NUMBERED = re.compile(r"\[(?:Errno|WinError) (-?\d+)\] *")
_NO_ANSWER = "no answer from the broker"
_TIMEOUTS = ("Operation timed out", "timed out")
_REASONS = {
    errno.ETIMEDOUT: _NO_ANSWER,
    errno.ECONNREFUSED: "connection refused: is the broker running, and on this port?",
    errno.ECONNRESET: "connection reset by broker",
    errno.EHOSTUNREACH: "host unreachable: is its machine on, and the address right?",
    errno.ENETUNREACH: "network unreachable: is this machine in the network?",
    socket.EAI_NONAME: "host name not found",
    socket.EAI_AGAIN: "host name cannot be resolved: is this machine in the network?",
}

_logger = logging.getLogger("synchroscope.mqtt")
# errors are reported as notes; this log is for debugging
_logger.addHandler(logging.NullHandler())


class NoConnectionError(Exception):
    """No connection; the text says why, `refused` whether the broker or its certificate is the reason."""

    def __init__(self, reason: str, *, refused: bool = False) -> None:
        super().__init__(reason)
        self.refused = refused


class MqttConnection(aiomqtt.Client):
    """A connection with a clean session: messages are queued here, not by the broker.

    Parameters
    ----------
    settings : of the broker.
    identifier : the same for every connection of the service, so that the broker ends a former one that hangs.
    password, context : from `password` and `tls_context` of the credentials.
    will : published by the broker when the connection is lost.
    version : of the protocol; every broker has 3.1.1, but only with 5 does it report messages that it refuses.
    """

    def __init__(
        self,
        settings: MqttSettings,
        identifier: str,
        password: str | None,
        context: ssl.SSLContext | None,
        will: aiomqtt.Will | None,
        version: aiomqtt.ProtocolVersion = aiomqtt.ProtocolVersion.V311,
    ) -> None:
        super().__init__(
            settings.host,
            port_of(settings),
            username=settings.username or None,
            password=password,
            identifier=identifier,
            tls_context=context,
            will=will,
            protocol=version,
            clean_session=True if version is aiomqtt.ProtocolVersion.V311 else None,
            keepalive=KEEPALIVE,
            timeout=ANSWER_TIMEOUT,
            max_queued_incoming_messages=_QUEUE,
            logger=_logger,
        )
        # the one private name of aiomqtt used here: it cannot close a socket, nor stop waiting for a closed one
        self._paho = self._client
        self.violation = ""
        """Why the connection was ended here; empty: it was not."""
        self._limit_packets(self._paho)
        self._opening: asyncio.Timeout | None = None
        loop, forward = asyncio.get_running_loop(), self._paho.on_disconnect

        def on_disconnect(*arguments: Any) -> None:
            loop.call_soon_threadsafe(self._stop_opening)
            if forward is not None:
                forward(*arguments)

        self._paho.on_disconnect = on_disconnect
        self.refusal = ""
        """Why the broker has refused a message; with MQTT 5 only."""
        confirm: Any = self._paho.on_publish

        def on_publish(client: Any, data: Any, number: int, code: Any, properties: Any) -> None:
            if isinstance(code, ReasonCode) and code.is_failure:
                self.refusal = str(code).lower()
            confirm(client, data, number, code, properties)

        self._paho.on_publish = on_publish

    def _limit_packets(self, paho: Any) -> None:
        """End the connection before a packet above the limit is read: paho allocates what its header claims."""
        receive: Callable[[int], bytes] = paho._sock_recv

        def limited(size: int) -> bytes:
            if size > MAX_PACKET:
                self.violation = f"the broker sent a packet of {size:,} bytes, the limit is {MAX_PACKET:,}"
                raise ConnectionAbortedError(self.violation)
            return receive(size)

        paho._sock_recv = limited

    async def open(self) -> None:
        """Connect; raises `NoConnectionError`."""
        try:
            async with asyncio.timeout(None) as self._opening:
                await self.__aenter__()
        except TimeoutError:
            self.abort()
            raise NoConnectionError(self.violation or "connection closed by broker before it answered") from None
        except MqttConnectError as problem:
            self.abort()
            code = problem.rc.value if isinstance(problem.rc, ReasonCode) else problem.rc
            if code in (_BAD_USER, _NOT_AUTHORIZED):
                raise NoConnectionError("user or password refused", refused=True) from None
            raise NoConnectionError(f"connection refused by the broker ({problem.rc})", refused=True) from None
        except (aiomqtt.MqttError, OSError, ValueError) as problem:
            self.abort()
            raise connection_error(str(problem)) from None
        except asyncio.CancelledError:
            self.abort()
            raise
        finally:
            self._opening = None

    def _stop_opening(self) -> None:
        opening, self._opening = self._opening, None
        if opening is not None:
            opening.reschedule(asyncio.get_running_loop().time() + _REFUSAL_TIME)

    async def disconnect(self) -> None:
        """Disconnect, so that the broker does not publish the will."""
        if self.refusal:
            # the broker may close the connection too: this reads its end, or asyncio would log the error
            with contextlib.suppress(aiomqtt.MqttError, TimeoutError):
                async with asyncio.timeout(_REFUSAL_TIME):
                    await anext(self.messages)
        with contextlib.suppress(aiomqtt.MqttError):
            await self.__aexit__(None, None, None)
        self.abort()

    def abort(self) -> None:
        """Close the socket, whatever state it is in; the broker then publishes the will."""
        # aiomqtt itself leaves it open after a timeout, until the keepalive interval has passed
        # without this asyncio would log its error, which is not awaited any more
        self._paho.on_disconnect = None
        open_socket = self._paho.socket()
        if isinstance(open_socket, socket.socket):
            with contextlib.suppress(OSError):
                open_socket.shutdown(socket.SHUT_RDWR)
            with contextlib.suppress(Exception):
                # paho closes it when it reads the end
                while self._paho.socket() is not None:
                    self._paho.loop_read()
            open_socket.close()


CLOSED = "it closes the connection"
"""The refusal of a broker that gives no reason."""


async def write_refusal(
    settings: MqttSettings, password: str | None, context: ssl.SSLContext | None, topic: str
) -> str | None:
    """Return why the broker refuses messages to `topic`, empty if it does not; None if that is unknown.

    An empty message is sent over a connection of its own: Mosquitto 2.0.11 closes it when a message is denied. Over
    MQTT 3.1.1 other brokers acknowledge such a message and drop it. A connection that is closed without a reason is
    tried again: a cluster that is electing a leader closes connections, too.
    """
    closed = False
    for version in (aiomqtt.ProtocolVersion.V5, aiomqtt.ProtocolVersion.V311, aiomqtt.ProtocolVersion.V311):
        connection = MqttConnection(
            settings, f"synchroscope-check-{secrets.token_hex(4)}", password, context, None, version
        )
        try:
            await connection.open()
        except NoConnectionError:
            continue
        try:
            await _publish_empty(connection, topic)
            refusal = connection.refusal
        except aiomqtt.MqttError as problem:
            if str(problem) in _TIMEOUTS:
                return None
            if not connection.refusal and not closed:
                closed = True
                continue
            refusal = connection.refusal or CLOSED
        except (OSError, ValueError, RuntimeError):
            return None
        finally:
            await connection.disconnect()
        return refusal
    return None


def advice(topic: str, refusal: str) -> str:
    """Return what to do about the refusal of messages to a topic."""
    if refusal == CLOSED and set(NATS_FORBIDDEN) & set(topic):
        return "if it is NATS, set plain_topics"
    return "its access list must let this user write them"


async def _publish_empty(connection: MqttConnection, topic: str) -> None:
    """Publish an empty message; raises ``MqttError`` at once where the broker closes the connection."""
    publishing = asyncio.ensure_future(connection.publish(topic, b"", qos=1))
    end = asyncio.ensure_future(anext(connection.messages))
    try:
        await asyncio.wait({publishing, end}, return_when=asyncio.FIRST_COMPLETED)
        await (publishing if publishing.done() else end)
    finally:
        for task in (publishing, end):
            task.cancel()
        await asyncio.gather(publishing, end, return_exceptions=True)


def port_of(settings: MqttSettings) -> int:
    """Return the port, or the default one."""
    return settings.port or (8883 if settings.encrypted else 1883)


def url_of(settings: MqttSettings) -> str:
    """Return the URL of the broker."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"mqtt{'s' if settings.encrypted else ''}://{host}:{port_of(settings)}"


def connection_error(text: str) -> NoConnectionError:
    """Return the error in words, from the text of one of aiomqtt."""
    if "CERTIFICATE_VERIFY_FAILED" in text:
        # [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: WHY (_ssl.c:1006)
        why = text.partition("failed: ")[2].rpartition(" (")[0] or "not trusted"
        return NoConnectionError(f"certificate of the broker rejected: {why}", refused=True)
    if "ALERT" in text:
        return NoConnectionError(f"TLS connection, or our certificate, refused by the broker: {text}", refused=True)
    if text in _TIMEOUTS:
        return NoConnectionError(_NO_ANSWER)
    found = _NUMBERED.match(text)
    return NoConnectionError(_REASONS.get(int(found[1]), text[found.end() :]) if found else text)
