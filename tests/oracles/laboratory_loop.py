"""A hybrid test in one piece: its continuous equations with perfect transfer, solved adaptively by scipy."""

import numpy as np
from scipy.integrate import solve_ivp

from sim.laboratory.elements import BoucWenSpring, Dashpot, ElastoplasticSpring, LinearSpring


def reference_motion(loop, time, tolerance=1e-9):
    """Return displacement, (n, dofs), of one test at the times: DOP853 on M x'' + C x' + K x + f = p."""
    structure, excitation = loop.structure, loop.excitation
    mass, damping, stiffness = structure.matrices
    n, inverse, pattern = structure.dofs, np.linalg.inv(mass), loop.load_pattern(excitation)
    # specimens live in the laboratory's time, in which the equations are `pace` times as slow
    groups = [(np.asarray(loop.coupling), loop.pace, *_law(loop.specimen))]
    groups += [(each.incidence(n), 1.0, *_law(each.element)) for each in structure.springs]

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
    absolute = 1e-6 * tolerance * np.sqrt(np.max(np.abs(pattern)) / np.max(np.abs(mass)))
    limits = {"rtol": tolerance, "atol": absolute, "max_step": 8.0 * loop.dt}
    solution = solve_ivp(rate, (0.0, float(time[-1])), np.zeros(states), "DOP853", time, **limits)
    assert solution.success, solution.message
    return solution.y[:n].T


def _law(element):
    """Return force and rates of the internal states of (position, velocity, states), and their number."""
    if isinstance(element, LinearSpring):
        return lambda x, v, z: (element.stiffness * x, []), 0
    if isinstance(element, Dashpot):
        return lambda x, v, z: (element.damping * v, []), 0
    if isinstance(element, ElastoplasticSpring | BoucWenSpring):
        k, hardening, limit = element.stiffness, element.hardening, element.yield_displacement

        def yielding(x, v, z):
            stretch = np.clip(z[0], -limit, limit)
            slips = (np.abs(z[0]) >= limit) & (z[0] * v > 0.0)
            return k * (hardening * x + (1.0 - hardening) * stretch), [np.where(slips, 0.0, v)]

        def rounded(x, v, z):
            return k * (hardening * x + (1.0 - hardening) * limit * z[0]), [v / limit * element.slope(z[0], v)]

        return (yielding if isinstance(element, ElastoplasticSpring) else rounded), 1
    parts = [_law(part) for part in element.elements]

    def together(x, v, z):
        total, rates, first = np.zeros_like(x), [], 0
        for law, size in parts:
            force, slopes = law(x, v, z[first : first + size])
            total, rates, first = total + force, rates + slopes, first + size
        return total, rates

    return together, sum(size for _, size in parts)
