"""Eq. 2 against Table 2, the half-space with its mirror images, and the energy that went in."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import erfc

from sim.models.thermal_slab import SlabTest, series_temperature
from sim.models.thermal_tables import CHECK, check_values, configurations

TEST = SlabTest(3500.0, 0.019)
K, CAPACITY = 0.06, 4e5
PROPERTIES = st.tuples(st.floats(0.03, 0.12), st.floats(2e5, 6e5))


def half_space(time, k, capacity, x):
    """A half-space under a flux of 1 (Carslaw and Jaeger, 2.9)."""
    alpha = k / capacity
    root = np.sqrt(alpha * time)
    return (
        2.0 / k * (root / math.sqrt(math.pi) * np.exp(-((x / (2.0 * root)) ** 2)) - 0.5 * x * erfc(x / (2.0 * root)))
    )


def mirrored(test, time, k, capacity, share):
    """The slab as a half-space with sources at all mirror images of its front."""
    x, thickness = share * test.thickness, test.thickness
    images = sum(
        half_space(time, k, capacity, 2.0 * n * thickness + x)
        + half_space(time, k, capacity, 2.0 * (n + 1) * thickness - x)
        for n in range(12)
    )
    return test.initial_temperature + test.flux * images


def test_table_2_to_the_last_printed_digit():
    known = check_values()
    found = series_temperature(configurations()[CHECK], known.time, 0.05, 0.4e6)
    np.testing.assert_allclose(found, known.temperature, atol=5e-7, rtol=0.0)


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 1.0])
def test_the_series_is_the_mirrored_half_space(share):
    time = np.array([1.0, 10.0, 50.0, 300.0, 1000.0, 3000.0])
    found = series_temperature(TEST, time, K, CAPACITY, share, n_terms=200)[:, 0]
    np.testing.assert_allclose(found, mirrored(TEST, time, K, CAPACITY, share), rtol=1e-10)


@given(PROPERTIES, st.sampled_from([0.0, 0.5, 1.0]))
def test_six_terms_are_enough_from_where_it_is_said(properties, share):
    k, capacity = properties
    time = np.array([1.0, 3.0, 20.0]) * 0.02 * TEST.thickness**2 * capacity / k
    found = series_temperature(TEST, time, k, capacity, share)[:, 0]
    scale = TEST.flux * TEST.thickness / k
    np.testing.assert_allclose(found, mirrored(TEST, time, k, capacity, share), atol=1e-6 * scale, rtol=0.0)
    early = 0.002 * TEST.thickness**2 * capacity / k
    enough = math.ceil(1.2 / math.sqrt(0.002))
    found = series_temperature(TEST, early, k, capacity, share, n_terms=enough)[0, 0]
    assert found == pytest.approx(mirrored(TEST, early, k, capacity, share), abs=1e-6 * scale)


@given(PROPERTIES, st.floats(1.0, 3000.0))
def test_the_slab_holds_what_went_in(properties, time):
    points, weights = np.polynomial.legendre.leggauss(40)
    shares = (0.5 + 0.5 * points).tolist()
    found = [series_temperature(TEST, time, *properties, share, n_terms=20)[0, 0] for share in shares]
    mean = 0.5 * weights @ found
    expected = TEST.initial_temperature + TEST.flux * time / (properties[1] * TEST.thickness)
    assert mean == pytest.approx(expected, abs=2e-3)


@given(PROPERTIES, st.floats(30.0, 2000.0), st.floats(0.1, 5.0))
def test_rise_is_proportional_to_the_flux_and_falls_inwards(properties, time, factor):
    def rise(test, share):
        return series_temperature(test, time, *properties, share, n_terms=40)[0, 0] - 25.0

    more = SlabTest(factor * TEST.flux, TEST.thickness)
    assert rise(more, 0.3) == pytest.approx(factor * rise(TEST, 0.3), rel=1e-9, abs=1e-9)
    rises = [rise(TEST, share) for share in (0.0, 0.3, 0.7, 1.0)]
    assert (np.diff(rises) < 1e-6).all() and rises[0] > rises[-1]


def test_at_time_zero_all_is_as_it_was():
    cold = SlabTest(1000.0, 0.01, -40.0)
    found = series_temperature(cold, [0.0, 1e-3], [0.05, 0.06], 4e5, 0.4, n_terms=1)
    assert found.shape == (2, 2) and (found[0] == -40.0).all()


def test_specimens_stand_side_by_side():
    k, capacity, time = np.array([0.05, 0.06, 0.07]), np.array([3e5, 4e5, 5e5]), np.array([0.0, 100.0, 900.0])
    found = series_temperature(TEST, time, k, capacity, 0.5)
    for column in range(3):
        alone = series_temperature(TEST, time, k[column], capacity[column], 0.5)
        np.testing.assert_array_equal(found[:, [column]], alone)
