"""Signals over ZeroMQ: the service's subscription to rigs, and what a rig publishes with."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic

import zmq

from monitor.messages.blocks import SignalBlock
from monitor.transport.zeromq.key_files import Keys
from monitor.transport.zeromq.publisher_socket import PublisherSocket
from monitor.transport.zeromq.subscriber import Subscriber
from monitor.transport.zeromq.subscriber_socket import SubscriberSettings
from monitor.wire import native as wire
from monitor.wire.native import Decoder, Encoder, Frames, WireError
from monitor.wire.plain import PlainAssembler, decode_plain

MAX_SENDERS = 64
_PREFIX = b"synchroscope/"
_SIGNALS = wire.topic("signals")
_IDLE = 0.5  # s without a message after which a heartbeat is sent
_OTHER_TOPICS = tuple(wire.topic(kind) for kind in ("results", "transfer", "alarms", "health", "event"))


class SignalDecoder:
    """Messages -> signal blocks; no socket.

    Parameters
    ----------
    rig : the only rig that is let through; empty for all.
    sample_rate : Hz, for plain senders that do not say it.

    Raises
    ------
    ValueError : the rate is not a positive number.
    """

    def __init__(self, rig: str = "", sample_rate: float | None = None) -> None:
        self._rig = rig
        self._rate = sample_rate
        self._decoder = Decoder()
        PlainAssembler(sample_rate)  # a wrong rate is the caller's mistake, to be told now
        self._named: dict[str, str] = {}
        self._assemblers: dict[tuple[str, str], PlainAssembler] = {}

    def decode(self, frames: Frames, origin: str) -> tuple[SignalBlock, ...]:
        """Return the blocks that the message from the endpoint `origin` completes, often one, sometimes none.

        Raises
        ------
        WireError : the message is refused.
        """
        if not frames[0].startswith(_PREFIX):
            blocks = self._plain(frames, origin)
        elif frames[0].startswith(_OTHER_TOPICS):
            return ()
        else:
            blocks = (self._native(frames),)
        return tuple(block for block in blocks if not self._rig or block.stream.rig == self._rig)

    def _native(self, frames: Frames) -> SignalBlock:
        if not frames[0].startswith(_SIGNALS):
            raise WireError(f"unknown topic; signals come as {_SIGNALS.decode()}RIG")
        block = self._decoder.decode(frames)
        if not isinstance(block, SignalBlock):
            raise WireError("results under the topic of signals")
        return block

    def _plain(self, frames: Frames, origin: str) -> tuple[SignalBlock, ...]:
        if len(frames) > 2:
            raise WireError(f"a plain message has one frame, or a topic and one, this one {len(frames)}")
        message = decode_plain(frames[-1])
        if message.rig is not None:
            self._named[origin] = message.rig
        sender = origin, self._named.get(origin, "")
        assembler = self._assemblers.get(sender)
        if assembler is None:
            if len(self._assemblers) >= MAX_SENDERS:
                raise WireError(f"more than {MAX_SENDERS} rigs send plain messages")
            assembler = self._assemblers[sender] = PlainAssembler(self._rate)
        return assembler.accept(message)


class SignalSubscriber(Subscriber[SignalBlock]):
    """Subscribe to rigs, native or plain, and stay subscribed.

    Parameters
    ----------
    connect, bind : endpoints, at least one; ``tcp://127.0.0.1:*`` finds a free port.
    rig : the only rig that is let through; empty for all.
    sample_rate : Hz, for plain senders that do not say it.
    stale_after : s after which a connection without any sign of life is given up and made anew.
    max_message : bytes allowed in one frame.
    queue_seconds : of messages that may wait unread before a replay is held up.
    queue_bytes : of messages that may wait unread before what comes is dropped, which is reported.
    insecure : may bind where other machines can reach it without keys.
    security : the service's keys; those of the rigs that are connected to are its `peer`.
    listening : from the start, or only from `listen` on, for who is not ready yet: nothing piles up meanwhile.
    context : of the caller, who then terminates it; by default an own one.

    Raises
    ------
    TransportError : an endpoint is malformed or cannot be used.
    ValueError : the rate is not a positive number.
    """

    ended = False
    """A sender may always come back."""

    def __init__(
        self,
        connect: Sequence[str] = (),
        bind: Sequence[str] = (),
        *,
        rig: str = "",
        sample_rate: float | None = None,
        stale_after: float = 5.0,
        max_message: int = 64 << 20,
        queue_seconds: float = 10.0,
        queue_bytes: int = 256 << 20,
        insecure: bool = False,
        security: Keys | None = None,
        listening: bool = True,
        context: zmq.Context[zmq.Socket[bytes]] | None = None,
    ) -> None:
        # plain senders use any topic or none, so everything is subscribed to
        settings = SubscriberSettings(
            (b"",), stale_after, max_message, queue_seconds, queue_bytes, insecure=insecure, security=security
        )
        decode = SignalDecoder(rig, sample_rate).decode
        super().__init__(decode, connect, bind, settings, context, listening=listening)


class SignalPublisher:
    """Send blocks of one rig.

    Parameters
    ----------
    bind, connect : one of the two is an endpoint; ``tcp://127.0.0.1:*`` finds a free port.
    reliable : `send` waits for the slowest subscriber instead of dropping: for a replay, never for a rig.
    queue_seconds : how far a subscriber may lag before it loses or, if reliable, holds up the sender.
    insecure : may bind where other machines can reach it without keys.
    security : the rig's keys.
    context : of the caller, who then terminates it; by default an own one.

    Raises
    ------
    TransportError : the endpoint is malformed or cannot be used, or there is none or two.
    """

    def __init__(
        self,
        bind: str = "",
        *,
        connect: str = "",
        reliable: bool = False,
        queue_seconds: float = 5.0,
        insecure: bool = False,
        security: Keys | None = None,
        context: zmq.Context[zmq.Socket[bytes]] | None = None,
    ) -> None:
        self._socket = PublisherSocket(
            bind,
            connect,
            queue_seconds=queue_seconds,
            reliable=reliable,
            throttled=False,
            insecure=insecure,
            security=security,
            context=context,
        )
        self._reliable = reliable
        self._encoder = Encoder()
        self._next: SignalBlock | None = None
        self._last_sent = monotonic()

    @property
    def endpoint(self) -> str:
        """What is bound, with its port, or connected to."""
        return self._socket.url

    @property
    def subscribed(self) -> bool:
        """Somebody is subscribed to signals; a publisher that connects also counts one that may come back."""
        asked = self._socket.prefixes
        return any(prefix.startswith(_SIGNALS) or _SIGNALS.startswith(prefix) for prefix in asked)

    @property
    def rejection(self) -> str:
        """Why whoever is connected to refuses these signals for good, in one line; empty while nobody does."""
        return self._socket.rejection

    def wait_for_subscriber(self, timeout: float) -> bool:
        """Wait up to `timeout` s until somebody subscribes to signals; tell whether somebody has."""
        deadline = monotonic() + timeout
        while not self.subscribed:
            left = deadline - monotonic()
            if left <= 0:
                return False
            self._socket.wait(int(1000 * left) + 1)
        return True

    def send(self, block: SignalBlock, *, wait: bool = True) -> bool:
        """Send, and tell whether ZeroMQ took it.

        If reliable this waits, for as long as it takes, while a subscriber's queue is full or one asks to hold.
        Without `wait` it returns False then, and the block is the caller's to send again: to nobody has it gone.

        Raises
        ------
        TransportError : whoever is connected to refuses for good; a new publisher may be let in.
        """
        taken = self._socket.send(self._encoder.encode(block), wait=self._reliable and wait)
        if self._reliable and not taken:
            return False
        self._next = block.tail(len(block))
        self._last_sent = monotonic()
        return taken

    def heartbeat(self) -> bool:
        """Send a block without samples that carries the index of the next one; nothing before the first.

        It never waits: where it finds no room, nobody misses it.
        """
        return self._next is not None and self.send(self._next, wait=False)

    def heartbeat_if_idle(self) -> bool:
        """Send a heartbeat if nothing was sent for 0.5 s; for a loop to call when it has nothing to do."""
        return monotonic() - self._last_sent >= _IDLE and self.heartbeat()

    def close(self, linger: float = 5.0) -> None:
        """Close; wait at most `linger` s for what subscribers have not taken. A second call does nothing."""
        self._socket.close(linger)
