"""Modes of the hinged beam against finite elements and the tables of limiting cases."""

import math

import numpy as np
import pytest

from sim.models.hinged_beam import HingedBeam
from tests.oracles.beam_elements import hinged_beam_modes


@pytest.mark.parametrize("end_spring", [1e2, 1e5, 1e8])
@pytest.mark.parametrize("n_modes", [1, 5])
def test_modes_are_those_of_finite_elements(end_spring, n_modes):
    beam = HingedBeam(end_spring=end_spring, n_modes=n_modes)
    positions = [0.0, 4.0, 9.0, 18.0, 30.0]
    wanted = beam.length, beam.bending_stiffness, beam.mass_per_length, end_spring, positions, n_modes
    frequencies, shapes = hinged_beam_modes(*wanted)
    # elements are too stiff, by 4e-6 in the fifth mode; of the soft beam, rounding shows
    np.testing.assert_allclose(beam.natural_frequencies, frequencies, rtol=2e-5)
    found = np.array([beam.shapes(x) for x in positions])
    np.testing.assert_allclose(np.abs(found), np.abs(shapes), atol=1e-4 * np.max(np.abs(shapes)))
    np.testing.assert_allclose(found @ found.T, shapes @ shapes.T, atol=1e-4 * np.max(shapes) ** 2)


def test_modes_of_limiting_beams_are_in_every_table():
    # simply supported: n pi; the hinge alone: tan z = tanh z, 3.92660 and 7.06858 above the rigid turn
    np.testing.assert_allclose(HingedBeam(end_spring=1e15).wavenumbers, np.pi * np.arange(1, 4), rtol=1e-6)
    soft = HingedBeam(end_spring=1e-3)
    np.testing.assert_allclose(soft.wavenumbers[1:], [3.92660231, 7.06858275], rtol=1e-8)
    # a stiff bar on a hinge: omega^2 = k L^2 / (m L^2 / 3)
    assert soft.natural_frequencies[0] == pytest.approx(math.sqrt(3.0 * 1e-3 / (7.33e-4 * 5.0 * 30.0)), rel=1e-6)
    # even far up, where sinh overflows
    assert np.all(np.isfinite(HingedBeam(n_modes=400).shapes(17.0)))


@pytest.mark.parametrize("name", ["length", "width", "height", "modulus", "density", "end_spring", "n_modes"])
def test_a_beam_that_is_none_is_refused_in_one_line(name):
    with pytest.raises(ValueError, match=f"^beam {name} 0: must be a positive number$"):
        HingedBeam(**{name: 0})
