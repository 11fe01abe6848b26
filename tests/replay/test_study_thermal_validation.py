"""Experiments beside the models: reliabilities, fits and the correction of bias, by their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from replay.studies.thermal.bias import correct_bias
from replay.studies.thermal.runs import fit_run
from replay.studies.thermal.validation import accreditation_sites, validation_sites
from sim.models.thermal_population import Conductivity, Specimens, characterize
from sim.models.thermal_slab import series_temperature
from sim.models.thermal_tables import (
    APPLICATION,
    LEVELS,
    accreditation_runs,
    configurations,
    material,
    validation_runs,
)

APPLIED = configurations()[APPLICATION]
KNOWN = {level: characterize(material(level)) for level in LEVELS}
CONSTANT, REPRESENTATIVE, DEPENDENT = Conductivity


def test_places_are_shares_of_cooler_specimens():
    specimens = KNOWN["Medium"].population(CONSTANT).sample(np.random.default_rng(4), 300)
    found = validation_sites("Medium", specimens).places()
    assert list(found) == list("1234")
    for name, places in found.items():
        model = series_temperature(configurations()[name], 1000.0, specimens.conductivity, specimens.heat_capacity)[0]
        last = validation_runs("Medium")[name].temperature[-1]
        assert places.tolist() == [sum(model < each) / 300 for each in last]


@pytest.mark.parametrize("slope", [0.0, 2.5e-5])
def test_a_fit_finds_the_specimen(slope):
    test, time = configurations()["4"], np.arange(0.0, 1001.0, 100.0)
    specimen = Specimens(np.array([0.048]), slope, np.array([4.3e5]))
    measured = specimen.temperature(test, time)[:, 0, 0]
    found = fit_run(test, time, measured, Specimens(np.array([0.06]), slope, np.array([3.5e5])))
    assert (found.conductivity, found.heat_capacity) == pytest.approx((0.048, 4.3e5), rel=1e-6)
    assert found.rms < 1e-4 and found.slope == slope


def test_reliabilities_are_the_definition(warm_kernels):
    specimens = KNOWN["Medium"].population(CONSTANT).sample(np.random.default_rng(4), 300)
    found = validation_sites("Medium", specimens).judge(0.1)
    within = {}
    for name, runs in validation_runs("Medium").items():
        model = series_temperature(
            configurations()[name], runs.time[1:], specimens.conductivity, specimens.heat_capacity
        )
        measured = runs.temperature[1:]
        within[name] = np.abs(model[:, :, None] - measured[:, None]) < 0.1 * measured[:, None]
    for name, inside in within.items():
        curves = found.sites[name]
        assert curves.instantaneous.value == pytest.approx(inside.mean(axis=(1, 2)))
        assert curves.accumulated.value[-1] == pytest.approx(inside.mean())
        assert curves.first_passage.value[-1] == pytest.approx(inside.all(axis=0).mean())
    assert found.product.accumulated.value[-1] == pytest.approx(np.prod([each.mean() for each in within.values()]))
    # all combinations of replicates, of specimens that are the same everywhere
    shares = np.prod([each.mean(axis=2) for each in within.values()], axis=0)
    assert found.joint.accumulated.value[-1] == pytest.approx(shares.mean())
    survivors = np.prod([each.all(axis=0).mean(axis=1) for each in within.values()], axis=0)
    assert found.joint.first_passage.value[-1] == pytest.approx(survivors.mean())


def test_accreditation_has_three_depths(warm_kernels):
    specimens = KNOWN["High"].population(DEPENDENT).sample(np.random.default_rng(4), 200)
    sites = accreditation_sites("High", specimens)
    assert list(sites.ensembles) == ["front", "middle", "back"]
    found = sites.judge(0.05)
    runs = accreditation_runs("High")
    for share, name in ((0.0, "front"), (0.5, "middle"), (1.0, "back")):
        model = specimens.temperature(configurations()["accreditation"], runs[name].time[1:], (share,))[:, 0]
        measured = runs[name].temperature[1:]
        inside = np.abs(model[:, :, None] - measured[:, None]) < 0.05 * measured[:, None]
        assert len(inside) == 20
        assert found.sites[name].accumulated.value[-1] == pytest.approx(inside.mean())


def test_the_correction_is_a_parabola_by_least_squares():
    known = KNOWN["Medium"]
    found = correct_bias(known, "Medium", 4000, 10, np.random.default_rng(0))
    k, capacity = known.constant.at(0.0), known.capacity.at(0.0)
    runs = {**validation_runs("Medium"), "accreditation": accreditation_runs("Medium")["front"]}
    rises, missed = [], []
    for name, each in runs.items():
        predicted = series_temperature(configurations()[name], each.time[1:], k, capacity)[:, 0]
        for measured in each.temperature[1:].T:
            rises += (predicted - 25.0).tolist()
            missed += (measured - predicted).tolist()
    slopes, *_ = np.linalg.lstsq(np.column_stack([rises, np.square(rises)]), np.array(missed), rcond=None)
    reached = series_temperature(APPLIED, 1000.0, k, capacity)[0, 0] - 25.0
    assert found.shift == pytest.approx(slopes @ [reached, reached**2], rel=1e-6)
    assert found.rise == pytest.approx(reached) and found.farthest_rise == pytest.approx(max(rises))
