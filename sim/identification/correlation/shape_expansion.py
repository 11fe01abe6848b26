"""Expansion of measured shapes by the model that is fitted, with derivatives by its parameters."""

from __future__ import annotations

import numpy as np

from sim.arrays import Integers, Samples
from sim.identification.modes import RIGID
from sim.identification.parameterized_structure import ParameterizedStructure, mode_derivatives


def held_shapes(
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
    squares : (k,), w^2 of each shape, (rad/s)^2; 0: static.

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
    mass, stiffness = (each[:, None] for each in structure.matrices(parameters))
    d_mass, d_stiffness = structure.derivatives
    matrix = stiffness - squares[:, None, None] * mass
    d_matrix = d_stiffness - squares[:, None, None, None] * d_mass
    inner = matrix[..., others[:, None], others]
    across = np.einsum("mkos,ks->mko", matrix[..., others[:, None], places], measured)
    try:
        shapes[..., others] = -np.linalg.solve(inner, across[..., None])[..., 0]
        turned = np.einsum("kpoj,mkj->mkop", d_matrix[:, :, others], shapes)
        slopes[..., others, :] = -np.linalg.solve(inner, turned)
    except np.linalg.LinAlgError:
        raise ValueError(
            "expansion of shapes: what has no sensor moves freely while the sensors are held: add a sensor, or "
            "expand by SEREP"
        ) from None
    return shapes, slopes


def combined_modes(
    structure: ParameterizedStructure, parameters: Samples, measured: Samples, places: Integers, kept: int
) -> tuple[Samples, Samples]:
    """Return (m, k, n) combinations of elastic modes that are nearest at the sensors, and (m, k, n, p) derivatives.

    Parameters
    ----------
    structure, parameters, measured, places : see `held_shapes`.
    kept : lowest elastic modes of the model, not more than sensors.
    """
    squares, shapes, _, d_shapes = mode_derivatives(structure, parameters)
    found, slopes = [], []
    for square, shape, d_shape in zip(squares, shapes, d_shapes, strict=True):
        elastic = np.flatnonzero(square > RIGID * square[-1])[:kept]
        full, d_full = shape[elastic], d_shape[elastic]
        # modes in rows: measured = share @ seen in the least squares
        seen, d_seen = full[:, places], d_full[:, places]
        inverse = np.linalg.pinv(seen)
        share = measured @ inverse
        left, gram = measured - share @ seen, inverse.T @ inverse
        d_share = np.einsum("ks,qsp,qr->krp", left, d_seen, gram)
        d_share -= np.einsum("kq,qsp,sr->krp", share, d_seen, inverse)
        found.append(share @ full)
        slopes.append(np.einsum("kqp,qn->knp", d_share, full) + np.einsum("kq,qnp->knp", share, d_full))
    return np.array(found), np.array(slopes)
