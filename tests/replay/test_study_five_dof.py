"""The study of drawn chains: their motion by scipy, what is found of them, and that the fit says where it is not."""

import json

import numpy as np
import pytest
from scipy.signal import lsim

from monitor.__main__ import main
from replay.papers.nonlinear.five_dof import METHODS, Damage, Outcomes, draw_test, modes_of


def exact_acceleration(test):
    """Return (n, 5) of the damaged chain by scipy, springs to the left of each mass written out."""
    difference = np.eye(5) - np.eye(5, k=-1)
    springs = np.asarray(test.model.springs) * (1.0 - test.loss / 100.0)
    stiffness, damping = (difference.T @ np.diag(each) @ difference for each in (springs, np.full(5, 0.5)))
    by_mass = np.diag(1.0 / test.masses)
    lower, zero = -by_mass @ np.hstack([stiffness, damping]), np.zeros((5, 5))
    system = np.vstack([np.eye(5, 10, k=5), lower]), np.vstack([zero, by_mass]), lower, by_mass
    return lsim(system, test.load, np.arange(len(test.load)) / 50.0)[1]


@pytest.mark.parametrize("damage", Damage)
def test_a_test_is_a_drawn_chain_with_noise(damage):
    test = draw_test(damage, 4)
    error = (test.acceleration - exact_acceleration(test)) / exact_acceleration(test).std(axis=0)
    np.testing.assert_allclose(error.std(axis=0), 0.01, rtol=0.05)
    assert np.sum(test.loss > 0.0) == (2 if damage is Damage.TWO else 1) and np.all(test.loss <= 25.0)
    ratio = np.sort(test.masses / np.asarray(test.model.masses))
    np.testing.assert_allclose(ratio, [1.0] * 4 + [1.1 if damage is Damage.MASS else 1.0])


@pytest.mark.parametrize("damage", Damage)
def test_springs_and_masses_that_are_free_are_found_within_their_errors(damage):
    test = draw_test(damage, 4)
    found = METHODS["time histories, masses free"](test, modes_of(test))
    springs = np.asarray(test.model.springs) * (1.0 - test.loss / 100.0)
    truth = [*springs, 0.5, *test.masses]
    assert np.all(np.abs(found.parameters - truth) < 4.0 * found.standard_errors)
    assert np.all(found.standard_errors < 0.02 * np.array(truth) + 0.01)
    assert not any("residuals" in doubt for doubt in found.doubts())


def test_a_wrong_mass_is_taken_for_springs_and_said():
    test = draw_test(Damage.MASS, 4)
    found = METHODS["time histories (10)"](test, modes_of(test))
    loss = 100.0 * (1.0 - found.parameters[:5] / np.asarray(test.model.springs))
    assert np.abs(loss - test.loss).max() > 3.0
    assert any("the model leaves something out" in doubt for doubt in found.doubts())


def test_modal_residues_find_two_springs_on_the_ground():
    modes = modes_of(test := draw_test(Damage.TWO, 4))
    assert modes.shapes.shape == (5, 3)
    for name in ("force residue (5)", "hybrid residue (6, 7)"):
        loss = 100.0 * (1.0 - METHODS[name](test, modes).parameters / np.asarray(test.model.springs))
        assert np.abs(loss - test.loss).max() < 5.0, name


def test_a_row_counts_by_hand():
    outcomes = Outcomes(np.array([1.0, 2.0, 9.0, 4.0]), np.array([0.0, 1.0, 1.0, 0.0]))
    assert outcomes.row() == (4, 2, 3.0, 9.0, 1, "1 of 2")


def test_the_command_prints_tables_and_json(capsys):
    assert main(["study", "five-dof", "--runs", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    rows = {row["metric"]: row for row in found["damage"]["two springs"]}
    assert set(rows) == set(METHODS) and rows["time histories (10)"]["found"] == rows["time histories (10)"]["tests"]
    assert found["modes_identified"] == 15
