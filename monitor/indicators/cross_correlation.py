"""The lag at which measured looks most like the command, to a fraction of a sample.

Measured is the middle of a window, so that for every lag of either sign the whole of it is compared with a piece of
the command; each correlation is that of the two pieces alone, their own means removed and their own energies divided
out. So it is exactly one at the right lag; that of two whole windows is drawn towards zero lag.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.fft

from monitor.blocks import Samples
from monitor.indicators.fractional_lag import POINTS, REACH, WEIGHTS
from monitor.kernel import kernel, part

# a peak this much below the highest is as good, when it lies nearer to zero lag
_NEARLY_EQUAL = 0.02
# samples hide this much of a peak at most
_HIDDEN = 0.2
# what sums and transforms leave of a constant piece, as a fraction of the window's energy
_ROUNDING = 1e-12
_STEPS = 6


class Peak(NamedTuple):
    """Lag of measured behind the command in samples, and the correlation there; NaN where there is none."""

    lag: float
    correlation: float


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
        self._n_transform = scipy.fft.next_fast_len(n_window, real=True)
        self.peak(np.zeros(n_window), np.zeros(n_window))

    def peak(self, c: Samples, m: Samples) -> Peak:
        """Return the highest peak for windows (n_window,) each, without their means and scaled to about one.

        Of peaks that are nearly equal, as those of a tone are, it is the one nearest to zero lag. NaN where there is
        none, or the correlation is higher at an end of the lags, so that the peak lies beyond.
        """
        n, reach = self._n_transform, self._most + REACH
        middle = m[self.start : self.start + self.n_middle]
        middle = middle - middle.sum() / self.n_middle
        energy = float(middle @ middle)
        if energy <= _ROUNDING * float(m @ m):
            energy = 0.0
        both = scipy.fft.rfft(c, n) * scipy.fft.rfft(middle, n).conj()
        products: Samples = scipy.fft.irfft(both, n)[self.start - reach : self.start + reach + 1]
        return Peak(*_find_peak(c, products[::-1].copy(), energy, self.start, self.n_middle, WEIGHTS))


@part
def _correlation(
    s: float, products: Samples, at: int, energies: Samples, weights: Samples, w: Samples
) -> tuple[float, float, float, float]:
    """Return product and energy with the command that is later by `s` samples more, and Newton's slope and bend.

    The command between its samples is a polynomial through them; the slope is that of a / sqrt(b), times b^1.5.
    """
    for i in range(POINTS):
        w[0, i], w[1, i], w[2, i] = 0.0, 0.0, 0.0
        for power in range(POINTS - 1, -1, -1):
            w[2, i] = w[2, i] * s + 2.0 * w[1, i]
            w[1, i] = w[1, i] * s + w[0, i]
            w[0, i] = w[0, i] * s + weights[i, power]
    a, a_1, a_2, b, b_1, b_2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(POINTS):
        a += w[0, i] * products[at + i]
        a_1 += w[1, i] * products[at + i]
        a_2 += w[2, i] * products[at + i]
        for j in range(POINTS):
            b += w[0, i] * energies[i, j] * w[0, j]
            b_1 += 2.0 * w[1, i] * energies[i, j] * w[0, j]
            b_2 += 2.0 * energies[i, j] * (w[2, i] * w[0, j] + w[1, i] * w[1, j])
    return a, b, a_1 * b - 0.5 * a * b_1, a_2 * b + 0.5 * a_1 * b_1 - 0.5 * a * b_2


@kernel
def _find_peak(
    c: Samples, products: Samples, energy: float, start: int, n_middle: int, weights: Samples
) -> tuple[float, float]:
    n_lags = len(products)
    most = n_lags // 2 - REACH
    sums = np.zeros((2, len(c) + 1))
    for i in range(len(c)):
        sums[0, i + 1] = sums[0, i] + c[i]
        sums[1, i + 1] = sums[1, i] + c[i] * c[i]
    # the correlation at every lag, -1 where the command's piece is constant
    at_lags = np.full(n_lags, -1.0)
    for i in range(n_lags):
        begin = start + most + REACH - i
        total = sums[0, begin + n_middle] - sums[0, begin]
        moving = sums[1, begin + n_middle] - sums[1, begin] - total * total / n_middle
        if energy > 0.0 and moving > _ROUNDING * sums[1, len(c)]:
            at_lags[i] = products[i] / np.sqrt(energy * moving)
    highest = -1.0
    for i in range(REACH, n_lags - REACH):
        if at_lags[i] > at_lags[i - 1] and at_lags[i] >= at_lags[i + 1]:
            highest = max(highest, at_lags[i])
    found = np.empty((n_lags, 2))
    n_found = 0
    w, energies = np.empty((3, POINTS)), np.empty((POINTS, POINTS))
    for i in range(REACH, n_lags - REACH):
        if not (at_lags[i] > at_lags[i - 1] and at_lags[i] >= at_lags[i + 1] and at_lags[i] >= highest - _HIDDEN):
            continue
        lag = i - REACH - most
        _energies_around(c, start - lag, n_middle, sums[0], energies)
        s = 0.0
        a, b, slope, bend = _correlation(s, products, i - REACH, energies, weights, w)
        for _ in range(_STEPS):
            if bend < 0.0 and abs(slope) <= -2.0 * bend:
                s = min(max(s - slope / bend, -1.0), 1.0)
                a, b, slope, bend = _correlation(s, products, i - REACH, energies, weights, w)
        if b > 0.0:
            found[n_found, 0], found[n_found, 1] = lag + s, min(a / np.sqrt(energy * b), 1.0)
            n_found += 1
    lag_found, correlation = np.nan, np.nan
    if n_found > 0:
        best = np.max(found[:n_found, 1])
        # a correlation that is higher at an end belongs to a lag that is not among these
        outside = np.max(at_lags[REACH - 1 : n_lags - REACH + 1]) > best + _NEARLY_EQUAL
        first = 0
        while first < n_found and not outside:
            # noise makes many peaks of one: they are one while the correlation between them does not fall
            top, last = first, first
            while last + 1 < n_found and _is_one(at_lags, found[last, 0], found[last + 1, 0], most, best):
                last += 1
                top = last if found[last, 1] > found[top, 1] else top
            lag, value = found[top, 0], found[top, 1]
            if value >= best - _NEARLY_EQUAL and not abs(lag) >= abs(lag_found):
                lag_found, correlation = lag, value
            first = last + 1
    return lag_found, correlation


@part
def _is_one(at_lags: Samples, left: float, right: float, most: int, best: float) -> bool:
    lowest = best
    for i in range(int(np.ceil(left)) + most + REACH, int(np.floor(right)) + most + REACH + 1):
        lowest = min(lowest, at_lags[i])
    return bool(lowest > best - _HIDDEN)


@part
def _energies_around(c: Samples, begin: int, n: int, sums: Samples, energies: Samples) -> None:
    """Fill in the products of the command's pieces that begin around a sample, without their means."""
    # the first row in full, the others by the samples that come and go
    for j in range(POINTS):
        energies[0, j] = 0.0
    first = begin + REACH
    for i in range(first, first + n):
        for j in range(POINTS):
            energies[0, j] += c[i] * c[i - j]
    for i in range(1, POINTS):
        for j in range(i, POINTS):
            come, go = first - i, first - i + n
            energies[i, j] = energies[i - 1, j - 1] + c[come] * c[come - j + i] - c[go] * c[go - j + i]
    for i in range(POINTS):
        for j in range(i, POINTS):
            total_i, total_j = sums[first - i + n] - sums[first - i], sums[first - j + n] - sums[first - j]
            energies[i, j] -= total_i * total_j / n
            energies[j, i] = energies[i, j]
