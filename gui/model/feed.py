"""The only thread crossing: a thread hears the service, the window takes what has come."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from threading import Event as Signal
from threading import Lock, Thread

from gui.model.link import ReceivedMessages, ResultLink, Streamed
from monitor.messages.alarms import AlarmReport
from monitor.messages.blocks import Event, ResultBlock, SignalBlock
from monitor.messages.health import Health
from monitor.messages.transfer import TransferBlock

_LOOK = 0.05
_MOST_EVENTS = 10_000
# bytes of a block beside its numbers
_BESIDE = 512


class Feed:
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
        self._thread = Thread(target=self._run, name="feed", daemon=True)
        self._thread.start()

    @property
    def silence(self) -> float:
        """Seconds since the service last said how it is, or since the link was made; 0 before that."""
        return 0.0 if self._link is None else self._link.silence

    @property
    def age(self) -> float:
        """Seconds since results last came, or since the link was made; infinite before that."""
        return math.inf if self._link is None else self._link.age

    def take(self) -> ReceivedMessages:
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
                    self._put(link.look(_LOOK))
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
            return item.samples.nbytes + _BESIDE
        case ResultBlock():
            return item.values.nbytes + _BESIDE
        case Event():
            return 0
