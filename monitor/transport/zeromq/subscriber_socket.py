"""A SUB socket that is replaced by a new one when its connection is dead.

A SUB socket that connects never reconnects, without any error, after a frame above its size limit or a failed
handshake. Its monitor shows this as a disconnection that no retry follows; then a new socket is opened. A socket that
binds needs no replacement: each sender has a session of its own, which fails alone and which the sender opens again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic, sleep

import zmq

from monitor.messages.blocks import EventKind
from monitor.transport.base import TransportError
from monitor.transport.zeromq import endpoint
from monitor.transport.zeromq.endpoint import FAILED, SocketMonitor, likely_cause, rejection_reason
from monitor.transport.zeromq.key_files import Keys
from monitor.wire import native as wire
from monitor.wire.native import Frames

_FIRST_BACKOFF = 0.1
_EVENTS = (
    zmq.Event.CONNECTED
    | zmq.Event.CONNECT_DELAYED
    | zmq.Event.CONNECT_RETRIED
    | zmq.Event.DISCONNECTED
    | zmq.Event.HANDSHAKE_SUCCEEDED
    | FAILED
)

ConnectionEvent = tuple[EventKind, str]

HOLD = wire.topic("hold")
"""Topic whose subscription asks a sender that can wait, such as a replay, to hold; it ends with the connection."""


@dataclass(frozen=True, slots=True)
class SubscriberSettings:
    """How to subscribe.

    Parameters
    ----------
    topics : prefixes to subscribe to.
    stale_after : s after which a connection without activity is closed and opened again.
    max_message : bytes allowed in one frame; a larger one closes the connection.
    queue_seconds : of unread messages, beyond which senders are asked to hold.
    queue_bytes : of unread messages, beyond which new ones are dropped.
    insecure : may bind where other machines can reach it without keys.
    security : keys of the side that binds or connects.
    """

    topics: tuple[bytes, ...] = (b"",)
    stale_after: float = 5.0
    max_message: int = 64 << 20
    queue_seconds: float = 10.0
    queue_bytes: int = 256 << 20
    insecure: bool = False
    security: Keys | None = None


class SubscriberSocket:
    """Subscription to one endpoint; its current socket is registered with `poller`.

    Without `listening` it is connected or bound, but subscribes only when `listen` is called.

    Raises
    ------
    TransportError : the endpoint cannot be used.
    """

    def __init__(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        poller: zmq.Poller,
        url: str,
        settings: SubscriberSettings,
        *,
        bind: bool,
        listening: bool = True,
    ) -> None:
        self._context, self._poller, self._settings, self._bind = context, poller, settings, bind
        self._backoff = _FIRST_BACKOFF
        self._protocol_error = f"a protocol error, such as a message over {settings.max_message} bytes"
        self._disconnect_reason = self._rejection_reason = ""
        self._failures = 0
        self._encrypted = not bind and settings.security is not None and bool(settings.security.peer)
        self._listening = listening
        self._holding = False
        self.rejection = ""
        """Why the server rejects the connection for good; empty: it does not, or that is not known."""
        self.peer = 0
        """Number of the connection of the message received last, where there may be several; else 0."""
        self._many = bind and not url.startswith("inproc://")
        self.url = url
        self._open()

    def _open(self) -> None:
        self._connected = self._dropped = False
        self._monitor: SocketMonitor | None = None
        self._socket = self._context.socket(zmq.SUB)
        try:
            endpoint.set_options(self._socket, self._settings.queue_seconds, self._settings.stale_after)
            self._socket.setsockopt(zmq.MAXMSGSIZE, self._settings.max_message)
            if self._listening:
                self._subscribe()
            # an inproc socket has no connection to lose
            if not self._bind and not self.url.startswith("inproc://"):
                self._monitor = SocketMonitor(self._context, self._socket, _EVENTS)
            self.url = endpoint.attach(
                self._socket,
                self.url,
                bind=self._bind,
                insecure=self._settings.insecure,
                security=self._settings.security,
            )
        except BaseException:
            self._close_socket()
            raise
        self._poller.register(self._socket, zmq.POLLIN)
        self._timeout_ms = -1
        self._last_activity = monotonic()

    def listen(self) -> None:
        """Subscribe; until then senders send nothing here, and nothing queues up."""
        if not self._listening:
            self._listening = True
            self._subscribe()

    def _subscribe(self) -> None:
        for topic in (*self._settings.topics, *((HOLD,) if self._holding else ())):
            self._socket.subscribe(topic)

    def hold(self, *, on: bool) -> None:
        """Ask senders that can wait to hold, or to resume."""
        self._holding = on
        if not self._socket.closed:
            self._socket.subscribe(HOLD) if on else self._socket.unsubscribe(HOLD)

    def messages(self, limit: int) -> Iterator[Frames]:
        """Yield the messages that have arrived, at most `limit`, without waiting."""
        # as a rule there is none, and asking is cheaper than an error
        if self._socket.closed or not endpoint.readable(self._socket):
            return
        for _ in range(limit):
            try:
                frames = self._receive(zmq.NOBLOCK)
            except zmq.Again:
                return
            self._last_activity = monotonic()
            yield frames

    def wait(self, milliseconds: int) -> Frames | None:
        """Return the next message, or None if none comes in that time; cheaper than a poll."""
        if self._socket.closed:
            sleep(0.001 * milliseconds)
            return None
        if milliseconds != self._timeout_ms:
            self._socket.setsockopt(zmq.RCVTIMEO, milliseconds)
            self._timeout_ms = milliseconds
        try:
            frames = self._receive(0)
        except zmq.Again:
            return None
        self._last_activity = monotonic()
        return frames

    def _receive(self, flags: int) -> Frames:
        """Return the frames of a message, and set `peer`."""
        if not self._many:
            return self._socket.recv_multipart(flags)
        first = self._socket.recv(flags, copy=False)
        try:
            self.peer = int(first.get(zmq.SRCFD))
        except zmq.ZMQError:
            self.peer = 0  # of some transports there is none
        frames = [first.bytes]
        if first.more:
            frames += self._socket.recv_multipart(flags)
        return frames

    def disconnect(self) -> str:
        """Disconnect all senders and discard unread messages; the socket is opened again after a moment.

        Returns the address of the sender of the next message; empty if unknown: libzmq cannot disconnect one alone.
        """
        peer = ""
        with suppress(zmq.ZMQError):
            peer = str(self._socket.recv_multipart(zmq.NOBLOCK, copy=False)[0].get("Peer-Address"))
        self._close_socket()
        self._connected, self._dropped, self._last_activity, self._backoff = False, True, monotonic(), _FIRST_BACKOFF
        return peer

    def reset_backoff(self) -> None:
        """Reset the reconnection delay, after a valid message."""
        self._backoff = _FIRST_BACKOFF

    def check_connection(self) -> Iterator[ConnectionEvent]:
        """Yield events of the connection; open a new socket where this one is dead."""
        if self._monitor is not None:
            for event, value in self._monitor.events():
                self._last_activity = monotonic()
                yield from self._on_event(event, value)
        elif not self._socket.closed:
            return
        if self._is_dead() and (self._socket.closed or not endpoint.readable(self._socket)):
            self._backoff = min(2 * self._backoff, self._settings.stale_after)
            try:
                self._close_socket()
                self._open()
            except (TransportError, zmq.ZMQError) as problem:
                # for example too many open files: tried again later
                self._connected, self._dropped, self._last_activity = False, True, monotonic()
                if str(problem) != self._rejection_reason:
                    self._rejection_reason = str(problem)
                    yield EventKind.NOTE, f"{self.url} cannot be connected to now, retrying: {problem}"

    def _on_event(self, event: int, value: int) -> Iterator[ConnectionEvent]:
        if event == zmq.Event.HANDSHAKE_SUCCEEDED:
            if self._disconnect_reason:
                yield EventKind.RECONNECTED, f"{self.url}: connected again after {self._disconnect_reason}"
            self._connected, self._dropped, self._failures = True, False, 0
            self._disconnect_reason = self._rejection_reason = self.rejection = ""
        elif event == zmq.Event.DISCONNECTED or event & FAILED:
            if self._connected:
                # the next event shows whether it was this or the network
                self._disconnect_reason = self._protocol_error
            elif why := rejection_reason(event, value, encrypted=self._encrypted):
                if why != self._rejection_reason:
                    self._disconnect_reason = self._disconnect_reason or "it was rejected"
                    self._rejection_reason = self.rejection = why
                    yield EventKind.NOTE, f"{self.url}: {why}"
            elif not self._dropped and not self._rejection_reason:
                self._failures += 1
                # a single one may be a sender that was just closing
                if self._failures == 2:
                    self._disconnect_reason = self._disconnect_reason or "failed handshakes"
                    yield EventKind.NOTE, f"{self.url} {likely_cause(encrypted=self._encrypted)}"
            self._connected, self._dropped = False, True
        elif self._dropped:
            if self._disconnect_reason == self._protocol_error:
                self._disconnect_reason = "the sender disconnected"
            self._dropped = False

    def _is_dead(self) -> bool:
        if self._connected:
            return False
        silence = monotonic() - self._last_activity
        return silence > (self._backoff if self._dropped else self._settings.stale_after)

    def _close_socket(self) -> None:
        if self._socket in self._poller:
            self._poller.unregister(self._socket)
        if self._monitor is not None:
            self._monitor.close()
            self._monitor = None
        self._socket.close()

    def close(self) -> None:
        """Close the sockets; a second call does nothing."""
        if not self._socket.closed:
            self._close_socket()
