"""What a fit does not know: null directions, bounds, delays longer than the record; and its profile then."""

import numpy as np
import pytest
from scipy.stats import t as student

from sim.identification.delay_response import DelayResponse
from sim.identification.fit import fit
from sim.identification.many_fits import fit_many
from sim.identification.profile import profile
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
