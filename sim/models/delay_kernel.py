"""The method of steps for scalar delay equations, each with its own delay, compiled.

A delay that is long for the equation's rates is cut into equal pieces. All that happened in the same piece of the
delays before is then summed with few terms, none of which is large.
"""

from __future__ import annotations

from math import exp, floor

import numpy as np

from sim.arrays import Integers, Samples
from sim.kernels import kernel

# older events add less than the rounding: L^j / j!, L the longest piece of `delay_equation`, and their decay
_TERMS = 48
_NEGLIGIBLE = 1e-18
# 1 / j
_INVERSE = 1.0 / np.maximum(np.arange(2.0 * _TERMS), 1.0)
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
def follow(
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
