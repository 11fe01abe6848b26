"""A rig's time in that of another clock, such as the wall clock or that of LSL."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from monitor.messages.blocks import SignalBlock

_JUMP = 1.0  # s by which a time may differ from the one expected by the index
_SLEW = 1e-3  # s per s: far more than the drift of clocks, too slow to be seen


class WallTime:
    """Conversion of a rig's time to s since 1970, increasing over successive blocks.

    The first block is placed at its time of arrival, from which the rig's clock counts. The conversion is slewed to
    the wall clock by one part in a thousand, so that it does not drift over a day. After a restart, or a jump of the
    rig's clock, the block is placed at its arrival again, or right after the block before, whichever is later.

    Parameters
    ----------
    clock : s since 1970; may jump.
    monotonic : s; never jumps.
    """

    def __init__(
        self, clock: Callable[[], float] = time.time, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock, self._monotonic = clock, monotonic
        self._epoch: int | None = None
        self._wall = self._rig = 0.0  # the same instant on both clocks
        self._next_index, self._next_time = 0, 0.0  # of the sample after the newest
        self._newest = -math.inf  # s since 1970, of the newest sample
        self._last_arrival = 0.0

    def update(self, block: SignalBlock) -> None:
        """Update with a block; one without samples, or without a finite time, is ignored."""
        if not len(block) or not math.isfinite(block.time):
            return
        dt, now = block.stream.dt, self._clock()
        newest = block.time + (len(block) - 1) * dt
        if self._is_discontinuous(block):
            # the newest sample is placed at now, but no sample before the newest of the former run
            self._wall = max(now - (newest - block.time), self._newest + dt)
            self._rig = block.time
        else:
            most = _SLEW * (newest + dt - self._next_time)
            self._wall += min(max(now - self.convert(newest), -most), most)
        self._epoch, self._next_index, self._next_time = block.stream.epoch, block.index + len(block), newest + dt
        self._newest = max(self._newest, self.convert(newest))
        self._last_arrival = self._monotonic()

    def _is_discontinuous(self, block: SignalBlock) -> bool:
        if self._epoch != block.stream.epoch or block.index < self._next_index:
            return True
        # a time so large that a sample is below its resolution
        if math.ulp(block.time) > block.stream.dt / 2:
            return True
        expected = self._next_time + (block.index - self._next_index) * block.stream.dt
        return abs(block.time - expected) > _JUMP or block.time < self._next_time - block.stream.dt / 2

    def convert(self, t: float) -> float:
        """Return `t`, s on the rig's clock, in s since 1970."""
        return self._wall + (t - self._rig)

    def now(self) -> float:
        """Return the current time: that of the newest sample plus the time since its arrival."""
        if self._epoch is None:
            return self._clock()
        return self._newest + (self._monotonic() - self._last_arrival)
