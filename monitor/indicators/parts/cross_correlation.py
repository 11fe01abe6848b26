"""Lag of maximum cross-correlation of measured with the command, to a fraction of a sample.

The middle of the measured window is compared with a piece of the command at every lag of either sign. Each
correlation coefficient uses the means and energies of its two pieces, so that it is exactly one at the true lag; the
correlation of two whole windows is biased towards zero lag.

Between samples the peak is not read from an interpolated correlation: interpolation attenuates white noise of the
command, which biases the peak towards whole samples. Instead the lag is the one at which measured minus the delayed
command is uncorrelated with the slope of measured, whose noise is independent of the command's (ours).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monitor.indicators.parts.cross_spectra import fast_length
from monitor.indicators.parts.residual import DelayedFit, delay_signal, delayed_fit, fit_deviations
from monitor.kernel import kernel, part
from monitor.messages.blocks import Samples

# a peak this much below the highest is preferred when it lies nearer to zero lag
_TIE_MARGIN = 0.02
# maxima between which the correlation falls by less belong to one peak, split by noise
_VALLEY_DEPTH = 0.2
# rounding of sums and transforms of a constant piece, as a fraction of the window's energy
_ROUNDING = 1e-12
_MAX_STEPS = 4
# samples: change of the lag at which the iteration has converged
_CONVERGED = 1e-7
# the slope of measured is a difference over the lags at which the correlation is above this fraction of its peak
_SLOPE_LEVEL = 0.9


class Peak(NamedTuple):
    """Peak of the correlation: lag of measured behind the command in samples, its standard deviation, the
    coefficient.

    ``omega`` : mean angular frequency of the motion, rad a sample, from the width of the peak. ``measured`` :
    (n_window,), without its drift against the command. ``fit`` : of measured by the delayed command. NaN, and None,
    where there is no peak; the correlation is then the highest of all lags.
    """

    lag: float
    lag_sd: float
    correlation: float
    omega: float
    measured: Samples
    fit: DelayedFit | None


class CrossCorrelation:
    """Correlation of the middle of measured with the command at all lags up to `max_lag`, either sign.

    Parameters
    ----------
    n_window : samples of the windows.
    n_middle : samples of measured that are compared, at most ``n_window - 2 * (max_lag + REACH)``.
    max_lag : samples.
    """

    def __init__(self, n_window: int, n_middle: int, max_lag: int) -> None:
        self.start = (n_window - n_middle) // 2
        self.n_middle = n_middle
        self._max_lag = max_lag
        self._n_transform = fast_length(n_window)
        wave = np.sin(0.4 * np.arange(float(n_window)))
        self.peak(wave, wave)

    def peak(self, c: Samples, m: Samples) -> Peak:
        """Return the highest peak of two windows, (n_window,) each, without their means and scaled to about one.

        Of nearly equal peaks, as those of a tone, it is the one nearest to zero lag. NaN where there is none, or
        where the correlation is higher at either end of the lags, so that the peak lies outside.
        """
        none = Peak(np.nan, np.nan, np.nan, np.nan, m, None)
        n, reach = self._n_transform, self._max_lag + 1
        middle = m[self.start : self.start + self.n_middle]
        middle = middle - middle.sum() / self.n_middle
        energy = float(middle @ middle)
        if energy <= _ROUNDING * float(m @ m):
            return none
        both = np.fft.rfft(c, n) * np.fft.rfft(middle, n).conj()
        products: Samples = np.fft.irfft(both, n)[self.start - reach : self.start + reach + 1]
        whole, half_width, highest = _find_peak(c, products[::-1].copy(), energy, self.start, self.n_middle)
        if half_width == 0:
            return none._replace(correlation=highest)
        lag, _, _ = self._refine(c, m, float(whole), half_width)
        if not abs(lag - whole) <= half_width + 1:
            return none
        fit = delayed_fit(c, m, lag)
        if not np.isfinite(fit.unexplained):
            return none
        level = m - fit.drift * np.arange(float(len(m)))
        lag, slope, correlation = self._refine(c, level, lag, half_width)
        if not abs(lag) < self._max_lag + 0.5:
            return none
        weights = np.zeros(len(m))
        weights[self.start : self.start + self.n_middle] = slope
        lag_sd, _ = fit_deviations(fit, weights, weights)
        return Peak(lag, lag_sd, correlation, np.arccos(_SLOPE_LEVEL) / half_width, level, fit)

    def _refine(self, c: Samples, m: Samples, lag: float, half_width: int) -> tuple[float, Samples, float]:
        """Return the refined lag, its derivative by each sample of the middle of measured, and the correlation."""
        slope, correlation = np.zeros(self.n_middle), np.nan
        for _ in range(_MAX_STEPS):
            clipped = min(max(lag, -self._max_lag - 0.49), self._max_lag + 0.49)
            delayed, by_lag = delay_signal(c, self.start, self.n_middle, clipped)
            slope, change, correlation = _lag_correction(delayed, by_lag, m, self.start, half_width)
            lag = clipped + change
            if not abs(change) > _CONVERGED:
                break
        return lag, slope, correlation


@kernel
def _find_peak(c: Samples, products: Samples, energy: float, start: int, n_middle: int) -> tuple[int, int, float]:
    """Return the lag of the peak, whole samples, half the width for the slope, samples, and the highest correlation.

    Where there is no peak within the lags both are 0.
    """
    n_lags = len(products)
    max_lag = n_lags // 2 - 1
    sums = np.zeros((2, len(c) + 1))
    for i in range(len(c)):
        sums[0, i + 1] = sums[0, i] + c[i]
        sums[1, i + 1] = sums[1, i] + c[i] * c[i]
    # correlation coefficients, -1 where the command's piece is constant
    rho = np.full(n_lags, -1.0)
    for i in range(n_lags):
        begin = start + max_lag + 1 - i
        total = sums[0, begin + n_middle] - sums[0, begin]
        moving = sums[1, begin + n_middle] - sums[1, begin] - total * total / n_middle
        if moving > _ROUNDING * sums[1, len(c)]:
            rho[i] = products[i] / np.sqrt(energy * moving)
    best, found = -1.0, -1
    for i in range(1, n_lags - 1):
        if rho[i] > rho[i - 1] and rho[i] >= rho[i + 1] and _peak_height(rho, i) > best:
            best, found = _peak_height(rho, i), i
    # a correlation that is higher at an end belongs to a peak outside these lags
    if found < 0 or max(rho[0], rho[n_lags - 1]) > best + _TIE_MARGIN:
        return 0, 0, max(best, rho[0], rho[n_lags - 1])
    # of nearly equal peaks the nearest to zero lag
    zero, chosen, top, lowest = max_lag + 1, found, -1, best
    for i in range(1, n_lags):
        peak = i < n_lags - 1 and rho[i] > rho[i - 1] and rho[i] >= rho[i + 1]
        if top >= 0 and (i == n_lags - 1 or (peak and lowest <= best - _VALLEY_DEPTH)):
            nearer = abs(_peak_position(rho, top) - zero) < abs(_peak_position(rho, chosen) - zero)
            if nearer and _peak_height(rho, top) >= best - _TIE_MARGIN:
                chosen = top
            top = -1
        if peak:
            top = i if top < 0 or rho[i] > rho[top] else top
            lowest = rho[i]
        lowest = min(lowest, rho[i])
    half_width = 1
    while half_width < max_lag and _lowest_at(rho, chosen, half_width) > _SLOPE_LEVEL * rho[chosen]:
        half_width += 1
    return chosen - zero, min(half_width, start - 1), best


@part
def _peak_position(rho: Samples, at: int) -> float:
    """Return the position of a peak between samples, by a parabola."""
    left, right = rho[at - 1], rho[at + 1]
    curvature = left - 2.0 * rho[at] + right
    return float(at + 0.5 * (left - right) / curvature if curvature < 0.0 else at)


@part
def _peak_height(rho: Samples, at: int) -> float:
    """Return the height of a peak between samples, by a parabola."""
    left, right = rho[at - 1], rho[at + 1]
    curvature = left - 2.0 * rho[at] + right
    return float(rho[at] - 0.125 * (left - right) * (left - right) / curvature if curvature < 0.0 else rho[at])


@part
def _lowest_at(rho: Samples, at: int, half_width: int) -> float:
    left, right = max(at - half_width, 0), min(at + half_width, len(rho) - 1)
    return float(min(rho[left], rho[right]))


@kernel
def _lag_correction(
    delayed: Samples, by_lag: Samples, m: Samples, start: int, half_width: int
) -> tuple[Samples, float, float]:
    """Return the derivative of the remaining lag by each sample of measured, that lag, and the correlation."""
    n = len(delayed)
    ahead, behind = m[start + half_width : start + half_width + n], m[start - half_width : start - half_width + n]
    middle = m[start : start + n]
    mean_m = mean_c = mean_s = mean_b = 0.0
    for t in range(n):
        mean_m, mean_c = mean_m + middle[t], mean_c + delayed[t]
        mean_s, mean_b = mean_s + (ahead[t] - behind[t]), mean_b + by_lag[t]
    mean_m, mean_c, mean_s, mean_b = mean_m / n, mean_c / n, mean_s / n, mean_b / n
    mm = mc = cc = sm = sc = sb = 0.0
    for t in range(n):
        x, y, s = delayed[t] - mean_c, middle[t] - mean_m, ahead[t] - behind[t] - mean_s
        mm, mc, cc = mm + y * y, mc + x * y, cc + x * x
        sm, sc, sb = sm + s * y, sc + s * x, sb + s * (by_lag[t] - mean_b)
    slope = np.zeros(n)
    gain = mc / cc if cc > 0.0 else 0.0
    if not (mm > 0.0 and gain * sb != 0.0):
        return slope, np.nan, np.nan
    for t in range(n):
        slope[t] = (ahead[t] - behind[t] - mean_s) / (gain * sb)
    return slope, (sm - gain * sc) / (gain * sb), mc / np.sqrt(mm * cc)
