"""The share of too hot units by quadrature, beside scipy's double integral, another solver and other units."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.integrate import dblquad, fixed_quad, solve_ivp
from scipy.optimize import brentq
from scipy.stats import norm

from replay.papers.thermal.compliance import (
    FEWEST,
    RULE,
    BiasCorrection,
    Compliance,
    FailureProbability,
    assess_compliance,
    failure_probabilities,
    resample,
    statement,
)
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


BIAS = BiasCorrection(0.14, 0.067, 0.256, -34.1, 701.0, 818.0, 3000.0, 3500.0)


COOLER = {"1": np.array([0.1, 0.62]), "accreditation": np.array([0.3])}


@pytest.mark.parametrize("level", LEVELS)
def test_normal_theory_finds_the_requirement_missed_too(level):
    """Student's and chi-square's confidence in line, mean and deviations instead of the bootstrap."""
    generator, missed = np.random.default_rng(3), 0
    line, capacity = KNOWN[level].line, KNOWN[level].capacity
    for _ in range(1000):
        wider = [fit.degrees_of_freedom / generator.chisquare(fit.degrees_of_freedom) for fit in (line, capacity)]
        start, slope = generator.multivariate_normal(line.coefficients, line.covariance * wider[0])
        middle = generator.normal(capacity.at(0.0), float(capacity.standard_errors[0]) * np.sqrt(wider[1]))
        k = Normal(start, line.residual_deviation * np.sqrt(wider[0]))
        if not SLOPES[0] < slope < SLOPES[1]:
            continue  # nothing is known: not counted as missed
        with suppress(ValueError):
            c = Normal(middle, capacity.residual_deviation * np.sqrt(wider[1]))
            missed += by_quadrature(Population(k, slope, c)) > 0.01
    assert missed > 950


def made_up(value, families, bootstrap):
    return FailureProbability(value, 0.002, value, bootstrap, families)


def test_the_statement_says_what_was_shown_and_what_is_carried_on():
    bootstrap = np.append(np.full(480, 0.05), np.full(20, 0.005))
    failure = {which: made_up(0.05 + 0.1 * i, {Family.NORMAL: 0.05 + 0.1 * i, Family.LOGNORMAL: 0.04}, bootstrap)
               for i, which in enumerate(reversed(Conductivity))}  # fmt: skip
    verdict, rests_on, confidence, corrected, shown, carried_on = statement(
        "High", failure, COOLER, BIAS, 12345
    ).splitlines()
    assert verdict == (
        "High: the requirement is not met. Of the units 5 % are over 900 degC at 1000 s, where 1 % are allowed."
    )
    assert "30 specimens" in rests_on and "16 tests and 2 of accreditation" in rests_on
    assert "Monte Carlo, of 12345 units computed one by one, says 5 ± 0.2 %" in rests_on
    assert "of 500 bootstrap data sets" in confidence and "480 say that the requirement is missed." in confidence
    assert "A verdict needs" not in confidence
    assert "its share is 14 %, and of bootstrap runs 90 % say 6.7 to 25.6 %" in corrected
    assert "say 4 to 25 %." in confidence
    assert "up to 3000 W/m^2 and 735 degC, the 3 measured fronts end with 10 to 62 %" in shown
    assert carried_on.startswith("Extrapolated: to 3500 W/m^2 and 900 degC, where nothing was tested.")
    assert carried_on.endswith("The properties are not: they were measured from 20 to 1000 degC.")
    # no more than the level has
    low = statement("Low", failure, COOLER, BIAS, 12345)
    assert "6 specimens" in low and "4 tests and 1 of accreditation" in low


@pytest.mark.parametrize(
    ("bootstrap", "words"),
    [(0.002, "the requirement is met. Of the units 0.1 %"), (0.02, "whether the requirement is met stays open. Of")],
)
def test_the_statement_has_words_for_every_verdict(bootstrap, words):
    found = FailureProbability(0.001, 0.0005, 0.001, np.full(500, bootstrap), {Family.NORMAL: 0.001})
    assert statement("Low", dict.fromkeys(Conductivity, found), COOLER, BIAS, 100).startswith(f"Low: {words}")


def test_the_rule_is_said_to_be_ours():
    assert "is ours" in RULE and "with these results in view" in RULE and "95 %" in RULE


def test_resampled_data_are_like_the_data():
    known, data = KNOWN["High"], material("High")
    others = list(resample(known, data, 1000, np.random.default_rng(1)))
    lines = np.array([other.line.coefficients for other in others])
    error = lines.std(axis=0)
    np.testing.assert_allclose(error, known.line.standard_errors, rtol=0.1)
    assert (np.abs(lines.mean(axis=0) - known.line.coefficients) < 4.0 * error / np.sqrt(1000)).all()
    deviations = np.array([other.capacity.residual_deviation for other in others])
    assert np.sqrt(np.mean(deviations**2)) == pytest.approx(known.capacity.residual_deviation, rel=0.03)
    assert {other.representative_temperature for other in others} == {known.representative_temperature}


def test_a_decision_needs_units_and_data():
    met = FailureProbability(0.001, 0.0005, 0.001, np.full(500, 0.002), {})
    assert assess_compliance(met) is Compliance.MET
    assert assess_compliance(replace(met, standard_error=0.004)) is Compliance.OPEN
    assert assess_compliance(replace(met, bootstrap=np.linspace(0.0, 0.011, 500))) is Compliance.OPEN
    missed = replace(met, value=0.05, bootstrap=np.linspace(0.009, 0.2, 500))
    assert assess_compliance(missed) is Compliance.NOT_MET
    assert assess_compliance(replace(missed, bootstrap=np.linspace(0.0, 0.08, 500))) is Compliance.OPEN


def test_a_verdict_needs_bootstrap_data_sets():
    """Of 50 sets of a level of which 3.3 % comply, 5 % or more do one time in four: no verdict hangs on that."""
    few = FailureProbability(0.1, 0.002, 0.1, np.full(FEWEST - 1, 0.1), {Family.NORMAL: 0.1})
    assert assess_compliance(few) is Compliance.OPEN
    assert assess_compliance(replace(few, bootstrap=np.full(FEWEST, 0.1))) is Compliance.NOT_MET
    told = statement("Low", dict.fromkeys(Conductivity, few), COOLER, BIAS, 100)
    assert "stays open" in told and "A verdict needs 500 of them." in told


def test_the_same_seed_gives_the_same_numbers(warm_kernels):
    number = dict.fromkeys(Conductivity, 64)
    first, again, other = (
        failure_probabilities(material("Medium"), number, 3, np.random.default_rng(seed)) for seed in (5, 5, 6)
    )
    for which in Conductivity:
        assert first[which].value == again[which].value
        np.testing.assert_array_equal(first[which].bootstrap, again[which].bootstrap)
        assert (first[which].bootstrap != other[which].bootstrap).any()
