"""All solvers of a fit end where closed forms and scipy say, within bounds, and reject what is not finite."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from sim.fitting.fit import fit
from sim.fitting.regression import Differentiated
from sim.fitting.solvers import Solver, find_minimum
from tests.oracles.linear_model import LinearModel

TIME = np.linspace(0.0, 3.0, 61)
solvers = pytest.mark.parametrize("solver", list(Solver))


def noise(sigma, n=61, seed=1):
    return sigma * np.random.default_rng(seed).standard_normal(n)


@dataclass(frozen=True, eq=False)
class Decay:
    """a exp(-b t), whose derivatives anyone can write down; it overflows where b is far below zero."""

    lower: np.ndarray
    upper: np.ndarray
    names = ("a", "b")

    def evaluate(self, parameters):
        e = np.exp(-parameters[:, 1:] * TIME)
        return parameters[:, :1] * e, np.stack([e, -parameters[:, :1] * TIME * e], axis=2)


FREE = Decay(np.full(2, -np.inf), np.full(2, np.inf))
BOUNDED = Decay(np.array([-np.inf, 0.0]), np.array([np.inf, 10.0]))


@solvers
@pytest.mark.parametrize("scale", [1.0, 1e6])
def test_a_linear_problem_is_solved_in_closed_form(solver, scale):
    matrix = np.column_stack([np.ones(61), scale * TIME, np.cos(5.0 * TIME)])
    observed = matrix @ [2.0, -1.0 / scale, 0.3] + noise(0.1)
    found = fit(LinearModel(matrix), observed, np.zeros(3), solver=solver)
    inverse = np.linalg.inv(matrix.T @ matrix)
    expected = inverse @ matrix.T @ observed
    variance = np.sum((observed - matrix @ expected) ** 2) / 58.0
    errors = np.sqrt(variance * np.diag(inverse))
    # a hundredth of a standard error
    assert (
        np.abs(found.parameters - expected).max() < 1.0
        and (np.abs(found.parameters - expected) < 0.01 * errors).all()
    )
    np.testing.assert_allclose(found.covariance, variance * inverse, rtol=1e-4)
    assert found.converged and found.bounded == ()


@solvers
def test_a_bound_that_is_active_holds(solver):
    generator = np.random.default_rng(3)
    matrix = generator.standard_normal((61, 3)) @ np.array([[1.0, 0.6, 0.0], [0.0, 1.0, 0.5], [0.0, 0.0, 1.0]])
    observed = matrix @ [1.5, -2.0, 0.4] + noise(0.1)
    lower, upper = np.array([-1.0, -1.0, -1.0]), np.array([1.0, 1.0, 1.0])
    expected = lsq_linear(matrix, observed, (lower, upper), method="bvls")
    found = fit(LinearModel(matrix, lower=lower, upper=upper), observed, np.zeros(3), solver=solver)
    np.testing.assert_allclose(found.parameters, expected.x, atol=2e-3)
    assert found.bounded == tuple(np.array(["a", "b", "c"])[expected.active_mask != 0]) != ()
    assert found.sum_of_squares == pytest.approx(2.0 * expected.cost, rel=1e-5) and found.converged
    assert (found.parameters >= lower).all() and (found.parameters <= upper).all()


@solvers
@pytest.mark.parametrize("model", [FREE, BOUNDED], ids=["free", "bounded"])
def test_a_nonlinear_problem_and_one_without_errors(solver, model):
    exact = model.evaluate(np.array([[3.0, 1.2]]))[0][0]
    found = fit(model, exact, np.array([1.0, 0.2]), solver=solver)
    np.testing.assert_allclose(found.parameters, [3.0, 1.2], rtol=1e-5)
    noisy = exact + noise(0.05)
    ours, theirs = fit(model, noisy, np.array([1.0, 0.2])), fit(model, noisy, np.array([1.0, 0.2]), solver=solver)
    assert (np.abs(theirs.parameters - ours.parameters) < 0.01 * ours.standard_errors).all()
    np.testing.assert_allclose(theirs.standard_errors, ours.standard_errors, rtol=1e-3)


@solvers
def test_several_starts_lead_to_the_distinct_minima(solver):
    wave = Differentiated(lambda p: np.sin(p[0] * TIME), ("frequency",), 0.5, 14.0, "complex-step")
    observed = np.sin(7.3 * TIME) + noise(0.1)
    found = fit(wave, observed, np.array([[7.2], [7.5], [11.5]]), solver=solver)
    assert found.of("frequency") == pytest.approx(7.3, abs=0.05) and len(found.minima) == 2
    assert found.minima[0] < found.minima[1] and found.minima[0] == pytest.approx(found.sum_of_squares)


@solvers
def test_a_step_to_where_the_response_is_not_finite_is_rejected(solver):
    def response(p):
        # beyond 1.1 it is no number
        return np.log(1.1 - p[0]) * TIME if p[0] < 1.1 else np.full(61, np.nan)

    model = Differentiated(response, ("x",))
    observed = np.log(0.1) * TIME + noise(1e-3)
    found = fit(model, observed, np.array([-5.0]), solver=solver)
    assert found.of("x") == pytest.approx(1.0, abs=1e-3)
    with pytest.raises(ValueError, match="response at the start is not finite, begin elsewhere"):
        fit(model, observed, np.array([2.0]), solver=solver)
    # one of two starts is enough
    assert fit(model, observed, np.array([[2.0], [0.0]]), solver=solver).of("x") == pytest.approx(1.0, abs=1e-3)


@solvers
def test_a_parameter_that_is_held_or_does_nothing_stays(solver):
    model = LinearModel(
        np.column_stack([TIME, np.ones(61), 0.0 * TIME]), lower=[-9.0, 0.5, -9.0], upper=[9.0, 0.5, 9.0]
    )
    found = find_minimum(model, (2.0 * TIME + 0.5)[None], np.array([[1.0, 0.5, 0.7]]), solver)
    np.testing.assert_allclose(found.parameters[0], [2.0, 0.5, 0.7], rtol=1e-5)


def test_a_solver_that_there_is_not():
    with pytest.raises(ValueError, match="fit solver 'simplex': choose among levenberg-marquardt, least-squares"):
        fit(LinearModel(TIME[:, None]), TIME, np.zeros(1), solver="simplex")
    with pytest.raises(ValueError, match="fit start of shape"):
        fit(LinearModel(TIME[:, None]), TIME, np.zeros(2), solver="bfgs")
