"""The thermal challenge: what is known beforehand, and every number beside another way to it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import dblquad
from scipy.optimize import brentq
from scipy.stats import norm

from replay.studies.thermal import JUDGED, run_study
from replay.studies.thermal_bias import correct_bias
from replay.studies.thermal_compliance import FailureProbability, Verdict, decide, failure_probabilities, resample
from replay.studies.thermal_limit import by_quadrature, by_trying, limit
from replay.studies.thermal_runs import fit_run, temperatures
from replay.studies.thermal_validation import accreditation_sites, validation_sites
from sim.models.thermal_conduction import conduction_temperature
from sim.models.thermal_population import Conductivity, Family, Specimens, characterize
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


@pytest.fixture(scope="module")
def study(warm_kernels):
    return run_study(n_realizations=4000, n_resampled=100, seed=3)


@pytest.fixture(scope="module")
def high(study):
    return study.levels[-1]


def test_table_2_to_the_last_printed_digit(study):
    assert study.table2_max_error < 5e-7


def test_answers_known_beforehand(high):
    values = {which: found.quadrature for which, found in high.failure.items()}
    assert values[CONSTANT] == pytest.approx(0.245, abs=5e-4)
    assert values[REPRESENTATIVE] == pytest.approx(0.13, abs=0.015)
    assert values[DEPENDENT] == pytest.approx(0.10, abs=0.005)


def test_the_requirement_is_not_met_at_any_level(study):
    assert [each.level for each in study.levels] == list(LEVELS)
    for each in study.levels:
        assert each.verdict is Verdict.NOT_MET
        for found in each.failure.values():
            low, high = found.interval
            assert low < found.quadrature < high and found.quadrature > 0.1
            assert min(found.families.values()) > 0.05
        assert each.statement.startswith(f"{each.level}: the requirement is not met. Of the units ")
        assert (
            "to 3500 W/m^2 and 900 degC; no experiment had more than 3000 W/m^2 or came beyond 735" in each.statement
        )
    spread = [np.ptp(each.failure[DEPENDENT].interval) for each in study.levels]
    assert spread[0] > spread[1] > spread[2]


def test_drawn_units_and_the_integral_agree(study):
    for each in study.levels:
        for which, found in each.failure.items():
            n = 4000 if which is DEPENDENT else 20_000
            assert found.standard_error == pytest.approx(np.sqrt(found.value * (1.0 - found.value) / n))
            assert abs(found.value - found.quadrature) < 4.0 * found.standard_error


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
    constant = limit(sloped=False).conductivity(capacity, 0.0)
    np.testing.assert_allclose(series_temperature(APPLIED, 1000.0, constant, capacity), 900.0, atol=1e-3)
    for slope in (-1.2e-5, 0.0, 2.48e-5, 5e-5):
        k = limit(sloped=True).conductivity(capacity, slope)
        found = conduction_temperature(APPLIED, 1000.0, k, slope, capacity, n_cells=128, n_steps=128)
        np.testing.assert_allclose(found, 900.0, atol=0.05)
    # what takes up less is too hot with any conductivity that comes up, and hardly any unit takes up more
    for level in LEVELS:
        population = KNOWN[level].population(CONSTANT)
        ends = population.conductivity.share_below(limit(sloped=False).conductivity(np.array([0.0, 1e9]), 0.0))
        assert ends[0] > 1.0 - 1e-9 and ends[1] < 0.02
        assert population.heat_capacity.share_below(6e5) > 1.0 - 1e-5


def test_values_as_they_are_found_leave_nothing_to_integrate():
    population = KNOWN["Low"].population(CONSTANT, Family.RESAMPLED)
    k, capacity = (np.array(each.values) for each in (population.conductivity, population.heat_capacity))
    hot = [series_temperature(APPLIED, 1000.0, a, b)[0, 0] > 900.0 for a in k for b in capacity]
    assert by_quadrature(population) == pytest.approx(np.mean(hot))


def test_drawn_units_are_computed_one_by_one(warm_kernels):
    specimens = KNOWN["Low"].population(DEPENDENT).sample(np.random.default_rng(1), 700)
    share, error = by_trying(specimens)
    expected = conduction_temperature(
        APPLIED, 1000.0, specimens.conductivity, specimens.slope, specimens.heat_capacity
    )
    assert share == np.mean(expected > 900.0) and error == pytest.approx(np.sqrt(share * (1.0 - share) / 700))
    time, told = np.array([10.0, 500.0]), []
    found = temperatures(APPLIED, time, specimens, (0.0, 1.0), progress=lambda *each: told.append(each), what="x")
    np.testing.assert_array_equal(found, specimens.temperature(APPLIED, time, (0.0, 1.0)))
    assert told == [("x", 512, 700), ("x", 700, 700)]


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


def test_the_heat_equation_fits_all_sixteen_runs(study):
    found = {which: [run for runs in study.fits[which].values() for run in runs] for which in JUDGED}
    assert [len(runs) for runs in found.values()] == [16, 16]
    assert {run.slope for run in found[DEPENDENT]} == {KNOWN["High"].line.slope}
    assert max(run.rms for run in found[DEPENDENT]) < 0.7
    # what a constant conductivity leaves on the thick slabs
    thick = [run.rms for name in "24" for run in study.fits[CONSTANT][name]]
    assert min(thick) >= 0.4 and 2.5 < max(thick) < 4.5
    for run in found[DEPENDENT]:
        assert 0.03 < run.conductivity < 0.07 and 3e5 < run.heat_capacity < 5.5e5
    one = study.fits[DEPENDENT]["3"][0]
    again = Specimens(np.array([one.conductivity]), one.slope, np.array([one.heat_capacity]))
    runs = validation_runs()["3"]
    left = again.temperature(configurations()["3"], runs.time[1:])[:, 0, 0] - runs.temperature[1:, 0]
    assert np.sqrt(np.mean(left**2)) == pytest.approx(one.rms, rel=1e-9)


@pytest.mark.parametrize("slope", [0.0, 2.5e-5])
def test_a_fit_finds_the_specimen(slope):
    test, time = configurations()["4"], np.arange(0.0, 1001.0, 100.0)
    specimen = Specimens(np.array([0.048]), slope, np.array([4.3e5]))
    measured = specimen.temperature(test, time)[:, 0, 0]
    found = fit_run(test, time, measured, Specimens(np.array([0.06]), slope, np.array([3.5e5])))
    assert (found.conductivity, found.heat_capacity) == pytest.approx((0.048, 4.3e5), rel=1e-6)
    assert found.rms < 1e-4 and found.slope == slope


def test_convergence_is_of_order_two(study):
    found = study.convergence
    assert found.n_cells == (12, 24, 48, 96)
    for errors in (found.constant, found.temperature_dependent):
        assert (np.abs(errors[:-1] / errors[1:] - 4.0) < 0.5).all()


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


def test_the_better_model_is_the_more_reliable(high):
    for activity in (high.validation, high.accreditation):
        for constant, dependent in zip(activity[CONSTANT], activity[DEPENDENT], strict=True):
            for name, curves in constant.all.items():
                assert dependent.all[name].first_passage.value[-1] > curves.first_passage.value[-1] - 0.01


def test_the_correction_is_an_extrapolation_and_lowers_what_is_too_hot(study):
    for each in study.levels:
        bias = each.bias
        assert bias.extrapolates and bias.flux > bias.farthest_flux and bias.rise > bias.farthest_rise
        assert bias.low < each.failure[CONSTANT].quadrature
    # at High the parabola brings the constant model near the one that needs no correction
    assert study.levels[-1].bias.probability == pytest.approx(
        study.levels[-1].failure[DEPENDENT].quadrature, abs=0.06
    )


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


def test_a_decision_needs_units_and_data():
    met = FailureProbability(0.001, 0.0005, 0.001, np.full(100, 0.002), {})
    assert decide(met) is Verdict.MET
    assert decide(replace(met, standard_error=0.004)) is Verdict.OPEN
    assert decide(replace(met, resampled=np.linspace(0.0, 0.011, 100))) is Verdict.OPEN
    missed = replace(met, value=0.05, resampled=np.linspace(0.009, 0.2, 100))
    assert decide(missed) is Verdict.NOT_MET
    assert decide(replace(missed, resampled=np.linspace(0.0, 0.08, 100))) is Verdict.OPEN


def test_the_same_seed_gives_the_same_numbers(warm_kernels):
    number = dict.fromkeys(Conductivity, 64)
    first, again, other = (
        failure_probabilities(material("Medium"), number, 3, np.random.default_rng(seed)) for seed in (5, 5, 6)
    )
    for which in Conductivity:
        assert first[which].value == again[which].value
        np.testing.assert_array_equal(first[which].resampled, again[which].resampled)
        assert (first[which].resampled != other[which].resampled).any()


@pytest.mark.parametrize("numbers", [{"n_realizations": 1}, {"n_resampled": 1}])
def test_too_few_are_refused(numbers):
    with pytest.raises(ValueError, match=r"a study needs two each$"):
        run_study(**numbers)
