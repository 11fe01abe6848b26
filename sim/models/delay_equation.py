"""The scalar delay equation x'(t) = q0 x(t) + q1 x(t - r) + omega, solved exactly by the method of steps."""

from __future__ import annotations

from cmath import log as complex_log
from cmath import sqrt as complex_sqrt
from dataclasses import dataclass
from math import copysign, exp, expm1, isfinite, log, pi
from sys import float_info

import numpy as np
from numpy.typing import ArrayLike

from sim.arrays import Flags, Samples

# what the solution depends on, in the order of `solve`
PARAMETERS = ("q0", "q1", "omega", "initial", "delay")
# the most that a piece is long, in the time (|q0| + |q1|)^-1
_LONGEST_PIECE = 4.0
# of one equation: its delays up to the last time, and the pieces into which they are cut
_MOST_PIECES = 1_000_000
# from here on the logarithm of Lambert's equation is solved instead, whose argument may overflow
_LARGE = 2.0
_MOST_ITERATIONS = 50
# in the logarithm of the argument; the next term of the series is then below the rounding
_NEAR = 1e-7


@dataclass(frozen=True, slots=True)
class DelayEquation:
    """x'(t) = q0 x(t) + q1 x(t - delay) + omega (Burns, Cliff and Farlow, eq. 26); with q1 = 0 the ordinary eq. 22.

    Parameters
    ----------
    q0, q1 : 1/s.
    omega : the constant disturbance, 1/s times the unit of x.
    initial : x(0), the paper's eta.
    delay : r, s.
    history : x(s) for -r <= s < 0, a constant.

    Raises
    ------
    ValueError : a number is not finite, or the delay not positive.
    """

    q0: float
    q1: float = 0.0
    omega: float = 0.0
    initial: float = 5.0
    delay: float = 1.0
    history: float = 0.0

    def __post_init__(self) -> None:
        for name in (*PARAMETERS, "history"):
            if not isfinite(getattr(self, name)):
                raise ValueError(f"delay equation {name} {getattr(self, name)}: must be a finite number")
        if self.delay <= 0.0:
            raise ValueError(f"delay equation delay {self.delay}: must be positive")

    @property
    def parameters(self) -> Samples:
        """(5,), in the order of `PARAMETERS`."""
        return np.array([getattr(self, name) for name in PARAMETERS])

    @property
    def stable(self) -> bool:
        """Whether it settles: the growth rate is negative, as always where q0 + |q1| < 0, whatever the delay."""
        return bool(is_stable(self.q0, self.q1, self.delay))

    @property
    def growth_rate(self) -> float:
        """Real part of the rightmost characteristic root, 1/s: negative where the equation is stable."""
        return growth_rate(self.q0, self.q1, self.delay)

    @property
    def steady_state(self) -> float:
        """-omega / (q0 + q1), where the equation is stable; else NaN."""
        return float(steady_state(self.q0, self.q1, self.omega, self.delay))

    def response(self, time: ArrayLike) -> Samples:
        """Return x at the times, (n_times,) in s from zero on.

        Raises
        ------
        ValueError : the solution overflows, or the times are past the reach of `solve`.
        """
        return self._within_reach(time, solve(time, self.parameters[None], self.history)[0][0])

    def sensitivities(self, time: ArrayLike) -> Samples:
        """Return the derivatives of x by `PARAMETERS`, (n_times, 5).

        Raises
        ------
        ValueError : one overflows, or the times are past the reach of `solve`.
        """
        return self._within_reach(time, solve(time, self.parameters[None], self.history)[1][0])

    def _within_reach(self, time: ArrayLike, found: Samples) -> Samples:
        lost = ~np.isfinite(found.reshape(len(found), -1)).all(axis=1)
        if not lost.any():
            return found
        instants = np.atleast_1d(np.asarray(time, dtype=np.float64))
        taken = float(_divided(instants, self.parameters[None])[-1][0])
        if taken > _MOST_PIECES:
            count = f"{taken:.3g} pieces of delays, {_MOST_PIECES} are allowed"
            raise ValueError(f"delay equation time {instants.max():g} s: takes {count}; ask for earlier times")
        raise ValueError(f"delay equation: overflows at {instants[lost].min():g} s; ask for earlier times")


def solve(time: ArrayLike, parameters: ArrayLike, history: float = 0.0) -> tuple[Samples, Samples]:
    """Solve many delay equations at once, exactly.

    On interval k, s seconds after k r, the solution restarts from its values X_i at the multiples of r:

        x = sum over j <= k of  q1^j (X_(k-j) e_j(s) + omega I_j(s))  +  history q1^(k+1) I_k(s)

    with e_j = s^j / j! exp(q0 s) and I_j its integral from 0 to s. This is the appendix of Burns, Cliff and Farlow
    without the divisions by q0, which fail near zero, and for any number of intervals. (Their coefficients are right;
    eq. 25 and the collected form at the end of the appendix have wrong exponents.) The same sum holds on any piece of
    an interval, with the values where that piece began, and each interval is cut until (|q0| + |q1|) s is at most 4:
    so nothing in it is large, whatever the sign of q0.

    Parameters
    ----------
    time : (n_times,), s, none negative.
    parameters : (m, 5), in the order of `PARAMETERS`.
    history : x before zero, a constant.

    Returns
    -------
    (m, n_times) solutions and (m, n_times, 5) their derivatives by the parameters. By the delay it is that from the
    left where the time is a multiple of it. What overflows is not finite. A row is NaN where a parameter is not
    finite, or where the last time takes more than a million pieces, each as long as the delay or 4 / (|q0| + |q1|),
    whichever is shorter.

    Raises
    ------
    ValueError : a shape is wrong, a time is negative or not finite, a delay not positive, or the history not finite.
    """
    from sim.models.delay_kernel import follow  # numba is slow to import

    instants = np.atleast_1d(np.asarray(time, dtype=np.float64))
    equations = np.ascontiguousarray(parameters, dtype=np.float64)
    if equations.ndim != 2 or equations.shape[1] != len(PARAMETERS):
        raise ValueError(f"delay equation parameters: must be of shape (m, {len(PARAMETERS)}), not {equations.shape}")
    if instants.ndim != 1 or not (np.isfinite(instants) & (instants >= 0.0)).all():
        raise ValueError("delay equation time: must be finite and not negative, of shape (n_times,)")
    if (equations[:, 4] <= 0.0).any():
        raise ValueError("delay equation delay: must be positive")
    if not isfinite(history):
        raise ValueError(f"delay equation history {history}: must be a finite number")
    pieces, lengths, delays, taken = _divided(instants, equations)
    possible = np.isfinite(equations).all(axis=1) & (taken <= _MOST_PIECES)
    counts = np.where(possible, [pieces, delays], 0.0).astype(np.int64)
    solution = np.empty((len(equations), len(instants)))
    # a row of memory for each derivative
    change = np.empty((len(PARAMETERS), *solution.shape))
    follow(instants, equations, float(history), counts[0], lengths, counts[1], solution, change)
    return solution, change.transpose(1, 2, 0)


def _divided(instants: Samples, equations: Samples) -> tuple[Samples, Samples, Samples, Samples]:
    """Return the pieces of a delay, their length [s], the delays up to the last time, and their pieces, each (m,)."""
    last, delay = float(instants.max(initial=0.0)), equations[:, 4]
    # what comes after the last time need not be cut
    span = np.minimum(delay, last) if last else delay
    # numbers beyond all others, and those that are not numbers, are rejected by the caller
    with np.errstate(over="ignore", invalid="ignore"):
        rate = np.abs(equations[:, 0]) + np.abs(equations[:, 1])
        pieces = np.maximum(np.ceil(rate * span / _LONGEST_PIECE), 1.0)
        delays = np.maximum(np.ceil(last / delay), 1.0)
        return pieces, span / pieces, delays, pieces * delays


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
    # what overflows is returned as the largest number
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


def is_stable(q0: ArrayLike, q1: ArrayLike, delay: ArrayLike) -> Flags:
    """Return whether the rightmost root is left of zero, of many equations.

    For q1 of zero or more that is q0 + q1 < 0, whatever the delay, and for all where q0 + |q1| < 0; only of the rest
    is the root sought.

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


def steady_state(q0: ArrayLike, q1: ArrayLike, omega: ArrayLike, delay: ArrayLike) -> Samples:
    """Return -omega / (q0 + q1) of many equations, where they are stable; else NaN."""
    rate = np.asarray(q0, dtype=np.float64) + np.asarray(q1, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(is_stable(q0, q1, delay), -np.asarray(omega, dtype=np.float64) / rate, np.nan)
