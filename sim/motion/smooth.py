"""Motion without events: of a linear structure, exact, and of many small ones under a force that is smooth."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sim.arrays import Samples, require
from sim.laboratory.structure import Structure

# terms of a Taylor series at a norm of 1/2: the next is 1e-19
_TERMS = 15


def linear_motion(
    masses: Samples, damping: Samples, stiffness: Samples, force: Samples, dt: float, initial: Samples
) -> tuple[Samples, Samples, Samples]:
    """Return displacement, velocity and acceleration, (..., n_times, n) each; NaN from where they are infinite.

    Parameters
    ----------
    masses : (..., n) kg.
    damping, stiffness : (..., n, n).
    force : (..., n_times, n) N, linear between samples.
    dt : s.
    initial : (..., 2, n), displacement and velocity, of the shape of all leading axes.

    Raises
    ------
    ValueError : stiffness times dt squared is infinite.
    """
    n, n_times = masses.shape[-1], force.shape[-2]
    inverse = 1.0 / masses[..., None]
    draws = np.broadcast_shapes(masses.shape[:-1], damping.shape[:-2], stiffness.shape[:-2])
    # velocities times dt / pace and loads times unit, so that no block is larger than what moves fastest
    pace = np.sqrt(max(1.0, float(np.max(np.abs(dt * dt * inverse * stiffness), initial=0.0))))
    unit = float(np.max(np.abs(inverse))) * dt * dt / pace
    rate = np.zeros((*draws, 4 * n, 4 * n), dtype=np.result_type(inverse, damping, stiffness))
    rate[..., :n, n : 2 * n] = pace * np.eye(n)
    rate[..., 2 * n : 3 * n, 3 * n :] = np.eye(n)
    rate[..., n : 2 * n, :n] = -dt * dt / pace * inverse * stiffness
    rate[..., n : 2 * n, n : 2 * n] = -dt * inverse * damping
    rate[..., n : 2 * n, 2 * n : 3 * n] = dt * dt / pace / unit * inverse * np.eye(n)
    step = _exponential(rate)[..., : 2 * n, :]
    free, pushed, changed = step[..., : 2 * n], unit * step[..., 2 * n : 3 * n], unit * step[..., 3 * n :]
    change = np.diff(force, axis=-2)
    # time first: one contiguous row a step
    inputs = np.moveaxis(_product(pushed, force[..., :-1, :]) + _product(changed, change), -2, 0)[..., None]
    sets = initial.shape[:-2]
    states = np.empty((n_times, *sets, 2 * n, 1), dtype=np.result_type(step, force, initial))
    states[0, ..., :n, 0], states[0, ..., n:, 0] = initial[..., 0, :], dt / pace * initial[..., 1, :]
    with np.errstate(over="ignore", invalid="ignore"):
        for now in range(n_times - 1):
            states[now + 1] = free @ states[now] + inputs[now]
        moved = np.moveaxis(states[..., 0], 0, -2)
        displacement, velocity = moved[..., :n], moved[..., n:] * (pace / dt)
        resultant = force - _product(stiffness, displacement) - _product(damping, velocity)
        acceleration = resultant / masses[..., None, :]
    if not np.isfinite(acceleration).all():
        lost = np.logical_or.accumulate(~np.isfinite(acceleration).all(axis=-1, keepdims=True), axis=-2)
        return (
            np.where(lost, np.nan, displacement),
            np.where(lost, np.nan, velocity),
            np.where(lost, np.nan, acceleration),
        )
    return displacement, velocity, acceleration


def _product(matrix: Samples, rows: Samples) -> Samples:
    """Return (..., n_times, m): each (..., m, n) matrix times the rows of (..., n_times, n)."""
    return np.asarray(rows @ np.swapaxes(matrix, -1, -2))


def _exponential(matrix: Samples) -> Samples:
    """Return (..., n, n): exp of matrices, by Taylor's series after halving and squaring."""
    norm = float(np.max(np.sum(np.abs(matrix), axis=-2)))
    require(bool(np.isfinite(norm)), "chain stiffness times dt squared over mass", norm, "a finite number")
    halvings = max(0, int(np.ceil(np.log2(max(norm, 0.5)))) + 1)
    scaled, unit = matrix / 2.0**halvings, np.eye(matrix.shape[-1])
    power = unit + scaled / _TERMS
    for term in range(_TERMS - 1, 0, -1):
        power = unit + scaled @ power / term
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(halvings):
            power = power @ power
    return np.asarray(power)


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
