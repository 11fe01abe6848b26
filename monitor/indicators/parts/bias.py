"""What the error of a linear fit has that is no noise: the play of an actuator and a slow trend."""

from __future__ import annotations

import numpy as np

from monitor.indicators.parts.deviation import N_BLOCKS
from monitor.indicators.parts.unrelated_motion import MOST_CELLS, sum_cells
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
