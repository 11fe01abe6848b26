"""The unit of a sender's times: s, or ms, µs or ns, by the year 1970 or by the sample rate."""

from __future__ import annotations

import math
from statistics import median_low

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
        self._known = False

    @property
    def known(self) -> bool:
        """Whether the intervals have decided."""
        return self._known

    @property
    def doubted(self) -> bool:
        """Whether an interval is that of another unit, but not yet four have decided."""
        return not self._known and any(_power(ratio * self.scale) for ratio in self._ratios)

    def reset(self) -> None:
        """Forget the times: the rate is another one."""
        self._newest, self._ratios, self._known = None, [], False

    def find(self, number: int, time: float, rate: float) -> str:
        """Find the unit by the time of a sample, as it was sent; return it where it has changed, else an empty text.

        Parameters
        ----------
        number : of the sample.
        rate : Hz; 0: unknown.
        """
        if self._known:
            return ""
        before = self.scale
        if self._newest is None and abs(time) >= _EPOCH[0]:
            self.scale = 1e-3 ** sum(abs(time) >= least for least in _EPOCH)
        elif rate and self._newest is not None and number > self._newest[0] and time > self._newest[1]:
            self._ratios.append((time - self._newest[1]) * rate / (number - self._newest[0]))
        if self._newest is None or number < self._newest[0] or time != self._newest[1]:
            self._newest = number, time
        if len(self._ratios) >= _INTERVALS:
            self._known = True
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
