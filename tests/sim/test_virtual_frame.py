"""The virtual laboratory test: its dampers, its loop and its actuators, each against another solution."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from sim.cases.hybrid import simulate
from sim.cases.tracking_cases import (
    ground_motion,
    lead_lag_lead,
    two_samples_late,
    virtual_record,
    virtual_test,
)  # fmt: skip
from sim.laboratory.actuator import ActuatorState, Schedule
from sim.laboratory.specimens import ElastomericDamper
from tests.oracles.oscillators import frame_with_dampers

DAMPERS = ElastomericDamper(1.5e6, 3.5e6, 0.15, 0.008)
PERFECT = Schedule(((0.0, ActuatorState()),))
TURN = 5.5


def driven(amplitude, turn=TURN, rate=1024.0, cycles=6):
    time = np.arange(round(cycles * 2.0 * math.pi / turn * rate)) / rate
    path = amplitude * np.sin(turn * time)
    return time, path, forces_along(path, 1.0 / rate)


def forces_along(path, dt):
    running = DAMPERS.begin(dt, (1,))
    return np.array([running.force(x, np.zeros(1))[0] for x in path[:, None]])


def test_dampers_obey_their_equation_to_second_order():
    errors = []
    for rate in (128.0, 256.0, 512.0):
        time, path, force = driven(0.03, rate=rate)

        def creep(t, stretch):
            return 0.03 * TURN * np.cos(TURN * t) - stretch / 0.15 * (1.0 + (stretch / 0.008) ** 2)

        stretch = solve_ivp(creep, (0.0, time[-1]), [0.0], "DOP853", time, rtol=1e-10, atol=1e-14).y[0]
        errors.append(np.max(np.abs(force - 1.5e6 * path - 3.5e6 * stretch)))
    assert errors[-1] < 1e-3 * np.max(np.abs(force))
    np.testing.assert_allclose(np.log2(np.array(errors[:-1]) / errors[1:]), 2.0, atol=0.2)


def complex_stiffness(amplitude, turn):
    time, path, force = driven(amplitude, turn, cycles=10)
    late = time >= 5.0 * 2.0 * math.pi / turn
    wave = np.exp(-1j * turn * time[late])
    return np.sum(wave * force[late]) / np.sum(wave * path[late])


@pytest.mark.parametrize("turn", [1.0, 5.5, 20.0])
def test_small_motion_meets_the_standard_linear_solid(turn):
    expected = 1.5e6 + 3.5e6 * 1j * turn * 0.15 / (1.0 + 1j * turn * 0.15)
    assert complex_stiffness(1e-6, turn) == pytest.approx(expected, rel=5e-3)


def test_far_motion_is_softer_and_fast_motion_is_stiffer():
    small, far, fast = complex_stiffness(0.001, TURN), complex_stiffness(0.03, TURN), complex_stiffness(0.001, 20.0)
    assert far.real < 0.9 * small.real and fast.real > 1.3 * small.real
    assert fast.real < DAMPERS.stiffness == 5e6


@given(sizes=st.lists(st.floats(-0.03, 0.03), min_size=2, max_size=6), turn=st.floats(0.5, 15.0))
@settings(max_examples=25)
def test_dampers_give_back_no_more_than_they_took(sizes, turn):
    time = np.arange(4096) / 1024.0
    path = sum(size * np.sin((i + 1) * turn * time) for i, size in enumerate(sizes))
    forces = forces_along(path, 1.0 / 1024.0)
    taken = np.cumsum((forces[1:] + forces[:-1]) / 2.0 * np.diff(path))
    assert np.all(taken >= -1e-6 * (1.0 + np.max(np.abs(forces)) * np.max(np.abs(path))))


@pytest.mark.parametrize("name", ["elastic", "viscous", "relaxation", "thinning"])
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_dampers_out_of_range_are_refused_in_one_line(name, value):
    with pytest.raises(ValueError, match=rf"^damper {name} {value}: must be a positive number$"):
        ElastomericDamper(**{name: value})


def test_the_loop_is_the_frame_in_one_piece():
    record = simulate(virtual_test(PERFECT, seed=1))
    dt, mass = 1.0 / 1024.0, 5e5
    ground = ground_motion().sample(np.arange(2 * len(record.time)) * dt / 2.0)
    stored = 3.5e6 * (TURN * 0.15) ** 2 / (1.0 + (TURN * 0.15) ** 2)
    frame = mass * TURN**2 - 1.5e6 - stored
    damping = 2.0 * 0.02 * mass * TURN
    exact = frame_with_dampers(ground, dt, mass, damping, frame, 0.022, 0.05, 1.5e6, 3.5e6, 0.15, 0.008)
    np.testing.assert_allclose(record.command, exact, atol=2e-3 * np.max(np.abs(exact)))


def test_motion_is_that_of_the_test_it_stands_for():
    record = virtual_record(two_samples_late(), seed=1)
    time = record.time
    assert time[-1] == pytest.approx(30.0 - 1.0 / 1024.0)
    assert np.max(np.abs(ground_motion().sample(time))) == pytest.approx(0.3 * 0.42 * 9.81, rel=1e-12)
    spectrum = np.abs(np.fft.rfft(record.command * np.hanning(len(time)), 1 << 18))
    dominant = 2.0 * np.pi * 1024.0 / (1 << 18) * np.argmax(spectrum)
    assert dominant == pytest.approx(5.5, rel=0.03)
    # the frame yields, and the rig has strokes of this size
    assert 0.022 < np.max(np.abs(record.command)) < 0.05


def test_case_iv_actuator_is_two_samples_late_and_overshoots():
    record = virtual_record(two_samples_late(), seed=1)
    before, after = record.command[:-2], record.measured[2:]
    gain = np.dot(before, after) / np.dot(before, before)
    noise = after - gain * before
    assert np.std(noise) == pytest.approx(1e-5, rel=0.03)
    assert abs(np.corrcoef(noise[1:], noise[:-1])[0, 1]) < 0.03
    near = (record.time > 13.9) & (record.time < 14.8)
    overshoot = (gain - 1.0) * np.max(np.abs(record.command[near]))
    assert overshoot == pytest.approx(0.07e-3, abs=0.005e-3)
    np.testing.assert_allclose(record.true_delay, 2.0 / 1024.0, rtol=1e-9)
    np.testing.assert_allclose(record.true_phase, -5.5 * 2.0 / 1024.0, rtol=1e-9)
    assert record.true_ratio[0] == pytest.approx(1.0 / gain, rel=1e-4)


@pytest.mark.parametrize(
    ("start", "stop", "delay"), [(1.0, 16.0, -0.0015), (17.0, 20.5, 0.002), (21.5, 30.0, -0.0015)]
)
def test_case_vii_actuator_leads_lags_and_leads(start, stop, delay):
    record = virtual_record(lead_lag_lead(), seed=1)
    inside = (record.time >= start) & (record.time < stop)
    speed = np.gradient(record.command, 1.0 / 1024.0)
    bend = np.gradient(speed, 1.0 / 1024.0)
    terms = np.column_stack([record.command, -speed, 0.5 * bend])[inside]
    gain, late, _ = np.linalg.lstsq(terms, record.measured[inside], rcond=None)[0]
    assert gain == pytest.approx(1.01, abs=5e-4)
    assert late / gain == pytest.approx(delay, abs=3e-5)
    np.testing.assert_allclose(record.true_delay[inside], delay, rtol=1e-6)
    np.testing.assert_allclose(record.true_ratio[inside], 1.0 / 1.01, rtol=1e-6)


def test_case_vii_truth_changes_its_sign_when_the_paper_says():
    record = virtual_record(lead_lag_lead(), seed=1)
    turns = np.flatnonzero(np.diff(np.sign(record.true_phase)))
    signs = np.sign(record.true_phase[[0, -1]])
    np.testing.assert_array_equal(signs, 1.0)
    inner = record.time[turns]
    np.testing.assert_allclose([inner[0], inner[-1]], [16.5, 21.0], atol=2.0 / 1024.0)
    lag = (record.time > 16.51) & (record.time < 20.99)
    assert np.all(record.true_phase[lag] < 0.0)
    assert len(set(np.round(inner, 1))) == 2
    at = np.argmin(np.abs(record.time - 19.53))
    assert np.degrees(record.true_phase[at]) == pytest.approx(-0.65, abs=0.03)
