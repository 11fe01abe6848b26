"""Forces on a chain of masses, its modes and the event functions that end them; pieces of the kernel of its motion.

Modes are (n + 1,): +1 or -1 for a mass that slips to that side, 0 for one that sticks, and 1 or 0 for a contact that
has a force or has none.
"""

from __future__ import annotations

import numpy as np

from sim.arrays import Integers, Samples
from sim.kernels import part

# of one chain: masses, springs, dampers, cubic, friction, of the contact gap, stiffness and damping, its masses
# (-1 for the ground, both for no contact), and whether spring 0 is that of mass 0 to the ground
ChainNumbers = tuple[Samples, Samples, Samples, Samples, Samples, Samples, Integers, bool]


@part
def _contact_force(x: Samples, v: Samples, chain: ChainNumbers) -> tuple[float, float]:
    """Return the overlap, m, and the force of the contact were it closed, N."""
    law, pair = chain[5], chain[6]
    overlap, rate = x[pair[0]] - law[0], v[pair[0]]
    if pair[1] >= 0:
        overlap, rate = overlap - x[pair[1]], rate - v[pair[1]]
    return overlap, law[1] * overlap + law[2] * rate


@part
def add_forces(x: Samples, v: Samples, chain: ChainNumbers, modes: Integers, force: Samples) -> None:
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
def accelerate(force: Samples, chain: ChainNumbers, modes: Integers, out: Samples) -> None:
    """Fill (n,) with accelerations, m/s^2, of forces that do not include friction."""
    masses, friction = chain[0], chain[4]
    for i in range(len(masses)):
        out[i] = 0.0 if modes[i] == 0 else (force[i] - modes[i] * friction[i]) / masses[i]


@part
def settle(x: Samples, v: Samples, chain: ChainNumbers, modes: Integers, force: Samples) -> None:
    """Fill the modes, which are a function of the state, and add to (n,) loads all forces but friction.

    A mass that has no velocity sticks where friction holds the other forces.
    """
    n, friction = len(x), chain[4]
    modes[n] = 0
    if chain[6][0] >= 0:
        overlap, push = _contact_force(x, v, chain)
        if overlap > 0.0 and push > 0.0:
            modes[n] = 1
    add_forces(x, v, chain, modes, force)
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
def event_functions(
    x: Samples,
    v: Samples,
    loads: Samples,
    since: float,
    chain: ChainNumbers,
    modes: Integers,
    force: Samples,
    out: Samples,
) -> bool:
    """Fill (n + 1,): each is negative where its mode has ended; return whether any is.

    Of a slipping mass its velocity to that side, of a sticking one what the force lacks of the limit, of the contact
    its force, or while it is open the lesser of gap and tension. `loads` (2, n) are those at the sample and their
    rate, `since` s after it; `force` is room for (n,).
    """
    n, friction = len(x), chain[4]
    some = False
    for i in range(n):
        force[i] = loads[0, i] + loads[1, i] * since
    add_forces(x, v, chain, modes, force)
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
