"""A hybrid test in one piece: its continuous equations with perfect transfer, solved adaptively."""

import numpy as np
from scipy.integrate import solve_ivp

from sim.laboratory.elements import BoucWenSpring, Dashpot, ElastoplasticSpring, LinearSpring, ParallelElements


def reference_motion(loop, time, tolerance=1e-9):
    """Return the displacement, (n, dofs), of one test at the times, (n,) in s, increasing from 0: scipy's DOP853."""
    structure, excitation = loop.structure, loop.excitation
    mass, damping, stiffness = structure.matrices
    n, inverse, pattern = structure.dofs, np.linalg.inv(mass), loop.load_pattern(excitation)
    # specimens live in the laboratory's time, in which the equations are `pace` times as slow
    groups = [(np.asarray(loop.coupling), loop.pace, *_law(loop.specimen))]
    groups += [(springs.incidence(n), 1.0, *_law(springs.element)) for springs in structure.springs]

    def rate(t, state):
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
        rate, (0.0, float(time[-1])), np.zeros(states), "DOP853", time, rtol=tolerance, atol=1e-6 * tolerance * scale,
        max_step=8.0 * loop.dt,
    )  # fmt: skip
    assert solution.success, solution.message
    return solution.y[:n].T.copy()


def _law(element):
    """Return force and rates of the internal states of an element by position, velocity and states; their number."""
    if isinstance(element, LinearSpring):
        return lambda x, _v, _z: (element.stiffness * x, []), 0
    if isinstance(element, Dashpot):
        return lambda _x, v, _z: (element.damping * v, []), 0
    if isinstance(element, ParallelElements):
        return _parallel([_law(part) for part in element.elements])
    limit, k, hardening = element.yield_displacement, element.stiffness, element.hardening

    def elastoplastic(x, v, inner):
        stretch = np.clip(inner[0], -limit, limit)
        yielding = (np.abs(inner[0]) >= limit) & (inner[0] * v > 0.0)
        return k * (hardening * x + (1.0 - hardening) * stretch), [np.where(yielding, 0.0, v)]

    def bouc_wen(x, v, inner):
        slope = 1.0 - np.abs(inner[0]) ** element.exponent * (0.5 * np.sign(v * inner[0]) + 0.5)
        return k * (hardening * x + (1.0 - hardening) * limit * inner[0]), [v / limit * slope]

    return {ElastoplasticSpring: elastoplastic, BoucWenSpring: bouc_wen}[type(element)], 1


def _parallel(parts):
    def law(x, v, inner):
        total, rates, first = np.zeros_like(x), [], 0
        for part, size in parts:
            force, slopes = part(x, v, inner[first : first + size])
            total, first = total + force, first + size
            rates += slopes
        return total, rates

    return law, sum(size for _, size in parts)
