"""The share of too hot units by quadrature, beside scipy's double integral, another solver and other units."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.integrate import dblquad, fixed_quad, solve_ivp
from scipy.optimize import brentq
from scipy.stats import norm

from replay.papers.thermal.limit import CAPACITIES, SLOPES, by_monte_carlo, by_quadrature, limit_state, temperatures
from sim.ensembles import Normal
from sim.models.thermal_population import Conductivity, Family, Population, characterize
from sim.models.thermal_slab import conduction_temperature, series_temperature
from sim.models.thermal_tables import APPLICATION, LEVELS, configurations, material

APPLIED = configurations()[APPLICATION]
KNOWN = {level: characterize(material(level)) for level in LEVELS}
CONSTANT, REPRESENTATIVE, DEPENDENT = Conductivity


def front_by_lines(conductivity, slope, capacity, n=60):
    """Front at 1000 s: scipy's LSODA on lines of order four, in the integral of k over T; nothing of ours."""
    flux, h = 3500.0, 0.019 / n

    def rate(_time, temperature):
        theta = conductivity * temperature + 0.5 * slope * temperature**2
        left = theta[2:0:-1] + 2.0 * flux * h * np.array([2.0, 1.0])
        wide = np.concatenate([left, theta, theta[-2:-4:-1]])
        second = -wide[:-4] + 16.0 * wide[1:-3] - 30.0 * wide[2:-2] + 16.0 * wide[3:-1] - wide[4:]
        return second / (12.0 * h * h) / capacity

    start = np.full(n + 1, 25.0)
    return solve_ivp(rate, (0.0, 1000.0), start, "LSODA", rtol=1e-6, atol=1e-5, lband=3, uband=3).y[0, -1]


@pytest.mark.slow
def test_a_conductivity_that_rises_by_scipy_alone():
    """DECISIONS' "about 0.10": critical conductivity by LSODA and Brent, share by Gauss and Legendre."""
    data = material("High")
    slope, start = np.polyfit(data.temperature, data.conductivity, 1)
    left = data.conductivity - start - slope * data.temperature
    deviation = np.sqrt(left @ left / 28.0)
    capacity = norm(data.heat_capacity.mean(), data.heat_capacity.std(ddof=1))

    def share(x):
        # a unit of 0.15 at 0 degC is one in 1e90
        too_cool = front_by_lines(0.15, slope, x) < 900.0
        k = brentq(lambda k: front_by_lines(k, slope, x) - 900.0, 0.01, 0.15, xtol=1e-6) if too_cool else 0.15
        return norm.cdf(k, start, deviation) * capacity.pdf(x)

    low, high = capacity.mean() - 4.0 * capacity.std(), capacity.mean() + 4.5 * capacity.std()
    expected, _ = fixed_quad(np.vectorize(share), low, high, n=20)
    expected += capacity.cdf(low)
    assert expected == pytest.approx(0.10, abs=0.005)
    assert by_quadrature(KNOWN["High"].population(DEPENDENT)) == pytest.approx(expected, abs=5e-4)


@pytest.mark.parametrize(("temperature", "expected"), [(556.0, 0.130), (578.3, 0.119)])
def test_the_representative_share_belongs_to_a_temperature(temperature, expected):
    """By a plain double sum, "about 0.13" is the share at 556 degC, and 0.119 that at 578 degC, which is ours."""
    known = replace(KNOWN["High"], representative_temperature=temperature)
    data = material("High")
    slope, start = np.polyfit(data.temperature, data.conductivity, 1)
    left = data.conductivity - start - slope * data.temperature
    deviates = np.linspace(-5.0, 5.0, 401)
    weights = norm.pdf(deviates) / norm.pdf(deviates).sum()
    k = start + slope * temperature + np.sqrt(left @ left / 28.0) * deviates
    capacity = data.heat_capacity.mean() + data.heat_capacity.std(ddof=1) * deviates
    every_k, every_capacity = (each.ravel() for each in np.meshgrid(k, capacity, indexing="ij"))
    hot = series_temperature(APPLIED, 1000.0, every_k, every_capacity)[0].reshape(401, 401) > 900.0
    assert weights @ hot @ weights == pytest.approx(expected, abs=1e-3)
    assert by_quadrature(known.population(REPRESENTATIVE)) == pytest.approx(weights @ hot @ weights, abs=5e-4)


@pytest.mark.parametrize("capacity", [2.2e5, 6.1e5, np.nan])
def test_a_capacity_where_the_limit_was_not_sought_is_refused(capacity):
    for sloped in (False, True):
        with pytest.raises(ValueError, match=r"^heat capacity .* the limit is known from 230000 to 600000$"):
            limit_state(sloped=sloped).conductivity(np.array([4e5, capacity]), 0.0)


@pytest.mark.parametrize("slope", [-2e-5, 6e-5])
def test_a_slope_where_the_limit_was_not_sought_is_refused(slope):
    with pytest.raises(ValueError, match=r"^slope .* W/\(m K\^2\): the limit is known from -1.5e-05 to 5.5e-05$"):
        limit_state(sloped=True).conductivity(np.array([4e5]), slope)
    with pytest.raises(ValueError, match=r"^slope "):
        by_quadrature(Population(Normal(0.05, 0.005), slope, Normal(4e5, 4e4)))


def test_capacities_outside_are_too_hot_or_too_cool_or_refused():
    k = Normal(0.06, 0.005)
    assert by_quadrature(Population(k, 0.0, Normal(1.5e5, 1e3))) == pytest.approx(1.0)
    assert by_quadrature(Population(k, 0.0, Normal(7e5, 1e3))) == 0.0
    # what the choice says is what the specimens do
    for capacity in (1.5e5, 7e5):
        front = series_temperature(APPLIED, 1000.0, k.nodes(9)[0], capacity)
        assert ((front > 900.0) == (capacity < CAPACITIES[0])).all()
    with pytest.raises(
        ValueError, match=r"^heat capacities from 230000 to 600000 .* the limit must be sought farther$"
    ):
        by_quadrature(Population(Normal(0.02, 0.01), 0.0, Normal(6.2e5, 3e4)))


@pytest.mark.parametrize("level", LEVELS)
def test_no_resampled_data_have_a_slope_outside(level):
    fit, temperature = KNOWN[level].line, material(level).temperature
    lever = temperature - temperature.mean()
    # the most that residuals can tilt the line: the largest wherever it helps
    most, least = fit.rescaled_residuals.max(), fit.rescaled_residuals.min()
    tilt = (np.where(lever > 0.0, most, least) @ lever) / (lever @ lever)
    back = (np.where(lever > 0.0, least, most) @ lever) / (lever @ lever)
    assert SLOPES[0] < fit.slope + back < fit.slope + tilt < SLOPES[1]


@pytest.mark.parametrize(("level", "which", "family"), list(product(LEVELS, Conductivity, Family)))
def test_more_nodes_change_nothing(level, which, family):
    population = KNOWN[level].population(which, family)
    assert by_quadrature(population, 128) == pytest.approx(by_quadrature(population), abs=1e-6)


@pytest.mark.parametrize("which", [CONSTANT, REPRESENTATIVE])
def test_the_quadrature_is_the_double_integral(which):
    population = KNOWN["High"].population(which)
    k, capacity = population.conductivity, population.heat_capacity

    def critical(x):
        return brentq(lambda at: series_temperature(APPLIED, 1000.0, at, x)[0, 0] - 900.0, 1e-3, 5.0)

    low, high = (capacity.mean + side * 4.4 * capacity.standard_deviation for side in (-1.0, 1.0))
    expected, _ = dblquad(
        lambda at, x: norm.pdf(at, k.mean, k.standard_deviation)
        * norm.pdf(x, capacity.mean, capacity.standard_deviation),
        low, high, lambda _x: k.mean - 8.0 * k.standard_deviation, critical, epsabs=1e-6,
    )  # fmt: skip
    assert by_quadrature(population) == pytest.approx(expected, abs=2e-5)
    assert by_quadrature(population, 96) == pytest.approx(by_quadrature(population), abs=1e-7)


def test_the_limit_is_where_the_front_just_reaches_it():
    generator = np.random.default_rng(2)
    capacity = generator.uniform(2.3e5, 6e5, 60)
    constant = limit_state(sloped=False).conductivity(capacity, 0.0)
    np.testing.assert_allclose(series_temperature(APPLIED, 1000.0, constant, capacity), 900.0, atol=1e-3)
    for slope in (-1.2e-5, 0.0, 2.48e-5, 5e-5):
        k = limit_state(sloped=True).conductivity(capacity, slope)
        found = conduction_temperature(APPLIED, 1000.0, k, slope, capacity, n_cells=128, n_steps=128)
        np.testing.assert_allclose(found, 900.0, atol=0.05)
    # what takes up less is too hot with any conductivity that comes up, and hardly any unit takes up more
    for level in LEVELS:
        population = KNOWN[level].population(CONSTANT)
        ends = population.conductivity.cdf(limit_state(sloped=False).conductivity(np.array(CAPACITIES), 0.0))
        assert ends[0] > 1.0 - 1e-9 and ends[1] < 0.02
        assert population.heat_capacity.cdf(6e5) > 1.0 - 1e-5


def test_values_as_they_are_found_leave_nothing_to_integrate():
    population = KNOWN["Low"].population(CONSTANT, Family.RESAMPLED)
    k, capacity = (np.array(each.values) for each in (population.conductivity, population.heat_capacity))
    hot = [series_temperature(APPLIED, 1000.0, a, b)[0, 0] > 900.0 for a in k for b in capacity]
    assert by_quadrature(population) == pytest.approx(np.mean(hot))


def test_drawn_units_are_computed_one_by_one(warm_kernels):
    specimens = KNOWN["Low"].population(DEPENDENT).sample(np.random.default_rng(1), 700)
    share, error = by_monte_carlo(specimens)
    expected = conduction_temperature(
        APPLIED, 1000.0, specimens.conductivity, specimens.slope, specimens.heat_capacity
    )
    assert share == np.mean(expected > 900.0)
    assert error == pytest.approx(np.sqrt(share * (1.0 - share) / 700), rel=0.01)
    time, told = np.array([10.0, 500.0]), []
    found = temperatures(APPLIED, time, specimens, (0.0, 1.0), progress=lambda *each: told.append(each), task="x")
    np.testing.assert_array_equal(found, specimens.temperature(APPLIED, time, (0.0, 1.0)))
    assert told == [("x", 512, 700), ("x", 700, 700)]
