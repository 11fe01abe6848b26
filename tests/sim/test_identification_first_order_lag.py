"""The lag of a cubic spline, against a solver of the differential equation that knows nothing of splines' pieces."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline

from sim.identification.first_order_lag import lagged

SAMPLES = np.cumsum(np.random.default_rng(4).standard_normal(60))
CURVE = CubicSpline(np.arange(60), SAMPLES)
PIECES = np.array([CURVE(np.arange(59), derivative) for derivative in range(4)])
PIECES[3] = 6.0 * CURVE.c[0]


def solved(lag, instants):
    """z, and its derivative by the lag, of lag z' + z = u."""

    def rate(t, state):
        z, by_lag = state
        speed = (CURVE(t) - z) / lag
        return [speed, -(speed + by_lag) / lag]

    found, values = np.array([CURVE(0.0), 0.0]), []
    # the third derivative jumps at every sample: no step goes across
    for begin, end in zip(np.append(0.0, instants[:-1]), instants, strict=True):
        stops = [begin, *np.arange(np.floor(begin) + 1, np.ceil(end)), end]
        for start, stop in pairwise(stops):
            found = solve_ivp(rate, (start, stop), found, "Radau", rtol=1e-9, atol=1e-11).y[:, -1]
        values.append(found)
    return np.array(values).T


@pytest.mark.parametrize("lag", [0.3, 2.5, 40.0])
def test_it_solves_the_differential_equation(lag):
    which, within = slice(4, 40, 5), 0.37
    instants = np.arange(59)[which] + within
    z, by_lag = solved(lag, instants)
    found = lagged(PIECES, lag, which, within)
    np.testing.assert_allclose(found.value, z, atol=1e-7)
    np.testing.assert_allclose(found.by_lag, by_lag, atol=1e-6)
    np.testing.assert_allclose(found.by_time, (CURVE(instants) - z) / lag, atol=1e-6 / lag)


@pytest.mark.parametrize("within", [0.0, 0.6])
def test_no_lag_is_the_curve(within):
    instants = np.arange(59) + within
    found = lagged(PIECES, 0.0, slice(0, 59), within)
    np.testing.assert_allclose(found.value, CURVE(instants), atol=1e-12)
    np.testing.assert_allclose(found.by_time, CURVE(instants, 1), atol=1e-12)
    np.testing.assert_allclose(found.by_lag, -CURVE(instants, 1), atol=1e-12)


def test_a_short_lag_joins_a_longer_one():
    below, above = (lagged(PIECES, lag, slice(5, 59), 0.5) for lag in (0.000999, 0.001001))
    for name in ("value", "by_time", "by_lag"):
        np.testing.assert_allclose(getattr(below, name), getattr(above, name), atol=1e-4)
    middle = lagged(PIECES, 0.001, slice(5, 59), 0.5).by_lag
    np.testing.assert_allclose((above.value - below.value) / 2e-6, middle, rtol=1e-5, atol=1e-6)
