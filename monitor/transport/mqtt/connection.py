"""One connection to a broker, from its making to its end, and nothing left of it afterwards."""

from __future__ import annotations

import contextlib
import logging
import ssl
from collections.abc import Callable
from typing import Any

import aiomqtt
from aiomqtt.exceptions import MqttConnectError
from paho.mqtt.client import Client, DisconnectFlags
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from monitor.config import MqttSettings
from monitor.requests import MAX_REQUEST

KEEPALIVE = 10
"""s of silence after which either side asks; a broker that hangs is noticed within twice that."""

PATIENCE = 5.0
"""s for every answer of the broker."""

_QUEUE = 64
_MOST = 2 * MAX_REQUEST
_BAD_USER, _NOT_AUTHORIZED = 134, 135

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
        self.oversized = 0
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
            self._connected.set_exception(aiomqtt.MqttError("it hangs up before it has answered"))
        else:
            super()._on_disconnect(client, userdata, flags, reason_code, properties)

    def _bounded(self, receive: Callable[[int], bytes]) -> Callable[[int], bytes]:
        def take(size: int) -> bytes:
            if size > _MOST:
                self.oversized = size
                raise OSError(f"a message of {size} bytes; the limit is {_MOST}")
            return receive(size)

        return take


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
    return NoConnectionError(
        {"Operation timed out": "it does not answer", "timed out": "it does not answer"}.get(text, text)
    )
