"""One run of a sender of plain messages: its numbers and times, and what shows without them that samples are lost."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from statistics import median_low

import numpy as np

from monitor.messages.blocks import Samples
from monitor.wire.sample_numbering import SampleNumbering
from monitor.wire.sample_rate import RateCheck

_UNITS = {0: "s", 1: "ms", 2: "µs", 3: "ns"}
_NEAR = 0.4  # decades that the interval of two times may differ from that of their samples
_INTERVALS = 4
_EPOCH = (1e11, 1e14, 1e17)  # times since 1970 above it are in ms, µs, ns; in s, ms and µs it is the year 5138


class TimeUnit:
    """Find the unit of times by the first ones.

    Times above 10^11 are in ms, µs or ns since 1970. With a rate, the median of four intervals decides: 5 a sample at
    200 Hz are ms. One alone may be a pause.
    """

    def __init__(self) -> None:
        self.scale = 1.0
        """Factor to s."""
        self._newest: tuple[int, float] | None = None  # sample and time, the first of equal ones
        self._ratios: list[float] = []  # of intervals to those of the rate
        self.known = False
        """Whether the intervals have decided."""

    @property
    def doubted(self) -> bool:
        """Whether an interval is that of another unit, but not yet four have decided."""
        return not self.known and any(_power(ratio * self.scale) for ratio in self._ratios)

    def reset(self) -> None:
        """Forget the times: the rate is another one."""
        self._newest, self._ratios, self.known = None, [], False

    def find(self, number: int, time: float, rate: float) -> str:
        """Find the unit by the time of a sample, as it was sent; return it where it has changed, else an empty text.

        Parameters
        ----------
        number : of the sample.
        rate : Hz; 0: unknown.
        """
        if self.known:
            return ""
        before = self.scale
        if self._newest is None and abs(time) >= _EPOCH[0]:
            self.scale = 1e-3 ** sum(abs(time) >= least for least in _EPOCH)
        elif rate and self._newest is not None and number > self._newest[0] and time > self._newest[1]:
            self._ratios.append((time - self._newest[1]) * rate / (number - self._newest[0]))
        if self._newest is None or number < self._newest[0] or time != self._newest[1]:
            self._newest = number, time
        if len(self._ratios) >= _INTERVALS:
            self.known = True
            power = _power(median_low(self._ratios))
            self.scale = self.scale if power is None else 1e-3**power
        return self._changed(before)

    def compare(self, interval: float, arrivals: float) -> str | None:
        """Find the unit by an interval of times, as they were sent, and of their arrivals, s; return as `find`.

        None where the arrivals are those of no unit, as after a pause.
        """
        before = self.scale
        if (power := _power(interval / arrivals) if interval > 0.0 < arrivals else None) is None:
            return None
        self.scale = 1e-3**power
        return self._changed(before)

    def fits(self, number: int, time: float, rate: float) -> bool:
        """Whether the time of a sample is that of the next one, in any unit."""
        if self._newest is None or number <= self._newest[0] or time <= self._newest[1]:
            return True
        return _power((time - self._newest[1]) * rate / (number - self._newest[0])) is not None

    def _changed(self, before: float) -> str:
        if self.scale == before:
            return ""
        return _UNITS[round(-math.log10(self.scale) / 3.0)]


def _power(ratio: float) -> int | None:
    """Return the power of 1000 that a ratio is near to, 0 to 3; None if it is near to none."""
    if not 0.0 < ratio < math.inf:
        return None
    decades = math.log10(ratio)
    power = min(max(round(decades / 3.0), 0), 3)
    return power if abs(decades - 3.0 * power) < _NEAR else None


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


_WINDOW, _SILENCE = 5.0, 1.0  # s
_TOLERANCE = 0.03  # of the rate
_COMPARED, _EVERY = 64, 512  # samples that are compared, and from one comparison to the next
_IN_A_ROW, _VARIES = 4, 1.5  # comparisons that agree, and how much the differences change between them
_NEIGHBOURS = 4
_MIXED = 0.2  # of the difference from the sample before, below which the nearest of the others is

OWN_RIG = "give each sender a `rig` of its own"


class UnnumberedCheck:
    """Look at the samples of a sender that sends neither `index` nor `t`.

    The rate at which they arrive is compared with the sample rate, over five seconds without a pause of one. Now and
    then, 64 samples are compared with those before them: where another one than the last is far nearer, in every
    signal that moves, two signals alternate; hum and noise do so too, but evenly.
    """

    def __init__(self) -> None:
        self._began = self._newest = math.nan  # arrivals, s
        self._count = 0
        self._told = 1.0  # arrival rate over sample rate
        self._rows: list[Samples] = []
        self._n_rows = self._skip = 0
        self._jumps: deque[float] = deque(maxlen=_IN_A_ROW)
        self._told_mixed = False

    def add(self, samples: Samples, rate: float, arrived: float) -> str:
        """Add samples that `arrived` [s, monotonic; NaN: unknown]; return what is wrong, in one line, once."""
        return self._pace(len(samples), rate, arrived) or self._values(samples)

    def _pace(self, count: int, rate: float, arrived: float) -> str:
        elapsed = arrived - self._began
        paused = not arrived - self._newest <= _SILENCE
        if paused or elapsed >= _WINDOW:
            self._began, received, self._count = arrived, self._count, 0
        self._newest = arrived
        self._count += count
        if paused or elapsed < _WINDOW:
            return ""
        measured = received / elapsed
        pace = measured / rate
        if abs(pace - 1.0) <= _TOLERANCE or abs(pace / self._told - 1.0) <= _TOLERANCE:
            return ""
        self._told = pace
        come = f"samples without `index` and `t` come at {measured:.4g} Hz, not at the sample_rate of {rate:.6g} Hz"
        if pace < 1.0:
            return f"{come}: {100 * (1 - pace):.2g} % of them are lost, or the rate is wrong"
        return f"{come}: two senders are mixed ({OWN_RIG}), or the rate is wrong"

    def _values(self, samples: Samples) -> str:
        if self._told_mixed:
            return ""
        if self._skip > 0:
            self._skip -= len(samples)
            return ""
        self._rows.append(samples[:_COMPARED])
        self._n_rows += len(samples)
        if self._n_rows < _COMPARED:
            return ""
        rows = np.concatenate([each for each in self._rows if each.shape[1] == samples.shape[1]])
        self._rows, self._n_rows, self._skip = [], 0, _EVERY - _COMPARED
        self._jumps.append(jump_between(rows))
        jumps = self._jumps
        self._told_mixed = len(jumps) == _IN_A_ROW and min(jumps) > 0.0 and max(jumps) > _VARIES * min(jumps)
        return f"samples alternate between two signals: two senders are mixed, {OWN_RIG}" if self._told_mixed else ""


def jump_between(samples: Samples) -> float:
    """Return by how much samples (n_samples, n_channels) alternate in the first channel that moves; 0: not in all."""
    if len(samples) <= 2 * _NEIGHBOURS:
        return 0.0
    differences = [np.abs(samples[_NEIGHBOURS:] - samples[_NEIGHBOURS - k : -k]) for k in range(1, _NEIGHBOURS + 1)]
    last = np.nansum(differences[0], axis=0)
    nearest = np.nansum(np.fmin.reduce(differences), axis=0)
    moving = last > 0.0
    # a command that stands still has no hum
    alternates = np.count_nonzero(moving) > 1 and np.all(nearest[moving] < _MIXED * last[moving])
    return float(last[moving][0]) if alternates else 0.0
