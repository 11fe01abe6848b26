"""A source of what a test gives, and a sink that keeps what it is given."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from monitor.messages import Sink
from monitor.messages.blocks import Event, SignalBlock


class MemorySource:
    """Returns items one at a time, after which it has ended, or waits for ever."""

    dropped_at_end = 0

    def __init__(self, items: Iterable[SignalBlock | Event], *, ends: bool = True) -> None:
        self._items, self._ends = deque(items), ends
        self.ended, self.waited = False, ()

    @property
    def waiting(self) -> int:
        return len(self._items)

    def receive(self, timeout: float) -> tuple[SignalBlock | Event, ...]:
        self.waited = (0.0,) * bool(self._items)
        self.ended = self.ended or (self._ends and not self._items)
        return (self._items.popleft(),) if self._items else ()

    def hold(self, *, on: bool) -> None: ...

    def close(self) -> None: ...


class MemorySink(Sink):
    """Keeps everything in lists, in order."""

    def __init__(self) -> None:
        self.signals_seen, self.results_seen = [], []
        self.events_seen, self.alarms_seen, self.health_seen = [], [], []
        self.closed = False

    def signals(self, block, arrived=None):
        self.signals_seen.append(block)

    def results(self, block):
        self.results_seen.append(block)

    def event(self, event):
        self.events_seen.append(event)

    def alarms(self, report):
        self.alarms_seen.append(report)

    def health(self, health):
        self.health_seen.append(health)

    def close(self) -> None:
        self.closed = True
