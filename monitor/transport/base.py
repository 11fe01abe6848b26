"""Protocols of sources, sinks and request servers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from monitor.messages import Sink
from monitor.messages.blocks import Event, SignalBlock
from monitor.messages.requests import Request


class TransportError(OSError):
    """An endpoint is malformed or cannot be used; the text says which, why and what to do."""


class BlockSource(Protocol):
    """Where blocks come from."""

    def receive(self, timeout: float) -> Sequence[SignalBlock | Event]:
        """Return what has arrived, in order; wait up to `timeout` s for the first item; empty if nothing came.

        Events report what the transport itself noticed: rejected messages, a reconnection.
        """

    @property
    def ended(self) -> bool:
        """Nothing more will come."""

    def close(self) -> None:
        """Release all resources; a second call does nothing."""


class SignalSource(BlockSource, Protocol):
    """A source that queues what arrives, and reports the state of the queue."""

    @property
    def waiting(self) -> int:
        """Messages that have arrived and are not received yet."""

    def hold(self, *, on: bool) -> None:
        """Ask senders that can wait, such as a replay, to hold, or to go on: results are late."""

    @property
    def dropped_at_end(self) -> int:
        """Messages dropped after the last one that was queued, of which no number shows the gap."""

    @property
    def waited(self) -> Sequence[float]:
        """How long each item of the last `receive` was queued, s."""


class ListeningSource(SignalSource, Protocol):
    """A source that receives nothing before `listen`."""

    @property
    def endpoints(self) -> Sequence[str]:
        """Where it receives."""

    def listen(self) -> None:
        """Receive from now on; a second call does nothing."""


class RecordingSink(Sink, Protocol):
    """A sink that gets samples when they arrive."""

    def signals(self, block: SignalBlock, arrived: float | None = None) -> None:
        """Accept samples in order of arrival; `arrived`: when, s, monotonic; by default now."""


@runtime_checkable
class FaultReporter(Protocol):
    """A part of the service that can fail while its calls still return."""

    @property
    def fault(self) -> str:
        """What is wrong, in one line; empty: nothing."""


class RequestServer(Protocol):
    """Where requests come from."""

    @property
    def endpoint(self) -> str:
        """Where a client sends them."""

    @property
    def refused(self) -> int:
        """Requests refused so far."""

    @property
    def trusted(self) -> bool:
        """Whether its clients are on this machine or have keys."""

    def serve(self, carry_out: Callable[[Request], None]) -> None:
        """Carry out and answer the requests that have come; never wait. A ValueError from `carry_out` refuses one."""

    def close(self) -> None:
        """Release all resources; a second call does nothing."""
