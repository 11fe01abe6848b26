"""The numerical substructure: M, C and K with nonlinear springs between its degrees of freedom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import pi

import numpy as np
from numpy.typing import ArrayLike

from sim.arrays import Integers, Samples
from sim.laboratory.parts import Element


@dataclass(frozen=True, eq=False)
class Springs:
    """Equal or similar nonlinear springs, dashpots or hysteretic elements in a structure.

    Parameters
    ----------
    element : what each of them is; its parameters may be arrays with a last axis of `len(between)`.
    between : the two degrees of freedom of each spring, by number; None is the ground. It is stretched by the
        displacement of the first less that of the second.
    """

    element: Element
    between: tuple[tuple[int, int | None], ...]

    def incidence(self, dofs: int) -> Samples:
        """Return (springs, dofs): the stretch of each spring per displacement."""
        rows = np.zeros((len(self.between), dofs))
        for row, (first, second) in zip(rows, self.between, strict=True):
            for dof, sign in ((first, 1.0), (second, -1.0)):
                if dof is None:
                    continue
                if not 0 <= dof < dofs:
                    raise ValueError(f"spring between {first} and {second}: dof {dof} is not one of 0 to {dofs - 1}")
                row[dof] += sign
        return rows


@dataclass(frozen=True, eq=False)
class Structure:
    """A structure of n degrees of freedom: M x'' + C x' + K x + springs = load.

    Parameters
    ----------
    mass, damping, stiffness : (..., n, n) in kg, N s/m and N/m; a number or (n,) is a diagonal. Leading axes are
        independent draws.
    influence : (n,) displacement of each degree of freedom as the ground moves by one, for ground motions; the
        distribution of a force that is one function of time.
    springs : nonlinear springs, in addition to K.

    Raises
    ------
    ValueError : sizes do not fit, a number is not finite, or the mass matrix is singular.
    """

    mass: ArrayLike
    damping: ArrayLike
    stiffness: ArrayLike
    influence: ArrayLike | None = None
    springs: tuple[Springs, ...] = field(default=())

    def __post_init__(self) -> None:
        mass = _matrix("mass", self.mass)
        dofs = mass.shape[-1]
        object.__setattr__(self, "mass", mass)
        for name in ("damping", "stiffness"):
            matrix = _matrix(name, getattr(self, name), dofs)
            if matrix.shape[-1] != dofs:
                raise ValueError(
                    f"structure {name} of {matrix.shape[-1]} degrees of freedom beside a mass matrix of {dofs}: "
                    "give all three the same size"
                )
            object.__setattr__(self, name, matrix)
        influence = np.ones(dofs) if self.influence is None else np.asarray(self.influence, dtype=np.float64)
        if influence.shape != (dofs,) or not np.all(np.isfinite(influence)):
            raise ValueError(f"structure influence of shape {influence.shape}: give {dofs} finite numbers, one a dof")
        object.__setattr__(self, "influence", influence)
        squares = np.linalg.eigvalsh(0.5 * (mass + np.swapaxes(mass, -1, -2)))
        if np.any(squares[..., 0] <= 1e-14 * np.abs(squares).max(axis=-1)):
            raise ValueError(
                f"structure mass matrix with an eigenvalue of {np.min(squares):.3g} kg: it is singular or negative, "
                "give every degree of freedom a mass"
            )
        for springs in self.springs:
            springs.incidence(dofs)

    @property
    def dofs(self) -> int:
        """Number of degrees of freedom."""
        return int(np.shape(self.mass)[-1])

    @property
    def matrices(self) -> tuple[Samples, Samples, Samples]:
        """M, C and K, each (..., n, n)."""
        return np.asarray(self.mass), np.asarray(self.damping), np.asarray(self.stiffness)

    def tangent(self) -> Samples:
        """Return (..., n, n): K with the springs at their largest stiffness, N/m."""
        total = np.asarray(self.stiffness)
        for springs in self.springs:
            rows = springs.incidence(self.dofs)
            total = total + assembled(springs.element.stiffness, rows)
        return total

    def ground_load(self, acceleration: Samples) -> Samples:
        """Return (..., n): the load [N] of a ground acceleration [m/s^2] of shape (...)."""
        return -acceleration[..., None] * product(np.asarray(self.mass), np.asarray(self.influence))


def product(matrix: Samples, vector: Samples) -> Samples:
    """Return (..., m): each (..., m, n) matrix times its (..., n) vector."""
    if matrix.ndim == 2:
        return np.asarray(vector @ matrix.T)
    return np.asarray((matrix @ vector[..., None])[..., 0])


def assembled(stiffness: float | Samples, rows: Samples) -> Samples:
    """Return (..., n, n): the stiffness of springs, each (..., springs), that stretch by rows, (springs, n)."""
    each = np.broadcast_to(stiffness, np.broadcast_shapes(np.shape(stiffness), rows.shape[:1]))
    return np.asarray((rows.T * each[..., None, :]) @ rows)


def classical_damping(mass: ArrayLike, stiffness: ArrayLike, ratios: float | Samples) -> Samples:
    """Return (n, n): the damping matrix [N s/m] of a modal damping ratio each, from the lowest mode up.

    C = M Phi diag(2 zeta w) Phi^T M with modes of unit modal mass (Chopra, Dynamics of Structures, 11.4.3).
    """
    m, k = _matrix("mass", mass), _matrix("stiffness", stiffness, np.shape(mass)[-1] if np.ndim(mass) else None)
    squares, shapes = eigenmodes(m, k)
    if squares[0] < 0.0:
        raise ValueError(f"stiffness matrix with an eigenvalue of {squares[0]:.3g}: modal damping needs w^2 >= 0")
    inertia = m @ shapes
    return np.asarray((inertia * (2.0 * np.broadcast_to(ratios, squares.shape) * np.sqrt(squares))) @ inertia.T)


def eigenmodes(mass: ArrayLike, stiffness: ArrayLike) -> tuple[Samples, Samples]:
    """Return (..., n) squared circular frequencies, rising, and (..., n, n) shapes in columns, of unit modal mass.

    Raises
    ------
    ValueError : K is not symmetric, or the mass matrix not positive.
    """
    m, k = np.asarray(mass, dtype=np.float64), np.asarray(stiffness, dtype=np.float64)
    for name, matrix in (("mass", m), ("stiffness", k)):
        if not np.allclose(matrix, np.swapaxes(matrix, -1, -2), rtol=1e-9, atol=1e-9 * float(np.abs(matrix).max())):
            raise ValueError(f"modes: the {name} matrix is not symmetric")
    try:
        root = np.linalg.cholesky(m)
    except np.linalg.LinAlgError:
        raise ValueError(
            "modes: the mass matrix is singular or negative, give every mass a positive number"
        ) from None
    half = np.linalg.solve(*np.broadcast_arrays(root, k))
    scaled = np.linalg.solve(*np.broadcast_arrays(root, np.swapaxes(half, -1, -2)))
    squares, vectors = np.linalg.eigh(0.5 * (scaled + np.swapaxes(scaled, -1, -2)))
    shapes = np.linalg.solve(*np.broadcast_arrays(np.swapaxes(root, -1, -2), vectors))
    return squares, shapes


def sensor_indices(sensors: Sequence[int] | None, dofs: int, what: str = "degrees of freedom") -> Integers:
    """Return indices, from 0, of sensors by number, from 1; None: all.

    Parameters
    ----------
    what : is numbered, named in the error.

    Raises
    ------
    ValueError : there is none, one twice, or one that is not a degree of freedom.
    """
    numbers = np.arange(1, dofs + 1) if sensors is None else np.asarray(sensors)
    whole = numbers.ndim == 1 and numbers.size > 0 and np.issubdtype(numbers.dtype, np.integer)
    if not whole or len(set(numbers.tolist())) < numbers.size or numbers.min() < 1 or numbers.max() > dofs:
        listed = ", ".join(map(str, np.atleast_1d(np.asarray(sensors, dtype=object)))) or "none"
        raise ValueError(f"sensors {listed}: give {what} 1 to {dofs}, each once")
    return np.asarray(numbers - 1, dtype=np.int64)


def highest_frequency(mass: Samples, tangent: Samples) -> float:
    """Return the highest natural frequency of all draws, Hz."""
    squares = np.linalg.eigvals(np.linalg.solve(*np.broadcast_arrays(mass, tangent)))
    return float(np.sqrt(np.max(np.abs(squares)))) / (2.0 * pi)


def _matrix(name: str, value: ArrayLike, dofs: int | None = None) -> Samples:
    matrix = np.asarray(value, dtype=np.float64)
    if matrix.ndim == 0:
        matrix = matrix * np.eye(dofs or 1)
    elif matrix.ndim == 1:
        matrix = np.diag(matrix)
    if matrix.shape[-1] != matrix.shape[-2] or matrix.shape[-1] == 0:
        raise ValueError(f"structure {name} of shape {matrix.shape}: give a square matrix")
    if not np.all(np.isfinite(matrix)):
        raise ValueError(f"structure {name}: a number of its matrix is not finite")
    return matrix
