"""The band on a recovered force covers what it says, over many seeds and shapes of force."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from sim.laboratory.structure import Structure
from sim.missing_force.marginal_fit import confounded_with_force
from sim.missing_force.recovery import RecoveredForce, evidence_for, recover_force
from sim.missing_force.smoother import ForceProblem
from sim.missing_force.state_space import Matern, Sensor
from sim.models.chain import Chain

TIME = np.linspace(0.0, 30.0, 601)
SHAPES = {
    "cubic": lambda t, x, v: 0.05 * x**3,
    "steps": lambda t, x, v: 1.0 * (t > 10.0) - 0.6 * (t > 20.5) + 0.0 * x,
    "friction": lambda t, x, v: 0.4 * np.tanh(v / 0.02),
    "frequencies": lambda t, x, v: 0.5 * np.sin(1.7 * t) + 0.3 * np.sin(4.1 * t + 1.0) + 0.2 * np.sin(6.3 * t),
    "nothing": lambda t, x, v: 0.0 * t,
    "stop": lambda t, x, v: 2.0 * np.maximum(x - 1.0, 0.0),
}


def _oscillator(shape: str):
    """Return displacement and velocity, (601, 2), and the force of x'' + 0.1 x' + x + force = cos t."""
    force = SHAPES[shape]
    found = solve_ivp(
        lambda t, z: [z[1], np.cos(t) - 0.1 * z[1] - z[0] - force(t, *z)],
        (0.0, 30.0), [1.0, 0.0], t_eval=TIME, rtol=1e-8, atol=1e-10, max_step=0.02,
    )  # fmt: skip
    return found.y.T, force(TIME, *found.y)


def _sampled(states: np.ndarray, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return count samples among the instants with noise of 5 % of the rms, and its standard deviations."""
    sigma = 0.05 * np.sqrt(np.mean(states**2, axis=0))
    observed, at = np.full(states.shape, np.nan), slice(None, None, 600 // (count - 1))
    noise = np.random.default_rng(seed).standard_normal(states[at].shape)
    observed[at] = states[at] + sigma * noise
    return observed, sigma


def _problem(observed: np.ndarray) -> ForceProblem:
    sensors = Sensor(1), Sensor(1, "velocity")
    return ForceProblem(Structure(1.0, 0.1, 1.0), np.ones((1, 1)), TIME, np.cos(TIME)[:, None], sensors, observed)


def _recovered(observed: np.ndarray, sigma: np.ndarray | None) -> RecoveredForce:
    return recover_force(_problem(observed), sigma=sigma)


def _coverage(shape: str, count: int, seeds: range, *, known: bool = True) -> float:
    states, force = _oscillator(shape)
    covered = []
    for seed in seeds:
        observed, sigma = _sampled(states, count, seed)
        found = _recovered(observed, sigma if known else None)
        covered.append(np.mean(np.abs(found.force[:, 0] - force) <= 1.96 * found.force_sd[:, 0]))
    return float(np.mean(covered))


@pytest.mark.parametrize(
    ("shape", "count"), [("cubic", 11), ("cubic", 151), ("steps", 151), ("friction", 151), ("nothing", 31)]
)
def test_band_covers_the_force(shape, count):
    assert _coverage(shape, count, range(6)) > 0.92


@pytest.mark.parametrize(("count", "most"), [(11, 3.5), (151, 2.0)])
def test_band_of_a_smooth_force_is_hardly_wider_than_its_error(count, most):
    states, force = _oscillator("cubic")
    found = [_recovered(*_sampled(states, count, seed)) for seed in range(3)]
    error = np.sqrt(np.mean([(each.force[:, 0] - force) ** 2 for each in found]))
    assert np.sqrt(np.mean([each.force_sd**2 for each in found])) < most * error


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("count", [11, 31, 151])
def test_band_covers_95_percent_over_200_seeds(shape, count):
    assert _coverage(shape, count, range(1000, 1200)) > 0.93


@pytest.mark.slow
@pytest.mark.parametrize("count", [11, 151])
def test_band_covers_with_noise_that_is_not_known(count):
    assert _coverage("cubic", count, range(2000, 2200), known=False) > 0.93


def _four_masses(seed: int):
    """Return a coverage of a cubic force between masses 2 and 3 of four, with three sensors of two quantities."""
    rng = np.random.default_rng(seed)
    stiffness = 40.0 * np.array([[2, -1, 0, 0], [-1, 2, -1, 0], [0, -1, 2, -1], [0, 0, -1, 1.0]])
    damping, place = 0.01 * stiffness + 0.02 * np.eye(4), np.array([0.0, 1.0, -1.0, 0.0])
    time = np.linspace(0.0, 8.0, 401)
    load = np.zeros((401, 4))
    load[:, 3] = 4.0 * rng.standard_normal(401)

    def cubic(x):
        return 60.0 * (place @ x) ** 3

    def rate(t, z):
        loads = [np.interp(t, time, column) for column in load.T]
        return np.concatenate([z[4:], loads - damping @ z[4:] - stiffness @ z[:4] - place * cubic(z[:4])])

    state = solve_ivp(rate, (0.0, 8.0), np.zeros(8), t_eval=time, rtol=1e-7, atol=1e-9, max_step=0.02).y
    force = cubic(state[:4])
    true = np.column_stack([state[0], state[2], state[7]])
    sigma = 0.02 * np.sqrt(np.mean(true**2, axis=0))
    sensors = Sensor(1), Sensor(3), Sensor(4, "velocity")
    observed = true + sigma * rng.standard_normal(true.shape)
    structure = Structure(np.eye(4), damping, stiffness)
    found = recover_force(ForceProblem(structure, place[:, None], time, load, sensors, observed))
    return np.mean(np.abs(found.force[:, 0] - force) <= 1.96 * found.force_sd[:, 0]), found


def test_band_covers_a_force_between_two_of_four_masses():
    covered, found = _four_masses(1)
    assert covered > 0.9
    assert not found.unseen()


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_band_covers_a_force_between_two_of_four_masses_over_200_seeds():
    assert np.mean([_four_masses(seed)[0] for seed in range(200)]) > 0.93


def test_a_force_drawn_from_the_prior_is_covered_as_often_as_said():
    rng = np.random.default_rng(8)
    covered = []
    for seed in range(12):
        # three random numbers of a spline would be smoother: a sum of many sines has Matern's covariance
        rate = rng.standard_t(3.0, 400) * 1.0 / 1.5
        phase, amplitude = rng.uniform(0.0, 2.0 * np.pi, 400), 0.8 * np.sqrt(2.0 / 400.0)

        def force(t, rate=rate, phase=phase, amplitude=amplitude):
            return amplitude * np.sum(np.cos(rate * t + phase))

        solved = solve_ivp(
            lambda t, z, force=force: [z[1], np.cos(t) - 0.1 * z[1] - z[0] - force(t)],
            (0.0, 30.0), [1.0, 0.0], t_eval=TIME, rtol=1e-6, atol=1e-8,
        )  # fmt: skip
        observed, sigma = _sampled(solved.y.T, 61, seed)
        # Student's t with 2 nu degrees of freedom is the spectrum of Matern's process: nu = 3/2, length 1.5
        found = _problem(observed).smooth([Matern(0.8, 1.5, 1)], sigma)
        true = np.array([force(t) for t in TIME])
        covered.append(np.mean(np.abs(found.force[:, 0] - true) <= 1.96 * found.force_sd[:, 0]))
    assert 0.92 < np.mean(covered) < 0.98


def test_a_sensor_that_sees_nothing_is_reported():
    # two masses that are not joined: a sensor at the first knows nothing of a force at the second
    time = np.linspace(0.0, 10.0, 201)
    structure = Structure(np.ones(2), np.full(2, 0.1), np.full(2, 4.0))
    observed = np.random.default_rng(1).standard_normal((201, 1))
    found = recover_force(ForceProblem(structure, np.array([[0.0], [1.0]]), time, None, (Sensor(1),), observed))
    assert found.unseen() == (0,)
    assert found.seen[0] < 0.01
    assert found.unknown.all()


def test_a_force_is_not_known_in_a_gap_that_is_longer_than_the_motion_s_memory():
    """Of x'' + x' + 39 x + 6 x^3 = load: what was before the gap is forgotten in two seconds."""
    time = np.linspace(0.0, 20.0, 501)
    rates, sizes = 2.0 * np.pi * np.array([1.0, 1.7]), np.array([1.0, 0.5])
    x, v, a = ((sizes * rates**k * np.sin(np.outer(time, rates) + 0.5 * np.pi * k)).sum(axis=1) for k in range(3))
    observed = x + 0.02 * np.random.default_rng(3).standard_normal(len(time))
    observed[150:400] = np.nan
    load, structure = a + v + 39.0 * x + 6.0 * x**3, Structure(1.0, 1.0, 39.0)
    found = recover_force(
        ForceProblem(structure, np.ones((1, 1)), time, load[:, None], (Sensor(1),), observed[:, None])
    )
    unknown = np.flatnonzero(found.unknown[:, 0])
    assert 150 < unknown.min() < unknown.max() < 400
    assert len(unknown) > 100


def test_nothing_missing_has_zero_in_the_band():
    observed, sigma = _sampled(_oscillator("nothing")[0], 151, 3)
    found = _recovered(observed, sigma)
    assert np.all(np.abs(found.force) <= 1.96 * found.force_sd)
    assert found.force_sd.max() < 0.1
    assert not found.unknown.any()


@pytest.mark.parametrize("known", [True, False])
def test_evidence_for_a_force_is_positive_only_where_one_is_missing(known):
    for shape, least, largest in (("cubic", 20.0, np.inf), ("nothing", -np.inf, 0.0)):
        states, _ = _oscillator(shape)
        observed, sigma = _sampled(states, 151, 5)
        found = _recovered(observed, sigma if known else None)
        assert least < evidence_for(_problem(observed), found, 0) < largest


def test_a_free_structure_with_accelerations_only_keeps_its_digits():
    # how it moves as a whole is never seen: its variance grows, and must not hide that of the stretch
    rng = np.random.default_rng(2)
    time, place = np.linspace(0.0, 4.0, 2001), np.array([1.0, -1.0])
    stiffness = 5e4 * np.array([[1.0, -1.0], [-1.0, 1.0]])
    load = np.column_stack([20.0 * rng.standard_normal(2001), np.zeros(2001)])

    def accelerations(first: float, second: float, push: float) -> tuple[float, float]:
        pull = 5e4 * (first - second) + 3e10 * (first - second) ** 3
        return (push - pull) / 0.4, pull / 0.4

    # it is chaotic, so it is computed in plain numbers; at 80 Hz and thrice that it needs 500 samples a second
    states, steps = [(0.0, 0.0, 0.0, 0.0)], 20
    h = time[1] / steps
    for before, after in pairwise(load[:, 0].tolist()):
        x, y, v, w = states[-1]
        for step in range(steps):
            # the rule of leapfrog, second order
            a, b = accelerations(x, y, before + (after - before) * step / steps)
            v, w = v + 0.5 * h * a, w + 0.5 * h * b
            x, y = x + h * v, y + h * w
            a, b = accelerations(x, y, before + (after - before) * (step + 1) / steps)
            v, w = v + 0.5 * h * a, w + 0.5 * h * b
        states.append((x, y, v, w))
    state = np.array(states).T
    force = 3e10 * (state[0] - state[1]) ** 3
    true = np.array([accelerations(x, y, push) for (x, y, _, _), push in zip(states, load[:, 0], strict=True)])
    sigma = 0.02 * true.std(axis=0)
    observed = true + sigma * rng.standard_normal(true.shape)
    structure, sensors = (
        Structure(np.full(2, 0.4), 0.0, stiffness),
        (Sensor(1, "acceleration"), Sensor(2, "acceleration")),
    )
    found = recover_force(
        ForceProblem(structure, place[:, None], time, load, sensors, observed), sigma=sigma, orders=(1, 2)
    )
    assert np.sqrt(np.mean((found.force[:, 0] - force) ** 2)) < 0.3 * force.std()
    assert np.mean(np.abs(found.force[:, 0] - force) <= 1.96 * found.force_sd[:, 0]) > 0.9


def _refused(message, stiffness=1.0, **options):
    time = np.linspace(0.0, 5.0, 101)
    problem = ForceProblem(
        Structure(1.0, 0.1, stiffness), np.ones((1, 1)), time, None, (Sensor(1),), np.sin(time)[:, None]
    )
    with pytest.raises(ValueError, match=message):
        recover_force(problem, **options)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_models_and_options_that_do_not_fit_are_one_line():
    _refused("natural frequency of 1.59e\\+05 Hz, far above the sample rate of 20 Hz", stiffness=1e12)
    _refused("likelihood is finite nowhere", stiffness=-1.5e8, sigma=0.01)
    _refused("the model is too unstable", stiffness=-1e6, sigma=0.01)
    _refused("must be positive", sigma=0.0)


@pytest.mark.parametrize(
    ("place", "sensors", "blind"),
    [
        ([1, 0, 0, 0], (1, 3, 4), {"k1"}),
        ([1, 0, 0, 0], (1, 2, 3, 4), {"k1"}),
        # mass 2 is not seen, so that k3 (x3 - x2) may be anything; only the last spring is between two sensors
        ([1, 0, 0, 0], (3, 4), {"k1", "k2", "k3"}),
        # beyond mass 2 nothing is unknown
        ([1, 0, 0, 0], (2, 3), {"k1", "k2"}),
        # one sensor is explained by one force, whatever the springs
        ([1, 0, 0, 0], (4,), {"k1", "k2", "k3", "k4"}),
        # between masses 2 and 3 as the third spring; on mass 2 alone no spring acts
        ([0, 1, -1, 0], (1, 2, 3, 4), {"k3"}),
        ([0, 1, 0, 0], (1, 2, 3, 4), set()),
    ],
)
def test_what_cannot_be_told_from_a_force(place, sensors, blind) -> None:
    load = np.zeros((9, 4))
    load[:, 3] = 1.0
    for damping in (0.0, 0.4):
        chain = Chain(np.ones(4), [100.0, 90.0, 85.0, 110.0], damping)
        found = confounded_with_force(chain, np.array(place, dtype=float)[:, None], load, sensors)
        assert {name for group in found for name in group.names} == blind
        assert not any(group.determined for group in found)


def test_a_force_between_two_masses_of_a_free_chain_hides_the_spring_between_them() -> None:
    chain = Chain(np.linspace(0.4, 0.6, 8), np.linspace(50e3, 60e3, 7), 3.0, grounded=False)
    between, load = np.zeros((8, 1)), np.zeros((5, 8))
    between[4], between[5], load[:, 0] = 1.0, -1.0, 1.0
    for sensors in ((1, 5, 6), tuple(range(1, 9))):
        found = confounded_with_force(chain, between, load, sensors)
        assert {name for group in found for name in group.names} == {"k5"}


def test_one_sensor_beside_one_unknown_force_tells_nothing() -> None:
    # whatever the springs, some force on mass 1 gives its acceleration
    load = np.zeros((5, 2))
    load[:, 0] = 1.0
    found = confounded_with_force(Chain([1.0, 1.0], [100.0, 100.0]), np.eye(2)[:, :1], load, (1,))
    assert {name for group in found for name in group.names} == {"k1", "k2"}


@pytest.mark.parametrize(
    ("places", "load", "sensors", "message"),
    [
        (np.eye(3)[:, :1], np.ones((5, 2)), (1,), r"places \(3, 1\) and load \(5, 2\): give \(2, forces\)"),
        (np.eye(2)[:, :1], np.ones((5, 3)), (1,), r"load \(5, 3\)"),
        (np.eye(2)[:, :1], np.ones((5, 2)), (), "sensors none: give masses 1 to 2, each once"),
        (np.eye(2)[:, :1], np.ones((5, 2)), (0, 1), "sensors 0, 1: give masses 1 to 2, each once"),
        (np.eye(2)[:, :1], np.ones((5, 2)), (1.0, 2), "sensors 1.0, 2: give masses 1 to 2, each once"),
        (np.eye(2)[:, :1], np.zeros((5, 2)), (1,), "no mass is loaded"),
        (np.eye(2)[:, :1], np.full((5, 2), np.nan), (1,), "the load is not finite"),
    ],
)
def test_what_does_not_fit_is_one_line(places, load, sensors, message) -> None:
    with pytest.raises(ValueError, match=message):
        confounded_with_force(Chain([1.0, 1.0], [100.0, 100.0]), places, load, sensors)
