"""A slab as something to be fitted: derivatives beside complex steps through a series of our own, and its edges."""

import numpy as np
import pytest

from sim.fitting.fit import fit
from sim.fitting.model_responses import SlabResponse
from sim.models.thermal_slab import SlabTest, conduction_temperature

TEST = SlabTest(3000.0, 0.0127)
TIME = np.array([40.0, 150.0, 500.0, 1000.0])
PROPERTIES = np.array([[0.05, 4e5], [0.07, 3.5e5], [0.03, 6e5]])


def series(k, capacity, depth):
    """Eq. 2 in plain numpy, of complex numbers, too."""
    x, length = depth, TEST.thickness
    fourier = TIME * k / capacity / length**2
    terms = [
        np.cos(n * np.pi * x) * np.exp(-((n * np.pi) ** 2) * fourier) * 2.0 / (n * np.pi) ** 2 for n in range(1, 7)
    ]
    return 25.0 + TEST.flux * length / k * (fourier + 1.0 / 3.0 - x + x**2 / 2.0 - sum(terms))


@pytest.mark.parametrize("depth", [0.0, 0.5])
def test_derivatives_are_those_of_the_series(depth):
    response, sensitivities = SlabResponse(TEST, TIME, depth=depth).evaluate(PROPERTIES)
    assert response.shape == (3, 4) and sensitivities.shape == (3, 4, 2)
    for (k, capacity), found, by_each in zip(PROPERTIES, response, sensitivities, strict=True):
        np.testing.assert_allclose(found, series(k, capacity, depth), rtol=1e-12)
        step = 1e-30
        by_k = series(k + 1j * step, capacity, depth).imag / step
        by_capacity = series(k, capacity + 1j * step, depth).imag / step
        np.testing.assert_allclose(by_each, np.column_stack([by_k, by_capacity]), rtol=1e-6)


def test_with_a_slope_it_is_the_heat_equation(warm_kernels):
    response, sensitivities = SlabResponse(TEST, TIME, 2.5e-5).evaluate(PROPERTIES)
    k, capacity = PROPERTIES.T
    expected = conduction_temperature(TEST, TIME, k, 2.5e-5, capacity)[:, 0].T
    np.testing.assert_array_equal(response, expected)
    # one-sided differences, a hundred times as wide: of order one
    wide = conduction_temperature(TEST, TIME, 1.01 * k, 2.5e-5, capacity)[:, 0].T
    np.testing.assert_allclose(sensitivities[..., 0], (wide - expected) / (0.01 * k[:, None]), rtol=0.03, atol=5.0)


def test_noise_is_in_the_standard_errors():
    """Over many noisy records the estimates scatter as their standard errors say, and about the truth."""
    model, truth = SlabResponse(TEST, np.linspace(20.0, 1000.0, 50)), np.array([0.05, 4e5])
    clean = model.evaluate(truth[None])[0][0]
    generator = np.random.default_rng(4)
    found = [fit(model, clean + generator.normal(0.0, 2.0, 50), np.array([0.06, 3e5])) for _ in range(100)]
    away = np.array([(each.parameters - truth) / each.standard_errors for each in found])
    assert (np.abs(away.mean(axis=0)) < 4.0 / np.sqrt(100.0)).all()
    assert (np.abs(away.std(axis=0) - 1.0) < 4.0 / np.sqrt(200.0)).all()


def test_bounds_keep_the_conductivity_positive_in_the_cold():
    for test, slope in ((TEST, -4e-5), (SlabTest(3000.0, 0.0127, -40.0), 5e-5)):
        least, _ = SlabResponse(test, TIME, slope).lower
        assert least + slope * test.initial_temperature > 0.0 and least > 0.0
