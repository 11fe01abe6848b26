"""Fits beside the formulas of linear regression, and beside how estimates really scatter."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import linregress
from scipy.stats import t as student

from sim.fitting.fit import fit, fit_many
from sim.fitting.intervals import profile
from sim.fitting.model_responses import DelayResponse, SystemResponse
from sim.fitting.regression import PolynomialDiscrepancy, unbounded
from sim.models.delay_equation import DelayEquation
from sim.models.delay_system import DelaySystem
from tests.oracles.linear_model import slope

TIME = np.linspace(0.0, 3.0, 151)
START = np.array([-1.0, 0.5, 0.0])
TRUTH = DelayEquation(-1.7, 1.2, 0.1)
METHOD_2 = DelayResponse(TIME, DelayEquation(-1.0))


def noise(sigma, *shape, seed=1):
    return sigma * np.random.default_rng(seed).standard_normal(shape)


def test_a_line_is_the_formulas_of_linear_regression():
    time = np.linspace(0.0, 4.0, 40)
    observed = 3.0 - 0.7 * time + noise(0.3, 40)
    found = fit(PolynomialDiscrepancy(slope(time), time, 1), observed, np.zeros(2))
    expected = linregress(time, observed)
    assert found.names == ("slope", "beta_1") and found.converged
    assert (found.of("slope"), found.of("beta_1")) == pytest.approx((expected.slope, expected.intercept))
    assert found.standard_errors == pytest.approx([expected.stderr, expected.intercept_stderr])
    correlation = -time.mean() / np.sqrt(np.mean(time**2))
    assert found.correlation[0, 1] == pytest.approx(correlation)
    np.testing.assert_allclose(found.residuals[0], observed - expected.intercept - expected.slope * time, atol=1e-6)
    # the profile of a linear model is a straight line, and its interval Student's
    found_profile = profile(PolynomialDiscrepancy(slope(time), time, 1), observed, found, "slope")
    np.testing.assert_allclose(
        found_profile.root, (found_profile.values - expected.slope) / expected.stderr, atol=1e-5
    )
    reach = student.ppf(0.95, 38) * expected.stderr
    assert found_profile.interval(0.9) == pytest.approx((expected.slope - reach, expected.slope + reach), rel=1e-3)


def test_repeated_observations_are_one_long_experiment():
    observed = TRUTH.response(TIME) + noise(0.1, 5, 151)
    together = fit(METHOD_2, observed, START)
    long = DelayResponse(np.tile(TIME, 5), DelayEquation(-1.0))
    stacked = fit(long, observed.ravel(), START)
    np.testing.assert_allclose(together.parameters, stacked.parameters, atol=1e-6)
    np.testing.assert_allclose(together.covariance, stacked.covariance, rtol=1e-4)
    assert together.sum_of_squares == pytest.approx(stacked.sum_of_squares)
    assert together.residuals.shape == (5, 151)


def test_the_covariance_is_how_the_estimates_scatter():
    observed = TRUTH.response(TIME) + noise(0.03, 2000, 151)
    found = fit_many(METHOD_2, observed, START)
    assert found.converged.all()
    np.testing.assert_allclose(found.standard_errors.mean(axis=0), found.parameters.std(axis=0, ddof=1), rtol=0.06)
    assert found.sigma.mean() == pytest.approx(0.03, rel=0.01)
    # correlations of the estimates are told, too
    told = found.covariance[0] / np.outer(found.standard_errors[0], found.standard_errors[0])
    np.testing.assert_allclose(told, np.corrcoef(found.parameters.T), atol=0.03)


def test_the_delay_itself_can_be_fitted():
    observed = DelayEquation(-1.7, 1.2, 0.1, delay=0.83).response(TIME) + noise(0.02, 151)
    model = DelayResponse(TIME, DelayEquation(-1.0), ("q0", "q1", "omega", "delay"))
    found = fit(model, observed, np.array([-1.0, 0.5, 0.0, 1.0]))
    for name, value in (("q0", -1.7), ("q1", 1.2), ("omega", 0.1), ("delay", 0.83)):
        error = found.standard_errors[found.names.index(name)]
        assert abs(found.of(name) - value) < 4.0 * error


def test_any_system_is_fitted_through_its_matrices():
    def build(q):
        return DelaySystem(
            *(np.array([[q[0]]]), np.array([5.0]), np.array([[q[1]]])),
            g=np.eye(1),
            disturbance=lambda t: np.full((len(t), 1), q[2]),
        )

    observed = TRUTH.response(TIME) + noise(0.05, 151)
    model = SystemResponse(build, TIME, METHOD_2.names, -unbounded(3), unbounded(3))
    found, exact = fit(model, observed, START), fit(METHOD_2, observed, START)
    np.testing.assert_allclose(found.parameters, exact.parameters, atol=1e-5)
    np.testing.assert_allclose(found.covariance, exact.covariance, rtol=1e-4)


def test_the_end_of_a_record_is_within_what_is_solved():
    def build(q):
        return DelaySystem(np.array([[q[0]]]), np.array([1.0]), np.array([[0.5]]), delay=0.3)

    # ten times 0.3 is less than 3 in floating point
    model = SystemResponse(build, TIME, ("q0",), -unbounded(1), unbounded(1))
    expected = DelayEquation(-1.0, 0.5, initial=1.0, delay=0.3).response(TIME)
    np.testing.assert_allclose(model.evaluate(np.array([-1.0]))[0][0], expected, atol=1e-9)


def test_few_degrees_of_freedom_have_an_interval_with_ends():
    time = np.linspace(0.0, 4.0, 4)
    observed = 3.0 - 0.7 * time + noise(0.3, 4)
    model = PolynomialDiscrepancy(slope(time), time, 1)
    expected = linregress(time, observed)
    reach = student.ppf(0.975, 2) * expected.stderr
    ends = profile(model, observed, fit(model, observed, np.zeros(2)), "slope").interval()
    assert ends == pytest.approx((expected.slope - reach, expected.slope + reach), rel=1e-3)


def test_what_comes_later_is_the_response_at_later_times():
    later = np.array([10.0, 30.0])
    parameters = np.array([-1.7, 1.2, 0.1])

    def build(q):
        return DelaySystem(np.array([[q[0]]]), np.array([5.0]), np.array([[q[1]]]))

    system = SystemResponse(build, TIME, ("q0", "q1"), -unbounded(2), unbounded(2))
    undisturbed = DelayEquation(-1.7, 1.2).response(later)
    np.testing.assert_allclose(system.at(parameters[:2]).solve(30.0).output(later)[:, 0], undisturbed, atol=1e-9)
    # one set of parameters may stand alone
    for model in (METHOD_2, replace(METHOD_2, time=later)):
        np.testing.assert_allclose(model.evaluate(parameters)[0][0], TRUTH.response(model.time))
    np.testing.assert_allclose(replace(system, time=later).evaluate(parameters[:2])[0][0], undisturbed, atol=1e-9)
    discrepancy = PolynomialDiscrepancy(replace(METHOD_2, time=later), later, 1)
    assert discrepancy.evaluate(np.append(parameters, 2.0))[0][0] == pytest.approx(2.0 + TRUTH.response(later))
