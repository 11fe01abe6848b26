"""Recorded runs -> gain, delay and lag, where the actuator is known."""

import numpy as np
import pytest

from monitor.blocks import Channel, Role, Stream
from replay.formats import ArrayRecording
from replay.identification import identify
from sim.actuator import ActuatorState, Schedule

RATE = 250.0
TIME = np.arange(4000) / RATE
COMMAND = 0.01 * sum(np.sin(2 * np.pi * f * TIME + f**2) for f in (0.7, 1.9, 3.1, 5.3, 8.9))


def followed(state, seed=1):
    actuator = Schedule(((0.0, state),)).begin(1.0 / RATE, np.random.default_rng(seed))
    return np.array([actuator.step(each) for each in COMMAND.tolist()])


def recording(*measured, index=None):
    channels, columns = [], []
    for i, each in enumerate(measured):
        channels += [
            Channel(f"c{i}", Role.COMMAND, "m", f"actuator {i}"),
            Channel(f"m{i}", Role.MEASURED, "m", f"actuator {i}"),
        ]
        columns += [COMMAND[: len(each)], each]
    return ArrayRecording(Stream("rig", 1, RATE, tuple(channels)), np.column_stack(columns), index=index)


def test_every_actuator_has_its_own():
    states = ActuatorState(0.9, 0.0, 0.031, 1e-4), ActuatorState(1.1, 0.0, 0.007, 1e-4)
    told = []
    found = identify(recording(*map(followed, states)), progress=lambda *each: told.append(each))
    assert told == [("actuators", 1, 2), ("actuators", 2, 2)]
    for each, state in zip(found, states, strict=True):
        error = dict(zip(each.fit.names, each.standard_errors, strict=True))
        assert abs(each.fit.of("gain") - state.gain) < 5.0 * error["gain"] + 2e-3
        assert abs(each.fit.of("delay") - state.delay) < 5.0 * error["delay"] + 5e-5
        assert each.explained > 0.999 and each.left_out == 0
        assert each.fit.sigma == pytest.approx(1e-4, rel=0.3)


def test_a_lag_and_a_drift():
    measured = followed(ActuatorState(0.9, 0.012, 0.031, 1e-4)) + 1e-4 * TIME
    (found,) = identify(recording(measured), with_lag=True, n_drift=2)
    assert found.fit.names == ("gain", "delay", "lag", "beta_1", "beta_2")
    for name, value, within in (
        ("gain", 0.9, 2e-3),
        ("delay", 0.031, 5e-4),
        ("lag", 0.012, 5e-4),
        ("beta_2", 1e-4, 1e-5),
    ):
        assert found.fit.of(name) == pytest.approx(value, abs=within)


def test_holes_are_left_out():
    measured = followed(ActuatorState(0.9, 0.0, 0.031, 1e-4))
    measured[1200] = np.nan
    index = np.arange(4000)
    index[3600:] += 25
    (found,) = identify(recording(measured, index=index))
    # the stretch from the NaN to the gap, less what the delay may take from its ends
    assert found.compared == 2399 - 2 * 26
    # the two before and after, the NaN, and one that stands for the gap
    assert found.left_out == 1601 + 1
    assert found.fit.of("delay") == pytest.approx(0.031, abs=1e-4)


def test_what_an_actuator_does_not_explain_is_noted():
    measured = followed(ActuatorState(0.9, 0.03, 0.01, 1e-4))
    (found,) = identify(recording(measured))
    assert any("correlated" in note for note in found.notes)
    errors = dict(zip(found.fit.names, found.standard_errors, strict=True))
    assert errors["gain"] > found.fit.standard_errors[0]
    (held,) = identify(recording(followed(ActuatorState(1.0, 0.0, 0.05, 1e-4))), max_delay=0.03)
    assert any("at the end of what was searched" in note for note in held.notes)
    (short,) = identify(recording(measured[:120]))
    assert np.isnan(short.standard_errors).all()
    assert any("too short for standard errors" in note for note in short.notes)


@pytest.mark.parametrize(
    ("make", "settings", "complaint"),
    [
        (lambda: recording(COMMAND), {"n_drift": 9}, "drift 9: give the terms of the polynomial, 0 to 6"),
        (lambda: recording(COMMAND), {"max_delay": 2.0}, "max_delay 2.0: must be positive, 1.0 s at most"),
        (lambda: recording(COMMAND[:40]), {}, "40 samples are too few"),
        (lambda: recording(np.full(4000, np.nan)), {}, "actuator 0: the command stands still, or has no samples"),
    ],
)
def test_mistakes_are_told(make, settings, complaint):
    with pytest.raises(ValueError, match=complaint):
        identify(make(), **settings)


def test_a_recording_without_actuators_is_refused():
    alone = ArrayRecording(Stream("rig", 1, RATE, (Channel("x", Role.AUXILIARY),)), COMMAND[:, None])
    with pytest.raises(ValueError, match="has no command and measured channels"):
        identify(alone)
