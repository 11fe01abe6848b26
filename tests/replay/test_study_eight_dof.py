"""The study of the eight masses: frequencies of the paper, what finds a damaged spring, and what is fooled."""

import json

import numpy as np
import pytest

from monitor.__main__ import main
from monitor.text.blocks import to_json
from replay.papers.nonlinear.eight_dof import DAMAGED, RUNS, update_eight_masses
from replay.papers.nonlinear.eight_dof_blocks import PRINTED_1, remarks, study_blocks
from replay.papers.nonlinear.eight_dof_metrics import (
    MODAL,
    RANGE,
    WINDOW,
    Case,
    DamageMetric,
    fit_with_unknown_forces,
    update,
    virtual_test,
)
from replay.pictures import save_figures
from replay.tables import print_blocks


@pytest.fixture(scope="module")
def study():
    return update_eight_masses(1, 1)


def test_frequencies_are_those_of_the_masses_and_of_the_paper(study):
    # masses and springs of the laboratory: eigenvalues of plain matrices
    masses, k = np.array([0.5593] + [0.4194] * 7), 56.7e3
    stretch = np.eye(7, 8, k=1) - np.eye(7, 8)
    squares = np.sort(np.linalg.eigvals(k * stretch.T @ stretch / masses[:, None]).real)
    np.testing.assert_allclose(study.frequencies, np.sqrt(squares[1:6]) / (2.0 * np.pi), rtol=1e-9)
    np.testing.assert_allclose(study.frequencies, [row[2] for row in PRINTED_1], rtol=0.01)


def test_a_test_is_a_damaged_chain_with_noise():
    test = virtual_test(Case.NEITHER, 3)
    assert test.acceleration.shape == (8192, 8) and test.bed.dt == pytest.approx(8.0 / 8192)
    clean = test.bed.motion(test.bed.damaged).acceleration
    difference = (test.acceleration - clean).std(axis=0) / clean.std(axis=0)
    np.testing.assert_allclose(difference, 0.01, rtol=0.05)
    assert np.asarray(test.bed.damaged.springs)[DAMAGED - 1] == pytest.approx(0.86 * 56.7e3)
    assert not np.any(test.bed.chain.friction) and test.bed.chain.smooth


def test_all_find_it_where_the_model_is_right():
    test = virtual_test(Case.NEITHER, 1)
    for metric in (*MODAL, DamageMetric.PCD, DamageMetric.RMS):
        assert update(metric, test).spring == DAMAGED, metric
    np.testing.assert_allclose(update(DamageMetric.RMS, test).loss, [0, 0, 0, 0, 14.0, 0, 0], atol=1.0)


def test_friction_alone_is_taken_up_by_unknown_forces():
    test = virtual_test(Case.FRICTION, 1)
    found = update(DamageMetric.UNKNOWN, test)
    assert found.spring == DAMAGED and abs(found.loss[DAMAGED - 1] - 14.0) < 5.0
    fitted = fit_with_unknown_forces(test, WINDOW, RANGE)
    assert fitted.converged and 0.1 < fitted.force < 5.0


def test_with_friction_and_impact_only_the_model_that_has_both_finds_it(study):
    found = study.damage[Case.BOTH]
    for metric in MODAL:
        assert found[metric].placed == 0 and found[metric].loss_of(DAMAGED)[0] < 0.0, metric
    rough = found[DamageMetric.ROUGH]
    assert rough.found == 1 and rough.spring == DAMAGED
    np.testing.assert_allclose(rough.losses[0], [0, 0, 0, 0, 14.0, 0, 0], atol=1.0)
    # and predicts another test
    assert study.ranked[0].name == "rms_friction_impact" and study.ranked[0].values["accumulated"] > 0.95
    assert all(model.values["accumulated"] < 0.5 for model in study.ranked[1:])


def test_all_solvers_are_fooled_alike(study):
    by_metric = study.damage[Case.BOTH][DamageMetric.FORCE].losses[0]
    np.testing.assert_allclose(study.solvers, np.tile(by_metric, (5, 1)), atol=0.1)


def test_friction_dissipates_less_as_the_force_grows_and_impact_more(study):
    damping, frequencies = study.levels.damping, study.levels.frequencies
    assert (np.diff(damping[Case.FRICTION], axis=0) < 0.0).all()
    assert (damping[Case.BOTH][1:] > damping[Case.FRICTION][1:]).all()
    # the frequencies hardly move
    np.testing.assert_allclose(frequencies[Case.FRICTION], np.tile(study.frequencies, (4, 1)), rtol=0.02)
    np.testing.assert_allclose(frequencies[Case.BOTH], np.tile(study.frequencies, (4, 1)), rtol=0.06)


def test_json_tables_and_pictures(study, capsys, tmp_path):
    found = to_json(study_blocks(study))
    assert found["damage"]["rms_friction_impact"]["spring"] == 5
    assert found["damage"]["rms_friction_impact"]["percent"] == pytest.approx(14.0, abs=3.0)
    assert found["damage"]["rms_friction_impact"]["success_rate"] == 1.0
    assert {"output_residue", "force_residue", "hybrid_residue"} <= set(found["damage"])
    assert len(list(remarks(study))) == 5
    print_blocks(study_blocks(study))
    shown = capsys.readouterr().out
    assert "Table 1" in shown and "Figure 8" in shown and "with friction, impact" in shown
    assert all(len(line) <= 100 for line in shown.splitlines())
    # no table is split: every metric is in one row of each case
    assert shown.count("principal comp. (13)") == 3
    files = save_figures(study_blocks(study), tmp_path)
    assert len(files) == 4 and all(path.stat().st_size > 10_000 for path in files)


def test_a_test_and_an_update_of_the_same_seed_are_the_same():
    one, other = (virtual_test(Case.NEITHER, 7) for _ in range(2))
    np.testing.assert_array_equal(one.acceleration, other.acceleration)
    losses = [update(DamageMetric.HYBRID, each).loss for each in (one, other)]
    np.testing.assert_array_equal(*losses)
    assert np.abs(virtual_test(Case.NEITHER, 8).acceleration - one.acceleration).max() > 1.0


def test_other_numbers_of_runs_are_refused():
    with pytest.raises(ValueError, match="--runs 0: the study eight-dof needs 1 to 500"):
        update_eight_masses(0, 1)


@pytest.mark.slow
def test_twenty_seeds(capsys):
    assert main(["study", "eight-dof", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    damage = found["damage"]
    assert found["runs"] == RUNS == 20
    assert damage["rms_friction_impact"]["success_rate"] >= 0.9
    assert all(damage[name]["success_rate"] <= 0.1 for name in ("output_residue", "force_residue", "hybrid_residue"))
    assert found["cases"]["friction"]["unknown_forces"]["place_rate"] >= 0.8
