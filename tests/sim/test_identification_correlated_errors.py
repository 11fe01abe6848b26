"""Standard errors for autocorrelated errors: whether so many of their intervals hold the truth as they say."""

import numpy as np
import pytest
from scipy.linalg import toeplitz
from scipy.signal import lfilter
from scipy.stats import t as student

from sim.identification.fit import fit
from tests.oracles.linear_model import LinearModel

RATE = 250.0


def followed(motion, duration):
    """What an actuator's gain, delay and offset do to a motion, all of size one."""
    time = np.arange(int(duration * RATE)) / RATE
    columns = np.column_stack([motion(time), motion(time + 1e-4) - motion(time - 1e-4), np.ones(len(time))])
    return LinearModel(columns / np.abs(columns).max(axis=0))


def errors_of(number, n, correlation_time, seed=5):
    decay = np.exp(-1.0 / (RATE * correlation_time))
    white = np.random.default_rng(seed).standard_normal((number, n + 500))
    return np.sqrt(1.0 - decay**2) * lfilter([1.0], [1.0, -decay], white, axis=1)[:, 500:]


def pulse(time):
    return np.exp(-(((time - 3.0) / 0.15) ** 2))


def earthquake(time):
    return np.exp(-(((time - 3.0) / 1.2) ** 2)) * (np.sin(8.2 * time) + 0.6 * np.sin(23.2 * time))


def sine(time):
    return np.sin(2.0 * np.pi * time)


def fits_of(motion, duration, correlation_time, number=250):
    model = followed(motion, duration)
    found = [fit(model, each, np.zeros(3)) for each in errors_of(number, len(model.matrix), correlation_time)]
    return [each for each in found if np.isfinite(each.correlated_degrees_of_freedom)]


@pytest.mark.parametrize("motion", [pulse, earthquake, sine])
@pytest.mark.parametrize(("duration", "correlation_time"), [(8.0, 0.05), (4.0, 0.2)])
def test_as_many_intervals_hold_the_truth_as_are_said_to(motion, duration, correlation_time):
    fits = fits_of(motion, duration, correlation_time)
    told = [each for each in fits if np.isfinite(each.correlated_standard_errors).all()]
    # a record of twenty correlation times has none in some cases; what is told must hold in the others all the same
    assert len(told) > 0.8 * len(fits)
    holds = np.array([(each.intervals()[:, 0] < 0.0) & (each.intervals()[:, 1] > 0.0) for each in told])
    # of 250 one per cent and a half is a standard error; the worst is the offset, the mean of twenty errors
    gain, delay, offset = holds.mean(axis=0)
    assert gain > 0.9 and delay > 0.9 and offset > (0.85 if duration < 20.0 * correlation_time + 1.0 else 0.9)
    white = np.array([np.abs(each.parameters) < 1.96 * each.standard_errors for each in told])
    assert white[:, 1].mean() < 0.85


def test_it_is_the_sandwich_of_the_residuals_own_autocovariances():
    model = followed(pulse, 8.0)
    observed = errors_of(1, len(model.matrix), 0.05)[0]
    found = fit(model, observed, np.zeros(3))
    n, residual = len(observed), found.residuals[0]
    gamma = np.array([residual[lag:] @ residual[: n - lag] for lag in range(n)]) / n
    gamma[int(np.argmax(gamma <= 0.0)) :] = 0.0
    inverse = np.linalg.inv(model.matrix.T @ model.matrix)
    effective = n * gamma[0] / (2.0 * gamma.sum() - gamma[0])
    expected = inverse @ model.matrix.T @ toeplitz(gamma) @ model.matrix @ inverse * effective / (effective - 3.0)
    # the rest of the smaller: negative powers, which a cut leaves, are none
    np.testing.assert_allclose(found.correlated_standard_errors[:2], np.sqrt(np.diag(expected))[:2], rtol=0.02)
    assert found.correlated_degrees_of_freedom == pytest.approx(effective - 3.0)
    reach = student.ppf(0.95, effective - 3.0) * found.correlated_standard_errors
    np.testing.assert_allclose(found.intervals(0.9)[:, 1], found.parameters + reach)


def test_errors_that_grow_with_the_motion_make_them_larger():
    model = followed(earthquake, 20.0)
    errors = errors_of(60, len(model.matrix), 0.05) * (0.2 + np.abs(model.matrix[:, 0]))
    fits = [fit(model, each, np.zeros(3)) for each in errors]
    z = [each.parameters[1] / each.correlated_standard_errors[1] for each in fits]
    # a stationary error of the same size would have it at more than two
    assert np.std(z) < 1.7


def test_too_few_independent_errors_tell_nothing():
    model = followed(sine, 4.0)
    drift = fit(model, 0.01 * np.arange(1000.0) + 1e-3 * errors_of(1, 1000, 0.05)[0], np.zeros(3))
    assert np.isnan(drift.correlated_covariance).all() and np.isnan(drift.intervals()).all()
    assert drift.correlated_degrees_of_freedom < 5.0 and np.isfinite(drift.standard_errors).all()


def test_no_standard_error_is_less_than_that_of_white_errors():
    model = followed(pulse, 8.0)
    for observed in np.random.default_rng(2).standard_normal((20, 2000)):
        found = fit(model, observed, np.zeros(3))
        assert (found.correlated_standard_errors >= found.standard_errors * (1.0 - 1e-12)).all()
    exact = fit(model, model.matrix @ np.array([1.0, 0.0, 0.0]), np.array([1.0, 0.0, 0.0]))
    assert (exact.correlated_standard_errors < 1e-12).all()
