"""What the subscribers of a socket ask for, and whether that is too much."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

import zmq

from monitor.transport.zeromq import endpoint

MAX_SUBSCRIPTION = 512
"""Bytes of what a subscriber sends: a topic is shorter, and ZeroMQ keeps a node for each byte of each."""

MAX_BYTES = 1 << 18
"""Of the topics of all together, `OVERHEAD` for each included: ZeroMQ takes 90 times as much memory for them."""

OVERHEAD = 16

_AT_ONCE = 100  # looked at while one message is sent


class Subscriptions:
    """The prefixes that the subscribers of an XPUB socket ask for.

    ZeroMQ tells of a prefix when the first asks for it, and when nobody does any more: because all have said so, or
    have gone. So nothing is kept of those who are gone, and who asks for what others have asked for costs nothing.

    Parameters
    ----------
    socket : its options must not let it pass on what is known already.
    """

    def __init__(self, socket: zmq.Socket[bytes]) -> None:
        self._socket = socket
        self._prefixes: set[bytes] = set()
        self._bytes = 0

    @property
    def prefixes(self) -> AbstractSet[bytes]:
        """What at least one asks for."""
        return self._prefixes

    @property
    def excessive(self) -> bool:
        """All together ask for more than `MAX_BYTES`."""
        return self._bytes > MAX_BYTES

    def notice(self) -> bool:
        """Take what was asked for since the last call, or some of it, and tell whether there was any; never wait."""
        for number in range(_AT_ONCE):
            if self._socket.closed or not endpoint.readable(self._socket):
                return number > 0
            message = self._socket.recv(zmq.NOBLOCK)
            prefix = message[1:]
            if message[:1] == b"\x01" and prefix not in self._prefixes:
                self._prefixes.add(prefix)
                self._bytes += len(prefix) + OVERHEAD
            elif message[:1] == b"\x00" and prefix in self._prefixes:
                self._prefixes.discard(prefix)
                self._bytes -= len(prefix) + OVERHEAD
        return True
