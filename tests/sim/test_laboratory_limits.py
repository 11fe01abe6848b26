"""Limits and play of actuators and errors of sensors against loops over floats, written out here."""

import math

import numpy as np
import pytest

from sim.laboratory.transfer import Backlash, ForceLimit, Gain, Noise, Offset, Quantisation, RateLimit, TransferChain

DT = 1.0 / 1024.0


def run(part, commands, forces=None, seed=1):
    running = part.begin(DT, commands.shape[1:], np.random.default_rng(seed))
    forces = np.zeros_like(commands) if forces is None else forces
    return np.array([running.step(*pair) for pair in zip(commands, forces, strict=True)])


@pytest.fixture
def walk():
    return np.cumsum(np.random.default_rng(4).standard_normal((400, 3, 2)), axis=0)


def elements(values):
    return list(np.ndindex(values.shape[1:]))


def test_a_rate_limit_is_a_step_limit(walk):
    rates = np.array([200.0, 700.0, 1e9])[:, np.newaxis]
    found = run(RateLimit(rates), walk)
    for at in elements(walk):
        step, position = rates[at[0], 0] * DT, 0.0
        for n, command in enumerate(walk[(slice(None), *at)].tolist()):
            position += min(max(command - position, -step), step)
            assert found[(n, *at)] == position
    np.testing.assert_allclose(found[:, 2], walk[:, 2], atol=1e-13)


def test_a_saturated_sine_is_a_triangle():
    time = np.arange(4096) * DT
    found = run(RateLimit(0.1), np.sin(2.0 * np.pi * 2.0 * time)[:, np.newaxis])[-512:, 0]
    # 0.1 m/s over half a period each way
    assert np.max(found) - np.min(found) == pytest.approx(0.1 * 0.25, abs=2 * 0.1 * DT)
    np.testing.assert_allclose(np.abs(np.diff(found)), 0.1 * DT, rtol=0.9)


def test_an_actuator_stalls_against_its_specimen(walk):
    forces = 40.0 * walk[::-1]
    found = run(ForceLimit(np.array([[100.0], [300.0], [1e9]])), walk, forces)
    for at in elements(walk):
        largest, position = (100.0, 300.0, 1e9)[at[0]], 0.0
        for n, command in enumerate(walk[(slice(None), *at)].tolist()):
            force = forces[(n, *at)]
            stalled = (force >= largest and command > position) or (force <= -largest and command < position)
            position = position if stalled else command
            assert found[(n, *at)] == position


def test_a_stalled_spring_carries_the_limit_and_one_step():
    chain = TransferChain((ForceLimit(1000.0),))
    running, stiffness, force, forces = chain.begin(DT, (1,), None), 1e5, np.zeros(1), []
    for n in range(4096):
        running.step(np.array([0.05 * math.sin(2.0 * math.pi * n * DT)]), force)
        force = stiffness * running.position
        forces.append(force[0])
    step = stiffness * 0.05 * 2.0 * math.pi * DT
    assert 1000.0 <= max(forces) <= 1000.0 + step
    assert -1000.0 >= min(forces) >= -1000.0 - step


def test_play_in_a_joint(walk):
    gaps = np.array([0.0, 1.0, 6.0])[:, np.newaxis]
    found = run(Backlash(gaps), walk)
    for at in elements(walk):
        half, position = gaps[at[0], 0] / 2.0, 0.0
        for n, command in enumerate(walk[(slice(None), *at)].tolist()):
            if command - position > half:
                position = command - half
            elif position - command > half:
                position = command + half
            assert found[(n, *at)] == pytest.approx(position, abs=1e-12)
    np.testing.assert_array_equal(found[:, 0], walk[:, 0])


def test_a_joint_loses_its_gap_of_every_swing():
    time = np.arange(4096) * DT
    found = run(Backlash(0.3), np.sin(2.0 * np.pi * 2.0 * time)[:, np.newaxis])[1024:, 0]
    assert (np.max(found), np.min(found)) == pytest.approx((0.85, -0.85), abs=1e-12)


def test_quantised_signals_are_the_nearest_multiples(walk):
    found = run(Quantisation(0.25), walk)
    assert np.max(np.abs(found - walk)) <= 0.125
    np.testing.assert_array_equal(found / 0.25, np.round(found / 0.25))
    assert np.std(found - walk) == pytest.approx(0.25 / math.sqrt(12.0), rel=0.05)


def test_noise_is_white_and_seeded():
    commands = np.zeros((4000, 3))
    found = run(Noise(np.array([0.0, 0.1, 2.0])), commands, seed=3)
    np.testing.assert_allclose(np.std(found, axis=0), [0.0, 0.1, 2.0], rtol=0.05)
    assert abs(np.corrcoef(found[1:, 1], found[:-1, 1])[0, 1]) < 0.05
    assert abs(np.corrcoef(found[:, 1], found[:, 2])[0, 1]) < 0.05
    np.testing.assert_array_equal(found, run(Noise(np.array([0.0, 0.1, 2.0])), commands, seed=3))
    assert np.any(found != run(Noise(np.array([0.0, 0.1, 2.0])), commands, seed=4))


def test_sensors_leave_the_position_alone():
    command = np.random.default_rng(5).standard_normal((100, 2))
    chain = TransferChain((Gain(2.0),), (Offset(np.array([0.5, -3.0])), Quantisation(0.5)))
    running = chain.begin(DT, (2,), np.random.default_rng(1))
    for value in command:
        measured = running.step(value, value)
        np.testing.assert_array_equal(running.position, 2.0 * value)
        np.testing.assert_array_equal(measured, 0.5 * np.round((2.0 * value + [0.5, -3.0]) / 0.5))


def test_what_is_added_is_no_part_of_the_response():
    chain = TransferChain((Gain(2.0),), (Offset(0.5), Noise(0.1)))
    np.testing.assert_array_equal(chain.response(np.array([1.0, 3.0]), DT), [2.0, 2.0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RateLimit(0.0), "limit rate 0.0: must be a positive number"),
        (lambda: RateLimit(np.array([1.0, -2.0])), "limit rate -2.0: must be a positive number"),
        (lambda: ForceLimit(math.nan), "limit force nan: must be a positive number"),
        (lambda: Backlash(-1e-3), "backlash gap -0.001: must be zero or more"),
        (lambda: Quantisation(0.0), "quantisation interval 0.0: must be a positive number"),
        (lambda: Noise(-1.0), "noise rms -1.0: must be zero or more"),
        (lambda: Offset(math.inf), "sensor offset inf: must be a finite number"),
        (
            lambda: TransferChain((RateLimit(1.0),)).response(1.0, DT),
            "RateLimit has no frequency response: it is not linear, or it changes",
        ),
        (
            lambda: Noise(np.ones(3)).begin(DT, (4, 2), None),
            "rms of shape (3,) for arrays of shape (4, 2): they must broadcast",
        ),
    ],
)
def test_wrong_input_is_refused_in_one_line(make, message):
    with pytest.raises(ValueError, match=r"^[^\n]*$") as caught:
        make()
    assert str(caught.value) == message
