"""What of the measured signal no delay and no gain of the command explains, and how uncertain it makes a reading.

A reading of a window - a phase, a gain, a lag - is a weighted sum of the measured samples, or nearly so. Its error is
the same sum over what the command does not explain. How much that scatters is known from the sums over a few blocks
of the window, whatever the colour of the noise and whatever the motion (batch means; Newey and West 1987 is a kin).
Weights times noise of white spectrum alone would be blind to hum, quantisation, a stroke limit and the rest.
"""

from __future__ import annotations

import numpy as np

from monitor.blocks import Samples
from monitor.indicators.fractional_lag import POINTS, REACH
from monitor.kernel import part

N_BLOCKS = 16
# of the scatter of so few blocks, for four fitted numbers and Student's t: measured in `benchmarks.truth`
_FEW = 1.17
# of the measured signal's power in the command's band: from the first on two motions may be alike by chance, beyond
# the second they have nothing to do with each other
_BY_CHANCE, UNRELATED = 0.05, 0.3
# what moves less, of its square, does not move
_ROUNDING = 1e-12
# of a period of the command, over which noise beyond its band is averaged
_EIGHTH = 0.25 * np.pi


@part
def fit_delayed(
    c: Samples, m: Samples, lag: float, weights: Samples, later: Samples, slope: Samples, rest: Samples
) -> tuple[int, int, float, float]:
    """Fit measured by the command `lag` samples later, its slope, an offset and a drift; fill in what is left.

    Parameters
    ----------
    c, m : (n,), a window of each, oldest first.
    weights : of the polynomial between samples, see `fractional_lag`.
    later, slope : (n,), overwritten: the delayed command, and what a lag changes in it.
    rest : (n,), overwritten: what the fit leaves of measured.

    Returns
    -------
    start, stop : the samples for which all this is known.
    share : of the power of measured in the command's band that is left, without offset and drift; NaN where nothing
        is known.
    drift : of measured against the command, a sample.
    """
    n_window = c.shape[0]
    whole = int(np.rint(lag))
    s = lag - whole
    start, stop = max(0, whole + REACH), min(n_window, n_window + whole - REACH)
    n = stop - start
    if n < N_BLOCKS:
        return start, start, np.nan, 0.0
    # cut so that indices begin at zero: those that might be negative are looked at one by one
    a, b, y, r = later[start:stop], slope[start:stop], m[start:stop], rest[start:stop]
    for t in range(n):
        a[t] = b[t] = 0.0
    for i in range(POINTS):
        value = bend = 0.0
        for power in range(POINTS - 1, -1, -1):
            bend = bend * s + value
            value = value * s + weights[i, power]
        # the first of the weights is for the lag of -REACH
        begin = start - whole - i + REACH
        piece = c[begin : begin + n]
        for t in range(n):
            a[t] += value * piece[t]
            b[t] += bend * piece[t]
    # about the first sample, so that a large offset takes no digits
    a_0, y_0, middle = a[0], y[0], 0.5 * (n - 1)
    sum_a = sum_b = sum_y = tilt_a = tilt_b = tilt_y = aa = ab = bb = ay = by = 0.0
    for t in range(n):
        at, bt, yt, x = a[t] - a_0, b[t], y[t] - y_0, t - middle
        sum_a, sum_b, sum_y = sum_a + at, sum_b + bt, sum_y + yt
        tilt_a, tilt_b, tilt_y = tilt_a + x * at, tilt_b + x * bt, tilt_y + x * yt
        aa, ab, bb, ay, by = aa + at * at, ab + at * bt, bb + bt * bt, ay + at * yt, by + bt * yt
    per_sample, per_tilt = 1.0 / n, 12.0 / (n * (n * float(n) - 1.0))
    raw_a, raw_b = aa, bb
    aa -= per_sample * sum_a * sum_a + per_tilt * tilt_a * tilt_a
    bb -= per_sample * sum_b * sum_b + per_tilt * tilt_b * tilt_b
    ab -= per_sample * sum_a * sum_b + per_tilt * tilt_a * tilt_b
    ay -= per_sample * sum_a * sum_y + per_tilt * tilt_a * tilt_y
    by -= per_sample * sum_b * sum_y + per_tilt * tilt_b * tilt_y
    power = aa * bb - ab * ab
    if not (aa > _ROUNDING * raw_a and bb > _ROUNDING * raw_b and power > _ROUNDING * aa * bb):
        return start, start, np.nan, 0.0
    gain, by_slope = (ay * bb - by * ab) / power, (by * aa - ay * ab) / power
    drift = per_tilt * (tilt_y - gain * tilt_a - by_slope * tilt_b)
    offset = y_0 - gain * a_0 + per_sample * (sum_y - gain * sum_a - by_slope * sum_b) - drift * middle
    for t in range(n):
        r[t] = y[t] - offset - drift * t - gain * a[t] - by_slope * b[t]
    # an eighth of the command's period in the mean
    width = min(max(int(_EIGHTH * np.sqrt(aa / bb)), 1), n // N_BLOCKS)
    mean_a, rise_a = a_0 + per_sample * sum_a, per_tilt * tilt_a
    left = moved = 0.0
    for first in range(0, n - width + 1, width):
        rest_sum = later_sum = 0.0
        for t in range(first, first + width):
            rest_sum, later_sum = rest_sum + r[t], later_sum + a[t]
        later_sum = gain * (later_sum - width * (mean_a + rise_a * (first + 0.5 * (width - 1) - middle)))
        left, moved = left + rest_sum * rest_sum, moved + later_sum * later_sum
    share = left / (left + moved) if left + moved > 0.0 else np.nan
    return start, stop, share, drift


@part
def with_chance(scatter: float, share: float) -> float:
    """Return the standard deviation of a phase [rad] or of a gain's logarithm, where so large a share is left.

    Two narrow motions look alike by chance for a window, and then their phase seems to be sharp.
    """
    return float(np.sqrt(scatter * scatter + max(share - _BY_CHANCE, 0.0)))


@part
def scatter_of_sums(one: Samples, two: Samples, rest: Samples, start: int, stop: int) -> tuple[float, float]:
    """Return the standard deviations of ``sum one rest`` and ``sum two rest`` over samples `start` to `stop`."""
    total_1 = squares_1 = total_2 = squares_2 = 0.0
    for block in range(N_BLOCKS):
        first = start + block * (stop - start) // N_BLOCKS
        last = start + (block + 1) * (stop - start) // N_BLOCKS
        w_1, w_2, r = one[first:last], two[first:last], rest[first:last]
        sum_1 = sum_2 = 0.0
        for t in range(last - first):
            sum_1 += w_1[t] * r[t]
            sum_2 += w_2[t] * r[t]
        total_1, squares_1 = total_1 + sum_1, squares_1 + sum_1 * sum_1
        total_2, squares_2 = total_2 + sum_2, squares_2 + sum_2 * sum_2
    variance_1 = max(squares_1 - total_1 * total_1 / N_BLOCKS, 0.0)
    variance_2 = max(squares_2 - total_2 * total_2 / N_BLOCKS, 0.0)
    return _FEW * np.sqrt(variance_1), _FEW * np.sqrt(variance_2)
