"""The unit of a sender's times: s, or ms, µs or ns, by the year 1970 or by the sample rate."""

from __future__ import annotations

import math

_UNITS = {0: "s", 1: "ms", 2: "µs", 3: "ns"}
_NEAR = 0.4  # decades that the interval of two times may differ from that of their samples
_EPOCH = (1e11, 1e14, 1e17)  # times since 1970 above it are in ms, µs, ns; in s, ms and µs it is the year 5138


class TimeUnit:
    """Find the unit of times by the first ones.

    Times above 10^11 are in ms, µs or ns since 1970. With a rate, the first interval decides: 5 a sample at 200 Hz
    are ms.
    """

    def __init__(self) -> None:
        self.scale = 1.0
        """Factor to s."""
        self._first: tuple[int, float] | None = None
        self._known = False

    @property
    def known(self) -> bool:
        """Whether two times have decided."""
        return self._known

    def reset(self) -> None:
        """Forget the first time: the rate is another one."""
        self._first, self._known = None, False

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
        if self._first is None or number < self._first[0]:
            self._first = number, time
            if abs(time) >= _EPOCH[0]:
                self.scale = 1e-3 ** sum(abs(time) >= least for least in _EPOCH)
        elif rate and number > self._first[0] and time > self._first[1]:
            self._known = True
            decades = math.log10((time - self._first[1]) * rate / (number - self._first[0]))
            power = min(max(round(decades / 3.0), 0), 3)
            if abs(decades - 3.0 * power) < _NEAR:
                self.scale = 1e-3**power
        if self.scale == before:
            return ""
        return _UNITS[round(-math.log10(self.scale) / 3.0)]
