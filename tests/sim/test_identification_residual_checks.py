"""The checks of residuals: silent where all is well, and each finds what it is for."""

import numpy as np
import pytest
from scipy.stats import kstest, kurtosistest, skewtest

from sim.fitting.fit import check_residuals, fit
from sim.fitting.model_responses import DelayResponse
from sim.models.delay_equation import DelayEquation

TIME = np.linspace(0.0, 3.0, 151)


def noise(sigma, *shape, seed=1):
    return sigma * np.random.default_rng(seed).standard_normal(shape)


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
