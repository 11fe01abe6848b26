"""Who has asked for what of a publishing socket, and the end of those who ask for too much."""

from __future__ import annotations

import os
import socket as sockets

import zmq

from monitor.transport import endpoint

MAX_SUBSCRIPTION = 512
"""Bytes of what a subscriber sends: a topic is shorter, and ZeroMQ keeps a node for each byte of each."""

MAX_SUBSCRIPTIONS = 256
"""Topics that one connection may ask for; who asks for more is cut off."""

_AT_ONCE = 100  # looked at while one message is sent
_MOST_KNOWN = 4096

_Connection = tuple[int, object]


class Subscriptions:
    """The prefixes that the subscribers of an XPUB socket ask for, counted by connection.

    Parameters
    ----------
    socket : its options must not let it pass on what is known already.
    """

    def __init__(self, socket: zmq.Socket[bytes]) -> None:
        self._socket = socket
        self._counts: dict[_Connection, int] = {}
        self.prefixes: set[bytes] = set()
        self.cut = 0

    def notice(self) -> None:
        """Take what was asked for since the last call, or some of it; never wait."""
        for _ in range(_AT_ONCE):
            if self._socket.closed or not endpoint.readable(self._socket):
                return
            frame = self._socket.recv(zmq.NOBLOCK, copy=False)
            message = frame.bytes
            if message[:1] == b"\x00":
                self.prefixes.discard(message[1:])
            elif message[:1] == b"\x01":
                self.prefixes.add(message[1:])
                self._count(frame)

    def _count(self, frame: zmq.Frame) -> None:
        try:
            # a copy of the number, so that it cannot become another's while it is looked at
            descriptor = os.dup(int(frame.get(zmq.SRCFD)))
        except (zmq.ZMQError, OSError, ValueError):
            # within the process, or gone already
            return
        with sockets.socket(fileno=descriptor) as connection:
            try:
                who = frame.get(zmq.SRCFD), connection.getpeername()
            except OSError:
                return
            if len(self._counts) >= _MOST_KNOWN:
                self._counts.clear()
            count = self._counts[who] = self._counts.get(who, 0) + 1
            if count > MAX_SUBSCRIPTIONS:
                del self._counts[who]
                self.cut += 1
                connection.shutdown(sockets.SHUT_RDWR)
