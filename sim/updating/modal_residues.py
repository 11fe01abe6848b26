"""Structures that are linear in parameters, and their modal residues (Hemez and Doebling, eq. 4 to 7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import pi

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment

from sim.arrays import Integers, Samples
from sim.laboratory.structure import Structure, eigenmodes, sensor_indices
from sim.updating.modes import RIGID, Modes, pair_distances

# of the largest squared frequency: two closer ones are the same, their shapes have no derivatives in their plane
_EQUAL = 1e-12


@dataclass(frozen=True, eq=False)
class ParameterizedStructure:
    """K(p) = K0 + sum p_j K_j.

    Parameters
    ----------
    structure : M and K0, one draw; its damping and nonlinear springs are not used.
    names : of the parameters, p.
    stiffness : (p, n, n), K_j.
    lower, upper : bounds, (p,).
    """

    structure: Structure
    names: tuple[str, ...]
    stiffness: Samples
    lower: Samples
    upper: Samples

    @classmethod
    def of_springs(
        cls,
        masses: ArrayLike,
        between: Sequence[tuple[int, int | None]],
        stiffnesses: Samples,
        *,
        lower: float = 0.0,
        upper: float = np.inf,
    ) -> ParameterizedStructure:
        """Return masses on linear springs, whose stiffnesses are the parameters k1, k2 ...

        Parameters
        ----------
        masses : (n,), kg.
        between : the two degrees of freedom of each spring, by number from 1; None: the ground.
        stiffnesses : (springs,), N/m, of which the bounds are shares.
        """
        mass = np.asarray(masses, dtype=np.float64)
        names = tuple(f"k{i}" for i in range(1, len(between) + 1))
        patterns, bare = spring_patterns(between, len(mass)), Structure(mass, 0.0, np.zeros((len(mass), len(mass))))
        return cls(bare, names, patterns, lower * stiffnesses, upper * stiffnesses)

    def matrices(self, parameters: Samples) -> tuple[Samples, Samples]:
        """Return M, (n, n), and K of (m, p) parameters, (m, n, n)."""
        mass, _, stiffness = self.structure.matrices
        return mass, stiffness + np.tensordot(parameters, self.stiffness, 1)

    def at(self, parameters: Samples) -> Structure:
        """Return the structure of some parameters, (p,), without damping."""
        mass, stiffness = self.matrices(np.asarray(parameters, dtype=np.float64)[None])
        return Structure(mass, 0.0, stiffness[0])


def spring_patterns(between: Sequence[tuple[int, int | None]], dofs: int) -> Samples:
    """Return (springs, n, n): stiffness matrices of springs of 1 N/m; ends by number from 1, None: the ground."""
    rows = np.zeros((len(between), dofs))
    for row, ends in zip(rows, between, strict=True):
        for end, sign in zip(ends, (1.0, -1.0), strict=True):
            if end is not None:
                row[end - 1] += sign
    return np.asarray(rows[:, :, None] * rows[:, None, :])


def mode_derivatives(
    structure: ParameterizedStructure, parameters: Samples
) -> tuple[Samples, Samples, Samples, Samples]:
    """Return squared circular frequencies, shapes, and their derivatives, of (m, p) parameters.

    With shapes of unit modal mass, d w_i^2 = phi_i' dK phi_i, and d phi_i = sum over l of phi_l phi_l' dK phi_i /
    (w_i^2 - w_l^2) (Fox and Kapoor, AIAA J. 6, 1968, 2426). Shapes of equal frequencies have no derivative within
    their plane: it is left out.

    Returns
    -------
    (m, n), rising; (m, n, n), shapes in rows; (m, n, p) and (m, n, n, p).
    """
    mass, stiffness = structure.matrices(parameters)
    squares, columns = eigenmodes(mass, stiffness)
    # (m, p, n, n), of modes l and i
    products = np.swapaxes(columns, -1, -2)[:, None] @ structure.stiffness @ columns[:, None]
    apart = squares[:, None, :] - squares[:, :, None]
    real = np.abs(apart) > _EQUAL * squares[:, -1:, None]
    inverse = np.divide(1.0, apart, out=np.zeros_like(apart), where=real)
    d_shapes = np.einsum("mnl,mpli->minp", columns, products * inverse[:, None])
    d_squares = np.einsum("mpii->mip", products)
    return squares, np.swapaxes(columns, -1, -2), d_squares, d_shapes


@dataclass(frozen=True, eq=False)
class ModalResidue:
    """What the residues have in common: a regression whose residual is observed less response."""

    structure: ParameterizedStructure
    modes: Modes
    sensors: Sequence[int] | None = None
    names: tuple[str, ...] = field(init=False)
    lower: Samples = field(init=False)
    upper: Samples = field(init=False)

    def __post_init__(self) -> None:
        for name in ("names", "lower", "upper"):
            object.__setattr__(self, name, getattr(self.structure, name))
        places = self._places
        shapes = np.asarray(self.modes.shapes)
        if np.iscomplexobj(shapes):
            raise ValueError("modal residue: identified shapes are complex: give real ones, as `identify_modes` does")
        if shapes.shape[1] != len(places):
            raise ValueError(f"modal residue: shapes at {shapes.shape[1]} sensors, of which {len(places)} are given")
        silent = np.flatnonzero(~(np.abs(shapes).max(axis=1) > 0.0))
        if len(silent):
            raise ValueError(
                f"modal residue: the identified shape at {self.modes.frequencies[silent[0]]:.4g} Hz is zero at all "
                "sensors: they see nothing of it, leave the mode out"
            )
        if not np.all(self.modes.frequencies > 0.0):
            raise ValueError("modal residue: an identified frequency is not positive: leave rigid body modes out")

    @property
    def _places(self) -> Integers:
        return sensor_indices(self.sensors, self.structure.structure.dofs)

    @property
    def _inside(self) -> Samples:
        """(p,) parameters within the bounds."""
        low, high = self.lower, self.upper
        with np.errstate(invalid="ignore"):
            middle = 0.5 * (low + high)
        return np.where(np.isfinite(middle), middle, np.clip(1.0, low, high))

    @property
    def _measured(self) -> Samples:
        """Identified shapes of unit length, (k, s)."""
        shapes = np.asarray(self.modes.shapes, dtype=np.float64)
        return np.asarray(shapes / np.linalg.norm(shapes, axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class ForceResidue(ModalResidue):
    """Out-of-balance forces of the identified modes: (K(p) - w_t^2 M(p)) phi_t (eq. 5).

    They are relative to w_t^2 times the mean mass, for shapes of unit length at the sensors. Observed are zeros. With
    fewer sensors than degrees of freedom a shape is expanded by the model of the same parameters: what has no sensor
    is in equilibrium at w_t; its forces are zero, and the residue is that of a model reduced to the sensors. Zero
    where the model is right. Noise is amplified near frequencies that the structure has with its sensors held.

    Noise of the shapes multiplies the parameters: estimates are biased by it, which standard errors do not show.

    Parameters
    ----------
    structure, modes, sensors : see `OutputResidue`.
    """

    @property
    def observed(self) -> Samples:
        """(k n,): zeros."""
        return np.zeros(len(self.modes) * self.structure.structure.dofs)

    def evaluate(self, parameters: Samples) -> tuple[Samples, Samples]:
        """Return residues with the sign of a response, (m, k n), and their derivatives."""
        parameters = np.atleast_2d(parameters)
        force, slopes = self._forces(parameters)
        mass = np.asarray(self.structure.structure.mass)
        scale = np.asarray(1.0 / (self._squares * np.trace(mass) / len(mass)))[:, None]
        m, p = parameters.shape
        return -(scale * force).reshape(m, -1), -(scale[..., None] * slopes).reshape(m, force[0].size, p)

    @property
    def _squares(self) -> Samples:
        return np.asarray((2.0 * pi * self.modes.frequencies) ** 2)

    def _forces(self, parameters: Samples) -> tuple[Samples, Samples]:
        """Return (m, k, n) forces and (m, k, n, p) derivatives."""
        mass, stiffness = self.structure.matrices(parameters)
        matrix = stiffness[:, None] - self._squares[:, None, None] * mass
        shapes, d_shapes = _held_shapes(self.structure, parameters, self._measured, self._places, self._squares)
        force = np.einsum("mkij,mkj->mki", matrix, shapes)
        slopes = np.einsum("pij,mkj->mkip", self.structure.stiffness, shapes) + np.einsum(
            "mkij,mkjp->mkip", matrix, d_shapes
        )
        return force, slopes


@dataclass(frozen=True, eq=False)
class HybridResidue(ForceResidue):
    """Displacements by the forces of eq. 5: phi_t - phi, with (K + w_t^2 M) phi = 2 w_t^2 M phi_t (eq. 6 and 7).

    As printed, K phi = w_t^2 M phi_t, mode i of the model in phi_t counts with 1 - (w_t / w_i)^2: noise of high modes
    is multiplied where a structure hangs on the ground, and K is singular where it is free. With w_t^2 M on both
    sides, of the same modes, it counts with (w_i^2 - w_t^2) / (w_i^2 + w_t^2), which is between -1 and 1.
    """

    def evaluate(self, parameters: Samples) -> tuple[Samples, Samples]:
        """Return residues with the sign of a response, (m, k n), and their derivatives."""
        parameters = np.atleast_2d(parameters)
        force, slopes = self._forces(parameters)
        mass, stiffness = self.structure.matrices(parameters)
        matrix = stiffness[:, None] + self._squares[:, None, None] * mass
        moved = np.linalg.solve(matrix, force[..., None])[..., 0]
        slopes = slopes - np.einsum("pij,mkj->mkip", self.structure.stiffness, moved)
        d_moved = np.linalg.solve(matrix, slopes)
        m, p = parameters.shape
        return np.asarray(-moved.reshape(m, -1)), np.asarray(-d_moved.reshape(m, moved[0].size, p))


@dataclass(frozen=True, eq=False)
class OutputResidue(ModalResidue):
    """Frequencies and shapes themselves (eq. 4): (f_t - f) / f_t, and differences of shapes of unit length.

    Model modes are those nearest in shape and frequency, all together; shapes get the sign of phi_t' phi. Rigid body
    modes take no part. Frequencies first, then the sensors of each shape.

    Parameters
    ----------
    structure : the model.
    modes : identified ones, of real shapes at the sensors.
    sensors : degrees of freedom by number, from 1; None: all.
    frequency_errors : relative standard deviations of frequencies, of all or (k,).
    shape_errors : standard deviations of the components of shapes of unit length, of all, or as (k, s); inf: only
        frequencies count.
    """

    frequency_errors: ArrayLike = 1.0
    shape_errors: ArrayLike = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        squares, _ = eigenmodes(*self.structure.matrices(self._inside[None]))
        elastic = int(np.sum(squares[0] > RIGID * squares[0, -1]))
        if len(self.modes) > elastic:
            raise ValueError(
                f"output residue: {len(self.modes)} identified modes, but the model has {elastic} elastic ones: "
                "leave some out"
            )

    @property
    def _weights(self) -> tuple[Samples, Samples]:
        k, s = self._measured.shape
        frequency = np.broadcast_to(np.asarray(self.frequency_errors, dtype=np.float64), (k,))
        shape = np.broadcast_to(np.asarray(self.shape_errors, dtype=np.float64), (k, s))
        if not np.all(frequency > 0.0) or not np.all(shape > 0.0):
            raise ValueError("output residue: a standard deviation is not positive or not known: give one for each")
        return 1.0 / frequency, 1.0 / shape

    @property
    def observed(self) -> Samples:
        """(k + k s,): ones and shapes, weighted."""
        frequency, shape = self._weights
        return np.concatenate([frequency, (shape * self._measured).ravel()])

    def evaluate(self, parameters: Samples) -> tuple[Samples, Samples]:
        """Return weighted frequencies and shapes and their derivatives, of (m, p) parameters."""
        parameters = np.atleast_2d(parameters)
        weight, shape_weight = self._weights
        squares, shapes, d_squares, d_shapes = mode_derivatives(self.structure, parameters)
        measured, places, k = self._measured, self._places, len(self.modes)
        m, p = parameters.shape
        size = k + measured.size
        found, slopes = np.full((m, size), np.nan), np.full((m, size, p), np.nan)
        for i in range(m):
            chosen = self._matched(squares[i], shapes[i][:, places])
            if chosen is None:
                continue
            circular = np.sqrt(squares[i, chosen])
            target = 2.0 * pi * self.modes.frequencies
            found[i, :k] = weight * circular / target
            slopes[i, :k] = (weight / (2.0 * circular * target))[:, None] * d_squares[i, chosen]
            model, d_model = shapes[i, chosen][:, places], d_shapes[i, chosen][:, places]
            length = np.linalg.norm(model, axis=1) * np.where(np.sum(model * measured, axis=1) < 0.0, -1.0, 1.0)
            unit, d_unit = model / length[:, None], d_model / length[:, None, None]
            d_unit = d_unit - unit[:, :, None] * np.einsum("ks,ksp->kp", unit, d_unit)[:, None]
            found[i, k:] = (shape_weight * unit).ravel()
            slopes[i, k:] = (shape_weight[..., None] * d_unit).reshape(-1, p)
        return found, slopes

    def _matched(self, squares: Samples, shapes: Samples) -> Integers | None:
        elastic = np.flatnonzero((squares > RIGID * squares[-1]) & (np.abs(shapes).max(axis=1) > 0.0))
        if len(elastic) < len(self.modes):
            return None
        circular = np.sqrt(squares[elastic])
        model = Modes(circular / (2.0 * pi), np.full(len(elastic), np.nan), shapes[elastic])
        _, columns = linear_sum_assignment(pair_distances(self.modes, model))
        return elastic[columns]


def _held_shapes(
    structure: ParameterizedStructure, parameters: Samples, measured: Samples, places: Integers, squares: Samples
) -> tuple[Samples, Samples]:
    """Return (m, k, n) shapes in which what has no sensor is in equilibrium, and (m, k, n, p) derivatives.

    With D = K - w^2 M and o without sensors, phi_o = -D_oo^-1 D_os phi_s and d phi_o = -D_oo^-1 (dD phi)_o.

    Parameters
    ----------
    structure : n degrees of freedom.
    parameters : (m, p).
    measured : (k, s), shapes at the sensors.
    places : (s,), their indices.
    squares : (k,), w^2 of each shape, (rad/s)^2.

    Raises
    ------
    ValueError : what has no sensor moves freely.
    """
    n, (k, _), (m, p) = structure.structure.dofs, measured.shape, parameters.shape
    shapes, slopes = np.zeros((m, k, n)), np.zeros((m, k, n, p))
    shapes[..., places] = measured
    others = np.setdiff1d(np.arange(n), places)
    if not len(others):
        return shapes, slopes
    mass, stiffness = structure.matrices(parameters)
    matrix = stiffness[:, None] - squares[:, None, None] * mass
    inner = matrix[..., others[:, None], others]
    across = np.einsum("mkos,ks->mko", matrix[..., others[:, None], places], measured)
    try:
        shapes[..., others] = -np.linalg.solve(inner, across[..., None])[..., 0]
        turned = np.einsum("poj,mkj->mkop", structure.stiffness[:, others], shapes)
        slopes[..., others, :] = -np.linalg.solve(inner, turned)
    except np.linalg.LinAlgError:
        raise ValueError(
            "expansion of shapes: what has no sensor moves freely while the sensors are held: add a sensor"
        ) from None
    return shapes, slopes
