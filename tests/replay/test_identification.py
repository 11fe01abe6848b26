"""Recorded runs -> gain, delay and lag, where the actuator is known."""

import numpy as np
import pytest
from scipy.signal import lfilter

from monitor.messages.blocks import Channel, Role, Stream
from replay.formats import ArrayRecording
from replay.identification.actuators import identify
from sim.laboratory.actuator import ActuatorState, Schedule, equivalent_delay

RATE = 250.0
TIME = np.arange(4000) / RATE
COMMAND = 0.01 * sum(np.sin(2 * np.pi * f * TIME + f**2) for f in (0.7, 1.9, 3.1, 5.3, 8.9))


def followed(state, seed=1, command=COMMAND):
    actuator = Schedule(((0.0, state),)).begin(1.0 / RATE, (1,), np.random.default_rng(seed))
    force = np.zeros(1)
    return np.array([actuator.step(each, force)[0] for each in command[:, None]])


def recording(*measured, index=None, command=COMMAND, units=("m", "m")):
    channels, columns = [], []
    for i, each in enumerate(measured):
        channels += [
            Channel(f"c{i}", Role.COMMAND, units[0], f"actuator {i}"),
            Channel(f"m{i}", Role.MEASURED, units[1], f"actuator {i}"),
        ]
        columns += [command[: len(each)], each]
    return ArrayRecording(Stream("rig", 1, RATE, tuple(channels)), np.column_stack(columns), index=index)


def only(record, **settings):
    found = identify(record, **settings)
    assert found.problems == ()
    return found.fits[0]


def test_every_actuator_has_its_own():
    states = ActuatorState(0.9, 0.0, 0.031, 1e-4), ActuatorState(1.1, 0.0, 0.007, 1e-4)
    told = []
    found = identify(recording(*map(followed, states)), progress=lambda *each: told.append(each))
    assert told == [("actuators", 0, 2), ("actuators", 1, 2), ("actuators", 2, 2)]
    assert found.problems == ()
    for each, state in zip(found.fits, states, strict=True):
        error = dict(zip(each.fit.names, each.fit.correlated_standard_errors, strict=True))
        assert abs(each.fit.of("gain") - state.gain) < 5.0 * error["gain"] + 2e-3
        assert abs(each.fit.of("delay") - state.delay) < 5.0 * error["delay"] + 5e-5
        assert each.explained > 0.999 and each.left_out == 0
        assert each.fit.sigma == pytest.approx(1e-4, rel=0.3)


def test_a_lag_and_a_drift():
    measured = followed(ActuatorState(0.9, 0.012, 0.031, 1e-4)) + 1e-4 * TIME
    found = only(recording(measured), with_lag=True, n_drift=2)
    assert found.fit.names == ("gain", "delay", "lag", "beta_1", "beta_2")
    for name, value, within in (
        ("gain", 0.9, 2e-3),
        ("delay", 0.031, 5e-4),
        ("lag", 0.012, 5e-4),
        ("beta_2", 1e-4, 1e-5),
    ):
        assert found.fit.of(name) == pytest.approx(value, abs=within)


def test_offset_and_drift_are_those_at_the_beginning_of_the_record():
    measured = followed(ActuatorState(0.9, 0.0, 0.031, 1e-5), command=COMMAND + 0.2) + 0.003 + 1e-3 * TIME
    measured[2000:2010] = np.nan
    index = np.arange(4000)
    # one second is missing
    index[2005:] += 250
    measured[2005:] += 1e-3
    measured[:1000] = np.nan
    found = only(recording(measured, index=index, command=COMMAND + 0.2), n_drift=2)
    assert found.left_out == 2010 + 1
    errors = dict(zip(found.fit.names, found.fit.correlated_standard_errors, strict=True))
    for name, value in (("beta_1", 0.003), ("beta_2", 1e-3)):
        assert abs(found.fit.of(name) - value) < 5.0 * errors[name] < 1e-4


@pytest.mark.parametrize("offset", [1e2, 1e4, 1e6])
def test_a_large_offset_hides_nothing(offset):
    # in the amplitude of the motion
    offset *= 0.03
    motion = followed(ActuatorState(1.0, 0.0, 0.031, 1e-4))
    found = only(recording(motion - 10.0 * offset, command=COMMAND + offset))
    assert found.warnings == () and found.fit.converged
    assert found.fit.of("gain") == pytest.approx(1.0, abs=1e-3)
    assert found.fit.of("delay") == pytest.approx(0.031, abs=1e-4)
    error = 5.0 * found.fit.correlated_standard_errors[2]
    assert found.fit.of("beta_1") == pytest.approx(-11.0 * offset, abs=error)


def test_holes_are_left_out():
    measured = followed(ActuatorState(0.9, 0.0, 0.031, 1e-4))
    measured[1200] = np.nan
    index = np.arange(4000)
    index[3600:] += 25
    found = only(recording(measured, index=index))
    # the stretch from the NaN to the gap, less what the delay may take from its ends
    assert found.compared == 2399 - 2 * 26
    # the two before and after, the NaN, and one that stands for the gap
    assert found.left_out == 1601 + 1
    assert found.fit.of("delay") == pytest.approx(0.031, abs=1e-4)


def test_what_is_no_measurement_is_a_hole():
    measured = followed(ActuatorState(0.9, 0.0, 0.031, 1e-4))
    measured[900] = 1e60
    found = only(recording(measured))
    assert found.left_out == 901
    assert any("3099 of 4000 samples" in note for note in found.notes)


def test_a_repeated_motion_has_the_shortest_delay_of_a_positive_gain():
    # 41.7 ms are half a cycle: without a sign, 12 + 31 ms of lag and delay are 1 ms of lead as well
    command = 0.01 * np.sin(2 * np.pi * 12.0 * TIME)
    found = only(recording(followed(ActuatorState(0.9, 0.012, 0.031, 1e-4), command=command), command=command))
    period = 1.0 / 12.0
    truth = complex(Schedule(((0.0, ActuatorState(0.9, 0.012, 0.031)),)).response_at(0.0, 12.0, 1.0 / RATE))
    delay = float(equivalent_delay(truth, 12.0)) % period
    assert found.fit.of("delay") == pytest.approx(delay, abs=1e-4)
    assert found.fit.of("gain") == pytest.approx(abs(truth), abs=2e-3)
    gains, delays = found.alternatives[:, 0], found.alternatives[:, 1]
    turned = np.where(gains < 0.0, period / 2, 0.0)
    apart = (delays - delay - turned + period / 2) % period - period / 2
    np.testing.assert_allclose(apart, 0.0, atol=2e-4)
    assert {round(1e3 * each) for each in delays} == {-43, -1, -84}
    assert any("the motion is periodic" in warning for warning in found.warnings)


def test_standard_errors_are_the_scatter_of_errors_that_hang_together():
    measured = followed(ActuatorState(0.9, 0.0, 0.031))
    generator = np.random.default_rng(5)
    delays, errors, white = [], [], []
    for _ in range(40):
        noise = lfilter([1.0], [1.0, -0.9], generator.standard_normal(4200))[200:]
        found = only(recording(measured + 1e-4 * noise))
        delays.append(found.fit.of("delay"))
        errors.append(found.fit.correlated_standard_errors[1])
        white.append(found.fit.standard_errors[1])
    scatter = np.std(delays, ddof=1)
    # the scatter of forty is known within 11 %
    assert np.mean(errors) == pytest.approx(scatter, rel=0.33)
    assert np.mean(white) < 0.67 * scatter


def test_one_event_that_says_all_has_no_smaller_error_than_white_noise_gives():
    command = np.where(TIME < 4.0, 0.0, 0.01)
    measured = followed(ActuatorState(0.9, 0.012, 0.031, 1e-4), command=command)
    found = only(recording(measured, command=command))
    assert (found.fit.correlated_standard_errors >= (1.0 - 1e-9) * found.fit.standard_errors).all()


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"n_drift": 9}, "drift 9: give the terms of the polynomial, 0 to 6"),
        ({"max_delay": 2.0}, "max_delay 2.0: must be positive, 1.0 s at most"),
        ({"max_delay": np.nan}, "max_delay nan: must be positive"),
    ],
)
def test_mistakes_are_told(settings, complaint):
    with pytest.raises(ValueError, match=complaint):
        identify(recording(COMMAND), **settings)


def test_a_recording_without_actuators_is_refused():
    alone = ArrayRecording(Stream("rig", 1, RATE, (Channel("x", Role.AUXILIARY),)), COMMAND[:, None])
    with pytest.raises(ValueError, match="has no command and measured channels"):
        identify(alone)
