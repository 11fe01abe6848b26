"""The standard error of a Monte Carlo share."""

import numpy as np
import pytest

from replay.papers.thermal.limit import by_monte_carlo, standard_error
from sim.models.thermal_population import Specimens


def test_a_standard_error_is_never_zero():
    """Agresti and Coull's, two of each outcome added."""
    for hits, number in ((0, 2), (0, 20_000), (2, 2), (30, 400)):
        with_four = (hits + 2) / (number + 4)
        expected = np.sqrt(with_four * (1.0 - with_four) / (number + 4))
        assert standard_error(hits / number, number) == pytest.approx(expected, rel=1e-9)
    cool = Specimens(np.full(20, 0.2), 0.0, np.full(20, 5e5))
    share, error = by_monte_carlo(cool)
    assert share == 0.0 and 0.01 < error < 0.1
