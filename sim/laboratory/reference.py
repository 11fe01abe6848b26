"""The same hybrid test in one piece: its continuous equations with perfect transfer, solved adaptively."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sim.arrays import Samples
from sim.excitation.excitations import Excitation
from sim.laboratory.elements import (
    BoucWenSpring,
    CubicSpring,
    Dashpot,
    ElastoplasticSpring,
    GapSpring,
    LinearSpring,
    ParallelElements,
)
from sim.laboratory.loop import HybridLoop
from sim.laboratory.parts import Element

# force and rates of the internal states of an element: (position, velocity, states (states, places)) -> both
_Law = Callable[[Samples, Samples, Samples], tuple[Samples, list[Samples]]]


def reference_motion(loop: HybridLoop, time: Samples, tolerance: float = 1e-9) -> tuple[Samples, Samples]:
    """Return displacement and velocity, each (n, dofs), of one test at the times, (n,) in s, increasing from 0.

    scipy's DOP853 on M x'' + C x' + K x + f = p with a perfect transfer system, for springs, linear, cubic or with a
    gap, dashpots, elastoplastic and Bouc-Wen elements and parallel combinations of these. Raises ValueError for
    another element, for many tests at once and for sampled forces.
    """
    from scipy.integrate import solve_ivp  # not in the base installation

    if loop.draws or not isinstance(loop.excitation, Excitation):
        raise ValueError("reference of a loop: give one test alone, under one excitation that is a function of time")
    structure, excitation = loop.structure, loop.excitation
    mass, damping, stiffness = structure.matrices
    n, inverse, pattern = structure.dofs, np.linalg.inv(mass), loop.load_pattern(excitation)
    coupling = np.asarray(loop.coupling)
    # specimens live in the laboratory's time, in which the equations are `pace` times as slow
    groups = [(coupling, loop.pace, *_law(loop.specimen))]
    for springs in structure.springs:
        rows = springs.incidence(n)
        groups.append((rows, 1.0, *_law(springs.element)))

    def rate(t: float, state: Samples) -> Samples:
        x, v = state[:n], state[n : 2 * n]
        force, rates, first = damping @ v + stiffness @ x, [], 2 * n
        for rows, pace, law, size in groups:
            inner = state[first : first + size * len(rows)].reshape(size, len(rows))
            own, slopes = law(rows @ x, rows @ v / pace, inner)
            force = force + rows.T @ own
            rates += [pace * slope for slope in slopes]
            first += inner.size
        load = pattern * float(excitation.sample(np.array([t]))[0])
        return np.concatenate([v, inverse @ (load - force), *rates])

    states = 2 * n + sum(size * len(rows) for rows, _, _, size in groups)
    scale = np.sqrt(np.max(np.abs(pattern)) / np.max(np.abs(mass)))
    solution = solve_ivp(
        rate,
        (0.0, float(time[-1])),
        np.zeros(states),
        "DOP853",
        time,
        rtol=tolerance,
        atol=1e-6 * tolerance * scale,
        max_step=8.0 * loop.dt,
    )
    if not solution.success:
        raise ArithmeticError(f"reference: {solution.message}")
    return solution.y[:n].T.copy(), solution.y[n : 2 * n].T.copy()


def _law(element: Element) -> tuple[_Law, int]:
    """Return the law of an element in continuous time, and the number of its internal states."""
    if isinstance(element, LinearSpring):
        k = element.stiffness
        return lambda x, _v, _z: (k * x, []), 0
    if isinstance(element, Dashpot):
        c = element.damping
        return lambda _x, v, _z: (c * v, []), 0
    if isinstance(element, CubicSpring | GapSpring):
        return lambda x, v, _z: (element.force(x, v), []), 0
    if isinstance(element, ElastoplasticSpring):
        if np.all(np.isinf(element.yield_displacement)):
            return _law(LinearSpring(element.stiffness))
        return _elastoplastic(element), 1
    if isinstance(element, BoucWenSpring):
        return _bouc_wen(element), 1
    if isinstance(element, ParallelElements):
        return _parallel([_law(part) for part in element.elements])
    raise ValueError(f"reference of {type(element).__name__}: it is not known in continuous time")


def _elastoplastic(spring: ElastoplasticSpring) -> _Law:
    limit, k, hardening = spring.yield_displacement, spring.stiffness, spring.hardening

    def law(x: Samples, v: Samples, inner: Samples) -> tuple[Samples, list[Samples]]:
        stretch = np.clip(inner[0], -limit, limit)
        yielding = (np.abs(inner[0]) >= limit) & (inner[0] * v > 0.0)
        return k * (hardening * x + (1.0 - hardening) * stretch), [np.where(yielding, 0.0, v)]

    return law


def _bouc_wen(spring: BoucWenSpring) -> _Law:
    k, hardening, limit = spring.stiffness, spring.hardening, spring.yield_displacement

    def law(x: Samples, v: Samples, inner: Samples) -> tuple[Samples, list[Samples]]:
        force = k * (hardening * x + (1.0 - hardening) * limit * inner[0])
        return force, [np.asarray(v / limit * spring.slope(inner[0], v))]

    return law


def _parallel(parts: list[tuple[_Law, int]]) -> tuple[_Law, int]:
    def law(x: Samples, v: Samples, inner: Samples) -> tuple[Samples, list[Samples]]:
        total, rates, first = np.zeros_like(x), [], 0
        for part, size in parts:
            force, slopes = part(x, v, inner[first : first + size])
            total = total + force
            rates += slopes
            first += size
        return total, rates

    return law, sum(size for _, size in parts)
