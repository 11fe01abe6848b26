"""Motion of many small structures at once with a force that is a smooth function of displacement, from rest."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sim.arrays import Samples
from sim.laboratory.structure import Structure


def accelerations_from_rest(
    structure: Structure, force: Callable[[Samples], Samples], load: Samples, dt: float, substeps: int
) -> Samples:
    """Return accelerations, (m, n_times, n), by Runge and Kutta's method of order four in Nystroem's form.

    Parameters
    ----------
    structure : of m draws and n degrees of freedom.
    force : (m, n) m to (m, n) N, on the internal side of the equation beside the springs of the structure.
    load : (m, n_times, n) N at the samples, linear between them.
    dt : s between samples.
    substeps : steps between two samples.
    """
    mass, damping, stiffness = structure.matrices
    inverse = np.linalg.inv(mass)
    m, n_times, n = load.shape
    step = dt / substeps
    ends = load @ np.swapaxes(inverse, 1, 2)
    transposed = np.swapaxes(inverse, 1, 2).copy()
    internal = np.swapaxes(inverse @ np.concatenate([stiffness, damping], axis=2), 1, 2).copy()

    def acceleration(x: Samples, v: Samples, push: Samples) -> Samples:
        restoring = np.concatenate([x, v], axis=1)[:, None] @ internal + force(x)[:, None] @ transposed
        return np.asarray(push - restoring[:, 0])

    x, v, found = np.zeros((m, n)), np.zeros((m, n)), np.empty((m, n_times, n))
    for i in range(n_times):
        found[:, i] = acceleration(x, v, ends[:, i])
        if i + 1 == n_times:
            break
        for j in range(substeps):
            first, middle, last = (
                ends[:, i] + (j + part) / substeps * (ends[:, i + 1] - ends[:, i]) for part in (0.0, 0.5, 1.0)
            )
            a1 = acceleration(x, v, first)
            a2 = acceleration(x + 0.5 * step * v, v + 0.5 * step * a1, middle)
            a3 = acceleration(x + 0.5 * step * v + 0.25 * step**2 * a1, v + 0.5 * step * a2, middle)
            a4 = acceleration(x + step * v + 0.5 * step**2 * a2, v + step * a3, last)
            x = x + step * v + step**2 / 6.0 * (a1 + a2 + a3)
            v = v + step / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
    return found
