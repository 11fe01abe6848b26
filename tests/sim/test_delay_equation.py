"""The scalar delay equation beside the paper's appendix, an adaptive solver and closed forms."""

from dataclasses import replace
from math import factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from sim.models.delay_equation import PARAMETERS, DelayEquation, solve

TIME = np.linspace(0.0, 3.0, 151)
RATES = st.floats(-3.0, 1.0)


def appendix(time, equation):
    """Return the exact solution as the paper's appendix has it, on three delays."""
    q0, q1, omega, eta, r = (getattr(equation, name) for name in PARAMETERS)
    a1, a2 = eta + omega / q0, -omega / q0
    b1 = a1 + (a2 + (q1 * a2 + omega) / q0) * np.exp(-q0 * r)
    b2, b3 = q1 * a1 * np.exp(-q0 * r), -(q1 * a2 + omega) / q0
    c1 = b1 + b2 * r + b3 * np.exp(-2 * q0 * r) + (q1 * b3 + omega) / q0 * np.exp(-2 * q0 * r)
    c2, c3 = q1 * b1 * np.exp(-q0 * r), q1 * b2 * np.exp(-q0 * r) / 2.0
    c4 = -(q1 * b3 + omega) / q0
    e = np.exp(q0 * time)
    second = b1 * e + b2 * (time - r) * e + b3
    third = c1 * e + c2 * (time - 2 * r) * e + c3 * (time - 2 * r) ** 2 * e + c4
    return np.where(time <= r, a1 * e + a2, np.where(time <= 2 * r, second, third))


def stepped(equation, end):
    """Return the solution by an adaptive solver, delay after delay, as a function."""
    pieces = [lambda t: np.full((1, np.size(t)), equation.history)]
    start, x = 0.0, [equation.initial]
    while start < end:
        before = pieces[-1]

        def rate(t, x, before=before):
            return equation.q0 * x + equation.q1 * before(t - equation.delay)[0] + equation.omega

        until = start + equation.delay
        found = solve_ivp(rate, (start, until), x, "DOP853", dense_output=True, rtol=1e-12, atol=1e-13)
        pieces.append(found.sol)
        start, x = until, found.y[:, -1]
    return lambda t: pieces[1 + min(int(t / equation.delay), len(pieces) - 2)](t)[0]


@given(q0=RATES.filter(lambda q: abs(q) > 0.05), q1=RATES, omega=RATES, r=st.floats(0.5, 2.0))
def test_it_is_the_appendix_on_three_delays(q0, q1, omega, r):
    equation = DelayEquation(q0, q1, omega, delay=r)
    time = np.linspace(0.0, 3.0 * r, 61)
    expected = appendix(time, equation)
    # the appendix divides by q0 up to four times
    scale = np.max(np.abs(expected)) * (1.0 + 1e-3 / abs(q0) ** 4)
    np.testing.assert_allclose(equation.response(time), expected, atol=1e-11 * scale + 1e-10)


def test_without_a_disturbance_it_is_eq_25_with_its_third_branch_corrected():
    q0, q1, r, t = -1.7, 1.2, 1.0, np.linspace(2.0, 3.0, 30)
    corrected = 5 * np.exp(q0 * t) + 5 * q1 * (t - r) * np.exp(q0 * (t - r))
    corrected += 0.5 * 5 * q1**2 * (t - 2 * r) ** 2 * np.exp(q0 * (t - 2 * r))
    np.testing.assert_allclose(DelayEquation(q0, q1).response(t), corrected, atol=1e-13)


def test_it_is_what_an_adaptive_solver_finds_also_much_later():
    equation = DelayEquation(-1.7, 1.65, 0.2, 5.0, 0.7, history=-2.0)
    time = np.linspace(0.0, 30.0, 217)
    reference = stepped(equation, 30.0)
    expected = np.array([reference(t) for t in time])
    np.testing.assert_allclose(equation.response(time), expected, atol=1e-9)


def test_without_q0_it_is_a_polynomial_on_every_interval():
    # the sum that every textbook has: x = eta sum q1^k (t - (k - 1) r)^k / k!, for a history of eta
    q1, r, time = -0.8, 0.5, np.linspace(0.0, 5.0, 77)
    expected = np.zeros(77)
    for k in range(13):
        started = time >= (k - 1) * r
        expected += np.where(started, (q1 * (time - (k - 1) * r)) ** k / factorial(k), 0.0)
    found = DelayEquation(0.0, q1, 0.0, 1.0, r, history=1.0).response(time)
    np.testing.assert_allclose(found, expected, atol=1e-13)


@given(q0=st.floats(-1e-6, 1e-6))
def test_near_zero_it_is_continuous_in_q0(q0):
    near, at = (DelayEquation(q, -0.4, 0.3).response([0.5, 1.5, 9.5]) for q in (q0, 0.0))
    np.testing.assert_allclose(near, at, atol=30.0 * abs(q0) + 1e-14)


@pytest.mark.parametrize("history", [0.0, 1.5])
@pytest.mark.parametrize("name", PARAMETERS)
def test_the_derivatives_are_those_of_the_solution(name, history):
    equation = DelayEquation(-1.3, -1.1, 0.3, 4.0, 0.7, history)
    # none is a multiple of the delay, where the derivative by it jumps
    time, step = np.linspace(0.003, 9.9, 120), 1e-5
    up, down = (replace(equation, **{name: getattr(equation, name) + s}).response(time) for s in (step, -step))
    found = equation.sensitivities(time)[:, PARAMETERS.index(name)]
    np.testing.assert_allclose(found, (up - down) / (2 * step), atol=1e-7)


def test_many_at_once_are_each_alone():
    generator = np.random.default_rng(1)
    parameters = generator.normal([-1.5, 0.8, 0.2, 5.0, 1.0], [0.3, 0.4, 0.1, 0.5, 0.0], (6, 5))
    parameters[3:, 4] = [0.8, 1.3, 0.8]
    response, sensitivities = solve(TIME, parameters)
    for i, each in enumerate(parameters):
        equation = DelayEquation(*each.tolist())
        np.testing.assert_allclose(response[i], equation.response(TIME), atol=1e-13)
        np.testing.assert_allclose(sensitivities[i], equation.sensitivities(TIME), atol=1e-12)
    assert solve(TIME, np.empty((0, 5)))[0].shape == (0, 151)


def test_the_instants_may_come_in_any_order():
    equation = DelayEquation(-1.7, 1.2, 0.1)
    order = np.random.default_rng(2).permutation(151)
    np.testing.assert_array_equal(equation.response(TIME[order]), equation.response(TIME)[order])


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: DelayEquation(np.nan), "delay equation q0 nan: must be a finite number"),
        (lambda: DelayEquation(-1.0, delay=0.0), "delay 0.0: must be positive"),
        (lambda: DelayEquation(-1.0).response([-0.1]), "time: must be finite and not negative"),
        (
            lambda: DelayEquation(-1.0).response([[0.1]]),
            r"time: must be finite and not negative, of shape \(n_times,\)",
        ),
        (lambda: solve(TIME, np.zeros((1, 5))), "delay equation delay: must be positive"),
        (lambda: solve(TIME, np.ones((1, 4))), r"parameters: must be of shape \(m, 5\), not \(1, 4\)"),
        (lambda: solve(TIME, np.ones((1, 5)), np.nan), "history nan: must be a finite number"),
    ],
)
def test_mistakes_are_told(make, complaint):
    with pytest.raises(ValueError, match=complaint):
        make()
