"""Reduction and expansion: what each is exact for, against solutions of the whole structure."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigh

from sim.arrays import Samples
from sim.laboratory.elements import LinearSpring
from sim.laboratory.structure import Springs, Structure
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
@pytest.mark.parametrize("kept", [[1, 2, 3], [2, 4, 5]])
def test_serep_is_exact_for_the_modes_it_keeps(grounded: bool, kept: list[int]) -> None:
    structure = chain(grounded)
    reduction = serep(structure, _SENSORS, kept)
    frequencies, vectors = _solved(structure)
    which = np.array(kept) - 1
    assert _solved(reduction.reduced())[0] == pytest.approx(frequencies[which], rel=1e-9, abs=1e-3)
    assert pytest.approx(vectors[:, which].T, abs=1e-9) == vectors[[0, 3, 6]][:, which].T @ reduction.transformation.T


def test_serep_with_fewer_modes_than_sensors_smooths_records() -> None:
    reduction = serep(chain(), _SENSORS, 2)
    _, vectors = _solved(chain())
    time = np.linspace(0.0, 1.0, 20)[:, None]
    record = np.sin(20.0 * time) * vectors[:, 0] + np.cos(50.0 * time) * vectors[:, 1]
    assert record[:, [0, 3, 6]] @ reduction.transformation.T == pytest.approx(record, abs=1e-10)
    with pytest.raises(ValueError, match="fewer modes than sensors: keep as many") as raised:
        reduction.reduced()
    assert "\n" not in str(raised.value)


def test_draws_are_reduced_together() -> None:
    one, scale = chain(), np.array([1.0, 1.7])[:, None, None]
    alike = Structure(one.mass, one.damping, scale * np.asarray(one.stiffness))
    assert np.shape(improved(alike, _SENSORS).reduced().stiffness) == (2, 3, 3)
    shifted = np.asarray(one.stiffness) + np.diag(np.linspace(0.0, 2e4, _N))
    many = Structure(one.mass, one.damping, np.stack([np.asarray(one.stiffness), shifted]))
    alone = Structure(one.mass, one.damping, shifted)
    for reduce in (guyan, improved):
        assert reduce(many, _SENSORS).transformation[1] == pytest.approx(reduce(alone, _SENSORS).transformation)
    with pytest.raises(ValueError, match="influence of ground motions differs between draws"):
        guyan(many, _SENSORS).reduced()


def test_ground_motions_remain_and_nonlinear_springs_are_refused() -> None:
    one, reduction = chain(), guyan(chain(), _SENSORS)
    ground = np.asarray(reduction.reduced().mass) @ np.asarray(reduction.reduced().influence)
    assert ground == pytest.approx(np.asarray(one.mass) @ np.ones(_N) @ reduction.transformation, rel=1e-10)
    held = Structure(one.mass, one.damping, one.stiffness, springs=(Springs(LinearSpring(1.0), ((4, 5),)),))
    with pytest.raises(ValueError, match="nonlinear springs: add their forces at the sensors"):
        guyan(held, _SENSORS).reduced()


def test_all_degrees_of_freedom_as_sensors_change_nothing() -> None:
    for reduction in (guyan(chain(), range(1, 9)), improved(chain(), range(1, 9))):
        assert reduction.transformation == pytest.approx(np.eye(_N), abs=1e-12)


def _middle_node() -> Structure:
    # three equal masses on a symmetric chain: mode 2 has a node at the middle
    return Structure([1.0] * 3, 0.0, np.array([[200.0, -100.0, 0.0], [-100.0, 200.0, -100.0], [0.0, -100.0, 200.0]]))


def _loose() -> Structure:
    # the third mass is joined to nothing
    return Structure([1.0] * 3, 0.0, np.array([[200.0, -100.0, 0.0], [-100.0, 100.0, 0.0], [0.0, 0.0, 0.0]]))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: serep(chain(), (1, 4), 3), "SEREP of 3 modes at 2 sensors"),
        (lambda: serep(chain(), (1, 4), [9]), "structure has modes 1 to 8"),
        (lambda: serep(_middle_node(), (2,), [2]), "see nothing of the mode at 2.251 Hz"),
        (lambda: serep(_middle_node(), (1, 2), [1, 2, 3]), "not more modes than sensors"),
        (lambda: serep(_middle_node(), (2,), [1, 3]), "SEREP of 2 modes at 1 sensors"),
        (lambda: guyan(_loose(), (1, 2)), "degrees of freedom 3 can move without stiffness"),
        (lambda: guyan(chain(), (0,)), "give degrees of freedom 1 to 8, each once"),
        (lambda: guyan(chain(), (1, 1)), "each once"),
        (lambda: guyan(chain(), ()), "sensors none: give degrees of freedom 1 to 8, each once"),
    ],
)
def test_reductions_that_are_singular_are_one_line(make: object, message: str) -> None:
    with pytest.raises(ValueError, match=message) as raised:
        make()  # type: ignore[operator]
    assert "\n" not in str(raised.value)


def test_modes_that_the_sensors_cannot_tell_apart_are_named() -> None:
    """Every other mass of a symmetric chain sees its first and its last mode alike."""
    n = 5
    stiffness = 100.0 * (2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1))
    structure = Structure(np.ones(n), 0.0, stiffness)
    # shapes are sin(j k pi / 6): 1/2, 1, 1/2 at masses 1, 3 and 5 for modes 1 and 5 alike
    with pytest.raises(ValueError, match="cannot tell modes 1 and 5 apart"):
        serep(structure, (1, 3, 5), [1, 5, 3])


def test_a_free_chain_needs_a_sensor_only() -> None:
    reduction: Reduction = guyan(chain(grounded=False), (5,))
    # the whole chain follows its sensor as a rigid body: the reduced stiffness is zero
    assert np.array([1.0]) @ reduction.transformation.T == pytest.approx(np.ones(_N))
    assert abs(float(np.asarray(reduction.reduced().stiffness)[0, 0])) < 1e-6
