"""One connection to a broker: password and certificates, opening, and closing with nothing left of it."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import re
import socket
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import aiomqtt
from aiomqtt.exceptions import MqttConnectError
from paho.mqtt.client import Client, DisconnectFlags
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from monitor.config import MqttSettings
from monitor.system.files import GROUP_OTHER_ACCESS, UnsafeFileError, is_systemd_credential, open_guarded

_MAX_PASSWORD = 4096
_OTHER_ACCESS = GROUP_OTHER_ACCESS & 0o007


class CredentialError(ValueError):
    """A password, key or certificate cannot be used; the text is one line and says what to do."""


def password(settings: MqttSettings, environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the password, None where no user is named.

    Raises
    ------
    CredentialError : there is none, or its file is open to others.
    """
    if not settings.username:
        return None
    if settings.password_file:
        with _open_secret(Path(settings.password_file)) as file:
            text = _password_text(file.read(_MAX_PASSWORD + 1))
        if not text:
            raise CredentialError(f"{settings.password_file}: should be one line with the password")
        return text
    found = environment.get(settings.password_variable, "") if settings.password_variable else ""
    if not found and not settings.certificate:
        raise CredentialError(
            f"no password for {settings.username!r}: give password_file, or set {settings.password_variable}"
        )
    text = _password_text(found)
    if found and not text:
        raise CredentialError(f"{settings.password_variable}: should be one line with the password")
    return text or None


def tls_context(settings: MqttSettings) -> ssl.SSLContext | None:
    """Return how the connection is encrypted, None where it is not; certificates and host names are always checked.

    Raises
    ------
    CredentialError : a file is missing, no certificate or key, or a key that is open to others.
    """
    if not settings.encrypted:
        return None
    try:
        context = ssl.create_default_context(cafile=settings.ca or None)
    except (OSError, ValueError) as problem:
        raise CredentialError(f"{settings.ca}: no certificates to trust in it ({_reason(problem)})") from problem
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if settings.certificate:
        with _open_secret(Path(settings.key)) as key:
            try:
                # without a word here it would be asked for at the terminal
                context.load_cert_chain(settings.certificate, _descriptor_path(key, settings.key), password=b"")
            except (OSError, ValueError) as problem:
                raise CredentialError(
                    f"{settings.certificate} and {settings.key}: no certificate with its key, not encrypted, in PEM "
                    f"({_reason(problem)})"
                ) from problem
    return context


def _password_text(found: bytes | str) -> str:
    """Return the password in a line; empty where it is none, by the same rule wherever it comes from."""
    try:
        text = (found if isinstance(found, str) else found.decode()).rstrip("\r\n")
    except UnicodeDecodeError:
        return ""
    return text if text.isprintable() and len(found) <= _MAX_PASSWORD else ""


def _open_secret(path: Path) -> BinaryIO:
    """Open a file that nobody but its owner can read, or the group where systemd has put it there."""
    try:
        return open_guarded(path, _OTHER_ACCESS if is_systemd_credential(path) else GROUP_OTHER_ACCESS)
    except UnsafeFileError as problem:
        raise CredentialError(str(problem)) from problem


def _descriptor_path(file: BinaryIO, path: str) -> str:
    """Return a name by which the open file itself is read again, whatever has become of its own; if there is one."""
    itself = Path(f"/dev/fd/{file.fileno()}")
    return str(itself) if itself.exists() else path


def _reason(problem: Exception) -> str:
    return (getattr(problem, "reason", None) or getattr(problem, "strerror", None) or str(problem)).lower()


KEEPALIVE = 10
"""s of silence after which either side asks; a broker that hangs is noticed within twice that."""

ANSWER_TIMEOUT = 5.0
"""s for every answer of the broker."""

_QUEUE = 64
_BAD_USER, _NOT_AUTHORIZED = 134, 135

_NUMBERED = re.compile(r"\[(?:Errno|WinError) (-?\d+)\] *")
_NO_ANSWER = "it does not answer"
_REASONS = {
    errno.ETIMEDOUT: _NO_ANSWER,
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
            timeout=ANSWER_TIMEOUT,
            max_queued_incoming_messages=_QUEUE,
            logger=_logger,
        )

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
            raise _connection_error(str(problem)) from None

    async def leave(self) -> None:
        """End it so that the broker does not tell the will."""
        with contextlib.suppress(aiomqtt.MqttError):
            await self.__aexit__(None, None, None)
        self.abandon()

    def abandon(self) -> None:
        """Close the socket, whatever state it is in; the broker then publishes the will."""
        # after a timeout aiomqtt would leave it open; paho closes it when it reads the end
        open_socket = self._client.socket()
        if isinstance(open_socket, socket.socket):
            with contextlib.suppress(OSError):
                open_socket.shutdown(socket.SHUT_RDWR)
            with contextlib.suppress(Exception):
                while self._client.socket() is not None:
                    self._client.loop_read()
            open_socket.close()
        for end in (self._connected, self._disconnected):
            if end.done() and not end.cancelled():
                # looked at, or asyncio would complain of it
                end.exception()

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


def port_of(settings: MqttSettings) -> int:
    """Return the port that is meant."""
    return settings.port or (8883 if settings.encrypted else 1883)


def url_of(settings: MqttSettings) -> str:
    """Return how the broker is called."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"mqtt{'s' if settings.encrypted else ''}://{host}:{port_of(settings)}"


def _connection_error(text: str) -> NoConnectionError:
    if "CERTIFICATE_VERIFY_FAILED" in text:
        # [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: WHY (_ssl.c:1006)
        why = text.partition("failed: ")[2].rpartition(" (")[0] or "not trusted"
        return NoConnectionError(f"its certificate is refused: {why}", refused=True)
    if "ALERT" in text:
        return NoConnectionError(f"it refuses the encrypted connection, or our certificate: {text}", refused=True)
    if text in ("Operation timed out", "timed out"):
        return NoConnectionError(_NO_ANSWER)
    found = _NUMBERED.match(text)
    return NoConnectionError(_REASONS.get(int(found[1]), text[found.end() :]) if found else text)
