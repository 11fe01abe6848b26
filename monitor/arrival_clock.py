"""When samples came, reckoned by their own clock: a socket does not tell for how long a message has waited in it."""

from __future__ import annotations

import math
from collections.abc import Iterable

from monitor.blocks import SignalBlock

_MOST_AHEAD, _MARGIN = 1.5, 0.5  # times as fast as ours, and s beside


class ArrivalClock:
    """Compare a rig's clock with ours.

    What was received when nothing more was waiting has just come, so its time and ours belong together. As long as
    more is waiting, both clocks are taken to run alike: a sample came as long after that one as it was taken later.
    Where the rig's clock runs ahead of ours, as in a replay at full speed, nothing can be compared: what came is then
    taken to have come when it was received.
    """

    def __init__(self) -> None:
        self._epoch: int | None = None
        self._offset = math.inf  # ours - the rig's, s
        self._together = 0.0, 0.0  # an instant on either clock
        self._ahead = False
        self._empty, self._empty_before, self._received = -math.inf, -math.inf, 0.0

    def receive(self, blocks: Iterable[SignalBlock], now: float, *, more: bool) -> None:
        """Take note of what was received from one rig at `now`, s, if anything; `more` was waiting."""
        self._received, self._empty_before = now, self._empty
        newest = -math.inf
        for block in blocks:
            if block.stream.epoch != self._epoch:
                self._epoch, self._offset, newest = block.stream.epoch, math.inf, -math.inf
            if math.isfinite(end := _end(block)) and end > newest:
                newest = end
        if not more:
            self._empty = now
        if newest == -math.inf:
            return
        if not more or self._offset == math.inf:
            self._offset, self._together = now - newest, (now, newest)
        self._offset = min(self._offset, now - newest)
        passed, passed_there = now - self._together[0], newest - self._together[1]
        self._ahead = passed_there > _MOST_AHEAD * passed + _MARGIN

    def arrival(self, block: SignalBlock) -> float:
        """Return when the newest sample of `block` came, s on our clock; at the latest when it was received."""
        if self._ahead or block.stream.epoch != self._epoch or not math.isfinite(block.time):
            return self._received
        # what comes after the source was found empty was not there before
        return min(max(_end(block) + self._offset, self._empty_before), self._received)


def _end(block: SignalBlock) -> float:
    return block.time + len(block) / block.stream.sample_rate
