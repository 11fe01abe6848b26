"""Experiments beside the models: reliabilities, fits and the correction of bias, by their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import least_squares

from replay.papers.thermal.compliance import correct_bias
from replay.papers.thermal.validation import accreditation_sites, fit_run, validation_sites
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


def test_shares_are_those_of_cooler_specimens():
    specimens = KNOWN["Medium"].population(CONSTANT).sample(np.random.default_rng(4), 300)
    found = validation_sites("Medium", specimens).fraction_below()
    assert list(found) == list("1234")
    for name, shares in found.items():
        model = series_temperature(configurations()[name], 1000.0, specimens.conductivity, specimens.heat_capacity)[0]
        last = validation_runs("Medium")[name].temperature[-1]
        assert shares.tolist() == [sum(model < each) / 300 for each in last]


@pytest.mark.parametrize("slope", [0.0, 2.5e-5])
def test_a_fit_finds_the_specimen(slope):
    test, time = configurations()["4"], np.arange(0.0, 1001.0, 100.0)
    specimen = Specimens(np.array([0.048]), slope, np.array([4.3e5]))
    measured = specimen.temperature(test, time)[:, 0, 0]
    found = fit_run(test, time, measured, np.array([0.06, 3.5e5]), slope)
    assert (found.conductivity, found.heat_capacity) == pytest.approx((0.048, 4.3e5), rel=1e-6)
    assert found.rms < 1e-4 and found.slope == slope and found.converged


@pytest.mark.parametrize(("name", "slope"), [("1", 0.0), ("3", 2.4788e-5)])
def test_a_fit_is_scipys(name, slope):
    """Trust regions in the logarithms, and the covariance from a Jacobian of differences of scipy's own."""
    test, runs = configurations()[name], validation_runs()[name]
    measured = runs.temperature[1:, 2]

    def residuals(logarithms):
        k, capacity = np.exp(logarithms)
        return (
            Specimens(np.array([k]), slope, np.array([capacity])).temperature(test, runs.time[1:])[:, 0, 0] - measured
        )

    known = least_squares(residuals, np.log([0.05, 4e5]), "3-point", diff_step=1e-4, xtol=1e-12)
    covariance = np.linalg.inv(known.jac.T @ known.jac) * 2.0 * known.cost / (len(measured) - 2)
    expected = np.exp(known.x)
    found = fit_run(test, runs.time, runs.temperature[:, 2], np.array([0.05, 4e5]), slope)
    assert (found.conductivity, found.heat_capacity) == pytest.approx(expected, rel=1e-6)
    errors = found.conductivity_standard_error, found.heat_capacity_standard_error
    assert errors == pytest.approx(expected * np.sqrt(np.diag(covariance)), rel=1e-4)
    assert found.rms == pytest.approx(np.sqrt(2.0 * known.cost / len(measured)), rel=1e-9)


def test_reliabilities_are_the_definition(warm_kernels):
    specimens = KNOWN["Medium"].population(CONSTANT).sample(np.random.default_rng(4), 300)
    found = validation_sites("Medium", specimens).reliability(0.1)
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
    found = sites.reliability(0.05)
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
