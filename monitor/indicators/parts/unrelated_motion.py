"""Whether two motions are related: the share of measured that the command does not explain, in narrow motions too."""

from __future__ import annotations

import numpy as np

from monitor.kernel import reduction, stack_array
from monitor.messages.blocks import Samples

# unexplained share of the measured power in the command's band from which on the signals are unrelated
UNRELATED = 0.3
# such a share of the motion's own frequency, over what is no tone of the motion, and its bounds, the lower one times
# the square of the cycles: found on modes under independent noises, and on delays and gains that step or slide
_UNRELATED_OWN, _LEAST_UNRELATED, _MOST_UNRELATED = 0.1, 1.8e-4, 0.05
# shares of a motion that are no tone: below the first it is one, and nothing shows whether two are related; above the
# second the share of the residual does
_TONE, _MOSTLY_TONE = 1e-6, 0.4
# all of that is lower by this where the lag is over a quarter of a period, as it is for half of all unrelated motions
_FAR = 0.05
# s a second: fastest change of a delay that is taken for one, and not for another motion
_FASTEST_SLIDE = 0.005
# deviations of white noise, and share of the motion's frequency, above which a residual is another motion
_SCATTER, _NARROW = 5.0, 0.05
# cells of a window that are compared, cycles of which they have four cells each, and points of a fit of three numbers
MOST_CELLS, _MOST_CYCLES, _LEAST_POINTS = 256, 64, 8


@reduction
def unexplained_share(
    motion: Samples, slope: Samples, residual: Samples, gain: float, width: int, lag: float
) -> float:
    """Return the share of the measured power in the band of the `motion` of the command that is unrelated to it.

    The residual's share is that, except in a narrow motion: the fit explains the tone in any motion of the same
    frequency, and only what is not a tone can show whether two of them are related. Two independent motions of one
    lightly damped mode leave a residual of that frequency, the more the more cycles are seen. Noise has little of it,
    and a delay or gain that changes within the window leaves little; one that slides leaves the slope times the time.

    Parameters
    ----------
    motion, slope, residual : (n,) each, see `fit_least_squares`.
    gain, lag : of the fit; ``width`` : an eighth of the motion's period, samples.
    """
    unexplained = square = 0.0
    for first in range(0, motion.shape[0] - width + 1, width):
        residual_sum = motion_sum = 0.0
        for t in range(first, first + width):
            residual_sum, motion_sum = residual_sum + residual[t], motion_sum + motion[t]
        unexplained, square = unexplained + residual_sum * residual_sum, square + motion_sum * motion_sum
    total = unexplained + gain * gain * square
    if not total > 0.0:
        return np.nan
    share = unexplained / total
    cycles = motion.shape[0] / (8.0 * width)
    far = _FAR if abs(lag) > 2 * width else 1.0
    least = far * min(_LEAST_UNRELATED * cycles * cycles, _MOST_UNRELATED)
    if share < least or cycles > _MOST_CYCLES:
        return share
    own = max(_non_tonal_share(motion, width, 4), _non_tonal_share(motion, width, 3))
    if not _TONE < own < _MOSTLY_TONE:
        return share
    cells = stack_array(MOST_CELLS)
    length = max(width, -(-motion.shape[0] // MOST_CELLS))
    count, rest = _cells_without_slide(motion, slope, residual, gain, length, cells)
    power = 0.0
    for t in range(residual.shape[0]):
        power += residual[t] * residual[t]
    # sums of white noise have the power of its samples, with the scatter of a chi-square
    white = (1.0 + _SCATTER * np.sqrt(2.0 * width / motion.shape[0])) * power
    is_another = (
        rest * unexplained > white and _share_of_frequency(cells, count, 0.25 * np.pi * length / width) > _NARROW
    )
    limit = min(max(far * _UNRELATED_OWN * own, least), _MOST_UNRELATED)
    return 1.0 if is_another and rest * share > limit else share


@reduction
def _cells_without_slide(
    motion: Samples, slope: Samples, residual: Samples, gain: float, length: int, cells: Samples
) -> tuple[int, float]:
    """Write the residual's sums over cells, without what a sliding delay leaves; return number and what is left.

    What is left is a share of their power. A delay that slides leaves the slope times the time, less what the motion
    and the slope have of that.

    Parameters
    ----------
    length : of a cell, samples; ``cells`` : (256,), overwritten.
    """
    a, b, z = stack_array(MOST_CELLS), stack_array(MOST_CELLS), stack_array(MOST_CELLS)
    count = sum_cells(residual, length, cells)
    sum_cells(motion, length, a)
    sum_cells(slope, length, b)
    aa = bb = az = bz = 0.0
    for i in range(count):
        z[i] = (i - 0.5 * (count - 1)) * b[i]
        aa, bb, az, bz = aa + a[i] * a[i], bb + b[i] * b[i], az + a[i] * z[i], bz + b[i] * z[i]
    zz = zr = before = 0.0
    for i in range(count):
        z[i] -= (az / aa * a[i] if aa > 0.0 else 0.0) + (bz / bb * b[i] if bb > 0.0 else 0.0)
        zz, zr, before = zz + z[i] * z[i], zr + z[i] * cells[i], before + cells[i] * cells[i]
    fastest, left = _FASTEST_SLIDE * abs(gain) * length, 0.0
    of_slide = min(max(zr / zz, -fastest), fastest) if zz > 0.0 else 0.0
    for i in range(count):
        cells[i] -= of_slide * z[i]
        left += cells[i] * cells[i]
    return count, left / before if before > 0.0 else 0.0


@reduction
def _share_of_frequency(cells: Samples, count: int, step: float) -> float:
    """Return the share of a residual's power that is of the motion's frequency, from the cosine in its correlations.

    It is about zero for noise of any colour: of white noise the correlations are zero, of noise that remembers they
    are all of one sign.

    Parameters
    ----------
    cells : sums over `count` cells of the residual; ``step`` : angle of the motion from one to the next, rad.
    """
    power = common = norm = 0.0
    for i in range(count):
        power += cells[i] * cells[i]
    for k in range(1, 9):
        product = 0.0
        for i in range(count - k):
            product += cells[i] * cells[i + k]
        common, norm = common + np.cos(k * step) * product, norm + np.cos(k * step) ** 2
    return float(common / (norm * power)) if power > 0.0 else 0.0


@reduction
def sum_cells(x: Samples, width: int, cells: Samples) -> int:
    """Write the sums over cells of `width` samples, up to 256, and return their number."""
    count = x.shape[0] // width
    for cell in range(count):
        total = 0.0
        for t in range(cell * width, (cell + 1) * width):
            total += x[t]
        cells[cell] = total
    return int(count)


@reduction
def _non_tonal_share(motion: Samples, width: int, parts: int) -> float:
    """Return the share of a motion's power that is no tone, offset or drift, by values a part of the window apart.

    Of a tone the sum of the values before and after is its own value times a constant. 0 where they are too few.
    """
    cells = stack_array(MOST_CELLS)
    count = sum_cells(motion, max(width, -(-motion.shape[0] // MOST_CELLS)), cells)
    apart = count // parts
    points = count - 2 * apart
    if points < _LEAST_POINTS:
        return 0.0
    x, middle = cells[apart : apart + points], 0.5 * (points - 1)
    before, after = cells[:points], cells[2 * apart : 2 * apart + points]
    sum_x = sum_y = tilt_x = tilt_y = xx = xy = yy = power = tilt = 0.0
    for i in range(points):
        y, at = before[i] + after[i], i - middle
        sum_x, sum_y, tilt_x, tilt_y = sum_x + x[i], sum_y + y, tilt_x + at * x[i], tilt_y + at * y
        xx, xy, yy, tilt = xx + x[i] * x[i], xy + x[i] * y, yy + y * y, tilt + at * at
        power += before[i] * before[i] + after[i] * after[i]
    xx -= sum_x * sum_x / points + tilt_x * tilt_x / tilt
    xy -= sum_x * sum_y / points + tilt_x * tilt_y / tilt
    yy -= sum_y * sum_y / points + tilt_y * tilt_y / tilt
    if not (power > 0.0 and xx > 0.0):
        return 0.0
    return float(max(yy - xy * xy / xx, 0.0) / power)
