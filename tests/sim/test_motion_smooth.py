"""Motion of small structures by Runge and Kutta's method in Nystroem's form, beside scipy's."""

import numpy as np
from scipy.integrate import solve_ivp

from sim.laboratory.structure import Structure
from sim.motion.smooth import accelerations_from_rest

DT = 0.02


def cubic(x):
    force = np.zeros_like(x)
    force[:, 0] = 300.0 * x[:, 0] ** 3
    return force


def test_the_motion_is_that_of_scipy():
    rng = np.random.default_rng(4)
    root = rng.standard_normal((2, 3, 3))
    mass = np.eye(3) + 0.05 * root @ np.swapaxes(root, 1, 2)
    stiffness = 100.0 * (2.0 * np.eye(3) - np.eye(3, k=1) - np.eye(3, k=-1)) * np.ones((2, 1, 1))
    damping, load = 0.3 * np.eye(3) * np.ones((2, 1, 1)), rng.standard_normal((2, 101, 3)).cumsum(axis=1)
    found = accelerations_from_rest(Structure(mass, damping, stiffness), cubic, load, DT, 2)
    time = DT * np.arange(101)
    for draw in range(2):
        inverse = np.linalg.inv(mass[draw])

        def acceleration(t, y, draw=draw, inverse=inverse):
            push = np.array([np.interp(t, time, column) for column in load[draw].T])
            push[0] -= 300.0 * y[0] ** 3
            return inverse @ (push - stiffness[draw] @ y[:3] - damping[draw] @ y[3:])

        solution = solve_ivp(
            lambda t, y: np.concatenate([y[3:], acceleration(t, y)]),
            (0.0, 2.0),
            np.zeros(6),
            "DOP853",
            time,
            rtol=1e-10,
            atol=1e-12,
            max_step=DT,
        )
        exact = np.array([acceleration(t, y) for t, y in zip(time, solution.y.T, strict=True)])
        np.testing.assert_allclose(found[draw], exact, atol=1e-3 * np.abs(exact).max())


def test_the_order_is_four():
    rng = np.random.default_rng(3)
    structure = Structure(
        np.eye(2) * np.ones((1, 1, 1)), 0.2 * np.eye(2)[None], np.array([[[200.0, -100.0], [-100.0, 100.0]]])
    )
    load = rng.standard_normal((1, 51, 2))
    coarse, fine, exact = (accelerations_from_rest(structure, cubic, load, DT, steps) for steps in (1, 2, 32))
    ratio = np.abs(coarse - exact).max() / np.abs(fine - exact).max()
    assert 12.0 < ratio < 20.0
