"""The sampler beside a posterior in closed form, and the errors where there is none."""

import sys

import numpy as np
import pytest
from scipy.stats import norm

from sim.fitting.intervals import sample_posterior
from tests.oracles.linear_model import LinearModel

TIME = np.linspace(0.0, 2.0, 30)
MATRIX = np.column_stack([np.ones(30), TIME])
SIGMA = 0.5
LINE = LinearModel(MATRIX, ("offset", "slope"))
OBSERVED = 1.0 + 0.4 * TIME + SIGMA * np.random.default_rng(2).standard_normal(30)


def sampled(**settings):
    given = {"priors": {}, "n_steps": 2000} | settings
    return sample_posterior(LINE, OBSERVED, np.array([1.0, 0.4]), np.array([0.1, 0.1]), **given)


def test_normal_priors_and_a_known_error_give_a_normal_posterior():
    pytest.importorskip("emcee")
    found = sampled(priors={"slope": norm(0.0, 0.1)}, sigma=SIGMA)
    precision = MATRIX.T @ MATRIX / SIGMA**2 + np.diag([0.0, 1.0 / 0.1**2])
    covariance = np.linalg.inv(precision)
    mean = covariance @ (MATRIX.T @ OBSERVED) / SIGMA**2
    spread = np.sqrt(np.diag(covariance))
    independent = found.samples.shape[0] / found.autocorrelation
    assert found.enough and 0.3 < found.acceptance < 0.9
    assert (np.abs(found.mean - mean) < 5.0 * spread / np.sqrt(independent)).all()
    np.testing.assert_allclose(found.covariance, covariance, atol=0.1 * np.outer(spread, spread).max())
    assert found.of("slope").std() < 0.1


@pytest.mark.slow
def test_an_unknown_error_is_integrated_out():
    pytest.importorskip("emcee")
    # Student's distribution about least squares, with n - p degrees of freedom; 1/sigma and flat priors give n - p
    found = sampled()
    estimate, squares = np.linalg.lstsq(MATRIX, OBSERVED)[:2]
    variance = squares[0] / 28.0 * np.linalg.inv(MATRIX.T @ MATRIX) * 28.0 / 26.0
    independent = found.samples.shape[0] / found.autocorrelation
    assert (np.abs(found.mean - estimate) < 5.0 * np.sqrt(np.diag(variance) / independent)).all()
    np.testing.assert_allclose(np.diag(found.covariance), np.diag(variance), rtol=0.1)


def test_repeated_observations_and_what_is_possible():
    pytest.importorskip("emcee")
    repeated, start, spread = np.tile(OBSERVED, (4, 1)), np.array([1.0, 0.2]), np.array([0.1, 0.1])

    def posterior():
        return sample_posterior(
            *(LINE, repeated, start, spread, {}), sigma=SIGMA, support=lambda p: p[:, 1] < 0.3, n_steps=600
        )

    found = posterior()
    assert found.of("slope").max() < 0.3
    np.testing.assert_array_equal(found.samples, posterior().samples)


def test_mistakes_are_told():
    pytest.importorskip("emcee")
    with pytest.raises(ValueError, match="priors of speed: the parameters are offset, slope"):
        sampled(priors={"speed": norm()})
    with pytest.raises(ValueError, match="the start must be possible"):
        sampled(support=lambda p: p[:, 0] > 2.0)


def test_without_the_sampler_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "emcee", None)
    with pytest.raises(ValueError, match=r"needs emcee: pip install synchroscope\[bayes\]"):
        sampled()
