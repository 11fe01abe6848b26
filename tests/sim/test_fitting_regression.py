"""A prior beside the observations: the posterior of a linear model in closed form."""

import numpy as np
import pytest

from sim.fitting.fit import fit
from sim.fitting.regression import Regularized, Reparameterized
from sim.fitting.solvers import Solver
from tests.oracles.linear_model import LinearModel

TIME = np.linspace(0.0, 1.0, 41)
MATRIX = np.column_stack([np.ones(41), TIME, TIME**2])
EXPECTED = np.array([1.0, -1.0, 0.5])
COVARIANCE = np.array([[0.04, 0.01, 0.0], [0.01, 0.09, -0.02], [0.0, -0.02, 0.25]])
SIGMA = 0.3


def observations(*shape):
    return MATRIX @ [1.5, -2.0, 1.0] + SIGMA * np.random.default_rng(2).standard_normal((*shape, 41))


def posterior(observed, covariance):
    observed = np.atleast_2d(observed)
    precision = len(observed) * MATRIX.T @ MATRIX / SIGMA**2 + np.linalg.inv(covariance)
    shift = MATRIX.T @ observed.sum(axis=0) / SIGMA**2 + np.linalg.solve(covariance, EXPECTED)
    return np.linalg.solve(precision, shift), np.linalg.inv(precision)


@pytest.mark.parametrize("solver", list(Solver))
def test_the_posterior_of_a_linear_model(solver):
    observed = observations()
    model = Regularized(LinearModel(MATRIX), EXPECTED, COVARIANCE, SIGMA)
    found = fit(model, model.observations(observed), np.zeros(3), solver=solver)
    mean, covariance = posterior(observed, COVARIANCE)
    np.testing.assert_allclose(found.parameters, mean, atol=1e-4)
    # the fit estimates the size of the errors
    np.testing.assert_allclose(found.covariance, (found.sigma / SIGMA) ** 2 * covariance, rtol=1e-6)
    cost = np.sum((observed - MATRIX @ mean) ** 2) / SIGMA**2
    cost += (mean - EXPECTED) @ np.linalg.solve(COVARIANCE, mean - EXPECTED)
    assert found.sum_of_squares / SIGMA**2 == pytest.approx(cost)


def test_ridge_and_repeated_observations():
    observed = observations(5)
    model = Regularized(LinearModel(MATRIX), EXPECTED, np.full(3, 0.1), SIGMA, repeated=5)
    found = fit(model, model.observations(observed), np.zeros(3))
    mean, covariance = posterior(observed, 0.1 * np.eye(3))
    np.testing.assert_allclose(found.parameters, mean, rtol=1e-6)
    np.testing.assert_allclose(found.covariance, (found.sigma / SIGMA) ** 2 * covariance, rtol=1e-6)


def test_a_prior_determines_what_the_data_do_not():
    twice = LinearModel(np.column_stack([TIME, TIME]))
    assert fit(twice, TIME, np.zeros(2)).confounded
    model = Regularized(twice, [0.2, 0.2], [1.0, np.inf], 0.1)
    found = fit(model, model.observations(TIME), np.zeros(2))
    # nothing is known of b, so that a is as expected and b makes up for it
    np.testing.assert_allclose(found.parameters, [0.2, 0.8], atol=1e-9)
    assert found.confounded == () and np.isfinite(found.standard_errors).all()


def test_within_coordinates_and_bounds():
    matrix = np.array([[0.5, 0.5, 0.0], [0.5, -0.5, 0.0], [0.0, 0.0, 1.0]])
    others = Reparameterized(LinearModel(MATRIX), matrix, ("s", "d", "c"), np.full(3, -9.0), np.full(3, 9.0))
    back = np.linalg.inv(matrix)
    model = Regularized(others, back @ EXPECTED, back @ COVARIANCE @ back.T, SIGMA)
    observed = observations()
    found = fit(model, model.observations(observed), np.zeros(3))
    assert found.names == ("a", "b", "c")
    np.testing.assert_allclose(found.parameters, posterior(observed, COVARIANCE)[0], rtol=1e-6)


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda model: Regularized(model, [0.0], COVARIANCE), "expected .*: give 3 finite numbers"),
        (lambda model: Regularized(model, EXPECTED, np.eye(2)), r"covariance of shape \(2, 2\): must be \(3,\)"),
        (lambda model: Regularized(model, EXPECTED, np.ones((3, 3))), "symmetric, finite and positive definite"),
        (lambda model: Regularized(model, EXPECTED, [1.0, 0.0, 1.0]), "variances .*: must be positive"),
        (lambda model: Regularized(model, EXPECTED, COVARIANCE, sigma=0.0), "sigma 0.0 and repeated 1"),
        (lambda model: Regularized(model, EXPECTED, COVARIANCE).observations(np.zeros((2, 41))), "2 repeated obs"),
    ],
)
def test_mistakes(make, complaint):
    with pytest.raises(ValueError, match=complaint):
        make(LinearModel(MATRIX))
