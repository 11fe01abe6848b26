"""The inclination of measured over command against the principal axis by numpy's eigenvectors."""

from __future__ import annotations

import numpy as np
import pytest

from replay.papers.tracking.pictures import inclination
from tests.oracles.tones import Tones, several_tones


def test_it_is_the_angle_of_the_leading_eigenvector():
    x_c, x_m = several_tones(np.random.default_rng(2), 400, 200.0, noise=0.05)
    found = inclination(x_c + 1000.0, x_m - 500.0, 90)
    assert np.isnan(found[:89]).all() and len(found) == 400
    for i in range(89, 400, 17):
        _, vectors = np.linalg.eigh(np.cov(x_c[i - 89 : i + 1], x_m[i - 89 : i + 1]))
        leading = vectors[:, -1]
        assert np.tan(found[i]) == pytest.approx(leading[1] / leading[0], rel=1e-8)


@pytest.mark.parametrize("gain", [0.75, 1.0, 1.1])
def test_of_a_measured_signal_in_phase_it_is_the_gain(gain):
    x_c, x_m = Tones(2.0, 3.0, gain, 0.0, 0.3, 5.0, -2.0).signals(400, 200.0)
    np.testing.assert_allclose(np.tan(inclination(x_c, x_m, 100)[99:]), gain, rtol=1e-9)
