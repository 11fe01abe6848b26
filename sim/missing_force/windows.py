"""The least force that takes a linear model from one sample of its state to the next, window by window.

Hemez and Doebling, Review and assessment of model updating for non-linear, transient dynamics (2001), eq. 16 to 23,
for a linear nominal model: the two-point boundary-value problem of each window is one solve with a Gramian.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from sim.arrays import Integers, Samples
from sim.laboratory.structure import Structure
from sim.missing_force.state_space import intervals, loaded_steps, noisy_steps, physics

# relative eigenvalue of a Gramian below which its inverse is rounding
_SINGULAR = 1e-13


@dataclass(frozen=True, slots=True, eq=False)
class MatchedForce:
    """Force and motion of all windows, K instants: where two meet, the end of one and the beginning of the next.

    Displacement and velocity are continuous there, force and co-state are not.

    Parameters
    ----------
    time : (K,) s.
    window : (K,) from 0.
    displacement, velocity : (K, n) m and m/s.
    force : (K, f) N, on the internal side of the equation.
    """

    time: Samples
    window: Integers
    displacement: Samples
    velocity: Samples
    force: Samples


def matched_force(
    structure: Structure, forces: ArrayLike, time: Samples, load: Samples, displacement: Samples, velocity: Samples
) -> MatchedForce:
    """Return the least force that makes a model match samples of its state at the ends of each window.

    Parameters
    ----------
    structure : linear, of one draw.
    forces : (n, f): what one newton of each force does at each dof; (1, -1) acts between two dofs.
    time : (N,) s, growing: where the force is wanted.
    load : (N, n) N, linear between the instants.
    displacement, velocity : (N, n) m and m/s; NaN but at the ends of windows, where the whole state is known.

    Raises
    ------
    ValueError : forces cannot reach every state.
    """
    n, model = structure.dofs, physics(structure, np.asarray(forces, dtype=np.float64))
    states = np.hstack([displacement, velocity])
    ends = np.flatnonzero(np.isfinite(states).all(axis=1))
    dt, which = intervals(time)
    transition, gramian = noisy_steps(model.system, model.unknown @ model.unknown.T, dt)
    _, first, second = loaded_steps(model.system, model.input, dt)
    shift = np.einsum("kij,kj->ki", first[which], load[:-1]) + np.einsum("kij,kj->ki", second[which], load[1:])
    parts = []
    for begin, end in pairwise(ends.tolist()):
        steps = [(transition[step], gramian[step]) for step in which[begin:end].tolist()]
        period = float(time[begin]), float(time[end])
        parts.append(_solved_window(states[begin], states[end], steps, shift[begin:end], period))
    at = [np.arange(begin, end + 1) for begin, end in pairwise(ends.tolist())]
    motion, costates = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    return MatchedForce(
        time[np.concatenate(at)],
        np.repeat(np.arange(len(at)), [len(each) for each in at]),
        motion[:, :n],
        motion[:, n:],
        costates @ model.unknown,
    )


def _solved_window(
    begin: Samples, end: Samples, steps: list[tuple[Samples, Samples]], shifts: Samples, period: tuple[float, float]
) -> tuple[Samples, Samples]:
    """Return states and co-states, (k + 1, d) each, of a window of k steps.

    Parameters
    ----------
    begin, end : (d,), the states that are known.
    steps : transition and Gramian of each step.
    shifts : (k, d), by the load.
    period : s, named in errors.
    """
    free, whole = begin, np.zeros_like(steps[0][1])
    for (transition, gramian), shift in zip(steps, shifts, strict=True):
        free = transition @ free + shift
        whole = transition @ whole @ transition.T + gramian
    adjoint = np.empty((len(steps) + 1, len(free)))
    adjoint[-1] = _solved(whole, end - free, *period)
    for k in range(len(steps) - 1, -1, -1):
        adjoint[k] = adjoint[k + 1] @ steps[k][0]
    state = np.empty_like(adjoint)
    state[0] = begin
    for k, (transition, gramian) in enumerate(steps):
        state[k + 1] = state[k] @ transition.T + shifts[k] + adjoint[k + 1] @ gramian
    return state, adjoint


def _solved(gramian: Samples, gap: Samples, begin: float, end: float) -> Samples:
    """Return gramian^-1 of a gap, (d,), in states of one size."""
    size = np.sqrt(np.diag(gramian))
    if np.all(size > 0.0):
        values, vectors = np.linalg.eigh(gramian / np.outer(size, size))
        if values[0] > _SINGULAR * values[-1]:
            return np.asarray((gap / size) @ vectors / values @ vectors.T / size)
    raise ValueError(
        f"matched force: from {begin:g} to {end:g} s these forces cannot bring every dof to its sample: give "
        "forces at more dofs, or longer windows"
    )
