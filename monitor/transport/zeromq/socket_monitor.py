"""Why a connection does not come about: what a socket's monitor tells of handshakes, and that in words."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import zmq
from zmq.utils.monitor import recv_monitor_message

from monitor.transport.zeromq import endpoint

_numbers = itertools.count()

FAILED = zmq.Event.HANDSHAKE_FAILED_NO_DETAIL | zmq.Event.HANDSHAKE_FAILED_PROTOCOL | zmq.Event.HANDSHAKE_FAILED_AUTH


def refusal(event: int, value: int, *, secured: bool) -> str:
    """Return why the other side refuses for good; empty where that is not known.

    Parameters
    ----------
    event, value : of the monitor of the socket that connects.
    secured : it has keys.
    """
    if event == zmq.Event.HANDSHAKE_FAILED_AUTH:
        return "refused: this key is not on the list of who is let in there"
    if event == zmq.Event.HANDSHAKE_FAILED_PROTOCOL and value == zmq.PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH:
        if secured:
            return "the server has no CURVE security, but keys are given here; leave --keys out if that is right"
        # which mechanism it wants instead is not told
        return "it asks for keys, so give --keys, or does not answer like a ZeroMQ publisher"
    return ""


def suspicion(*, secured: bool) -> str:
    """Return what is probably wrong where the other side hangs up again and again."""
    if secured:
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

    def told(self) -> Iterator[tuple[int, int]]:
        """Yield event and value of what has happened since."""
        while endpoint.readable(self._monitor):
            message = recv_monitor_message(self._monitor)
            yield message["event"], message["value"]

    def close(self) -> None:
        """Listen no longer."""
        # first, or the I/O thread waits for ever for somebody to take the last notice
        self._socket.disable_monitor()
        self._monitor.close()
