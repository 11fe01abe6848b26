"""The study of the impact test: the specimen is found within the stated intervals, and predictions improve."""

import json
from dataclasses import astuple, replace

import numpy as np
import pytest

from monitor.__main__ import main
from replay.papers.nonlinear import impact
from replay.papers.nonlinear.impact import (
    RepeatedImpacts,
    ResponseSurface,
    angles_of_impact,
    error_ratios,
    nodes,
    predict,
    response_surface,
    update,
)
from replay.papers.nonlinear.impact_records import (
    CONFIGURATIONS,
    DURATION,
    NOMINAL,
    SAMPLE_RATE,
    SPECIMEN,
    PadParameters,
    draw_records,
    largest_turning,
    spectra,
)
from sim.models.impact_test import GRAVITY, SENSORS

LOW = tuple(each for each in CONFIGURATIONS if each.drop == "low")


@pytest.fixture(scope="module")
def records():
    return draw_records(SPECIMEN, 1)


@pytest.fixture(scope="module")
def found(records):
    return update(records, n_nodes=16)


def test_the_data_sets_are_those_of_table_2(records):
    assert [len(each.peaks) for each in records.values()] == [10, 5, 10, 5]
    assert [round(each.speed, 1) for each in records] == [1.5, 5.7, 1.5, 5.7]
    for each in records.values():
        assert each.impactor.shape == (round(DURATION * SAMPLE_RATE) + 1, each.configuration.repeats)
        assert each.peaks == pytest.approx(each.impactor.max(axis=0))
    # Figure 12
    assert np.median(records[CONFIGURATIONS[0]].peaks) > 1000.0
    assert (draw_records(SPECIMEN, 1)[LOW[0]].impactor == records[LOW[0]].impactor).all()
    assert (draw_records(SPECIMEN, 4)[LOW[0]].impactor != records[LOW[0]].impactor).any()
    # far above the record's frequencies an oscillator follows its base
    assert spectra(records[LOW[0]].impactor)[:, -1] == pytest.approx(records[LOW[0]].peaks, rel=0.06)


def test_nodes_are_normal_variables():
    tight, tilted = nodes(4000)
    for power, moment in ((1, 0.0), (2, 1.0), (3, 0.0), (4, 3.0)):
        assert np.mean(tight**power) == pytest.approx(moment, abs=0.03 + 0.01 * moment)
    assert (tilted >= 0.0).all() and np.mean(tilted) == pytest.approx(np.sqrt(2.0 / np.pi), rel=0.01)
    assert np.mean(tilted**2) == pytest.approx(1.0, rel=0.01)
    assert abs(np.mean(tight * tilted)) < 0.02


def test_features_of_tests_scatter_by_one_around_those_of_their_model():
    model = RepeatedImpacts(LOW[:1], NOMINAL, 64)
    configuration = LOW[0]
    generator = np.random.default_rng(5)
    acceleration = NOMINAL.test(configuration).realize(generator, 1500)
    logarithms = np.log(spectra(acceleration)).reshape(150, 10, -1)
    scale = model.scales[configuration]
    along = logarithms @ scale.directions
    moments = np.concatenate([logarithms.mean(axis=1), np.log(along.std(axis=1, ddof=1))], axis=1)
    features = moments @ scale.whitening.T
    wrong = features - model.expected(NOMINAL)
    assert np.abs(wrong.mean(axis=0)).max() < 0.5
    assert np.median(features.std(axis=0)) == pytest.approx(1.0, abs=0.2)
    assert features.std(axis=0).max() < 1.4


def test_a_quadratic_surface_has_its_derivatives():
    generator = np.random.default_rng(0)
    surface = ResponseSurface(generator.standard_normal((5, 28)), 0.3, 62, 0.0)
    at = 0.2 * generator.standard_normal((3, 6))
    values, slopes = surface.evaluate(at)
    quadratic = surface.coefficients[:, 7:]
    wanted = []
    for row in at:
        products = np.array([row[i] * row[j] for i in range(6) for j in range(i, 6)])
        wanted.append(surface.coefficients[:, 0] + surface.coefficients[:, 1:7] @ row + quadratic @ products)
    np.testing.assert_allclose(values, wanted)
    for i in range(6):
        step = 1e-5 * np.eye(6)[i]
        difference = (surface.evaluate(at + step)[0] - surface.evaluate(at - step)[0]) / 2e-5
        np.testing.assert_allclose(slopes[..., i], difference, atol=1e-7)


def test_the_specimen_is_found_within_the_stated_intervals(records, found):
    truth = np.array(astuple(SPECIMEN))
    low, high = found.intervals.T
    assert ((low <= truth) & (truth <= high)).all()
    # and not because they are wide: the nominal pad is outside
    assert not low[0] < NOMINAL.modulus < high[0]
    assert (np.abs(high / low) < 2.5).all()
    assert found.fit.converged and not found.fit.at_bound.any()
    each = LOW[0]
    before, after = (predict(parameters, records[each], 100, 1) for parameters in (NOMINAL, found.parameters))
    assert after.area < before.area
    ends = np.percentile(after.peaks, [2.5, 97.5])
    assert (
        after.inside == np.sum((records[each].peaks >= ends[0]) & (records[each].peaks <= ends[1])) >= before.inside
    )


@pytest.mark.slow
def test_intervals_of_95_percent_mostly_contain_the_specimen():
    truth = np.array(astuple(SPECIMEN))
    inside = []
    for seed in range(1, 21):
        low, high = update(draw_records(SPECIMEN, seed)).intervals.T
        inside.append((low <= truth) & (truth <= high))
    assert np.mean(inside) > 0.85


def test_sensors_show_the_angle_of_impact(records):
    # a half sine of 0.5 ms, A sin(w t), turns it by 2 A / w
    time = np.arange(round(DURATION * SAMPLE_RATE) + 1) / SAMPLE_RATE
    turning = -3e3 * np.where(time < 5e-4, np.sin(np.pi * time / 5e-4), 0.0)
    sensors = 100.0 * np.cos(time) + SENSORS[:, None] * turning / GRAVITY
    assert largest_turning(sensors[..., None]) == pytest.approx([-6e3 * 5e-4 / np.pi], rel=1e-3)
    for each in records.values():
        error = angles_of_impact(each, 200, 2) - each.tilt
        assert np.std(error) < 0.35 * np.std(each.tilt)


@pytest.mark.slow
def test_a_surface_of_an_orthogonal_array_misses_less_than_one_of_a_latin_hypercube():
    model = RepeatedImpacts(LOW, NOMINAL, 16)
    fresh = np.random.default_rng(9).uniform(-0.2, 0.2, (40, 6))
    points = np.array(astuple(NOMINAL)) * np.exp(fresh)
    wanted = np.array([model.expected(PadParameters(*point)) for point in points])
    surfaces = (response_surface(model, 0.2, number, strength) for number, strength in ((49, 2), (49, 1), (62, 1)))
    array, as_many, more = (np.sqrt(np.mean((each.evaluate(fresh)[0] - wanted) ** 2)) for each in surfaces)
    assert array < as_many and array < 1.05 * more


def test_a_torn_pad_has_other_errors(records):
    torn = draw_records(SPECIMEN, 9, torn=0.5)
    for each in CONFIGURATIONS[:2]:
        ratios = error_ratios(records[each], torn[each])
        assert len(ratios.sound) == each.repeats - 1 and len(ratios.torn) == each.repeats
        scatter = np.hypot(*(x.std(ddof=1) / np.sqrt(len(x)) for x in (ratios.sound, ratios.torn)))
        assert abs(ratios.sound.mean() - ratios.torn.mean()) > 3.0 * scatter


def test_the_command_prints_tables_json_and_pictures(found, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(impact, "update", lambda records, progress: found)
    words = ["study", "impact", "--seed", "3", "--runs", "50"]
    assert main([*words, "--json", "--pictures", str(tmp_path)]) == 0
    first = json.loads(capsys.readouterr().out)
    assert first["study"] == "impact" and first["seconds"] >= 0.0
    assert [each["data_sets"] for each in first["configurations"]] == [10, 5, 10, 5]
    estimate = first["parameters"]["modulus"]
    assert estimate["updated"] == found.parameters.modulus and estimate["specimen"] == SPECIMEN.modulus
    pictures = sorted(path.name for path in tmp_path.iterdir())
    assert pictures == ["impact-accelerations.png", "impact-peaks.png", "impact-shock-spectra.png"]
    assert main(words) == 0
    shown = capsys.readouterr().out
    for word in ("Table 2", "paper: data sets", "updated", "specimen", "Shock response spectra", "ARX error ratio"):
        assert word in shown
    assert all(len(line) <= 100 for line in shown.splitlines())
    # at the end of the last surface nothing is promised
    stuck = replace(found, fit=replace(found.fit, at_bound=np.arange(6) == 5), intervals=np.full((6, 2), np.nan))
    monkeypatch.setattr(impact, "update", lambda records, progress: stuck)
    assert main(words) == 0
    assert "did not settle" in capsys.readouterr().out
