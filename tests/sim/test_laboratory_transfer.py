"""Chains of parts against closed forms, their steady states by a least-squares sine fitted here."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.laboratory.actuator import ActuatorState, Schedule
from sim.laboratory.transfer import ChangingTransfer, Delay, Gain, Lag, SeparateActuators, TransferChain

DT = 1.0 / 1024.0


def run(system, commands, forces=None, seed=1, dt=DT):
    """Positions and measured signals, each of the shape of the commands, (n, ...)."""
    running = system.begin(dt, commands.shape[1:], np.random.default_rng(seed))
    forces = np.zeros_like(commands) if forces is None else forces
    pairs = []
    for command, force in zip(commands, forces, strict=True):
        measured = running.step(command, force)
        pairs.append((running.position.copy(), measured.copy()))
    return np.moveaxis(np.array(pairs), 1, 0)


def fitted(time, signals, frequency):
    """(tests,) complex amplitudes z of Re(z exp(2j pi f t)) of signals (n, tests)."""
    angle = 2.0 * np.pi * frequency * time
    basis = np.column_stack([np.cos(angle), -np.sin(angle), np.ones_like(time)])
    cosine, sine, _ = np.linalg.lstsq(basis, signals, rcond=None)[0]
    return cosine + 1j * sine


@settings(max_examples=30, deadline=None)
@given(
    gains=st.lists(st.floats(0.5, 1.5), min_size=3, max_size=3),
    lags=st.lists(st.floats(0.0, 0.03), min_size=3, max_size=3),
    delays=st.lists(st.floats(-0.004, 0.06), min_size=3, max_size=3),
    frequency=st.floats(0.5, 40.0),
)
def test_the_steady_state_of_every_draw_is_its_response(gains, lags, delays, frequency):
    chain = TransferChain((Gain(np.array(gains)), Lag(np.array(lags))), (Delay(np.array(delays)),))
    time = np.arange(2048) * DT
    command = np.cos(2.0 * np.pi * frequency * time)[:, np.newaxis] + np.zeros(3)
    _, measured = run(chain, command)
    found = fitted(time[1400:], measured[1400:], frequency)
    np.testing.assert_allclose(found, chain.response(frequency, DT), atol=1e-9)
    for draw, state in enumerate(zip(gains, lags, delays, strict=True)):
        scheduled = Schedule(((0.0, ActuatorState(*state)),)).response_at(0.0, frequency, DT)
        assert chain.response(frequency, DT)[draw] == pytest.approx(complex(scheduled), abs=1e-14)


@settings(max_examples=50, deadline=None)
@given(lag=st.floats(0.0, 0.05), delay=st.floats(0.0, 0.1), frequency=st.floats(0.2, 5.0))
def test_the_steps_are_near_the_continuous_system(lag, delay, frequency):
    chain = TransferChain((Lag(lag), Gain(0.9), Delay(delay)))
    continuous = 0.9 * np.exp(-2j * np.pi * frequency * delay) / (1.0 + 2j * np.pi * frequency * lag)
    bound = (2.0 * np.pi * frequency * DT) ** 2 / 12.0
    assert abs(chain.response(frequency, DT) - continuous) <= 1.05 * bound


def test_a_response_is_that_of_every_frequency():
    frequencies = np.array([0.5, 2.0, 10.0])
    chain = TransferChain((Gain(1.1), Lag(0.01)), (Delay(0.0123),))
    each = [complex(chain.response(frequency, DT)) for frequency in frequencies.tolist()]
    np.testing.assert_allclose(chain.response(frequencies, DT), each, rtol=1e-14)
    delays = np.array([[0.001], [0.0]])
    assert TransferChain((Delay(delays),)).response(frequencies, DT).shape == (2, 3)


def test_a_chain_without_parts_is_perfect():
    command = np.random.default_rng(1).standard_normal((50, 4, 2))
    position, measured = run(TransferChain(), command)
    np.testing.assert_array_equal(position, command)
    np.testing.assert_array_equal(measured, command)
    assert complex(TransferChain().response(3.0, DT)) == 1.0


def test_the_position_has_passed_the_actuator_alone():
    command = np.random.default_rng(2).standard_normal((50, 2))
    position, measured = run(TransferChain((Gain(0.5),), (Delay(3 * DT),)), command)
    np.testing.assert_array_equal(position, 0.5 * command)
    np.testing.assert_allclose(measured, np.vstack([np.zeros((3, 2)), 0.5 * command[:-3]]), atol=1e-12)


def test_delays_of_whole_samples_shift_each_draw_by_its_own():
    delays = np.array([[0.0], [1.0], [17.0], [900.0]])
    command = np.random.default_rng(3).standard_normal((1000, 4, 1))
    position, _ = run(TransferChain((Delay(delays * DT),)), command)
    for draw, shift in enumerate(delays[:, 0].astype(int).tolist()):
        expected = np.append(np.zeros(shift), command[: 1000 - shift, draw, 0])
        np.testing.assert_allclose(position[:, draw, 0], expected, atol=1e-11)


@pytest.mark.parametrize("samples", [0.3, 1.5, 7.25, -2.0, -0.4])
def test_a_delay_of_a_fraction_of_a_sample_is_exact_for_a_cubic(samples):
    time = np.arange(300) * DT

    def cubic(t):
        return 1.0 + 3.0 * t - 20.0 * t**2 + 50.0 * t**3

    position, _ = run(TransferChain((Delay(samples * DT),)), cubic(time)[:, np.newaxis])
    np.testing.assert_allclose(position[20:, 0], cubic(time - samples * DT)[20:], atol=1e-12)


def test_a_lag_answers_a_ramp_exactly():
    time, lags = np.arange(300) * DT, np.array([0.005, 0.02])
    position, _ = run(TransferChain((Lag(lags),)), 3.0 * time[:, np.newaxis] + np.zeros(2))
    expected = 3.0 * (time[:, np.newaxis] - lags * (1.0 - np.exp(-time[:, np.newaxis] / lags)))
    np.testing.assert_allclose(position, expected, atol=1e-13)


def test_actuators_may_be_unlike():
    north, south = TransferChain((Gain(0.9),)), Schedule(((0.0, ActuatorState(delay=2 * DT, noise=0.1)),))
    command = np.random.default_rng(5).standard_normal((60, 3, 2))
    position, measured = run(SeparateActuators((north, south)), command)
    np.testing.assert_array_equal(position[..., 0], 0.9 * command[..., 0])
    np.testing.assert_array_equal(measured[..., 0], position[..., 0])
    np.testing.assert_allclose(position[2:, :, 1], command[:-2, :, 1], atol=1e-12)
    assert np.std(measured[..., 1] - position[..., 1]) == pytest.approx(0.1, rel=0.2)


def test_a_command_that_is_written_over_is_not_remembered_wrongly():
    chain = TransferChain((Lag(0.01), Delay(0.5 * DT)))
    values = np.random.default_rng(6).standard_normal((100, 1))
    running, command, found = chain.begin(DT, (1,), np.random.default_rng(0)), np.zeros(1), []
    for value in values:
        command[:] = value
        found.append(running.step(command, command).copy())
    np.testing.assert_array_equal(found, run(chain, values)[1])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Gain(0.0), "transfer gain 0.0: must be a positive number"),
        (lambda: Gain(np.array([1.0, math.nan])), "transfer gain nan: must be a positive number"),
        (lambda: Lag(-0.1), "lag time_constant -0.1: must be zero or more"),
        (lambda: Delay(11.0), "transfer delay 11.0: must be in seconds, up to 10.0"),
        (lambda: Delay(np.array([0.0, math.nan])), "transfer delay nan: must be in seconds, up to 10.0"),
        (lambda: Lag(0.1).begin(0.0, (), None), "0.0 given as a frequency or a time step: must be a positive number"),
        (
            lambda: TransferChain((Delay(np.zeros(3)),)).begin(DT, (2,), None),
            "delay of shape (3,) for arrays of shape (2,): they must broadcast",
        ),
        (
            lambda: SeparateActuators((TransferChain(),)).begin(DT, (5, 2), None),
            "1 transfer systems for arrays of shape (5, 2): one per actuator",
        ),
        (
            lambda: TransferChain((Gain(2.0), Schedule(((0.0, ActuatorState()),)))).response(1.0, DT),
            "Schedule has no frequency response: it is not linear, or it changes",
        ),
        (lambda: Lag(0.1).response(-1.0, DT), "response frequency -1.0: must be a positive number"),
    ],
)
def test_wrong_input_is_refused_in_one_line(make, message):
    with pytest.raises(ValueError, match=r"^[^\n]*$") as caught:
        make()
    assert str(caught.value) == message


def test_a_change_in_mid_test_is_a_mean_of_both():
    before, after = (TransferChain((Gain(gain),), (Gain(2.0),)) for gain in (1.0, 3.0))
    change = ChangingTransfer(before, after, at=np.array([[0.2], [0.4]]), ramp=0.2)
    positions, measured = run(change, np.ones((7, 2, 1)), dt=0.1)
    expected = np.array([[1.0, 1.0, 1.0, 2.0, 3.0, 3.0, 3.0], [1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 3.0]]).T[..., np.newaxis]
    np.testing.assert_allclose(positions, expected)
    np.testing.assert_allclose(measured, 2.0 * expected)
    assert ChangingTransfer(before, TransferChain((Delay(0.3),)), 1.0).longest_delay == 0.3
    with pytest.raises(ValueError, match=r"^change at -1.0: must be zero or more"):
        ChangingTransfer(before, after, -1.0)
