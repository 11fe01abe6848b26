"""Reduction of a structure to its sensors, and expansion of what they measure: Guyan, IRS, dynamic, SEREP."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sim.arrays import Integers, Samples
from sim.laboratory.structure import Structure, sensor_indices
from sim.updating.modes import Modes, check_seen, natural_modes

# of the largest eigenvalue or singular value: below, a matrix is singular
_SINGULAR = 1e-10


@dataclass(frozen=True, eq=False)
class Reduction:
    """A structure seen through its sensors: x = T q, q the motion at the sensors.

    Parameters
    ----------
    structure : the whole one, n degrees of freedom.
    sensors : s degrees of freedom by number, from 1, in the order of q.
    transformation : (..., n, s), T. Its rows at the sensors are the identity, but for SEREP with fewer modes than
        sensors: there they project what was measured on the modes.
    """

    structure: Structure
    sensors: tuple[int, ...]
    transformation: Samples

    def reduced(self) -> Structure:
        """Return the structure of the sensors: T' M T, T' C T and T' K T; its influence is that of a ground motion.

        Raises
        ------
        ValueError : the reduced mass is singular, as with fewer modes than sensors; or there are nonlinear springs,
            whose forces are added at the sensors; or the influence differs between draws.
        """
        if self.structure.springs:
            raise ValueError("reduction: of a structure with nonlinear springs: add their forces at the sensors")
        t = self.transformation
        mass, damping, stiffness = (np.swapaxes(t, -1, -2) @ each @ t for each in self.structure.matrices)
        sizes = np.linalg.svd(mass, compute_uv=False)
        if np.any(sizes[..., -1] < _SINGULAR * sizes[..., 0]):
            raise ValueError(
                f"reduction to sensors {', '.join(map(str, self.sensors))}: the mass matrix is singular, there are "
                "fewer modes than sensors: keep as many modes as sensors"
            )
        whole = np.asarray(self.structure.mass) @ np.asarray(self.structure.influence)
        load = np.asarray(np.swapaxes(t, -1, -2) @ whole[..., None])
        influence = np.linalg.solve(mass, load)[..., 0].reshape(-1, len(self.sensors))
        if not np.allclose(influence, influence[0]):
            raise ValueError(
                "reduction: the influence of ground motions differs between draws: reduce each draw alone"
            )
        return Structure(mass, damping, stiffness, influence[0])


def guyan(structure: Structure, sensors: Sequence[int]) -> Reduction:
    """Return the static reduction: exact for loads at the sensors that do not vary (Guyan, AIAA J. 3, 1965, 380).

    Raises
    ------
    ValueError : what has no sensor can move without any stiffness, or a sensor is not a degree of freedom.
    """
    places, others = _split(structure, sensors)
    return Reduction(structure, _numbers(places), _condensed(structure.matrices[2], places, others))


def improved(structure: Structure, sensors: Sequence[int]) -> Reduction:
    """Return the improved reduced system, Guyan's with the inertia of what has no sensor (O'Callahan, IMAC 1989).

    T = T_G + S M T_G M_G^-1 K_G, where S is the inverse of K without the sensors, zero elsewhere.

    Raises
    ------
    ValueError : see `guyan`.
    """
    places, others = _split(structure, sensors)
    mass, _, stiffness = structure.matrices
    static = _condensed(stiffness, places, others)
    across = np.swapaxes(static, -1, -2)
    inertia = mass @ static @ np.linalg.solve(across @ mass @ static, across @ stiffness @ static)
    correction = np.zeros_like(static)
    if len(others):
        correction[..., others, :] = np.linalg.solve(
            *_stacked(stiffness[..., others[:, None], others], inertia[..., others, :])
        )
    return Reduction(structure, _numbers(places), static + correction)


def serep(structure: Structure, sensors: Sequence[int], modes: int | Sequence[int]) -> Reduction:
    """Return the reduction that is exact for some modes: T = Phi Phi_s^+.

    Source: O'Callahan, Avitabile and Riemer, IMAC 1989.

    Parameters
    ----------
    structure : one draw; its nonlinear springs are not in the modes.
    sensors : by number, from 1.
    modes : how many of the lowest, or which, by number from 1; rigid body modes count.

    Raises
    ------
    ValueError : there are more modes than sensors, the sensors do not see a mode or cannot tell two apart.
    """
    places = sensor_indices(sensors, structure.dofs)
    every = natural_modes(structure, elastic=False)
    wanted = np.arange(modes) if isinstance(modes, int) else np.asarray(modes, dtype=np.int64) - 1
    if not 1 <= len(wanted) <= len(places) or len(set(wanted.tolist())) < len(wanted):
        raise ValueError(
            f"SEREP of {len(wanted)} modes at {len(places)} sensors: keep one mode at least, each once, and not more "
            "modes than sensors"
        )
    if wanted.min() < 0 or wanted.max() >= structure.dofs:
        raise ValueError(f"SEREP of mode {int(wanted.max()) + 1}: the structure has modes 1 to {structure.dofs}")
    kept = every.chosen(wanted)
    seen = Modes(kept.frequencies, kept.damping, kept.shapes[:, places])
    check_seen(seen, np.asarray(kept.shapes, dtype=np.float64), places + 1, "SEREP")
    full = np.asarray(kept.shapes, dtype=np.float64).T
    size = np.linalg.norm(full[places], axis=0)
    _, values, right = np.linalg.svd(full[places] / size, full_matrices=False)
    if values[-1] < _SINGULAR * values[0]:
        alike = np.sort(np.argsort(-np.abs(right[-1]))[:2])
        numbers = " and ".join(str(int(wanted[i]) + 1) for i in alike)
        raise ValueError(
            f"SEREP: sensors {', '.join(map(str, _numbers(places)))} cannot tell modes {numbers} apart: add a "
            "sensor, or keep fewer modes"
        )
    return Reduction(structure, _numbers(places), full @ np.linalg.pinv(full[places]))


def _split(structure: Structure, sensors: Sequence[int]) -> tuple[Integers, Integers]:
    places = sensor_indices(sensors, structure.dofs)
    return places, np.setdiff1d(np.arange(structure.dofs), places)


def _numbers(places: Integers) -> tuple[int, ...]:
    return tuple((places + 1).tolist())


def _condensed(matrix: Samples, places: Integers, others: Integers) -> Samples:
    """Return T, (..., n, s), in which what has no sensor is in equilibrium."""
    t = np.zeros((*matrix.shape[:-1], len(places)))
    t[..., places, np.arange(len(places))] = 1.0
    if not len(others):
        return t
    inner = matrix[..., others[:, None], others]
    values = np.linalg.svd(inner, compute_uv=False)
    if np.any(values[..., -1] <= _SINGULAR * np.abs(matrix).max(axis=(-1, -2))):
        named = ", ".join(str(int(each) + 1) for each in others[:8]) + (" ..." if len(others) > 8 else "")
        raise ValueError(
            f"reduction to sensors {', '.join(map(str, _numbers(places)))}: degrees of freedom {named} can move "
            "without stiffness while the sensors are held: add a sensor among them"
        )
    t[..., others, :] = -np.linalg.solve(*_stacked(inner, matrix[..., others[:, None], places]))
    return t


def _stacked(matrix: Samples, right: Samples) -> tuple[Samples, Samples]:
    """Return both with the same leading axes."""
    lead = np.broadcast_shapes(matrix.shape[:-2], right.shape[:-2])
    return np.broadcast_to(matrix, (*lead, *matrix.shape[-2:])), np.broadcast_to(right, (*lead, *right.shape[-2:]))
