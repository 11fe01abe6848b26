"""A clock that stops while this process cannot run: suspended, swapped out, or held by one of its threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

PAUSE = 1.0
"""s without a turn of a loop from which the process counts as paused."""


def _with_suspension() -> float:
    """Return a monotonic time that includes the suspension of the machine, s."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


REAL_TIME: Callable[[], float] = _with_suspension if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic


class RunningClock:
    """Time in which this process could run, s: between two calls that are far apart it stops.

    It is called at each turn of a loop that never waits as long as `longest`. A limit on the time in which something
    must happen is then a limit on the time in which this process would have noticed. Any thread may call it.

    Parameters
    ----------
    longest : s between two calls, above which the time does not count.
    clock : s, monotonic; by default one that includes the suspension of the machine.
    """

    def __init__(self, longest: float = PAUSE, clock: Callable[[], float] = REAL_TIME) -> None:
        self._longest, self._clock = longest, clock
        self._last: float | None = None
        self._untold = 0.0
        self._lock = threading.Lock()
        self.paused = 0.0
        """All pauses since the first call, s."""

    def __call__(self) -> float:
        """Return the time, s."""
        with self._lock:
            now = self._clock()
            gap = 0.0 if self._last is None else now - self._last
            self._last = now
            if gap > self._longest:
                self.paused += gap
                self._untold += gap
            return now - self.paused

    def take_pause(self) -> float:
        """Return the pauses since the last such call, s; 0.0: none."""
        pause, self._untold = self._untold, 0.0
        return pause
