"""One publishing socket with its context: opened, written to, closed."""

from __future__ import annotations

import zmq

from monitor.transport import endpoint
from monitor.transport.curve import Keys
from monitor.transport.endpoint import TransportError
from monitor.transport.handshakes import FAILED, Watched, refusal
from monitor.transport.queue_room import QueueRoom
from monitor.transport.subscriptions import MAX_SUBSCRIPTION, Subscriptions
from monitor.wire import Frames

_QUEUE_BYTES = 1 << 28
_ASKED = 8  # subscriptions that wait: ZeroMQ takes all of them before it sends, so few must be there
_FRAME = 64  # bytes that ZeroMQ takes for a frame beside its content


class Outlet:
    """An XPUB socket at one endpoint, which keeps no more for its subscribers and of them than it should.

    Parameters
    ----------
    bind, connect : one of the two is an endpoint.
    queue_seconds : how much may wait for a subscriber that lags, but no more than 256 MB or so.
    insecure : may bind where other machines can reach it without keys.
    security : keys of who binds or connects.
    context : of the caller, who then terminates it; by default an own one.

    Raises
    ------
    TransportError : the endpoint is malformed or cannot be used, or there is none or two.
    """

    def __init__(
        self,
        bind: str,
        connect: str = "",
        *,
        queue_seconds: float,
        insecure: bool = False,
        security: Keys | None = None,
        context: zmq.Context[zmq.Socket[bytes]] | None = None,
        options: dict[int, int] | None = None,
    ) -> None:
        if bool(bind) == bool(connect):
            raise TransportError("a publisher binds one endpoint or connects to one: give one of the two")
        self._own_context = context is None
        self._context = zmq.Context() if context is None else context
        self._secured = bool(connect) and security is not None
        self._watched: Watched | None = None
        self._refused = ""
        self.socket = self._context.socket(zmq.XPUB)
        self.subscriptions = Subscriptions(self.socket)
        try:
            endpoint.prepare(self.socket, queue_seconds)
            self._room = QueueRoom(int(self.socket.getsockopt(zmq.SNDHWM)), _QUEUE_BYTES)
            self.socket.setsockopt(zmq.SNDHWM, self._room.messages)
            self.socket.setsockopt(zmq.MAXMSGSIZE, MAX_SUBSCRIPTION)
            self.socket.setsockopt(zmq.RCVHWM, _ASKED)
            if connect and not connect.startswith("inproc://"):
                self._watched = Watched(self._context, self.socket, FAILED)
            for option, value in (options or {}).items():
                self.socket.setsockopt(option, value)
            self.url = endpoint.attach(
                self.socket, bind or connect, bind=bool(bind), insecure=insecure, security=security
            )
        except BaseException:
            self.close()
            raise

    @property
    def refused(self) -> str:
        """Why whoever is connected to refuses, in one line; the connection is then dead for good."""
        if self._watched is not None:
            for event, value in self._watched.told():
                self._refused = refusal(event, value, secured=self._secured) or self._refused
        return self._refused

    def offer(self, frames: Frames, *, wait: bool = False, typical: bool = True) -> bool:
        """Send, or return False when ZeroMQ will not take the message; with `wait`, wait until it does.

        The size of a `typical` message says how many may wait.
        """
        if self.socket.closed:
            return False
        self.subscriptions.notice()
        if typical and self._room.take(sum(map(len, frames)) + _FRAME * len(frames)):
            self.socket.setsockopt(zmq.SNDHWM, self._room.messages)
        try:
            self.socket.send_multipart(frames, 0 if wait else zmq.NOBLOCK)
        except zmq.Again:
            return False
        return True

    def close(self, linger: float = 0.0) -> None:
        """Close; wait at most `linger` s for what subscribers have not taken. A second call does nothing."""
        if self._watched is not None:
            self._watched.close()
            self._watched = None
        self.socket.close(linger=int(1000 * linger))
        if self._own_context:
            self._context.term()
