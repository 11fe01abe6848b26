"""The one way in: what a service publishes, sorted for those who show it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, Self

from monitor.messages.alarms import AlarmReport
from monitor.messages.blocks import Event, ResultBlock, SignalBlock
from monitor.messages.health import Health
from monitor.messages.transfer import TransferBlock

Streamed = SignalBlock | ResultBlock | Event
_Published = ResultBlock | TransferBlock | SignalBlock | AlarmReport | Health | Event


class _Subscription(Protocol):
    """What a link needs of `ResultSubscriber`."""

    def receive(self, timeout: float) -> Sequence[_Published]:
        """Return what has arrived; wait up to `timeout` s for the first."""
        ...

    def close(self) -> None:
        """Release what is held."""
        ...


@dataclass(frozen=True, slots=True)
class ReceivedMessages:
    """What came with one look: the newest health, alarms and transfer functions (None: none came), the rest in order.

    `order` has events, results and signals as they came among each other: what is told of a restart comes after the
    block that began it. Where it is not given, signals come first and events last.
    """

    health: Health | None = None
    events: tuple[Event, ...] = ()
    results: tuple[ResultBlock, ...] = ()
    transfer: TransferBlock | None = None
    signals: tuple[SignalBlock, ...] = ()
    alarms: AlarmReport | None = None
    order: tuple[Streamed, ...] = field(default=(), compare=False, repr=False)

    @classmethod
    def of(
        cls,
        came: Iterable[Streamed],
        health: Health | None = None,
        transfer: TransferBlock | None = None,
        alarms: AlarmReport | None = None,
    ) -> Self:
        """Sort what came, in this order."""
        order = tuple(came)
        return cls(
            health,
            tuple(item for item in order if isinstance(item, Event)),
            tuple(item for item in order if isinstance(item, ResultBlock)),
            transfer,
            tuple(item for item in order if isinstance(item, SignalBlock)),
            alarms,
            order,
        )

    @property
    def in_order(self) -> tuple[Streamed, ...]:
        """Signals, results and events in the order in which they are to be taken."""
        return self.order or (*self.signals, *self.results, *self.events)

    def __bool__(self) -> bool:
        newest = (self.health, self.transfer, self.alarms)
        return any(item is not None for item in newest) or bool(self.in_order)


class ResultLink:
    """Ask a subscription for what is new.

    Parameters
    ----------
    subscription : where things come from; closed with the link.
    clock : s, monotonic.
    """

    def __init__(self, subscription: _Subscription, clock: Callable[[], float] = time.monotonic) -> None:
        self._subscription = subscription
        self._clock = clock
        self._heard = self._served = clock()

    @classmethod
    def connect(cls, url: str, rig: str = "", signals: bool = False, keys: str = "") -> Self:
        """Subscribe to the service at `url`, and to the signals that it sends on where these are wanted.

        With `keys`, the folder that was handed over, the connection is encrypted.

        Raises
        ------
        TransportError : the endpoint is malformed.
        KeyFileError : the keys are missing or not safe.
        """
        from monitor.transport.security.key_files import keys_of
        from monitor.transport.zeromq.results import ResultSubscriber

        kinds = ("results", "transfer", "alarms", "health", "event", *(("signals",) if signals else ()))
        return cls(ResultSubscriber(url, rig=rig, kinds=kinds, security=keys_of(keys)))

    @property
    def silence(self) -> float:
        """Seconds since the service last said how it is, or since the link was made."""
        return self._clock() - self._heard

    @property
    def age(self) -> float:
        """Seconds since results last came, or since the link was made."""
        return self._clock() - self._served

    def look(self, timeout: float) -> ReceivedMessages:
        """Return everything that has come; wait up to `timeout` s for the first of it."""
        health: Health | None = None
        transfer: TransferBlock | None = None
        alarms: AlarmReport | None = None
        order: list[Streamed] = []
        served = False
        for item in self._subscription.receive(timeout):
            match item:
                case Health():
                    health = item
                case TransferBlock():
                    transfer = item
                case AlarmReport():
                    alarms = item
                case _:
                    served |= isinstance(item, ResultBlock)
                    order.append(item)
        if health is not None:
            self._heard = self._clock()
        if served:
            self._served = self._clock()
        return ReceivedMessages.of(order, health, transfer, alarms)

    def close(self) -> None:
        """Leave; a second call does nothing."""
        self._subscription.close()
