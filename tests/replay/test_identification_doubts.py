"""What is refused, and what is told, of records that tell little or nothing of an actuator."""

import numpy as np
import pytest

from monitor.messages.blocks import Channel, Role, Stream
from replay.formats import ArrayRecording
from replay.identification.actuator_regression import frozen_samples
from replay.identification.actuators import identify

RATE = 250.0
TIME = np.arange(3000) / RATE
NOISE = np.random.default_rng(2).standard_normal(3000)


def motion(t):
    return 0.01 * sum(np.sin(2 * np.pi * f * t + f**2) for f in (0.7, 1.9, 3.1, 5.3, 8.9))


SPEED = (motion(TIME + 1e-4) - motion(TIME - 1e-4)) / 2e-4
COMMAND, MEASURED = motion(TIME), 0.9 * motion(TIME - 0.031) + 1e-4 * NOISE


def record(measured=MEASURED, command=COMMAND, units=("m", "m")):
    channels = Channel("c", Role.COMMAND, units[0], "a"), Channel("m", Role.MEASURED, units[1], "a")
    return ArrayRecording(Stream("rig", 1, RATE, channels), np.column_stack([command, measured]))


def only(measured=MEASURED, command=COMMAND, units=("m", "m"), **settings):
    found = identify(record(measured, command, units), **settings)
    assert found.problems == ()
    return found.fits[0]


def holes(signal, every):
    signal = signal.copy()
    signal[::every] = np.nan
    return signal


@pytest.mark.parametrize(
    ("measured", "command", "complaint"),
    [
        (np.full(3000, 0.003), COMMAND, "the measured signal is constant, 0.003: a dead channel"),
        (0.1 + 0.2 * np.ones(3000) + 1e-16 * NOISE, COMMAND, "the measured signal is constant, 0.3"),
        (MEASURED, np.full(3000, 2.0), "the command is constant, 2: a dead channel"),
        (MEASURED, 1e-200 * COMMAND, "the command is constant"),
        (0.003 + 1e-4 * NOISE, COMMAND, "does not follow the command, its gain is"),
        (0.01 * NOISE, COMMAND, "does not follow the command"),
        (np.where(TIME == 4.0, 1e6, MEASURED), COMMAND, "does not follow the command"),
        (np.full(3000, np.nan), COMMAND, "has 0 of 3000 samples: a fit needs 32"),
        (holes(MEASURED, 7), COMMAND, "without a gap has 6 of 3000 samples: a fit needs 32"),
        (1e200 * MEASURED, COMMAND, "has 0 of 3000 samples"),
        (MEASURED[:60], COMMAND[:60], r"0.24 s without a gap are too short .* give --max-delay 0.06 or less"),
        (MEASURED[:40], COMMAND[:40], r"0.16 s without a gap are too short .* give --max-delay 0.032 or less"),
    ],
)
def test_what_cannot_be_fitted_is_refused(measured, command, complaint):
    found = identify(record(measured, command))
    assert found.fits == ()
    (problem,) = found.problems
    assert problem.startswith("c -> m: ") and "\n" not in problem
    with pytest.raises(ValueError, match=complaint):
        raise ValueError(problem)


@pytest.mark.parametrize("with_lag", [False, True])
@pytest.mark.parametrize("n", [32, 33, 40, 61, 300])
def test_what_the_refusal_of_a_short_record_advises_works(n, with_lag):
    measured = 0.9 * motion(TIME - 0.001)[:n]
    (problem,) = identify(record(measured, COMMAND[:n]), max_delay=1.0, with_lag=with_lag).problems
    advised = float(problem.split("--max-delay ")[1].split()[0])
    found = only(measured, COMMAND[:n], max_delay=advised, with_lag=with_lag)
    assert found.fit.of("gain") == pytest.approx(0.9, abs=1e-3)


def test_one_dead_channel_does_not_take_the_others_along():
    channels = [Channel(name, role, "m", name[1]) for name, role in (("c1", Role.COMMAND), ("m1", Role.MEASURED))]
    channels += [Channel(name, role, "m", name[1]) for name, role in (("c2", Role.COMMAND), ("m2", Role.MEASURED))]
    samples = np.column_stack([COMMAND, np.zeros(3000), COMMAND, MEASURED])
    found = identify(ArrayRecording(Stream("rig", 1, RATE, tuple(channels)), samples))
    assert [each.pair.actuator for each in found.fits] == ["2"]
    assert [problem[:8] for problem in found.problems] == ["c1 -> m1"]


def test_a_good_record_warns_of_nothing():
    found = only()
    assert found.warnings == () and found.notes == ()
    assert found.fit.bounded == () and len(found.alternatives) == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"measured": 1000.0 * MEASURED}, "a gain of 900: are command and measured signal in the same unit?"),
        ({"measured": -MEASURED}, "the gain is negative"),
        ({"max_delay": 0.02}, "delay: at the bound of the search"),
        ({"max_delay": 0.02}, "the correlation is higher at a delay of 32 ms: give a --max-delay of more"),
        ({"measured": motion(TIME - 0.25) + 1e-4 * NOISE}, "the correlation is higher at a delay of 2[0-9][0-9] ms"),
        ({"measured": motion(TIME - 0.25) + 1e-4 * NOISE}, "% of the measured variance is explained: another cause"),
        ({"measured": np.where(TIME < 8.0, MEASURED, MEASURED[2000])}, "is constant for 4 s while the command"),
        ({"measured": COMMAND, "command": MEASURED}, "a lead of 31 ms: .* are command and measured signal swapped?"),
        (
            {"measured": COMMAND + 0.02 * SPEED + 1e-4 * NOISE, "with_lag": True},
            "lag: none is seen: with one the fit is no better; the fit without a lag is shown",
        ),
        (
            {"command": np.sin(50.0 * TIME), "measured": np.sin(50.0 * TIME - 1.0) + 1e-3 * NOISE, "with_lag": True},
            "lag: the motion has a single frequency: delay and lag cannot be separated",
        ),
    ],
)
def test_what_makes_the_numbers_doubtful_is_a_warning(change, words):
    warnings = only(**change).warnings
    with pytest.raises(ValueError, match=words):
        raise ValueError("; ".join(warnings))


def test_a_gain_with_a_unit_may_be_anything():
    assert only(1000.0 * MEASURED, units=("V", "mm")).warnings == ()


def test_a_short_lead_is_a_controllers():
    assert only(0.9 * motion(TIME + 0.003) + 1e-4 * NOISE).warnings == ()


def test_that_few_samples_are_compared_is_noted():
    (note,) = only(MEASURED[:200], COMMAND[:200], max_delay=0.25).notes
    assert note.startswith("72 of 200 samples are compared: --max-delay is left out at the end, and at the beginning")


def test_without_a_lag_a_short_record_may_do():
    (problem,) = identify(record(MEASURED[:100], COMMAND[:100]), with_lag=True).problems
    assert problem.endswith("give --max-delay 0.05 or less, or leave --lag out")


def test_at_a_bound_there_is_no_standard_error():
    found = only(max_delay=0.02)
    assert found.fit.bounded == ("delay",)
    assert found.fit.of("delay") == 0.02
    errors = found.fit.correlated_standard_errors
    assert np.isnan(errors[1]) and np.isfinite(errors[[0, 2]]).all()


def test_what_an_actuator_does_not_explain_is_noted():
    found = only(0.9 * motion(TIME - 0.031) ** 3 / 1e-4 + MEASURED)
    assert any("correlated" in note for note in found.notes)
    drifting = only(MEASURED + 0.01 * TIME)
    assert np.isnan(drifting.fit.correlated_standard_errors).all()
    assert any("no standard errors: the residuals are autocorrelated" in note for note in drifting.notes)


def test_the_command_itself_is_no_measurement():
    found = only(0.9 * COMMAND)
    assert found.notes == ("residuals are rounding errors: the measured signal is the command, or computed from it",)
    assert found.explained == pytest.approx(1.0, abs=1e-12)


def test_a_signal_is_frozen_only_while_the_command_moves():
    command = np.concatenate([np.zeros(100), np.ones(100), np.zeros(100)])
    # late by 20, without noise: it stands as the command does
    assert frozen_samples(command, np.roll(command, 20), 25) == 0
    assert frozen_samples(command, np.zeros(300), 25) == 300
    assert frozen_samples(command, np.where(np.arange(300) < 200, 0.0, 1.0), 25) == 200
