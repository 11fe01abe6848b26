"""Linear systems with a delay beside the exact scalar one, the matrix exponential and an adaptive solver."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.linalg import expm

from sim.models.delay_equation import DelayEquation
from sim.models.delay_system import DelaySystem

OSCILLATOR = np.array([[0.0, 1.0], [-40.0, -0.6]])
FEEDBACK = np.array([[0.0, 0.0], [12.0, 0.3]])


def constant(*values):
    return lambda time: np.tile(values, (len(time), 1))


@given(
    q0=st.floats(-4.0, 0.5),
    q1=st.floats(-2.0, 2.0),
    omega=st.floats(-1.0, 1.0),
    r=st.floats(0.2, 2.0),
    history=st.floats(-3.0, 3.0),
)
def test_one_state_is_the_exact_equation(q0, q1, omega, r, history):
    exact = DelayEquation(q0, q1, omega, 5.0, r, history)
    system = DelaySystem(
        *(np.array([[q0]]), np.array([5.0]), np.array([[q1]]), r, constant(history), np.eye(1), constant(omega))
    )
    time = np.linspace(0.0, 6.3, 140)
    expected = exact.response(time)
    found = system.solve(6.3)(time)[:, 0]
    np.testing.assert_allclose(found, expected, atol=1e-11 * (1.0 + np.max(np.abs(expected))))


def test_an_ordinary_system_is_the_matrix_exponential():
    initial, time = np.array([1.0, -3.0]), np.linspace(0.0, 8.0, 50)
    found = DelaySystem(OSCILLATOR, initial).solve(8.0)(time)
    np.testing.assert_allclose(found, [expm(OSCILLATOR * t) @ initial for t in time], atol=1e-10)


def test_a_disturbance_is_the_variation_of_parameters():
    # eq. 11 for a step at 0.73 s: x = A^-1 (exp(A (t - 0.73)) - 1) G
    g, time = np.array([[0.0], [2.0]]), np.linspace(0.0, 4.0, 90)
    system = DelaySystem(
        *(OSCILLATOR, np.zeros(2)),
        g=g,
        disturbance=lambda t: np.where(t > 0.73, 1.0, 0.0)[:, None],
        c=np.array([[1.0, 0.0]]),
        breaks=(0.73,),
    )
    found = system.solve(4.0).output(time)
    lag = np.maximum(time - 0.73, 0.0)
    expected = [np.linalg.solve(OSCILLATOR, (expm(OSCILLATOR * t) - np.eye(2)) @ g)[0, 0] for t in lag]
    np.testing.assert_allclose(found[:, 0], expected, atol=1e-11)


def test_delayed_feedback_is_what_an_adaptive_solver_finds():
    r, end = 0.45, 3.0

    def history(time):
        return np.column_stack([np.cos(3.0 * time), np.sin(time)])

    def push(time):
        return np.sin(5.0 * time)[:, None]

    g, initial = np.array([[0.0], [1.5]]), np.array([0.7, 0.0])
    system = DelaySystem(OSCILLATOR, initial, FEEDBACK, r, history, g, push)
    solution = system.solve(end)
    before, start, x = (lambda t: history(np.array([t]))[0]), 0.0, initial
    while start < end:

        def rate(t, x, before=before):
            return OSCILLATOR @ x + FEEDBACK @ before(t - r) + g[:, 0] * np.sin(5.0 * t)

        found = solve_ivp(rate, (start, start + r), x, "DOP853", dense_output=True, rtol=1e-12, atol=1e-13)
        inside = np.linspace(start, min(start + r, end), 23)
        np.testing.assert_allclose(solution(inside), found.sol(inside).T, atol=1e-9)
        before, start, x = found.sol, start + r, found.y[:, -1]


def test_the_history_may_jump_where_it_is_said():
    # the integral of the history, as long as nothing else drives: x' = history(t - 1)
    system = DelaySystem(
        *(np.zeros((1, 1)), np.zeros(1), np.eye(1), 1.0),
        lambda t: np.where(t < -0.4, 1.0, 3.0)[:, None],
        breaks=(-0.4,),
    )
    time = np.linspace(0.0, 1.0, 41)
    expected = np.minimum(time, 0.6) + 3.0 * np.maximum(time - 0.6, 0.0)
    np.testing.assert_allclose(system.solve(1.0)(time)[:, 0], expected, atol=1e-11)


@pytest.mark.parametrize("frequency", [0.1, 10.0, 50.0, 300.0])
def test_a_disturbance_faster_than_the_system_is_followed(frequency):
    # x' = -x + sin(w t) in closed form; a delay that is not asked for makes the elements long
    system = DelaySystem(
        *([[-1.0]], [0.0]), delay=100.0, g=[[1.0]], disturbance=lambda t: np.sin(frequency * t)[:, None]
    )
    time = np.linspace(0.0, 9.3, 57)
    angle = frequency * time
    expected = (np.sin(angle) - frequency * (np.cos(angle) - np.exp(-time))) / (1.0 + frequency**2)
    np.testing.assert_allclose(system.solve(10.0)(time)[:, 0], expected, atol=1e-11)


def test_so_is_a_fast_history_and_a_jump_that_nobody_names():
    # x' = x(t - 1) is the history's integral; x' = w that of a step at 0.7312 s
    time = np.linspace(0.0, 1.0, 41)
    system = DelaySystem([[0.0]], [0.0], [[1.0]], 1.0, lambda t: np.cos(80.0 * t)[:, None])
    expected = (np.sin(80.0 * (time - 1.0)) + np.sin(80.0)) / 80.0
    np.testing.assert_allclose(system.solve(1.0)(time)[:, 0], expected, atol=1e-11)
    system = DelaySystem([[0.0]], [0.0], g=[[1.0]], disturbance=lambda t: np.where(t > 0.7312, 3.0, 0.0)[:, None])
    expected = 3.0 * np.maximum(time - 0.7312, 0.0)
    np.testing.assert_allclose(system.solve(1.0)(time)[:, 0], expected, atol=1e-8)


def test_an_end_long_before_the_delay_takes_few_elements():
    initial, time = np.array([1.0, -3.0]), np.linspace(0.0, 2.0, 30)
    system = DelaySystem(
        OSCILLATOR, initial, FEEDBACK, 1e9, g=np.eye(2), disturbance=constant(0.0, 0.0), breaks=(0.3,)
    )
    solution = system.solve(2.0)
    assert len(solution.values) < 100 and solution.edges[-1] == 2.0
    np.testing.assert_allclose(solution(time), [expm(OSCILLATOR * t) @ initial for t in time], atol=1e-11)
