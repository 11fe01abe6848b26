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
from monitor.indicators.parts.deviation import weighted_sum_deviations
from monitor.indicators.parts.fourier import Transform, new_transform, transform
from monitor.indicators.parts.residual import fit_delayed, interpolate
from monitor.kernel import kernel, part, reduction
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


class DelayedFit(NamedTuple):
    """Result of `fit_delayed`; ``delayed``, ``residual`` and ``bias`` are (n,)."""

    delayed: Samples
    residual: Samples
    bias: Samples
    start: int
    stop: int
    unexplained: float
    drift: float
    gain: float
    play: float


class Peak(NamedTuple):
    """Peak of the correlation: lag of measured behind the command in samples, its standard deviation, the
    coefficient.

    ``omega`` : mean angular frequency of the motion, rad a sample, from the width of the peak. ``measured`` :
    (n_window,), without its drift against the command. ``fit`` : of measured by the delayed command. NaN where there
    is no peak; the correlation is then the highest of all lags.
    """

    lag: float
    lag_sd: float
    correlation: float
    omega: float
    measured: Samples
    fit: DelayedFit


class LagPlan(NamedTuple):
    """What is compared: ``n_middle`` samples of measured from ``start`` on, at lags of up to ``max_lag``."""

    start: int
    n_middle: int
    max_lag: int
    transform: Transform


def plan_lags(n_window: int, n_middle: int, max_lag: int) -> LagPlan:
    """Return the plan of a correlation.

    Parameters
    ----------
    n_window : samples of the windows.
    n_middle : samples of measured that are compared, at most ``n_window - 2 * (max_lag + REACH)``.
    max_lag : samples.
    """
    return LagPlan((n_window - n_middle) // 2, n_middle, max_lag, new_transform(fast_length(n_window)))


@kernel
def find_peak(c: Samples, m: Samples, plan: LagPlan) -> Peak:
    """Return the highest peak of two windows, (n_window,) each, without their means and scaled to about one.

    Of nearly equal peaks, as those of a tone, it is the one nearest to zero lag. NaN where there is none, or where
    the correlation is higher at either end of the lags, so that the peak lies outside.
    """
    start, n, max_lag, n_window = plan.start, plan.n_middle, plan.max_lag, len(c)
    delayed, slope, residual, bias = np.empty(n_window), np.empty(n_window), np.empty(n_window), np.empty(n_window)
    no_fit = DelayedFit(delayed, residual, bias, 0, 0, np.nan, 0.0, np.nan, 0.0)
    middle = np.empty(n)
    mean = energy = power = 0.0
    for t in range(n):
        mean += m[start + t]
    for t in range(n):
        middle[t] = m[start + t] - mean / n
        energy += middle[t] * middle[t]
    for t in range(n_window):
        power += m[t] * m[t]
    if energy <= _ROUNDING * power:
        return Peak(np.nan, np.nan, np.nan, np.nan, m, no_fit)
    products = _correlate(c, middle, start, max_lag + 1, plan.transform)
    whole, half_width, highest = _find_peak(c, products, energy, start, n)
    if half_width == 0:
        return Peak(np.nan, np.nan, highest, np.nan, m, no_fit)
    lag, _, _ = _refine(c, m, float(whole), half_width, plan)
    if not abs(lag - whole) <= half_width + 1:
        return Peak(np.nan, np.nan, np.nan, np.nan, m, no_fit)
    fit_start, stop, unexplained, drift, gain, play = fit_delayed(c, m, lag, delayed, slope, residual, bias)
    if not np.isfinite(unexplained):
        return Peak(np.nan, np.nan, np.nan, np.nan, m, no_fit)
    fit = DelayedFit(delayed, residual, bias, fit_start, stop, unexplained, drift, gain, play)
    level = np.empty(n_window)
    for t in range(n_window):
        level[t] = m[t] - drift * t
    lag, by_sample, correlation = _refine(c, level, lag, half_width, plan)
    if not abs(lag) < max_lag + 0.5:
        return Peak(np.nan, np.nan, np.nan, np.nan, m, no_fit)
    for t in range(n_window):
        slope[t] = by_sample[t - start] if start <= t < start + n else 0.0
    lag_sd = weighted_sum_deviations(slope, slope, residual, bias, fit_start, stop)[0]
    return Peak(lag, lag_sd, correlation, np.arccos(_SLOPE_LEVEL) / half_width, level, fit)


@kernel
def _correlate(c: Samples, middle: Samples, start: int, reach: int, plan: Transform) -> Samples:
    """Return sums of products at lags from ``-reach`` to ``reach``, (2 reach + 1,)."""
    buffers, n = plan.buffers, plan.buffers.shape[1]
    for t in range(n):
        buffers[0, t] = c[t] if t < len(c) else 0.0
        buffers[1, t] = middle[t] if t < len(middle) else 0.0
    transform(plan)
    # the product of one spectrum with the conjugate of the other; its transform back is that of the conjugate
    for k in range(n // 2 + 1):
        at = n - k if k > 0 else 0
        x, y = complex(buffers[0, k], buffers[1, k]), complex(buffers[0, at], buffers[1, at])
        re = 0.5 * (x * y).imag
        im = 0.25 * (x.real * x.real + x.imag * x.imag - y.real * y.real - y.imag * y.imag)
        buffers[0, k], buffers[1, k], buffers[0, at], buffers[1, at] = re, -im, re, im
    transform(plan)
    products = np.empty(2 * reach + 1)
    for i in range(2 * reach + 1):
        products[i] = buffers[0, start + reach - i] / n
    return products


@kernel
def _refine(c: Samples, m: Samples, lag: float, half_width: int, plan: LagPlan) -> tuple[float, Samples, float]:
    """Return the refined lag, its derivative by each sample of the middle of measured, and the correlation."""
    n, correlation, largest = plan.n_middle, np.nan, plan.max_lag + 0.49
    slope, delayed, by_lag = np.zeros(n), np.empty(n), np.empty(n)
    for _ in range(_MAX_STEPS):
        clipped = min(max(lag, -largest), largest)
        interpolate(c, plan.start, clipped, delayed, by_lag)
        change, correlation = _lag_correction(delayed, by_lag, m, plan.start, half_width, slope)
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


@reduction
def _lag_correction(
    delayed: Samples, by_lag: Samples, m: Samples, start: int, half_width: int, slope: Samples
) -> tuple[float, float]:
    """Return the remaining lag and the correlation; write the lag's derivative by each sample of measured, (n,)."""
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
    gain = mc / cc if cc > 0.0 else 0.0
    if not (mm > 0.0 and gain * sb != 0.0):
        slope[:] = 0.0
        return np.nan, np.nan
    for t in range(n):
        slope[t] = (ahead[t] - behind[t] - mean_s) / (gain * sb)
    return (sm - gain * sc) / (gain * sb), mc / np.sqrt(mm * cc)
