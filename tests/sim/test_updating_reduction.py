"""Reduction and expansion: what each is exact for, against solutions of the whole structure."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigh

from sim.arrays import Samples
from sim.laboratory.structure import Structure
from sim.updating.modes import natural_modes
from sim.updating.reduction import Reduction, guyan, improved, serep

_N = 8
_SENSORS = (1, 4, 7)


def chain(grounded: bool = True) -> Structure:
    """Return eight masses, one of 0.5593 and seven of 0.4194 kg, on springs of 56.7 kN/m, free or grounded."""
    stiffness = np.zeros((_N, _N))
    for i in range(_N - 1):
        stiffness[i : i + 2, i : i + 2] += 56.7e3 * np.array([[1.0, -1.0], [-1.0, 1.0]])
    stiffness[0, 0] += 40e3 if grounded else 0.0
    return Structure([0.5593] + [0.4194] * (_N - 1), 1e-4 * stiffness, stiffness)


def _solved(structure: Structure) -> tuple[Samples, Samples]:
    mass, _, stiffness = structure.matrices
    values, vectors = eigh(stiffness, mass)
    return np.sqrt(np.abs(values)) / (2.0 * np.pi), vectors


def test_modes_of_a_structure_are_those_of_scipy() -> None:
    structure = chain()
    frequencies, vectors = _solved(structure)
    modes = natural_modes(structure)
    assert modes.frequencies == pytest.approx(frequencies, rel=1e-10)
    assert np.abs(modes.shapes) == pytest.approx(np.abs(vectors.T), abs=1e-9)
    # C = 1e-4 K: zeta = 1e-4 w / 2
    assert modes.damping == pytest.approx(0.5e-4 * 2.0 * np.pi * frequencies, rel=1e-9)


def test_guyan_is_exact_for_static_loads_at_the_sensors() -> None:
    structure, reduction = chain(), guyan(chain(), _SENSORS)
    load = np.zeros(_N)
    load[[0, 3, 6]] = [10.0, -4.0, 7.0]
    whole = np.linalg.solve(np.asarray(structure.stiffness), load)
    small = np.linalg.solve(np.asarray(reduction.reduced().stiffness), load @ reduction.transformation)
    assert small == pytest.approx(whole[[0, 3, 6]], rel=1e-11)
    assert small @ reduction.transformation.T == pytest.approx(whole, rel=1e-11)


def test_guyan_frequencies_are_upper_bounds_and_irs_is_nearer() -> None:
    exact, _ = _solved(chain())
    static, _ = _solved(guyan(chain(), _SENSORS).reduced())
    better, _ = _solved(improved(chain(), _SENSORS).reduced())
    assert np.all(static > exact[:3])
    assert np.abs(better - exact[:3])[0] < 0.1 * np.abs(static - exact[:3])[0]


@pytest.mark.parametrize("grounded", [True, False])
def test_serep_is_exact_for_the_modes_it_keeps(grounded: bool) -> None:
    structure = chain(grounded)
    reduction = serep(structure, _SENSORS)
    frequencies, vectors = _solved(structure)
    assert _solved(reduction.reduced())[0] == pytest.approx(frequencies[:3], rel=1e-9, abs=1e-3)
    assert pytest.approx(vectors[:, :3].T, abs=1e-9) == vectors[[0, 3, 6]][:, :3].T @ reduction.transformation.T


def test_all_degrees_of_freedom_as_sensors_change_nothing() -> None:
    for reduction in (guyan(chain(), range(1, 9)), improved(chain(), range(1, 9)), serep(chain(), range(1, 9))):
        assert reduction.transformation == pytest.approx(np.eye(_N), abs=1e-12)


@pytest.mark.parametrize("sensors", [(0,), (1, 1), ()])
def test_sensors_are_degrees_of_freedom_each_once(sensors: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="give degrees of freedom 1 to 8, each once"):
        guyan(chain(), sensors)


def test_a_free_chain_needs_a_sensor_only() -> None:
    reduction: Reduction = guyan(chain(grounded=False), (5,))
    # the whole chain follows its sensor as a rigid body: the reduced stiffness is zero
    assert np.array([1.0]) @ reduction.transformation.T == pytest.approx(np.ones(_N))
    assert abs(float(np.asarray(reduction.reduced().stiffness)[0, 0])) < 1e-6
