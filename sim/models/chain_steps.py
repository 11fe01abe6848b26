"""Steps of a chain of masses by Runge and Kutta, cut where a mode ends; pieces of the kernel of its motion."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sim.arrays import Integers, Samples
from sim.kernels import kernel, part
from sim.models.chain_forces import ChainNumbers, accelerate, add_forces, event_functions

_MOST_SEARCHES = 100

# Dormand and Prince 1980: stages, weights of order 5, and those less the weights of order 4
_AT = np.array([0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0])
_STAGES = np.array(
    [
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [1 / 5, 0.0, 0.0, 0.0, 0.0, 0.0],
        [3 / 40, 9 / 40, 0.0, 0.0, 0.0, 0.0],
        [44 / 45, -56 / 15, 32 / 9, 0.0, 0.0, 0.0],
        [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0.0, 0.0],
        [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656, 0.0],
        [35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
    ]
)
_ERROR = np.array([71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40])

# rows of the room that steps work in: state at the end of a step, its error, and those that pieces need for a while
X, V, X_ERROR, V_ERROR, _STAGE_X, _STAGE_V, FORCE, _PLACE_X, _PLACE_V = range(9)
ROWS = 9


class StepArrays(NamedTuple):
    """Arrays that all steps of one chain of n masses use.

    Parameters
    ----------
    state : (2, n), displacement and velocity at the start of the step.
    loads : (2, n), the load at the sample, N, and its rate.
    chain : its numbers.
    modes : (n + 1,), fixed within a step.
    work : (ROWS, n).
    stages : (2, 7, n), velocities and accelerations.
    """

    state: Samples
    loads: Samples
    chain: ChainNumbers
    modes: Integers
    work: Samples
    stages: Samples


@kernel
def step_chain(at: StepArrays, since: float, h: float) -> None:
    """Fill the end of a step and its errors in `work`; stages[1, 6] are the accelerations there.

    It begins `since` s after the sample. The first stage, stages[:, 0], is there already.
    """
    state, loads, chain, modes, work, stages = at
    n = state.shape[1]
    x, v, force = work[_STAGE_X], work[_STAGE_V], work[FORCE]
    for stage in range(1, 7):
        for i in range(n):
            moved, sped = 0.0, 0.0
            for earlier in range(stage):
                weight = _STAGES[stage, earlier]
                moved += weight * stages[0, earlier, i]
                sped += weight * stages[1, earlier, i]
            x[i] = state[0, i] + h * moved
            v[i] = state[1, i] + h * sped
            stages[0, stage, i] = v[i]
            force[i] = loads[0, i] + loads[1, i] * (since + _AT[stage] * h)
        add_forces(x, v, chain, modes, force)
        accelerate(force, chain, modes, stages[1, stage])
    for i in range(n):
        moved, sped = 0.0, 0.0
        for stage in range(7):
            moved += _ERROR[stage] * stages[0, stage, i]
            sped += _ERROR[stage] * stages[1, stage, i]
        work[X, i], work[V, i] = x[i], v[i]
        work[X_ERROR, i], work[V_ERROR, i] = h * moved, h * sped


@part
def _ends(at: StepArrays, since: float, out: Samples) -> bool:
    """Fill the event functions at the end of a step; return whether any is negative."""
    return event_functions(at.work[X], at.work[V], at.loads, since, at.chain, at.modes, at.work[FORCE], out)


@kernel
def _event_time(at: StepArrays, since: float, h: float, tolerance: float, found: Samples) -> float:
    """Return the step after which the first event function is negative, by no more than `tolerance` [s] too late.

    Illinois' regula falsi on the step, of all event functions together. `found` (3, n + 1) has them at the start in
    its first row and at the end, where one is negative, in its last; on return `work` and `found[2]` are those of the
    step returned.
    """
    low, high, last = 0.0, h, 0
    for search in range(_MOST_SEARCHES):
        if high - low <= tolerance:
            break
        trial = 1.0
        for each in range(found.shape[1]):
            if found[2, each] < 0.0:
                trial = min(trial, found[0, each] / (found[0, each] - found[2, each]))
        # a mass that has just begun to slip has no velocity: halved until it has
        if not 0.0 < trial < 1.0 or search > _MOST_SEARCHES // 2:
            trial = 0.5
        step = low + trial * (high - low)
        # a root next to one end of the bracket is enclosed from the other side
        if step - low < 0.25 * tolerance:
            step = low + 0.5 * tolerance
        elif high - step < 0.25 * tolerance:
            step = high - 0.5 * tolerance
        step_chain(at, since, step)
        if _ends(at, since + step, found[1]):
            high = step
            found[2] = found[1]
            if last == 1:
                found[0] *= 0.5
            last = 1
        else:
            low = step
            found[0] = found[1]
            if last == -1:
                found[2] *= 0.5
            last = -1
    if last != 1:
        step_chain(at, since, high)
    _ends(at, since + high, found[2])
    return high


@part
def _inside(s: float, at: StepArrays, since: float, h: float, out: Samples) -> bool:
    """Fill the event functions at a share `s` of a step, by Hermite's cubics; return whether any is negative."""
    state, loads, chain, modes, work, stages = at
    x, v = work[_PLACE_X], work[_PLACE_V]
    start, end = (1.0 + 2.0 * s) * (1.0 - s) ** 2, s * s * (3.0 - 2.0 * s)
    leaving, arriving = h * s * (1.0 - s) ** 2, h * s * s * (s - 1.0)
    for i in range(len(x)):
        v0, v1 = state[1, i], work[V, i]
        x[i] = start * state[0, i] + end * work[X, i] + leaving * v0 + arriving * v1
        v[i] = start * v0 + end * v1 + leaving * stages[1, 0, i] + arriving * stages[1, 6, i]
    return event_functions(x, v, loads, since + s * h, chain, modes, work[FORCE], out)


@kernel
def _dip(at: StepArrays, since: float, h: float, quarters: Samples) -> float:
    """Return the first share of a step at which an event function is negative: 0 for none, 1 for its end.

    Looked at are quarters of the step and the lowest points of parabolas through three of them. `quarters` (5, n + 1)
    has the event functions at the start in its first row.
    """
    for quarter in range(1, 4):
        if _inside(0.25 * quarter, at, since, h, quarters[quarter]):
            return 0.25 * quarter
    ended = _ends(at, since + h, quarters[4])
    lowest = 1.0
    for middle in range(1, 4):
        for each in range(quarters.shape[1]):
            before, here, after = quarters[middle - 1, each], quarters[middle, each], quarters[middle + 1, each]
            bend = before - 2.0 * here + after
            if not 0.0 < bend < np.inf:
                continue
            off = 0.5 * (before - after) / bend
            if abs(off) < 1.0 and here - 0.5 * bend * off * off < 0.0:
                lowest = min(lowest, 0.25 * (middle + off))
    if 0.0 < lowest < 1.0 and _inside(lowest, at, since, h, quarters[3]):
        return lowest
    return 1.0 if ended else 0.0


@kernel
def cut_at_event(
    at: StepArrays, since: float, h: float, tolerance: float, quarters: Samples, found: Samples
) -> float:
    """Return a step as it is, or cut at its first event; masses that stop there have no velocity in `work`."""
    state, loads, chain, modes, work, _ = at
    n = state.shape[1]
    event_functions(state[0], state[1], loads, since, chain, modes, work[FORCE], quarters[0])
    found[0] = quarters[0]
    share = _dip(at, since, h, quarters)
    end, crosses = h, False
    if 0.0 < share < 1.0:
        # whether a true step has it too
        end = share * h
        step_chain(at, since, end)
        crosses = _ends(at, since + end, found[2])
        if not crosses:
            end = h
            step_chain(at, since, h)
    if not crosses:
        crosses = share > 0.0 and _ends(at, since + h, found[2])
    if crosses:
        end = _event_time(at, since, end, tolerance, found)
        for i in range(n):
            if modes[i] != 0 and found[2, i] < 0.0:
                work[V, i] = 0.0
    return end


@kernel
def step_error(work: Samples, largest: Samples, h: float) -> float:
    """Return a step's error over the largest motion so far, of displacement and velocity the larger; NaN counts."""
    x, v = largest[0] + h * largest[1] + h * h * largest[2], largest[1] + h * largest[2]
    worst = 0.0
    for i in range(work.shape[1]):
        if not (np.isfinite(work[X, i]) and np.isfinite(work[V, i])):
            return np.inf
        if work[X_ERROR, i] != 0.0:
            worst = max(worst, abs(work[X_ERROR, i]) / max(x, abs(work[X, i])))
        if work[V_ERROR, i] != 0.0:
            worst = max(worst, abs(work[V_ERROR, i]) / max(v, abs(work[V, i])))
    return worst
