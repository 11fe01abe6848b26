"""Structures whose stiffness and mass are linear in parameters, and the derivatives of their modes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sim.arrays import Samples
from sim.laboratory.structure import Structure, eigenmodes
from sim.updating.reduction import Reduction

# of the largest squared frequency: two closer ones are the same, their shapes have no derivatives in their plane
_EQUAL = 1e-12


@dataclass(frozen=True, eq=False)
class ParameterizedStructure:
    """K(p) = K0 + sum p_j K_j, and M(p) = M0 + sum p_j M_j.

    Parameters
    ----------
    structure : M0 and K0, one draw; its damping and nonlinear springs are not used.
    names : of the parameters, p.
    stiffness : (p, n, n), K_j.
    mass : (p, n, n), M_j; None: zero.
    lower, upper : bounds, of each or (p,).

    Raises
    ------
    ValueError : sizes do not fit, or bounds leave nothing between them.
    """

    structure: Structure
    names: tuple[str, ...]
    stiffness: ArrayLike
    mass: ArrayLike | None = None
    lower: ArrayLike = -np.inf
    upper: ArrayLike = np.inf

    def __post_init__(self) -> None:
        m0, _, k0 = self.structure.matrices
        p, n = len(self.names), self.structure.dofs
        if m0.ndim > 2 or k0.ndim > 2:
            raise ValueError("parameterized structure: M0 and K0 of one structure, not of many draws")
        for name in ("stiffness", "mass"):
            given = getattr(self, name)
            each = np.zeros((p, n, n)) if given is None else np.asarray(given, dtype=np.float64)
            if each.shape != (p, n, n) or not np.isfinite(each).all():
                raise ValueError(
                    f"parameterized structure {name} of shape {each.shape}: give finite {(p, n, n)}, a matrix "
                    f"for each of {', '.join(self.names)}"
                )
            object.__setattr__(self, name, each)
        for name in ("lower", "upper"):
            object.__setattr__(self, name, np.broadcast_to(np.asarray(getattr(self, name), dtype=np.float64), (p,)))
        if not np.all(self.bounds[0] <= self.bounds[1]):
            raise ValueError("parameterized structure: a lower bound is above its upper one")

    @classmethod
    def of_springs(
        cls,
        masses: ArrayLike,
        between: Sequence[tuple[int, int | None]],
        stiffnesses: ArrayLike,
        free: Sequence[int],
        *,
        lower: float = 0.0,
        upper: float = np.inf,
    ) -> ParameterizedStructure:
        """Return masses on linear springs, of which some stiffnesses are the parameters k1, k2 ...

        Parameters
        ----------
        masses : (n,), kg.
        between : the two degrees of freedom of each spring, by number from 1; None: the ground.
        stiffnesses : (springs,), N/m, of those that are not free.
        free : springs by number, from 1.
        lower, upper : as shares of their stiffnesses.
        """
        mass, known = np.asarray(masses, dtype=np.float64), np.asarray(stiffnesses, dtype=np.float64)
        if known.shape != (len(between),) or not set(free) <= set(range(1, len(between) + 1)):
            raise ValueError(
                f"springs: {len(between)} places, stiffnesses of shape {known.shape}, free {list(free)}: give a "
                "stiffness for each place, and free ones by number from 1"
            )
        patterns = spring_patterns(between, len(mass))
        chosen = np.asarray(free, dtype=np.int64) - 1
        fixed = np.setdiff1d(np.arange(len(between)), chosen)
        base = Structure(mass, 0.0, np.einsum("s,sij->ij", known[fixed], patterns[fixed]))
        names = tuple(f"k{i}" for i in free)
        return cls(base, names, patterns[chosen], None, lower * known[chosen], upper * known[chosen])

    @property
    def bounds(self) -> tuple[Samples, Samples]:
        """Lower and upper, (p,) each."""
        return np.asarray(self.lower, dtype=np.float64), np.asarray(self.upper, dtype=np.float64)

    @property
    def derivatives(self) -> tuple[Samples, Samples]:
        """M_j and K_j, (p, n, n) each."""
        return np.asarray(self.mass, dtype=np.float64), np.asarray(self.stiffness, dtype=np.float64)

    def matrices(self, parameters: Samples) -> tuple[Samples, Samples]:
        """Return M and K of (m, p) parameters, (m, n, n) each."""
        m0, _, k0 = self.structure.matrices
        mass, stiffness = self.derivatives
        return m0 + np.tensordot(parameters, mass, 1), k0 + np.tensordot(parameters, stiffness, 1)

    def at(self, parameters: Samples) -> Structure:
        """Return the structure of some parameters, (p,), without damping."""
        mass, stiffness = self.matrices(np.asarray(parameters, dtype=np.float64)[None])
        return Structure(mass[0], 0.0, stiffness[0])

    def reduced(self, reduction: Reduction) -> ParameterizedStructure:
        """Return the same at the sensors of a reduction, whose T stays that of its own structure whatever p is."""
        t = reduction.transformation
        m0, _, k0 = self.structure.matrices
        base = Structure(t.T @ m0 @ t, 0.0, t.T @ k0 @ t)
        mass, stiffness = self.derivatives
        return ParameterizedStructure(base, self.names, t.T @ stiffness @ t, t.T @ mass @ t, self.lower, self.upper)


def spring_patterns(between: Sequence[tuple[int, int | None]], dofs: int) -> Samples:
    """Return (springs, n, n): stiffness matrices of springs of 1 N/m; ends by number from 1, None: the ground."""
    rows = np.zeros((len(between), dofs))
    for row, ends in zip(rows, between, strict=True):
        for end, sign in zip(ends, (1.0, -1.0), strict=True):
            if end is None:
                continue
            if not 1 <= end <= dofs:
                raise ValueError(f"spring between {ends[0]} and {ends[1]}: give degrees of freedom 1 to {dofs}")
            row[end - 1] += sign
    return np.asarray(rows[:, :, None] * rows[:, None, :])


def mode_derivatives(
    structure: ParameterizedStructure, parameters: Samples
) -> tuple[Samples, Samples, Samples, Samples]:
    """Return squared circular frequencies, shapes, and their derivatives, of (m, p) parameters.

    With shapes of unit modal mass, d w_i^2 = phi_i' (dK - w_i^2 dM) phi_i, and d phi_i = sum over l of phi_l phi_l'
    (dK - w_i^2 dM) phi_i / (w_i^2 - w_l^2), less phi_i (phi_i' dM phi_i) / 2 (Fox and Kapoor, AIAA J. 6, 1968, 2426).
    Shapes of equal frequencies have no derivative within their plane: it is left out.

    Returns
    -------
    (m, n), rising; (m, n, n), shapes in rows; (m, n, p) and (m, n, n, p).
    """
    mass, stiffness = structure.matrices(parameters)
    squares, columns = eigenmodes(mass, stiffness)
    d_mass, d_stiffness = structure.derivatives
    # (m, p, n, n), of modes l and i
    across = np.swapaxes(columns, -1, -2)[:, None]
    inertia = across @ d_mass @ columns[:, None]
    products = across @ d_stiffness @ columns[:, None] - squares[:, None, None] * inertia
    apart = squares[:, None, :] - squares[:, :, None]
    real = np.abs(apart) > _EQUAL * squares[:, -1:, None]
    inverse = np.divide(1.0, apart, out=np.zeros_like(apart), where=real)
    own = np.einsum("mpii->mpi", inertia)
    weights = products * inverse[:, None] - 0.5 * own[:, :, None] * np.eye(squares.shape[1])
    d_shapes = np.einsum("mnl,mpli->minp", columns, weights)
    d_squares = np.einsum("mpii->mip", products)
    return squares, np.swapaxes(columns, -1, -2), d_squares, d_shapes
