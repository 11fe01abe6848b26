"""The streamed experiment: its clock, its specimens, and what is wrong in the bad one."""

from dataclasses import replace

import numpy as np
import pytest

from sim.ensembles.distributions import Normal, Resampled
from sim.ensembles.ensemble import replicates
from sim.models.thermal_population import Conductivity, Population, Specimens, ThermalExperiment, characterize
from sim.models.thermal_slab import series_temperature
from sim.models.thermal_tables import ACCREDITATION, accreditation_runs, configurations, material

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


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"time_scale": 0.0}, "time_scale 0.0: must be a positive number"),
        ({"dt": float("nan")}, "dt nan: must be a positive number"),
        ({"fault": -0.1}, "fault -0.1: must be zero or more"),
    ],
)
def test_settings_out_of_range_are_refused_in_one_line(changed, words):
    with pytest.raises(ValueError, match=f"^thermal experiment {words}$"):
        replace(EXPERIMENT, **changed)
    with pytest.raises(ValueError, match=r"^slab depth of 2 thicknesses"):
        replace(EXPERIMENT, depth=2.0)
