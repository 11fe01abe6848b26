"""Lognormal variables against scipy's, a quadrature and their own samples."""

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from sim.ensembles import Lognormal

MEANS = st.floats(1e-6, 1e6)
VARIATIONS = st.floats(1e-3, 3.0)


@given(MEANS, VARIATIONS)
def test_the_variable_has_the_mean_and_deviation_asked_for(mean, variation):
    variable = Lognormal(mean, variation * mean)
    exact = scipy.stats.lognorm(variable.log_standard_deviation, scale=math.exp(variable.log_mean))
    assert exact.mean() == pytest.approx(mean, rel=1e-12)
    assert exact.std() == pytest.approx(variation * mean, rel=1e-9)
    assert variable.at(0.0) == pytest.approx(exact.median(), rel=1e-12)


@given(MEANS, st.floats(1e-15, 1e-6))
def test_a_small_variation_is_that_of_the_logarithm(mean, variation):
    # to first order, where scipy's own variance is all rounding
    assert Lognormal(mean, variation * mean).log_standard_deviation == pytest.approx(variation, rel=1e-11)


@given(MEANS, st.floats(0.0, 0.3))
def test_quadrature_nodes_carry_the_moments(mean, variation):
    nodes, weights = np.polynomial.hermite_e.hermegauss(30)
    weights = weights / np.sum(weights)
    values = Lognormal(mean, variation * mean).at(nodes)
    assert values.shape == nodes.shape
    assert weights @ values == pytest.approx(mean, rel=1e-12)
    assert math.sqrt(weights @ (values - mean) ** 2) == pytest.approx(variation * mean, rel=1e-9, abs=1e-12 * mean)


def test_samples_have_the_law_within_four_standard_errors():
    number, variable = 100_000, Lognormal(0.2, 0.05)
    sample = variable.sample(np.random.default_rng(3), number)
    assert sample.shape == (number,) and np.all(sample > 0.0)
    logs = np.log(sample)
    # 0.25 of variation: the logarithm's variance is ln(1 + 1/16), its mean ln(0.2 / sqrt(1 + 1/16))
    spread = math.sqrt(math.log(1.0625))
    assert abs(np.mean(logs) - math.log(0.2 / math.sqrt(1.0625))) < 4.0 * spread / math.sqrt(number)
    assert abs(np.std(logs) - spread) < 4.0 * spread / math.sqrt(2.0 * number)
    assert abs(np.mean(sample) - 0.2) < 4.0 * 0.05 / math.sqrt(number)
    assert scipy.stats.kstest((logs - np.mean(logs)) / np.std(logs), "norm").pvalue > 1e-3


def test_a_variable_without_deviation_is_certain():
    certain = Lognormal(5000.0, 0.0)
    np.testing.assert_allclose(certain.sample(np.random.default_rng(1), 5), 5000.0, rtol=1e-15)


@pytest.mark.parametrize(
    ("mean", "deviation", "word"),
    [
        (0.0, 1.0, "mean 0.0: must be a positive number"),
        (-2.0, 1.0, "mean -2.0: must be a positive number"),
        (math.nan, 1.0, "mean nan: must be a positive number"),
        (1.0, -0.1, "standard_deviation -0.1: must be zero or more"),
        (1.0, math.inf, "standard_deviation inf: must be zero or more"),
    ],
)
def test_numbers_out_of_range_are_refused_in_one_line(mean, deviation, word):
    with pytest.raises(ValueError, match=f"^lognormal {word}$"):
        Lognormal(mean, deviation)
