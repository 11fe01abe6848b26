"""Covariances of estimates: beside theory, and whether so many intervals hold the truth as they say."""

import numpy as np
import pytest
from scipy.linalg import toeplitz
from scipy.signal import lfilter
from scipy.stats import t as student

from sim.fitting.fit import fit, fit_many
from sim.fitting.intervals import profile
from sim.fitting.model_responses import DelayResponse
from sim.models.delay_equation import DelayEquation
from tests.oracles.linear_model import LinearModel

TIME = np.linspace(0.0, 3.0, 151)


def linear(*columns, lower=-np.inf):
    return LinearModel(np.column_stack(columns), lower=lower)


def noise(sigma, *shape, seed=1):
    return sigma * np.random.default_rng(seed).standard_normal(shape)


def test_only_what_the_data_do_not_tell_apart_has_no_error():
    one, ramp = np.ones(151), 1e3 * TIME
    observed = 1.0 + 2.0 * TIME + noise(0.1, 151)
    model = linear(one, ramp, one, np.zeros(151))
    found = fit(model, observed, np.zeros(4))
    # a and c stand for the same, d for nothing; b is known as if there were one of a and c
    alone = np.column_stack([one, ramp])
    (_, slope), squares, *_ = np.linalg.lstsq(alone, observed)
    error = np.sqrt(squares[0] / 149.0 * np.linalg.inv(alone.T @ alone)[1, 1])
    assert found.unidentified == ("a", "c", "d") and found.bounded == ()
    assert (found.of("b"), found.standard_errors[1]) == pytest.approx((slope, error))
    assert found.degrees_of_freedom == 149 and found.sigma == pytest.approx(np.sqrt(squares[0] / 149.0))
    assert np.isinf(found.standard_errors[[0, 2, 3]]).all() and found.correlation[1, 1] == pytest.approx(1.0)
    assert "c is not determined by the data" in found.doubts()
    assert np.isinf(np.diag(found.correlated_covariance)[[0, 2, 3]]).all()
    # the profile copes: the one as in a linear model, the others without an end
    reach = student.ppf(0.975, 149) * error
    assert profile(model, observed, found, "b").interval() == pytest.approx((slope - reach, slope + reach), rel=1e-3)
    assert profile(model, observed, found, "d").interval() == (-np.inf, np.inf)


def test_a_delay_longer_than_the_record_leaves_the_others_as_they_are():
    truth = DelayEquation(-1.7, 0.0, 0.3, delay=5.0)
    observed = truth.response(TIME) + noise(0.05, 4, 151)
    model = DelayResponse(TIME, truth, ("q0", "q1", "omega", "delay"))
    ordinary = DelayResponse(TIME, truth, ("q0", "omega"))
    start = np.array([-1.0, 0.5, 0.0, 5.0])
    found, expected = fit_many(model, observed, start), fit_many(ordinary, observed, start[[0, 2]])
    np.testing.assert_allclose(found.parameters[:, [0, 2]], expected.parameters, atol=1e-5)
    np.testing.assert_allclose(found.standard_errors[:, [0, 2]], expected.standard_errors, rtol=1e-4)
    assert np.isinf(found.standard_errors[:, [1, 3]]).all() and found.converged.all()
    one = fit(model, observed[0], start)
    assert one.unidentified == ("q1", "delay") and one.of("q1") == 0.5 and one.of("delay") == 5.0
    # where the data tell nothing there are no different minima
    assert len(fit(model, observed[0], np.array([start, [-2.0, 0.3, 0.1, 7.0]])).minima) == 1
    low, high = profile(model, observed[0], one, "q0").interval()
    assert low < one.of("q0") < high and np.isfinite([low, high]).all()
    assert profile(model, observed[0], one, "q1").interval() == (-np.inf, np.inf)


def test_of_what_stands_at_a_bound_no_error_is_known():
    model = linear(np.ones(151), TIME, lower=0.0)
    observed = 1.0 - 0.01 * TIME + noise(0.1, 151)
    found = fit(model, observed, np.ones(2))
    assert found.of("b") == 0.0 and found.bounded == ("b",) and found.unidentified == ()
    assert np.isnan(found.standard_errors[1]) and np.isnan(found.correlation[0, 1])
    # the other's is that of a mean
    deviation = np.sqrt(np.sum((observed - observed.mean()) ** 2) / 149.0)
    assert found.standard_errors[0] == pytest.approx(deviation / np.sqrt(151.0))
    many = fit_many(model, observed[None], np.ones(2))
    assert many.at_bound.tolist() == [[False, True]] and np.isnan(many.standard_errors[0, 1])
    # the profile goes from the bound to where a line without one would lose as much from there
    low, high = profile(model, observed, found, "b").interval()
    centred = TIME - TIME.mean()
    slope = centred @ observed / (centred @ centred)
    least = np.sum((observed - observed.mean()) ** 2) - slope**2 * (centred @ centred)
    limit = found.sum_of_squares + (student.ppf(0.975, 149) * found.sigma) ** 2
    assert low == 0.0
    assert high == pytest.approx(slope + np.sqrt((limit - least) / (centred @ centred)), rel=0.02)


def test_a_fit_without_residuals_has_no_spread():
    model = linear(np.ones(8), np.arange(8.0))
    found = fit(model, np.zeros(8), np.zeros(2))
    assert found.sigma == 0.0 and found.standard_errors.tolist() == [0.0, 0.0]
    assert profile(model, np.zeros(8), found, "a").interval() == (-np.inf, np.inf)


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


@pytest.mark.parametrize(
    ("motion", "duration", "correlation_time"),
    [
        (pulse, 8.0, 0.05),
        (earthquake, 4.0, 0.2),
        pytest.param(earthquake, 8.0, 0.05, marks=pytest.mark.slow),
        pytest.param(sine, 8.0, 0.05, marks=pytest.mark.slow),
        pytest.param(pulse, 4.0, 0.2, marks=pytest.mark.slow),
        pytest.param(sine, 4.0, 0.2, marks=pytest.mark.slow),
    ],
)
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
