"""The stochastic beam against eq. 29 by hand, closed-form moments, a quadrature and brute force."""

import math
from dataclasses import replace

import numpy as np
import pytest

from replay.simulations.models import realizations
from sim.ensembles import Lognormal, replicates
from sim.models.beam import StochasticBeam

BEAM = StochasticBeam()
NUMBER = 30_000


def power_moment(mean, deviation, power):
    """E[X^p] = E[X]^p (1 + v^2)^(p (p - 1)/2) of a lognormal X of variation v."""
    return mean**power * (1.0 + (deviation / mean) ** 2) ** (power * (power - 1) / 2)


def exact_moments(time):
    """Mean and standard deviation of eq. 29: a sum of products of independent variables.

    With u = 1/(a b^3), g = A F u + B q u + C b^-2, where A = L^3/(4E), B = 5 L^4/(32 E), C = B rho.
    """
    a = 5.0**3 / (4.0 * 30e9)
    b = 5.0 * 5.0**4 / (32.0 * 30e9)
    c = b * 78.5e3

    def moment(width_power, height_power):
        return power_moment(0.2, 0.005, width_power) * power_moment(0.04, 0.0008, height_power)

    load = a * 1000.0 * (1.0 + np.sin(2.0 + time)) + b * 450.0
    load_variance = (a * 100.0) ** 2 + (b * 20.0) ** 2
    mean = load * moment(-1, -3) + c * moment(0, -2)
    square = (load**2 + load_variance) * moment(-2, -6) + 2.0 * load * c * moment(-1, -5) + c**2 * moment(0, -4)
    return mean, np.sqrt(square - mean**2)


@pytest.fixture(scope="module")
def deflections():
    return np.hstack(list(realizations(BEAM, NUMBER, 11)))


def test_equation_29_by_hand():
    # I = 0.2 * 0.04^3 / 12 = 1.0666667e-6 m^4, EI = 32 kN m^2; a weight of 78.5 kN/m^3 * 0.008 m^2 = 628 N/m
    # 1000 N: 1000 * 125 / (48 * 32000) = 0.0813802 m; 450 + 628 N/m: 5 * 1078 * 625 / (384 * 32000) = 0.2741496 m
    assert BEAM.deflection(1000.0, 450.0, 0.2, 0.04) == pytest.approx(0.0813802 + 0.2741496, abs=1e-7)
    assert BEAM.deflection(0.0, 0.0, 0.2, 0.04) == pytest.approx(628.0 / 1078.0 * 0.2741496, abs=1e-7)
    # half as high: an eighth of the stiffness, half of the weight
    assert BEAM.deflection(0.0, 0.0, 0.2, 0.02) == pytest.approx(4.0 * 628.0 / 1078.0 * 0.2741496, abs=1e-6)
    assert BEAM.deflection(1000.0, -628.0, 0.1, 0.04) == pytest.approx(
        0.1627604 - 314.0 / 628.0 * 0.3194173, abs=1e-6
    )


def test_the_ensemble_says_what_it_is():
    assert (BEAM.name, BEAM.quantity, BEAM.unit) == ("beam", "deflection at midspan", "m")
    np.testing.assert_allclose(BEAM.time, np.linspace(0.0, 5.0, 251), atol=1e-12)


def test_deflections_have_the_size_that_is_known():
    mean, deviation = exact_moments(BEAM.time)
    assert 0.27 < np.min(mean) < 0.28 and 0.42 < np.max(mean) < 0.44
    np.testing.assert_allclose(deviation / mean, 0.06, atol=0.002)


def test_moments_within_four_standard_errors(deflections):
    assert deflections.shape == (251, NUMBER) and deflections.flags.c_contiguous
    mean, deviation = exact_moments(BEAM.time)
    assert np.all(np.abs(deflections.mean(axis=1) - mean) < 4.0 * deviation / math.sqrt(NUMBER))
    # somewhat heavier in the tails than a normal variable, for which it is 2
    fourth = np.mean(((deflections - mean[:, None]) / deviation[:, None]) ** 4, axis=1)
    error = np.sqrt((fourth - 1.0) / NUMBER)
    assert np.all(np.abs(deflections.var(axis=1) / deviation**2 - 1.0) < 4.0 * error)


def test_quadrature_over_the_section_gives_the_moments():
    nodes, weights = np.polynomial.hermite_e.hermegauss(12)
    weights = weights / np.sum(weights)
    mean, square = np.zeros(251), np.zeros(251)
    for width, a in zip(BEAM.width.at(nodes), weights, strict=True):
        for height, b in zip(BEAM.height.at(nodes), weights, strict=True):
            given, deviation = BEAM.conditional(width, height)
            mean += a * b * given
            square += a * b * (given**2 + deviation**2)
    exact_mean, exact_deviation = exact_moments(BEAM.time)
    np.testing.assert_allclose(mean, exact_mean, rtol=1e-12)
    np.testing.assert_allclose(np.sqrt(square - mean**2), exact_deviation, rtol=1e-9)


@pytest.mark.parametrize(("width", "height"), [(0.2, 0.04), (0.19, 0.042)])
def test_conditional_moments_are_those_of_a_certain_section(width, height):
    certain = replace(BEAM, width=Lognormal(width, 0.0), height=Lognormal(height, 0.0), horizon=1.0)
    mean, deviation = certain.conditional(width, height)
    assert mean.shape == deviation.shape == (51,)
    sample = certain.realize(np.random.default_rng(2), NUMBER)
    assert np.all(np.abs(sample.mean(axis=1) - mean) < 4.0 * deviation / math.sqrt(NUMBER))
    assert np.all(np.abs(sample.std(axis=1) / deviation - 1.0) < 4.0 / math.sqrt(2.0 * NUMBER))
    # the covariance between two instants, with both correlations
    stiffness = 30e9 * width * height**3 / 12.0
    by_force, by_load = 100.0 * 125.0 / 48.0 / stiffness, 20.0 * 5.0 * 625.0 / 384.0 / stiffness
    for lag in (1, 4, 10, 40):
        apart = 0.02 * lag
        wanted = by_force**2 * math.exp(-((8.0 * apart) ** 2)) + by_load**2 * math.exp(-((2.0 * apart) ** 2))
        found = np.mean((sample[3] - mean[3]) * (sample[3 + lag] - mean[3 + lag]))
        assert abs(found - wanted) < 4.0 * math.sqrt((deviation[0] ** 4 + wanted**2) / NUMBER)


def test_sections_are_drawn_once_a_realization():
    still = replace(BEAM, point_load=0.0, point_load_deviation=0.0, distributed_load_deviation=0.0)
    paths = still.realize(np.random.default_rng(1), 100)
    np.testing.assert_allclose(paths, paths[:1].repeat(251, axis=0), rtol=1e-14)
    assert len(np.unique(paths[0])) == 100


def test_measurements_have_their_noise_and_their_bias():
    quiet = replicates(replace(BEAM, noise=0.0), 40, 3)
    good, bad = (replicates(BEAM, 40, 3, bad=bad) for bad in (False, True))
    noise = good - quiet
    assert abs(np.std(noise) - 1e-3) < 4.0 * 1e-3 / math.sqrt(2.0 * noise.size)
    # B* of eq. 32 is one from 1 s on, which is instant 50
    bias = np.array([0.08 * math.sin(2.0 * t) if i >= 50 else 0.0 for i, t in enumerate(BEAM.time)])
    np.testing.assert_array_equal(bad, good + bias[:, None])
    assert np.all(bad[:50] == good[:50]) and np.all(bad[50] != good[50])
    # the experiments' sections are their own
    mean, deviation = exact_moments(BEAM.time)
    assert np.std(quiet[0] - mean[0]) == pytest.approx(deviation[0], rel=0.5)


@pytest.mark.parametrize("dt", [0.1, 0.01, 0.3, 1.0 / 3.0])
def test_the_bias_begins_at_its_onset_whatever_the_step(dt):
    beam = replace(BEAM, dt=dt)
    begun = beam.time[np.flatnonzero(beam.discrepancy)[0]]
    assert begun == pytest.approx(math.ceil(1.0 / dt - 1e-9) * dt)
