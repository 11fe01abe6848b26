"""What waits to be written: how many samples and bytes, and since when."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from monitor.messages.blocks import Event, ResultBlock, SignalBlock

Item = SignalBlock | ResultBlock | Event

_STEP = 0.1  # s: ages are known as exactly as that
_OVERHEAD = 512  # bytes that an item takes beside its numbers


def size(item: Item) -> int:
    """Return how many bytes of memory an item takes, about."""
    if isinstance(item, SignalBlock):
        return item.samples.nbytes + _OVERHEAD
    return (item.values.nbytes if isinstance(item, ResultBlock) else 0) + _OVERHEAD


class Backlog:
    """Counts what one thread puts and another settles, in the same order; neither waits for the other.

    Parameters
    ----------
    clock : s, monotonic.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        # each of them is changed by one thread alone
        self._put_samples = self._put_bytes = 0
        self._settled_samples = self._settled_bytes = 0
        self._marks: deque[tuple[int, float]] = deque()  # number of a sample, and when it came

    def put(self, samples: int, n_bytes: int) -> None:
        """Count what waits from now on."""
        if samples:
            now = self._clock()
            if not self._marks or now - self._marks[-1][1] >= _STEP:
                self._marks.append((self._put_samples, now))
        self._put_samples += samples
        self._put_bytes += n_bytes

    def settle(self, samples: int, n_bytes: int) -> None:
        """Count what waits no longer: the oldest."""
        self._settled_samples += samples
        self._settled_bytes += n_bytes

    @property
    def samples(self) -> int:
        """How many samples wait."""
        return self._put_samples - self._settled_samples

    @property
    def n_bytes(self) -> int:
        """What waits takes so much memory."""
        return self._put_bytes - self._settled_bytes

    @property
    def age(self) -> float:
        """Since when the oldest sample waits, s; 0 when none does. For the thread that puts."""
        settled = self._settled_samples
        if settled >= self._put_samples:
            return 0.0
        while len(self._marks) > 1 and self._marks[1][0] <= settled:
            self._marks.popleft()
        return self._clock() - self._marks[0][1]
