"""What the service needs of a transport, and no more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from monitor.messages.alarms import AlarmReport
from monitor.messages.blocks import Event, ResultBlock, SignalBlock
from monitor.messages.health import Health
from monitor.messages.requests import Request
from monitor.messages.transfer import TransferBlock


class TransportError(OSError):
    """An endpoint is malformed or cannot be used; the text says which, why and what to do."""


class Source(Protocol):
    """Where blocks come from."""

    def receive(self, timeout: float) -> Sequence[SignalBlock | Event]:
        """Return what has arrived, in order; wait up to `timeout` s for the first; empty if nothing came.

        Events tell what the transport itself noticed: messages refused, a socket rebuilt.
        """
        ...

    @property
    def ended(self) -> bool:
        """Nothing will come any more."""
        ...

    def close(self) -> None:
        """Release what is held; a second call does nothing."""
        ...


class LiveSource(Source, Protocol):
    """A source that does not wait for who receives."""

    @property
    def waiting(self) -> int:
        """How many messages have come and were not received yet."""
        ...

    @property
    def dropped_last(self) -> int:
        """How many messages were dropped since the last that was kept: no gap in what comes tells of them."""
        ...

    @property
    def waited(self) -> Sequence[float]:
        """For how long each item of the last `receive` had waited for it, s."""
        ...


class Sink(Protocol):
    """Where signals, results and events go. None of the calls waits: a sink that is late drops and counts."""

    def signals(self, block: SignalBlock) -> None:
        """Take the accepted samples."""
        ...

    def results(self, block: ResultBlock) -> None:
        """Take indicator values."""
        ...

    def transfer(self, block: TransferBlock) -> None:
        """Take transfer functions."""
        ...

    def event(self, event: Event) -> None:
        """Take an event."""
        ...

    def alarms(self, report: AlarmReport) -> None:
        """Take all alarms; with transitions as soon as there are some, without as often as `health`."""
        ...

    def health(self, health: Health) -> None:
        """Take a look at the service itself."""
        ...

    def close(self) -> None:
        """Finish; a second call does nothing."""
        ...


@runtime_checkable
class Troubled(Protocol):
    """What may be hampered without an end of its calls."""

    @property
    def trouble(self) -> str:
        """What is wrong, in one line; empty: nothing."""
        ...


class RequestServer(Protocol):
    """Where requests come from."""

    @property
    def endpoint(self) -> str:
        """Where a client sends them."""
        ...

    @property
    def refused(self) -> int:
        """How many requests were refused so far."""
        ...

    def serve(self, carry_out: Callable[[Request], None]) -> None:
        """Carry out and answer what has come; never wait. A ValueError from `carry_out` refuses the request."""
        ...

    def close(self) -> None:
        """Release what is held; a second call does nothing."""
        ...
