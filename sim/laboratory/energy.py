"""The energy balance of a hybrid loop, and the energy that a late or inexact transfer system feeds into it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sim.arrays import Samples
from sim.laboratory.record import LoopRecord
from sim.laboratory.structure import Structure, product


@dataclass(frozen=True, eq=False)
class EnergyBalance:
    """Energies at the middle between two time steps, from the first middle on, each (steps - 1, ...) in J.

    Parameters
    ----------
    time : (steps - 1,) s.
    kinetic : of the masses.
    strain : stored in K.
    damped : dissipated by C.
    springs : work done on the nonlinear springs of the structure, stored and dissipated.
    specimen : work done on the specimen, where it is.
    load : work of the load.
    fed_in : work done on the specimen less the work that the structure did on it: what the transfer system adds.
    """

    time: Samples
    kinetic: Samples
    strain: Samples
    damped: Samples
    springs: Samples
    specimen: Samples
    load: Samples
    fed_in: Samples

    @property
    def deficit(self) -> Samples:
        """(steps - 1, ...) J: energy in structure and specimen, and what was dissipated, less the load's work."""
        held = self.kinetic + self.strain + self.damped + self.springs + self.specimen - self.load
        return np.asarray(held - held[0])


def energy_balance(record: LoopRecord, structure: Structure, coupling: ArrayLike | None = None) -> EnergyBalance:
    """Return the balance of a record of one target a step, with the coupling of its loop.

    It is the balance that explicit Newmark fulfils exactly: its equation at a step times the mean of the
    displacement's differences before and after it. With w = (x[n+1] - x[n])/dt the energy at the middle is
    w M w / 2 + x[n+1] K x[n] / 2, and a force f[n] does the work f[n] (x[n+1] - x[n-1])/2. With a perfect transfer
    system the deficit of that integrator is rounding; that of any other is its error. With a real one it is the
    energy that was fed in.
    """
    mass, damping, stiffness = structure.matrices
    dt = float(record.time[1] - record.time[0])
    x = record.displacement
    matrix = np.eye(structure.dofs) if coupling is None else np.asarray(coupling, dtype=np.float64)
    speed = np.diff(x, axis=0) / dt
    mean = 0.5 * (speed[1:] + speed[:-1])
    by_structure = _work(record.force, x @ matrix.T)
    by_actuator = _work(record.force, record.position)
    return EnergyBalance(
        time=record.time[:-1] + 0.5 * dt,
        kinetic=0.5 * np.sum(speed * product(mass, speed), axis=-1),
        strain=0.5 * np.sum(x[1:] * product(stiffness, x[:-1]), axis=-1),
        damped=_from_zero(np.sum(mean * product(damping, mean), axis=-1) * dt),
        springs=_work(record.spring_force, x),
        specimen=by_actuator,
        load=_work(record.load, x),
        fed_in=by_actuator - by_structure,
    )


def _work(force: Samples, place: Samples) -> Samples:
    """Return (steps - 1, ...): sum of force times the mean of the differences on both sides, over the last axis."""
    return _from_zero(np.sum(force[1:-1] * 0.5 * (place[2:] - place[:-2]), axis=-1))


def _from_zero(steps: Samples) -> Samples:
    return np.concatenate([np.zeros_like(steps[:1]), np.cumsum(steps, axis=0)])
