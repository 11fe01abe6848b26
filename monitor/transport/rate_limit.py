"""How often something may happen: token bucket, exponential backoff, and a steady interval."""

from __future__ import annotations

import random
from collections.abc import Callable
from time import monotonic


class TokenBucket:
    """A token bucket.

    Parameters
    ----------
    burst : times at once, after a pause.
    rate : times a second in the long run.
    clock : s, monotonic.
    """

    def __init__(self, burst: float, rate: float, clock: Callable[[], float] = monotonic) -> None:
        self._burst, self._rate, self._clock = burst, rate, clock
        self._left = float(burst)
        self._looked = clock()

    def take(self) -> bool:
        """Take one; False if none is left."""
        now = self._clock()
        self._left = min(self._left + self._rate * (now - self._looked), self._burst)
        self._looked = now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True


STABLE_AFTER = 30.0
"""s after which a connection counts as a good one."""


class Backoff:
    """Exponential, with full jitter: any wait between nothing and a bound that doubles.

    Parameters
    ----------
    first, most : s, the bound of the first wait and that of all.
    draw : uniform in [0, 1).
    """

    def __init__(self, first: float = 0.5, most: float = 60.0, draw: Callable[[], float] = random.random) -> None:
        self._first, self._most, self._draw = first, most, draw
        self._bound = first

    def succeeded(self, lasted: float) -> None:
        """Begin with short waits again if a connection has lasted."""
        if lasted >= STABLE_AFTER:
            self._bound = self._first

    def wait(self) -> float:
        """Return the next wait, s."""
        wait = self._draw() * self._bound
        self._bound = min(2.0 * self._bound, self._most)
        return wait

    def long_wait(self) -> float:
        """Return a long wait: a broker that refuses will not soon think better of it."""
        return (0.5 + 0.5 * self._draw()) * self._most


class SteadyInterval:
    """Tell how long to sleep until the next turn.

    Parameters
    ----------
    interval : s from one turn to the next.
    clock : s, monotonic.
    """

    def __init__(self, interval: float, clock: Callable[[], float] = monotonic) -> None:
        self._interval, self._clock = interval, clock
        self._due = clock()

    def remaining(self) -> float:
        """Return the s until the next turn; those that are past are left out."""
        now = self._clock()
        self._due = max(self._due + self._interval, now)
        return self._due - now
