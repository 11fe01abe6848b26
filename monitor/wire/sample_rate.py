"""Sample rates from times: how fast a sender samples, and whether that is what it declares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from monitor.messages.blocks import Samples
from monitor.wire.native import MAX_RATE, MIN_RATE

_COMMON_TOLERANCE = 0.005
_COMMON_RATES = (
    *(1.0, 1.2, 1.25, 1.5, 2.0, 2.4, 2.5, 3.0, 4.0, 4.8, 5.0, 6.0, 7.0, 7.5, 8.0, 9.0, 9.6, 10.0),
    *(1.6, 3.2, 6.4, 1.28, 2.56, 5.12, 1.024, 2.048, 4.096, 8.192, 1.6384, 3.2768, 6.5536),
)
_MOST_LOST = 0.5  # of the samples, beyond which times that are far apart are bursts
_ADVANCING = 0.9  # of the times, below which they are rounded or in bursts
_SLOW_CLOCK = 1 / 64  # s, of Windows
FASTEST = 1e6  # Hz, of a rate that no sender declares
_LONGEST = float(1 << 53) / MIN_RATE  # s between two samples


class RateEstimate(NamedTuple):
    """A sample rate [Hz], how far it may be off (scatter of the times over their span), and the number of times."""

    rate: float
    error: float
    times: int

    def contradicts(self, rate: float, tolerance: float) -> bool:
        """Whether `rate` is wrong by more than `tolerance`, beyond doubt."""
        return abs(self.rate / rate - 1.0) > tolerance + 2.0 * self.error


def estimate_sample_rate(positions: Sequence[int], times: Sequence[float]) -> RateEstimate | None:
    """Estimate the rate by the times of samples, or of some of them; None if the times do not advance.

    Parameters
    ----------
    positions : number of each sample in order of reception, lost samples not counted.
    times : s; as rounded, late or in bursts as they may be, and NaN where there is none.

    Notes
    -----
    Of equal times the first counts. If samples are missing, the intervals are multiples of the median one, and a line
    through the times by the numbers that follow from this fits far better than one by the order of reception. The
    times of bursts do so too, with most samples missing, and rounded ones where the interval is that of the rounding.
    """
    count, time = np.asarray(positions, dtype=np.float64), np.asarray(times, dtype=np.float64)
    finite = np.isfinite(time)
    count, time = count[finite], time[finite]
    if len(time) < 2:
        return None
    advances = np.concatenate(([False], time[1:] > np.maximum.accumulate(time)[:-1]))
    # where times are equal, how late the first sample is remains unknown
    in_bursts = not advances[1:].all()
    advances[0] = not in_bursts
    count, time = count[advances], time[advances]
    with np.errstate(over="ignore"):
        steps, spans = np.diff(count), np.diff(time)
        if not len(spans) or not float(np.max(spans)) < _LONGEST:
            return None
    shortest = float(np.quantile(spans / steps, 0.5, method="lower"))
    if not 1.0 / max(shortest, 0.5 / MAX_RATE) <= MAX_RATE:
        return None
    estimate = _line(count, time)
    if in_bursts:
        estimate = estimate._replace(error=max(estimate.error, float(np.max(spans)) / float(time[-1] - time[0])))
    numbers = np.concatenate(([0.0], np.cumsum(np.maximum(steps, np.rint(spans / shortest)))))
    lost = numbers[-1] - (count[-1] - count[0])
    # where times are equal, unequal groups are the rounding
    if _ADVANCING * len(finite) <= len(time) and 0 < lost <= _MOST_LOST * numbers[-1]:
        numbered = _line(numbers, time)
        rounding = 1.5 * shortest if _is_rounded_to(time, shortest) else 0.0
        if numbered.error < 0.5 * estimate.error and estimate.error * (time[-1] - time[0]) > rounding:
            estimate = numbered
    return estimate if MIN_RATE <= estimate.rate <= MAX_RATE else None


def _line(number: Samples, time: Samples) -> RateEstimate:
    centred = number - number.mean()
    interval = float(centred @ (time - time.mean()) / (centred @ centred))
    residual = time - interval * number
    scatter, span = float(np.ptp(residual)), float(time[-1] - time[0])
    return RateEstimate(1.0 / max(interval, 0.5 / MAX_RATE), scatter / span, len(time))


def _deviation(number: Samples, time: Samples, interval: float) -> float:
    """Return the mean absolute deviation of times from those of a rate, s."""
    residual = time - interval * number
    return float(np.mean(np.abs(residual - np.median(residual))))


def _is_rounded_to(time: Samples, interval: float) -> bool:
    """Whether the times are multiples of `interval`, a decimal unit such as 1 ms or that of a slow clock."""
    for unit in (10.0 ** round(math.log10(interval)), _SLOW_CLOCK):
        steps = time / unit
        if abs(interval - unit) < 0.01 * unit and np.all(np.abs(steps - np.rint(steps)) <= 0.01):
            return True
    return False


def round_to_common_rate(rate: float) -> float:
    """Return the common rate (1000, 1024, 51.2, ... Hz) within 0.5 % of `rate`, else `rate`."""
    power = math.floor(math.log10(rate))
    # through text, because 5.12 * 10**-2 is not the number nearest to 0.0512
    common = min((float(f"{m}e{power}") for m in _COMMON_RATES), key=lambda candidate: abs(candidate - rate))
    return common if abs(common - rate) <= _COMMON_TOLERANCE * rate else rate


_TOLERANCE = 0.005
POINTS_PER_SECOND = 32
_FIRST, _MOST = 16, 256  # points of the first look, and those that are kept
_LONGEST_INTERVAL = 0.25  # s between two points


class RateCheck:
    """Whether the times of a numbered stream agree with its rate, over seconds.

    A difference of more than 0.5 % that neither jitter, rounding, bursts nor a step of the clock explains is one. It
    is looked for in half a second of times, a second, and so on, up to a minute; after each difference that was found
    four times longer ones are required, so that a clock that runs by fits does not change the rate for ever.

    Parameters
    ----------
    rate : Hz, as declared or estimated.
    least : points, at 32 a second, of the first look.
    """

    def __init__(self, rate: float, least: int = _FIRST) -> None:
        self._least = least
        self._restart(rate)

    def _restart(self, rate: float) -> None:
        self.rate = rate
        """By the times, Hz."""
        self._step = max(1, int(rate / POINTS_PER_SECOND))
        self._due = -1
        self._numbers: list[int] = []
        self._times: list[float] = []
        self._look_at = self._least

    def add(self, number: int, time: float) -> float | None:
        """Add the time [s] of a sample; return the rate by the times where it is not the one before, Hz."""
        if number < self._due:
            # back by more than a repeated block: the numbers begin again
            if self._numbers and number < self._numbers[0]:
                self._restart(self.rate)
            return None
        self._due = number + self._step
        self._numbers.append(number)
        self._times.append(time)
        if len(self._times) < self._look_at:
            return None
        found = self._contradiction()
        if found is not None:
            self._least = min(4 * self._least, _MOST)
            self._restart(found)
            return found
        self._look_at *= 2
        if self._look_at > _MOST:
            self._thin()
        return None

    def _thin(self) -> None:
        """Keep every other point, or of points that are far apart the newer half."""
        if self._step < _LONGEST_INTERVAL * self.rate:
            self._step *= 2
            self._numbers, self._times = self._numbers[1::2], self._times[1::2]
        else:
            half = len(self._times) // 2
            self._numbers, self._times = self._numbers[half:], self._times[half:]
        self._look_at = _MOST

    def _contradiction(self) -> float | None:
        number, time = np.asarray(self._numbers, np.float64), np.asarray(self._times)
        span = time[-1] - time[0]
        if not 0.0 < span < _LONGEST:
            return None
        estimate = _line(number, time)
        if not MIN_RATE <= estimate.rate <= MAX_RATE or not estimate.contradicts(self.rate, _TOLERANCE):
            return None
        # pauses make a slope too, in which most intervals are right
        lag = max(1, len(time) // _FIRST)
        usual = self.rate * float(np.median((time[lag:] - time[:-lag]) / (number[lag:] - number[:-lag])))
        if abs(usual - 1.0) < abs(usual - self.rate / estimate.rate):
            return None
        # a few times that are off, as those of a first block, turn the line: the slope that most times have is theirs
        rates = [estimate.rate, *([self.rate / usual] if usual > 0.0 and self.rate / usual <= MAX_RATE else [])]
        return round_to_common_rate(min(rates, key=lambda rate: _deviation(number, time, 1.0 / rate)))


def rate_implausible(declared: float, rate: float) -> bool:
    """Whether a rate by the times is none: beyond 1 MHz, and not so by declaration (0: none), as of times in days."""
    return rate > FASTEST >= declared


def rate_contradicted(declared: float, rate: float) -> str:
    """Return the sentence for the operator."""
    times = rate / declared
    twice = f" ({times:.0f} senders mixed in one stream?)" if times > 1.5 and abs(times - round(times)) < 0.02 else ""
    used = f"which is used from here on{twice}"
    if rate_implausible(declared, rate):
        used = "which is not used: send `t` in s, not in days"
    told = f"the times of the samples contradict the sample_rate of {declared:.6g} Hz"
    return f"{told}: by them it is {rate:.6g} Hz, {used}"
