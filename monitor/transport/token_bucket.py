"""How often something may happen: so many times at once, and so many a second in the long run."""

from __future__ import annotations

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
