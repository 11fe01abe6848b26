"""An even pace that does not drift, and does not make up for what was missed."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic


class Pace:
    """Tell how long to sleep until the next turn.

    Parameters
    ----------
    interval : s from one turn to the next.
    clock : s, monotonic.
    """

    def __init__(self, interval: float, clock: Callable[[], float] = monotonic) -> None:
        self._interval, self._clock = interval, clock
        self._due = clock()

    def left(self) -> float:
        """Return the s until the next turn; those that are past are left out."""
        now = self._clock()
        self._due = max(self._due + self._interval, now)
        return self._due - now
