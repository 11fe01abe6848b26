"""The scalar delay equation x'(t) = q0 x(t) + q1 x(t - r) + omega, solved exactly by the method of steps.

A delay that is long for the equation's rates is cut into equal pieces. All that happened in the same piece of the
delays before is then summed with few terms, none of which is large.
"""

from __future__ import annotations

from cmath import log as complex_log
from cmath import sqrt as complex_sqrt
from dataclasses import dataclass
from math import copysign, exp, expm1, floor, isfinite, log, pi
from sys import float_info

import numpy as np
from numpy.typing import ArrayLike

from sim.arrays import Flags, Integers, Samples
from sim.kernels import kernel

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
# older events add less than the rounding: L^j / j!, L the longest piece, and their decay
_TERMS = 48
_NEGLIGIBLE = 1e-18
# 1 / j
_INVERSE = 1.0 / np.maximum(np.arange(2.0 * _TERMS), 1.0)


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
        found: Samples = solve(time, self.parameters[None], self.history)[0][0]
        lost = ~np.isfinite(found)
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
    _follow(instants, equations, float(history), counts[0], lengths, counts[1], solution, change)
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


# of an instant: the solution, its derivatives by q0, q1, omega, initial and delay, and that by time
_X, _BY_Q0, _BY_Q1, _BY_OMEGA, _BY_INITIAL, _BY_DELAY, _RATE = range(7)


@kernel
def _ahead(reach: float) -> int:
    """Return how many terms the series of the integrals takes for q0 s up to `reach`, besides those that are used."""
    terms, size = 0, 1.0
    while size > _NEGLIGIBLE:
        terms += 1
        size *= reach * _INVERSE[terms + 2]
    return terms


@kernel
def _evaluate(
    equation: Samples,
    history: float,
    anchors: Samples,
    place: int,
    per_delay: int,
    since: float,
    ahead: int,
    shares: Samples,
    out: Samples,
) -> None:
    """Write what there is `since` s after the beginning of a piece; see `solve` for the sum.

    With e_j = s^j / j! exp(q0 s), its integral is s e_j F_j / (j + 1), where F_j is Kummer's M(1, j + 2, -q0 s), and
    F_(j-1) = 1 - q0 s F_j / (j + 1). Downwards that forgets where it began.
    """
    q0, q1, omega = equation[0], equation[1], equation[2]
    interval = place // per_delay
    last = min(interval, _TERMS)
    reach, share = q0 * since, 1.0
    for j in range(last + 1 + ahead, last + 1, -1):
        share = 1.0 - reach * share * _INVERSE[j + 1]
    shares[last + 1] = share
    for j in range(last + 1, 0, -1):
        share = 1.0 - reach * share * _INVERSE[j + 1]
        shares[j - 1] = share
    x, rate, by_q0, by_q1, by_omega, by_initial, by_delay = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    # q1^j e_j; its integral; and that one's derivative by q0, which by q1 is the one of the term before
    power, integral, moment = exp(reach), 0.0, 0.0
    power_before, moment_before = 0.0, 0.0
    for j in range(last + 1):
        if j:
            power_before, moment_before = power, moment
            power *= q1 * since * _INVERSE[j]
        integral = power * since * _INVERSE[j + 1] * shares[j]
        moment = power * since * since * _INVERSE[j + 2] * shares[j + 1]
        anchor = anchors[place - j * per_delay]
        x += anchor[_X] * power + omega * integral
        rate += anchor[_X] * (q0 * power + q1 * power_before) + omega * power
        by_q0 += anchor[_BY_Q0] * power + anchor[_X] * since * power + omega * moment
        by_q1 += anchor[_BY_Q1] * power + anchor[_X] * since * power_before + omega * moment_before
        by_omega += anchor[_BY_OMEGA] * power + integral
        by_initial += anchor[_BY_INITIAL] * power
        by_delay += anchor[_BY_DELAY] * power
    if last == interval:
        x += history * q1 * integral
        rate += history * q1 * power
        by_q0 += history * q1 * moment
        by_q1 += history * (integral + q1 * moment_before)
    out[_X], out[_RATE] = x, rate
    out[_BY_Q0], out[_BY_Q1], out[_BY_OMEGA] = by_q0, by_q1, by_omega
    out[_BY_INITIAL], out[_BY_DELAY] = by_initial, by_delay


@kernel
def _follow(
    time: Samples,
    equations: Samples,
    history: float,
    pieces: Integers,
    lengths: Samples,
    delays: Integers,
    solution: Samples,
    change: Samples,
) -> None:
    """Solve every equation at every time.

    Parameters
    ----------
    time : (n_times,), s, in any order.
    equations : (m, 5), the parameters in the order of `solve`.
    history : x before zero.
    pieces, lengths : (m,), into how many pieces a delay is cut, and how long they are, s; 0 pieces skip the equation.
    delays : (m,), how many delays there are up to the last time, the one that it is in too.
    solution : (m, n_times), written to.
    change : (5, m, n_times), the derivatives, written to.
    """
    shares, out = np.empty(_TERMS + 2), np.empty(7)
    for row in range(len(equations)):
        per_delay, length, delay = pieces[row], lengths[row], equations[row, 4]
        if per_delay == 0:
            solution[row] = np.nan
            change[:, row] = np.nan
            continue
        ahead = _ahead(abs(equations[row, 0]) * length)
        # where each piece begins; derivatives are taken where it moves with the multiples of the delay
        anchors = np.zeros((per_delay * delays[row], 6))
        anchors[0, _X], anchors[0, _BY_INITIAL] = equations[row, 3], 1.0
        for place in range(len(anchors) - 1):
            _evaluate(equations[row], history, anchors, place, per_delay, length, ahead, shares, out)
            if not np.isfinite(out[_X]):
                anchors[place + 1 :] = np.nan
                break
            anchors[place + 1] = out[:_RATE]
            if (place + 1) % per_delay == 0:
                anchors[place + 1, _BY_DELAY] += out[_RATE]
        for i in range(len(time)):
            # a multiple of the delay belongs to the interval that it ends
            interval = max(np.ceil(time[i] / delay) - 1.0, 0.0)
            since = max(time[i] - interval * delay, 0.0)
            piece = min(floor(since / length), per_delay - 1)
            place = int(interval) * per_delay + piece
            since -= piece * length
            _evaluate(equations[row], history, anchors, place, per_delay, since, ahead, shares, out)
            solution[row, i] = out[_X]
            for j in range(5):
                change[j, row, i] = out[1 + j]
            # the instant stays where it is, and so comes earlier after the multiple of the delay
            change[4, row, i] -= interval * out[_RATE]
