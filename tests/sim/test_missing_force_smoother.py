"""The smoother of a missing force against the dense Gaussian conditional, by quadrature."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm, solve_continuous_lyapunov

from sim.laboratory.structure import Structure
from sim.missing_force.smoother import ForceProblem
from sim.missing_force.state_space import Matern, Sensor, noisy_steps
from tests.oracles.dense_force import DenseForce, matern

M, C = np.diag([1.3, 0.8]), np.array([[0.5, -0.2], [-0.2, 0.3]])
K = np.array([[30.0, -12.0], [-12.0, 18.0]])
SENSORS = (Sensor(1), Sensor(2, "velocity"), Sensor(1, "acceleration"))
SIGMA = np.array([0.02, 0.05, 0.3])
SPREAD = np.array([0.4, 0.3, 1.5, 1.0])
# grid instants of the samples: not equidistant
AT = np.array([0, 40, 47, 90, 160, 200, 201, 280, 300])


def _case(nu: float, refined=2):
    grid = np.linspace(0.0, 3.0, 300 * refined + 1)
    places = np.array([1.0, -1.0])
    dense = DenseForce.of(M, C, K, places, grid, matern(grid, 2.0, 0.7, nu), SPREAD)
    rng = np.random.default_rng(5)
    observed = rng.standard_normal((len(AT), 3)) * np.array([0.1, 0.5, 3.0])
    observed[2, 0] = observed[4, 1] = observed[5, 2] = observed[7] = np.nan
    system = -np.linalg.solve(M, np.hstack([K, C]))
    rows = []
    for at in refined * AT:
        state = dense.response[:, at]
        acceleration = system @ state
        acceleration[:, at] -= np.linalg.solve(M, places)
        rows += [state[0], state[3], acceleration[0]]
    known = np.isfinite(observed.ravel())
    given = dense.given(np.array(rows)[known], np.tile(SIGMA, len(AT))[known], observed.ravel()[known])
    problem = ForceProblem(Structure(M, C, K), places[:, None], grid[refined * AT], None, SENSORS, observed, SPREAD)
    return dense, given, problem


def _extrapolated(nu):
    # the quadrature is of second order
    return (4.0 * _case(nu)[1][2] - _case(nu, 1)[1][2]) / 3.0


@pytest.mark.parametrize("order", [0, 1, 2])
def test_equals_the_dense_conditional(order):
    dense, (mean, covariance, _), problem = _case(order + 0.5)
    found = problem.smooth([Matern(2.0, 0.7, order)], SIGMA)
    sd = np.sqrt(np.diag(covariance))[2 * AT]
    assert found.log_likelihood == pytest.approx(_extrapolated(order + 0.5), abs=1e-3)
    assert problem.log_likelihood([Matern(2.0, 0.7, order)], SIGMA) == pytest.approx(found.log_likelihood, rel=1e-13)
    np.testing.assert_allclose(found.force[:, 0], mean[2 * AT], atol=1e-3 * sd.max())
    np.testing.assert_allclose(found.force_sd[:, 0], sd, rtol=3e-4)
    states = dense.response[:, 2 * AT]
    np.testing.assert_allclose(found.means[:, :4], (states @ mean).T, atol=2e-3)
    # the force acts between the two
    np.testing.assert_allclose(
        found.means[:, 5:], (states @ mean).T[:, [0, 2]] - (states @ mean).T[:, [1, 3]], atol=4e-3
    )
    joint = np.concatenate([states, np.eye(len(mean))[None, 2 * AT]])
    for k in range(len(AT)):
        expected = joint[:, k] @ covariance @ joint[:, k].T
        scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
        np.testing.assert_allclose(found.covariances[k, :5, :5] / scale, expected / scale, atol=8e-3)


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_prior_covariance_is_stationary(order):
    prior = Matern(3.0, 0.02, order)
    noise = np.zeros_like(prior.matrix)
    noise[-1, -1] = prior.intensity
    scale = np.sqrt(np.diag(prior.covariance))
    expected = solve_continuous_lyapunov(prior.matrix, -noise)
    np.testing.assert_allclose(
        prior.covariance / np.outer(scale, scale), expected / np.outer(scale, scale), atol=1e-6
    )
    assert prior.covariance[0, 0] == pytest.approx(9.0)


def test_held_covariances_equal_recomputed_ones():
    # noise of one sample that is missing, far behind, stops the holding there; the rest is one long record
    rng = np.random.default_rng(2)
    n = 4000
    time = 0.01 * np.arange(n)
    observed = rng.standard_normal((n, 2))
    sensors = (Sensor(1), Sensor(2, "acceleration"))
    observed[2500, 0] = np.nan
    nearly = time.copy()
    # intervals that differ in the seventh digit have steps of their own: nothing is held
    nearly += 1e-9 * rng.uniform(-1.0, 1.0, n)
    prior = [Matern(2.0, 0.5, 1)]
    found, recomputed = (
        ForceProblem(Structure(M, C, K), np.array([[1.0], [0.0]]), each, None, sensors, observed).smooth(
            prior, np.array([0.5, 1.0])
        )
        for each in (time, nearly)
    )
    np.testing.assert_allclose(found.log_likelihood, recomputed.log_likelihood, rtol=1e-6)
    np.testing.assert_allclose(found.means, recomputed.means, atol=1e-5)
    spread = (np.sqrt(np.einsum("kii->ki", each.covariances)) for each in (found, recomputed))
    np.testing.assert_allclose(*spread, rtol=1e-5)


def test_the_load_is_subtracted_and_an_unknown_one_separates():
    rng = np.random.default_rng(3)
    time = np.sort(rng.uniform(0.0, 4.0, 80))
    load = np.column_stack([np.sin(3.0 * time), time])
    sensors = (Sensor(1), Sensor(2, "velocity"), Sensor(2, "acceleration"))
    observed = rng.standard_normal((80, 3))
    structure, places, prior, sigma = Structure(M, C, K), np.array([[1.0], [0.0]]), [Matern(2.0, 0.5, 1)], np.ones(3)
    spread = np.full(4, 2.0)

    def smoothed(rows, load=load):
        return ForceProblem(structure, places, time[rows], load[rows], sensors, observed[rows], spread).smooth(
            prior, sigma
        )

    unknown = load.copy()
    unknown[40] = np.nan
    whole, first, second = smoothed(slice(None), unknown), smoothed(slice(40)), smoothed(slice(41, None))
    np.testing.assert_allclose(whole.means[:40], first.means, atol=1e-9)
    np.testing.assert_allclose(whole.means[41:], second.means, atol=1e-9)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"time": np.array([0.0, 1.0, 1.0])}, "give at least two that grow"),
        ({"observed": np.zeros((4, 1))}, "records must have one length"),
        ({"observed": np.full((3, 1), np.nan)}, "no sensor has a finite sample"),
        ({"sensors": (Sensor(3),)}, "dof 3: the structure has dofs 1 to 2"),
        ({"sensors": ()}, "no sensors"),
        ({"forces": np.zeros((2, 1))}, "acts at no dof"),
        ({"forces": np.ones((3, 1))}, "give 2 finite rows"),
        ({"load": np.zeros((2, 2))}, "give 3 instants of 2 dofs"),
        ({"load": np.full((3, 2), np.nan)}, "load is known at no instant with a sample"),
        ({"initial_sd": [-1.0, 0.0, 0.0, 0.0]}, "give 4 numbers, zero or more"),
    ],
)
def test_refuses_what_does_not_fit(changed, message):
    whole = {
        "structure": Structure(M, C, K),
        "forces": np.array([[1.0], [0.0]]),
        "time": np.arange(3.0),
        "load": None,
        "sensors": (Sensor(1),),
        "observed": np.zeros((3, 1)),
    }
    with pytest.raises(ValueError, match=message):
        ForceProblem(**(whole | changed))


def test_likelihood_of_few_samples_on_a_fine_grid_is_that_of_the_smoother():
    rng = np.random.default_rng(6)
    time = np.linspace(0.0, 4.0, 161)
    observed = np.full((161, 2), np.nan)
    at = np.array([7, 20, 60, 61, 110, 150])
    observed[at] = rng.standard_normal((len(at), 2))
    load = np.column_stack([np.sin(3.0 * time), time])
    sensors, places = (Sensor(1), Sensor(2, "acceleration")), np.array([[1.0], [0.0]])
    problem = ForceProblem(Structure(M, C, K), places, time, load, sensors, observed)
    prior, sigma = [Matern(2.0, 0.5, 1)], np.array([0.1, 0.4])
    assert problem.log_likelihood(prior, sigma) == pytest.approx(
        problem.smooth(prior, sigma).log_likelihood, rel=1e-8
    )


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_model_that_overflows_within_one_step_has_no_likelihood():
    time = np.linspace(0.0, 1.0, 21)
    structure, sensors = Structure(1.0, 0.1, -1e12), (Sensor(1),)
    problem = ForceProblem(structure, np.ones((1, 1)), time, np.ones((21, 1)), sensors, np.sin(time)[:, None])
    assert problem.log_likelihood([Matern(1.0, 1.0, 1)], np.ones(1)) == -np.inf


@pytest.mark.parametrize("kilo", [1e3, 1e9, 1e-9])
def test_likelihood_and_force_do_not_depend_on_the_unit_of_mass(kilo):
    # masses, loads and forces all grow by one factor; the motion stays
    time = np.linspace(0.0, 4.0, 81)
    observed = np.random.default_rng(8).standard_normal((81, 2))
    load, sensors = np.column_stack([np.sin(3.0 * time), time]), (Sensor(1), Sensor(2, "acceleration"))
    places, sigma = np.array([[1.0], [0.0]]), np.array([0.1, 0.4])

    def found(by):
        return ForceProblem(Structure(by * M, by * C, by * K), places, time, by * load, sensors, observed).smooth(
            [Matern(2.0 * by, 0.5, 1)], sigma
        )

    one, other = found(1.0), found(kilo)
    assert other.log_likelihood == pytest.approx(one.log_likelihood, rel=1e-9)
    np.testing.assert_allclose(other.force / kilo, one.force, atol=1e-8 * np.abs(one.force).max())
    np.testing.assert_allclose(other.force_sd / kilo, one.force_sd, rtol=1e-8)


def test_steps_keep_their_digits_beside_a_large_intensity():
    system, dt = np.array([[0.0, 1.0], [-20.0, -0.3]]), np.array([0.05, 0.7])
    transition, covariance = noisy_steps(system, 1e18 * np.diag([0.0, 1.0]), dt)
    np.testing.assert_allclose(transition, expm(system * dt[:, None, None]), rtol=1e-12, atol=1e-14)
    # P(t) = S - F S F^T with S the stationary covariance
    stationary = solve_continuous_lyapunov(system, -1e18 * np.diag([0.0, 1.0]))
    exact = stationary - transition @ stationary @ np.swapaxes(transition, 1, 2)
    np.testing.assert_allclose(covariance, exact, rtol=1e-9, atol=1e-12 * np.abs(stationary).max())
