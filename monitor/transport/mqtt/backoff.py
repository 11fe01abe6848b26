"""How long to wait before a broker is tried again: longer every time, and never all clients at once."""

from __future__ import annotations

import random
from collections.abc import Callable

LASTED = 30.0
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
        if lasted >= LASTED:
            self._bound = self._first

    def wait(self) -> float:
        """Return the next wait, s."""
        wait = self._draw() * self._bound
        self._bound = min(2.0 * self._bound, self._most)
        return wait

    def slowly(self) -> float:
        """Return a long wait: a broker that refuses will not soon think better of it."""
        return (0.5 + 0.5 * self._draw()) * self._most
