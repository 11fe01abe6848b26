"""The one way in: what a service publishes, sorted for those who show it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

from monitor.blocks import Event, ResultBlock, SignalBlock
from monitor.health import Health
from monitor.transfer import TransferBlock

Published = ResultBlock | TransferBlock | SignalBlock | Health | Event


class Subscription(Protocol):
    """What a link needs of `monitor.transport.zeromq.ResultSubscriber`."""

    def receive(self, timeout: float) -> Sequence[Published]:
        """Return what has arrived; wait up to `timeout` s for the first."""
        ...

    def close(self) -> None:
        """Release what is held."""
        ...


@dataclass(frozen=True, slots=True)
class Arrivals:
    """What came with one look: the newest health and transfer functions (None when none came), the rest in order."""

    health: Health | None = None
    events: tuple[Event, ...] = ()
    results: tuple[ResultBlock, ...] = ()
    transfer: TransferBlock | None = None


class ResultLink:
    """Ask a subscription for what is new.

    Parameters
    ----------
    subscription : where things come from; closed with the link.
    clock : s, monotonic.
    """

    def __init__(self, subscription: Subscription, clock: Callable[[], float] = time.monotonic) -> None:
        self._subscription = subscription
        self._clock = clock
        self._heard = self._served = clock()

    @classmethod
    def connect(cls, url: str, rig: str = "") -> Self:
        """Subscribe to the service at `url`.

        Raises
        ------
        TransportError : the endpoint is malformed.
        """
        from monitor.transport.zeromq import ResultSubscriber

        return cls(ResultSubscriber(url, rig=rig, kinds=("results", "transfer", "health", "event")))

    @property
    def silence(self) -> float:
        """Seconds since the service last said how it is, or since the link was made."""
        return self._clock() - self._heard

    @property
    def age(self) -> float:
        """Seconds since results last came, or since the link was made."""
        return self._clock() - self._served

    def look(self, timeout: float) -> Arrivals:
        """Return everything that has come; wait up to `timeout` s for the first of it."""
        health: Health | None = None
        transfer: TransferBlock | None = None
        events: list[Event] = []
        results: list[ResultBlock] = []
        for item in self._subscription.receive(timeout):
            match item:
                case Health():
                    health = item
                case Event():
                    events.append(item)
                case ResultBlock():
                    results.append(item)
                case TransferBlock():
                    transfer = item
                case SignalBlock():
                    pass
        if health is not None:
            self._heard = self._clock()
        if results:
            self._served = self._clock()
        return Arrivals(health, tuple(events), tuple(results), transfer)

    def close(self) -> None:
        """Leave; a second call does nothing."""
        self._subscription.close()
