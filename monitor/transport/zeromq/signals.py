"""Signals over ZeroMQ: what a rig publishes with, and the service's subscription to it."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic

import zmq

from monitor.messages.blocks import Event, SignalBlock
from monitor.transport.zeromq.key_files import Keys
from monitor.transport.zeromq.message_queue import Origin, UnusedMessages
from monitor.transport.zeromq.publisher_socket import PublisherSocket
from monitor.transport.zeromq.subscriber import Subscriber
from monitor.transport.zeromq.subscriber_socket import SubscriberSettings
from monitor.wire import native as wire
from monitor.wire.native import Decoder, Encoder, Frames, WireError
from monitor.wire.plain import PlainMessage, decode_frames
from monitor.wire.senders import NativeSender, PlainSenders

MAX_SENDERS = 64
_MAX_NAMES, _ANY = 1024, -1
_PREFIX = b"synchroscope/"
_SIGNALS = wire.topic("signals")
_IDLE = 0.5  # s without a message after which a heartbeat is sent
_OTHER_TOPICS = tuple(wire.topic(kind) for kind in ("results", "transfer", "alarms", "health", "event"))


class SignalDecoder:
    """Decode messages of rigs, native or plain.

    Parameters
    ----------
    rig : the only rig that is accepted; empty for all.
    sample_rate : Hz, for plain senders that do not send it.

    Raises
    ------
    ValueError : the rate is not a positive number.
    """

    def __init__(self, rig: str = "", sample_rate: float | None = None) -> None:
        self._rig = rig
        self._rate = sample_rate
        self._decoder = Decoder()
        PlainSenders(sample_rate)  # raises now if the rate is wrong
        self._rig_names: dict[tuple[str, int], str] = {}
        self._senders: dict[str, PlainSenders] = {}
        self._native_senders: dict[str, NativeSender] = {}

    def __bool__(self) -> bool:
        """Whether samples are held back until others come."""
        return any(senders.held for senders in self._senders.values())

    def flush(self) -> tuple[SignalBlock | Event, ...]:
        """Return what is held back: no more comes for now."""
        return tuple(item for senders in self._senders.values() for item in self._of_rig(senders.flush()))

    def decode(self, frames: Frames, origin: Origin) -> tuple[SignalBlock | Event, ...]:
        """Return the blocks that a message completes, often one, sometimes none, and events.

        Raises
        ------
        WireError : the message is rejected.
        """
        if not frames[0].startswith(_PREFIX):
            return self._plain(frames, origin)
        if frames[0].startswith(_OTHER_TOPICS):
            return ()
        return self._of_rig(self._checked(self._native(frames), origin))

    def _of_rig(self, items: tuple[SignalBlock | Event, ...]) -> tuple[SignalBlock | Event, ...]:
        """Return the items of one sender if it is the rig that is accepted."""
        if not self._rig:
            return items
        other = any(isinstance(item, SignalBlock) and item.stream.rig != self._rig for item in items)
        return () if other else items

    def _checked(self, block: SignalBlock, origin: Origin) -> tuple[SignalBlock | Event, ...]:
        """Return a block with the sample rate that its sender's times have, and what the sender contradicts."""
        sender = self._native_senders.get(block.stream.rig)
        if sender is None:
            if len(self._native_senders) >= MAX_SENDERS:
                return (block,)
            sender = self._native_senders[block.stream.rig] = NativeSender()
        return sender.accept(block, (origin.url, origin.peer), origin.arrived)

    def _native(self, frames: Frames) -> SignalBlock:
        if not frames[0].startswith(_SIGNALS):
            raise WireError(f"unknown topic; signals come as {_SIGNALS.decode()}RIG")
        block = self._decoder.decode(frames)
        if not isinstance(block, SignalBlock):
            raise WireError("results under the topic of signals")
        return block

    def _plain(self, frames: Frames, origin: Origin) -> tuple[SignalBlock | Event, ...]:
        messages = decode_frames(frames)
        return tuple(item for message in messages for item in self._of_rig(self._accept(message, origin)))

    def _accept(self, message: PlainMessage, origin: Origin) -> tuple[SignalBlock | Event, ...]:
        connection = origin.url, origin.peer
        if message.rig is not None:
            if len(self._rig_names) > _MAX_NAMES:
                self._rig_names.clear()
            self._rig_names[connection] = self._rig_names[origin.url, _ANY] = message.rig
        # a sender that has connected again need not repeat its name
        rig = self._rig_names.get(connection) or self._rig_names.get((origin.url, _ANY), "")
        senders = self._senders.get(rig)
        if senders is None:
            if len(self._senders) >= MAX_SENDERS:
                raise WireError(f"more than {MAX_SENDERS} rigs send plain messages")
            senders = self._senders[rig] = PlainSenders(self._rate)
        return senders.accept(message, connection, origin.arrived)


class SignalSubscriber(Subscriber[SignalBlock]):
    """Subscription to rigs, native or plain, which reconnects.

    Parameters
    ----------
    connect, bind : endpoints, at least one; ``tcp://127.0.0.1:*`` finds a free port.
    rig : the only rig that is accepted; empty for all.
    sample_rate : Hz, for plain senders that do not send it.
    stale_after : s after which a connection without activity is closed and opened again.
    max_message : bytes allowed in one frame.
    queue_seconds : of unread messages, beyond which a replay is asked to hold.
    queue_bytes : of unread messages, beyond which new ones are dropped and counted.
    insecure : may bind where other machines can reach it without keys.
    security : the service's keys; `peer` is the public key of the rigs in `connect`.
    listening : from the start, or only from `listen` on, before which nothing is sent here and nothing queues up.
    context : of the caller, who then terminates it; by default its own.

    Raises
    ------
    TransportError : an endpoint is malformed or cannot be used.
    ValueError : the rate is not a positive number.
    """

    ended = False
    """A sender may always reconnect."""

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
        # plain senders use any topic or none: subscribe to all
        settings = SubscriberSettings(
            (b"",), stale_after, max_message, queue_seconds, queue_bytes, insecure=insecure, security=security
        )
        decoder = SignalDecoder(rig, sample_rate)
        super().__init__(
            decoder.decode,
            connect,
            bind,
            settings,
            context,
            listening=listening,
            unused=UnusedMessages(rig),
            held=decoder,
            reports_pauses=True,
        )


class SignalPublisher:
    """Publish the blocks of one rig.

    Parameters
    ----------
    bind, connect : one of the two is an endpoint; ``tcp://127.0.0.1:*`` finds a free port.
    reliable : `send` waits for the slowest subscriber instead of dropping: for a replay, never for a rig.
    queue_seconds : size of the queue of a slow subscriber, at 2000 messages a second.
    insecure : may bind where other machines can reach it without keys.
    security : the rig's keys.
    context : of the caller, who then terminates it; by default its own.

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
        queue_seconds: float = 10.0,
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
        """Where it is bound, with its port, or connected."""
        return self._socket.url

    @property
    def subscribed(self) -> bool:
        """There is a subscriber to signals; if it connects, also one that is away and may come back."""
        prefixes = self._socket.prefixes
        return any(prefix.startswith(_SIGNALS) or _SIGNALS.startswith(prefix) for prefix in prefixes)

    @property
    def rejection(self) -> str:
        """Why the peer that it connects to rejects it for good, in one line; empty if it does not."""
        return self._socket.rejection

    def wait_for_subscriber(self, timeout: float) -> bool:
        """Wait up to `timeout` s for a subscriber to signals; return whether there is one."""
        deadline = monotonic() + timeout
        while not self.subscribed:
            left = deadline - monotonic()
            if left <= 0:
                return False
            self._socket.wait(int(1000 * left) + 1)
        return True

    def send(self, block: SignalBlock, *, wait: bool = True) -> bool:
        """Send, and return whether ZeroMQ accepted the block.

        A reliable publisher waits, without a limit, while the queue of a subscriber is full or one asks to hold.
        Without `wait` it returns False then, and the caller must send the block again: no subscriber has got it.

        Raises
        ------
        TransportError : the peer that it connects to rejects it for good; a new publisher may be accepted.
        """
        accepted = self._socket.send(self._encoder.encode(block), wait=self._reliable and wait)
        if self._reliable and not accepted:
            return False
        self._next = block.tail(len(block))
        self._last_sent = monotonic()
        return accepted

    def heartbeat(self) -> bool:
        """Send a block without samples that carries the next index; return False before the first block.

        It never waits; a heartbeat that finds no room is dropped.
        """
        return self._next is not None and self.send(self._next, wait=False)

    def heartbeat_if_idle(self) -> bool:
        """Send a heartbeat if nothing was sent for 0.5 s; to be called by a loop that is idle."""
        return monotonic() - self._last_sent >= _IDLE and self.heartbeat()

    def close(self, linger: float = 5.0) -> None:
        """Close; wait at most `linger` s for the queues of subscribers. A second call does nothing."""
        self._socket.close(linger)
