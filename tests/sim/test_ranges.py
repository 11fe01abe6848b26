"""Settings out of range are told in one line; what experiments have alike."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from sim.arrays import check_not_negative, check_positive
from sim.ensembles import EqualSteps
from sim.models.beam import StochasticBeam
from sim.models.impact_test import ImpactTest
from sim.models.nonlinear_chains import EightMasses
from sim.models.sandia import SandiaStructure
from sim.models.thermal_population import ThermalExperiment


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_what_must_be_positive(value):
    check_positive("beam", span=1e-300, dt=1.0)
    with pytest.raises(ValueError, match=f"^beam dt {value}: must be a positive number$"):
        check_positive("beam", span=1.0, dt=value)


@pytest.mark.parametrize("value", [-1e-300, math.nan, math.inf])
def test_what_must_not_be_negative(value):
    check_not_negative("beam", noise=0.0)
    with pytest.raises(ValueError, match=f"^beam noise {value}: must be zero or more$"):
        check_not_negative("beam", noise=value)


def test_steps_are_equal_up_to_the_one_nearest_the_horizon():
    @dataclass(frozen=True)
    class Short(EqualSteps):
        horizon: float = 1.04
        dt: float = 0.25
        noise: float = 0.0
        name = "short"

    np.testing.assert_allclose(Short().time, [0.0, 0.25, 0.5, 0.75, 1.0])
    np.testing.assert_array_equal(StochasticBeam(horizon=1.04, dt=0.25).time, Short().time)


@pytest.mark.parametrize("kind", [StochasticBeam, SandiaStructure, ThermalExperiment, EightMasses, ImpactTest])
def test_every_experiment_refuses_what_they_have_alike(kind):
    assert issubclass(kind, EqualSteps)
    for name, value, words in (
        ("dt", 0.0, "positive"),
        ("horizon", math.inf, "positive"),
        ("noise", -1.0, "zero or"),
    ):
        with pytest.raises(ValueError, match=rf" {name} {value}: must be (a )?{words}"):
            kind(**{name: value})
