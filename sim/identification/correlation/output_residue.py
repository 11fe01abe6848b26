"""The output residue of a parameterized structure: frequencies and shapes (Hemez and Doebling, eq. 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment

from sim.arrays import Integers, Samples
from sim.identification.correlation.modal_comparison import pair_distances
from sim.identification.correlation.modal_identification import IdentifiedModes
from sim.identification.correlation.modal_residues import ModalResidue
from sim.identification.modes import RIGID, Modes
from sim.identification.parameterized_structure import ParameterizedStructure, mode_derivatives
from sim.laboratory.structure import eigenmodes


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

    @classmethod
    def weighted(
        cls,
        structure: ParameterizedStructure,
        modes: IdentifiedModes,
        sensors: Sequence[int] | None = None,
        least: float = 1e-3,
    ) -> OutputResidue:
        """Return the residue weighted by the standard errors of identified modes.

        Parameters
        ----------
        structure, sensors : see the class.
        modes : with standard errors; where one is not known, the largest of the others is taken.
        least : relative standard deviation of a frequency, and of a component of a shape of unit length, at least.

        Raises
        ------
        ValueError : no standard error is known.
        """
        frequency, shape = modes.frequency_errors / modes.frequencies, modes.shape_errors
        if not np.isfinite(frequency).any() or not np.isfinite(shape).any():
            raise ValueError(
                "output residue: the modes have no standard errors, give frequency_errors and shape_errors"
            )
        weights = [
            np.maximum(np.where(np.isfinite(each), each, np.nanmax(each)), least) for each in (frequency, shape)
        ]
        return cls(structure, modes, sensors, weights[0], weights[1])

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
