"""Whether the scalar delay equation settles, and where: its rightmost characteristic root, by Lambert's function."""

from __future__ import annotations

from cmath import log as complex_log
from cmath import sqrt as complex_sqrt
from math import copysign, exp, expm1, log, pi
from sys import float_info

import numpy as np
from numpy.typing import ArrayLike, NDArray

# from here on the logarithm of Lambert's equation is solved instead, whose argument may be beyond all numbers
_LARGE = 2.0
_MOST_ITERATIONS = 50
# in the logarithm of the argument; the next term of the series is then below the rounding
_NEAR = 1e-7


def growth_rate(q0: float, q1: float, delay: float) -> float:
    """Return the largest real part among the roots of s = q0 + q1 exp(-s r), 1/s.

    With w = (s - q0) r this is w exp(w) = q1 r exp(-q0 r), of whose solutions the principal one is the rightmost.
    Where the right side is large it is solved as s r + log(s - q0) = log(q1), in which nothing cancels for a large
    q0 r; where it is near -1/e, two real roots meet, and a series around there is taken.

    Parameters
    ----------
    q0, q1 : 1/s, finite.
    delay : r, s, positive.
    """
    # what is beyond all numbers is told as the last of them
    return min(max(_rightmost(q0, q1, delay), -float_info.max), float_info.max)


def _rightmost(q0: float, q1: float, delay: float) -> float:
    from scipy.special import lambertw  # scipy is slow to import

    if q1 == 0.0:
        return q0
    size = log(abs(q1)) + log(delay) - q0 * delay
    if q1 < 0.0 and abs(size + 1.0) < _NEAR:
        p = complex_sqrt(-2.0 * expm1(size + 1.0))
        return q0 + (-1.0 + p - p**2 / 3.0 + p**3 * (11.0 / 72.0) - p**4 * (43.0 / 540.0)).real / delay
    if size < _LARGE:
        return q0 + float(lambertw(copysign(exp(size), q1)).real) / delay
    turn = complex(0.0, pi if q1 < 0.0 else 0.0)
    root = (log(abs(q1)) + log(delay) + turn - complex_log(min(size, float_info.max) + turn)) / delay
    for _ in range(_MOST_ITERATIONS):
        # Newton's method
        above = root - q0
        step = (root * delay + complex_log(above) - log(abs(q1)) - turn) / (delay + 1.0 / above)
        root -= step
        if abs(step) <= float_info.epsilon * abs(root):
            break
    return root.real


def is_stable(q0: ArrayLike, q1: ArrayLike, delay: ArrayLike) -> NDArray[np.bool_]:
    """Return whether the rightmost root is left of zero, of many equations.

    For q1 of zero or more that is q0 + q1 < 0, whatever the delay, and for all where q0 + |q1| < 0; only of the rest
    is the root looked for.

    Parameters
    ----------
    q0, q1 : 1/s, of one shape, or one number; what is not finite is not stable.
    delay : r, s, positive; likewise.
    """
    rates, feedback, delays = np.broadcast_arrays(*(np.asarray(each, dtype=np.float64) for each in (q0, q1, delay)))
    with np.errstate(over="ignore", invalid="ignore"):
        together = rates + feedback
        surely = np.isfinite(feedback) & (rates + np.abs(feedback) < 0.0)
    unsure = np.isfinite(together) & (feedback < 0.0) & (together < 0.0) & ~surely
    rightmost = np.full(rates.shape, np.inf)
    find = np.vectorize(growth_rate, otypes=[np.float64])
    if unsure.any():
        rightmost[unsure] = find(rates[unsure], feedback[unsure], delays[unsure])
    return np.asarray(surely | (rightmost < 0.0))


def steady_state(q0: ArrayLike, q1: ArrayLike, omega: ArrayLike, delay: ArrayLike) -> NDArray[np.float64]:
    """Return -omega / (q0 + q1) of many equations, where they are stable; else NaN."""
    rate = np.asarray(q0, dtype=np.float64) + np.asarray(q1, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(is_stable(q0, q1, delay), -np.asarray(omega, dtype=np.float64) / rate, np.nan)
