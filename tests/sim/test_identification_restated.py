"""A fit in other parameters is the fit that would have been made in them."""

from dataclasses import replace

import numpy as np
import pytest

from sim.fitting.actuator_response import ActuatorResponse
from sim.fitting.fit import fit, reparameterized
from sim.fitting.regression import PolynomialDiscrepancy

DT, MEAN = 0.004, 0.3
TIME = DT * np.arange(1500)
COMMAND = sum(np.sin(2 * np.pi * f * TIME + f**2) for f in (0.7, 1.9, 3.1)) + MEAN
# those of the second are gain and delay, and the offset at time zero without the command's mean
MATRIX = np.array([[1.0, 0, 0, 0], [0, 1, 0, 0], [-MEAN, 0, 1, -3.0], [0, 0, 0, 1]])
SHIFT = np.array([0.0, 0.0, 0.25, 0.0])


def fitted(command, time, shift, **settings):
    actuator = ActuatorResponse(command, DT, **settings)
    noise = 1e-2 * np.random.default_rng(3).standard_normal(len(TIME))
    measured = 0.8 * np.roll(COMMAND, 6) + noise + 0.1 * TIME - shift
    model = PolynomialDiscrepancy(actuator, time[actuator.rows], 2)
    return fit(model, measured[actuator.rows], np.array([[0.8, 0.024, 0.0, 0.0]]))


def test_it_is_the_fit_of_the_others():
    direct = fitted(COMMAND, TIME, 0.0)
    found = reparameterized(fitted(COMMAND - MEAN, TIME - 3.0, 0.25), MATRIX, SHIFT)
    np.testing.assert_allclose(found.parameters, direct.parameters, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(found.minima_at, direct.minima_at, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(found.covariance, direct.covariance, rtol=1e-6, atol=1e-16)
    np.testing.assert_allclose(found.standard_errors, direct.standard_errors, rtol=1e-6)


def test_what_is_not_known_stays_so():
    found = reparameterized(fitted(COMMAND - MEAN, TIME - 3.0, 0.25, max_delay=0.02), MATRIX, SHIFT)
    assert found.bounded == ("delay",)
    assert np.isnan(found.standard_errors[1]) and np.isfinite(found.standard_errors[[0, 2, 3]]).all()
    # the gain is part of the offset, and of nothing else
    covariance = found.covariance.copy()
    covariance[0], covariance[:, 0], covariance[0, 0] = np.nan, np.nan, np.inf
    lost = reparameterized(replace(found, covariance=covariance), MATRIX, SHIFT)
    assert lost.unidentified == ("gain", "beta_1")
    assert lost.standard_errors[3] == pytest.approx(found.standard_errors[3])
    assert np.isnan(lost.covariance[0, 3]) and np.isnan(lost.covariance[2, 3])
