"""The least force of each window against scipy's boundary-value solver and against other forces that match, too."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_bvp, solve_ivp

from sim.laboratory.structure import Structure
from sim.missing_force.windows import matched_force

M, C = np.array([[2.0, 0.1], [0.1, 1.0]]), np.array([[0.3, -0.1], [-0.1, 0.2]])
K = np.array([[30.0, -12.0], [-12.0, 18.0]])
PLACES = np.array([[1.0, 0.3], [0.0, -1.0]])
TIME = np.concatenate([np.linspace(0.0, 1.5, 151), np.linspace(1.52, 4.0, 125)])


def _case():
    rng = np.random.default_rng(4)
    displacement, velocity = np.full((2, len(TIME), 2), np.nan)
    ends = np.array([0, 90, 150, len(TIME) - 1])
    displacement[ends], velocity[ends] = rng.standard_normal((2, len(ends), 2))
    load = np.column_stack([3.0 * np.sin(2.0 * TIME), 1.0 - TIME])
    found = matched_force(Structure(M, C, K), PLACES, TIME, load, displacement, velocity)
    return ends, displacement, velocity, load, found


def test_equals_the_boundary_value_problem():
    ends, displacement, velocity, load, found = _case()
    inverse = np.linalg.inv(M)

    def loads(t):
        return np.array([np.interp(t, TIME, column) for column in load.T])

    def equations(t, y):
        # states and co-state of M l'' - C l' + K l = 0, force by eq. 22
        x, v, costate, rate = y.reshape(4, 2, -1)
        force = -0.5 * PLACES.T @ costate
        acceleration = inverse @ (loads(t) - C @ v - K @ x - PLACES @ force)
        return np.concatenate([v, acceleration, rate, inverse @ (C @ rate - K @ costate)])

    for window, (begin, end) in enumerate(pairwise(ends)):
        first, last = (np.concatenate([displacement[at], velocity[at]]) for at in (begin, end))
        mesh = TIME[begin : end + 1]
        solved = solve_bvp(
            equations,
            lambda a, b, first=first, last=last: np.concatenate([a[:4] - first, b[:4] - last]),
            mesh,
            np.zeros((8, len(mesh))),
            tol=1e-8,
            max_nodes=100000,
        )
        assert solved.success
        ours, state = found.window == window, solved.sol(mesh)
        np.testing.assert_allclose(found.displacement[ours].T, state[:2], atol=2e-6)
        np.testing.assert_allclose(found.velocity[ours].T, state[2:4], atol=2e-5)
        force = -0.5 * state[4:6].T @ PLACES
        np.testing.assert_allclose(found.force[ours], force, atol=1e-4 * np.abs(force).max())


def test_is_continuous_and_least():
    ends, displacement, _, _, found = _case()
    last = np.flatnonzero(np.diff(found.window))
    np.testing.assert_allclose(found.displacement[last], found.displacement[last + 1], atol=1e-10)
    np.testing.assert_allclose(found.velocity[last], found.velocity[last + 1], atol=1e-10)
    np.testing.assert_allclose(found.displacement[last], displacement[ends[1:-1]], atol=1e-10)
    assert np.abs(found.force[last] - found.force[last + 1]).max() > 0.1
    rng = np.random.default_rng(1)
    system = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.linalg.solve(M, np.hstack([K, C]))]])
    entry = np.vstack([np.zeros((2, 2)), -np.linalg.solve(M, PLACES)])
    for window in range(3):
        ours = found.window == window
        t, force = found.time[ours], found.force[ours]
        cost = np.trapezoid(np.sum(force * force, axis=1), t)
        # a force that moves neither end: random polynomials whose effect on the end cancels
        basis = [np.polynomial.Polynomial(rng.standard_normal(5)) for _ in range(6)]
        shapes = [lambda s, b=b, j=j: np.eye(2)[j] * b(s / 4.0) for b in basis for j in (0, 1)]
        rates = [lambda s, z, g=g: system @ z + entry @ g(s) for g in shapes]
        span, options = (t[0], t[-1]), {"rtol": 1e-9, "atol": 1e-12}
        effects = np.array([solve_ivp(each, span, np.zeros(4), **options).y[:, -1] for each in rates])
        free = np.linalg.svd(effects.T)[2][-1]
        other = sum(each * np.array([g(s) for s in t]) for each, g in zip(free, shapes, strict=True))
        cross = np.trapezoid(np.sum(force * other, axis=1), t)
        size = np.trapezoid(np.sum(other * other, axis=1), t)
        # the least one is orthogonal to all that change nothing at the end
        assert abs(cross) < 2e-3 * np.sqrt(size * cost)


def test_motion_is_that_of_the_model_with_the_force():
    _, displacement, velocity, load, found = _case()
    inverse, ours = np.linalg.inv(M), found.window == 0
    t = found.time[ours]

    def rate(s, z):
        force = [np.interp(s, t, column) for column in found.force[ours].T]
        loads = [np.interp(s, TIME, column) for column in load.T]
        return np.concatenate([z[2:], inverse @ (loads - C @ z[2:] - K @ z[:2] - PLACES @ force)])

    first = np.concatenate([displacement[0], velocity[0]])
    state = solve_ivp(rate, (t[0], t[-1]), first, t_eval=t, rtol=1e-9, atol=1e-11, max_step=0.01).y.T
    np.testing.assert_allclose(found.displacement[ours], state[:, :2], atol=2e-4)
    np.testing.assert_allclose(found.velocity[ours], state[:, 2:], atol=2e-3)


def test_refuses_what_has_no_solution():
    # two masses that are not joined: a force at the first does not move the second
    apart, none = Structure(np.ones(2), np.zeros(2), np.ones(2)), np.zeros((3, 2))
    with pytest.raises(ValueError, match="cannot bring every dof"):
        matched_force(apart, [[1.0], [0.0]], np.arange(3.0), none, none, none)
