"""DOC"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monitor.kernel import kernel, reduction
from monitor.messages.blocks import Samples

# samples on either side of the nearest one
REACH = 4
POINTS = 2 * REACH + 1


def _weights() -> Samples:
    """Return (9, 9): coefficients of s^0 .. s^8 in Lagrange's weight, at a lag of s, of the sample at lag -4 .. 4."""
    lags = np.arange(-REACH, REACH + 1)
    lines = []
    for lag in lags:
        others = lags[lags != lag]
        lines.append(np.poly(others)[::-1] / np.prod((lag - others).astype(np.float64)))
    return np.array(lines)


_WEIGHTS = _weights()


def delayed(x: Samples, start: int, n: int, lag: float) -> tuple[Samples, Samples]:
    """Return (n,) what the signal was `lag` samples before each sample from `start` on, and its slope by the lag."""
    value, slope = np.empty(n), np.empty(n)
    put_delayed(x, start, float(lag), value, slope)
    return value, slope


@reduction
def put_delayed(x: Samples, start: int, lag: float, value: Samples, slope: Samples) -> None:
    """Fill in what `delayed` returns."""
    whole = int(np.rint(lag))
    of_value, of_slope = np.zeros(POINTS), np.zeros(POINTS)
    for i in range(POINTS):
        # the weight of the sample at the lowest lag comes first, and that sample is the newest
        at = POINTS - 1 - i
        for power in range(POINTS - 1, -1, -1):
            of_slope[at] = of_slope[at] * (lag - whole) + of_value[at]
            of_value[at] = of_value[at] * (lag - whole) + _WEIGHTS[i, power]
    n, first = value.shape[0], start - whole - REACH
    piece = x[first : first + n + POINTS - 1]
    for t in range(n):
        between = bend = 0.0
        for i in range(POINTS):
            between += of_value[i] * piece[t + i]
            bend += of_slope[i] * piece[t + i]
        value[t], slope[t] = between, bend


N_BLOCKS = 16
# samples of a window, one a block: the polynomial between samples needs some beyond them
SMALLEST_FIT = N_BLOCKS + 2 * REACH
# of the scatter, over the number of blocks: for four fitted numbers and Student's t, measured in `benchmarks.truth`
_FEW = 1.75
# square of what is found of a play over its variance, from which on it is reckoned with: noise that passes for one
# would widen a band five times; it is found too small, for no play is a jump
_FOUND, _SMALLER = 12.0, 1.5
# of the measured signal's power in the command's band: from the first on two motions may be alike by chance, beyond
# the second they have nothing to do with each other
_BY_CHANCE, UNRELATED = 0.05, 0.3
# what moves less, of its square, does not move
_ROUNDING = 1e-12
# rad, of the lag that is left: its square is no longer small
_CURVED = 0.01
# of an eighth of a period
_COSINE = np.sqrt(0.5)


@reduction
def fit_delayed(
    c: Samples, m: Samples, lag: float, later: Samples, slope: Samples, rest: Samples, bent: Samples
) -> tuple[int, int, float, float, float]:
    """Fit measured by the command `lag` samples later, its slope, an offset and a drift; fill in what is left.

    Where the slope says that the lag is off by more than 0.01 rad, the fit is made once more at the better one.

    Parameters
    ----------
    c, m : (n,), a window of each, oldest first.
    later, slope : (n,), overwritten: the delayed command, and what a lag changes in it.
    rest : (n,), overwritten: what the fit leaves of measured.
    bent : (n,), overwritten: what a play leaves of it, see `_bend`.

    Returns
    -------
    start, stop : the samples for which all this is known.
    share : of the power of measured in the command's band that is left, without offset and drift; NaN where nothing
        is known.
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
        # cut so that indices begin at zero: those that might be negative are looked at one by one
        a, b, y, r = later[start:stop], slope[start:stop], m[start:stop], rest[start:stop]
        put_delayed(c, start, lag, a, b)
        # about the first sample, so that a large offset takes no digits
        a_0, y_0, middle = a[0], y[0], 0.5 * (n - 1)
        sum_a = sum_b = sum_y = tilt_a = tilt_b = tilt_y = aa = ab = bb = ay = by = 0.0
        # counted as a float: whole numbers are not made into several floats at a time
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
        off = by_slope / gain if gain != 0.0 else 0.0
        # to first order in the lag alone: again, where that is not enough
        if attempt == 0 and _CURVED < abs(off) * np.sqrt(bb / aa) < 1.0:
            lag += off
            continue
        drift = per_tilt * (tilt_y - gain * tilt_a - by_slope * tilt_b)
        offset = y_0 - gain * a_0 + per_sample * (sum_y - gain * sum_a - by_slope * sum_b)
        mean_a, rise_a = a_0 + per_sample * sum_a, per_tilt * tilt_a
        moved, x = bent[start:stop], -middle
        for t in range(n):
            r[t] = y[t] - offset - drift * x - gain * a[t] - by_slope * b[t]
            moved[t] = a[t] - mean_a - rise_a * x
            x += 1.0
        break
    moved = bent[start:stop]
    share = _share(moved, rest[start:stop], gain)
    _bend(moved, slope[start:stop], rest[start:stop], moved)
    return start, stop, share, drift, gain


@reduction
def take_gain(later: Samples, rest: Samples, fitted: float, gain: float) -> None:
    """Change what is left, (n,), from that of the fitted gain to that of another, as far as noise explains it.

    Noise of the command makes a fitted gain too small. What is left then follows the motion, and scatters more from
    block to block than a reading does whose gain is right. Noise changes a gain by no more than the share of power
    that is left; what differs more, or with no noise, has another reason.
    """
    n, total, tilt, square, left = later.shape[0], 0.0, 0.0, 0.0, 0.0
    middle, first, per_tilt = 0.5 * (n - 1), later[0], 12.0 / (n * (n * float(n) - 1.0))
    x = -middle
    for t in range(n):
        moved = later[t] - first
        total, tilt, square, left = total + moved, tilt + x * moved, square + moved * moved, left + rest[t] * rest[t]
        x += 1.0
    mean, rise = first + total / n, tilt * per_tilt
    most = left / (abs(fitted) * (square - total * total / n - tilt * tilt * per_tilt))
    more = min(max(gain - fitted, -most), most)
    x = -middle
    for t in range(n):
        rest[t] -= more * (later[t] - mean - rise * x)
        x += 1.0


@reduction
def _share(moved: Samples, rest: Samples, gain: float) -> float:
    """Return the share of what is left, (n,), in the power of measured in the band of the motion `moved`, (n,)."""
    width, left, explained = _eighth(moved), 0.0, 0.0
    for first in range(0, moved.shape[0] - width + 1, width):
        rest_sum = moved_sum = 0.0
        for t in range(first, first + width):
            rest_sum, moved_sum = rest_sum + rest[t], moved_sum + moved[t]
        left, explained = left + rest_sum * rest_sum, explained + gain * moved_sum * gain * moved_sum
    return left / (left + explained) if left + explained > 0.0 else np.nan


@reduction
def _eighth(moved: Samples) -> int:
    """Return roughly an eighth of the period of a motion, samples: noise is not in products of different samples."""
    n = moved.shape[0]
    most, width, first, last, narrower = n // N_BLOCKS, 1, 0.0, 0.0, 1
    while width < most:
        product = 0.0
        one, other = moved[: n - width], moved[width:]
        for t in range(n - width):
            product += one[t] * other[t]
        product /= n - width
        if width == 1:
            first = last = product
        elif product < _COSINE * first:
            # between this width and the last one, where it falls through the threshold
            width = narrower + int(np.rint((width - narrower) * (last - _COSINE * first) / (last - product)))
            break
        last, narrower = product, width
        width += max(1, width // 2)
    return int(max(min(width, most), 1))


@reduction
def _bend(moved: Samples, slope: Samples, rest: Samples, bent: Samples) -> None:
    """Fill in what a play leaves in measured: a part of one size that follows the sign of the velocity.

    A fit of straight lines takes it for a delay, a different one for every size of the motion. Where the residual
    shows it, it is a part of the uncertainty that no scatter tells.

    Parameters
    ----------
    moved : (n,), the delayed command without its line; `bent` may be the same array.
    """
    n = rest.shape[0]
    aa = bb = own = with_a = with_b = total = squares = 0.0
    for block in range(N_BLOCKS):
        block_sum, first, last = 0.0, block * n // N_BLOCKS, (block + 1) * n // N_BLOCKS
        motion, velocity, left = moved[first:last], slope[first:last], rest[first:last]
        for t in range(last - first):
            a, b = motion[t], velocity[t]
            x = 1.0 if b > 0.0 else -1.0 if b < 0.0 else 0.0
            aa, bb, own = aa + a * a, bb + b * b, own + x * x
            with_a, with_b, block_sum = with_a + x * a, with_b + x * b, block_sum + x * left[t]
        total, squares = total + block_sum, squares + block_sum * block_sum
    # without what the fitted lines take of it
    own -= with_a * with_a / aa + with_b * with_b / bb
    noise = squares - total * total / N_BLOCKS
    found = _SMALLER * total / own if total * total > _FOUND * noise and own > 0.0 else 0.0
    for t in range(n):
        b = slope[t]
        bent[t] = found if b > 0.0 else -found if b < 0.0 else 0.0


@kernel
def with_chance(scatter: float, share: float) -> float:
    """Return the standard deviation of a phase [rad] or of a gain's logarithm, where so large a share is left.

    Two narrow motions look alike by chance for a window, and then their phase seems to be sharp.
    """
    return float(np.sqrt(scatter * scatter + max(share - _BY_CHANCE, 0.0)))


@reduction
def scatter_of_sums(
    one: Samples, two: Samples, rest: Samples, bent: Samples, start: int, stop: int
) -> tuple[float, float]:
    """Return the standard deviations of ``sum one rest`` and ``sum two rest``, over samples `start` to `stop`.

    What `bent` adds to the sums is added to them. The fewer blocks the weights lie in, the less sure is the scatter.
    """
    total_1 = squares_1 = total_2 = squares_2 = bent_1 = bent_2 = 0.0
    weight_1 = spread_1 = weight_2 = spread_2 = 0.0
    for block in range(N_BLOCKS):
        first = start + block * (stop - start) // N_BLOCKS
        last = start + (block + 1) * (stop - start) // N_BLOCKS
        w_1, w_2, r, b = one[first:last], two[first:last], rest[first:last], bent[first:last]
        sum_1 = sum_2 = size_1 = size_2 = 0.0
        for t in range(last - first):
            sum_1, sum_2 = sum_1 + w_1[t] * r[t], sum_2 + w_2[t] * r[t]
            size_1, size_2 = size_1 + w_1[t] * w_1[t], size_2 + w_2[t] * w_2[t]
            bent_1, bent_2 = bent_1 + w_1[t] * b[t], bent_2 + w_2[t] * b[t]
        total_1, squares_1 = total_1 + sum_1, squares_1 + sum_1 * sum_1
        total_2, squares_2 = total_2 + sum_2, squares_2 + sum_2 * sum_2
        weight_1, spread_1 = weight_1 + size_1, spread_1 + size_1 * size_1
        weight_2, spread_2 = weight_2 + size_2, spread_2 + size_2 * size_2
    few_1 = 1.0 + _FEW * spread_1 / (weight_1 * weight_1) if weight_1 > 0.0 else np.nan
    few_2 = 1.0 + _FEW * spread_2 / (weight_2 * weight_2) if weight_2 > 0.0 else np.nan
    variance_1 = few_1 * few_1 * max(squares_1 - total_1 * total_1 / N_BLOCKS, 0.0)
    variance_2 = few_2 * few_2 * max(squares_2 - total_2 * total_2 / N_BLOCKS, 0.0)
    return np.sqrt(variance_1 + bent_1 * bent_1), np.sqrt(variance_2 + bent_2 * bent_2)


class Residual(NamedTuple):
    """What `fit_delayed` fills in and returns, for a caller in Python; ``later``, ``rest`` and ``bent`` are (n,)."""

    later: Samples
    rest: Samples
    bent: Samples
    start: int
    stop: int
    share: float
    drift: float
    gain: float

    def with_gain(self, gain: float) -> Residual:
        """Return what is left by another gain, see `take_gain`."""
        rest = self.rest.copy()
        take_gain(self.later[self.start : self.stop], rest[self.start : self.stop], self.gain, gain)
        return self._replace(rest=rest, gain=gain)


def residual_of(c: Samples, m: Samples, lag: float) -> Residual:
    """Return what no delay near `lag` and no gain of the command explains in measured, (n,) each."""
    later, slope, rest, bent = np.empty((4, len(c)))
    return Residual(later, rest, bent, *fit_delayed(c, m, lag, later, slope, rest, bent))


def scatter(weight: Samples, left: Residual) -> float:
    """Return the standard deviation of a weighted sum of measured, (n,) weights."""
    return scatter_of_sums(weight, weight, left.rest, left.bent, left.start, left.stop)[0]
