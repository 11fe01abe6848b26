"""What the error of a linear fit has that is no noise: the play of an actuator and a slow trend."""

from __future__ import annotations

import numpy as np

from monitor.kernel import reduction
from monitor.messages.blocks import Samples

_BLOCKS = 16
# squared backlash over its variance from which it is significant; the estimate is scaled up, because what the fit
# leaves of a real backlash is no step
_SIGNIFICANT_BACKLASH, _BACKLASH_SCALE = 20.0, 2.5
# share of the velocity's sign that the fit leaves, 0.19 of a tone's: below it a backlash cannot be seen
_LEAST_REMAINDER = 0.1
# cycles in a window from which on a trend is none of the motion
_CYCLES_ABOVE_TREND = 3


@reduction
def separate_bias(slope: Samples, residual: Samples, motion: Samples, gain: float, width: int) -> None:
    """Overwrite the motion by what the residual has of a play and of a slow trend, which are no noise, (n,) each.

    The trend is taken from the residual, the play is left in it.

    Parameters
    ----------
    motion, slope, gain, width : from `fit_least_squares`.
    """
    _fit_backlash(motion, slope, residual, gain, motion)
    if residual.shape[0] >= _CYCLES_ABOVE_TREND * 8 * width:
        _move_trend(residual, motion)


@reduction
def _fit_backlash(motion: Samples, slope: Samples, residual: Samples, gain: float, backlash: Samples) -> None:
    """Write the backlash in the residual: a component of constant size with the sign of the velocity.

    A linear fit reads most of it as a delay, which depends on the amplitude: 4 b / (pi A omega) for a play of b to
    either side of a tone of amplitude A. What it leaves of the sign of the velocity is sought in the residual, and
    compared with what else is there. `motion` is the delayed command without its line; `backlash` may be the same
    array.
    """
    n = residual.shape[0]
    aa = bb = own = with_a = with_b = 0.0
    for t in range(n):
        a, b = motion[t], slope[t]
        x = 1.0 if b > 0.0 else -1.0 if b < 0.0 else 0.0
        aa, bb, own = aa + a * a, bb + b * b, own + x * x
        with_a, with_b = with_a + x * a, with_b + x * b
    of_a, of_b, total = with_a / aa, with_b / bb, 0.0
    own -= with_a * of_a + with_b * of_b
    for t in range(n):
        b = slope[t]
        x = 1.0 if b > 0.0 else -1.0 if b < 0.0 else 0.0
        total += (x - of_a * motion[t] - of_b * b) * residual[t]
    size = total / own if own > _LEAST_REMAINDER * n else 0.0
    noise = 0.0
    for block in range(_BLOCKS):
        block_sum, first, last = 0.0, block * n // _BLOCKS, (block + 1) * n // _BLOCKS
        position, velocity, r = motion[first:last], slope[first:last], residual[first:last]
        for t in range(last - first):
            b = velocity[t]
            x = (1.0 if b > 0.0 else -1.0 if b < 0.0 else 0.0) - of_a * position[t] - of_b * b
            block_sum += x * (r[t] - size * x)
        noise += block_sum * block_sum
    # the slope by the lag is positive where the motion falls, too late
    if not (size * gain > 0.0 and total * total > _SIGNIFICANT_BACKLASH * noise):
        size = 0.0
    size *= _BACKLASH_SCALE
    # of a tone's amplitude a play b takes about 16/(3 pi) (b/A)^1.5, from the describing function
    lost = 1.7 * (abs(size / gain) / np.sqrt(2.0 * aa / n)) ** 1.5 * gain if size != 0.0 else 0.0
    for t in range(n):
        b = slope[t]
        backlash[t] = (size if b > 0.0 else -size if b < 0.0 else 0.0) - lost * motion[t]


@reduction
def _move_trend(residual: Samples, bias: Samples) -> None:
    """Move a trend of the second and third order from the residual to the bias: its effect is known, and no noise."""
    n = residual.shape[0]
    step = 2.0 / (n - 1)
    square, cube, x = 0.0, 0.0, -1.0
    for t in range(n):
        square += residual[t] * (1.5 * x * x - 0.5)
        cube += residual[t] * x * (2.5 * x * x - 1.5)
        x += step
    # Legendre's polynomials, whose mean squares are 1/5 and 1/7
    square, cube, x = 5.0 * square / n, 7.0 * cube / n, -1.0
    for t in range(n):
        trend = square * (1.5 * x * x - 0.5) + cube * x * (2.5 * x * x - 1.5)
        residual[t] -= trend
        bias[t] += trend
        x += step
