"""The benchmark building in parts and in one piece, and the criteria by which they are compared."""

import re
from pathlib import Path

import numpy as np
import pytest
import scipy.signal
from scipy.integrate import solve_ivp

from monitor.indicators.benchmark_criteria import benchmark_criteria
from sim.excitation import Earthquake
from sim.laboratory.building import (
    COUPLING,
    SAMPLE_RATE,
    Case,
    MovingMass,
    criteria,
    ground_forces,
    numerical_building,
    reference_building,
    reference_response,
    specimen,
)
from sim.laboratory.loop import HybridLoop
from sim.laboratory.plants import BenchmarkPlant, drawn_plants
from sim.laboratory.structure import Structure
from sim.laboratory.transfer import TransferChain

DT = 1.0 / SAMPLE_RATE
K = 1e7 * np.array([[2.6055, -2.3134, 0.5937], [-2.3134, 3.2561, -1.4420], [0.5937, -1.4420, 0.9267]])
PUBLISHED = {
    Case.ONE: (1000.0, 0.05),
    Case.TWO: (1100.0, 0.04),
    Case.THREE: (1300.0, 0.03),
    Case.FOUR: (1000.0, 0.03),
}


def state_matrix(case):
    m, c, k = reference_building(case).matrices
    return np.block([[np.zeros((3, 3)), np.eye(3)], [-np.linalg.solve(m, k), -np.linalg.solve(m, c)]])


def motion(duration, n=1, rms=0.4):
    time = np.arange(round(duration * SAMPLE_RATE)) * DT
    earthquakes = [Earthquake(rms=rms, rise=1.0, strong=2.0, decay=1.0, seed=seed) for seed in range(n)]
    return np.column_stack([earthquake.sample(time) for earthquake in earthquakes])


@pytest.mark.parametrize("case", Case)
def test_the_cases_are_the_published_ones(case):
    mass, ratio = PUBLISHED[case]
    m, _, k = reference_building(case).matrices
    np.testing.assert_array_equal(m, mass * np.eye(3))
    np.testing.assert_array_equal(k, K)
    poles = np.linalg.eigvals(state_matrix(case))
    np.testing.assert_allclose(-poles.real / np.abs(poles), ratio, rtol=1e-9)
    natural = np.sqrt(np.linalg.eigvalsh(K / mass))
    np.testing.assert_allclose(np.sort(np.abs(poles)), np.repeat(natural, 2), rtol=1e-9)


@pytest.mark.parametrize("case", Case)
def test_the_reference_is_scipys_for_straight_pieces(case):
    # one that does not start at zero too
    acceleration = np.random.default_rng(1).standard_normal((3000, 2))
    found = reference_response(case, acceleration, DT)
    influence = np.append(np.zeros(3), -np.ones(3))[:, np.newaxis]
    system = state_matrix(case), influence, np.eye(3, 6), np.zeros((3, 1))
    for test in range(2):
        _, expected, _ = scipy.signal.lsim(system, acceleration[:, test], np.arange(3000) * DT)
        np.testing.assert_allclose(found[:, test], expected, atol=1e-12 * np.max(np.abs(expected)))


def test_the_reference_solves_the_equation_of_motion():
    turn = 2.0 * np.pi * 3.0
    time, matrix = np.arange(0.0, 1.0, DT), state_matrix(Case.TWO)

    def rate(t, x):
        return matrix @ x - np.append(np.zeros(3), np.full(3, np.sin(turn * t)))

    exact = solve_ivp(rate, (0.0, time[-1]), np.zeros(6), "DOP853", time, rtol=1e-10, atol=1e-14).y[:3].T
    found = reference_response(Case.TWO, np.sin(turn * time), DT)
    # straight lines between samples are off by (w dt)^2 / 12 at most
    np.testing.assert_allclose(found, exact, atol=(turn * DT) ** 2 / 12.0 * np.max(np.abs(exact)))


def test_the_parts_make_up_the_building():
    plants, whole = drawn_plants(4, seed=2), reference_building(Case.THREE).matrices
    first = np.outer(COUPLING, COUPLING)
    for matrix, total, name in zip(
        numerical_building(Case.THREE, plants).matrices, whole, ("mass", "damping", "stiffness"), strict=True
    ):
        parts = np.broadcast_to(getattr(plants, name), (4, 1))[..., np.newaxis] * first
        np.testing.assert_allclose(matrix + parts, np.broadcast_to(total, (4, 3, 3)), rtol=1e-15)


def test_the_specimen_answers_with_its_whole_force():
    turn, time = 2.0 * np.pi * 4.0, np.arange(2000) * DT
    running, plant = specimen().begin(DT, (1,)), BenchmarkPlant()
    position, velocity = np.sin(turn * time), turn * np.cos(turn * time)
    found = np.array(
        [running.force(np.array([x]), np.array([v]))[0] for x, v in zip(position, velocity, strict=True)]
    )
    expected = (plant.stiffness - plant.mass * turn**2) * position + plant.damping * velocity
    # the inertia is a step late
    bound = 1.01 * plant.mass * turn**2 * turn * DT
    np.testing.assert_allclose(found[2:], expected[2:], atol=bound)
    assert np.max(np.abs(found[2:] - expected[2:])) > 0.9 * bound


def test_a_moving_mass_feels_its_acceleration():
    running = MovingMass(np.array([2.0, 3.0])).begin(0.1, (2,))
    forces = [running.force(np.full(2, 0.5 * 4.0 * (0.1 * n) ** 2), np.zeros(2)) for n in range(5)]
    np.testing.assert_allclose(forces[2:], [[8.0, 12.0]] * 3)
    with pytest.raises(ValueError, match=r"^moving mass 0.0: must be a positive number$"):
        MovingMass(0.0)


@pytest.mark.parametrize("case", Case)
def test_perfect_actuators_repeat_the_building(case):
    acceleration = motion(3.0, 2)
    loop = HybridLoop(
        structure=numerical_building(case, drawn_plants(2, seed=1)), specimen=specimen(drawn_plants(2, seed=1)),
        excitation=ground_forces(case, acceleration), dt=DT, duration=3.0, coupling=COUPLING, draws=(2,),
    )  # fmt: skip
    record, reference = loop.run(), reference_response(case, acceleration, DT)
    found = criteria(record.command[..., 0], record.measured[..., 0], record.displacement, reference, SAMPLE_RATE)
    np.testing.assert_array_equal(found[:3], np.zeros((3, 2)))
    assert np.max(found[3:]) < 0.1


def test_the_plant_alone_makes_every_case_unstable():
    acceleration = motion(8.0, 1, rms=0.1)
    parts = zip(*(numerical_building(case).matrices for case in Case), strict=True)
    loop = HybridLoop(
        structure=Structure(*map(np.array, parts)), specimen=specimen(),
        excitation=np.concatenate([ground_forces(case, acceleration) for case in Case], axis=1), dt=DT,
        duration=8.0, coupling=COUPLING, draws=(4,), transfer=TransferChain((BenchmarkPlant(),)),
    )  # fmt: skip
    grown = np.abs(loop.run().command[..., 0])
    assert np.all(np.max(grown[-4096:], axis=0) > 5.0 * np.max(grown[8192:12288], axis=0))


def test_the_examples_of_the_documentation_run():
    page = (Path(__file__).parents[2] / "docs" / "laboratory.md").read_text()
    examples = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    of_transfer, of_benchmark = (next(code for code in examples if word in code) for word in ("servo", "criteria("))
    names = {}
    exec(of_transfer, names)
    # of a second-order system at 2 Hz, half a step of the hold, and the sensor's
    turn = 2.0 * np.pi * 2.0
    expected = np.arctan2(84.0 * turn, 60.0**2 - turn**2) / turn + 0.5 / 1024.0 + 0.0015
    assert names["delay"] == pytest.approx(expected, abs=1e-6)
    assert names["transfer"].begin(DT, (2, 1), np.random.default_rng(1)).step(np.ones((2, 1)), np.zeros((2, 1))).shape
    exec(of_benchmark, names)
    assert np.all((names["found"].j1 > 15.0) & (names["found"].j1 < 25.0))
    assert np.all(names["found"].j2 > 20.0)


RATE = 1024.0


def records(seed=1, n=4000, shape=(3, 2)):
    rng = np.random.default_rng(seed)
    window = np.hanning(n).reshape(-1, *(1,) * (len(shape) + 1))
    smooth = np.cumsum(rng.standard_normal((n, *shape, 3)), axis=0) * window
    reference = smooth + 0.3 * rng.standard_normal(smooth.shape)
    command = smooth[..., 0]
    measured = np.empty_like(command)
    for i, test in enumerate(np.ndindex(shape)):
        own = (slice(None), *test)
        measured[own] = (1.0 + 0.02 * i) * np.roll(command[own], 7 * i - 5) + 0.1 * rng.standard_normal(n) + 0.5
    return command, measured, smooth, reference


def test_the_formulas():
    command, measured, floors, reference = records()
    found = np.array(criteria(command, measured, floors, reference, RATE))
    assert found.shape == (9, 3, 2)
    for test in np.ndindex(3, 2):
        c, m, ours, whole = (x[(slice(None), *test)] for x in (command, measured, floors, reference))
        j = found[(slice(None), *test)]
        lags = np.arange(-300, 301)
        centred = c - c.mean(), m - m.mean()
        products = [
            np.sum(centred[1][max(lag, 0) : 4000 + min(lag, 0)] * centred[0][max(-lag, 0) : 4000 - max(lag, 0)])
            for lag in lags
        ]
        assert j[0] == pytest.approx(1000.0 * lags[np.argmax(products)] / RATE)
        assert j[1] == pytest.approx(100.0 * np.std(m - c) / np.std(c))
        assert j[2] == pytest.approx(100.0 * np.max(np.abs(m - c)) / np.max(np.abs(c)))
        for floor, signal in enumerate((m, ours[:, 1], ours[:, 2])):
            error, wanted = signal - whole[:, floor], whole[:, floor]
            assert j[3 + floor] == pytest.approx(100.0 * np.std(error) / np.std(wanted))
            assert j[6 + floor] == pytest.approx(100.0 * np.max(np.abs(error)) / np.max(np.abs(wanted)))


@pytest.mark.parametrize("seed", range(6))
def test_the_first_three_are_the_monitors(seed):
    command, measured, floors, reference = records(seed, n=1500 + 333 * seed)
    found = criteria(command, measured, floors, reference, RATE, max_delay=0.2)
    for test in np.ndindex(3, 2):
        own = (slice(None), *test)
        expected = benchmark_criteria(command[own], measured[own], RATE, 0.2)
        np.testing.assert_allclose([j[test] for j in found[:3]], expected, rtol=1e-12)


def test_one_reference_for_all_tests():
    command, measured, floors, reference = records(shape=(5,))
    same = reference[:, :1]
    found = criteria(command, measured, floors, same, RATE)
    each = criteria(command, measured, floors, np.repeat(same, 5, axis=1), RATE)
    np.testing.assert_array_equal(found, each)


def test_a_diverged_test_has_none_and_leaves_the_others_alone():
    command, measured, floors, reference = records()
    whole = np.array(criteria(command, measured, floors, reference, RATE))
    for signal in (command, measured, floors):
        signal[3000:, 1, 0] = np.nan
    found = np.array(criteria(command, measured, floors, reference, RATE))
    assert np.isnan(found[:, 1, 0]).all()
    np.testing.assert_array_equal(np.delete(found.reshape(9, 6), 2, 1), np.delete(whole.reshape(9, 6), 2, 1))


def test_an_actuator_that_does_not_move_has_no_delay():
    command, measured, floors, reference = records(shape=())
    found = criteria(command, np.zeros_like(measured), floors, reference, RATE)
    assert np.isnan(found.j1)
    assert found.j2 == pytest.approx(100.0)


def test_wrong_shapes_are_refused_in_one_line():
    command, measured, floors, reference = records(shape=(2,))
    with pytest.raises(ValueError, match=r"^command \(4000, 2\), measured \(4000, 1\), floors [^\n]*$"):
        criteria(command, measured[:, :1], floors, reference, RATE)
    with pytest.raises(ValueError, match=r"^sample_rate = 0.0 Hz[^\n]*positive numbers$"):
        criteria(command, measured, floors, reference, 0.0)
