"""Output, force and hybrid residues: formulas by hand, derivatives, exact modes, free and grounded structures."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.linalg import eigh

from sim.arrays import Samples
from sim.fitting.fit import fit
from sim.fitting.regression import Regression
from sim.laboratory.structure import Structure
from sim.updating.modal_residues import (
    ForceResidue,
    HybridResidue,
    OutputResidue,
    ParameterizedStructure,
    mode_derivatives,
    spring_patterns,
)
from sim.updating.modes import Modes, natural_modes

_MASSES = np.array([0.5593] + [0.4194] * 7)
_NOMINAL = np.full(7, 56.7e3)
_FREE = [(i, i + 1) for i in range(1, 8)]
# spring 5 of the LANL test bed, 14 % softer
_DAMAGED = np.where(np.arange(7) == 4, 0.86, 1.0) * _NOMINAL


def _free_chain() -> ParameterizedStructure:
    return ParameterizedStructure.of_springs(_MASSES, _FREE, _NOMINAL, lower=0.7, upper=1.3)


def _grounded() -> ParameterizedStructure:
    places = [(1, None), *((i, i + 1) for i in range(1, 5))]
    return ParameterizedStructure.of_springs(np.linspace(1.0, 2.0, 5), places, np.full(5, 1e3))


def _sixth_order(function: Callable[[Samples], Samples], at: Samples, step: Samples) -> Samples:
    slopes = []
    for i in range(at.shape[1]):
        shift = step[i] * np.eye(at.shape[1])[i]
        differences = [function(at + k * shift) - function(at - k * shift) for k in (1, 2, 3)]
        slopes.append((45.0 * differences[0] - 9.0 * differences[1] + differences[2]) / (60.0 * step[i]))
    return np.stack(slopes, axis=-1)


CASES = {"output": lambda s, m, x: OutputResidue(s, m, x, 0.01, 0.1), "force": ForceResidue, "hybrid": HybridResidue}


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("structure", [_free_chain(), _grounded()], ids=["free", "grounded"])
@pytest.mark.parametrize("sensors", [(1, 3, 4), None])
def test_derivatives(kind: str, structure: ParameterizedStructure, sensors: tuple[int, ...] | None) -> None:
    truth = 0.55 * (structure.lower + structure.upper)
    truth = np.where(np.isfinite(truth), truth, 1.1e3)
    modes = natural_modes(structure.at(truth), sensors).chosen(slice(0, 2))
    # not the modes of any model
    noisy = Modes(
        modes.frequencies * [1.02, 0.97],
        modes.damping,
        modes.shapes + 0.1 * np.cos(np.arange(modes.shapes.size)).reshape(modes.shapes.shape),
    )
    residue: Regression = CASES[kind](structure, noisy, sensors)  # type: ignore[no-untyped-call]
    at = truth * (1.0 + 0.05 * np.random.default_rng(1).normal(size=(2, len(truth))))
    found, slopes = residue.evaluate(at)
    expected = _sixth_order(lambda each: residue.evaluate(each)[0], at, 2e-3 * truth)
    assert found.shape == (2, len(residue.observed))  # type: ignore[attr-defined]
    assert np.abs((slopes - expected) * truth).max() < 1e-7 * np.abs(expected * truth).max()


def test_mode_derivatives_of_two_masses_in_closed_form() -> None:
    """Masses of 1 kg on springs k, c between, k: w^2 = k and k + 2 c, whatever k and c are; shapes are constant."""
    patterns = spring_patterns([(1, None), (1, 2), (2, None)], 2)
    base = Structure(1.0 * np.eye(2), 0.0, np.zeros((2, 2)))
    both, bound = np.stack([patterns[0] + patterns[2], patterns[1]]), np.full(2, np.inf)
    structure = ParameterizedStructure(base, ("k", "c"), both, -bound, bound)
    squares, _, d_squares, d_shapes = mode_derivatives(structure, np.array([[100.0, 30.0]]))
    assert squares[0] == pytest.approx([100.0, 160.0])
    assert d_squares[0] == pytest.approx(np.array([[1.0, 0.0], [1.0, 2.0]]), abs=1e-12)
    assert np.abs(d_shapes).max() < 1e-12


def test_output_residue_by_hand() -> None:
    structure, sensors = _free_chain(), (1, 4, 7)
    identified = Modes(np.array([22.6, 44.5]), 0.05, np.array([[-2.0, -0.3, 1.7], [1.0, -0.9, 0.6]]))
    squares, vectors = eigh(np.asarray(structure.at(_NOMINAL).stiffness), np.diag(_MASSES))
    model = vectors[[0, 3, 6]][:, 1:3].T
    model /= np.linalg.norm(model, axis=1, keepdims=True)
    wanted = identified.shapes / np.linalg.norm(identified.shapes, axis=1, keepdims=True)
    model *= np.sign(np.sum(model * wanted, axis=1, keepdims=True))
    frequencies = np.sqrt(squares[1:3]) / (2.0 * np.pi)
    expected = np.concatenate([(1.0 - frequencies / identified.frequencies) / 0.01, (wanted - model).ravel() / 0.2])
    residue = OutputResidue(structure, identified, sensors, 0.01, 0.2)
    assert residue.observed - residue.evaluate(_NOMINAL[None])[0][0] == pytest.approx(expected, rel=1e-9)


def test_force_residue_by_hand_with_all_sensors() -> None:
    structure = _grounded()
    shape, frequency = np.array([1.0, 2.0, 3.0, 4.0, 5.0]), 3.0
    model = structure.at(np.array([1e3, 2e3, 1e3, 1e3, 1e3]))
    square = (2.0 * np.pi * frequency) ** 2
    force = (np.asarray(model.stiffness) - square * np.asarray(model.mass)) @ shape / np.linalg.norm(shape)
    residue = ForceResidue(structure, Modes(np.array([frequency]), 0.0, shape[None]))
    found, _ = residue.evaluate(np.array([[1e3, 2e3, 1e3, 1e3, 1e3]]))
    # observed - response, relative to w^2 times the mean mass, 1.5 kg
    assert residue.observed - found[0] == pytest.approx(force / (1.5 * square), rel=1e-10)


@pytest.mark.parametrize("structure", [_free_chain(), _grounded()], ids=["free", "grounded"])
def test_hybrid_residue_counts_modes_as_stated(structure: ParameterizedStructure) -> None:
    """By modal expansion of shapes that are no modes, the rigid body's share included."""
    masses = np.asarray(structure.structure.mass)
    at = _NOMINAL[: len(structure.names)]
    squares, vectors = eigh(np.asarray(structure.at(at).stiffness), masses)
    shapes = np.arange(1.0, 1.0 + len(masses)) ** np.array([[2.0], [0.5]])
    residue = HybridResidue(structure, Modes(np.array([5.0, 30.0]), 0.0, shapes))
    found = (residue.observed - residue.evaluate(at[None])[0][0]).reshape(2, -1)
    for left, shape, frequency in zip(found, shapes, (5.0, 30.0), strict=True):
        target = (2.0 * np.pi * frequency) ** 2
        shares = (vectors.T @ masses @ shape / np.linalg.norm(shape)) * (squares - target) / (squares + target)
        assert left == pytest.approx(vectors @ shares, rel=1e-8)


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("sensors", [(1, 4, 7), None])
def test_residues_of_the_right_model_are_zero(kind: str, sensors: tuple[int, ...] | None) -> None:
    structure = _free_chain()
    modes = natural_modes(structure.at(_DAMAGED), sensors).chosen(slice(0, 5))
    residue = CASES[kind](structure, modes, sensors)  # type: ignore[no-untyped-call]
    assert np.abs(residue.observed - residue.evaluate(_DAMAGED[None])[0][0]).max() < 1e-7


@pytest.mark.parametrize("kind", CASES)
def test_each_finds_the_damaged_spring_of_a_linear_structure(kind: str) -> None:
    """Exact modes at masses 1, 4 and 7, five of them: spring 5 is 14 % down, and no other."""
    structure, sensors = _free_chain(), (1, 4, 7)
    modes = natural_modes(structure.at(_DAMAGED), sensors).chosen(slice(0, 5))
    residue = CASES[kind](structure, modes, sensors)  # type: ignore[no-untyped-call]
    found = fit(residue, residue.observed, _NOMINAL)
    assert found.converged
    assert found.parameters / _NOMINAL == pytest.approx(_DAMAGED / _NOMINAL, abs=1e-4)


_ONE = Modes(np.array([22.0]), 0.0, np.array([[1.0, 0.3, -0.8]]))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ForceResidue(_free_chain(), _ONE, (1, 4)), "shapes at 3 sensors, of which 2 are given"),
        (
            lambda: OutputResidue(_free_chain(), Modes(np.array([9.0]), 0.0, np.zeros((1, 3))), (1, 4, 7)),
            "see nothing of it",
        ),
        (lambda: OutputResidue(_free_chain(), Modes(np.array([0.0]), 0.0, np.ones((1, 3))), (1, 4, 7)), "rigid body"),
        (
            lambda: OutputResidue(_free_chain(), Modes(np.array([9.0]), 0.0, 1j * np.ones((1, 3))), (1, 4, 7)),
            "complex",
        ),
        (
            lambda: OutputResidue(_free_chain(), Modes(np.arange(1.0, 9.0), 0.0, np.eye(8))),
            "8 identified modes, but the model has 7 elastic ones: leave some out",
        ),
    ],
)
def test_what_makes_no_residue_is_one_line(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message) as raised:
        make()
    assert "\n" not in str(raised.value)
