"""The scalar delay equation x'(t) = q0 x(t) + q1 x(t - r) + omega, solved exactly by the method of steps."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import lambertw

Samples = NDArray[np.float64]

# what the solution depends on, in the order of `solve`
PARAMETERS = ("q0", "q1", "omega", "initial", "delay")
_NEGLIGIBLE = 1e-18
_MOST_TERMS = 400


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
        """Whether q0 + |q1| < 0, which makes it stable whatever the delay; some others are stable too."""
        return self.q0 + abs(self.q1) < 0.0

    @property
    def growth_rate(self) -> float:
        """Real part of the rightmost characteristic root, 1/s: negative where the equation is stable."""
        r = self.delay
        return float(self.q0 + np.real(lambertw(self.q1 * r * np.exp(-self.q0 * r))) / r)

    @property
    def steady_state(self) -> float:
        """-omega / (q0 + q1), where the equation is stable; else NaN."""
        return -self.omega / (self.q0 + self.q1) if self.growth_rate < 0.0 else np.nan

    def response(self, time: ArrayLike) -> Samples:
        """Return x at the times, (n_times,) in s from zero on."""
        return np.asarray(solve(time, self.parameters[None], self.history)[0][0])

    def sensitivities(self, time: ArrayLike) -> Samples:
        """Return the derivatives of x by `PARAMETERS`, (n_times, 5)."""
        return np.asarray(solve(time, self.parameters[None], self.history)[1][0])


def solve(time: ArrayLike, parameters: Samples, history: float = 0.0) -> tuple[Samples, Samples]:
    """Solve many delay equations at once, exactly.

    On interval k, s seconds after k r, the solution begins anew from its values X_i at the multiples of r:

        x = sum over j <= k of  q1^j (X_(k-j) e_j(s) + omega I_j(s))  +  history q1^(k+1) I_k(s)

    with e_j = s^j / j! exp(q0 s) and I_j its integral from 0 to s. This is the appendix of Burns, Cliff and Farlow
    without the divisions by q0, which fail near zero, and for any number of intervals; nothing in it cancels.
    (Their coefficients are right; eq. 25 and the collected form at the end of the appendix have wrong exponents.)

    Parameters
    ----------
    time : (n_times,), s, none negative.
    parameters : (m, 5), in the order of `PARAMETERS`.
    history : x before zero, a constant.

    Returns
    -------
    (m, n_times) solutions and (m, n_times, 5) their derivatives by the parameters. By the delay it is that from the
    left where the time is a multiple of it.

    Raises
    ------
    ValueError : a time is negative or not finite, or a delay not positive.
    """
    instants = np.atleast_1d(np.asarray(time, dtype=np.float64))
    if not (np.isfinite(instants) & (instants >= 0.0)).all():
        raise ValueError("delay equation time: must be finite and not negative")
    if not (parameters[:, 4] > 0.0).all():
        raise ValueError("delay equation delay: must be positive")
    delays, which = np.unique(parameters[:, 4], return_inverse=True)
    if len(delays) == 1:
        solution, change = _with_one_delay(instants, parameters, history)
        return solution, change.transpose(1, 2, 0)
    # a row of memory for each derivative
    solution, change = np.empty((len(which), len(instants))), np.empty((5, len(which), len(instants)))
    for i in range(len(delays)):
        members = which == i
        solution[members], change[:, members] = _with_one_delay(instants, parameters[members], history)
    return solution, change.transpose(1, 2, 0)


def _with_one_delay(instants: Samples, parameters: Samples, history: float) -> tuple[Samples, Samples]:
    """Return what `solve` does where all have the same delay, the derivatives as (5, m, n_times)."""
    q0, q1, omega, initial = parameters[:, :4, None].swapaxes(0, 1)
    delay = float(parameters[0, 4])
    interval = np.maximum(np.ceil(instants / delay) - 1.0, 0.0)
    steps = _Steps(q0, q1, omega, initial, history, delay)
    solution, change = np.empty((len(q0), len(instants))), np.empty((5, len(q0), len(instants)))
    for k in range(int(interval.max(initial=0.0)) + 1):
        inside = interval == k
        # with the end of the interval, from where the next one goes on
        x, changed = steps.advance(np.append(instants[inside] - k * delay, delay))
        solution[:, inside], change[:, :, inside] = x[:, :-1], changed[..., :-1]
    return solution, change


class _Steps:
    """The method of steps for m equations of one delay: interval after interval, each from its beginning."""

    def __init__(
        self, q0: Samples, q1: Samples, omega: Samples, initial: Samples, history: float, delay: float
    ) -> None:
        self._q0, self._q1, self._omega, self._history = q0, q1, omega, history
        self._n_terms = _terms(2.0 * delay * float(np.max(np.abs(q0) + np.abs(q1), initial=0.0)))
        # the solution at the multiples of the delay, the latest first, and its derivatives there
        self._anchors, self._changes = [initial], [np.zeros((5, *initial.shape))]
        self._changes[0][3] = 1.0
        self._k = 0

    def advance(self, since: Samples) -> tuple[Samples, Samples]:
        """Return the next interval, (m, n), and its derivatives, (5, m, n), at (n,) s since its beginning.

        The last of the instants must be its end.
        """
        q0, q1, omega, k = self._q0, self._q1, self._omega, self._k
        n_terms = min(k, self._n_terms) + 1
        e, integral = _exponentials(q0, since, n_terms)
        x, rate, change = np.zeros_like(e[0]), np.zeros_like(e[0]), np.zeros((5, *e[0].shape))
        power, slope = np.ones_like(q1), np.zeros_like(q1)  # q1^j and its derivative
        for j in range(n_terms):
            back = self._history if j == k else 0.0
            steeper = power + q1 * slope  # the derivative of q1^(j+1)
            started, pushed = self._anchors[j] * power, omega * power + back * q1 * power
            x += started * e[j] + pushed * integral[j]
            rate += (started * q0 + pushed) * e[j] + (started * e[j - 1] if j else 0.0)
            # d/dq0 of e_j is (j + 1) e_(j+1), and so with the integrals
            change[0] += (j + 1) * (started * e[j + 1] + pushed * integral[j + 1])
            change[1] += (self._anchors[j] * slope) * e[j] + (omega * slope + back * steeper) * integral[j]
            change[2] += power * integral[j]
            change += (self._changes[j] * power) * e[j]
            power, slope = power * q1, steeper
        self._anchors.insert(0, x[:, -1:])
        self._changes.insert(0, change[..., -1:].copy())
        # at a fixed instant the beginning moves by k times what the delay changes; at its end it is one time less
        change[4] -= k * rate
        self._changes[0][4] += rate[:, -1:]
        del self._anchors[self._n_terms + 1 :], self._changes[self._n_terms + 1 :]
        self._k += 1
        return x, change


def _terms(reach: float) -> int:
    """Return the number of the term after which the sum of reach^j / j! has nothing to add."""
    term, j = 1.0, 0
    while (term > _NEGLIGIBLE or j < reach) and j < _MOST_TERMS:
        j += 1
        term *= reach / j
    return j


def _exponentials(q0: Samples, since: Samples, n_terms: int) -> tuple[list[Samples], list[Samples]]:
    """Return e_j = s^j / j! exp(q0 s) and its integral from 0 to s, for j up to `n_terms`."""
    z = q0 * since
    e = [np.exp(z)]
    for j in range(1, n_terms + 1):
        e.append(e[-1] * (since / j))
    # the highest by its series, summed from its end; the others downwards from it: upwards it would cancel
    reach, i = float(np.max(np.abs(z), initial=0.0)), n_terms + 2
    term = 1.0
    while term > _NEGLIGIBLE and i < _MOST_TERMS:
        term *= reach / i
        i += 1
    total = np.ones_like(z)
    for above in range(i, n_terms + 1, -1):
        total *= z * (-1.0 / above)
        total += 1.0
    integral = [e[-1] * (since / (n_terms + 1)) * total]
    for j in range(n_terms, 0, -1):
        integral.append(e[j] - q0 * integral[-1])
    return e, integral[::-1]
