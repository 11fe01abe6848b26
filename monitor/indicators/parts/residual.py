"""Fit of measured by the delayed command, and what it leaves: noise, the play of an actuator and a slow trend.

Between samples the command is interpolated by the polynomial through nine samples, accurate up to a tenth of the
sample rate.
"""

from __future__ import annotations

import numpy as np

from monitor.indicators.parts.deviation import N_BLOCKS
from monitor.indicators.parts.unrelated_motion import MOST_CELLS, sum_cells, unexplained_share
from monitor.kernel import reduction, stack_array
from monitor.messages.blocks import Samples

# squared size of a play over its variance from which it is sought by its own width, and from which it is found
_SIGNIFICANT = (4.0, 4.0, 16.0)
# play that is tried first, of the amplitude
_FIRST_PLAY = 0.02
# the size of a play over that by means
_SMEARED = 1.1
# widens the band beyond the play's effect, which is an error and no deviation
_BIAS_SCALE = 1.8
# share of a play's effect that no gain and delay have, 0.19 of a tone's: below it a play cannot be seen
_LEAST_REMAINDER = 0.05
# cycles in a window from which on a trend is not part of the motion
_CYCLES_ABOVE_TREND = 3


@reduction
def separate_bias(slope: Samples, residual: Samples, motion: Samples, gain: float, width: int) -> float:
    """Overwrite the motion, (n,), by what a play, 1.8 times, and a slow trend add to measured, and are no noise.

    Return the play, half of its width in the unit of the motion; 0 where none is found. The trend is taken from the
    residual, the play is left in it.

    Parameters
    ----------
    motion, slope : of the command, see `fit_least_squares`.
    gain : measured over command.
    width : an eighth of the motion's period, samples.
    """
    play = _separate_play(slope, residual, motion, gain, width)
    if residual.shape[0] >= _CYCLES_ABOVE_TREND * 8 * width:
        _move_trend(residual, motion)
    return play


@reduction
def _separate_play(slope: Samples, residual: Samples, motion: Samples, gain: float, width: int) -> float:
    """Overwrite the motion by what measured has of a play, zero where none is found; return half of its width.

    A linear fit reads most of a play as a delay, which depends on the amplitude: 4 b / (pi A omega) for a play of b
    to either side of a tone of amplitude A. What it leaves is sought in the residual, and compared with what else is
    there, for a play as wide as was last found. Means over a thirty-second of a period keep the command's noise out.
    """
    n = residual.shape[0]
    length = max(width // 4, -(-n // MOST_CELLS), 1)
    if length > width:
        # the cells are too long to show the motion
        motion[:] = 0.0
        return 0.0
    a, b, r, cube = stack_array(MOST_CELLS), stack_array(MOST_CELLS), stack_array(MOST_CELLS), stack_array(MOST_CELLS)
    sum_cells(motion, length, a)
    sum_cells(slope, length, b)
    count = sum_cells(residual, length, r)
    square = 0.0
    for i in range(count):
        a[i], b[i], r[i] = a[i] / length, b[i] / length, r[i] / length
        square += a[i] * a[i]
    before = a[0]
    for i in range(1, count - 1):
        # each without its own noise, which the residual has too
        a[i], before = 0.5 * (before + a[i + 1]), a[i]
    _cube(a, b, count, cube)
    white = 0.0
    for i in range(1, count - 1):
        white += (r[i - 1] - 2.0 * r[i] + r[i + 1]) ** 2 / 6.0
    play = _FIRST_PLAY * np.sqrt(2.0 * square / count)
    for least in _SIGNIFICANT:
        size, significance = _play_size(a, b, cube, r, count, play, white)
        play = _SMEARED * size / gain if gain != 0.0 else 0.0
        if not (play > 0.0 and significance > least):
            play = 0.0
            break
    at = a[0] + (play if b[0] > 0.0 else -play)
    for i in range(count):
        at = min(max(at, a[i] - play), a[i] + play)
        motion[i * length : (i + 1) * length] = _BIAS_SCALE * gain * (at - a[i])
    motion[count * length :] = 0.0
    return float(play)


@reduction
def _cube(a: Samples, b: Samples, count: int, cube: Samples) -> None:
    """Write the motion's cube less what a gain and a delay have of it: what a limit of the stroke leaves looks so."""
    aa = bb = ab = ac = bc = 0.0
    for i in range(count):
        cube[i] = a[i] * a[i] * a[i]
        aa, bb, ab = aa + a[i] * a[i], bb + b[i] * b[i], ab + a[i] * b[i]
        ac, bc = ac + a[i] * cube[i], bc + b[i] * cube[i]
    area = aa * bb - ab * ab
    for i in range(count):
        cube[i] -= ((ac * bb - bc * ab) * a[i] + (bc * aa - ac * ab) * b[i]) / area if area > 0.0 else 0.0


@reduction
def _play_size(
    a: Samples, b: Samples, cube: Samples, r: Samples, count: int, play: float, white: float
) -> tuple[float, float]:
    """Return the size of a play in a residual, and its square over its variance.

    The effect, over its size, is that of a given play on the motion, less what a gain, a delay and a limit of the
    stroke have of it. The variance is that of the sums over blocks. Where it explains less than is left beyond white
    noise, the residual is of another kind.

    Parameters
    ----------
    a, b, r : means of the motion, its slope by the lag and the residual over `count` cells.
    cube : see `_cube`.
    play : half of the width, in the unit of the motion.
    white : sum of squares of white noise over the cells.
    """
    # the slope by the lag is positive where the motion falls
    first = a[0] + (play if b[0] > 0.0 else -play)
    at = first
    aa = bb = ab = xx = xa = xb = xr = ar = br = xc = cc = cr = rr = 0.0
    for i in range(count):
        at = min(max(at, a[i] - play), a[i] + play)
        x, c = at - a[i], cube[i]
        aa, bb, ab, cc, xx = aa + a[i] * a[i], bb + b[i] * b[i], ab + a[i] * b[i], cc + c * c, xx + x * x
        xa, xb, xc, xr = xa + x * a[i], xb + x * b[i], xc + x * c, xr + x * r[i]
        ar, br, cr, rr = ar + a[i] * r[i], br + b[i] * r[i], cr + c * r[i], rr + r[i] * r[i]
    area = aa * bb - ab * ab
    if not (area > 0.0 and cc > 0.0):
        return 0.0, 0.0
    of_a, of_b, of_c = (xa * bb - xb * ab) / area, (xb * aa - xa * ab) / area, xc / cc
    own = xx - of_a * xa - of_b * xb - of_c * xc
    if not own > _LEAST_REMAINDER * xx:
        return 0.0, 0.0
    scale, noise, at = (xr - of_a * ar - of_b * br - of_c * cr) / own, 0.0, first
    for block in range(N_BLOCKS):
        total = 0.0
        for i in range(block * count // N_BLOCKS, (block + 1) * count // N_BLOCKS):
            at = min(max(at, a[i] - play), a[i] + play)
            x = at - a[i] - of_a * a[i] - of_b * b[i] - of_c * cube[i]
            total += x * (r[i] - scale * x)
        noise += total * total
    left = rr - (ar * (ar * bb - br * ab) + br * (br * aa - ar * ab)) / area - cr * cr / cc - scale * scale * own
    if not (noise > 0.0 and scale * scale * own > left - white):
        return 0.0, 0.0
    return scale * play, (scale * own) ** 2 / noise


@reduction
def _move_trend(residual: Samples, bias: Samples) -> None:
    """Move a trend of the second and third order from the residual to the bias: its effect is known, and no noise."""
    n = residual.shape[0]
    # the middles of n parts of -1 .. 1
    step = 2.0 / n
    square, cube, x = 0.0, 0.0, 0.5 * step - 1.0
    for t in range(n):
        square += residual[t] * (1.5 * x * x - 0.5)
        cube += residual[t] * x * (2.5 * x * x - 1.5)
        x += step
    # Legendre's polynomials, whose mean squares are 1/5 and 1/7
    square, cube, x = 5.0 * square / n, 7.0 * cube / n, 0.5 * step - 1.0
    for t in range(n):
        trend = square * (1.5 * x * x - 0.5) + cube * x * (2.5 * x * x - 1.5)
        residual[t] -= trend
        bias[t] += trend
        x += step


# samples on either side of the nearest one that the interpolation uses
REACH = 4
POINTS = 2 * REACH + 1


def _weights() -> Samples:
    """Return (9, 9): coefficients of s^0 .. s^8 of the Lagrange weights, at a lag of s, of samples at lag -4 .. 4."""
    lags = np.arange(-REACH, REACH + 1.0)
    others = [lags[lags != lag] for lag in lags]
    return np.array([np.poly(zeros)[::-1] / np.prod(lag - zeros) for lag, zeros in zip(lags, others, strict=True)])


_WEIGHTS = _weights()


@reduction
def interpolate(x: Samples, start: int, lag: float, value: Samples, slope: Samples) -> None:
    """Write the signal delayed by `lag` samples, (n,) from sample `start` on, and its derivative by the lag."""
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


# samples of a window: one a block, and those that the interpolation uses beyond the ends
SMALLEST_FIT = N_BLOCKS + 2 * REACH
# of two products, their difference over their sum: below it they are alike
_LEAST_AREA = 0.1
# relative power below which a signal is constant
_ROUNDING = 1e-12
# rad, of the remaining lag: above it the linearisation is repeated
_NONLINEAR_LAG = 0.01
# autocorrelation of a tone after an eighth of a period
_EIGHTH_PERIOD_COSINE = np.sqrt(0.5)


@reduction
def fit_delayed(
    c: Samples, m: Samples, lag: float, delayed: Samples, slope: Samples, residual: Samples, bias: Samples
) -> tuple[int, int, float, float, float, float]:
    """Fit measured by the delayed command, its derivative by the lag, an offset and a drift; write the residual.

    Parameters
    ----------
    c, m : (n,), a window of each, oldest first.
    lag : of measured behind the command, samples.
    delayed, slope : (n,), overwritten: the delayed command, and its derivative by the lag.
    residual : (n,), overwritten.
    bias : (n,), overwritten: what measured has of a play and of a slow trend, see `separate_bias`.

    Returns
    -------
    start, stop : the samples for which these arrays are defined.
    unexplained : share of the measured power in the command's band that has nothing to do with the command, see
        `unexplained_share`; NaN where there is no fit.
    drift : of measured against the command, a sample.
    gain : measured over command.
    play : of measured, see `separate_bias`.
    """
    start, stop, whole, drift, gain, width = fit_least_squares(c, m, lag, delayed, slope, residual, bias)
    if width == 0:
        return start, start, np.nan, 0.0, np.nan, 0.0
    motion, rates, rest = bias[start:stop], slope[start:stop], residual[start:stop]
    drift_change, gain_change = correct_for_noise(c, whole, start, width, delayed[start:stop], motion, rates, rest)
    gain += gain_change
    unexplained = unexplained_share(motion, rates, rest, gain, width, whole)
    play = separate_bias(rates, rest, motion, gain, width)
    return start, stop, unexplained, drift + drift_change, gain, play


@reduction
def fit_least_squares(
    c: Samples, m: Samples, lag: float, delayed: Samples, slope: Samples, residual: Samples, motion: Samples
) -> tuple[int, int, int, float, float, int]:
    """Fit as `fit_delayed` does, by least squares.

    Where the derivative's coefficient shows a lag error of 0.01 to 1 rad, the fit is repeated at the corrected lag.

    Returns
    -------
    start, stop : the samples for which the arrays are defined.
    whole : the lag of the fit, whole samples.
    drift, gain : see `fit_delayed`.
    width : an eighth of the motion's period, samples; 0 where there is no fit.
    """
    n_window = c.shape[0]
    start = stop = whole = 0
    if not abs(lag) < n_window:
        return start, start, whole, 0.0, np.nan, 0
    gain = drift = aa = bb = 0.0
    for attempt in range(2):
        whole = int(np.rint(lag))
        start, stop = max(0, whole + REACH), min(n_window, n_window + whole - REACH)
        n = stop - start
        if n < N_BLOCKS:
            return start, start, whole, 0.0, np.nan, 0
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
            return start, start, whole, 0.0, np.nan, 0
        gain, by_slope = (ay * bb - by * ab) / area, (by * aa - ay * ab) / area
        lag_change = by_slope / gain if gain != 0.0 else 0.0
        # the fit is linear in the lag: repeated where that is not enough
        if attempt == 0 and _NONLINEAR_LAG < abs(lag_change) * np.sqrt(bb / aa) < 1.0:
            lag += lag_change
            continue
        drift = per_tilt * (tilt_y - gain * tilt_a - by_slope * tilt_b)
        offset = y_0 - gain * a_0 + per_sample * (sum_y - gain * sum_a - by_slope * sum_b)
        mean_a, rise_a = a_0 + per_sample * sum_a, per_tilt * tilt_a
        detrended, x = motion[start:stop], -middle
        for t in range(n):
            r[t] = y[t] - offset - drift * x - gain * a[t] - by_slope * b[t]
            detrended[t] = a[t] - mean_a - rise_a * x
            x += 1.0
        break
    return start, stop, whole, drift, gain, _eighth_period(motion[start:stop])


@reduction
def correct_for_noise(
    c: Samples,
    whole: int,
    start: int,
    width: int,
    delayed: Samples,
    motion: Samples,
    slope: Samples,
    residual: Samples,
) -> tuple[float, float]:
    """Correct the residual, (n,), for noise of the command; return the changes of drift and gain.

    By least squares noise makes the coefficient of the motion too small; between samples, where the slope has some of
    the same noise, it draws that of the slope as well. The command an eighth of a period before and after has the
    motion and noise of its own: what the residual has in common with it is of the motion (instrumental variables).

    Parameters
    ----------
    c : (n_window,); ``whole`` : the lag, whole samples; ``start`` : the first sample of the fit.
    width : an eighth of the motion's period, samples.
    delayed, motion, slope : (n,) each: the delayed command, the same without its line, its derivative by the lag.
    """
    n_fit, apart = motion.shape[0], width if width > REACH else 0
    first = max(0, whole + apart - start)
    last = min(n_fit, c.shape[0] + whole - apart - start)
    n = last - first
    if apart == 0 or n < n_fit // 2:
        return 0.0, 0.0
    a, b, r = motion[first:last], slope[first:last], residual[first:last]
    at = start + first - whole
    before, after = c[at - apart : at - apart + n], c[at + apart : at + apart + n]
    origin, x = before[0] + after[0], -0.5 * (n - 1)
    sum_p = sum_q = sum_a = sum_b = sum_r = tilt_p = tilt_q = tilt_a = tilt_b = tilt_r = 0.0
    pa = pb = pr = qa = qb = qr = 0.0
    for t in range(n):
        p, q = before[t] + after[t] - origin, before[t] - after[t]
        sum_p, sum_q, tilt_p, tilt_q = sum_p + p, sum_q + q, tilt_p + x * p, tilt_q + x * q
        sum_a, sum_b, sum_r = sum_a + a[t], sum_b + b[t], sum_r + r[t]
        tilt_a, tilt_b, tilt_r = tilt_a + x * a[t], tilt_b + x * b[t], tilt_r + x * r[t]
        pa, pb, pr = pa + p * a[t], pb + p * b[t], pr + p * r[t]
        qa, qb, qr = qa + q * a[t], qb + q * b[t], qr + q * r[t]
        x += 1.0
    per_sample, per_tilt = 1.0 / n, 12.0 / (n * (n * float(n) - 1.0))
    pa -= per_sample * sum_p * sum_a + per_tilt * tilt_p * tilt_a
    pb -= per_sample * sum_p * sum_b + per_tilt * tilt_p * tilt_b
    pr -= per_sample * sum_p * sum_r + per_tilt * tilt_p * tilt_r
    qa -= per_sample * sum_q * sum_a + per_tilt * tilt_q * tilt_a
    qb -= per_sample * sum_q * sum_b + per_tilt * tilt_q * tilt_b
    qr -= per_sample * sum_q * sum_r + per_tilt * tilt_q * tilt_r
    area = pa * qb - pb * qa
    if not area > _LEAST_AREA * (abs(pa * qb) + abs(pb * qa)):
        return 0.0, 0.0
    of_motion, of_slope = (pr * qb - qr * pb) / area, (qr * pa - pr * qa) / area
    mean = tilt_a = tilt_b = 0.0
    x = -0.5 * (n_fit - 1)
    for t in range(n_fit):
        mean, tilt_a, tilt_b = mean + slope[t], tilt_a + x * (delayed[t] - delayed[0]), tilt_b + x * slope[t]
        x += 1.0
    per_tilt = 12.0 / (n_fit * (n_fit * float(n_fit) - 1.0))
    mean, rise, x = mean / n_fit, tilt_b * per_tilt, -0.5 * (n_fit - 1)
    for t in range(n_fit):
        residual[t] -= of_motion * motion[t] + of_slope * (slope[t] - mean - rise * x)
        x += 1.0
    return -of_motion * tilt_a * per_tilt - of_slope * rise, of_motion


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
            if not product > 0.0:
                # less than four samples a period
                break
            first = last = product
        elif product < _EIGHTH_PERIOD_COSINE * first:
            # where the line from the last width to this one crosses the threshold
            crossing = (last - _EIGHTH_PERIOD_COSINE * first) / (last - product)
            width = narrower + int(np.rint((width - narrower) * crossing))
            break
        last, narrower = product, width
        width += max(1, width // 2)
    return int(max(min(width, limit), 1))
