"""Which springs of a chain cannot be distinguished from an unknown force, before anything is fitted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sim.arrays import Samples
from sim.identification.identifiability import ConfoundedGroup, confounded_groups
from sim.laboratory.structure import highest_frequency, sensor_indices
from sim.models.chain import Chain

# frequencies of which the sensors' sensitivities are made, and how far they are beside the axis, where there is no
# resonance: over the highest natural frequency
_FREQUENCIES, _BESIDE = 16, 0.1
# of the effect of a spring on the sensors: less is rounding
_ROUNDING = 1e-9


def confounded_with_force(
    chain: Chain, places: Samples, load: Samples, sensors: Sequence[int]
) -> tuple[ConfoundedGroup, ...]:
    """Return which springs of a chain accelerations at sensors cannot distinguish from unknown forces.

    A change dk of a spring does to the motion x what the force -dk B x does, with B its part of the stiffness matrix.
    What the sensors see of it at one frequency, less what unknown forces can do there, is its sensitivity.

    Parameters
    ----------
    places : (n, f): what one newton of each force does at each mass.
    load : (n_times, n) N; only how much of it acts on which mass matters.
    sensors : numbers of masses, from 1.

    Raises
    ------
    ValueError : sizes do not fit, a sensor is no mass, none is given, or the load is zero or not finite.
    """
    n = chain.dofs
    places, rms = np.asarray(places, dtype=np.float64), np.sqrt(np.mean(np.square(load), axis=0))
    if chain.sets or places.ndim != 2 or len(places) != n or rms.shape != (n,):
        raise ValueError(
            f"confounding: places {places.shape} and load {np.shape(load)}: give ({n}, forces) and (n_times, {n}) "
            "beside one chain"
        )
    columns = sensor_indices(sensors, n, "masses")
    if not np.all(np.isfinite(rms)):
        raise ValueError("confounding: the load is not finite everywhere: leave out the instants where it is unknown")
    if not np.any(rms):
        raise ValueError("confounding: no mass is loaded: without motion nothing can be distinguished")
    mass, damping, stiffness = chain.matrices
    highest = 2.0 * np.pi * highest_frequency(mass, stiffness)
    rows = chain.incidence()
    parts = rows[:, :, None] * rows[:, None, :]
    at = highest * (_BESIDE + 1j * np.linspace(0.1, 1.2, _FREQUENCIES))
    flexibility = np.linalg.inv(at[:, None, None] ** 2 * mass + at[:, None, None] * damping + stiffness)
    # of each load alone, as their phases are their own
    motion = flexibility[:, :, rms > 0.0] * rms[rms > 0.0]
    seen = flexibility[:, columns]
    by_force = seen @ places
    beyond = np.eye(len(columns)) - by_force @ np.linalg.pinv(by_force)
    effect = np.einsum("fsn,knm,fml->kfsl", seen, parts, motion)
    left = np.einsum("fst,kftl->kfsl", beyond, effect).reshape(len(rows), -1)
    rounding = _ROUNDING * np.linalg.norm(effect.reshape(len(rows), -1), axis=1)
    left[np.linalg.norm(left, axis=1) <= rounding] = 0.0
    names = [f"k{i + 1}" for i in range(len(rows))]
    normal = np.real(left @ left.conj().T)
    return confounded_groups(names, np.asarray(chain.springs), normal, 1.0, np.full(len(rows), np.inf))
