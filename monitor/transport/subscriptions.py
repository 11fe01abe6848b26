"""Who has asked for what of a publishing socket, and the end of those who ask for too much."""

from __future__ import annotations

import os
import socket as sockets
from collections.abc import Set as AbstractSet

import zmq

from monitor.transport import endpoint

MAX_SUBSCRIPTION = 512
"""Bytes of what a subscriber sends: a topic is shorter, and ZeroMQ keeps a node for each byte of each."""

MAX_SUBSCRIPTIONS = 256
"""Topics that are there because one connection asked for them first; who asks for more is cut off."""

MAX_BYTES = 1 << 18
"""Of the topics of all together, `OVERHEAD` for each included; who asks for a new one beyond is cut off."""

OVERHEAD = 16

_AT_ONCE = 100  # looked at while one message is sent

_Connection = tuple[int, object]


class Subscriptions:
    """The prefixes that the subscribers of an XPUB socket ask for, counted by connection and together.

    ZeroMQ tells of a prefix when the first asks for it, and when nobody does any more: because all have said so, or
    have gone. So nothing is kept of those who are gone, and who asks for what others have asked for costs nothing.

    Parameters
    ----------
    socket : its options must not let it pass on what is known already.
    """

    def __init__(self, socket: zmq.Socket[bytes]) -> None:
        self._socket = socket
        self._first: dict[bytes, _Connection | None] = {}
        self._counts: dict[_Connection, int] = {}
        self._bytes = 0
        self.cut = 0

    @property
    def prefixes(self) -> AbstractSet[bytes]:
        """What at least one asks for."""
        return self._first.keys()

    def notice(self) -> None:
        """Take what was asked for since the last call, or some of it; never wait."""
        for _ in range(_AT_ONCE):
            if self._socket.closed or not endpoint.readable(self._socket):
                return
            frame = self._socket.recv(zmq.NOBLOCK, copy=False)
            message = frame.bytes
            if message[:1] == b"\x00":
                self._forget(message[1:])
            elif message[:1] == b"\x01" and message[1:] not in self._first:
                self._add(message[1:], frame)

    def _add(self, prefix: bytes, frame: zmq.Frame) -> None:
        self._first[prefix] = None
        self._bytes += len(prefix) + OVERHEAD
        try:
            # a copy of the number, so that it cannot become another's while it is looked at
            descriptor = os.dup(int(frame.get(zmq.SRCFD)))
        except (zmq.ZMQError, OSError, ValueError):
            # within the process, or gone already
            return
        with sockets.socket(fileno=descriptor) as connection:
            try:
                who = int(frame.get(zmq.SRCFD)), connection.getpeername()
                self._first[prefix] = who
                count = self._counts[who] = self._counts.get(who, 0) + 1
                if count > MAX_SUBSCRIPTIONS or self._bytes > MAX_BYTES:
                    connection.shutdown(sockets.SHUT_RDWR)
                    self.cut += 1
            except OSError:
                # cut or gone already
                return

    def _forget(self, prefix: bytes) -> None:
        if prefix not in self._first:
            return
        who = self._first.pop(prefix)
        self._bytes -= len(prefix) + OVERHEAD
        if who is not None:
            self._counts[who] -= 1
            if not self._counts[who]:
                del self._counts[who]
