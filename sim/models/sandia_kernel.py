"""The Sandia structure's motion, vectorised over realizations: Runge-Kutta of order four, compiled.

The inner loop runs over realizations, whose numbers lie next to each other, and holds a whole step: what is in
between stays in registers. One compiled function, which contains its parts: see docs/decisions/0005.
"""

from __future__ import annotations

import numpy as np

from sim.arrays import Samples
from sim.kernels import fused_kernel, inlined_part

Six = tuple[float, float, float, float, float, float]
Three = tuple[float, float, float]
# hardening; of the modes: shape at the connection, natural frequency squared, 2 zeta omega; one over the masses
Structure = tuple[float, Three, Three, Three, Three]

# three modes of the beam and three masses, and how fast each moves
N_STATES = 12
# realizations at a time; a constant, so that the compiler sees that no two rows overlap
LANES = 64


@inlined_part
def _moved(at: Six, rate: Six, dt: float) -> Six:
    return (
        at[0] + dt * rate[0],
        at[1] + dt * rate[1],
        at[2] + dt * rate[2],
        at[3] + dt * rate[3],
        at[4] + dt * rate[4],
        at[5] + dt * rate[5],
    )


@inlined_part
def _weighted(first: Six, second: Six, third: Six, fourth: Six) -> Six:
    return (
        (first[0] + 2.0 * (second[0] + third[0]) + fourth[0]) / 6.0,
        (first[1] + 2.0 * (second[1] + third[1]) + fourth[1]) / 6.0,
        (first[2] + 2.0 * (second[2] + third[2]) + fourth[2]) / 6.0,
        (first[3] + 2.0 * (second[3] + third[3]) + fourth[3]) / 6.0,
        (first[4] + 2.0 * (second[4] + third[4]) + fourth[4]) / 6.0,
        (first[5] + 2.0 * (second[5] + third[5]) + fourth[5]) / 6.0,
    )


@inlined_part
def _accelerations(push: Three, y: Six, v: Six, k: Three, c: Three, structure: Structure) -> Six:
    hardening, shape, squared, damping, inverse_mass = structure
    stretch = y[3] - (shape[0] * y[0] + shape[1] * y[1] + shape[2] * y[2])
    rate = v[3] - (shape[0] * v[0] + shape[1] * v[1] + shape[2] * v[2])
    first = k[0] * stretch * (1.0 + hardening * stretch * stretch) + c[0] * rate
    second = k[1] * (y[4] - y[3]) + c[1] * (v[4] - v[3])
    third = k[2] * (y[5] - y[4]) + c[2] * (v[5] - v[4])
    return (
        push[0] + shape[0] * first - squared[0] * y[0] - damping[0] * v[0],
        push[1] + shape[1] * first - squared[1] * y[1] - damping[1] * v[1],
        push[2] + shape[2] * first - squared[2] * y[2] - damping[2] * v[2],
        (second - first) * inverse_mass[0],
        (third - second) * inverse_mass[1],
        -third * inverse_mass[2],
    )


@fused_kernel
def advance(
    springs: Samples,
    dampers: Samples,
    state: Samples,
    push: Samples,
    modes: Samples,
    masses: Samples,
    hardening: float,
    dt: float,
    substeps: int,
    out: Samples,
) -> None:
    """Move the state to the last instant, and fill `out` with the acceleration of the last mass at each.

    Parameters
    ----------
    springs, dampers : (3, n), from the beam outwards.
    state : (12, n), changed in place: modal coordinates, displacements of the masses, and the rates of both.
    push : (2 substeps (n_times - 1) + 1, 3), the modal forces of the load at every half substep.
    modes : (3, 3): shape at the connection, natural frequency squared and 2 zeta omega of the modes.
    masses : (3,).
    hardening : the first spring's, of its stretch squared.
    dt, substeps : s between instants, and steps in between.
    out : (n_times, n).
    """
    n_times, n = out.shape
    h = dt / substeps
    half = 0.5 * h
    structure = (
        hardening,
        (modes[0, 0], modes[0, 1], modes[0, 2]),
        (modes[1, 0], modes[1, 1], modes[1, 2]),
        (modes[2, 0], modes[2, 1], modes[2, 2]),
        (1.0 / masses[0], 1.0 / masses[1], 1.0 / masses[2]),
    )
    # rows: the state, the springs, the dampers
    work = np.zeros((18, LANES))
    for first in range(0, n, LANES):
        lanes = min(LANES, n - first)
        # element by element: assigning slices takes twice as long to compile as all the rest
        for i in range(lanes):
            for row in range(N_STATES):
                work[row, i] = state[row, first + i]
            for row in range(3):
                work[12 + row, i] = springs[row, first + i]
                work[15 + row, i] = dampers[row, first + i]
        for now in range(n_times):
            for i in range(lanes):
                pull = work[14, i] * (work[5, i] - work[4, i]) + work[17, i] * (work[11, i] - work[10, i])
                out[now, first + i] = -pull / masses[2]
            if now == n_times - 1:
                break
            for substep in range(now * substeps, (now + 1) * substeps):
                at = 2 * substep
                p1 = (push[at, 0], push[at, 1], push[at, 2])
                p2 = (push[at + 1, 0], push[at + 1, 1], push[at + 1, 2])
                p4 = (push[at + 2, 0], push[at + 2, 1], push[at + 2, 2])
                for i in range(LANES):
                    k, c = (work[12, i], work[13, i], work[14, i]), (work[15, i], work[16, i], work[17, i])
                    y1 = (work[0, i], work[1, i], work[2, i], work[3, i], work[4, i], work[5, i])
                    v1 = (work[6, i], work[7, i], work[8, i], work[9, i], work[10, i], work[11, i])
                    a1 = _accelerations(p1, y1, v1, k, c, structure)
                    y2, v2 = _moved(y1, v1, half), _moved(v1, a1, half)
                    a2 = _accelerations(p2, y2, v2, k, c, structure)
                    y3, v3 = _moved(y1, v2, half), _moved(v1, a2, half)
                    a3 = _accelerations(p2, y3, v3, k, c, structure)
                    y4, v4 = _moved(y1, v3, h), _moved(v1, a3, h)
                    a4 = _accelerations(p4, y4, v4, k, c, structure)
                    y = _moved(y1, _weighted(v1, v2, v3, v4), h)
                    v = _moved(v1, _weighted(a1, a2, a3, a4), h)
                    work[0, i], work[1, i], work[2, i] = y[0], y[1], y[2]
                    work[3, i], work[4, i], work[5, i] = y[3], y[4], y[5]
                    work[6, i], work[7, i], work[8, i] = v[0], v[1], v[2]
                    work[9, i], work[10, i], work[11, i] = v[3], v[4], v[5]
        for row in range(N_STATES):
            for i in range(lanes):
                state[row, first + i] = work[row, i]
