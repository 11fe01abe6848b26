"""Gaussian processes: the factor against the covariance as defined, and samples against the law they must have."""

import math
import pickle

import numpy as np
import pytest
import scipy.optimize
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.models.beam import GaussianProcess, squared_exponential

TIME = np.arange(251) * 0.02


def exponential(lag):
    return np.exp(-3.0 * np.abs(lag))


def defined(time, deviation, rate):
    """The covariance of eqs. 30 and 31, entry by entry."""
    return np.array([[deviation**2 * math.exp(-((rate * (a - b)) ** 2)) for b in time] for a in time])


@pytest.mark.parametrize("rate", [2.0, 8.0])
def test_the_square_of_the_factor_is_the_covariance(rate):
    process = GaussianProcess(0.0, 100.0, squared_exponential(rate))
    wanted = defined(TIME, 100.0, rate)
    np.testing.assert_allclose(process.covariance(TIME), wanted, atol=1e-8)
    factor = process.on(TIME).factor
    # no entry can be wrong by more than all the variance that is left out
    np.testing.assert_allclose(factor @ factor.T, wanted, atol=1.1e-12 * 251 * 100.0**2, rtol=0.0)
    assert process.on(TIME).terms == factor.shape[1] < 0.6 * len(TIME)


@given(st.integers(1, 40), st.floats(0.0, 50.0), st.floats(0.1, 30.0), st.integers(0, 2**32 - 1))
@settings(max_examples=150, deadline=None)
def test_little_variance_is_left_out_at_any_times(n, deviation, rate, seed):
    time = np.sort(np.random.default_rng(seed).uniform(0.0, 3.0, n))
    wanted = defined(time, deviation, rate)
    factor = GaussianProcess(0.0, deviation, squared_exponential(rate)).on(time).factor
    left = wanted - factor @ factor.T
    bound = (1e-12 + 1e-14 * n) * np.trace(wanted)
    assert -1e-13 * np.trace(wanted) <= np.trace(left) <= bound
    assert np.max(np.abs(left)) <= bound


def test_there_is_no_term_too_many():
    terms = GaussianProcess(0.0, 1.0, squared_exponential(8.0)).on(TIME).terms
    values = np.linalg.eigvalsh(defined(TIME, 1.0, 8.0))[::-1]
    allowed = 1e-12 * len(TIME)
    # one less would leave out too much
    assert np.sum(values[terms:]) <= 1.01 * allowed < 1.02 * np.sum(values[terms - 1 :])


def test_the_terms_are_those_of_the_integral_equation():
    """exp(-c|lag|) on [0, T] has eigenvalues 2c/(w^2 + c^2), (w^2 - c^2) tan(wT) = 2cw: Ghanem and Spanos, 2.3.3."""
    n, c, span = 500, 3.0, 2.0
    middles = (np.arange(n) + 0.5) * span / n
    factor = GaussianProcess(0.0, 1.0, exponential).on(middles).factor
    squares = np.sum(factor**2, axis=0)

    def condition(w):
        return (w**2 - c**2) * math.sin(w * span) - 2.0 * c * w * math.cos(w * span)

    grid = np.arange(1, 6000) * 0.005 + 0.001
    signs = np.sign([condition(w) for w in grid])
    roots = [scipy.optimize.brentq(condition, grid[i], grid[i + 1]) for i in np.flatnonzero(np.diff(signs))]
    exact = 2.0 * c / (np.array(roots[:6]) ** 2 + c**2)
    # a sum over middles in the place of the integral is off by (c span / n)^2, and by more at a corner
    np.testing.assert_allclose(squares[:6] * span / n, exact, rtol=1e-3)
    # orthogonal, the largest first
    np.testing.assert_allclose(factor.T @ factor, np.diag(squares), atol=1e-9)
    assert np.all(np.diff(squares) <= 1e-12)


def test_samples_have_the_law_within_four_standard_errors():
    number, deviation = 20_000, 20.0
    process = GaussianProcess(lambda t: 450.0 + 30.0 * t, deviation, squared_exponential(2.0))
    time = TIME[::25]
    paths = process.sample(time, np.random.default_rng(5), number)
    assert paths.shape == (11, number) and paths.flags.c_contiguous and paths.dtype == np.float64
    mean = 450.0 + 30.0 * time
    assert np.all(np.abs(paths.mean(axis=1) - mean) < 4.0 * deviation / math.sqrt(number))
    wanted = defined(time, deviation, 2.0)
    residual = paths - mean[:, None]
    # the error of a covariance of normal variables: sqrt((C_ii C_jj + C_ij^2) / number)
    error = np.sqrt((deviation**4 + wanted**2) / number)
    assert np.all(np.abs(residual @ residual.T / number - wanted) < 4.0 * error)
    for row in residual:
        assert scipy.stats.kstest(row / deviation, "norm").pvalue > 1e-4


def test_the_same_generator_gives_the_same_paths():
    process = GaussianProcess(3.0, 2.0, squared_exponential(3.0))
    paths = [process.sample(TIME, np.random.default_rng(seed), 4) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(paths[0], paths[1])
    assert np.max(np.abs(paths[0] - paths[2])) > 0.1
    again = pickle.loads(pickle.dumps(process)).sample(TIME, np.random.default_rng(1), 4)
    np.testing.assert_array_equal(again, paths[0])


def test_rounding_turns_no_path_over():
    """An antisymmetric eigenvector has two largest entries: which one is larger changes with a library's threads."""
    time = np.arange(200) * 0.04
    paths = [
        GaussianProcess(0.0, 1.0 + rounding, squared_exponential(2.0)).sample(time, np.random.default_rng(1), 4)
        for rounding in np.arange(4) * 1e-13
    ]
    for path in paths[1:]:
        np.testing.assert_allclose(path, paths[0], atol=1e-6)


def test_nothing_random_without_a_deviation():
    process = GaussianProcess(np.sin, 0.0, squared_exponential(3.0))
    assert process.on(TIME).terms == 0
    np.testing.assert_array_equal(
        process.sample(TIME, np.random.default_rng(1), 2), np.sin(TIME)[:, None] * [1.0, 1.0]
    )


def test_white_noise_has_as_many_terms_as_times():
    def white(lag):
        return np.where(lag == 0.0, 1.0, 0.0)

    process = GaussianProcess(0.0, 2.0, white).on(TIME[:30])
    assert process.terms == 30
    np.testing.assert_allclose(process.factor @ process.factor.T, 4.0 * np.eye(30), atol=1e-12)


def test_what_is_no_correlation_is_refused():
    def boxcar(lag):
        return np.where(np.abs(lag) < 0.05, 1.0, 0.0)

    def refused(correlation):
        with pytest.raises(ValueError, match=r"^excitation correlation: [^\n]*$") as refusal:
            GaussianProcess(0.0, 1.0, correlation).on(TIME)
        return str(refusal.value)

    assert "positive definite" in refused(boxcar)
    for wrong in (lambda lag: 0.5 * exponential(lag), np.exp, np.sum, lambda lag: np.where(lag > 1.0, np.nan, 1.0)):
        assert "at no lag" in refused(wrong)


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"standard_deviation": -1.0}, "standard_deviation -1.0"),
        ({"standard_deviation": math.nan}, "standard_deviation nan"),
    ],
)
def test_settings_out_of_range_are_refused_in_one_line(settings, word):
    right = {"mean": 0.0, "standard_deviation": 1.0, "correlation": exponential}
    with pytest.raises(ValueError, match=f"^excitation {word}: must be [^\n]*$"):
        GaussianProcess(**(right | settings))


@pytest.mark.parametrize("rate", [0.0, -1.0, math.inf, math.nan])
def test_a_rate_that_is_none_is_refused(rate):
    with pytest.raises(ValueError, match=r"^excitation rate [^\n]*: must be a positive number$"):
        squared_exponential(rate)


class UnitVectors:
    """In place of a generator: each realization has one normal number of 1 and no other."""

    def standard_normal(self, shape):
        assert math.prod(shape[:-1]) == shape[-1]
        return np.eye(shape[-1]).reshape(shape)


@pytest.mark.parametrize("correlation", [squared_exponential(2.0), squared_exponential(8.0), exponential])
@pytest.mark.parametrize("n", [150, 251])
def test_the_process_on_a_circle_has_the_covariance_of_the_definition(correlation, n):
    time = 1.5 + TIME[:n]
    process = GaussianProcess(lambda t: 7.0 * t, 3.0, correlation).evenly(time)
    paths = process.sample(UnitVectors(), process.terms) - 7.0 * time[:, None]
    wanted = np.array([[9.0 * float(correlation(a - b)) for b in time] for a in time])
    np.testing.assert_allclose(paths @ paths.T, wanted, atol=1e-10)
    assert process.terms <= 2 * n
    np.testing.assert_array_equal(process.mean, 7.0 * time)


def test_the_process_on_a_circle_of_many_instants_has_its_variance_and_leaves_out_what_is_nothing():
    time = np.arange(3001) * 0.02
    process = GaussianProcess(0.0, 2.0, squared_exponential(2.0)).evenly(time)
    assert process.terms < 0.5 * len(time)
    paths = process.sample(np.random.default_rng(1), 40)
    # 40 paths of about 60 independent values
    assert np.std(paths) == pytest.approx(2.0, rel=0.06)
    lag = np.mean(paths[25:] * paths[:-25]) / 4.0
    assert lag == pytest.approx(math.exp(-1.0), abs=0.06)
    same = process.sample(np.random.default_rng(1), 40)
    np.testing.assert_array_equal(paths, same)


def test_a_circle_refuses_what_is_no_correlation():
    for wrong in (lambda lag: 0.5 * exponential(lag), np.exp, np.sum, lambda lag: np.where(lag > 1.0, np.nan, 1.0)):
        with pytest.raises(ValueError, match=r"^excitation correlation: [^\n]* at no lag$"):
            GaussianProcess(0.0, 1.0, wrong).evenly(TIME)
    with pytest.raises(ValueError, match=r"^excitation correlation: must be positive definite"):
        GaussianProcess(0.0, 1.0, lambda lag: np.where(np.abs(lag) < 0.05, 1.0, 0.0)).evenly(TIME)
    # correlated from one end to the other
    with pytest.raises(ValueError, match=r"on a circle of twice the time"):
        GaussianProcess(0.0, 1.0, squared_exponential(2.0)).evenly(TIME[:10])
