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
        *(OSCILLATOR, np.zeros(2)), g=g, disturbance=lambda t: np.where(t > 0.73, 1.0, 0.0)[:, None],
        c=np.array([[1.0, 0.0]]), breaks=(0.73,),
    )  # fmt: skip
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


GOOD = {
    "a0": -np.eye(2),
    "initial": np.ones(2),
    "a1": np.eye(2),
    "history": lambda time: np.ones((len(time), 2)),
    "g": np.ones((2, 1)),
    "disturbance": lambda time: np.ones((len(time), 1)),
    "c": np.ones((1, 2)),
}


def spoilt(value):
    matrix = np.eye(2)
    matrix[0, 1] = value
    return matrix


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("a0", np.eye(3), r"a0: must be of shape \(2, 2\), not \(3, 3\)"),
        ("a0", -1.0, r"a0: must be of shape \(2, 2\), not \(\)"),
        ("a0", spoilt(np.nan), "a0: must be finite numbers"),
        ("a1", spoilt(np.inf), "a1: must be finite numbers"),
        ("a1", np.ones(2), r"a1: must be of shape \(2, 2\), not \(2,\)"),
        ("g", np.ones((3, 1)), r"g: must be of shape \(2, l\), not \(3, 1\)"),
        ("g", np.full((2, 1), -np.inf), "g: must be finite numbers"),
        ("g", None, "g and disturbance belong together, give both"),
        ("c", np.ones(2), r"c: must be of shape \(p, 2\), not \(2,\)"),
        ("c", [[np.nan, 1.0]], "c: must be finite numbers"),
        ("initial", 5.0, r"initial: must be of shape \(n,\), not \(\)"),
        ("initial", [], "initial: must have one state or more"),
        ("initial", [1.0, np.nan], "initial: must be finite numbers"),
        ("delay", np.nan, "delay nan: must be a positive number, in s"),
        ("delay", np.inf, "delay inf: must be a positive number, in s"),
        ("breaks", (0.1, np.nan), "breaks: must be finite numbers"),
        ("breaks", 0.1, r"breaks: must be of shape \(n_breaks,\), not \(\)"),
        ("longest_element", 0.0, "longest_element 0.0: must be positive, in s"),
        ("longest_element", np.nan, "longest_element nan: must be positive, in s"),
    ],
)
def test_of_what_it_is_made(name, value, complaint):
    with pytest.raises(ValueError, match=f"^delay system:? {complaint}$"):
        DelaySystem(**{**GOOD, name: value})


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        (
            "history",
            lambda time: np.ones(2),
            r"history: at 13 times must return an array of shape \(13, 2\), not \(2,\)",
        ),
        ("history", lambda time: np.full((len(time), 2), np.nan), "history at -1 s: must return finite numbers"),
        ("disturbance", np.sin, r"disturbance: at 39 times must return an array of shape \(39, 1\), not \(39,\)"),
        (
            "disturbance",
            lambda t: np.where(t > 1.2, np.inf, 0.0)[:, None],
            r"disturbance at 1\.2.* s: must return finite.*",
        ),
        (
            "disturbance",
            lambda t: np.random.default_rng(1).standard_normal((len(t), 1)),
            r"disturbance or history: is too fast or jumps too often from 0 s of a delay on, 166666 elements are "
            "allowed; name where it jumps in breaks, or give an earlier end",
        ),
        ("longest_element", 1e-300, r"end 3.0: needs 3e\+300 elements, 500000 are allowed"),
        ("delay", 1e-300, r"end 3.0: needs 3e\+300 elements, 500000 are allowed"),
        ("a0", 1e300 * np.eye(2), "end 3.0: needs .* elements, 500000 are allowed"),
        ("a0", 900.0 * np.eye(2), "end 3: overflows after 0.7.* s, give an earlier end"),
    ],
)
def test_of_what_it_is_asked(name, value, complaint):
    system = DelaySystem(**{**GOOD, name: value})
    with pytest.raises(ValueError, match=f"^delay system {complaint}$"):
        system.solve(3.0)


@pytest.mark.parametrize("end", [0.0, -1.0, np.nan, np.inf])
def test_until_when(end):
    with pytest.raises(ValueError, match=f"^delay system end {end}: must be a positive number, in s$"):
        DelaySystem(**GOOD).solve(end)


@pytest.mark.parametrize("time", [-0.1, 3.5, np.nan, [[1.0]]])
def test_of_which_instants(time):
    with pytest.raises(ValueError, match=r"^delay system time: must be "):
        DelaySystem(**GOOD).solve(3.0)(time)


def test_lists_and_whole_numbers_are_as_good_as_arrays():
    found = DelaySystem([[-1]], [5], [[0]], 1).solve(2)([0.0, 1.0, 2.0])
    np.testing.assert_allclose(found[:, 0], 5.0 * np.exp([0.0, -1.0, -2.0]), rtol=1e-12)
