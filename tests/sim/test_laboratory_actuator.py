"""The actuator against its exact frequency response, by a least-squares sine fitted here."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.laboratory.actuator import (
    ActuatorState,
    Schedule,
    ScheduledActuators,
    amplitude_ratio,
    equivalent_delay,
    phase_error,
)

RATE = 1024.0
DT = 1.0 / RATE


def run(schedule, command, seed=1, dt=DT):
    actuator = schedule.begin(dt, (1,), np.random.default_rng(seed))
    force = np.zeros(1)
    return np.array([actuator.step(np.array([value]), force)[0] for value in command])


def constant(**state):
    return Schedule(((0.0, ActuatorState(**state)),))


def fitted(time, signal, frequency):
    """Complex amplitude z of Re(z exp(2j pi f t))."""
    angle = 2.0 * np.pi * frequency * time
    basis = np.column_stack([np.cos(angle), -np.sin(angle), np.ones_like(time)])
    cosine, sine, _ = np.linalg.lstsq(basis, signal, rcond=None)[0]
    return complex(cosine, sine)


def stepped(state, frequency):
    """Measured/command in the steady state of steps of DT."""
    return complex(Schedule(((0.0, state),)).response_at(0.0, frequency, DT))


def continuous(state, frequency):
    turn = 2j * np.pi * frequency
    return complex(state.gain * np.exp(-turn * state.delay) / (1.0 + turn * state.lag))


@settings(max_examples=60, deadline=None)
@given(
    gain=st.floats(0.5, 1.5), lag=st.floats(0.0, 0.03), delay=st.floats(-0.004, 0.06), frequency=st.floats(0.5, 40.0)
)
def test_steady_state_is_the_frequency_response(gain, lag, delay, frequency):
    state = ActuatorState(gain=gain, lag=lag, delay=delay)
    time = np.arange(2048) * DT
    measured = run(Schedule(((0.0, state),)), np.cos(2.0 * np.pi * frequency * time))
    # 40 time constants of the lag and the whole delay lie before
    found = fitted(time[1400:], measured[1400:], frequency)
    assert found == pytest.approx(stepped(state, frequency), abs=1e-9)


@settings(max_examples=100, deadline=None)
@given(lag=st.floats(0.0, 0.05), delay=st.floats(0.0, 0.1), frequency=st.floats(0.2, 5.0))
def test_stepped_response_is_near_the_continuous_one(lag, delay, frequency):
    state = ActuatorState(gain=0.9, lag=lag, delay=delay)
    bound = (2.0 * np.pi * frequency * DT) ** 2 / 12.0
    assert abs(stepped(state, frequency) - continuous(state, frequency)) <= 1.05 * bound


def test_lead_error_is_of_fourth_order():
    errors = []
    for frequency in (2.0, 4.0):
        state = ActuatorState(delay=-8 * DT)
        errors.append(abs(stepped(state, frequency) - continuous(state, frequency)))
    assert errors[0] == pytest.approx((2.0 * np.pi * 2.0 * 8 * DT) ** 4, rel=0.1)
    assert errors[1] / errors[0] == pytest.approx(16.0, rel=0.1)


def test_whole_delay_shifts_samples_and_nothing_else():
    command = np.random.default_rng(3).standard_normal(500)
    np.testing.assert_array_equal(run(constant(), command), command)
    measured = run(constant(delay=7 * DT), command)
    np.testing.assert_allclose(measured, np.append(np.zeros(7), command[:-7]), atol=1e-12)


def test_lag_answers_a_ramp_exactly():
    time, lag = np.arange(300) * DT, 0.02
    measured = run(constant(lag=lag), 3.0 * time)
    np.testing.assert_allclose(measured, 3.0 * (time - lag * (1.0 - np.exp(-time / lag))), atol=1e-13)


def test_signs_late_is_a_positive_delay_and_a_negative_phase():
    late = continuous(ActuatorState(gain=0.8, delay=0.01), 2.0)
    assert amplitude_ratio(late) == pytest.approx(1.25)
    assert phase_error(late) == pytest.approx(-2.0 * math.pi * 2.0 * 0.01)
    assert equivalent_delay(late, 2.0) == pytest.approx(0.01)
    assert phase_error(continuous(ActuatorState(delay=-0.01), 2.0)) > 0.0
    lagging = continuous(ActuatorState(lag=0.008), 2.0)
    assert equivalent_delay(lagging, 2.0) == pytest.approx(math.atan(2 * math.pi * 2 * 0.008) / (4 * math.pi))


@pytest.mark.parametrize(("delay", "sign"), [(0.01, 1.0), (0.0, 0.0), (-0.01, -1.0)])
def test_loop_area_has_the_sign_of_the_lag(delay, sign):
    angle = 2.0 * np.pi * 2.0 * np.arange(2048) * DT
    command = np.cos(angle)
    measured = run(constant(delay=delay), command)[1024:]
    command = command[1024:]
    area = np.sum(command[:-1] * measured[1:] - measured[:-1] * command[1:])
    # two cycles of an ellipse, 2 pi sin(lag) each, counter-clockwise when late
    assert area == pytest.approx(4.0 * np.pi * np.sin(2.0 * np.pi * 2.0 * delay), rel=2e-3, abs=1e-9)
    assert np.sign(np.round(area, 9)) == sign


def test_steps_happen_at_their_sample():
    schedule = Schedule(((0.0, ActuatorState()), (0.25, ActuatorState(gain=2.0))), ramp=0.0)
    measured = run(schedule, np.ones(512))
    np.testing.assert_array_equal(measured, np.where(np.arange(512) < 256, 1.0, 2.0))


def test_ramps_go_linearly_from_their_time_on():
    schedule = Schedule(((0.0, ActuatorState()), (1.0, ActuatorState(gain=2.0))), ramp=0.5)
    time = np.arange(2048) * DT
    expected = 1.0 + np.minimum(np.maximum(time - 1.0, 0.0) / 0.5, 1.0)
    np.testing.assert_allclose(run(schedule, np.ones(2048)), expected, rtol=1e-14)
    np.testing.assert_allclose(1.0 / amplitude_ratio(schedule.response_at(time, 2.0, DT)), expected, rtol=1e-14)


def test_slow_delay_ramp_reads_the_command_that_long_ago():
    schedule = Schedule(((0.0, ActuatorState(delay=0.005)), (0.5, ActuatorState(delay=0.030))), ramp=1.0)
    time = np.arange(2048) * DT
    delay = np.interp(time, [0.5, 1.5], [0.005, 0.030])
    np.testing.assert_allclose(equivalent_delay(schedule.response_at(time, 2.0, DT), 2.0), delay, atol=1e-10)
    measured = run(schedule, np.sin(4.0 * np.pi * time))
    np.testing.assert_allclose(measured[64:], np.sin(4.0 * np.pi * (time - delay))[64:], atol=1e-8)


def test_noise_has_its_rms_and_leaves_the_position_alone():
    schedule = Schedule(((0.0, ActuatorState(noise=0.3)), (8.0, ActuatorState(noise=0.0))), ramp=0.0)
    actuator = schedule.begin(DT, (), np.random.default_rng(5))
    one = np.ones(())
    pairs = np.array([(actuator.step(one, one), actuator.position) for _ in range(10240)])
    np.testing.assert_array_equal(pairs[:, 1], 1.0)
    noise = pairs[:8192, 0] - 1.0
    assert np.sqrt(np.mean(noise**2)) == pytest.approx(0.3, rel=0.03)
    assert abs(np.corrcoef(noise[1:], noise[:-1])[0, 1]) < 0.04
    np.testing.assert_array_equal(pairs[8192:, 0], 1.0)


def test_the_tests_of_an_array_differ_in_their_noise_alone():
    schedule = Schedule(((0.0, ActuatorState(0.9, 0.004, 0.0123, 0.1)), (0.5, ActuatorState(delay=-0.003))), ramp=0.2)
    commands = np.random.default_rng(4).standard_normal((1024, 3, 2))
    actuator = schedule.begin(DT, (3, 2), np.random.default_rng(6))
    positions, noise = [], []
    for command in commands:
        noise.append(actuator.step(command, command) - actuator.position)
        positions.append(actuator.position)
    for test in np.ndindex(3, 2):
        own = schedule.begin(DT, (), np.random.default_rng(7))
        alone = []
        for command in commands[(..., *test)]:
            own.step(np.asarray(command), np.asarray(0.0))
            alone.append(own.position)
        np.testing.assert_array_equal(np.array(positions)[(..., *test)], alone)
    assert np.all(np.abs(np.corrcoef(np.reshape(noise, (1024, 6))[:500].T) - np.eye(6)) < 0.2)


def test_actuators_side_by_side_are_those_alone():
    first = Schedule(((0.0, ActuatorState(0.9, 0.004, 0.0123)), (0.5, ActuatorState(delay=-0.003))), ramp=0.2)
    pair = ScheduledActuators((first, Schedule(((0.0, ActuatorState(1.1, 0.0, 0.02)),))))
    commands = np.random.default_rng(4).standard_normal((1500, 3, 2))
    running, force = pair.begin(DT, (3, 2), np.random.default_rng(1)), np.zeros((3, 2))
    together = np.array([running.step(command, force) for command in commands])
    for i, schedule in enumerate(pair.schedules):
        for draw in range(3):
            alone = run(schedule, commands[:, draw, i])
            np.testing.assert_allclose(together[:, draw, i], alone, atol=1e-13)
    assert pair.longest_delay == 0.02
    with pytest.raises(ValueError, match=r"^2 scheduled actuators for 3: give one for each$"):
        pair.begin(DT, (3,), np.random.default_rng(1))


def test_a_seed_gives_the_same_noise_again():
    command = np.zeros(3000)
    np.testing.assert_array_equal(run(constant(noise=1.0), command, 7), run(constant(noise=1.0), command, 7))
    assert np.any(run(constant(noise=1.0), command, 7) != run(constant(noise=1.0), command, 8))


@settings(max_examples=40, deadline=None)
@given(
    first=st.floats(-0.05, 0.2),
    second=st.floats(-0.05, 0.2),
    ramp=st.floats(0.0, 0.3),
    dt=st.sampled_from([1 / 4096, 1 / 1000, 0.01, 0.3]),
)
def test_a_steady_command_passes_any_change_of_delay(first, second, ramp, dt):
    schedule = Schedule(((0.0, ActuatorState(delay=first)), (0.4, ActuatorState(delay=second))), ramp)
    measured = run(schedule, np.full(4096, 2.0), dt=dt)
    settled = math.ceil(0.21 / dt) + 3
    np.testing.assert_allclose(measured[settled:], 2.0, rtol=1e-12)


@pytest.mark.parametrize(
    "state",
    [
        {"gain": 0.0},
        {"gain": math.nan},
        {"lag": -0.001},
        {"lag": 8.0},
        {"lag": math.nan},
        {"delay": 12.0},
        {"delay": math.nan},
        {"noise": -1.0},
        {"noise": math.inf},
    ],
)
def test_states_out_of_range_are_refused_in_one_line(state):
    with pytest.raises(ValueError, match=f"^actuator {next(iter(state))} [^\n]*$"):
        ActuatorState(**state)


@pytest.mark.parametrize(
    ("times", "ramp", "word"),
    [
        ([], 0.5, "state at 0 s"),
        ([1.0], 0.5, "state at 0 s"),
        ([0.0, 2.0, 1.0], 0.0, "after 2.0 s"),
        ([0.0, 1.0, 1.2], 0.5, "after 1.5 s"),
        ([0.0, math.nan], 0.5, "nan s"),
        ([0.0], -1.0, "ramp"),
        ([0.0], math.inf, "ramp"),
    ],
)
def test_schedules_out_of_order_are_refused_in_one_line(times, ramp, word):
    with pytest.raises(ValueError, match=f"^[^\n]*{word}[^\n]*$"):
        Schedule(tuple((time, ActuatorState()) for time in times), ramp)


@pytest.mark.parametrize("wrong", [0.0, -1.0, math.nan, math.inf])
def test_frequencies_and_steps_must_be_positive(wrong):
    with pytest.raises(ValueError, match="must be a positive number"):
        equivalent_delay(1.0 + 0.0j, wrong)
    with pytest.raises(ValueError, match="must be a positive number"):
        constant().begin(wrong, (), np.random.default_rng(0))
    with pytest.raises(ValueError, match="must be a positive number"):
        equivalent_delay(1.0 + 0.0j, wrong)
