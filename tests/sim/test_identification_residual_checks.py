"""The checks of residuals: silent where all is well, and each finds what it is for."""

import numpy as np
import pytest
from scipy.stats import kstest

from sim.identification.delay_response import DelayResponse
from sim.identification.fit import fit
from sim.identification.residual_checks import check_residuals
from sim.models.delay_equation import DelayEquation

TIME = np.linspace(0.0, 3.0, 151)


def noise(sigma, *shape, seed=1):
    return sigma * np.random.default_rng(seed).standard_normal(shape)


def test_the_checks_of_good_residuals_are_uniform():
    checks = [check_residuals(noise(0.3, 1, 151, seed=seed), 3, 0.3) for seed in range(300)]
    for name in ("mean", "independence", "normality", "deviation"):
        assert kstest([getattr(each, name) for each in checks], "uniform").pvalue > 1e-3
    assert np.isnan(check_residuals(noise(0.3, 1, 151), 3).deviation)
    # four tests at 1 %
    assert sum(bool(each.doubts()) for each in checks) < 25


def test_the_checks_find_what_is_wrong():
    good = noise(0.3, 1, 400, seed=4)
    assert check_residuals(good, 2, 0.3).doubts() == ()
    assert check_residuals(good + 0.1, 2).doubts()[0] == "the residuals' mean is not zero"
    assert "not as large" in check_residuals(good, 2, 0.2).doubts()[-1]
    assert check_residuals(good**3, 2).doubts() == ("the residuals are not normal",)
    # the model that has no disturbance does not describe what has one
    observed = DelayEquation(-1.7, 0.0, 2.55).response(TIME) + noise(0.1, 151)
    alone = fit(DelayResponse(TIME, DelayEquation(-1.0), ("q0",)), observed, np.array([-1.0]))
    assert "leaves something out" in alone.checks.doubts()[0] and alone.of("q0") == pytest.approx(-0.63, abs=0.05)
