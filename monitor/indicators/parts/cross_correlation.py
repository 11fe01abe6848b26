"""The lag at which measured looks most like the command, to a fraction of a sample.

Measured is the middle of a window, so that for every lag of either sign the whole of it is compared with a piece of
the command; each correlation is that of the two pieces alone, their own means removed and their own energies divided
out. So it is exactly one at the right lag; that of two whole windows is drawn towards zero lag.

Between the samples the peak is not sought on an interpolated correlation: white noise of the command loses power
between its samples, which draws the peak of any such curve to whole ones. At the peak, measured less the command that
comes so much later has nothing in common with the slope of measured; taken from measured itself, the slope shares no
noise with the command (ours).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monitor.indicators.parts.cross_spectra import fast_length
from monitor.indicators.parts.residual import Residual, delayed, residual_of, scatter
from monitor.kernel import kernel, part
from monitor.messages.blocks import Samples

# a peak this much below the highest is as good, when it lies nearer to zero lag
_NEARLY_EQUAL = 0.02
# peaks between which the correlation falls by less are one, of which noise makes several
_ONE = 0.2
# what sums and transforms leave of a constant piece, as a fraction of the window's energy
_ROUNDING = 1e-12
_STEPS = 4
# samples: a change of the lag that is none
_SETTLED = 1e-7
# the slope of measured is taken over the lags at which the correlation is still so much of its peak
_SLOPE = 0.9


class Peak(NamedTuple):
    """Lag of measured behind the command in samples, with its standard deviation, and the correlation there.

    ``pace`` rad a sample is that of the motion as a whole, as the correlation falls beside its peak.
    ``measured`` (n_window,) is without its drift against the command; ``left`` is what no lag and gain of the command
    explains in it. NaN, and None, where there is no peak.
    """

    lag: float
    lag_sd: float
    correlation: float
    pace: float
    measured: Samples
    left: Residual | None


class CrossCorrelation:
    """The correlation of the middle of measured with the command at all lags up to `most`, either sign.

    Parameters
    ----------
    n_window : samples of the windows.
    n_middle : samples of measured that are compared, at most ``n_window - 2 * (most + REACH)``.
    most : largest lag, samples.
    """

    def __init__(self, n_window: int, n_middle: int, most: int) -> None:
        self.start = (n_window - n_middle) // 2
        self.n_middle = n_middle
        self._most = most
        self._n_transform = fast_length(n_window)
        wave = np.sin(0.4 * np.arange(float(n_window)))
        self.peak(wave, wave)

    def peak(self, c: Samples, m: Samples) -> Peak:
        """Return the highest peak for windows (n_window,) each, without their means and scaled to about one.

        Of peaks that are nearly equal, as those of a tone are, it is the one nearest to zero lag. NaN where there is
        none, or the correlation is higher at an end of the lags, so that the peak lies beyond.
        """
        none = Peak(np.nan, np.nan, np.nan, np.nan, m, None)
        n, reach = self._n_transform, self._most + 1
        middle = m[self.start : self.start + self.n_middle]
        middle = middle - middle.sum() / self.n_middle
        energy = float(middle @ middle)
        if energy <= _ROUNDING * float(m @ m):
            return none
        both = np.fft.rfft(c, n) * np.fft.rfft(middle, n).conj()
        products: Samples = np.fft.irfft(both, n)[self.start - reach : self.start + reach + 1]
        whole, breadth = _find_peak(c, products[::-1].copy(), energy, self.start, self.n_middle)
        if breadth == 0:
            return none
        lag, _, _ = self._refine(c, m, float(whole), breadth)
        if not abs(lag - whole) <= breadth + 1:
            return none
        left = residual_of(c, m, lag)
        if not np.isfinite(left.share):
            return none
        level = m - left.drift * np.arange(float(len(m)))
        lag, slope, correlation = self._refine(c, level, lag, breadth)
        if not abs(lag) < self._most + 0.5:
            return none
        weights = np.zeros(len(m))
        weights[self.start : self.start + self.n_middle] = slope
        return Peak(lag, scatter(weights, left), correlation, np.arccos(_SLOPE) / breadth, level, left)

    def _refine(self, c: Samples, m: Samples, lag: float, breadth: int) -> tuple[float, Samples, float]:
        """Return the lag near `lag`, what each sample of the middle of measured adds to it, and the correlation."""
        slope, correlation = np.zeros(self.n_middle), np.nan
        for _ in range(_STEPS):
            inside = min(max(lag, -self._most - 0.49), self._most + 0.49)
            later, by_lag = delayed(c, self.start, self.n_middle, inside)
            slope, change, correlation = _step(later, by_lag, m, self.start, breadth)
            lag = inside + change
            if not abs(change) > _SETTLED:
                break
        return lag, slope, correlation


@kernel
def _find_peak(c: Samples, products: Samples, energy: float, start: int, n_middle: int) -> tuple[int, int]:
    """Return the lag of the peak, whole samples, and over how many the slope is to be taken: 0 for no peak."""
    n_lags = len(products)
    most = n_lags // 2 - 1
    sums = np.zeros((2, len(c) + 1))
    for i in range(len(c)):
        sums[0, i + 1] = sums[0, i] + c[i]
        sums[1, i + 1] = sums[1, i] + c[i] * c[i]
    # the correlation at every lag, -1 where the command's piece is constant
    at_lags = np.full(n_lags, -1.0)
    for i in range(n_lags):
        begin = start + most + 1 - i
        total = sums[0, begin + n_middle] - sums[0, begin]
        moving = sums[1, begin + n_middle] - sums[1, begin] - total * total / n_middle
        if moving > _ROUNDING * sums[1, len(c)]:
            at_lags[i] = products[i] / np.sqrt(energy * moving)
    best, found = -1.0, -1
    for i in range(1, n_lags - 1):
        if at_lags[i] > at_lags[i - 1] and at_lags[i] >= at_lags[i + 1] and _height(at_lags, i) > best:
            best, found = _height(at_lags, i), i
    # a correlation that is higher at an end belongs to a lag that is not among these
    if found < 0 or max(at_lags[0], at_lags[n_lags - 1]) > best + _NEARLY_EQUAL:
        return 0, 0
    # of nearly equal peaks the nearest to zero lag; maxima without a valley between them are one peak
    zero, chosen, top, lowest = most + 1, found, -1, best
    for i in range(1, n_lags):
        peak = i < n_lags - 1 and at_lags[i] > at_lags[i - 1] and at_lags[i] >= at_lags[i + 1]
        if top >= 0 and (i == n_lags - 1 or (peak and lowest <= best - _ONE)):
            nearer = abs(_place(at_lags, top) - zero) < abs(_place(at_lags, chosen) - zero)
            if nearer and _height(at_lags, top) >= best - _NEARLY_EQUAL:
                chosen = top
            top = -1
        if peak:
            top = i if top < 0 or at_lags[i] > at_lags[top] else top
            lowest = at_lags[i]
        lowest = min(lowest, at_lags[i])
    breadth = 1
    while breadth < most and _lowest_beside(at_lags, chosen, breadth) > _SLOPE * at_lags[chosen]:
        breadth += 1
    return chosen - zero, min(breadth, start - 1)


@part
def _place(at_lags: Samples, at: int) -> float:
    """Return where a peak between the lags is, by a parabola."""
    left, right = at_lags[at - 1], at_lags[at + 1]
    bend = left - 2.0 * at_lags[at] + right
    return float(at + 0.5 * (left - right) / bend if bend < 0.0 else at)


@part
def _height(at_lags: Samples, at: int) -> float:
    """Return the height of a peak between the lags, by a parabola."""
    left, right = at_lags[at - 1], at_lags[at + 1]
    bend = left - 2.0 * at_lags[at] + right
    return float(at_lags[at] - 0.125 * (left - right) * (left - right) / bend if bend < 0.0 else at_lags[at])


@part
def _lowest_beside(at_lags: Samples, at: int, breadth: int) -> float:
    left, right = max(at - breadth, 0), min(at + breadth, len(at_lags) - 1)
    return float(min(at_lags[left], at_lags[right]))


@kernel
def _step(later: Samples, by_lag: Samples, m: Samples, start: int, breadth: int) -> tuple[Samples, float, float]:
    """Return what each sample of measured adds to the lag that is left, that lag, and the correlation."""
    n = len(later)
    ahead, behind = m[start + breadth : start + breadth + n], m[start - breadth : start - breadth + n]
    middle = m[start : start + n]
    mean_m = mean_c = mean_s = mean_b = 0.0
    for t in range(n):
        mean_m, mean_c = mean_m + middle[t], mean_c + later[t]
        mean_s, mean_b = mean_s + (ahead[t] - behind[t]), mean_b + by_lag[t]
    mean_m, mean_c, mean_s, mean_b = mean_m / n, mean_c / n, mean_s / n, mean_b / n
    mm = mc = cc = sm = sc = sb = 0.0
    for t in range(n):
        x, y, s = later[t] - mean_c, middle[t] - mean_m, ahead[t] - behind[t] - mean_s
        mm, mc, cc = mm + y * y, mc + x * y, cc + x * x
        sm, sc, sb = sm + s * y, sc + s * x, sb + s * (by_lag[t] - mean_b)
    slope = np.zeros(n)
    gain = mc / cc if cc > 0.0 else 0.0
    if not (mm > 0.0 and gain * sb != 0.0):
        return slope, np.nan, np.nan
    for t in range(n):
        slope[t] = (ahead[t] - behind[t] - mean_s) / (gain * sb)
    return slope, (sm - gain * sc) / (gain * sb), mc / np.sqrt(mm * cc)
