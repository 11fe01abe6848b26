"""The minimiser beside scipy's, with bounds and without."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import least_squares, lsq_linear

from sim.fitting.least_squares import minimize
from sim.fitting.model_responses import DelayResponse
from sim.fitting.regression import PolynomialDiscrepancy
from sim.models.delay_equation import DelayEquation
from tests.oracles.linear_model import LinearModel

TIME = np.linspace(0.0, 3.0, 61)


@dataclass(frozen=True, eq=False)
class Decay:
    """a exp(-b t), whose derivatives anyone can write down."""

    names = ("a", "b")
    lower = np.array([-np.inf, 0.0])
    upper = np.array([np.inf, 10.0])

    def evaluate(self, parameters):
        e = np.exp(-parameters[:, 1:] * TIME)
        return parameters[:, :1] * e, np.stack([e, -parameters[:, :1] * TIME * e], axis=2)


@given(
    matrix=arrays(np.float64, (12, 3), elements=st.integers(-9, 9).map(float)),
    observed=arrays(np.float64, (12,), elements=st.integers(-9, 9).map(float)),
    lower=arrays(np.float64, (3,), elements=st.floats(-2.0, 0.0)),
    width=arrays(np.float64, (3,), elements=st.floats(0.1, 3.0)),
)
def test_a_linear_problem_within_bounds(matrix, observed, lower, width):
    # alike columns leave the least point open, and only its value is then the same
    expected = lsq_linear(matrix, observed, (lower, lower + width), method="bvls")
    found = minimize(LinearModel(matrix, lower=lower, upper=lower + width), observed[None], np.zeros((1, 3)))
    assert found.sum_of_squares[0] == pytest.approx(2.0 * expected.cost, rel=1e-7, abs=1e-9)
    assert (found.parameters >= lower).all() and (found.parameters <= lower + width).all()


def test_many_nonlinear_problems_at_once_are_scipy_s_one_by_one():
    generator = np.random.default_rng(1)
    truth = np.column_stack([generator.uniform(1.0, 4.0, 8), generator.uniform(-0.3, 3.0, 8)])
    observed = Decay().evaluate(truth)[0] + 0.05 * generator.standard_normal((8, 61))
    found = minimize(Decay(), observed, np.ones((8, 2)))
    assert found.converged.all()
    for i, each in enumerate(observed):

        def residuals(p, each=each):
            return p[0] * np.exp(-p[1] * TIME) - each

        expected = least_squares(
            residuals, [1.0, 1.0], bounds=([-np.inf, 0.0], [np.inf, 10.0]), xtol=1e-14, ftol=1e-14
        )
        np.testing.assert_allclose(found.parameters[i], expected.x, atol=2e-6)
        assert found.at_bound[i, 1] == (expected.x[1] < 1e-9)
    assert 0 < found.at_bound.sum() < 8


@pytest.mark.parametrize("method", [1, 2])
def test_the_methods_are_scipy_s_minimum(method):
    generator = np.random.default_rng(4)
    observed = DelayEquation(-1.7, 1.2, 0.1).response(TIME) + 0.1 * generator.standard_normal((3, 61))
    free = ("q0", "q1", "omega")[: method + 1]
    model = DelayResponse(TIME, DelayEquation(-1.0), free)
    if method == 1:
        model = PolynomialDiscrepancy(model, TIME)
    start = np.zeros((3, len(model.names)))
    start[:, :2] = [-1.0, 0.5]
    found = minimize(model, observed, start)
    for i, each in enumerate(observed):

        def residuals(p, each=each):
            return model.evaluate(p[None])[0][0] - each

        expected = least_squares(residuals, start[i], method="lm", xtol=1e-14, ftol=1e-14)
        assert found.sum_of_squares[i] == pytest.approx(2.0 * expected.cost, rel=1e-9)
        np.testing.assert_allclose(found.parameters[i], expected.x, atol=1e-3)


def test_what_is_held_stays_and_a_useless_parameter_does_no_harm():
    matrix = np.column_stack([np.ones(6), np.arange(6.0), np.zeros(6)])
    model = LinearModel(matrix)
    observed = 2.0 + 3.0 * np.arange(6.0)
    held = np.array([-np.inf, 1.0, -np.inf]), np.array([np.inf, 1.0, np.inf])
    found = minimize(model, observed[None], np.zeros((1, 3)), lower=held[0], upper=held[1])
    assert (
        found.converged.all() and found.parameters[0, 1] == 1.0 and found.at_bound[0].tolist() == [False, True, False]
    )
    # the mean of what is left, 2 + 2 t
    assert found.parameters[0, 0] == pytest.approx(7.0)


def test_a_start_without_a_finite_response_is_left_and_the_others_go_on():
    observed = Decay().evaluate(np.array([[2.0, 1.0]]))[0]
    found = minimize(Decay(), np.repeat(observed, 2, axis=0), np.array([[1e200, 1.0], [1.0, 0.5]]))
    assert found.converged.tolist() == [False, True] and np.isinf(found.sum_of_squares[0])
    np.testing.assert_allclose(found.parameters[1], [2.0, 1.0], atol=1e-9)


@pytest.mark.parametrize(
    ("observed", "start", "complaint"),
    [
        (np.zeros((2, 61)), np.zeros((1, 2)), r"start of shape \(1, 2\): must be \(2, 2\)"),
        (np.full((1, 61), np.nan), np.zeros((1, 2)), "is not finite"),
    ],
)
def test_mistakes_are_told(observed, start, complaint):
    with pytest.raises(ValueError, match=complaint):
        minimize(Decay(), observed, start)
