"""The harmonically driven frame against the textbook formula and a solver that stops at every event."""

import numpy as np
import pytest

from sim.cases.hybrid import simulate
from sim.cases.tracking_cases import linear_envelope, linear_record, oscillator, yielding_record
from tests.oracles.oscillators import bilinear_force, linear_from_rest, yielding_from_rest

# Table 2 of the paper, in SI
STIFFNESS, PERIOD, RATIO, LIMIT, HARDENING = 11500e3, 1.15, 0.02, 0.010, 0.01
MASS = STIFFNESS * PERIOD**2 / (4.0 * np.pi**2)
DAMPING = 2.0 * RATIO * MASS * 2.0 * np.pi / PERIOD
TURN = 2.0 * np.sqrt(2.0) * np.pi / PERIOD
STEPS = (250.0, 500.0, 1000.0)


@pytest.mark.parametrize("force", [50e3, 100e3])
def test_linear_motion_is_the_textbook_formula(force):
    record = linear_record(force)
    exact = linear_from_rest(record.time, force, TURN, MASS, STIFFNESS, RATIO)
    np.testing.assert_allclose(record.command, exact, atol=1e-4 * np.max(np.abs(exact)))
    errors = []
    for rate in STEPS:
        motion = simulate(oscillator(force, sample_rate=rate))
        exact = linear_from_rest(motion.time, force, TURN, MASS, STIFFNESS, RATIO)
        errors.append(np.max(np.abs(motion.command - exact)))
    np.testing.assert_allclose(np.log2(np.array(errors[:-1]) / errors[1:]), 2.0, atol=0.1)


def test_yielding_motion_is_its_linear_pieces():
    errors = []
    for rate in STEPS:
        motion = simulate(oscillator(100e3, LIMIT, sample_rate=rate))
        exact, pieces = yielding_from_rest(motion.time, 100e3, TURN, MASS, STIFFNESS, DAMPING, LIMIT, HARDENING)
        errors.append(np.max(np.abs(motion.command - exact)))
    assert pieces > 6
    assert errors[-1] < 1e-3 * np.max(np.abs(exact))
    assert errors[2] < errors[1] < errors[0]


def test_energy_balances_while_it_yields():
    motion = simulate(oscillator(100e3, LIMIT))
    step = np.diff(motion.command)
    speed = step * 1000.0
    spring = np.sum((motion.force[1:] + motion.force[:-1]) / 2.0 * step)
    push = 100e3 * np.sin(TURN * motion.time)
    work = np.sum((push[1:] + push[:-1]) / 2.0 * step)
    lost = DAMPING * np.sum(speed * step)
    kinetic = MASS / 2.0 * speed[-1] ** 2
    assert work == pytest.approx(kinetic + lost + spring, rel=2e-3)
    # what the spring did not give back, it lost by slipping
    slipped = motion.command - (motion.force / STIFFNESS - HARDENING * motion.command) / (1.0 - HARDENING)
    stretch = motion.command[-1] - slipped[-1]
    stored = STIFFNESS / 2.0 * (HARDENING * motion.command[-1] ** 2 + (1.0 - HARDENING) * stretch**2)
    slipping = (1.0 - HARDENING) * STIFFNESS * LIMIT * np.sum(np.abs(np.diff(slipped)))
    assert spring == pytest.approx(stored + slipping, rel=2e-3)
    assert slipping > 0.2 * work


def test_linear_records_have_no_force_but_the_spring_where_the_actuator_is():
    record = linear_record(50e3)
    np.testing.assert_array_equal(record.measured[:5], 0.0)
    np.testing.assert_allclose(record.measured[5:], 1.1 * record.command[:-5], rtol=1e-15)
    np.testing.assert_allclose(record.force, STIFFNESS * record.measured, rtol=1e-14)
    fed_in = np.sum((record.force[1:] + record.force[:-1]) / 2.0 * np.diff(record.measured - record.command))
    assert fed_in > 0.0


def test_yielding_record_is_five_steps_late_and_switches_at_five_seconds():
    record = yielding_record(100e3, seed=3)
    gain = np.where(record.time < 5.0, 1.1, 0.75)
    position = gain * np.concatenate([np.zeros(5), record.command[:-5]])
    noise = record.measured - position
    level = 0.005 * np.max(np.abs(record.command))
    assert np.std(noise) == pytest.approx(level, rel=0.03)
    assert abs(np.mean(noise)) < 4.0 * level / 100.0
    for part in (noise[:5000], noise[5000:]):
        assert abs(np.corrcoef(part[1:], part[:-1])[0, 1]) < 0.06
    expected = bilinear_force(position, STIFFNESS, LIMIT, HARDENING)
    np.testing.assert_allclose(record.force, expected, atol=1e-9 * np.max(np.abs(expected)))
    np.testing.assert_allclose(record.true_ratio, 1.0 / gain, rtol=1e-12)


def test_yielding_leaves_a_drift():
    command = yielding_record(100e3, seed=1).command
    cycle = round(PERIOD / np.sqrt(2.0) * 1000.0)
    last, before = np.mean(command[-cycle:]), np.mean(command[-2 * cycle : -cycle])
    assert abs(last) > 0.3 * LIMIT
    assert last == pytest.approx(before, abs=0.05 * LIMIT)
    assert abs(np.mean(linear_record(100e3).command[-4 * cycle :])) < 0.1 * LIMIT


def test_envelope_holds_every_peak():
    record = linear_record(50e3)
    envelope = linear_envelope(record.time, 50e3)
    assert np.all(np.abs(record.command) <= envelope + 1e-6)
    peaks = np.flatnonzero(np.diff(np.sign(np.diff(record.command)))) + 1
    # where the beat is slow: a peak on a steep envelope lies under it
    tall = peaks[envelope[peaks] > 0.6 * np.max(envelope)]
    assert len(tall) > 8
    np.testing.assert_allclose(np.abs(record.command[tall]), envelope[tall], rtol=0.02)
