"""One connection to a broker, from its making to its end, and nothing left of it afterwards."""

from __future__ import annotations

import contextlib
import errno
import logging
import re
import socket
import ssl
from collections.abc import Callable
from typing import Any, Self

import aiomqtt
from aiomqtt.exceptions import MqttConnectError
from paho.mqtt.client import Client, DisconnectFlags
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from monitor.config import MqttSettings
from monitor.messages.requests import MAX_REQUEST

KEEPALIVE = 10
"""s of silence after which either side asks; a broker that hangs is noticed within twice that."""

PATIENCE = 5.0
"""s for every answer of the broker."""

LONGEST = 2 * MAX_REQUEST
"""Bytes of a message that are kept; of a longer one the rest is left out: it is still too long for a request."""

_QUEUE = 64
_CHUNK = 65536
_BAD_USER, _NOT_AUTHORIZED = 134, 135
_RETAINED = 1  # bit of the first byte of a message

_NUMBERED = re.compile(r"\[(?:Errno|WinError) (-?\d+)\] *")
_SILENT = "it does not answer"
_WORDS = {
    errno.ETIMEDOUT: _SILENT,
    errno.ECONNREFUSED: "it refuses the connection: is the broker running, and on this port?",
    errno.ECONNRESET: "connection reset by broker",
    errno.EHOSTUNREACH: "no way to it: is its machine on, and the address right?",
    errno.ENETUNREACH: "no way to it: is this machine in the network?",
    socket.EAI_NONAME: "there is no machine of this name",
    socket.EAI_AGAIN: "its name cannot be looked up: is this machine in the network?",
}

_logger = logging.getLogger("synchroscope.mqtt")
# what goes wrong is told in other ways; this is for whoever asks
_logger.addHandler(logging.NullHandler())


class NoConnectionError(Exception):
    """There is no connection; the text says why, `refused` whether the broker or its certificate is the reason."""

    def __init__(self, reason: str, *, refused: bool = False) -> None:
        super().__init__(reason)
        self.refused = refused


class Connection(aiomqtt.Client):
    """A connection with a clean session: what the broker must not miss is kept here and not there.

    Parameters
    ----------
    settings : which broker.
    identifier : the same for every connection of the service, so that the broker ends a former one that hangs.
    password, context : as the broker wants them.
    will : told by the broker when the connection breaks off.
    """

    def __init__(
        self,
        settings: MqttSettings,
        identifier: str,
        password: str | None,
        context: ssl.SSLContext | None,
        will: aiomqtt.Will,
    ) -> None:
        super().__init__(
            settings.host,
            port_of(settings),
            username=settings.username or None,
            password=password,
            identifier=identifier,
            tls_context=context,
            will=will,
            clean_session=True,
            keepalive=KEEPALIVE,
            timeout=PATIENCE,
            max_queued_incoming_messages=_QUEUE,
            logger=_logger,
        )
        self._left = 0  # bytes of a message that is too long, which are still to come
        # paho would collect a message of 256 MB before anybody could look at it
        self._client._sock_recv = self._bounded(self._client._sock_recv)  # type: ignore[method-assign, assignment]

    async def open(self) -> None:
        """Connect; raises `NoConnectionError`."""
        try:
            await self.__aenter__()
        except MqttConnectError as problem:
            self.abandon()
            code = problem.rc.value if isinstance(problem.rc, ReasonCode) else problem.rc
            if code in (_BAD_USER, _NOT_AUTHORIZED):
                raise NoConnectionError("it refuses user or password", refused=True) from None
            raise NoConnectionError(f"it refuses the connection ({problem.rc})", refused=True) from None
        except (aiomqtt.MqttError, OSError, ValueError) as problem:
            self.abandon()
            raise _trouble(str(problem)) from None

    async def leave(self) -> None:
        """End it so that the broker does not tell the will."""
        with contextlib.suppress(aiomqtt.MqttError):
            await self.__aexit__(None, None, None)
        self.abandon()

    def abandon(self) -> None:
        """Close the socket, whatever state it is in; the broker then tells the will."""
        # after a timeout aiomqtt would leave it open
        self._client._sock_close()
        if self._disconnected.done() and not self._disconnected.cancelled():
            # looked at, or it would be complained of
            self._disconnected.exception()

    @property
    def choked_by(self) -> str:
        """Topic of a retained message so long that the connection ended while it came; empty: none."""
        coming = self._client._in_packet
        if not self._left or not coming["command"] & _RETAINED:
            return ""
        head = bytes(coming["packet"])
        return head[2 : 2 + int.from_bytes(head[:2])].decode(errors="replace")

    def _on_disconnect(
        self,
        client: Client,
        userdata: Any,
        flags: DisconnectFlags,
        reason_code: ReasonCode,
        properties: Properties | None = None,
    ) -> None:
        if not self._connected.done():
            # or the answer would be waited for
            self._connected.set_exception(aiomqtt.MqttError("connection closed by broker before it answered"))
        else:
            super()._on_disconnect(client, userdata, flags, reason_code, properties)

    def _bounded(self, receive: Callable[[int], bytes]) -> Callable[[int], bytes]:
        def take(size: int) -> bytes:
            self._left = size if size > LONGEST else 0
            coming = self._client._in_packet
            if self._left and not isinstance(coming["packet"], _Beginning):
                coming["packet"] = _Beginning(coming["packet"])
            return receive(min(size, _CHUNK))

        return take


class _Beginning(bytearray):
    """The first bytes of what is added to it."""

    def __iadd__(self, more: Any) -> Self:  # type: ignore[misc]
        return super().__iadd__(memoryview(more)[: max(LONGEST - len(self), 0)])


def port_of(settings: MqttSettings) -> int:
    """Return the port that is meant."""
    return settings.port or (8883 if settings.encrypted else 1883)


def url_of(settings: MqttSettings) -> str:
    """Return how the broker is called."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"mqtt{'s' if settings.encrypted else ''}://{host}:{port_of(settings)}"


def _trouble(text: str) -> NoConnectionError:
    if "CERTIFICATE_VERIFY_FAILED" in text:
        # [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: WHY (_ssl.c:1006)
        why = text.partition("failed: ")[2].rpartition(" (")[0] or "not trusted"
        return NoConnectionError(f"its certificate is refused: {why}", refused=True)
    if "ALERT" in text:
        return NoConnectionError(f"it refuses the encrypted connection, or our certificate: {text}", refused=True)
    if text in ("Operation timed out", "timed out"):
        return NoConnectionError(_SILENT)
    found = _NUMBERED.match(text)
    return NoConnectionError(_WORDS.get(int(found[1]), text[found.end() :]) if found else text)
