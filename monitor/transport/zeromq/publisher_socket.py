"""One XPUB socket with its context, and the subscriptions of its subscribers."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from contextlib import suppress
from time import monotonic, sleep

import zmq

from monitor.transport.base import TransportError
from monitor.transport.zeromq import endpoint
from monitor.transport.zeromq.endpoint import FAILED, SocketMonitor, rejection_reason
from monitor.transport.zeromq.key_files import Keys
from monitor.transport.zeromq.subscriber_socket import HOLD
from monitor.wire.native import Frames

MAX_SUBSCRIPTION = 512
"""Bytes of what a subscriber sends: a topic is shorter, and ZeroMQ keeps a node for each byte of each."""

MAX_BYTES = 1 << 18
"""Of the topics of all together, `OVERHEAD` for each included: ZeroMQ takes 90 times as much memory for them."""

OVERHEAD = 16

_BATCH = 100  # looked at while one message is sent


class Subscriptions:
    """The prefixes that the subscribers of an XPUB socket ask for.

    ZeroMQ tells of a prefix when the first asks for it, and when nobody does any more: because all have said so, or
    have gone. So nothing is kept of those who are gone, and who asks for what others ask for costs nothing.

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

    def update(self) -> bool:
        """Take in subscriptions since the last call, or some of them; return whether there were any; never wait."""
        for number in range(_BATCH):
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


_QUEUE = 2000  # messages: with 10 ms of signals and of results in each, 10 s
_IDLE_INTERVAL = 0.02  # s between looks at subscriptions
BUSY_INTERVAL = 0.001  # s, where something was: a subscriber has a few topics, and is read one or two at a time
_WAIT_INTERVAL = 500  # ms between looks at whether who is waited for refuses
_RECEIVE_QUEUE = 2  # subscriptions that wait of each; one is for the credentials
_REBIND_INTERVAL = 0.05  # s between attempts to bind again
_STALL_TIMEOUT = 30_000  # ms after which a subscriber that takes nothing is cut off


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
        self._monitor: SocketMonitor | None = None
        self._rejection = ""
        self._last_bind = self._next_check = 0.0
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
            endpoint.set_options(self.socket, self._queue_seconds)
            # for good: libzmq 4.3.5 may crash where this is set while a connection ends (pipe_t::send_hwms_to_peer)
            self.socket.setsockopt(zmq.SNDHWM, min(int(self.socket.getsockopt(zmq.SNDHWM)), _QUEUE))
            self.socket.setsockopt(zmq.MAXMSGSIZE, MAX_SUBSCRIPTION)
            self.socket.setsockopt(zmq.RCVHWM, _RECEIVE_QUEUE if self._throttled else 0)
            self.socket.setsockopt(zmq.SNDTIMEO, _WAIT_INTERVAL)
            self.socket.setsockopt(zmq.XPUB_NODROP, int(self._reliable))
            if self._bind:
                self.socket.setsockopt(zmq.TCP_MAXRT, _STALL_TIMEOUT)
            elif not self.url.startswith("inproc://"):
                self._monitor = SocketMonitor(self._context, self.socket, FAILED)
            self.url = endpoint.attach(
                self.socket, self.url, bind=self._bind, insecure=self._insecure, security=self._security
            )
        except BaseException:
            self._close_socket(0.0)
            raise

    @property
    def fault(self) -> str:
        """What subscribers have done, in one line; empty: nothing."""
        text = f"subscribers at {self.url} asked for too many topics: all were cut off ({self.cut} times)"
        return text if self.cut else ""

    @property
    def prefixes(self) -> AbstractSet[bytes]:
        """What at least one subscriber asks for; of a publisher that connects, also one that may come back."""
        self.maintain()
        return self._subscriptions.prefixes

    @property
    def rejection(self) -> str:
        """Why whoever is connected to refuses, in one line; the connection is then dead for good."""
        if self._monitor is not None:
            encrypted = self._security is not None
            for event, value in self._monitor.events():
                self._rejection = rejection_reason(event, value, encrypted=encrypted) or self._rejection
        return self._rejection

    def maintain(self) -> bool:
        """Take in subscriptions; return whether there were any; cut off all where they are too many; never wait."""
        if self._closed:
            return False
        changed = self._subscriptions.update()
        self._next_check = monotonic() + (BUSY_INTERVAL if changed else _IDLE_INTERVAL)
        if self._subscriptions.excessive:
            self.cut += 1
            self._close_socket(0.0)
        if self.socket.closed and monotonic() - self._last_bind >= _REBIND_INTERVAL:
            self._last_bind = monotonic()
            # the port is free again a moment after the socket was closed
            with suppress(TransportError, zmq.ZMQError):
                self._open()
        return changed

    def send(self, frames: Frames, *, wait: bool = False) -> bool:
        """Send, or return False when ZeroMQ will not take the message; with `wait`, wait until it does.

        Raises
        ------
        TransportError : whoever is connected to refuses, and no message would ever reach it.
        """
        while not self._closed:
            # only who waits for subscribers must know at every message what they ask for
            if self._reliable or monotonic() >= self._next_check:
                self.maintain()
            if self.rejection:
                raise TransportError(f"{self.url}: {self._rejection}")
            if self.socket.closed or (self._reliable and HOLD in self._subscriptions.prefixes):
                if wait:
                    self.wait(_WAIT_INTERVAL)
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

    def try_send(self, _frames: Frames) -> bool:
        """Return False: what subscribers ask for may hold up libzmq, and the caller with it."""
        return False

    def wait(self, milliseconds: int) -> None:
        """Wait for a subscription, or the end of one."""
        if self.socket.closed:
            sleep(_REBIND_INTERVAL)
        else:
            self.socket.poll(milliseconds)

    def kill(self) -> None:
        """Nothing: it ends with the process."""

    def _close_socket(self, linger: float) -> None:
        if self._monitor is not None:
            self._monitor.close()
            self._monitor = None
        self.socket.close(linger=int(1000 * linger))

    def close(self, linger: float = 0.0) -> None:
        """Close; wait at most `linger` s for what subscribers have not taken. A second call does nothing."""
        self._closed = True
        self._close_socket(linger)
        if self._own_context:
            self._context.term()
