"""The scalar delay equation far from ordinary parameters, beside its Laplace transform inverted in many digits."""

from decimal import Decimal, localcontext
from functools import cache
from math import factorial

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sim.models.delay_equation import PARAMETERS, DelayEquation, solve

DIGITS = 100
DELAY = 0.7
# in delays; none is a multiple, where the derivative by the delay jumps
INSTANTS = (0.3, 1.5, 3.4, 9.7, 33.3, 99.6)
SIZES = (-500.0, -50.0, -5.0, -1e-12, 0.0, 1e-12, 5.0, 50.0, 500.0)


@cache
def impulse_and_step(q0, s, j):
    """Return s^j / j! exp(q0 s) and its integral from 0 to s."""
    z = q0 * s
    impulse = z.exp() * s**j / factorial(j)
    total, term = Decimal(0), Decimal(1)
    if abs(z) > 1:
        for m in range(j + 1):
            total, term = total + term, -term * z / (m + 1)
        return impulse, (1 - z.exp() * total) / (-q0) ** (j + 1)
    m = 0
    while abs(term) > Decimal(10) ** -DIGITS:
        total, term, m = total + term / (j + 1 + m), term * z / (m + 1), m + 1
    return impulse, s ** (j + 1) * total / factorial(j)


def transformed(t, q0, q1, omega, eta, r, history):
    """Return x(t) from (eta + omega / s + q1 history (1 - exp(-s r)) / s) / (s - q0 - q1 exp(-s r)), echo by echo."""
    x, echo, j = Decimal(0), Decimal(1), 0
    while t > j * r:
        impulse, step = impulse_and_step(q0, t - j * r, j)
        x += echo * (eta * impulse + (omega + q1 * history) * step)
        if t > (j + 1) * r:
            x -= echo * q1 * history * impulse_and_step(q0, t - (j + 1) * r, j)[1]
        echo, j = echo * q1, j + 1
    return x


def within_numbers(size, feedback):
    """Return the instants before the solution is beyond a float64."""
    growth = DelayEquation(size / DELAY, feedback / DELAY, delay=DELAY).growth_rate
    return [t * DELAY for t in INSTANTS if growth * t * DELAY < 650.0]


@pytest.mark.parametrize("share", [1.0, -0.99, None])
@pytest.mark.parametrize("size", SIZES)
def test_it_is_right_for_long_and_short_delays(size, share):
    feedback = 30.0 if share is None else share * abs(size)
    equation = DelayEquation(size / DELAY, feedback / DELAY, 0.4, 5.0, DELAY, -2.0)
    time = within_numbers(size, feedback)
    with localcontext(prec=DIGITS, Emax=999999, Emin=-999999):
        arguments = [Decimal(value) for value in (*equation.parameters.tolist(), -2.0)]
        expected = [float(transformed(Decimal(t), *arguments)) for t in time]
    # what rounds the product q0 t is carried along by the exponential
    np.testing.assert_allclose(equation.response(time), expected, rtol=5e-13)


@pytest.mark.parametrize(
    ("size", "feedback"), [(-500.0, 480.0), (-50.0, -49.0), (0.0, -30.0), (1e-12, 1.2), (50.0, 20.0)]
)
def test_so_are_its_derivatives(size, feedback):
    equation = DelayEquation(size / DELAY, feedback / DELAY, 0.4, 5.0, DELAY, -2.0)
    time = [t for t in within_numbers(size, feedback) if t < 40.0 * DELAY]
    expected = np.empty((len(time), 5))
    with localcontext(prec=DIGITS, Emax=999999, Emin=-999999):
        step = Decimal(10) ** -30
        for i in range(5):
            up, down = ([Decimal(value) for value in (*equation.parameters.tolist(), -2.0)] for _ in range(2))
            up[i], down[i] = up[i] + step, down[i] - step
            for j, t in enumerate(time):
                change = transformed(Decimal(t), *up) - transformed(Decimal(t), *down)
                expected[j, i] = float(change / (2 * step))
    found = equation.sensitivities(time)
    scale = np.tile(np.max(np.abs(expected), axis=1, keepdims=True), (1, 5))
    # that by the delay is the difference of slopes, each as large as q0 x
    scale[:, 4] *= 1.0 + abs(size)
    np.testing.assert_allclose(found / scale, expected / scale, atol=1e-12)


@pytest.mark.parametrize("r", [0.7, 50.0, 1e300])
def test_before_the_first_delay_it_is_the_ordinary_solution(r):
    q0, q1, time = -1.7, 1.2, np.linspace(0.0, 0.69, 9)
    equation = DelayEquation(q0, q1, 0.3, 5.0, r, 2.0)
    push = (0.3 + q1 * 2.0) / q0
    np.testing.assert_allclose(equation.response(time), (5.0 + push) * np.exp(q0 * time) - push, rtol=1e-14)
    # and knows nothing at all of the delay
    assert (equation.sensitivities(time)[:, PARAMETERS.index("delay")] == 0.0).all()


@pytest.mark.parametrize(
    ("equation", "time", "complaint"),
    [
        (DelayEquation(500.0), 2.0, "overflows at 2 s; ask for earlier times"),
        (DelayEquation(0.0, 1e5), 100.0, r"time 100 s: takes 2.5e\+06 pieces of delays, 1000000 are allowed; ask .*"),
        (DelayEquation(-1.0, 0.5, delay=1e-9), 3.0, r"time 3 s: takes 3e\+09 pieces of delays, .*"),
        (DelayEquation(-1.0, 0.5, delay=5e-324), 3.0, "time 3 s: takes inf pieces of delays, .*"),
        (DelayEquation(1e308, -1e308, delay=10.0), 3.0, "time 3 s: takes inf pieces of delays, .*"),
    ],
)
@pytest.mark.parametrize("ask", [DelayEquation.response, DelayEquation.sensitivities])
def test_past_its_reach_it_says_so(ask, equation, time, complaint):
    with pytest.raises(ValueError, match=f"^delay equation:? {complaint}$"):
        ask(equation, [0.0, time])


def test_among_many_what_is_past_the_reach_spoils_no_other():
    time = np.linspace(0.0, 3.0, 7)
    good = [-1.7, 1.2, 0.1, 5.0, 1.0]
    lost = [[900.0, 0.0, 0.1, 5.0, 1.0], [-1.7, 1.2, 0.1, 5.0, 1e-9], [np.nan, *good[1:]], [*good[:4], np.inf]]
    response, sensitivities = solve(time, [good, *lost])
    alone = DelayEquation(*good)
    np.testing.assert_array_equal(response[0], alone.response(time))
    np.testing.assert_array_equal(sensitivities[0], alone.sensitivities(time))
    assert np.isfinite(response[1, 0]) and not np.isfinite(response[1, 2:]).any()
    assert np.isnan(response[2:]).all() and np.isnan(sensitivities[2:]).all()


NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@example(0.0, 1.7976931348621712e308, 0.0, 0.0, 5e-324, 0.0)
@example(1.7e308, 1.7e308, 0.0, 0.0, 1e-320, 0.0)
@example(-1.7e308, -1.7e308, 0.0, 0.0, 5e-324, 0.0)
@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS, st.floats(5e-324, 1e308), st.floats(0.0, 1e308))
def test_any_numbers_give_numbers_or_one_line(q0, q1, omega, initial, r, t):
    equation = DelayEquation(q0, q1, omega, initial, r)
    assert np.isfinite(equation.growth_rate)
    try:
        assert np.isfinite(equation.response([t])).all()
    except ValueError as error:
        assert "ask for earlier times" in str(error)
