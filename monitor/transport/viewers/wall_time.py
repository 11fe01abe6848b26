"""The rig's time -> seconds since 1970, for viewers that know no other time and must never see it go back."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from monitor.messages.blocks import SignalBlock

_JUMP = 1.0  # s by which a time may differ from what the index says
_SLEW = 1e-3  # of the time that passes: far more than clocks differ, far less than the eye sees


class WallTime:
    """Follow a rig's clock; what is returned for the samples of successive blocks always grows.

    The first block stands at the moment when it came, and from then on the rig's clock counts. It is held to the wall
    clock by one part in a thousand, so that a day ends at the right hour. After a restart, or where the rig's clock
    jumps, the block stands at its moment again, or right after the block before, whichever is later.

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
        self._heard = 0.0

    def follow(self, block: SignalBlock) -> None:
        """Take note of a block's times; one without samples, or without a time, says nothing."""
        if not len(block) or not math.isfinite(block.time):
            return
        dt, now = block.stream.dt, self._clock()
        newest = block.time + (len(block) - 1) * dt
        if self._is_new(block):
            # the newest sample is taken now, but none before the newest of the run before
            self._wall = max(now - (newest - block.time), self._newest + dt)
            self._rig = block.time
        else:
            most = _SLEW * (newest + dt - self._next_time)
            self._wall += min(max(now - self.of(newest), -most), most)
        self._epoch, self._next_index, self._next_time = block.stream.epoch, block.index + len(block), newest + dt
        self._newest = max(self._newest, self.of(newest))
        self._heard = self._monotonic()

    def _is_new(self, block: SignalBlock) -> bool:
        if self._epoch != block.stream.epoch or block.index < self._next_index:
            return True
        # a time so large that a sample changes nothing in it tells nothing
        if math.ulp(block.time) > block.stream.dt / 2:
            return True
        expected = self._next_time + (block.index - self._next_index) * block.stream.dt
        return abs(block.time - expected) > _JUMP or block.time < self._next_time - block.stream.dt / 2

    def of(self, t: float) -> float:
        """Return when `t`, s on the rig's clock, was."""
        return self._wall + (t - self._rig)

    def now(self) -> float:
        """Return this moment, as far after the newest sample as it has come later."""
        if self._epoch is None:
            return self._clock()
        return self._newest + (self._monotonic() - self._heard)
