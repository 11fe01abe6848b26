"""How long a disk that has refused is left alone."""

from __future__ import annotations

import time
from collections.abc import Callable

_SHORTEST, _LONGEST = 1.0, 8.0  # s
_LASTING = 30.0  # s of recording after which a refusal is the first again


class RetryDelay:
    """One second after the first refusal, twice as long after each that soon follows, up to eight.

    Parameters
    ----------
    clock : s, monotonic.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._delay = 0.0
        self._begun = self._until = -float("inf")

    @property
    def over(self) -> bool:
        """It may be tried again."""
        return self._clock() >= self._until

    def begun(self) -> None:
        """Note that a file could be begun."""
        self._begun = self._clock()

    def refused(self) -> None:
        """Wait from now on."""
        now = self._clock()
        lasted = self._begun >= self._until and now - self._begun >= _LASTING
        self._delay = _SHORTEST if lasted else min(2.0 * self._delay, _LONGEST)
        self._until = now + self._delay
