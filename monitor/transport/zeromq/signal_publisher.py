"""What a rig, or whatever plays one, uses to send its signals."""

from __future__ import annotations

from time import monotonic

import zmq

from monitor.messages.blocks import SignalBlock
from monitor.transport.security.curve import Keys
from monitor.transport.zeromq.publisher_socket import PublisherSocket
from monitor.wire import native as wire
from monitor.wire.native import Encoder

_IDLE = 0.5
_ALL_SIGNALS = wire.topic("signals")


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
        self._outlet = PublisherSocket(
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
        self._sent = monotonic()

    @property
    def endpoint(self) -> str:
        """What is bound, with its port, or connected to."""
        return self._outlet.url

    @property
    def subscribed(self) -> bool:
        """Somebody is subscribed to signals; a publisher that connects also counts one that may come back."""
        asked = self._outlet.prefixes
        return any(prefix.startswith(_ALL_SIGNALS) or _ALL_SIGNALS.startswith(prefix) for prefix in asked)

    @property
    def refused(self) -> str:
        """Why whoever is connected to refuses these signals for good, in one line; empty while nobody does."""
        return self._outlet.refused

    def wait_for_subscriber(self, timeout: float) -> bool:
        """Wait up to `timeout` s until somebody subscribes to signals; tell whether somebody has."""
        deadline = monotonic() + timeout
        while not self.subscribed:
            left = deadline - monotonic()
            if left <= 0:
                return False
            self._outlet.wait(int(1000 * left) + 1)
        return True

    def send(self, block: SignalBlock, *, wait: bool = True) -> bool:
        """Send, and tell whether ZeroMQ took it.

        If reliable this waits, for as long as it takes, while a subscriber's queue is full or one asks to hold.
        Without `wait` it returns False then, and the block is the caller's to send again: to nobody has it gone.

        Raises
        ------
        TransportError : whoever is connected to refuses for good; a new publisher may be let in.
        """
        taken = self._outlet.offer(self._encoder.encode(block), wait=self._reliable and wait)
        if self._reliable and not taken:
            return False
        self._next = block.tail(len(block))
        self._sent = monotonic()
        return taken

    def heartbeat(self) -> bool:
        """Send a block without samples that carries the index of the next one; nothing before the first.

        It never waits: where it finds no room, nobody misses it.
        """
        return self._next is not None and self.send(self._next, wait=False)

    def idle(self) -> bool:
        """Send a heartbeat if nothing was sent for 0.5 s; for a loop to call when it has nothing to do."""
        return monotonic() - self._sent >= _IDLE and self.heartbeat()

    def close(self, linger: float = 5.0) -> None:
        """Close; wait at most `linger` s for what subscribers have not taken. A second call does nothing."""
        self._outlet.close(linger)
