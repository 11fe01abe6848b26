"""One run of a sender of plain messages, from one start to the next: its numbers and times."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

from monitor.messages.blocks import Samples
from monitor.wire.sample_numbering import SampleNumbering
from monitor.wire.sample_rate import RateCheck

_SURE = 8  # repeated messages
_STEADY = 1 / 256  # of a deviation that a steady time follows


@dataclass(frozen=True, slots=True)
class _Extent:
    """Range of the times or indices of a sender: first value, first of the newest message, newest value."""

    first: float
    start: float
    newest: float

    def is_restart(self, value: float, tolerance: float) -> bool:
        """Whether `value` is too far back for a late or repeated sample."""
        return value < self.newest - tolerance or value < self.first + (self.start - self.first) / 2

    def extended(self, start: float, newest: float) -> _Extent:
        return _Extent(self.first, max(self.start, start), max(self.newest, newest))


class RepeatedMessages:
    """Whether messages without `index` come again: equal `t` and values, among the newest four.

    A rounded `t` is that of several samples, equal ones while nothing moves: a message counts as repeated where its
    samples differ from each other, or after eight single ones that differed from those before; never after two
    messages had one `t` and other values.
    """

    def __init__(self) -> None:
        self._newest: deque[tuple[tuple[float, ...], bytes]] = deque(maxlen=4)
        self._time = -math.inf
        self._moved = False  # the newest message has other values than the one before
        self._singles = 0
        self._rounded = False

    def add(self, times: tuple[float, ...], samples: Samples) -> bool:
        """Add a message; return whether it is repeated."""
        if times[0] <= self._time and (times, samples.tobytes()) in self._newest:
            if len({row.tobytes() for row in samples}) > 1:
                self._singles = _SURE
            elif self._moved:
                self._singles, self._moved = self._singles + 1, False
            return self._singles >= _SURE and not self._rounded
        values = samples.tobytes()
        self._rounded |= times[0] <= self._time and any(times == each for each, _ in self._newest)
        self._moved = bool(self._newest) and values != self._newest[-1][1]
        self._time = max(self._time, times[0])
        self._newest.append((times, values))
        return False


class SenderRun:
    """One run of a sender: its numbers and times.

    Parameters
    ----------
    rate : Hz.
    """

    def __init__(self, rate: float) -> None:
        self.numbering = SampleNumbering(rate)
        self.check = RateCheck(rate)
        self.times: _Extent | None = None
        self._indices: _Extent | None = None
        self._reference = 0, 0.0
        self._stood = 0, math.nan  # number and value of a time that stands still
        self._still = 0.0  # for how long, s

    def forget_times(self) -> None:
        """Forget the times: their unit is another one."""
        following, self.numbering = self.numbering.next, SampleNumbering(self.numbering.rate)
        self.numbering.next = following
        self.times, self.check = None, RateCheck(self.numbering.rate)

    def follow(self, rate: float) -> None:
        """Set the rate, Hz."""
        if self.numbering.rate != rate:
            self.numbering.follow(rate)
        if self.check.rate != rate:
            self.check = RateCheck(rate)

    def restarts_at_time(self, t: float) -> bool:
        """Whether `t` is more than a second back, or in the first half of the run."""
        return self.times is not None and self.times.is_restart(t, 1.0)

    def restarts_at_index(self, index: int) -> bool:
        """Whether `index` is more than a second back, or in the first half of the run."""
        return self._indices is not None and self._indices.is_restart(index, self.numbering.rate)

    def set_reference(self, index: int, t: float) -> None:
        """Set that sample `index` was taken at `t`."""
        self._reference = index, t

    def steady_time(self, index: int, t: float) -> float:
        """Return the time of a numbered sample: `t`, or what follows from its number where `t` stands still at times.

        That is where it is rounded to more than an interval: to s, for example.
        """
        if t != self._stood[1]:
            self._stood = index, t
        self._still = max(self._still, (index - self._stood[0]) / self.numbering.rate)
        off = t - self.time_of(index)
        if self._still and abs(off) <= self._still + 2.0 / self.numbering.rate:
            t = self.time_of(index) + _STEADY * off
        self.set_reference(index, t)
        return t

    def time_of(self, index: int) -> float:
        """Return the time of sample `index`; sample 0 is at 0 s if the sender sends no times."""
        start, time = self._reference
        return time + (index - start) / self.numbering.rate

    def add_indices(self, index: int, count: int) -> None:
        """Record the reception of samples ``index .. index + count - 1``; `count` may be 0."""
        newest = index + max(count - 1, 0)
        self._indices = (self._indices or _Extent(index, index, newest)).extended(index, newest)
        self.numbering.next = max(self.numbering.next, index + count)

    def add_times(self, start: float, newest: float) -> None:
        """Record the first and the newest time of a message."""
        self.times = (self.times or _Extent(start, start, newest)).extended(start, newest)
