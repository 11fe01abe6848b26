"""Signals that come in over ZeroMQ."""

from __future__ import annotations

from collections.abc import Sequence

import zmq

from monitor.messages.blocks import Event, SignalBlock
from monitor.transport.security.curve import Keys
from monitor.transport.zeromq.receiver import Receiver
from monitor.transport.zeromq.signal_decoder import SignalDecoder
from monitor.transport.zeromq.subscriber_socket import LinkSettings


class ZmqSource:
    """Subscribe to rigs, native or plain, and stay subscribed.

    Parameters
    ----------
    connect, bind : endpoints, at least one; ``tcp://127.0.0.1:*`` finds a free port.
    rig : the only rig that is let through; empty for all.
    sample_rate : Hz, for plain senders that do not say it.
    stale_after : s after which a connection without any sign of life is given up and made anew.
    max_message : bytes allowed in one frame.
    queue_seconds : of messages that may wait unread before a replay is held up.
    queue_bytes : of messages that may wait unread before what comes is dropped, which is told.
    insecure : may bind where other machines can reach it without keys.
    security : the service's keys; those of the rigs that are connected to are its `peer`.
    listening : from the start, or only from `listen` on, for who is not ready yet: nothing piles up meanwhile.
    context : of the caller, who then terminates it; by default an own one.

    Raises
    ------
    TransportError : an endpoint is malformed or cannot be used.
    ValueError : the rate is not a positive number.
    """

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
        intake = SignalDecoder(rig, sample_rate)
        # plain senders use any topic or none, so everything is subscribed to
        settings = LinkSettings(
            (b"",), stale_after, max_message, queue_seconds, queue_bytes, insecure=insecure, security=security
        )
        self._receiver = Receiver(intake.read, connect, bind, settings, context, listening=listening)

    @property
    def waiting(self) -> int:
        """How many messages have come and were not received yet."""
        return self._receiver.waiting

    @property
    def dropped_last(self) -> int:
        """How many messages were dropped for want of room since the last that was kept."""
        return self._receiver.dropped_last

    @property
    def waited(self) -> list[float]:
        """For how long each item of the last `receive` had waited for it, s."""
        return self._receiver.waited

    def listen(self) -> None:
        """Ask the rigs for their signals; a second call does nothing."""
        self._receiver.listen()

    def receive(self, timeout: float) -> list[SignalBlock | Event]:
        """Return what has arrived, in order; wait up to `timeout` s for the first; empty if nothing came.

        Never raises for what a sender does: messages refused make one REJECTED event that counts them, a
        connection that was lost and is back makes one RECONNECTED.
        """
        return self._receiver.receive(timeout)

    @property
    def endpoints(self) -> tuple[str, ...]:
        """What is bound, with the ports that were found, and then what is connected to."""
        return self._receiver.endpoints

    @property
    def ended(self) -> bool:
        """False: a sender may always come back."""
        return False

    def close(self) -> None:
        """Leave no socket behind; a second call does nothing."""
        self._receiver.close()
