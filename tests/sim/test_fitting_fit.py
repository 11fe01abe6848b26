"""Fits: estimates and their scatter, of one experiment and of many; restated; what is refused; residuals."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import kstest, kurtosistest, linregress, skewtest
from scipy.stats import t as student

from sim.fitting.actuator_response import ActuatorResponse
from sim.fitting.fit import check_residuals, fit, fit_many, reparameterized
from sim.fitting.intervals import profile
from sim.fitting.least_squares import spread_starts
from sim.fitting.model_responses import DelayResponse
from sim.fitting.regression import Differentiated, PolynomialDiscrepancy
from sim.models.delay_equation import DelayEquation
from sim.models.delay_system import DelaySystem
from tests.oracles.linear_model import LinearModel, slope

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
    model = Differentiated(lambda q: build(q).solve(TIME[-1]).output(TIME), METHOD_2.names)
    found, exact = fit(model, observed, START), fit(METHOD_2, observed, START)
    np.testing.assert_allclose(found.parameters, exact.parameters, atol=1e-5)
    np.testing.assert_allclose(found.covariance, exact.covariance, rtol=1e-4)


def test_the_end_of_a_record_is_within_what_is_solved():
    system = DelaySystem(np.array([[-1.0]]), np.array([1.0]), np.array([[0.5]]), delay=0.3)
    expected = DelayEquation(-1.0, 0.5, initial=1.0, delay=0.3).response(TIME)
    # ten times 0.3 is less than 3 in floating point
    np.testing.assert_allclose(system.solve(float(TIME[-1])).output(TIME)[:, 0], expected, atol=1e-9)


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

    # one set of parameters may stand alone
    for model in (METHOD_2, replace(METHOD_2, time=later)):
        np.testing.assert_allclose(model.evaluate(parameters)[0][0], TRUTH.response(model.time))
    discrepancy = PolynomialDiscrepancy(replace(METHOD_2, time=later), later, 1)
    assert discrepancy.evaluate(np.append(parameters, 2.0))[0][0] == pytest.approx(2.0 + TRUTH.response(later))


class Alone(LinearModel):
    """Without its derivatives."""

    def evaluate(self, parameters):
        return super().evaluate(parameters)[0]


class Flat(LinearModel):
    """For one set of parameters."""

    def evaluate(self, parameters):
        return self.matrix @ parameters[0], self.matrix


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: fit(METHOD_2, np.zeros(151), np.zeros(2)), "fit start of shape"),
        (
            lambda: fit(slope(np.ones(1)), np.zeros(1), np.zeros(1)),
            "of 1 parameters: needs more than 1 observations, there are 1",
        ),
        (lambda: fit(METHOD_2, np.zeros(100), START), "100 observations of a response at 151 instants"),
        (lambda: fit(METHOD_2, np.zeros((2, 3, 151)), START), "must be rows"),
        (lambda: fit(PolynomialDiscrepancy(METHOD_2, TIME[:5]), np.zeros(151), np.zeros(6)), "5 observations of"),
        (
            lambda: fit(Alone(TIME[:, None]), np.zeros(151), np.zeros(1)),
            r"evaluate of Alone returned \(1, 151\): of parameters",
        ),
        (lambda: fit(Flat(TIME[:, None]), np.zeros(151), np.zeros(1)), r"derivatives \(1, 151, 1\)"),
        (lambda: spread_starts(np.zeros(2), np.zeros(2), 3), "a box with finite lower and upper ends"),
        (lambda: DelayResponse(TIME, TRUTH, ("q2",)), "choose among q0, q1, omega, initial, delay"),
        (lambda: DelayResponse(TIME, TRUTH, ("q0", "q0")), "choose among q0, q1, omega, initial, delay, each once"),
        (lambda: fit(METHOD_2, np.zeros(151), np.array([1e4, 0.0, 0.0])), "response at the start is not finite"),
        (lambda: fit_many(METHOD_2, np.zeros((2, 151)), np.array([1e4, 0.0, 0.0])), "start is not finite"),
    ],
)
def test_mistakes_are_told(make, complaint):
    with pytest.raises(ValueError, match=complaint):
        make()
    observed = TRUTH.response(TIME) + 0.1 * np.random.default_rng(1).standard_normal(151)
    with pytest.raises(ValueError, match="choose among q0, q1, omega"):
        profile(METHOD_2, observed, fit(METHOD_2, observed, START), "delay")


NOTHING = np.empty((151, 0))


def test_the_checks_of_good_residuals_are_uniform():
    checks = [check_residuals(noise(0.3, 1, 151, seed=seed), NOTHING, 0.3) for seed in range(300)]
    for name in ("mean", "independence", "normality", "deviation"):
        assert kstest([getattr(each, name) for each in checks], "uniform").pvalue > 1e-3
    assert np.isnan(check_residuals(noise(0.3, 1, 151), NOTHING).deviation)
    # four tests at 1 %
    assert sum(bool(each.doubts()) for each in checks) < 25


@pytest.mark.parametrize(
    ("n", "p", "repeated"),
    [(20, 3, 1), *(pytest.param(*each, marks=pytest.mark.slow) for each in ((30, 4, 1), (50, 6, 1), (20, 3, 3)))],
)
def test_residuals_of_few_samples_are_no_more_often_correlated_than_is_said(n, p, repeated):
    model = np.vander(np.linspace(0.0, 1.0, n), p)
    errors = noise(0.3, 1500, repeated, n, seed=n)
    fitted = errors.mean(axis=1) @ np.linalg.pinv(model).T @ model.T
    checks = [check_residuals(each, model, 0.3) for each in errors - fitted[:, None]]
    # the share of 1500 has a standard error of 0.0056; a quadratic form is not quite chi-squared
    assert np.mean([each.independence < 0.05 for each in checks]) == pytest.approx(0.05, abs=0.03)
    assert np.mean([each.deviation < 0.05 for each in checks]) == pytest.approx(0.05, abs=0.02)


@pytest.mark.parametrize("n", [20, 33, 5000])
def test_normality_is_dagostino_and_pearson_s(n):
    generator = np.random.default_rng(n)
    for sample in (generator.standard_normal(n), generator.uniform(size=n), generator.standard_normal(n) ** 3):
        # made of the skewness and the kurtosis, each transformed to a standard normal one
        expected = np.exp(-0.5 * (skewtest(sample).statistic ** 2 + kurtosistest(sample).statistic ** 2))
        found = check_residuals(sample[None], np.empty((n, 0))).normality
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-300)
    for few in (sample[:19], np.ones(30)):
        assert np.isnan(check_residuals(few[None], np.empty((len(few), 0))).normality)


def test_the_checks_find_what_is_wrong():
    good, two = noise(0.3, 1, 400, seed=4), np.column_stack([np.ones(400), np.arange(400.0)])
    good -= (two @ np.linalg.lstsq(two, good[0])[0])[None]
    assert check_residuals(good, two, 0.3).doubts() == ()
    assert check_residuals(good + 0.1, two).doubts()[0] == "the residuals' mean is not zero"
    assert "not as large" in check_residuals(good, two, 0.2).doubts()[-1]
    assert check_residuals(good**3, two).doubts() == ("the residuals are not normal",)
    # the model that has no disturbance does not describe what has one
    observed = DelayEquation(-1.7, 0.0, 2.55).response(TIME) + noise(0.1, 151)
    alone = fit(DelayResponse(TIME, DelayEquation(-1.0), ("q0",)), observed, np.array([-1.0]))
    assert "leaves something out" in alone.checks.doubts()[0] and alone.of("q0") == pytest.approx(-0.63, abs=0.05)


DT, MEAN = 0.004, 0.3
INSTANTS = DT * np.arange(1500)
COMMAND = sum(np.sin(2 * np.pi * f * INSTANTS + f**2) for f in (0.7, 1.9, 3.1)) + MEAN
# those of the second are gain and delay, and the offset at time zero without the command's mean
MATRIX = np.array([[1.0, 0, 0, 0], [0, 1, 0, 0], [-MEAN, 0, 1, -3.0], [0, 0, 0, 1]])
SHIFT = np.array([0.0, 0.0, 0.25, 0.0])


def of_actuator(command, time, shift, **settings):
    actuator = ActuatorResponse(command, DT, **settings)
    noise = 1e-2 * np.random.default_rng(3).standard_normal(len(INSTANTS))
    measured = 0.8 * np.roll(COMMAND, 6) + noise + 0.1 * INSTANTS - shift
    model = PolynomialDiscrepancy(actuator, time[actuator.rows], 2)
    return fit(model, measured[actuator.rows], np.array([[0.8, 0.024, 0.0, 0.0]]))


def test_it_is_the_fit_of_the_others():
    direct = of_actuator(COMMAND, INSTANTS, 0.0)
    found = reparameterized(of_actuator(COMMAND - MEAN, INSTANTS - 3.0, 0.25), MATRIX, SHIFT)
    np.testing.assert_allclose(found.parameters, direct.parameters, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(found.minima_at, direct.minima_at, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(found.covariance, direct.covariance, rtol=1e-6, atol=1e-16)
    np.testing.assert_allclose(found.standard_errors, direct.standard_errors, rtol=1e-6)


def test_what_is_not_known_stays_so():
    found = reparameterized(of_actuator(COMMAND - MEAN, INSTANTS - 3.0, 0.25, max_delay=0.02), MATRIX, SHIFT)
    assert found.bounded == ("delay",)
    assert np.isnan(found.standard_errors[1]) and np.isfinite(found.standard_errors[[0, 2, 3]]).all()
    # the gain is part of the offset, and of nothing else
    covariance = found.covariance.copy()
    covariance[0], covariance[:, 0], covariance[0, 0] = np.nan, np.nan, np.inf
    lost = reparameterized(replace(found, covariance=covariance), MATRIX, SHIFT)
    assert lost.unidentified == ("gain", "beta_1")
    assert lost.standard_errors[3] == pytest.approx(found.standard_errors[3])
    assert np.isnan(lost.covariance[0, 3]) and np.isnan(lost.covariance[2, 3])
