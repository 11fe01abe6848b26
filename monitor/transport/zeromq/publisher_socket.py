"""An XPUB socket with its context, and the topics that its subscribers ask for."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from time import monotonic, sleep

import zmq

from monitor.transport.base import TransportError
from monitor.transport.zeromq import endpoint
from monitor.transport.zeromq.endpoint import FAILED, SocketMonitor, rejection_reason
from monitor.transport.zeromq.key_files import Keys
from monitor.transport.zeromq.subscriber_socket import HOLD
from monitor.wire.native import BLOCK_FRAMES, Frames

MAX_SUBSCRIPTION = 512
"""Bytes of a subscription; ZeroMQ stores a node for each byte of each."""

MAX_BYTES = 1 << 18
"""Of all topics together, each with `OVERHEAD`; ZeroMQ needs 90 times as much memory for them."""

OVERHEAD = 16

_BATCH = 100  # subscriptions read per message sent


class Subscriptions:
    """The prefixes that the subscribers of an XPUB socket ask for.

    ZeroMQ reports a prefix when the first subscriber asks for it, and when the last one has unsubscribed or gone.
    So nothing is stored for subscribers that are gone, and a repeated prefix costs nothing.

    Parameters
    ----------
    socket : without ``XPUB_VERBOSE``, which would report repeated prefixes.
    """

    def __init__(self, socket: zmq.Socket[bytes]) -> None:
        self._socket = socket
        self.prefixes: set[bytes] = set()
        """Prefixes that at least one subscriber asks for."""
        self._bytes = 0

    @property
    def excessive(self) -> bool:
        """All prefixes together exceed `MAX_BYTES`."""
        return self._bytes > MAX_BYTES

    def update(self) -> bool:
        """Read a batch of new subscriptions without waiting; return whether there were any."""
        for number in range(_BATCH):
            if self._socket.closed or not endpoint.readable(self._socket):
                return number > 0
            message = self._socket.recv(zmq.NOBLOCK)
            prefix = message[1:]
            if message[:1] == b"\x01" and prefix not in self.prefixes:
                self.prefixes.add(prefix)
                self._bytes += len(prefix) + OVERHEAD
            elif message[:1] == b"\x00" and prefix in self.prefixes:
                self.prefixes.discard(prefix)
                self._bytes -= len(prefix) + OVERHEAD
        return True


_MAX_HEADERS = 16
_QUEUE = 2000  # messages: with 10 ms of signals and of results in each, 10 s
_IDLE_INTERVAL = 0.05  # s between polls of subscriptions
_BUSY_INTERVAL = 0.001  # s, after one that found some: a subscriber's topics are read one or two at a time
_WAIT_INTERVAL = 500  # ms between checks for a rejection while waiting
_RECEIVE_QUEUE = 2  # subscriptions queued of each subscriber; one is for the credentials
_REBIND_INTERVAL = 0.05  # s between attempts to bind again
_STALL_TIMEOUT = 30_000  # ms after which a subscriber that reads nothing is disconnected
_PAUSE_TIMEOUT = 120_000  # ms, for a service, which may be suspended: what is queued for it would be lost


class PublisherSocket:
    """An XPUB socket at one endpoint, with bounded queues and bounded subscriptions.

    If the subscribers together ask for too many topics, all are disconnected, because libzmq cannot disconnect one
    alone; ZeroMQ clients reconnect within some tenths of a second.

    Parameters
    ----------
    bind, connect : one of the two is an endpoint.
    queue_seconds : size of the queue of a slow subscriber; 2000 messages at most if `throttled` or `reliable`.
    reliable : no message is dropped: while a subscriber is slow or asks to `HOLD`, `send` finds no room.
    throttled : subscriptions are read no faster than they are processed, so that a subscriber cannot block or fill
        the process for long; but a hostile one can make libzmq abort (see `endpoint.set_options`).
    insecure : may bind where other machines can reach it without keys.
    security : keys of the side that binds or connects.
    context : of the caller, who then terminates it; by default its own.

    Raises
    ------
    TransportError : the endpoint is malformed or cannot be used, or there is none or two.
    """

    lost, busy = 0, False
    """None, never: what ZeroMQ has accepted is sent to whoever reads."""

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
        self._headers: dict[bytes, tuple[bytes, zmq.Frame]] = {}  # sent last, by topic
        self._last_bind = self._next_check = self._pause = 0.0
        self._closed = False
        self.url = bind or connect
        self.disconnections = 0
        try:
            self._open()
        except BaseException:
            if self._own_context:
                self._context.destroy(linger=0)
            raise

    def _open(self) -> None:
        self.socket = self._context.socket(zmq.XPUB)
        self._subscriptions = Subscriptions(self.socket)
        try:
            endpoint.set_options(self.socket, self._queue_seconds)
            # for good: libzmq 4.3.5 may crash where this is set while a connection ends (pipe_t::send_hwms_to_peer)
            if self._throttled or self._reliable:
                self.socket.setsockopt(zmq.SNDHWM, min(int(self.socket.getsockopt(zmq.SNDHWM)), _QUEUE))
            self.socket.setsockopt(zmq.MAXMSGSIZE, MAX_SUBSCRIPTION)
            self.socket.setsockopt(zmq.RCVHWM, _RECEIVE_QUEUE if self._throttled else 0)
            self.socket.setsockopt(zmq.SNDTIMEO, _WAIT_INTERVAL)
            self.socket.setsockopt(zmq.XPUB_NODROP, int(self._reliable))
            if self._bind:
                self.socket.setsockopt(zmq.TCP_MAXRT, _STALL_TIMEOUT if self._throttled else _PAUSE_TIMEOUT)
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
        """Excessive subscriptions, in one line; empty: nothing."""
        times = f"({self.disconnections} times)" if self.disconnections else ""
        return times and f"subscribers at {self.url} asked for too many topics: all were disconnected {times}"

    @property
    def prefixes(self) -> AbstractSet[bytes]:
        """Prefixes that at least one subscriber asks for; if it connects, also those of a subscriber that is away."""
        self.maintain()
        return self._subscriptions.prefixes

    @property
    def rejection(self) -> str:
        """Why the peer that it connects to rejects it, in one line; the connection is then closed for good."""
        if self._monitor is not None:
            encrypted = self._security is not None
            for event, value in self._monitor.events():
                self._rejection = rejection_reason(event, value, encrypted=encrypted) or self._rejection
        return self._rejection

    @property
    def descriptor(self) -> int:
        """Readable once `maintain` has something to do; -1: it has when the time that it returned has passed."""
        return -1 if self.socket.closed or self._pause < _IDLE_INTERVAL else int(self.socket.getsockopt(zmq.FD))

    def maintain(self) -> float:
        """Read subscriptions without waiting, disconnect all if too many; return the s until the next such call."""
        if self._closed:
            return _IDLE_INTERVAL
        self._pause = _BUSY_INTERVAL if self._subscriptions.update() else _IDLE_INTERVAL
        self._next_check = monotonic() + self._pause
        if self._subscriptions.excessive:
            self.disconnections += 1
            self._close_socket(0.0)
        if self.socket.closed and monotonic() - self._last_bind >= _REBIND_INTERVAL:
            self._last_bind = monotonic()
            # the port may still be in use for a moment
            with suppress(TransportError, zmq.ZMQError):
                self._open()
        return self._pause

    def send(self, frames: Frames, *, wait: bool = False) -> bool:
        """Send, and return whether ZeroMQ accepted the message; with `wait`, wait until it does.

        Raises
        ------
        TransportError : the peer that it connects to rejects it, so that no message can reach it.
        """
        while not self._closed:
            # only a reliable publisher must know the subscriptions at every message
            if self._reliable or monotonic() >= self._next_check:
                self.maintain()
            if self.rejection:
                raise TransportError(f"{self.url}: {self._rejection}")
            if self.socket.closed or (self._reliable and HOLD in self._subscriptions.prefixes):
                if wait:
                    self.wait(_WAIT_INTERVAL)
            else:
                try:
                    self.socket.send_multipart(self._with_known_header(frames), 0 if wait else zmq.NOBLOCK)
                except zmq.Again:
                    pass
                else:
                    return True
            if not wait:
                return False
        return False

    def _with_known_header(self, frames: Frames) -> Sequence[bytes | zmq.Frame]:
        """Return the frames with the header in memory of ZeroMQ, which then copies it once, not for every block."""
        if len(frames) != BLOCK_FRAMES:
            return frames
        topic, header, *rest = frames
        known = self._headers.get(topic)
        if known is None or known[0] is not header:
            if len(self._headers) >= _MAX_HEADERS:
                self._headers.clear()
            known = self._headers[topic] = header, zmq.Frame(header, copy=True)
        return [topic, known[1], *rest]

    def try_send(self, _frames: Frames) -> bool:
        """Return False: new subscriptions may block libzmq, and the caller with it."""
        return False

    def wait(self, milliseconds: int) -> None:
        """Wait for a subscription or an unsubscription."""
        if self.socket.closed:
            sleep(_REBIND_INTERVAL)
        else:
            self.socket.poll(milliseconds)

    def kill(self) -> None:
        """Do nothing: the socket ends with the process."""

    def _close_socket(self, linger: float) -> None:
        if self._monitor is not None:
            self._monitor.close()
            self._monitor = None
        self.socket.close(linger=int(1000 * linger))

    def close(self, linger: float = 0.0) -> None:
        """Close; wait at most `linger` s for messages in the queues of subscribers. A second call does nothing."""
        self._closed = True
        self._close_socket(linger)
        if self._own_context:
            self._context.destroy(linger=0)
