"""Sample times -> sample indices, for senders that do not number their samples.

A sender's clock and its sampling never agree exactly, and its times jitter. The timeline follows the
times slowly, so that neither shows as a lost or doubled sample, while a missing message does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

MAX_INDEX = 1 << 53
MIN_RATE = 1e-6
MAX_RATE = 1e9
# how much of a deviation the timeline takes over at once: an eighth keeps up with a rate that is 3 % wrong
_FOLLOW = 1 / 8
_SNAP = 0.005
_ROUND = (
    *(1.0, 1.2, 1.25, 1.5, 2.0, 2.4, 2.5, 3.0, 4.0, 4.8, 5.0, 6.0, 7.0, 7.5, 8.0, 9.0, 9.6, 10.0),
    *(1.6, 3.2, 6.4, 1.28, 2.56, 5.12, 1.024, 2.048, 4.096, 8.192, 1.6384, 3.2768, 6.5536),
)


@dataclass(frozen=True, slots=True)
class _Reach:
    """How far a sender has come: its first value, where its newest message starts, its newest value."""

    first: float
    start: float
    newest: float

    def left_behind_by(self, value: float, tolerance: float) -> bool:
        """Whether `value` lies too far back for a late or repeated sample."""
        return value < self.newest - tolerance or value < self.first + (self.start - self.first) / 2

    def extended(self, start: float, newest: float) -> _Reach:
        return _Reach(self.first, max(self.start, start), max(self.newest, newest))


class Timeline:
    """The indices of one run of a sender, from its start to its restart.

    Parameters
    ----------
    rate : Hz.
    """

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.next = 0
        self._anchor: tuple[int, float] | None = None
        self._times: _Reach | None = None
        self._indices: _Reach | None = None

    def restarts_at_time(self, t: float) -> bool:
        """Whether `t` is more than a second back, or in the first half of what has gone by."""
        return self._times is not None and self._times.left_behind_by(t, 1.0)

    def restarts_at_index(self, index: int) -> bool:
        """Whether `index` is more than a second back, or in the first half of what has gone by."""
        return self._indices is not None and self._indices.left_behind_by(index, self.rate)

    def locate(self, t: float) -> int:
        """Return the index of the sample taken at `t`, and follow the sender's clock.

        Raises
        ------
        ValueError : `t` is so far away that no index can be given.
        """
        if self._anchor is None:
            self._anchor = (self.next, t)
        index, time = self._anchor
        steps = (t - time) * self.rate
        if not abs(steps) < MAX_INDEX - index:
            raise ValueError(f"t {t} s is too far from the samples before it")
        whole = round(steps)
        if whole > 0:
            self._anchor = (index + whole, t - (1.0 - _FOLLOW) * (steps - whole) / self.rate)
        # later than all before it, it is a new sample, however its time was rounded
        newer = self._times is not None and t > self._times.newest
        return max(index + whole, self.next if newer else 0)

    def pin(self, index: int, t: float) -> None:
        """Take from the sender that sample `index` was taken at `t`."""
        self._anchor = (index, t)

    def time_of(self, index: int) -> float:
        """Return the time of sample `index`; without any time from the sender, sample 0 is at 0 s."""
        start, time = self._anchor or (0, 0.0)
        return time + (index - start) / self.rate

    def passed_indices(self, index: int, count: int) -> None:
        """Note that samples ``index .. index + count - 1`` came; `count` may be 0."""
        newest = index + max(count - 1, 0)
        self._indices = (self._indices or _Reach(index, index, newest)).extended(index, newest)
        self.next = max(self.next, index + count)

    def passed_times(self, start: float, newest: float) -> None:
        """Note that a message with these first and newest times came."""
        self._times = (self._times or _Reach(start, start, newest)).extended(start, newest)


def estimate_rate(positions: Sequence[int], times: Sequence[float]) -> float | None:
    """Return the sample rate in Hz, or None where the times do not advance.

    Parameters
    ----------
    positions : number of each sample as counted on arrival; a lost one is not counted.
    times : when it was taken, s.

    The median difference tells how many samples lie between two times, lost ones included; all of them
    together give the rate, which is rounded to a usual one within 0.5 %.
    """
    counts = np.diff(np.asarray(positions, dtype=np.float64))
    with np.errstate(over="ignore"):
        spans = np.diff(np.asarray(times, dtype=np.float64))
    # times further apart than that are no neighbours at any rate that is allowed
    usable = (counts > 0) & (spans > 0) & (spans < MAX_INDEX / MIN_RATE)
    counts, spans = counts[usable], spans[usable]
    if not len(spans):
        return None
    # the lower of two middle ones: a gap makes a difference larger, nothing makes it smaller
    period = float(np.quantile(spans / counts, 0.5, method="lower"))
    if not MIN_RATE <= 1.0 / max(period, 0.5 / MAX_RATE) <= MAX_RATE:
        return None
    return snap_rate(float(np.sum(np.rint(spans / period)) / np.sum(spans)))


def snap_rate(rate: float) -> float:
    """Return the usual rate (1000, 1024, 51.2, ... Hz) within 0.5 % of `rate`, or else `rate` itself."""
    power = math.floor(math.log10(rate))
    # through text, because 5.12 * 10**-2 is not the number nearest to 0.0512
    usual = min((float(f"{m}e{power}") for m in _ROUND), key=lambda candidate: abs(candidate - rate))
    return usual if abs(usual - rate) <= _SNAP * rate else rate
