"""Modal assurance, pairs and tables, computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from sim.updating.modes import Modes, compare_modes, modal_assurance


def test_mac_by_hand() -> None:
    first = np.array([[1.0, 2.0, 2.0], [2.0, 1.0, -2.0]])
    second = np.array([[2.0, 4.0, 4.0], [1.0, 0.0, 0.0]])
    # (9 * 2)^2 / (9 * 36) = 1; 1 / 9; (2 + 2 - 4 = 0); 4 / 9
    assert modal_assurance(first, second) == pytest.approx(np.array([[1.0, 1.0 / 9.0], [0.0, 4.0 / 9.0]]))


@pytest.mark.parametrize("size", [1e-170, 1e170])
def test_mac_does_not_depend_on_the_size_of_shapes(size: float) -> None:
    # (3 * 4 + 4 * 3)^2 / 25^2
    found = modal_assurance(size * np.array([[3.0, 4.0]]), np.array([[4.0, 3.0]]) / size)
    assert found == pytest.approx(np.array([[0.9216]]))


def test_a_rigid_mode_has_no_relative_error_of_frequency() -> None:
    shapes = np.array([[1.0, 1.0], [1.0, -1.0]])
    found = compare_modes(Modes(np.array([0.0, 2.0]), np.nan, shapes), Modes(np.array([0.0, 3.0]), 0.0, shapes))
    with np.errstate(all="raise"):
        assert found.frequency_errors == pytest.approx([np.nan, 0.5], nan_ok=True)


def test_mac_of_complex_shapes_has_the_conjugate() -> None:
    shape = np.array([1.0 + 1.0j, 2.0])
    assert modal_assurance(shape, shape * np.exp(0.7j)) == pytest.approx(np.array([[1.0]]))
    # a^H b = (1 - i) 1 + 2 * i = 1 + i: |.|^2 = 2, over 6 * 2
    assert modal_assurance(shape, np.array([1.0, 1.0j])) == pytest.approx(np.array([[2.0 / 12.0]]))


def test_pairs_follow_the_shapes_and_errors_the_frequencies() -> None:
    identified = Modes(np.array([22.6, 44.5]), np.array([0.085, 0.043]), np.array([[1.0, 0.0], [0.0, 1.0]]))
    model = Modes(np.array([43.0, 21.8]), 0.0, np.array([[0.1, 1.0], [1.0, 0.2]]))
    found = compare_modes(identified, model)
    assert found.pairs.tolist() == [[0, 1], [1, 0]]
    assert found.mac == pytest.approx([1.0 / 1.04, 1.0 / 1.01])
    # of the paper's Table 1: -3.5 % and -3.4 %
    assert found.frequency_errors == pytest.approx([21.8 / 22.6 - 1.0, 43.0 / 44.5 - 1.0])


def test_a_mode_that_resembles_none_has_no_partner() -> None:
    identified = Modes(np.array([1.0, 2.0]), np.nan, np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]))
    model = Modes(np.array([1.1, 2.2]), 0.0, np.array([[1.0, 0.1, 0.0], [0.1, 1.0, 0.0]]))
    found = compare_modes(identified, model)
    assert found.pairs.tolist() == [[0, 0]]


def test_shapes_that_cannot_be_compared_are_one_line() -> None:
    with pytest.raises(ValueError, match="shape 2 is zero at all sensors"):
        modal_assurance(np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([[1.0, 0.0]]))
    with pytest.raises(ValueError, match="shape 1 is not finite"):
        modal_assurance(np.array([[1.0, np.nan]]), np.array([[1.0, 0.0]]))
    with pytest.raises(ValueError, match="at 2 and at 3 sensors"):
        modal_assurance(np.ones((1, 2)), np.ones((1, 3)))
    with pytest.raises(ValueError, match="give each frequency a row of shapes"):
        Modes(np.array([1.0, 2.0]), 0.0, np.ones((3, 2)))
