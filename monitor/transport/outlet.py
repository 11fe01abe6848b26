"""One publishing socket with its context: opened, written to, closed."""

from __future__ import annotations

import zmq

from monitor.transport import endpoint
from monitor.transport.curve import Keys
from monitor.transport.endpoint import TransportError
from monitor.transport.handshakes import FAILED, Watched, refusal
from monitor.transport.subscriptions import MAX_SUBSCRIPTION, Subscriptions
from monitor.wire import Frames

_QUEUE = 2000  # messages: with 10 ms of signals and of results in each, 10 s
_TURN = 500  # ms between looks at whether who is waited for refuses
_ASKED = 8  # subscriptions that wait: ZeroMQ takes all of them before it sends, so few must be there


class Outlet:
    """An XPUB socket at one endpoint, which keeps no more for its subscribers and of them than it should.

    Parameters
    ----------
    bind, connect : one of the two is an endpoint.
    queue_seconds : how much may wait for a subscriber that lags, but no more than 2000 messages.
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
            # for good: libzmq 4.3.5 may crash where this is set while a connection ends (pipe_t::send_hwms_to_peer)
            self.socket.setsockopt(zmq.SNDHWM, min(int(self.socket.getsockopt(zmq.SNDHWM)), _QUEUE))
            if bind:
                # and aborts where it pings one that has hung up before all it said was taken (out_event, !_io_error)
                self.socket.setsockopt(zmq.HEARTBEAT_IVL, 0)
            self.socket.setsockopt(zmq.MAXMSGSIZE, MAX_SUBSCRIPTION)
            self.socket.setsockopt(zmq.RCVHWM, _ASKED)
            self.socket.setsockopt(zmq.SNDTIMEO, _TURN)
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

    def offer(self, frames: Frames, *, wait: bool = False) -> bool:
        """Send, or return False when ZeroMQ will not take the message; with `wait`, wait until it does.

        Raises
        ------
        TransportError : whoever is connected to refuses, and no message would ever reach it.
        """
        if self.socket.closed:
            return False
        self.subscriptions.notice()
        while True:
            if self.refused:
                raise TransportError(f"{self.url}: {self._refused}")
            try:
                self.socket.send_multipart(frames, 0 if wait else zmq.NOBLOCK)
            except zmq.Again:
                if not wait:
                    return False
            else:
                return True

    def close(self, linger: float = 0.0) -> None:
        """Close; wait at most `linger` s for what subscribers have not taken. A second call does nothing."""
        if self._watched is not None:
            self._watched.close()
            self._watched = None
        self.socket.close(linger=int(1000 * linger))
        if self._own_context:
            self._context.term()
