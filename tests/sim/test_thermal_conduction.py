"""The k(T) solver against eq. 2, a high-order integration in time, the energy that went in, and its own order."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from sim.models.thermal_slab import SlabTest, conduction_temperature, series_temperature

TEST = SlabTest(3500.0, 0.019)
TIME = np.array([50.0, 200.0, 600.0, 1000.0])
K, SLOPE, CAPACITY = 0.0503, 2.48e-5, 3.94e5
DEPTHS = (0.0, 0.5, 1.0)


@pytest.fixture(scope="module")
def by_lines():
    """Front, middle and back by the method of lines, from another scheme of order four in the inside.

    In the integral of k over T, theta, the flux is a plain derivative: theta'' by central differences of order four,
    the ends mirrored, with the flux as a jump of the mirrored slope.
    """
    n = 240
    h = TEST.thickness / n

    def rate(_time, temperature):
        theta = K * temperature + 0.5 * SLOPE * temperature**2
        # beyond the front: theta(-x) = theta(x) + 2 q x; beyond the back a mirror
        left = theta[2:0:-1] + 2.0 * TEST.flux * h * np.array([2.0, 1.0])
        wide = np.concatenate([left, theta, theta[-2:-4:-1]])
        second = -wide[:-4] + 16.0 * wide[1:-3] - 30.0 * wide[2:-2] + 16.0 * wide[3:-1] - wide[4:]
        return second / (12.0 * h * h) / CAPACITY

    start = np.full(n + 1, 25.0)
    found = solve_ivp(rate, (0.0, 1000.0), start, "LSODA", TIME, rtol=1e-8, atol=1e-7, lband=3, uband=3)
    return found.y[[0, n // 2, n]].T


@pytest.fixture(scope="module")
def kernel():
    conduction_temperature(TEST, 1.0, K, SLOPE, CAPACITY)


def test_the_temperature_dependent_slab_is_that_of_another_method(by_lines):
    errors = {}
    for n in (48, 96, 192):
        found = conduction_temperature(TEST, TIME, K, SLOPE, CAPACITY, DEPTHS, n_cells=n, n_steps=n)[:, :, 0]
        errors[n] = np.abs(found - by_lines).max()
    assert errors[48] < 0.25 and errors[192] < 0.02
    assert errors[48] > 3.5 * errors[96] > 10.0 * errors[192]


@pytest.mark.parametrize(("slope", "k"), [(0.0, 0.06), (SLOPE, K)])
def test_the_error_falls_by_four(slope, k):
    def front(n):
        return conduction_temperature(TEST, TIME, k, slope, CAPACITY, n_cells=n, n_steps=n)[:, 0, 0]

    finest = series_temperature(TEST, TIME, k, CAPACITY, n_terms=60)[:, 0] if slope == 0.0 else front(768)
    errors = [np.abs(front(n) - finest) for n in (24, 48, 96)]
    for coarse, fine in pairwise(errors):
        assert ((coarse / fine > 3.5) & (coarse / fine < 4.6)).all()
    assert errors[1][0] < 0.25 and errors[1][-1] < 0.05  # as is said of the defaults


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 1.0])
def test_without_a_slope_it_is_eq_2(share):
    found = conduction_temperature(TEST, TIME, 0.06, 0.0, CAPACITY, (share,), n_cells=192, n_steps=192)[:, 0, 0]
    expected = series_temperature(TEST, TIME, 0.06, CAPACITY, share, n_terms=60)[:, 0]
    np.testing.assert_allclose(found, expected, atol=0.02, rtol=0.0)


@settings(max_examples=20)
@given(st.floats(0.03, 0.08), st.floats(-1e-5, 5e-5), st.floats(2.5e5, 6e5), st.integers(4, 60))
def test_what_went_in_is_there(kernel, k, slope, capacity, n):
    every_node = tuple((np.arange(n + 1) / n).tolist())
    found = conduction_temperature(TEST, TIME, k, slope, capacity, every_node, n_cells=n, n_steps=12)[:, :, 0]
    # half a volume at both faces
    mean = (found[:, 1:-1].sum(axis=1) + 0.5 * (found[:, 0] + found[:, -1])) / n
    np.testing.assert_allclose(mean, 25.0 + TEST.flux * TIME / (capacity * TEST.thickness), atol=1e-4)
    assert (np.diff(found, axis=1) < 1e-6).all() and (np.diff(found, axis=0) > -1e-6).all()


@settings(max_examples=20)
@given(st.floats(0.2, 5.0))
def test_a_thicker_slab_is_the_same_later(kernel, factor):
    """Thickness by s, time by s^2 and flux by 1/s leave the heat equation as it is."""
    other = SlabTest(TEST.flux / factor, TEST.thickness * factor)
    here = conduction_temperature(TEST, TIME, K, SLOPE, CAPACITY, DEPTHS)
    there = conduction_temperature(other, TIME * factor**2, K, SLOPE, CAPACITY, DEPTHS)
    np.testing.assert_allclose(there, here, rtol=1e-9)


def test_specimens_do_not_know_of_each_other():
    generator = np.random.default_rng(1)
    k, capacity = generator.uniform(0.04, 0.07, 70), generator.uniform(3e5, 5e5, 70)
    slope = np.where(np.arange(70) % 2, SLOPE, 0.0)
    together = conduction_temperature(TEST, TIME, k, slope, capacity, DEPTHS)
    assert together.shape == (4, 3, 70)
    for column in (0, 31, 32, 69):
        alone = conduction_temperature(TEST, TIME, k[column], slope[column], capacity[column], DEPTHS)
        np.testing.assert_allclose(together[:, :, [column]], alone, rtol=1e-9)


def test_instants_asked_for_change_little(kernel):
    few = conduction_temperature(TEST, [1000.0], K, SLOPE, CAPACITY)[-1, 0, 0]
    many = conduction_temperature(TEST, np.arange(0.0, 1001.0, 20.0), K, SLOPE, CAPACITY)
    assert many[-1, 0, 0] == pytest.approx(few, abs=0.02) and many[0, 0, 0] == 25.0


def test_what_has_no_solution_is_refused_in_one_line(kernel):
    with pytest.raises(ValueError, match="the heat equation has no solution"):
        conduction_temperature(TEST, 1000.0, K, -1e-4, CAPACITY)
