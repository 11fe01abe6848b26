"""Motion of chains of masses with cubic springs, Coulomb friction and a contact: Runge-Kutta with located events.

Between events the modes (which mass sticks or slips to which side, whether the contact has a force) are fixed and the
motion is smooth: Dormand and Prince's pair of order 5(4), the load linear between samples. A step at whose end or
within which an event function is negative is cut where the first of them crosses zero. The modes there are a function
of the state, so that no switching back and forth can happen at one instant. See docs/decisions/0040.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sim.arrays import Integers, Samples
from sim.kernels import inlined, kernel, part

COMPLETE, DIVERGED, TOO_MANY_STEPS = 0, 1, 2
# of each sample interval: steps, located events among them; halvings of a step; of an event: steps tried
MOST_STEPS, _MOST_HALVINGS, _MOST_SEARCHES = 50_000, 30, 100
# an event is located within this fraction of a sample interval
_EVENT_TOLERANCE = 1e-10

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
_X, _V, _X_ERROR, _V_ERROR, _STAGE_X, _STAGE_V, _FORCE, _PLACE_X, _PLACE_V = range(9)
_ROWS = 9
# of one chain: masses, springs, dampers, cubic, friction, of the contact gap, stiffness and damping, its masses
# (-1 for the ground, both for no contact), and whether spring 0 is that of mass 0 to the ground
ChainNumbers = tuple[Samples, Samples, Samples, Samples, Samples, Samples, Integers, bool]


class StepArrays(NamedTuple):
    """Arrays that all steps of one chain of n masses use.

    Parameters
    ----------
    state : (2, n), displacement and velocity at the start of the step.
    loads : (2, n), the load at the sample, N, and its rate.
    chain : its numbers.
    modes : (n + 1,), fixed within a step: +1 or -1 for a mass that slips to that side, 0 for one that sticks; last, 1
        for a contact that has a force, 0 for one that has none.
    work : (_ROWS, n).
    stages : (2, 7, n), velocities and accelerations.
    """

    state: Samples
    loads: Samples
    chain: ChainNumbers
    modes: Integers
    work: Samples
    stages: Samples


@kernel
def advance_chain(
    parameters: tuple[Samples, Samples, Samples, Samples, Samples, Samples],
    pair: Integers,
    grounded: bool,
    load: Samples,
    dt: float,
    initial: Samples,
    substeps: int,
    tolerance: float,
    memory: Samples,
    motion: Samples,
    ended: Integers,
) -> None:
    """Fill the motion of m chains of n masses.

    A motion that is continued from its last sample, with the memory, is the same to the last bit.

    Parameters
    ----------
    parameters : masses (m, n), springs, dampers and cubic (m, springs), friction (m, n), contact (m, 3): gap,
        stiffness, damping.
    pair : (2,), the masses of the contact, -1 for the ground; without contact both -1.
    grounded : whether spring 0 is that of mass 0 to the ground.
    load : (m or 1, n_times, n), N.
    dt : s.
    initial : (m, 2, n), displacement and velocity.
    substeps : of a sample interval; 0: as many as the tolerance asks for.
    tolerance : of the local error of a step over the largest motion so far.
    memory : (m, 4), of each chain the largest displacement, velocity and acceleration so far, and how often its
        steps are halved; zeros at first, changed in place.
    motion : (3, m, n_times, n), displacement, velocity and acceleration; NaN after a chain diverged.
    ended : (m, 2), how each ended, and the sample up to which it did.
    """
    _, m, n_times, n = motion.shape
    state, loads, largest = np.empty((2, n)), np.empty((2, n)), np.empty(3)
    work, stages, modes = np.empty((_ROWS, n)), np.empty((2, 7, n)), np.zeros(n + 1, np.int64)
    events = np.empty((5, n + 1)), np.empty((3, n + 1))
    masses, springs, dampers, cubic, friction, contact = parameters
    for row in range(m):
        chain = masses[row], springs[row], dampers[row], cubic[row], friction[row], contact[row], pair, grounded
        at = StepArrays(state, loads, chain, modes, work, stages)
        has_events = pair[0] >= 0
        for i in range(n):
            has_events = has_events or friction[row, i] > 0.0
        force = load[row if len(load) > 1 else 0]
        state[:] = initial[row]
        for i in range(3):
            largest[i] = memory[row, i]
        halvings, ends = int(memory[row, 3]), COMPLETE
        ended[row, 0], ended[row, 1] = COMPLETE, n_times - 1
        for now in range(n_times):
            last = now == n_times - 1
            for i in range(n):
                loads[0, i] = force[now, i]
                loads[1, i] = 0.0 if last else (force[now + 1, i] - force[now, i]) / dt
            _begin_step(at, 0.0, largest)
            for i in range(n):
                motion[0, row, now, i], motion[1, row, now, i] = state[0, i], state[1, i]
                motion[2, row, now, i] = stages[1, 0, i]
                if not np.isfinite(stages[1, 0, i]):
                    ends = DIVERGED
            if ends == COMPLETE and not last:
                ends, halvings = _follow(at, dt, substeps, tolerance, halvings, has_events, largest, events)
            if ends != COMPLETE:
                ended[row, 0], ended[row, 1] = ends, now
                for later in range(now + 1, n_times):
                    for i in range(n):
                        for each in range(3):
                            motion[each, row, later, i] = np.nan
                break
        for i in range(3):
            memory[row, i] = largest[i]
        memory[row, 3] = halvings


@kernel
def _begin_step(at: StepArrays, since: float, largest: Samples) -> None:
    """Fill the modes and the first stage of a step, `since` s after the sample; enlarge the largest motion so far."""
    state, loads, chain, modes, work, stages = at
    for i in range(state.shape[1]):
        work[_FORCE, i] = loads[0, i] + loads[1, i] * since
    _update_modes(state[0], state[1], chain, modes, work[_FORCE])
    _accelerate(work[_FORCE], chain, modes, stages[1, 0])
    for i in range(state.shape[1]):
        stages[0, 0, i] = state[1, i]
        largest[0] = max(largest[0], abs(state[0, i]))
        largest[1] = max(largest[1], abs(state[1, i]))
        largest[2] = max(largest[2], abs(stages[1, 0, i]))


@inlined
def _follow(
    at: StepArrays, dt: float, substeps: int, tolerance: float, halvings: int, has_events: bool, largest: Samples,
    events: tuple[Samples, Samples],
) -> tuple[int, int]:  # fmt: skip
    """Move the state over one sample interval, whose first step has begun; return how it ended, and the halvings."""
    state, work, since = at.state, at.work, 0.0
    for _ in range(MOST_STEPS):
        h = dt / substeps if substeps else dt / 2.0**halvings
        # what rounding leaves of an interval belongs to its last step
        if since + h * (1.0 + 1e-9) >= dt:
            h = dt - since
        _step(at, since, h)
        error = _step_error(work, largest, h)
        if substeps == 0 and error > tolerance:
            halvings += 1
            if halvings > _MOST_HALVINGS:
                return DIVERGED, halvings
            # the first stage is there already
            continue
        if error == np.inf:
            return DIVERGED, halvings
        if substeps == 0 and error < tolerance / 128.0 and halvings > 0:
            halvings -= 1
        whole = h == dt - since
        if has_events:
            cut = _cut_at_event(at, since, h, _EVENT_TOLERANCE * dt, events[0], events[1])
            whole, h = whole and cut == h, cut
        for i in range(state.shape[1]):
            state[0, i], state[1, i] = work[_X, i], work[_V, i]
        since = dt if whole else since + h
        _begin_step(at, since, largest)
        if since >= dt:
            return COMPLETE, halvings
    return TOO_MANY_STEPS, halvings


@kernel
def _step(at: StepArrays, since: float, h: float) -> None:
    """Fill the end of a step and its errors in `work`; stages[1, 6] are the accelerations there.

    It begins `since` s after the sample. The first stage, stages[:, 0], is there already.
    """
    state, loads, chain, modes, work, stages = at
    n = state.shape[1]
    x, v, force = work[_STAGE_X], work[_STAGE_V], work[_FORCE]
    for stage in range(1, 7):
        for i in range(n):
            dx, dv = 0.0, 0.0
            for earlier in range(stage):
                weight = _STAGES[stage, earlier]
                dx += weight * stages[0, earlier, i]
                dv += weight * stages[1, earlier, i]
            x[i] = state[0, i] + h * dx
            v[i] = state[1, i] + h * dv
            stages[0, stage, i] = v[i]
            force[i] = loads[0, i] + loads[1, i] * (since + _AT[stage] * h)
        _add_forces(x, v, chain, modes, force)
        _accelerate(force, chain, modes, stages[1, stage])
    for i in range(n):
        dx = dv = 0.0
        for stage in range(7):
            dx += _ERROR[stage] * stages[0, stage, i]
            dv += _ERROR[stage] * stages[1, stage, i]
        work[_X, i], work[_V, i] = x[i], v[i]
        work[_X_ERROR, i], work[_V_ERROR, i] = h * dx, h * dv


@kernel
def _step_error(work: Samples, largest: Samples, h: float) -> float:
    """Return a step's error over the largest motion so far, of displacement and velocity the larger; NaN counts."""
    x, v = largest[0] + h * largest[1] + h * h * largest[2], largest[1] + h * largest[2]
    worst = 0.0
    for i in range(work.shape[1]):
        if not (np.isfinite(work[_X, i]) and np.isfinite(work[_V, i])):
            return np.inf
        if work[_X_ERROR, i] != 0.0:
            worst = max(worst, abs(work[_X_ERROR, i]) / max(x, abs(work[_X, i])))
        if work[_V_ERROR, i] != 0.0:
            worst = max(worst, abs(work[_V_ERROR, i]) / max(v, abs(work[_V, i])))
    return worst


@kernel
def _cut_at_event(
    at: StepArrays, since: float, h: float, tolerance: float, quarters: Samples, found: Samples
) -> float:
    """Return a step as it is, or cut at its first event; masses that stop there have no velocity in `work`."""
    state, modes, work = at.state, at.modes, at.work
    _event_functions(state[0], state[1], at, since, quarters[0])
    found[0] = quarters[0]
    share = _event_in_step(at, since, h, quarters)
    end, crosses = h, False
    if 0.0 < share < 1.0:
        # whether a true step has it too
        end = share * h
        _step(at, since, end)
        crosses = _event_at_end(at, since + end, found[2])
        if not crosses:
            end = h
            _step(at, since, h)
    if not crosses:
        crosses = share > 0.0 and _event_at_end(at, since + h, found[2])
    if crosses:
        end = _event_time(at, since, end, tolerance, found)
        for i in range(state.shape[1]):
            if modes[i] != 0 and found[2, i] < 0.0:
                work[_V, i] = 0.0
    return end


@kernel
def _event_in_step(at: StepArrays, since: float, h: float, quarters: Samples) -> float:
    """Return the first share of a step at which an event function is negative: 0 for none, 1 for its end.

    Looked at are quarters of the step and the lowest points of parabolas through three of them. `quarters` (5, n + 1)
    has the event functions at the start in its first row.
    """
    for quarter in range(1, 4):
        if _dense_output(0.25 * quarter, at, since, h, quarters[quarter]):
            return 0.25 * quarter
    ended = _event_at_end(at, since + h, quarters[4])
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
    if 0.0 < lowest < 1.0 and _dense_output(lowest, at, since, h, quarters[3]):
        return lowest
    return 1.0 if ended else 0.0


@part
def _dense_output(s: float, at: StepArrays, since: float, h: float, out: Samples) -> bool:
    """Fill the event functions at a share `s` of a step, by Hermite's cubics; return whether any is negative."""
    state, work, stages = at.state, at.work, at.stages
    x, v = work[_PLACE_X], work[_PLACE_V]
    start, end = (1.0 + 2.0 * s) * (1.0 - s) ** 2, s * s * (3.0 - 2.0 * s)
    leaving, arriving = h * s * (1.0 - s) ** 2, h * s * s * (s - 1.0)
    for i in range(len(x)):
        v0, v1 = state[1, i], work[_V, i]
        x[i] = start * state[0, i] + end * work[_X, i] + leaving * v0 + arriving * v1
        v[i] = start * v0 + end * v1 + leaving * stages[1, 0, i] + arriving * stages[1, 6, i]
    return _event_functions(x, v, at, since + s * h, out)


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
        _step(at, since, step)
        if _event_at_end(at, since + step, found[1]):
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
        _step(at, since, high)
    _event_at_end(at, since + high, found[2])
    return high


@part
def _event_at_end(at: StepArrays, since: float, out: Samples) -> bool:
    """Fill the event functions at the end of a step; return whether any is negative."""
    return _event_functions(at.work[_X], at.work[_V], at, since, out)


@part
def _event_functions(x: Samples, v: Samples, at: StepArrays, since: float, out: Samples) -> bool:
    """Fill (n + 1,): each is negative where its mode has ended; return whether any is.

    Of a slipping mass its velocity to that side, of a sticking one what the force lacks of the limit, of the contact
    its force, or while it is open the lesser of gap and tension; `since` s after the sample.
    """
    _, loads, chain, modes, work, _ = at
    n, friction, force = len(x), chain[4], work[_FORCE]
    some = False
    for i in range(n):
        force[i] = loads[0, i] + loads[1, i] * since
    _add_forces(x, v, chain, modes, force)
    for i in range(n):
        if friction[i] == 0.0:
            out[i] = np.inf
        elif modes[i] == 0:
            out[i] = friction[i] - abs(force[i])
        else:
            out[i] = modes[i] * v[i]
        some = some or out[i] < 0.0
    out[n] = np.inf
    if chain[6][0] >= 0:
        overlap, push = _contact_force(x, v, chain)
        out[n] = push if modes[n] else -min(overlap, push)
        some = some or out[n] < 0.0
    return some


@part
def _update_modes(x: Samples, v: Samples, chain: ChainNumbers, modes: Integers, force: Samples) -> None:
    """Fill the modes, which are a function of the state, and add to (n,) loads all forces but friction.

    A mass that has no velocity sticks where friction holds the other forces.
    """
    n, friction = len(x), chain[4]
    modes[n] = 0
    if chain[6][0] >= 0:
        overlap, push = _contact_force(x, v, chain)
        if overlap > 0.0 and push > 0.0:
            modes[n] = 1
    _add_forces(x, v, chain, modes, force)
    for i in range(n):
        if v[i] > 0.0:
            modes[i] = 1
        elif v[i] < 0.0:
            modes[i] = -1
        elif friction[i] > 0.0 and abs(force[i]) <= friction[i]:
            modes[i] = 0
        else:
            modes[i] = 1 if force[i] >= 0.0 else -1


@part
def _accelerate(force: Samples, chain: ChainNumbers, modes: Integers, out: Samples) -> None:
    """Fill (n,) with accelerations, m/s^2, of forces that do not include friction."""
    masses, friction = chain[0], chain[4]
    for i in range(len(masses)):
        out[i] = 0.0 if modes[i] == 0 else (force[i] - modes[i] * friction[i]) / masses[i]


@part
def _add_forces(x: Samples, v: Samples, chain: ChainNumbers, modes: Integers, force: Samples) -> None:
    """Add to (n,) loads the forces of springs, dampers and the contact: all but friction, N."""
    springs, dampers, cubic, pair = chain[1], chain[2], chain[3], chain[6]
    first = 0 if chain[7] else 1
    for spring in range(len(springs)):
        right = spring + first
        stretch, rate = x[right], v[right]
        if right > 0:
            stretch, rate = stretch - x[right - 1], rate - v[right - 1]
        pull = (springs[spring] + cubic[spring] * stretch * stretch) * stretch + dampers[spring] * rate
        force[right] -= pull
        if right > 0:
            force[right - 1] += pull
    if modes[len(x)]:
        push = _contact_force(x, v, chain)[1]
        force[pair[0]] -= push
        if pair[1] >= 0:
            force[pair[1]] += push


@part
def _contact_force(x: Samples, v: Samples, chain: ChainNumbers) -> tuple[float, float]:
    """Return the overlap, m, and the force of the contact were it closed, N."""
    law, pair = chain[5], chain[6]
    overlap, rate = x[pair[0]] - law[0], v[pair[0]]
    if pair[1] >= 0:
        overlap, rate = overlap - x[pair[1]], rate - v[pair[1]]
    return overlap, law[1] * overlap + law[2] * rate
