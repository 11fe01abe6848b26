"""One publishing socket with its context: opened, written to, closed."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from contextlib import suppress
from time import monotonic, sleep

import zmq

from monitor.transport.base import TransportError
from monitor.transport.security.curve import Keys
from monitor.transport.zeromq import endpoint
from monitor.transport.zeromq.socket_monitor import FAILED, SocketMonitor, refusal
from monitor.transport.zeromq.subscriber_socket import HOLD
from monitor.transport.zeromq.subscriptions import MAX_SUBSCRIPTION, Subscriptions
from monitor.wire.native import Frames

_QUEUE = 2000  # messages: with 10 ms of signals and of results in each, 10 s
_TENDED = 0.02  # s between looks at what is asked for
AT_ONCE = 0.001  # s, where something was: a subscriber has a few topics, and is read one or two at a time
_TURN = 500  # ms between looks at whether who is waited for refuses
_ASKED = 2  # subscriptions that wait of each; one is for the credentials
_PAUSE = 0.05  # s between attempts to bind again
_STALLED = 30_000  # ms after which a subscriber that takes nothing is cut off


class PublisherSocket:
    """An XPUB socket at one endpoint, which keeps no more for its subscribers and of them than it should.

    Where subscribers together ask for too many topics, all are cut off: libzmq lets those who are its own come
    back within some tenths of a second. It has no means to cut off one.

    Parameters
    ----------
    bind, connect : one of the two is an endpoint.
    queue_seconds : how much may wait for a subscriber that lags, but no more than 2000 messages.
    reliable : no subscriber loses anything: while one lags or asks to `HOLD`, there is no room.
    throttled : a subscriber is read from no faster than its topics are taken in, so that it cannot hold up or fill
        the process for long; but one that knows how can end it (see `prepare`).
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
        reliable: bool = False,
        throttled: bool = True,
        insecure: bool = False,
        security: Keys | None = None,
        context: zmq.Context[zmq.Socket[bytes]] | None = None,
    ) -> None:
        if bool(bind) == bool(connect):
            raise TransportError("a publisher binds one endpoint or connects to one: give one of the two")
        self._own_context = context is None
        self._context = zmq.Context() if context is None else context
        self._bind, self._insecure, self._security = bool(bind), insecure, security
        self._queue_seconds, self._reliable, self._throttled = queue_seconds, reliable, throttled
        self._watched: SocketMonitor | None = None
        self._refused = ""
        self._tried = self._next_look = 0.0
        self._closed = False
        self.url = bind or connect
        self.cut = 0
        try:
            self._open()
        except BaseException:
            if self._own_context:
                self._context.term()
            raise

    def _open(self) -> None:
        self.socket = self._context.socket(zmq.XPUB)
        self._subscriptions = Subscriptions(self.socket)
        try:
            endpoint.prepare(self.socket, self._queue_seconds)
            # for good: libzmq 4.3.5 may crash where this is set while a connection ends (pipe_t::send_hwms_to_peer)
            self.socket.setsockopt(zmq.SNDHWM, min(int(self.socket.getsockopt(zmq.SNDHWM)), _QUEUE))
            self.socket.setsockopt(zmq.MAXMSGSIZE, MAX_SUBSCRIPTION)
            self.socket.setsockopt(zmq.RCVHWM, _ASKED if self._throttled else 0)
            self.socket.setsockopt(zmq.SNDTIMEO, _TURN)
            self.socket.setsockopt(zmq.XPUB_NODROP, int(self._reliable))
            if self._bind:
                self.socket.setsockopt(zmq.TCP_MAXRT, _STALLED)
            elif not self.url.startswith("inproc://"):
                self._watched = SocketMonitor(self._context, self.socket, FAILED)
            self.url = endpoint.attach(
                self.socket, self.url, bind=self._bind, insecure=self._insecure, security=self._security
            )
        except BaseException:
            self._shut(0.0)
            raise

    @property
    def trouble(self) -> str:
        """What subscribers have done, in one line; empty: nothing."""
        told = f"subscribers at {self.url} asked for too many topics: all were cut off ({self.cut} times)"
        return told if self.cut else ""

    @property
    def prefixes(self) -> AbstractSet[bytes]:
        """What at least one subscriber asks for; of a publisher that connects, also one that may come back."""
        self.tend()
        return self._subscriptions.prefixes

    @property
    def refused(self) -> str:
        """Why whoever is connected to refuses, in one line; the connection is then dead for good."""
        if self._watched is not None:
            secured = self._security is not None
            for event, value in self._watched.told():
                self._refused = refusal(event, value, secured=secured) or self._refused
        return self._refused

    def tend(self) -> bool:
        """Note what is asked for, and tell whether anything was; cut off who asks for too much; never wait."""
        if self._closed:
            return False
        asked = self._subscriptions.notice()
        self._next_look = monotonic() + (AT_ONCE if asked else _TENDED)
        if self._subscriptions.excessive:
            self.cut += 1
            self._shut(0.0)
        if self.socket.closed and monotonic() - self._tried >= _PAUSE:
            self._tried = monotonic()
            # the port is free again a moment after the socket was closed
            with suppress(TransportError, zmq.ZMQError):
                self._open()
        return asked

    def offer(self, frames: Frames, *, wait: bool = False) -> bool:
        """Send, or return False when ZeroMQ will not take the message; with `wait`, wait until it does.

        Raises
        ------
        TransportError : whoever is connected to refuses, and no message would ever reach it.
        """
        while not self._closed:
            # only who waits for subscribers must know at every message what they ask for
            if self._reliable or monotonic() >= self._next_look:
                self.tend()
            if self.refused:
                raise TransportError(f"{self.url}: {self._refused}")
            if self.socket.closed or (self._reliable and HOLD in self._subscriptions.prefixes):
                if wait:
                    self.wait(_TURN)
            else:
                try:
                    self.socket.send_multipart(frames, 0 if wait else zmq.NOBLOCK)
                except zmq.Again:
                    pass
                else:
                    return True
            if not wait:
                return False
        return False

    def offer_at_once(self, _frames: Frames) -> bool:
        """Return False: what subscribers ask for may hold up libzmq, and the caller with it."""
        return False

    def wait(self, milliseconds: int) -> None:
        """Wait until something is asked for, or is not any more."""
        if self.socket.closed:
            sleep(_PAUSE)
        else:
            self.socket.poll(milliseconds)

    def kill(self) -> None:
        """Nothing: it ends with the process."""

    def _shut(self, linger: float) -> None:
        if self._watched is not None:
            self._watched.close()
            self._watched = None
        self.socket.close(linger=int(1000 * linger))

    def close(self, linger: float = 0.0) -> None:
        """Close; wait at most `linger` s for what subscribers have not taken. A second call does nothing."""
        self._closed = True
        self._shut(linger)
        if self._own_context:
            self._context.term()
