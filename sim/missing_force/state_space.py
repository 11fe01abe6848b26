"""A structure with an unknown force as one linear system, and its exact steps between samples.

How rough the force may be is a Gaussian process in time whose values are states of that system.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import comb, factorial, sqrt
from typing import Literal

import numpy as np
from scipy.linalg import eigh, expm, matrix_balance

from sim.arrays import Integers, Samples
from sim.laboratory.structure import Structure

Quantity = Literal["displacement", "velocity", "acceleration"]
QUANTITIES: tuple[Quantity, ...] = ("displacement", "velocity", "acceleration")
# relative difference of intervals that have one step
_SAME_INTERVAL = 1e-9
# of the largest entry: less is the rounding of a transformation
_ROUNDING = 1e-13


@dataclass(frozen=True, slots=True)
class Sensor:
    """What one channel measures: displacement [m], velocity [m/s] or acceleration [m/s^2] of one dof.

    Parameters
    ----------
    dof : from 1.
    quantity : relative to the same reference as the structure's displacements.
    """

    dof: int
    quantity: Quantity = "displacement"

    def checked(self, dofs: int) -> Sensor:
        """Return itself; raise ValueError if a structure of so many dofs has nothing to measure there."""
        if not 1 <= self.dof <= dofs:
            raise ValueError(f"sensor at dof {self.dof}: the structure has dofs 1 to {dofs}")
        if self.quantity not in QUANTITIES:
            raise ValueError(f"sensor of {self.quantity!r}: must be {', '.join(QUANTITIES)}")
        return self


@dataclass(frozen=True, slots=True, eq=False)
class Physics:
    """M x'' + C x' + K x + forces e = load as z' = system z + input load + unknown e, z = (x, x').

    Parameters
    ----------
    system : (2 n, 2 n).
    input : (2 n, n).
    unknown : (2 n, f).
    """

    system: Samples
    input: Samples
    unknown: Samples

    @property
    def acceleration(self) -> tuple[Samples, Samples, Samples]:
        """Acceleration by state, (n, 2 n), by load, (n, n), and by unknown forces, (n, f)."""
        n = self.input.shape[1]
        return self.system[n:], self.input[n:], self.unknown[n:]


def physics(structure: Structure, forces: Samples) -> Physics:
    """Return the linear part of a structure, of one draw, with unknown forces on its internal side.

    Parameters
    ----------
    forces : (n, f): what one newton of each does at each dof; (1, -1) is a force between two dofs.

    Raises
    ------
    ValueError : the structure has several draws or nonlinear springs, or forces do not fit it.
    """
    n, (mass, damping, stiffness) = structure.dofs, structure.matrices
    if max(mass.ndim, damping.ndim, stiffness.ndim) > 2 or structure.springs:
        raise ValueError("missing force: give one linear structure, without draws and nonlinear springs")
    forces = np.asarray(forces, dtype=np.float64)
    if forces.ndim != 2 or len(forces) != n or forces.shape[1] == 0 or not np.all(np.isfinite(forces)):
        raise ValueError(
            f"missing force: places {forces.shape}: give {n} finite rows, one a dof, a column each force"
        )
    if np.any(np.all(forces == 0.0, axis=0)):
        raise ValueError("missing force: a force that acts at no dof: give its column a number that is not zero")
    inverse, zero = np.linalg.inv(mass), np.zeros((n, n))
    system = np.block([[zero, np.eye(n)], [-inverse @ stiffness, -inverse @ damping]])
    return Physics(system, np.vstack([zero, inverse]), np.vstack([np.zeros_like(forces), -inverse @ forces]))


@dataclass(frozen=True, slots=True, eq=False)
class Modal:
    """The same in the coordinates of the undamped modes, x = shapes q.

    What no sensor sees, such as the motion of a free structure as a whole, is then a number of its own, and its large
    variance does not hide the small ones of what is seen.

    Parameters
    ----------
    shapes : (n, n), of unit modal mass.
    physics : with q in place of x.
    """

    shapes: Samples
    physics: Physics

    def rows(self, directions: Samples, derivative: int) -> Samples:
        """Return (k, 2 n): displacements (derivative 0) or velocities (1) along (k, n) directions, by the state."""
        seen = _without_rounding(directions @ self.shapes)
        zero = np.zeros_like(seen)
        return np.hstack([zero, seen] if derivative else [seen, zero])

    def state(self, values: Samples) -> Samples:
        """Return what multiplies a state of displacements and velocities, (2 n, ...), to make it one of modes."""
        n = len(self.shapes)
        return np.concatenate([np.linalg.solve(self.shapes, part) for part in (values[:n], values[n:])])


def modal(structure: Structure, model: Physics) -> Modal:
    """Return a structure in modal coordinates; those of the symmetric parts where its matrices are not symmetric."""
    mass, _, stiffness = structure.matrices
    symmetric = [0.5 * (each + each.T) for each in (stiffness, mass)]
    squares, shapes = eigh(*symmetric)
    n = len(shapes)
    inverse = np.linalg.inv(shapes)
    damping = _without_rounding(inverse @ model.system[n:, n:] @ shapes)
    if np.array_equal(symmetric[0], stiffness) and np.array_equal(symmetric[1], mass):
        elastic = -np.diag(_without_rounding(squares))
    else:
        elastic = inverse @ model.system[n:, :n] @ shapes
    system = np.block([[np.zeros((n, n)), np.eye(n)], [elastic, damping]])
    entries = [np.vstack([np.zeros_like(each[n:]), inverse @ each[n:]]) for each in (model.input, model.unknown)]
    return Modal(shapes, Physics(system, _without_rounding(entries[0]), _without_rounding(entries[1])))


def _without_rounding(values: Samples) -> Samples:
    return np.where(np.abs(values) > _ROUNDING * np.abs(values).max(initial=0.0), values, 0.0)


def intervals(time: Samples) -> tuple[Samples, Integers]:
    """Return the distinct intervals of a grid, (u,) s, and which each of its steps has, (N - 1,)."""
    steps = np.diff(time)
    order = np.argsort(steps, kind="stable")
    ordered = steps[order]
    new = np.diff(ordered, prepend=-np.inf) > _SAME_INTERVAL * ordered
    which = np.empty(len(steps), dtype=np.int64)
    which[order] = np.cumsum(new) - 1
    return np.bincount(which, weights=steps) / np.bincount(which), which


def loaded_steps(system: Samples, entry: Samples, dt: Samples) -> tuple[Samples, Samples, Samples]:
    """Return exact steps for a load that is linear within each: (u, d, d), and (u, d, n) by its two ends.

    Parameters
    ----------
    system, entry : z' = system z + entry load.
    dt : (u,) s.
    """
    (d, n) = entry.shape
    both = np.zeros((d + 2 * n, d + 2 * n))
    both[:d, :d], both[:d, d : d + n] = system, entry
    # the load's second state is its growth over the whole step
    both = np.asarray(both[None] * dt[:, None, None])
    both[:, d : d + n, d + n :] = np.eye(n)
    with np.errstate(over="ignore", invalid="ignore"):
        whole = expm(both)
    held, rising = whole[:, :d, d : d + n], whole[:, :d, d + n :]
    return whole[:, :d, :d], held - rising, rising


def noisy_steps(system: Samples, intensity: Samples, dt: Samples) -> tuple[Samples, Samples]:
    """Return transition and noise covariance over each of (u,) intervals, (u, d, d), by Van Loan and doubling.

    Not finite where the system is so unstable that a step overflows. Doubling keeps the unstable exponential of Van
    Loan's block (IEEE Trans. Autom. Control 23, 1978) short.
    """
    d = len(system)
    # states of one size, powers of two: a stiff structure's and derivatives' would make the norm, and halvings, many
    balanced, (scale, _) = matrix_balance(system, permute=False, separate=True)
    intensity = intensity / np.outer(scale, scale)
    # of one size, too, as it is in square newtons: the norm, and with it the digits, would depend on the unit
    size = float(np.abs(intensity).max()) or 1.0
    intensity = intensity / size
    halvings = max(0, int(np.ceil(np.log2(max(np.abs(balanced).sum(axis=1).max() * dt.max(), 1e-300)))))
    block = np.zeros((2 * d, 2 * d))
    block[:d, :d], block[:d, d:], block[d:, d:] = -balanced, intensity, balanced.T
    with np.errstate(over="ignore", invalid="ignore"):
        whole = expm(block[None] * (dt / 2.0**halvings)[:, None, None])
        transition = np.swapaxes(whole[:, d:, d:], 1, 2)
        covariance = transition @ whole[:, :d, d:]
        for _ in range(halvings):
            covariance = covariance + transition @ covariance @ np.swapaxes(transition, 1, 2)
            transition = transition @ transition
        covariance = 0.5 * (covariance + np.swapaxes(covariance, 1, 2)) * (size * np.outer(scale, scale))
    return transition * np.outer(scale, 1.0 / scale), covariance


@dataclass(frozen=True, slots=True, eq=False)
class Augmented:
    """State (x, x', forces and their derivatives) of d numbers.

    Parameters
    ----------
    system : (d, d).
    intensity : (d, d), of the white noise.
    force_rows : (f,) where the forces are in the state.
    force_covariance : (d - 2 n, d - 2 n), before the first sample.
    """

    system: Samples
    intensity: Samples
    force_rows: Integers
    force_covariance: Samples


def augmented(model: Physics, priors: Sequence[Matern]) -> Augmented:
    """Return the system with its unknown forces as states.

    Raises
    ------
    ValueError : there is not one prior for each force.
    """
    if len(priors) != model.unknown.shape[1]:
        raise ValueError(f"missing force: {model.unknown.shape[1]} forces with {len(priors)} priors: give one each")
    states = len(model.system)
    inner = [prior.matrix for prior in priors]
    rows = states + np.cumsum([0, *(len(each) for each in inner)])
    system = np.zeros((rows[-1], rows[-1]))
    system[:states, :states] = model.system
    intensity, covariance = np.zeros_like(system), np.zeros_like(system)
    for j, (prior, matrix) in enumerate(zip(priors, inner, strict=True)):
        first, last = rows[j], rows[j + 1]
        system[first:last, first:last] = matrix
        system[:states, first] = model.unknown[:, j]
        intensity[last - 1, last - 1] = prior.intensity
        covariance[first:last, first:last] = prior.covariance
    return Augmented(system, intensity, rows[:-1], covariance[states:, states:])


@dataclass(frozen=True, slots=True)
class Matern:
    """A stationary force, as smooth as its order: covariance Matern's with nu = order + 1/2.

    Order 0 is rough as a random walk and fits jumps; each further order has one more derivative. For long lengths
    orders 1 and 2 penalise the integral of the squared second and third derivative. State space: Hartikainen and
    Särkkä, Kalman filtering and smoothing solutions to temporal Gaussian process regression models (2010).

    Parameters
    ----------
    amplitude : standard deviation of the force, N.
    length : s, over which it is correlated: lambda = sqrt(2 nu) / length.
    order : 0, 1, 2, ...
    """

    amplitude: float
    length: float
    order: int = 2

    def __post_init__(self) -> None:
        if not (self.amplitude > 0.0 and self.length > 0.0 and self.order >= 0):
            raise ValueError(
                f"force of amplitude {self.amplitude:g} N, length {self.length:g} s, order {self.order}: amplitude "
                "and length must be positive, the order zero or more"
            )

    @property
    def _rate(self) -> float:
        return sqrt(2.0 * self.order + 1.0) / self.length

    @property
    def matrix(self) -> Samples:
        """Companion matrix of (d/dt + lambda)^(q + 1)."""
        matrix = _unit(self.order)[0].copy()
        matrix[-1] *= self._rate ** np.arange(self.order + 1, 0, -1)
        return matrix

    @property
    def intensity(self) -> float:
        """For which the variance of the force is amplitude^2."""
        return self.amplitude**2 * _unit(self.order)[1] * self._rate ** (2 * self.order + 1)

    @property
    def covariance(self) -> Samples:
        """The stationary one: P of matrix P + P matrix^T + noise = 0."""
        scale = self.amplitude * self._rate ** np.arange(self.order + 1)
        return np.asarray(_unit(self.order)[2] * (scale[:, None] * scale))


@cache
def _unit(order: int) -> tuple[Samples, float, Samples]:
    """Return matrix, intensity and covariance of an order, for amplitude and lambda of one."""
    size = order + 1
    matrix = np.eye(size, k=1)
    matrix[-1] = [-comb(size, i) for i in range(size)]
    intensity = 2.0 ** (2 * order + 1) * factorial(order) ** 2 / factorial(2 * order)
    eye, noise = np.eye(size), np.zeros((size, size))
    noise[-1, -1] = intensity
    both = np.kron(matrix, eye) + np.kron(eye, matrix)
    stationary = np.linalg.solve(both, -noise.ravel()).reshape(size, size)
    return matrix, intensity, 0.5 * (stationary + stationary.T)
