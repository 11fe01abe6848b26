"""A specimen in a window: force as a straight function of displacement and velocity, and its newest closed loop.

The function is found through the command. The instruments of the regression are the command and its rate under Hann
weights: noise of the displacement sensor is not in them, so that it does not bias the stiffness towards zero, as it
does by least squares. A linear specimen is exact on any motion; of a hysteretic one it is the equivalent of its
loops, an incomplete one counting little. Of the closed loop: its area, and the line between its ends.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monitor.indicators.parts.residual import REACH, interpolate
from monitor.kernel import reduction
from monitor.messages.blocks import Samples
from monitor.messages.reasons import Reason

X, V, F, ONE, TWO, RESIDUAL, BIAS, SCALED, OTHER = range(9)
"""Rows of the work array: displacement, its change a sample and force, scaled; weights; residual; zeros; two more."""
N_ROWS = 9

# squared correlation of measured with command and its rate, and share of the force that displacement and velocity
# explain, below which two signals are unrelated
_RELATED, _EXPLAINED = 0.25, 0.2
# rad a sample, squared: a motion that is slower has one rate, which an offset cannot be told from
_SLOWEST = 1e-12
# of two products, their difference over their sum, below which they are alike
_LEAST_AREA = 1e-9


# samples, and share of the window and of the motion's period, that force and displacement are averaged over, half of
# them: both alike, so that a straight law stays true
_MOST_SMOOTHED, _OF_WINDOW, _SMOOTHED = 8, 64, 0.02


def smoothing(n_window: int) -> int:
    """Return half of the samples, at most, that the signals of a window are averaged over."""
    return min(_MOST_SMOOTHED, n_window // _OF_WINDOW)


class LinearFit(NamedTuple):
    """Force = offset + ``stiffness`` displacement + ``viscosity`` change a sample, of scaled signals.

    ``reason`` of none; ``by_rate``: whether the motion tells the viscosity; ``omega`` rad a sample, of the command;
    ``low_x``, ``span_x``, ``low_f``, ``span_f``: smallest and range of the signals; ``mean_x``, ``mean_f``: scaled,
    the latter without the viscous force; ``apparent``: rms force over rms displacement; ``rough``, ``left``: mean
    squares of what smoothing takes from displacement, and of what the fit leaves of the force; ``half``: the samples
    to either side that both are averaged over.
    """

    reason: int
    by_rate: bool
    stiffness: float
    viscosity: float
    omega: float
    low_x: float
    span_x: float
    low_f: float
    span_f: float
    mean_x: float
    mean_f: float
    apparent: float
    rough: float
    left: float
    half: int


@reduction
def fit_specimen(c: Samples, m: Samples, f: Samples, hann: Samples, work: Samples) -> LinearFit:
    """Fit the force of a window; leave in `work` the signals, the weights of both coefficients, and the residual.

    Parameters
    ----------
    c, m, f : (n,), command, measured and force.
    hann : (n - 2 margin,), weights of mean one; the margin is `REACH` and `smoothing`.
    work : (N_ROWS, n), overwritten; of each row the first n - 2 margin are those from sample `margin` on.
    """
    n = hann.shape[0]
    margin = (c.shape[0] - n) // 2
    x, v, y, one, two, r = work[X, :n], work[V, :n], work[F, :n], work[ONE, :n], work[TWO, :n], work[RESIDUAL, :n]
    _, span_c = _scale(c, work[SCALED])
    half = 0
    if span_c > 0.0:
        interpolate(work[SCALED], margin, 0.0, one, two)
        half = min(int(_SMOOTHED * _period(one, two)), margin - REACH)
    low_f, span_f = _scale(f, work[SCALED])
    smooth(work[SCALED], half, work[OTHER])
    for i in range(n):
        y[i] = work[OTHER, i + margin]
    low_x, span_x = _scale(m, work[SCALED])
    smooth(work[SCALED], half, work[OTHER])
    reason = Reason.CONSTANT.value
    if span_c > 0.0 and span_f > 0.0 and span_x > 0.0:
        interpolate(work[OTHER], margin, 0.0, x, v)
        found, by_rate, k, viscosity, omega, mean_x, mean_f, apparent = _regress(x, v, y, one, two, r, hann)
        reason = found
    else:
        by_rate, k, viscosity, omega, mean_x, mean_f, apparent = False, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    rough = left = 0.0
    for i in range(n):
        off = work[SCALED, i + margin] - work[OTHER, i + margin]
        rough, left = rough + off * off / n, left + r[i] * r[i] / n
    return LinearFit(
        reason, by_rate, k, viscosity, omega, low_x, span_x, low_f, span_f, mean_x, mean_f, apparent, rough, left,
        half,
    )  # fmt: skip


@reduction
def _scale(signal: Samples, scaled: Samples) -> tuple[float, float]:
    """Write a signal from 0 to 1; return its smallest value and its range, 0 of a constant."""
    low = high = signal[0]
    for i in range(signal.shape[0]):
        low, high = min(low, signal[i]), max(high, signal[i])
    span = high - low
    if span > 0.0:
        for i in range(signal.shape[0]):
            scaled[i] = (signal[i] - low) / span
    return low, span


@reduction
def _period(x: Samples, rate: Samples) -> float:
    """Return the mean period of a motion with this change a sample, samples; 0 of one at rest."""
    mean = mean_rate = square = square_rate = 0.0
    for i in range(x.shape[0]):
        mean, mean_rate = mean + x[i] / x.shape[0], mean_rate + rate[i] / x.shape[0]
    for i in range(x.shape[0]):
        square, square_rate = square + (x[i] - mean) ** 2, square_rate + (rate[i] - mean_rate) ** 2
    return float(2.0 * np.pi * np.sqrt(square / square_rate)) if square_rate > _SLOWEST * square else 0.0


@reduction
def smooth(signal: Samples, half: int, result: Samples) -> None:
    """Write the mean of each sample and of `half` to either side; ends are left as they are."""
    n = signal.shape[0]
    for i in range(n):
        result[i] = signal[i]
    middle = result[half : n - half]
    # one loop over the samples for each neighbour, which is vectorised
    for k in range(1, half + 1):
        before, after = signal[half - k : n - half - k], signal[half + k : n - half + k]
        for i in range(n - 2 * half):
            middle[i] += before[i] + after[i]
    for i in range(n - 2 * half):
        middle[i] /= 2 * half + 1


@reduction
def _regress(
    x: Samples, v: Samples, y: Samples, one: Samples, two: Samples, r: Samples, hann: Samples
) -> tuple[int, bool, float, float, float, float, float, float]:
    """Return reason, by_rate, stiffness, viscosity, omega, mean_x, mean_f and apparent of `LinearFit`.

    Parameters
    ----------
    x, v, y : (n,), displacement, minus its change a sample, which becomes its change, and force.
    one, two : (n,), the command and minus its change a sample; overwritten by the weights of force in stiffness and
        viscosity.
    r : (n,), overwritten by the residual.
    """
    n = x.shape[0]
    mean_x = mean_v = mean_y = mean_c = mean_d = 0.0
    for i in range(n):
        h = hann[i] / n
        mean_x, mean_v, mean_y = mean_x + h * x[i], mean_v - h * v[i], mean_y + h * y[i]
        mean_c, mean_d = mean_c + h * one[i], mean_d - h * two[i]
    xx = yy = cc = cd = dd = cx = cv = cy = dx = dv = dy = 0.0
    for i in range(n):
        v[i] = -v[i]
        h, a, b, f = hann[i], x[i] - mean_x, v[i] - mean_v, y[i] - mean_y
        c, d = one[i] - mean_c, -two[i] - mean_d
        xx, yy, cc, cd, dd = xx + h * a * a, yy + h * f * f, cc + h * c * c, cd + h * c * d, dd + h * d * d
        one[i], two[i] = h * c, h * d
        cx, cv, cy = cx + h * c * a, cv + h * c * b, cy + h * c * f
        dx, dv, dy = dx + h * d * a, dv + h * d * b, dy + h * d * f
    unrelated = (Reason.UNRELATED.value, False, 0.0, 0.0, 0.0, mean_x, mean_y, 0.0)
    if not (cc > 0.0 and xx > 0.0 and yy > 0.0):
        return Reason.CONSTANT.value, False, 0.0, 0.0, 0.0, mean_x, mean_y, 0.0
    by_rate = dd > _SLOWEST * cc
    area, common = cx * dv - cv * dx, abs(cx * dv) + abs(cv * dx)
    by_rate = by_rate and abs(area) > _LEAST_AREA * common
    across = cc * dd - cd * cd
    related = cx * cx / cc
    if by_rate and across > _LEAST_AREA * cc * dd:
        related = (cx * cx * dd - 2.0 * cx * dx * cd + dx * dx * cc) / across
    if not related > _RELATED * xx:
        return unrelated
    if by_rate:
        k, viscosity = (cy * dv - dy * cv) / area, (dy * cx - cy * dx) / area
        for i in range(n):
            c, d = one[i], two[i]
            one[i], two[i] = (dv * c - cv * d) / area, (cx * d - dx * c) / area
    elif cx * cx > _RELATED * cc * xx:
        k, viscosity = cy / cx, 0.0
        for i in range(n):
            one[i], two[i] = one[i] / cx, 0.0
    else:
        return unrelated
    left = 0.0
    for i in range(n):
        r[i] = y[i] - mean_y - k * (x[i] - mean_x) - viscosity * (v[i] - mean_v)
        left += hann[i] * r[i] * r[i]
    reason = Reason.VALID.value if left < (1.0 - _EXPLAINED) * yy else Reason.UNRELATED.value
    mean_f, omega = mean_y - viscosity * mean_v, np.sqrt(dd / cc)
    return reason, by_rate, k, viscosity, omega, mean_x, mean_f, np.sqrt(yy / xx)


# of the range of displacement: a turn beyond the middle by less is noise
_MARGIN = 0.15
# of a loop's length, half of what is averaged at its ends, and of what tells where an end is
_END, _TURN = 1.0 / 128.0, 1.0 / 16.0


class ClosedLoop(NamedTuple):
    """A loop from one crossing of the middle displacement to the next one in the same direction.

    ``length`` samples, 0 of none; ``area`` : the work of the force along it; ``rise`` of the force between its two
    ends over ``stroke``, the displacement between them; ``highest``, ``lowest``, ``reach``: the samples of the ends,
    and how many to either side are averaged.
    """

    length: float
    area: float
    rise: float
    stroke: float
    highest: int
    lowest: int
    reach: int


@reduction
def newest_loop(x: Samples, f: Samples) -> ClosedLoop:
    """Return the newest loop of displacement and force, (n,) each."""
    low = high = x[0]
    for i in range(x.shape[0]):
        low, high = min(low, x[i]), max(high, x[i])
    middle, margin = low + 0.5 * (high - low), _MARGIN * (high - low)
    begin, end = _newest_turn(x, middle, margin)
    if not begin < end:
        return ClosedLoop(0.0, 0.0, 0.0, 0.0, 0, 0, 0)
    first, last = int(np.floor(begin)) + 1, int(np.floor(end))
    # from the middle to the first sample, and from the last one to the middle
    at_begin, at_end = _between(f, begin), _between(f, end)
    area = 0.5 * (at_begin + f[first]) * (x[first] - middle) + 0.5 * (f[last] + at_end) * (middle - x[last])
    highest = lowest = first
    for i in range(first, last):
        area += 0.5 * (f[i] + f[i + 1]) * (x[i + 1] - x[i])
    for i in range(first, last + 1):
        highest, lowest = (i if x[i] > x[highest] else highest), (i if x[i] < x[lowest] else lowest)
    span = int(_TURN * (end - begin))
    highest, lowest = _turning_point(x, highest, span), _turning_point(x, lowest, span)
    reach = min(int(_END * (end - begin)), highest, lowest, x.shape[0] - 1 - max(highest, lowest))
    rise = stroke = 0.0
    for i in range(-reach, reach + 1):
        rise += (f[highest + i] - f[lowest + i]) / (2 * reach + 1)
        stroke += (x[highest + i] - x[lowest + i]) / (2 * reach + 1)
    return ClosedLoop(end - begin, area, rise, stroke, highest, lowest, reach)


@reduction
def left_by_mean(half: int, period: float) -> float:
    """Return the share of a tone that a mean of `half` samples to either side leaves; its period is in samples."""
    angle, count = np.pi / period, 2 * half + 1
    return float(np.sin(count * angle) / (count * np.sin(angle)))


@reduction
def _turning_point(x: Samples, at: int, span: int) -> int:
    """Return the vertex of a parabola through `span` samples to either side of the largest or smallest one.

    Where noise is largest is not where the motion turns, and a viscous force changes fast there.
    """
    span = min(span, at, x.shape[0] - 1 - at)
    if span < 2:
        return at
    squares = fourths = slope = bend = 0.0
    for i in range(-span, span + 1):
        squares, fourths = squares + float(i * i), fourths + float(i * i) * float(i * i)
    mean = squares / (2 * span + 1)
    for i in range(-span, span + 1):
        slope, bend = slope + i * x[at + i] / squares, bend + (i * i - mean) * x[at + i]
    bend /= fourths - mean * squares
    shift = -0.5 * slope / bend if bend != 0.0 else 0.0
    return at + int(np.rint(min(max(shift, -float(span)), float(span))))


@reduction
def _newest_turn(x: Samples, middle: float, margin: float) -> tuple[float, float]:
    """Return the last two crossings of the middle in one direction, in samples; equal where there is no such pair."""
    up_1 = up_2 = down_1 = down_2 = crossing = -1.0
    before, side = 0.0, 0
    for i in range(x.shape[0]):
        height = x[i] - middle
        if (before < 0.0) != (height < 0.0) and i > 0:
            crossing = i - height / (height - before)
        before = height
        if height > margin and side != 1:
            if side != 0:
                up_1, up_2 = up_2, crossing
            side = 1
        elif height < -margin and side != -1:
            if side != 0:
                down_1, down_2 = down_2, crossing
            side = -1
    up, down = up_1 >= 0.0, down_1 >= 0.0
    if up and (up_2 > down_2 or not down):
        return up_1, up_2
    return (down_1, down_2) if down else (0.0, 0.0)


@reduction
def _between(f: Samples, at: float) -> float:
    """Return the force at a crossing, interpolated."""
    i = min(int(np.floor(at)), f.shape[0] - 2)
    return float(f[i] + (at - i) * (f[i + 1] - f[i]))
