"""ZMTP handshakes: what a socket's monitor says of them, why one failed, and which security a server asks for."""

from __future__ import annotations

import itertools
import socket
from collections.abc import Iterator
from time import monotonic

import zmq
from zmq.utils.monitor import recv_monitor_message

from monitor.transport.zeromq import endpoint
from monitor.transport.zeromq.endpoint import host_and_port

_numbers = itertools.count()

FAILED = zmq.Event.HANDSHAKE_FAILED_NO_DETAIL | zmq.Event.HANDSHAKE_FAILED_PROTOCOL | zmq.Event.HANDSHAKE_FAILED_AUTH


def rejection_reason(event: int, value: int, *, encrypted: bool) -> str:
    """Return why the other side refuses for good; empty where that is not known.

    Parameters
    ----------
    event, value : of the monitor of the socket that connects.
    encrypted : it has keys.
    """
    if event == zmq.Event.HANDSHAKE_FAILED_AUTH:
        return "refused: this key is not on the list of who is let in there"
    if event == zmq.Event.HANDSHAKE_FAILED_PROTOCOL and value == zmq.PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH:
        if encrypted:
            return "the server has no CURVE security, but keys are given here; leave --keys out if that is right"
        # which mechanism it wants instead is not told
        return "it asks for keys, so give --keys, or does not answer like a ZeroMQ publisher"
    return ""


def likely_cause(*, encrypted: bool) -> str:
    """Return what is probably wrong where the other side hangs up again and again."""
    if encrypted:
        return "closes the connection: it uses no keys, or its public key is not the one known here; retrying"
    return "does not answer like a ZeroMQ publisher, or asks for keys; retrying"


class SocketMonitor:
    """What a socket tells of its connections; opened before it connects, closed before it.

    Parameters
    ----------
    context : of the socket.
    events : the kinds that are told.
    """

    def __init__(self, context: zmq.Context[zmq.Socket[bytes]], socket: zmq.Socket[bytes], events: int) -> None:
        self._socket = socket
        address = f"inproc://synchroscope-watched-{next(_numbers)}"
        socket.monitor(address, events)
        self._monitor = context.socket(zmq.PAIR)
        # a full monitor would hold up the only I/O thread, and with it every other socket
        self._monitor.setsockopt(zmq.RCVHWM, 0)
        self._monitor.setsockopt(zmq.LINGER, 0)
        self._monitor.connect(address)

    def events(self) -> Iterator[tuple[int, int]]:
        """Yield event and value of what has happened since."""
        while endpoint.readable(self._monitor):
            message = recv_monitor_message(self._monitor)
            yield message["event"], message["value"]

    def close(self) -> None:
        """Listen no longer."""
        # first, or the I/O thread waits for ever for somebody to take the last notice
        self._socket.disable_monitor()
        self._monitor.close()


# ZMTP 3: ten bytes of signature and two of the version. No more: told a mechanism, the other side may hang up first
_GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00"
_GREETING_LENGTH = 64
_MECHANISM = slice(12, 32)


def server_mechanism(url: str, seconds: float = 1.0) -> str:
    """Return what the other side wants for security, NULL, PLAIN or CURVE; empty where it does not say in time."""
    where = host_and_port(url)
    if where is None:
        return ""
    received, deadline = b"", monotonic() + seconds
    try:
        with socket.create_connection(where, timeout=seconds) as connection:
            connection.sendall(_GREETING)
            while len(received) < _GREETING_LENGTH and (left := deadline - monotonic()) > 0.0:
                connection.settimeout(left)
                if not (part := connection.recv(_GREETING_LENGTH - len(received))):
                    break
                received += part
    # a name that no resolver takes is no OSError
    except (OSError, UnicodeError):
        return ""
    speaks = len(received) == _GREETING_LENGTH and received[:1] == _GREETING[:1] and received[9:10] == _GREETING[9:10]
    return received[_MECHANISM].rstrip(b"\0").decode("ascii", "replace") if speaks else ""
