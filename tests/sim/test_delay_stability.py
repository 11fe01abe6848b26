"""Characteristic roots of the delay equation beside its discretised operator, and where it settles."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sim.models.delay_equation import DelayEquation, is_stable, steady_state


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
    assert DelayEquation(q0, q1, delay=r).stable == (sigma < 0.0)


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
    assert equation.stable and equation.steady_state == pytest.approx(4.0)
    assert equation.response([300.0])[0] == pytest.approx(4.0, abs=0.01)
    assert not DelayEquation(-1.0, 1.1).stable and np.isnan(DelayEquation(-1.0, 1.1, 0.2).steady_state)
    # stable for a short delay, though not for every one: at sqrt(3) r = acos(-1/2) it swings forever
    limit = np.arccos(-0.5) / np.sqrt(3.0)
    assert DelayEquation(-1.0, -2.0, delay=0.999 * limit).stable
    assert not DelayEquation(-1.0, -2.0, delay=1.001 * limit).stable
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
