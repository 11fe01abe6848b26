"""Motion of chains of masses with cubic springs, Coulomb friction and a contact: Runge-Kutta with located events.

Between events the modes (which mass sticks or slips to which side, whether the contact carries a force) are fixed and
the motion is smooth: Dormand and Prince's pair of order 5(4), the load linear between samples. A step at whose end or
at a quarter of which an event function is negative is cut where the first of them crosses zero, see `_event_time`.
The modes there are a function of the state, so that no switching back and forth can happen at one instant.
See docs/decisions/0040.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sim.arrays import Integers, Samples

# masses, springs, dampers, cubic, friction, and of the contact gap, stiffness and damping
Parameters = tuple[Samples, Samples, Samples, Samples, Samples, Samples]

COMPLETE, DIVERGED, TOO_MANY_STEPS = 0, 1, 2
# of each sample interval: steps, located events among them; halvings of a step
MOST_STEPS, MOST_HALVINGS = 50_000, 30
# an event is located within this fraction of a sample interval
EVENT_TOLERANCE = 1e-10
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


@njit(cache=True, nogil=True, error_model="numpy")
def _forces(x: Samples, v: Samples, load: Samples, chain: Parameters, grounded: bool, out: Samples) -> None:
    """Fill (n,) with the load less the forces of springs and dampers, N."""
    _, springs, dampers, cubic, _, _ = chain
    n = len(x)
    for i in range(n):
        out[i] = load[i]
    for spring in range(len(springs)):
        if grounded:
            left, right = spring - 1, spring
        else:
            left, right = spring, spring + 1
        stretch, rate = x[right], v[right]
        if left >= 0:
            stretch, rate = stretch - x[left], rate - v[left]
        force = (springs[spring] + cubic[spring] * stretch * stretch) * stretch + dampers[spring] * rate
        out[right] -= force
        if left >= 0:
            out[left] += force


@njit(cache=True, nogil=True, error_model="numpy")
def _contact(x: Samples, v: Samples, law: Samples, pair: Integers) -> tuple[float, float]:
    """Return the overlap, m, and the force of the contact were it closed, N."""
    overlap, rate = x[pair[0]] - law[0], v[pair[0]]
    if pair[1] >= 0:
        overlap, rate = overlap - x[pair[1]], rate - v[pair[1]]
    return overlap, law[1] * overlap + law[2] * rate


@njit(cache=True, nogil=True, error_model="numpy")
def _total(
    x: Samples,
    v: Samples,
    load: Samples,
    chain: Parameters,
    grounded: bool,
    pair: Integers,
    closed: bool,
    out: Samples,
) -> None:
    """Fill (n,) with all forces but friction, N."""
    _forces(x, v, load, chain, grounded, out)
    if closed:
        force = _contact(x, v, chain[5], pair)[1]
        out[pair[0]] -= force
        if pair[1] >= 0:
            out[pair[1]] += force


@njit(cache=True, nogil=True, error_model="numpy")
def _settle(
    x: Samples,
    v: Samples,
    load: Samples,
    chain: Parameters,
    grounded: bool,
    pair: Integers,
    slips: Integers,
    force: Samples,
) -> bool:
    """Fill `slips` (n,) with 1, -1 or 0 (sticks), `force` with all forces but friction; return whether it touches."""
    friction = chain[4]
    closed = False
    if pair[0] >= 0:
        overlap, push = _contact(x, v, chain[5], pair)
        closed = overlap > 0.0 and push > 0.0
    _total(x, v, load, chain, grounded, pair, closed, force)
    for i in range(len(x)):
        if v[i] > 0.0:
            slips[i] = 1
        elif v[i] < 0.0:
            slips[i] = -1
        elif friction[i] > 0.0 and abs(force[i]) <= friction[i]:
            slips[i] = 0
        else:
            slips[i] = 1 if force[i] >= 0.0 else -1
    return closed


@njit(cache=True, nogil=True, error_model="numpy")
def _accelerate(force: Samples, chain: Parameters, slips: Integers, out: Samples) -> None:
    """Fill (n,) with accelerations, m/s^2, of forces that do not include friction."""
    masses, friction = chain[0], chain[4]
    for i in range(len(masses)):
        out[i] = 0.0 if slips[i] == 0 else (force[i] - slips[i] * friction[i]) / masses[i]


@njit(cache=True, nogil=True, error_model="numpy")
def _step(
    state: Samples,
    loads: Samples,
    since: float,
    h: float,
    chain: Parameters,
    grounded: bool,
    pair: Integers,
    slips: Integers,
    closed: bool,
    work: Samples,
    stages: Samples,
) -> None:
    """Fill work[0:2] with x and v a step on, work[2:4] with the errors; stages[1, 6] are accelerations at its end.

    `state` is (2, n); `loads` (2, n), the load at the sample and its rate; `since` s after the sample. The first
    stage is there already.
    """
    n = state.shape[1]
    x, v, load, force = work[4], work[5], work[6], work[7]
    for stage in range(1, 7):
        for i in range(n):
            moved, sped = 0.0, 0.0
            for earlier in range(stage):
                weight = _STAGES[stage, earlier]
                moved += weight * stages[0, earlier, i]
                sped += weight * stages[1, earlier, i]
            x[i] = state[0, i] + h * moved
            v[i] = state[1, i] + h * sped
            load[i] = loads[0, i] + loads[1, i] * (since + _AT[stage] * h)
        _total(x, v, load, chain, grounded, pair, closed, force)
        for i in range(n):
            stages[0, stage, i] = v[i]
        _accelerate(force, chain, slips, stages[1, stage])
    for i in range(n):
        work[0, i], work[1, i] = x[i], v[i]
        moved, sped = 0.0, 0.0
        for stage in range(7):
            moved += _ERROR[stage] * stages[0, stage, i]
            sped += _ERROR[stage] * stages[1, stage, i]
        work[2, i], work[3, i] = h * moved, h * sped


@njit(cache=True, nogil=True, error_model="numpy")
def _event_functions(
    x: Samples,
    v: Samples,
    loads: Samples,
    since: float,
    chain: Parameters,
    grounded: bool,
    pair: Integers,
    slips: Integers,
    closed: bool,
    work: Samples,
    out: Samples,
) -> bool:
    """Fill (n + 1,): each is negative where its mode has ended; return whether any is.

    Of a slipping mass its velocity to that side, of a sticking one what the force lacks of the limit, of the contact
    its force, or while it is open the lesser of gap and tension.
    """
    n, friction = len(x), chain[4]
    load, force = work[6], work[7]
    some = False
    for i in range(n):
        load[i] = loads[0, i] + loads[1, i] * since
    _total(x, v, load, chain, grounded, pair, closed, force)
    for i in range(n):
        if friction[i] == 0.0:
            out[i] = np.inf
        elif slips[i] == 0:
            out[i] = friction[i] - abs(force[i])
        else:
            out[i] = slips[i] * v[i]
        some = some or out[i] < 0.0
    out[n] = np.inf
    if pair[0] >= 0:
        overlap, push = _contact(x, v, chain[5], pair)
        out[n] = push if closed else -min(overlap, push)
        some = some or out[n] < 0.0
    return some


@njit(cache=True, nogil=True, error_model="numpy")
def _event_time(
    state: Samples,
    loads: Samples,
    since: float,
    h: float,
    tolerance: float,
    chain: Parameters,
    grounded: bool,
    pair: Integers,
    slips: Integers,
    closed: bool,
    work: Samples,
    stages: Samples,
    found: Samples,
) -> float:
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
        _step(state, loads, since, step, chain, grounded, pair, slips, closed, work, stages)
        if _event_functions(
            work[0], work[1], loads, since + step, chain, grounded, pair, slips, closed, work, found[1]
        ):
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
        _step(state, loads, since, high, chain, grounded, pair, slips, closed, work, stages)
    _event_functions(work[0], work[1], loads, since + high, chain, grounded, pair, slips, closed, work, found[2])
    return high


@njit(cache=True, nogil=True, error_model="numpy")
def _dips(
    state: Samples,
    loads: Samples,
    since: float,
    h: float,
    chain: Parameters,
    grounded: bool,
    pair: Integers,
    slips: Integers,
    closed: bool,
    work: Samples,
    stages: Samples,
    found: Samples,
) -> float:
    """Return the first quarter of a step at which an event function is negative, or 0; by Hermite's cubics."""
    n = state.shape[1]
    x, v = work[8], work[9]
    for quarter in range(1, 4):
        s = 0.25 * quarter
        start, end = (1.0 + 2.0 * s) * (1.0 - s) ** 2, s * s * (3.0 - 2.0 * s)
        leaving, arriving = h * s * (1.0 - s) ** 2, h * s * s * (s - 1.0)
        for i in range(n):
            v0, v1 = state[1, i], work[1, i]
            x[i] = start * state[0, i] + end * work[0, i] + leaving * v0 + arriving * v1
            v[i] = start * v0 + end * v1 + leaving * stages[1, 0, i] + arriving * stages[1, 6, i]
        if _event_functions(x, v, loads, since + s * h, chain, grounded, pair, slips, closed, work, found[1]):
            return s * h
    return 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def _error(state: Samples, work: Samples, largest: Samples, h: float) -> float:
    """Return a step's error over the largest motion so far, of displacement and velocity the larger; NaN counts."""
    n = state.shape[1]
    x, v = largest[0] + h * largest[1] + h * h * largest[2], largest[1] + h * largest[2]
    worst = 0.0
    for i in range(n):
        if not (np.isfinite(work[0, i]) and np.isfinite(work[1, i])):
            return np.inf
        if work[2, i] != 0.0:
            worst = max(worst, abs(work[2, i]) / max(x, abs(work[0, i])))
        if work[3, i] != 0.0:
            worst = max(worst, abs(work[3, i]) / max(v, abs(work[1, i])))
    return worst


@njit(cache=True, nogil=True, error_model="numpy")
def advance_chain(
    parameters: Parameters,
    pair: Integers,
    grounded: bool,
    load: Samples,
    dt: float,
    initial: Samples,
    substeps: int,
    tolerance: float,
    motion: Samples,
    ended: Integers,
) -> None:
    """Fill the motion of m chains of n masses.

    Parameters
    ----------
    parameters : masses (m, n), springs, dampers and cubic (m, springs), friction (m, n), contact (m, 3).
    pair : (2,), the masses of the contact, -1 for the ground; without contact both -1.
    grounded : whether spring 0 is that of mass 0 to the ground.
    load : (m or 1, n_times, n), N.
    dt : s.
    initial : (m, 2, n), displacement and velocity.
    substeps : of a sample interval; 0: as many as the tolerance asks for.
    tolerance : of the local error of a step over the largest motion so far.
    motion : (3, m, n_times, n), displacement, velocity and acceleration; NaN after a chain diverged.
    ended : (m, 2), how each ended, and the sample up to which it did.
    """
    _, m, n_times, n = motion.shape
    state, saved = np.empty((2, n)), np.empty((2, n))
    work, stages, found = np.empty((10, n)), np.empty((2, 7, n)), np.empty((3, n + 1))
    loads, slips, largest = np.empty((2, n)), np.zeros(n, np.int64), np.empty(3)
    nearest = EVENT_TOLERANCE * dt
    masses, springs, dampers, cubic, friction, contact = parameters
    for row in range(m):
        chain = masses[row], springs[row], dampers[row], cubic[row], friction[row], contact[row]
        sudden = pair[0] >= 0
        for i in range(n):
            sudden = sudden or friction[row, i] > 0.0
        force = load[row if len(load) > 1 else 0]
        state[:] = initial[row]
        largest[:] = 0.0
        halvings, ends = 0, COMPLETE
        ended[row, 0], ended[row, 1] = COMPLETE, n_times - 1
        for now in range(n_times):
            last = now == n_times - 1
            for i in range(n):
                loads[0, i] = force[now, i]
                loads[1, i] = 0.0 if last else (force[now + 1, i] - force[now, i]) / dt
            since, steps = 0.0, 0
            while True:
                # modes, and the first stage of the next step
                for i in range(n):
                    work[6, i] = loads[0, i] + loads[1, i] * since
                closed = _settle(state[0], state[1], work[6], chain, grounded, pair, slips, work[7])
                _accelerate(work[7], chain, slips, stages[1, 0])
                for i in range(n):
                    stages[0, 0, i] = state[1, i]
                    largest[0] = max(largest[0], abs(state[0, i]))
                    largest[1] = max(largest[1], abs(state[1, i]))
                    largest[2] = max(largest[2], abs(stages[1, 0, i]))
                if steps == 0:
                    for i in range(n):
                        motion[0, row, now, i], motion[1, row, now, i] = state[0, i], state[1, i]
                        motion[2, row, now, i] = stages[1, 0, i]
                        if not np.isfinite(stages[1, 0, i]):
                            ends = DIVERGED
                    if last or ends != COMPLETE:
                        break
                if since >= dt:
                    break
                if steps >= MOST_STEPS:
                    ends = TOO_MANY_STEPS
                    break
                h = dt / substeps if substeps else dt / 2.0**halvings
                # what rounding leaves of an interval belongs to its last step
                if since + h * (1.0 + 1e-9) >= dt:
                    h = dt - since
                steps += 1
                _step(state, loads, since, h, chain, grounded, pair, slips, closed, work, stages)
                error = _error(state, work, largest, h)
                if substeps == 0 and error > tolerance:
                    halvings += 1
                    if halvings > MOST_HALVINGS:
                        ends = DIVERGED
                        break
                    continue
                if error == np.inf:
                    ends = DIVERGED
                    break
                if substeps == 0 and error < tolerance / 128.0 and halvings > 0:
                    halvings -= 1
                if sudden:
                    _event_functions(
                        state[0], state[1], loads, since, chain, grounded, pair, slips, closed, work, found[0]
                    )
                    early = _dips(state, loads, since, h, chain, grounded, pair, slips, closed, work, stages, found)
                    if early > 0.0:
                        saved[0], saved[1] = work[0], work[1]
                        _step(state, loads, since, early, chain, grounded, pair, slips, closed, work, stages)
                        if _event_functions(
                            work[0],
                            work[1],
                            loads,
                            since + early,
                            chain,
                            grounded,
                            pair,
                            slips,
                            closed,
                            work,
                            found[2],
                        ):
                            h = early
                        else:
                            work[0], work[1] = saved[0], saved[1]
                            early = 0.0
                    if early > 0.0 or _event_functions(
                        work[0], work[1], loads, since + h, chain, grounded, pair, slips, closed, work, found[2]
                    ):
                        h = _event_time(
                            state,
                            loads,
                            since,
                            h,
                            nearest,
                            chain,
                            grounded,
                            pair,
                            slips,
                            closed,
                            work,
                            stages,
                            found,
                        )
                        for i in range(n):
                            if slips[i] != 0 and found[2, i] < 0.0:
                                work[1, i] = 0.0
                for i in range(n):
                    state[0, i], state[1, i] = work[0, i], work[1, i]
                since = dt if h == dt - since else since + h
            if ends != COMPLETE:
                ended[row, 0], ended[row, 1] = ends, now
                for later in range(now + 1, n_times):
                    for i in range(n):
                        for each in range(3):
                            motion[each, row, later, i] = np.nan
                break
