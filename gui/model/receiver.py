"""The GUI's ZeroMQ subscription: messages sorted by kind, and the thread that receives them."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from threading import Event as Signal
from threading import Lock, Thread
from typing import Protocol, Self

from monitor.messages.alarms import AlarmReport
from monitor.messages.blocks import Event, ResultBlock, SignalBlock, TransferBlock
from monitor.messages.health import Health

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
        from monitor.transport.zeromq.key_files import keys_of
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


_POLL_INTERVAL = 0.05  # s
_MOST_EVENTS = 10_000
_BLOCK_OVERHEAD_BYTES = 512  # of a block, beside its numbers


class ReceiverThread:
    """Look at a link in a thread of its own, and keep what has come until it is taken.

    Where it is not taken for long the oldest signals and results are dropped, and their rows counted; of events the
    newest 10 000 stay. A failure ends the thread and is told in `failed`, in one line.

    Parameters
    ----------
    connect : makes the link; called in the thread, which closes the link too.
    most_bytes : of signals and results that wait.
    """

    def __init__(self, connect: Callable[[], ResultLink], most_bytes: int = 256 << 20) -> None:
        self._connect = connect
        self._most = most_bytes
        self._lock = Lock()
        self._stop = Signal()
        self._link: ResultLink | None = None
        self._health: Health | None = None
        self._transfer: TransferBlock | None = None
        self._alarms: AlarmReport | None = None
        self._waiting: deque[Streamed] = deque()
        self._bytes = self._n_events = 0
        self.dropped = 0
        self.failed = ""
        self._thread = Thread(target=self._run, name="receiver", daemon=True)
        self._thread.start()

    @property
    def silence(self) -> float:
        """Seconds since the service last said how it is, or since the link was made; 0 before that."""
        return 0.0 if self._link is None else self._link.silence

    @property
    def age(self) -> float:
        """Seconds since results last came, or since the link was made; infinite before that."""
        return math.inf if self._link is None else self._link.age

    def drain(self) -> ReceivedMessages:
        """Return what has come since the last call; does not wait."""
        with self._lock:
            waiting, self._waiting = self._waiting, deque()
            health, self._health = self._health, None
            transfer, self._transfer = self._transfer, None
            alarms, self._alarms = self._alarms, None
            self._bytes = self._n_events = 0
        return ReceivedMessages.of(waiting, health, transfer, alarms)

    def close(self) -> None:
        """End the thread and the link; a second call does nothing."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            link = self._link = self._connect()
            try:
                while not self._stop.is_set():
                    self._put(link.look(_POLL_INTERVAL))
            finally:
                link.close()
        except Exception as problem:  # noqa: BLE001  whatever it was, the window has to hear of it
            self.failed = " ".join(f"{problem}".split()) or type(problem).__name__

    def _put(self, arrivals: ReceivedMessages) -> None:
        with self._lock:
            self._health = arrivals.health or self._health
            self._transfer = arrivals.transfer or self._transfer
            self._alarms = arrivals.alarms or self._alarms
            for item in arrivals.in_order:
                self._waiting.append(item)
                self._bytes += _size(item)
                self._n_events += isinstance(item, Event)
            if self._bytes > self._most or self._n_events > _MOST_EVENTS:
                self._drop()

    def _drop(self) -> None:
        """Leave out the oldest: blocks until those that wait are few enough, and events likewise."""
        kept: list[Streamed] = []
        while self._waiting and (self._bytes > self._most or self._n_events > _MOST_EVENTS):
            item = self._waiting.popleft()
            event = isinstance(item, Event)
            if (self._n_events <= _MOST_EVENTS) if event else (self._bytes <= self._most):
                kept.append(item)
                continue
            self._n_events -= event
            self._bytes -= _size(item)
            self.dropped += 0 if isinstance(item, Event) else len(item)
        self._waiting.extendleft(reversed(kept))


def _size(item: Streamed) -> int:
    match item:
        case SignalBlock():
            return item.samples.nbytes + _BLOCK_OVERHEAD_BYTES
        case ResultBlock():
            return item.values.nbytes + _BLOCK_OVERHEAD_BYTES
        case Event():
            return 0
