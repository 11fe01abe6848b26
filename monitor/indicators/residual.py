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
_FEW = 1.15
# of the measured signal's power: beyond it the two have nothing to do with each other
UNRELATED = 0.3


@part
def fit_delayed(
    c: Samples, m: Samples, lag: float, weights: Samples, later: Samples, slope: Samples, rest: Samples
) -> tuple[int, int, float, float]:
    """Fit measured by the command `lag` samples later, its slope, an offset and a drift; fill in what is left.

    Parameters
    ----------
    c, m : (n,), a window of each, oldest first.
    weights : of the polynomial between samples, see `fractional_lag`.
    later, slope : (n,), overwritten: the delayed command and what a lag changes in it, both without offset and drift.
    rest : (n,), overwritten: what the fit leaves of measured.

    Returns
    -------
    start, stop : the samples for which all this is known.
    share : of the power of measured, its offset and drift removed, that is left; NaN where nothing is known.
    drift : of measured against the command, a sample.
    """
    n = c.shape[0]
    whole = int(np.rint(lag))
    s = lag - whole
    start, stop = max(0, whole + REACH), min(n, n + whole - REACH)
    if stop - start < 2 * N_BLOCKS:
        return start, start, np.nan, 0.0
    for t in range(start, stop):
        later[t] = slope[t] = 0.0
    for i in range(POINTS):
        value = bend = 0.0
        for power in range(POINTS - 1, -1, -1):
            bend = bend * s + value
            value = value * s + weights[i, power]
        # the first of the weights is for the lag of -REACH
        shift = whole + i - REACH
        for t in range(start, stop):
            later[t] += value * c[t - shift]
            slope[t] += bend * c[t - shift]
    for t in range(start, stop):
        rest[t] = m[t]
    tilt_a, tilt_b = _level(later, start, stop), _level(slope, start, stop)
    tilt_m = _level(rest, start, stop)
    aa = ab = bb = am = bm = mm = 0.0
    for t in range(start, stop):
        a, b, y = later[t], slope[t], rest[t]
        aa, ab, bb = aa + a * a, ab + a * b, bb + b * b
        am, bm, mm = am + a * y, bm + b * y, mm + y * y
    power = aa * bb - ab * ab
    if not (power > 1e-12 * aa * bb and mm > 0.0):
        return start, start, np.nan, 0.0
    gain, by_slope = (am * bb - bm * ab) / power, (bm * aa - am * ab) / power
    left = 0.0
    for t in range(start, stop):
        rest[t] -= gain * later[t] + by_slope * slope[t]
        left += rest[t] * rest[t]
    return start, stop, left / mm, tilt_m - gain * tilt_a - by_slope * tilt_b


@part
def _level(x: Samples, start: int, stop: int) -> float:
    """Take offset and drift out of the samples from `start` to `stop`; return the drift, a sample."""
    n = stop - start
    middle, mean, tilt = 0.5 * (n - 1), 0.0, 0.0
    origin = x[start]
    for i in range(n):
        mean += x[start + i] - origin
        tilt += (i - middle) * (x[start + i] - origin)
    mean, tilt = mean / n + origin, 12.0 * tilt / (n * (n * float(n) - 1.0))
    for i in range(n):
        x[start + i] -= mean + tilt * (i - middle)
    return tilt


@part
def scatter_of_sum(weight: Samples, rest: Samples, start: int, stop: int) -> float:
    """Return the standard deviation of ``sum weight rest`` over the samples from `start` to `stop`."""
    total = squares = 0.0
    for block in range(N_BLOCKS):
        first = start + block * (stop - start) // N_BLOCKS
        last = start + (block + 1) * (stop - start) // N_BLOCKS
        part_sum = 0.0
        for t in range(first, last):
            part_sum += weight[t] * rest[t]
        total += part_sum
        squares += part_sum * part_sum
    return _FEW * np.sqrt(max(squares - total * total / N_BLOCKS, 0.0))
