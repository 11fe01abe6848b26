"""Motion of chains of masses with cubic springs, Coulomb friction and a contact: Runge-Kutta with located events.

Between events the modes (which mass sticks or slips to which side, whether the contact has a force) are fixed and the
motion is smooth: Dormand and Prince's pair of order 5(4), the load linear between samples. A step at whose end or
within which an event function is negative is cut where the first of them crosses zero (`cut_at_event`). The modes
there are a function of the state, so that no switching back and forth can happen at one instant.
See docs/decisions/0040.
"""

from __future__ import annotations

import numpy as np

from sim.arrays import Integers, Samples
from sim.kernels import kernel
from sim.models.chain_forces import accelerate, settle
from sim.models.chain_steps import FORCE, ROWS, StepArrays, V, X, cut_at_event, step_chain, step_error

COMPLETE, DIVERGED, TOO_MANY_STEPS = 0, 1, 2
# of each sample interval: steps, located events among them; halvings of a step
MOST_STEPS, MOST_HALVINGS = 50_000, 30
# an event is located within this fraction of a sample interval
EVENT_TOLERANCE = 1e-10


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
    work, stages, modes = np.empty((ROWS, n)), np.empty((2, 7, n)), np.zeros(n + 1, np.int64)
    quarters, found = np.empty((5, n + 1)), np.empty((3, n + 1))
    masses, springs, dampers, cubic, friction, contact = parameters
    for row in range(m):
        chain = masses[row], springs[row], dampers[row], cubic[row], friction[row], contact[row], pair, grounded
        at = StepArrays(state, loads, chain, modes, work, stages)
        sudden = pair[0] >= 0
        for i in range(n):
            sudden = sudden or friction[row, i] > 0.0
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
            since, steps = 0.0, 0
            while True:
                # modes, and the first stage of the next step
                for i in range(n):
                    work[FORCE, i] = loads[0, i] + loads[1, i] * since
                settle(state[0], state[1], chain, modes, work[FORCE])
                accelerate(work[FORCE], chain, modes, stages[1, 0])
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
                step_chain(at, since, h)
                error = step_error(work, largest, h)
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
                whole = h == dt - since
                if sudden:
                    cut = cut_at_event(at, since, h, EVENT_TOLERANCE * dt, quarters, found)
                    whole, h = whole and cut == h, cut
                for i in range(n):
                    state[0, i], state[1, i] = work[X, i], work[V, i]
                since = dt if whole else since + h
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
