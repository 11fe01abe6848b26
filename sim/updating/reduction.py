"""Reduction of a structure to its sensors: Guyan, IRS, SEREP."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sim.arrays import Integers, Samples
from sim.laboratory.structure import Structure, sensor_indices
from sim.updating.modes import natural_modes


@dataclass(frozen=True, eq=False)
class Reduction:
    """A structure seen through its sensors: x = T q, q the motion at the sensors.

    Parameters
    ----------
    structure : the whole one, linear, n degrees of freedom.
    transformation : (n, s), T. Its rows at the sensors are the identity.
    """

    structure: Structure
    transformation: Samples

    def reduced(self) -> Structure:
        """Return the structure of the sensors: T' M T, T' C T and T' K T."""
        t = self.transformation
        mass, damping, stiffness = (t.T @ each @ t for each in self.structure.matrices)
        return Structure(mass, damping, stiffness)


def guyan(structure: Structure, sensors: Sequence[int]) -> Reduction:
    """Return the static reduction: exact for loads at the sensors that do not vary (Guyan, AIAA J. 3, 1965, 380).

    Parameters
    ----------
    sensors : degrees of freedom by number, from 1, in the order of q.

    Raises
    ------
    ValueError : a sensor is not a degree of freedom.
    """
    places, others = _split(structure, sensors)
    return Reduction(structure, _condensed(structure.matrices[2], places, others))


def improved(structure: Structure, sensors: Sequence[int]) -> Reduction:
    """Return the improved reduced system, Guyan's with the inertia of what has no sensor (O'Callahan, IMAC 1989).

    T = T_G + S M T_G M_G^-1 K_G, where S is the inverse of K without the sensors, zero elsewhere.
    """
    places, others = _split(structure, sensors)
    mass, _, stiffness = structure.matrices
    static = _condensed(stiffness, places, others)
    inertia = mass @ static @ np.linalg.solve(static.T @ mass @ static, static.T @ stiffness @ static)
    correction = np.zeros_like(static)
    correction[others] = np.linalg.solve(stiffness[np.ix_(others, others)], inertia[others])
    return Reduction(structure, static + correction)


def serep(structure: Structure, sensors: Sequence[int]) -> Reduction:
    """Return the reduction that is exact for the lowest modes, as many as sensors: T = Phi Phi_s^+.

    Source: O'Callahan, Avitabile and Riemer, IMAC 1989.
    """
    places = sensor_indices(sensors, structure.dofs)
    # rigid body modes count
    shapes = np.asarray(natural_modes(structure, elastic=False).shapes[: len(places)], dtype=np.float64).T
    return Reduction(structure, shapes @ np.linalg.pinv(shapes[places]))


def _split(structure: Structure, sensors: Sequence[int]) -> tuple[Integers, Integers]:
    places = sensor_indices(sensors, structure.dofs)
    return places, np.setdiff1d(np.arange(structure.dofs), places)


def _condensed(stiffness: Samples, places: Integers, others: Integers) -> Samples:
    """Return T, (n, s), in which what has no sensor is in equilibrium."""
    t = np.zeros((len(stiffness), len(places)))
    t[places, np.arange(len(places))] = 1.0
    t[others] = -np.linalg.solve(stiffness[np.ix_(others, others)], stiffness[np.ix_(others, places)])
    return t
