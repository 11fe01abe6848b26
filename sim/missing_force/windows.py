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
    costate : (K, n): lambda of eq. 22, force = -forces^T lambda / 2; M^T l'' - C^T l' + K^T l = 0.
    cost : (w,) integral of force^T force over each window, N^2 s: the least possible.
    """

    time: Samples
    window: Integers
    displacement: Samples
    velocity: Samples
    force: Samples
    costate: Samples
    cost: Samples


def matched_force(
    structure: Structure,
    forces: ArrayLike,
    time: Samples,
    load: Samples | None,
    displacement: Samples,
    velocity: Samples,
) -> MatchedForce:
    """Return the least force that makes a model match samples of its state at the ends of each window.

    Parameters
    ----------
    structure : linear, of one draw.
    forces : (n, f): what one newton of each force does at each dof; (1, -1) acts between two dofs.
    time : (N,) s, growing: where the force is wanted.
    load : (N, n) N, linear between the instants; zero by default.
    displacement, velocity : (N, n) m and m/s; NaN but at the ends of windows, where the whole state is known.

    Raises
    ------
    ValueError : sizes do not fit, no window, a state known in part, forces that cannot reach every state, or a window
        in which an unstable model overflows.
    """
    n, time = structure.dofs, np.asarray(time, dtype=np.float64)
    model = physics(structure, np.asarray(forces, dtype=np.float64))
    if time.ndim != 1 or len(time) < 2 or not np.all(np.diff(time) > 0.0):
        raise ValueError(f"matched force: times {time.shape}: give at least two that grow")
    load = np.zeros((len(time), n)) if load is None else _columns("load", load, len(time), n)
    if not np.all(np.isfinite(load)):
        raise ValueError("matched force: the load is not finite everywhere: give it at all instants")
    states = np.hstack(
        [_columns("displacement", displacement, len(time), n), _columns("velocity", velocity, len(time), n)]
    )
    ends = _window_ends(states, time)
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
        # by the inverse of M, as the unknown force enters the velocity
        2.0 * costates[:, n:] @ model.input[n:],
        np.array([part[2] for part in parts]),
    )


def _window_ends(states: Samples, time: Samples) -> Integers:
    """Return the indices, two or more, of the instants at which the state is known."""
    known = np.isfinite(states)
    ends = np.flatnonzero(known.all(axis=1))
    in_part = np.flatnonzero(known.any(axis=1) & ~known.all(axis=1))
    if len(in_part):
        raise ValueError(
            f"matched force: at {time[in_part[0]]:g} s the state is known in part: displacement and velocity of all "
            "dofs are matched, or use the smoother"
        )
    if len(ends) < 2:
        raise ValueError("matched force: the state is known at fewer than two instants: there is no window")
    return ends


def _solved_window(
    begin: Samples, end: Samples, steps: list[tuple[Samples, Samples]], shifts: Samples, period: tuple[float, float]
) -> tuple[Samples, Samples, float]:
    """Return states and co-states, (k + 1, d) each, and the cost of a window of k steps.

    Parameters
    ----------
    begin, end : (d,), the states that are known.
    steps : transition and Gramian of each step.
    shifts : (k, d), by the load.
    period : s, named in errors.
    """
    free, whole = begin, np.zeros_like(steps[0][1])
    with np.errstate(over="ignore", invalid="ignore"):
        for (transition, gramian), shift in zip(steps, shifts, strict=True):
            free = transition @ free + shift
            whole = transition @ whole @ transition.T + gramian
    if not (np.isfinite(free).all() and np.isfinite(whole).all()):
        raise ValueError(
            f"matched force: from {period[0]:g} to {period[1]:g} s the model overflows, as it is unstable: give "
            "shorter windows"
        )
    adjoint = np.empty((len(steps) + 1, len(free)))
    adjoint[-1] = _solved(whole, end - free, *period)
    for k in range(len(steps) - 1, -1, -1):
        adjoint[k] = adjoint[k + 1] @ steps[k][0]
    state = np.empty_like(adjoint)
    state[0] = begin
    for k, (transition, gramian) in enumerate(steps):
        state[k + 1] = state[k] @ transition.T + shifts[k] + adjoint[k + 1] @ gramian
    return state, adjoint, float(adjoint[-1] @ whole @ adjoint[-1])


def _columns(name: str, values: ArrayLike, instants: int, dofs: int) -> Samples:
    found = np.asarray(values, dtype=np.float64)
    found = found[:, None] if found.ndim == 1 else found
    if found.shape != (instants, dofs):
        raise ValueError(f"matched force: {name} {found.shape}: give {instants} instants of {dofs} dofs")
    return found


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
