"""Properties and populations of the thermal challenge's specimens, and the test of them that is streamed."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sim.ensembles import Lognormal, Normal, Resampled, replicates
from sim.models.thermal_population import (
    Conductivity,
    Family,
    Population,
    Specimens,
    ThermalExperiment,
    characterize,
    fit_property,
)
from sim.models.thermal_slab import series_temperature
from sim.models.thermal_tables import ACCREDITATION, APPLICATION, LEVELS, accreditation_runs, configurations, material

HIGH = characterize(material("High"))
DISTRIBUTIONS = {
    "normal": (Normal(0.06, 0.01), stats.norm(0.06, 0.01)),
    "lognormal": (
        Lognormal(0.06, 0.01),
        stats.lognorm(math.sqrt(math.log1p(1 / 36)), scale=0.06 / math.sqrt(37 / 36)),
    ),
    "resampled": (Resampled((0.05, 0.07, 0.06)), None),
}


def test_what_is_known_of_the_high_data():
    assert HIGH.line.coefficients == pytest.approx([0.050347, 2.4788e-5], rel=1e-4)
    assert HIGH.line.standard_errors == pytest.approx([0.00151, 2.466e-6], rel=1e-3)
    assert HIGH.line.residual_deviation == pytest.approx(0.00470, abs=5e-6)
    assert HIGH.capacity_line.slope_p_value == pytest.approx(0.42, abs=0.005)
    assert HIGH.line.slope_p_value < 1e-9 and math.isnan(HIGH.constant.slope_p_value)


@pytest.mark.parametrize("level", LEVELS)
def test_a_line_is_scipys(level):
    data = material(level)
    found, known = (
        fit_property(data.temperature, data.conductivity, trend=True),
        stats.linregress(data.temperature, data.conductivity),
    )
    assert found.coefficients == pytest.approx([known.intercept, known.slope], rel=1e-10)
    assert found.standard_errors == pytest.approx([known.intercept_stderr, known.stderr], rel=1e-9)
    assert found.slope_p_value == pytest.approx(known.pvalue, rel=1e-7)
    reach = stats.t(len(data.temperature) - 2).ppf(0.975)
    assert found.interval()[1] == pytest.approx(
        [known.slope - reach * known.stderr, known.slope + reach * known.stderr]
    )
    # the hat matrix by its definition
    design = np.column_stack([np.ones(len(data.temperature)), data.temperature])
    hat = design @ np.linalg.solve(design.T @ design, design.T)
    np.testing.assert_allclose(found.leverages, np.diag(hat), rtol=1e-9)
    assert abs(found.rescaled_residuals.mean()) < 1e-15


def test_a_constant_is_mean_and_deviation():
    values = material("High").heat_capacity
    found = fit_property(np.zeros(30), values, trend=False)
    assert found.at(700.0) == pytest.approx(values.mean()) and found.slope == 0.0
    assert found.residual_deviation == pytest.approx(values.std(ddof=1))
    assert found.interval() == pytest.approx(np.array([stats.t(29, values.mean(), stats.sem(values)).interval(0.95)]))
    # n - 1 leverages of 1/n blow the residuals up to the deviation of new specimens
    assert found.rescaled_residuals.std() == pytest.approx(found.residual_deviation)


def test_the_interval_of_a_deviation_covers_it():
    generator = np.random.default_rng(3)
    covered = 0
    for _ in range(1000):
        low, high = fit_property(np.zeros(8), generator.standard_normal(8), trend=False).deviation_interval(0.9)
        covered += low < 1.0 < high
    assert abs(covered / 1000 - 0.9) < 4.0 * math.sqrt(0.09 / 1000)


@pytest.mark.parametrize("name", ["normal", "lognormal"])
def test_distributions_are_scipys(name):
    ours, known = DISTRIBUTIONS[name]
    values = np.linspace(0.02, 0.12, 41)
    np.testing.assert_allclose(ours.cdf(values), known.cdf(values), rtol=1e-9, atol=1e-12)
    nodes, weights = ours.nodes(32)
    for power in (1, 2, 3):
        assert weights @ nodes**power == pytest.approx(known.moment(power), rel=1e-9)
    sample = ours.sample(np.random.default_rng(1), 4000)
    assert stats.kstest(sample, known.cdf).pvalue > 1e-4


def test_resampled_values_are_the_values():
    ours = DISTRIBUTIONS["resampled"][0]
    assert ours.cdf([0.0499, 0.05, 0.0601, 0.07]) == pytest.approx([0.0, 1 / 3, 2 / 3, 1.0])
    assert ours.mean == pytest.approx(0.06)
    nodes, weights = ours.nodes(99)
    assert sorted(nodes) == [0.05, 0.06, 0.07] and weights == pytest.approx([1 / 3] * 3)
    assert set(ours.sample(np.random.default_rng(1), 50)) == {0.05, 0.06, 0.07}


@given(st.floats(0.01, 1e6), st.floats(0.0, 1.0))
def test_a_normal_property_is_positive(mean, variation):
    found = Normal(mean, variation * mean).at([-40.0, 0.0, 40.0])
    assert (found > 0.0).all() and found[1] == mean


def test_a_certain_property_has_a_step():
    for certain in (Normal(0.06, 0.0), Lognormal(0.06, 0.0)):
        assert certain.cdf([0.059, 0.06 + 1e-15, 0.061]).tolist() == [0.0, 1.0, 1.0]


@pytest.mark.parametrize("wide", [Normal(1.0, 1.0), Lognormal(1.0, 1.0)])
def test_what_is_drawn_has_the_distribution(wide):
    """Also where a normal variable is censored: nothing is less than a hundredth of the mean."""
    drawn = wide.sample(np.random.default_rng(2), 40_000)
    values = np.array([-1.0, 0.0, 0.005, 0.01, 0.3, 1.0, 3.0])
    share = (drawn[:, None] <= values).mean(axis=0)
    probability = wide.cdf(values)
    assert (probability[:2] == 0.0).all()
    error = np.sqrt(probability * (1.0 - probability) / len(drawn))
    assert (np.abs(share - probability) <= 4.0 * error).all()


@given(st.floats(-10.0, 10.0), st.just(0.0) | st.floats(1e-6, 3.0))
def test_deviates_are_the_way_back(deviate, variation):
    for each in (Normal(2.0, 2.0 * variation), Lognormal(2.0, 2.0 * variation)):
        value = each.at(deviate)
        # just above it: at a value itself rounding decides
        assert each.cdf(value * (1.0 + 1e-9)) >= stats.norm.cdf(deviate) * (1.0 - 1e-9)


def test_assumptions_on_the_conductivity():
    constant, representative, dependent = (HIGH.population(which) for which in Conductivity)
    data = material("High")
    assert constant.conductivity == Normal(HIGH.constant.at(0.0), HIGH.constant.residual_deviation)
    assert constant.conductivity.mean == pytest.approx(data.conductivity.mean())
    assert representative.slope == constant.slope == 0.0 and dependent.slope == HIGH.line.slope
    at = HIGH.representative_temperature
    assert representative.conductivity.mean == pytest.approx(0.050347 + 2.4788e-5 * at, rel=1e-4)
    assert {each.heat_capacity for each in (constant, representative, dependent)} == {
        Normal(HIGH.capacity.at(0.0), HIGH.capacity.residual_deviation)
    }
    # half way between the faces, by eq. 2 with the conductivity that belongs to it
    k, capacity = HIGH.line.at(at), data.heat_capacity.mean()
    faces = [series_temperature(configurations()[APPLICATION], 1000.0, k, capacity, x)[0, 0] for x in (0.0, 1.0)]
    assert at == pytest.approx(sum(faces) / 2.0, abs=1e-6)


@pytest.mark.parametrize("which", list(Conductivity))
def test_families_have_the_same_mean(which):
    means = []
    for family in Family:
        nodes, weights = HIGH.population(which, family).conductivity.nodes(64)
        means.append(weights @ nodes)
    assert means == pytest.approx([means[0]] * 3, rel=1e-9)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Normal(0.0, 1.0), "normal mean 0.0: must be a positive number"),
        (lambda: Normal(1.0, -1.0), "normal standard_deviation -1.0: must be zero or more"),
        (lambda: Resampled(()), "resampled values: must be positive numbers, one or more"),
        (lambda: Resampled((1.0, -1.0)), "resampled values: must be positive numbers, one or more"),
        (
            lambda: fit_property(np.full(9, 20.0), np.ones(9), trend=True),
            "9 values for 2 coefficients: give more, at several temperatures",
        ),
        (
            lambda: fit_property(np.array([0.0, 1.0]), np.ones(2), trend=True),
            "2 values for 2 coefficients: give more, at several temperatures",
        ),
    ],
)
def test_what_means_nothing_is_refused_in_one_line(call, words):
    with pytest.raises(ValueError, match=f"^{words}$"):
        call()


EXPERIMENT = ThermalExperiment()
CERTAIN = Population(Normal(0.06, 0.0), 0.0, Normal(4e5, 0.0))


def test_what_it_says_of_itself():
    assert (EXPERIMENT.name, EXPERIMENT.quantity, EXPERIMENT.unit) == (
        "thermal", "temperature on the heated front", "degC"
    )  # fmt: skip
    assert replace(EXPERIMENT, depth=1.0).quantity == "temperature on the insulated back"
    assert replace(EXPERIMENT, depth=0.5).quantity == "temperature at 0.5 of the thickness"
    np.testing.assert_allclose(EXPERIMENT.time, np.linspace(0.0, 20.0, 201), atol=1e-12)
    assert EXPERIMENT.test == configurations()[ACCREDITATION]


def test_time_is_scaled():
    slow = replace(EXPERIMENT, population=CERTAIN, time_scale=1.0, horizon=1000.0, dt=5.0)
    fast = replace(slow, time_scale=50.0, horizon=20.0, dt=0.1)
    generator = np.random.default_rng(0)
    np.testing.assert_allclose(fast.realize(generator, 2), slow.realize(generator, 2), rtol=1e-12)
    expected = series_temperature(EXPERIMENT.test, slow.time, 0.06, 4e5)
    np.testing.assert_allclose(slow.realize(generator, 1), expected, rtol=1e-12)


def test_specimens_are_those_of_table_4():
    paths = EXPERIMENT.realize(np.random.default_rng(5), 400)
    assert paths.shape == (201, 400) and paths.flags.c_contiguous and (paths[0] == 25.0).all()
    # the paper's own two experiments, at its times, lie among them
    for measured in accreditation_runs()["front"].temperature.T:
        places = (paths[::10] < measured[:, None]).mean(axis=1)[1:]
        assert ((places > 0.005) & (places < 0.995)).all()
    known = characterize(material("High")).population(Conductivity.TEMPERATURE_DEPENDENT)
    middle = Specimens(np.array([known.conductivity.mean]), known.slope, np.array([known.heat_capacity.mean]))
    expected = middle.temperature(EXPERIMENT.test, [1000.0])[0, 0, 0]
    error = paths[-1].std() / 20.0
    # the temperature is not quite straight in the properties
    assert abs(paths[-1].mean() - expected) < 4.0 * error + 10.0


def test_the_heater_of_the_bad_one_gives_more_from_its_onset_on():
    good, bad = (replicates(EXPERIMENT, 2, 3, bad=bad) for bad in (False, True))
    missed = bad - good
    np.testing.assert_allclose(missed, EXPERIMENT.discrepancy[:, None].repeat(2, axis=1), atol=1e-9)
    assert (missed[:61] == 0.0).all() and (np.diff(missed[60:, 0]) > 0.0).all()
    # with constant properties, two fluxes one after the other add up; k is a line, its data's at half way
    data = material("High")
    slope, start = np.polyfit(data.temperature, data.conductivity, 1)
    specimen = Specimens(np.array([start]), slope, np.array([data.heat_capacity.mean()]))
    front, back = specimen.temperature(EXPERIMENT.test, [1000.0], (0.0, 1.0))[0, :, 0]
    more = replace(EXPERIMENT.test, flux=1500.0)
    k = start + slope * (front + back) / 2.0
    expected = series_temperature(more, 700.0, k, data.heat_capacity.mean())[0, 0] - 25.0
    assert EXPERIMENT.discrepancy[-1] == pytest.approx(expected, rel=1e-9)
    assert not replace(EXPERIMENT, fault=0.0).discrepancy.any()


@pytest.mark.parametrize("depth", [0.0, 1.0])
def test_the_fault_heats_the_specimens_there_are(depth):
    """The flux from the onset on and what was there before, in constant and certain properties."""
    certain = Population(Normal(0.12, 0.0), 0.0, Normal(8e5, 0.0))
    other = replace(EXPERIMENT, population=certain, depth=depth)
    since = np.maximum(other.time - 6.0, 0.0) * 50.0
    expected = series_temperature(replace(EXPERIMENT.test, flux=1500.0), since, 0.12, 8e5, depth)[:, 0] - 25.0
    np.testing.assert_allclose(other.discrepancy, expected, atol=1e-9)
    # what is seen does not depend on how long one looks
    np.testing.assert_array_equal(replace(other, horizon=10.0).discrepancy, other.discrepancy[:101])
    found = Population(Resampled((0.1, 0.14)), 0.0, Resampled((7e5, 9e5)))
    np.testing.assert_allclose(replace(other, population=found).discrepancy, expected, atol=1e-9)


def test_a_measurement_has_its_noise():
    noisy = replicates(replace(EXPERIMENT, noise=2.0), 6, 3)
    quiet = replicates(EXPERIMENT, 6, 3)
    noise = noisy - quiet
    assert abs(noise.std() - 2.0) < 4.0 * 2.0 / np.sqrt(2.0 * noise.size)
