"""Least-squares fit of measured by the delayed command: residual, unexplained power, standard deviations.

A reading of a window - a phase, a gain, a lag - is a weighted sum of the measured samples, or nearly so. Its error is
the same weighted sum of the residual. Its variance is estimated from the sums over a few blocks of the window,
whatever the colour of the noise and whatever the motion (batch means; compare Newey and West 1987). The formula for
white noise would miss hum, quantisation and stroke limits.

Between samples the command is interpolated by the polynomial through nine samples, accurate up to a tenth of the
sample rate.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monitor.kernel import kernel, reduction, stack_array
from monitor.messages.blocks import Samples

# samples on either side of the nearest one that the interpolation uses
REACH = 4
POINTS = 2 * REACH + 1


def _weights() -> Samples:
    """Return (9, 9): coefficients of s^0 .. s^8 of the Lagrange weights, at a lag of s, of samples at lag -4 .. 4."""
    lags = np.arange(-REACH, REACH + 1.0)
    others = [lags[lags != lag] for lag in lags]
    return np.array([np.poly(zeros)[::-1] / np.prod(lag - zeros) for lag, zeros in zip(lags, others, strict=True)])


_WEIGHTS = _weights()


def delay_signal(x: Samples, start: int, n: int, lag: float) -> tuple[Samples, Samples]:
    """Return the signal delayed by `lag` samples, (n,) from sample `start` on, and its derivative by the lag."""
    value, slope = np.empty(n), np.empty(n)
    interpolate(x, start, float(lag), value, slope)
    return value, slope


@reduction
def interpolate(x: Samples, start: int, lag: float, value: Samples, slope: Samples) -> None:
    """Write the delayed signal and its derivative by the lag, see `delay_signal`."""
    whole = int(np.rint(lag))
    value_weights, slope_weights = stack_array(POINTS), stack_array(POINTS)
    for i in range(POINTS):
        # weights go from the lowest lag, which is the newest sample
        at = POINTS - 1 - i
        value_weights[at] = slope_weights[at] = 0.0
        for power in range(POINTS - 1, -1, -1):
            slope_weights[at] = slope_weights[at] * (lag - whole) + value_weights[at]
            value_weights[at] = value_weights[at] * (lag - whole) + _WEIGHTS[i, power]
    n, first = value.shape[0], start - whole - REACH
    piece = x[first : first + n + POINTS - 1]
    for t in range(n):
        sum_value = sum_slope = 0.0
        for i in range(POINTS):
            sum_value += value_weights[i] * piece[t + i]
            sum_slope += slope_weights[i] * piece[t + i]
        value[t], slope[t] = sum_value, sum_slope


N_BLOCKS = 16
# samples of a window: one a block, and those that the interpolation uses beyond the ends
SMALLEST_FIT = N_BLOCKS + 2 * REACH
# widens the standard deviation for a small number of blocks: four fitted parameters and Student's t, measured by
# `benchmarks.truth`
_SMALL_SAMPLE_FACTOR = 1.75
# squared backlash over its variance from which it is significant: noise mistaken for backlash would widen a band five
# times; the estimate is scaled up, because no real backlash is a step
_SIGNIFICANT_BACKLASH, _BACKLASH_SCALE = 12.0, 1.5
# unexplained share of the measured power in the command's band: from the first on two motions may agree by chance,
# beyond the second they are unrelated
_CHANCE_AGREEMENT, UNRELATED = 0.05, 0.3
# relative power below which a signal is constant
_ROUNDING = 1e-12
# rad, of the remaining lag: above it the linearisation is repeated
_NONLINEAR_LAG = 0.01
# autocorrelation of a tone after an eighth of a period
_EIGHTH_PERIOD_COSINE = np.sqrt(0.5)


@reduction
def fit_delayed(
    c: Samples, m: Samples, lag: float, delayed: Samples, slope: Samples, residual: Samples, backlash: Samples
) -> tuple[int, int, float, float, float]:
    """Fit measured by the delayed command, its derivative by the lag, an offset and a drift; write the residual.

    Where the derivative's coefficient shows a lag error above 0.01 rad, the fit is repeated at the corrected lag.

    Parameters
    ----------
    c, m : (n,), a window of each, oldest first.
    lag : of measured behind the command, samples.
    delayed, slope : (n,), overwritten: the delayed command, and its derivative by the lag.
    residual : (n,), overwritten.
    backlash : (n,), overwritten: the part of the residual due to backlash, see `_fit_backlash`.

    Returns
    -------
    start, stop : the samples for which these arrays are defined.
    unexplained : share of the measured power in the command's band in the residual; NaN where there is no fit.
    drift : of measured against the command, a sample.
    gain : measured over command.
    """
    n_window = c.shape[0]
    start = stop = n = 0
    if not abs(lag) < n_window:
        return start, start, np.nan, 0.0, np.nan
    gain = drift = aa = bb = 0.0
    for attempt in range(2):
        whole = int(np.rint(lag))
        start, stop = max(0, whole + REACH), min(n_window, n_window + whole - REACH)
        n = stop - start
        if n < N_BLOCKS:
            return start, start, np.nan, 0.0, np.nan
        # slices, because indices that cannot be negative are vectorised
        a, b, y, r = delayed[start:stop], slope[start:stop], m[start:stop], residual[start:stop]
        interpolate(c, start, lag, a, b)
        # about the first sample, so that a large offset costs no digits
        a_0, y_0, middle = a[0], y[0], 0.5 * (n - 1)
        sum_a = sum_b = sum_y = tilt_a = tilt_b = tilt_y = aa = ab = bb = ay = by = 0.0
        # a float counter, because conversions of integers are not vectorised
        x = -middle
        for t in range(n):
            at, bt, yt = a[t] - a_0, b[t], y[t] - y_0
            sum_a, sum_b, sum_y = sum_a + at, sum_b + bt, sum_y + yt
            tilt_a, tilt_b, tilt_y = tilt_a + x * at, tilt_b + x * bt, tilt_y + x * yt
            aa, ab, bb, ay, by = aa + at * at, ab + at * bt, bb + bt * bt, ay + at * yt, by + bt * yt
            x += 1.0
        per_sample, per_tilt = 1.0 / n, 12.0 / (n * (n * float(n) - 1.0))
        raw_a, raw_b = aa, bb
        aa -= per_sample * sum_a * sum_a + per_tilt * tilt_a * tilt_a
        bb -= per_sample * sum_b * sum_b + per_tilt * tilt_b * tilt_b
        ab -= per_sample * sum_a * sum_b + per_tilt * tilt_a * tilt_b
        ay -= per_sample * sum_a * sum_y + per_tilt * tilt_a * tilt_y
        by -= per_sample * sum_b * sum_y + per_tilt * tilt_b * tilt_y
        area = aa * bb - ab * ab
        if not (aa > _ROUNDING * raw_a and bb > _ROUNDING * raw_b and area > _ROUNDING * aa * bb):
            return start, start, np.nan, 0.0, np.nan
        gain, by_slope = (ay * bb - by * ab) / area, (by * aa - ay * ab) / area
        lag_change = by_slope / gain if gain != 0.0 else 0.0
        # the fit is linear in the lag: repeated where that is not enough
        if attempt == 0 and _NONLINEAR_LAG < abs(lag_change) * np.sqrt(bb / aa) < 1.0:
            lag += lag_change
            continue
        drift = per_tilt * (tilt_y - gain * tilt_a - by_slope * tilt_b)
        offset = y_0 - gain * a_0 + per_sample * (sum_y - gain * sum_a - by_slope * sum_b)
        mean_a, rise_a = a_0 + per_sample * sum_a, per_tilt * tilt_a
        detrended, x = backlash[start:stop], -middle
        for t in range(n):
            r[t] = y[t] - offset - drift * x - gain * a[t] - by_slope * b[t]
            detrended[t] = a[t] - mean_a - rise_a * x
            x += 1.0
        break
    detrended = backlash[start:stop]
    unexplained = _unexplained_share(detrended, residual[start:stop], gain)
    _fit_backlash(detrended, slope[start:stop], residual[start:stop], detrended)
    return start, stop, unexplained, drift, gain


@reduction
def apply_gain(delayed: Samples, residual: Samples, fitted: float, gain: float) -> None:
    """Change the residual, (n,), from that of the fitted gain to that of `gain`, as far as noise explains the change.

    Noise of the command biases the fitted gain towards zero. The residual then follows the motion and varies more
    from block to block than that of the unbiased gain. Noise changes a gain by no more than the unexplained share of
    power.
    """
    n, total, tilt, square, residual_power = delayed.shape[0], 0.0, 0.0, 0.0, 0.0
    middle, first, per_tilt = 0.5 * (n - 1), delayed[0], 12.0 / (n * (n * float(n) - 1.0))
    x = -middle
    for t in range(n):
        shifted = delayed[t] - first
        total, tilt, square = total + shifted, tilt + x * shifted, square + shifted * shifted
        residual_power += residual[t] * residual[t]
        x += 1.0
    mean, rise = first + total / n, tilt * per_tilt
    limit = residual_power / (abs(fitted) * (square - total * total / n - tilt * tilt * per_tilt))
    change = min(max(gain - fitted, -limit), limit)
    x = -middle
    for t in range(n):
        residual[t] -= change * (delayed[t] - mean - rise * x)
        x += 1.0


@reduction
def _unexplained_share(motion: Samples, residual: Samples, gain: float) -> float:
    """Return the residual's share of the measured power in the band of the `motion` of the command, (n,) each."""
    width, unexplained, explained = _eighth_period(motion), 0.0, 0.0
    for first in range(0, motion.shape[0] - width + 1, width):
        residual_sum = motion_sum = 0.0
        for t in range(first, first + width):
            residual_sum, motion_sum = residual_sum + residual[t], motion_sum + motion[t]
        unexplained += residual_sum * residual_sum
        explained += gain * motion_sum * gain * motion_sum
    return unexplained / (unexplained + explained) if unexplained + explained > 0.0 else np.nan


@reduction
def _eighth_period(motion: Samples) -> int:
    """Return about an eighth of a motion's period, samples, from its autocorrelation, which noise does not bias."""
    n = motion.shape[0]
    limit, width, first, last, narrower = n // N_BLOCKS, 1, 0.0, 0.0, 1
    while width < limit:
        product = 0.0
        one, other = motion[: n - width], motion[width:]
        for t in range(n - width):
            product += one[t] * other[t]
        product /= n - width
        if width == 1:
            first = last = product
        elif product < _EIGHTH_PERIOD_COSINE * first:
            # where the line from the last width to this one crosses the threshold
            crossing = (last - _EIGHTH_PERIOD_COSINE * first) / (last - product)
            width = narrower + int(np.rint((width - narrower) * crossing))
            break
        last, narrower = product, width
        width += max(1, width // 2)
    return int(max(min(width, limit), 1))


@reduction
def _fit_backlash(motion: Samples, slope: Samples, residual: Samples, backlash: Samples) -> None:
    """Write the backlash in the residual: a component of constant size with the sign of the velocity.

    A linear fit reads it as a delay, which depends on the amplitude. Where it is significant in the residual it is a
    bias, which the variance between blocks does not contain. `motion` is the delayed command without its line;
    `backlash` may be the same array.
    """
    n = residual.shape[0]
    aa = bb = own = with_a = with_b = total = squares = 0.0
    for block in range(N_BLOCKS):
        block_sum, first, last = 0.0, block * n // N_BLOCKS, (block + 1) * n // N_BLOCKS
        position, velocity, r = motion[first:last], slope[first:last], residual[first:last]
        for t in range(last - first):
            a, b = position[t], velocity[t]
            x = 1.0 if b > 0.0 else -1.0 if b < 0.0 else 0.0
            aa, bb, own = aa + a * a, bb + b * b, own + x * x
            with_a, with_b, block_sum = with_a + x * a, with_b + x * b, block_sum + x * r[t]
        total, squares = total + block_sum, squares + block_sum * block_sum
    # the part that the linear fit leaves
    own -= with_a * with_a / aa + with_b * with_b / bb
    noise = squares - total * total / N_BLOCKS
    significant = total * total > _SIGNIFICANT_BACKLASH * noise and own > 0.0
    size = _BACKLASH_SCALE * total / own if significant else 0.0
    for t in range(n):
        b = slope[t]
        backlash[t] = size if b > 0.0 else -size if b < 0.0 else 0.0


@kernel
def add_chance_agreement(sd: float, unexplained: float) -> float:
    """Return the standard deviation of a phase [rad] or of a gain's logarithm, widened for a large unexplained share.

    Two narrow-band motions may agree by chance over one window, and their phase then seems precise.
    """
    return float(np.sqrt(sd * sd + max(unexplained - _CHANCE_AGREEMENT, 0.0)))


@reduction
def weighted_sum_deviations(
    one: Samples, two: Samples, residual: Samples, backlash: Samples, start: int, stop: int
) -> tuple[float, float]:
    """Return the standard deviations of ``sum one residual`` and ``sum two residual`` from `start` to `stop`.

    The sums of `backlash` are added as a bias. Weights concentrated in few blocks widen the standard deviation.
    """
    total_1 = squares_1 = total_2 = squares_2 = bias_1 = bias_2 = 0.0
    weight_1 = spread_1 = weight_2 = spread_2 = 0.0
    for block in range(N_BLOCKS):
        first = start + block * (stop - start) // N_BLOCKS
        last = start + (block + 1) * (stop - start) // N_BLOCKS
        w_1, w_2, r, b = one[first:last], two[first:last], residual[first:last], backlash[first:last]
        sum_1 = sum_2 = size_1 = size_2 = 0.0
        for t in range(last - first):
            sum_1, sum_2 = sum_1 + w_1[t] * r[t], sum_2 + w_2[t] * r[t]
            size_1, size_2 = size_1 + w_1[t] * w_1[t], size_2 + w_2[t] * w_2[t]
            bias_1, bias_2 = bias_1 + w_1[t] * b[t], bias_2 + w_2[t] * b[t]
        total_1, squares_1 = total_1 + sum_1, squares_1 + sum_1 * sum_1
        total_2, squares_2 = total_2 + sum_2, squares_2 + sum_2 * sum_2
        weight_1, spread_1 = weight_1 + size_1, spread_1 + size_1 * size_1
        weight_2, spread_2 = weight_2 + size_2, spread_2 + size_2 * size_2
    factor_1 = 1.0 + _SMALL_SAMPLE_FACTOR * spread_1 / (weight_1 * weight_1) if weight_1 > 0.0 else np.nan
    factor_2 = 1.0 + _SMALL_SAMPLE_FACTOR * spread_2 / (weight_2 * weight_2) if weight_2 > 0.0 else np.nan
    variance_1 = factor_1 * factor_1 * max(squares_1 - total_1 * total_1 / N_BLOCKS, 0.0)
    variance_2 = factor_2 * factor_2 * max(squares_2 - total_2 * total_2 / N_BLOCKS, 0.0)
    return np.sqrt(variance_1 + bias_1 * bias_1), np.sqrt(variance_2 + bias_2 * bias_2)


class DelayedFit(NamedTuple):
    """Result of `fit_delayed`; ``delayed``, ``residual`` and ``backlash`` are (n,)."""

    delayed: Samples
    residual: Samples
    backlash: Samples
    start: int
    stop: int
    unexplained: float
    drift: float
    gain: float

    def with_gain(self, gain: float) -> DelayedFit:
        """Return the fit with another gain, see `apply_gain`."""
        residual = self.residual.copy()
        apply_gain(self.delayed[self.start : self.stop], residual[self.start : self.stop], self.gain, gain)
        return self._replace(residual=residual, gain=gain)


def delayed_fit(c: Samples, m: Samples, lag: float) -> DelayedFit:
    """Return the fit of measured by the command delayed by about `lag` samples, (n,) each."""
    delayed, slope, residual, backlash = np.empty((4, len(c)))
    return DelayedFit(delayed, residual, backlash, *fit_delayed(c, m, lag, delayed, slope, residual, backlash))


def weighted_sum_deviation(weight: Samples, fit: DelayedFit) -> float:
    """Return the standard deviation of a weighted sum of measured, (n,) weights."""
    return weighted_sum_deviations(weight, weight, fit.residual, fit.backlash, fit.start, fit.stop)[0]
