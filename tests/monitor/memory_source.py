"""A source of what a test gives."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

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
