"""The delay equation against closed forms and quadratures: solution, derivatives, stability, and its reach."""

from dataclasses import replace
from decimal import Decimal, localcontext
from functools import cache
from math import factorial

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from sim.models.delay_equation import PARAMETERS, DelayEquation, is_stable, solve, steady_state

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


def sensitivities_of(equation, time):
    return solve(time, equation.parameters[None], equation.history)[1][0]


@pytest.mark.parametrize("history", [0.0, 1.5])
@pytest.mark.parametrize("name", PARAMETERS)
def test_the_derivatives_are_those_of_the_solution(name, history):
    equation = DelayEquation(-1.3, -1.1, 0.3, 4.0, 0.7, history)
    # none is a multiple of the delay, where the derivative by it jumps
    time, step = np.linspace(0.003, 9.9, 120), 1e-5
    up, down = (replace(equation, **{name: getattr(equation, name) + s}).response(time) for s in (step, -step))
    found = sensitivities_of(equation, time)[:, PARAMETERS.index(name)]
    np.testing.assert_allclose(found, (up - down) / (2 * step), atol=1e-7)


def test_many_at_once_are_each_alone():
    generator = np.random.default_rng(1)
    parameters = generator.normal([-1.5, 0.8, 0.2, 5.0, 1.0], [0.3, 0.4, 0.1, 0.5, 0.0], (6, 5))
    parameters[3:, 4] = [0.8, 1.3, 0.8]
    response, sensitivities = solve(TIME, parameters)
    for i, each in enumerate(parameters):
        equation = DelayEquation(*each.tolist())
        np.testing.assert_allclose(response[i], equation.response(TIME), atol=1e-13)
        np.testing.assert_allclose(sensitivities[i], sensitivities_of(equation, TIME), atol=1e-12)
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


def rightmost(q0, q1, r, degree=130):
    """Return the largest real part of the operator on a delay, on Chebyshev's points (Breda et al., 2005)."""
    angles = np.pi * np.arange(degree + 1) / degree
    nodes = 0.5 * r * (np.cos(angles) - 1.0)
    weights = (-1.0) ** np.arange(degree + 1) * np.where(np.arange(degree + 1) % degree, 1.0, 2.0)
    matrix = np.outer(weights, 1.0 / weights) / (nodes[:, None] - nodes + np.eye(degree + 1))
    matrix -= np.diag(matrix.sum(axis=1))
    # at the newest instant the equation itself stands in place of the derivative
    matrix[0] = 0.0
    matrix[0, 0], matrix[0, -1] = q0, q1
    return np.max(np.linalg.eigvals(matrix).real)


@given(q0=st.floats(-3.0, 0.5), q1=st.floats(-2.0, 2.0), r=st.floats(0.3, 2.0))
def test_the_growth_rate_is_a_root_to_the_right_of_which_there_is_none(q0, q1, r):
    sigma = DelayEquation(q0, q1, delay=r).growth_rate
    # for every root |s - q0| = |q1| exp(-Re(s) r); further to the right than its own, none can be
    frequency = np.linspace(0.0, abs(q1) * np.exp(-min(sigma, 0.0) * r) + 1.0, 20001)
    on_line = sigma + 1j * frequency
    assert np.min(np.abs(on_line - q0 - q1 * np.exp(-on_line * r))) < 1e-2
    # to the right the number of roots is the turns of the characteristic function around zero
    far = abs(q0) + abs(q1) * np.exp(max(-sigma, 0.0) * r) + 2.0
    contour = np.concatenate(
        [
            sigma + 1e-3 + 1j * np.linspace(far, -far, 20001),
            np.linspace(sigma + 1e-3, far, 2001) - 1j * far,
            far + 1j * np.linspace(-far, far, 2001),
            np.linspace(far, sigma + 1e-3, 2001) + 1j * far,
        ]
    )
    turns = np.diff(np.unwrap(np.angle(contour - q0 - q1 * np.exp(-contour * r)))).sum() / (2 * np.pi)
    assert round(turns) == 0
    assert is_stable(q0, q1, r) == (sigma < 0.0)


# at degree 70 the operator is off by 0.04 here
@example(a=-22.0, b=0.0625, sign=-1.0, r=1.0)
@example(a=-25.0, b=0.05, sign=1.0, r=1.0)
@given(a=st.floats(-25.0, 60.0), b=st.floats(0.05, 40.0), sign=st.sampled_from([-1.0, 1.0]), r=st.floats(0.1, 5.0))
def test_the_growth_rate_is_that_of_the_discretised_operator(a, b, sign, r):
    expected = rightmost(a / r, sign * b / r, r)
    found = DelayEquation(a / r, sign * b / r, delay=r).growth_rate
    # two real roots that are nearly one move by the square root of the rounding
    assert found == pytest.approx(expected, abs=(1e-5 + 1e-8 * abs(a)) / r)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(
    ("q0", "q1", "r"),
    [(-123.0, 1.0, 1.0), (-800.0, 3.0, 1.0), (-1e4, 9e3, 1.0), (-1e9, 5.0, 30.0), (-1e200, 1e199, 1e200)],
)
def test_far_below_the_range_of_the_exponential_it_is_the_root_nearest_to_the_real_axis(q0, q1, r, sign):
    # of s r = log(q1 / (s - q0)) with all its branches that is the rightmost, because the others are farther from q0;
    # each round gains many digits
    s, turn = 0.0, 0.0 if sign > 0.0 else 1j * np.pi
    for _ in range(60):
        s = (np.log(q1) + turn - np.log(s - q0)) / r
    assert DelayEquation(q0, sign * q1, delay=r).growth_rate == pytest.approx(s.real, rel=1e-9)


@pytest.mark.parametrize("gap", [0.0, 1e-15, -1e-15, 1e-9, -1e-9, 1e-6, -1e-6])
def test_where_two_real_roots_meet(gap):
    # at q1 r = -exp(q0 r - 1) both are q0 - 1 / r; beside it they part by a square root, or are a pair
    expected = -2.0 + 2.0 * np.sqrt(2.0 * max(gap, 0.0))
    found = DelayEquation(0.0, -2.0 * np.exp(-1.0) * (1.0 - gap), delay=0.5).growth_rate
    assert found == pytest.approx(expected, abs=1e-5)


def test_a_growth_rate_of_few_roots():
    # without delayed feedback there is one root; for a short delay it is that of their sum; at q0 = -q1 it is zero
    assert DelayEquation(-900.0, 0.0).growth_rate == -900.0
    assert DelayEquation(700.0, 1.0, delay=1e3).growth_rate == 700.0
    assert DelayEquation(-3.0, 1.0, delay=1e-9).growth_rate == pytest.approx(-2.0, abs=1e-7)
    # x' = -pi/2 x(t - 1) swings forever, and no more than that
    assert DelayEquation(0.0, -np.pi / 2.0).growth_rate == pytest.approx(0.0, abs=1e-14)


@given(q=st.floats(1e-3, 1e3), r=st.floats(0.1, 10.0))
def test_what_does_not_settle_has_no_steady_state(q, r):
    # a root at zero, where a steady state would be divided by it
    assert np.isnan(DelayEquation(-q, q, 1.0, delay=r).steady_state)


def test_it_settles_where_it_should():
    equation = DelayEquation(-1.7, 1.65, 0.2)
    assert is_stable(equation.q0, equation.q1, equation.delay) and equation.steady_state == pytest.approx(4.0)
    assert equation.response([300.0])[0] == pytest.approx(4.0, abs=0.01)
    assert not is_stable(-1.0, 1.1, 1.0) and np.isnan(DelayEquation(-1.0, 1.1, 0.2).steady_state)
    # stable for a short delay, though not for every one: at sqrt(3) r = acos(-1/2) it swings forever
    limit = np.arccos(-0.5) / np.sqrt(3.0)
    assert is_stable(-1.0, -2.0, 0.999 * limit)
    assert not is_stable(-1.0, -2.0, 1.001 * limit)
    assert DelayEquation(-1.0, -2.0, 0.3, delay=0.1).steady_state == pytest.approx(0.1)


def test_many_at_once():
    # q0, q1, delay, and whether it settles: by q0 + |q1| < 0, by q0 + q1 >= 0, by where the last one swings
    found = [(-1.7, 1.65, 1.0, 1), (-1.0, 1.1, 1.0, 0), (-1.0, 1.0, 1.0, 0)]
    found += [(-1.0, -2.0, 1.0, 1), (-1.0, -2.0, 2.0, 0)]
    found += [(np.nan, 0.0, 1.0, 0), (-1.0, -np.inf, 1.0, 0), (-np.inf, np.inf, 1.0, 0), (-1e308, -1e308, 1.0, 0)]
    q0, q1, delay, settles = np.array(found).T
    assert is_stable(q0[:5], q1[:5], delay[:5]).tolist() == settles[:5].astype(bool).tolist()
    assert not is_stable(q0[5:], q1[5:], delay[5:]).any()
    states = steady_state(q0[:5], q1[:5], 0.3, delay[:5])
    np.testing.assert_allclose(states[[0, 3]], [6.0, 0.1])
    assert np.isnan(states[[1, 2, 4]]).all()


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
    found = sensitivities_of(equation, time)
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
    assert (sensitivities_of(equation, time)[:, PARAMETERS.index("delay")] == 0.0).all()


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
def test_past_its_reach_it_says_so(equation, time, complaint):
    with pytest.raises(ValueError, match=f"^delay equation:? {complaint}$"):
        equation.response([0.0, time])


def test_among_many_what_is_past_the_reach_spoils_no_other():
    time = np.linspace(0.0, 3.0, 7)
    good = [-1.7, 1.2, 0.1, 5.0, 1.0]
    lost = [[900.0, 0.0, 0.1, 5.0, 1.0], [-1.7, 1.2, 0.1, 5.0, 1e-9], [np.nan, *good[1:]], [*good[:4], np.inf]]
    response, sensitivities = solve(time, [good, *lost])
    alone = DelayEquation(*good)
    np.testing.assert_array_equal(response[0], alone.response(time))
    np.testing.assert_array_equal(sensitivities[0], sensitivities_of(alone, time))
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
