"""Whether a lag is told: of one frequency, of several, and of none."""

import numpy as np
import pytest
from scipy.signal import lfilter

from monitor.messages.blocks import Channel, Role, Stream
from replay.formats import ArrayRecording
from replay.identification.actuators import identify

RATE, OFTEN = 250.0, 16
GAIN, DELAY, LAG = 0.93, 0.0237, 0.008
STREAM = Stream("rig", 1, RATE, (Channel("c", Role.COMMAND, "m", "a"), Channel("m", Role.MEASURED, "m", "a")))


def several(t):
    return 0.004 * sum(np.sin(2 * np.pi * f * t + f**2) for f in (0.7, 1.9, 3.1, 5.3, 8.9))


def sine(frequency):
    return lambda t: 0.02 * np.sin(2 * np.pi * frequency * t)


def record(motion, noise=2e-4, seed=1, lag=LAG, drift=0.0):
    """A plant that sees the command 16 times as often as it was recorded."""
    fine = np.arange(-100 * OFTEN, 3000 * OFTEN) / (RATE * OFTEN)
    late = motion(fine - DELAY)
    if lag:
        decay = np.exp(-1.0 / (lag * RATE * OFTEN))
        late = lfilter([0.5 * (1.0 - decay)] * 2, [1.0, -decay], late)
    time = np.arange(3000) / RATE
    measured = GAIN * late[::OFTEN][100:] + noise * np.random.default_rng(seed).standard_normal(3000) + drift * time
    return ArrayRecording(STREAM, np.column_stack([motion(time), measured]))


def only(recording, **settings):
    found = identify(recording, **settings)
    assert found.problems == ()
    return found.fits[0]


@pytest.mark.parametrize("max_delay", [0.05, 0.1])
@pytest.mark.parametrize(
    ("frequency", "noise", "seed"), [(2.0, 2e-4, 1), (2.0, 2e-4, 2), (2.0, 2e-4, 4), (5.0, 1e-3, 2), (5.0, 2e-4, 1)]
)
def test_of_one_frequency_delay_and_lag_are_one(frequency, noise, seed, max_delay):
    found = only(record(sine(frequency), noise, seed), with_lag=True, max_delay=max_delay)
    assert found.undetermined == ("lag",) and found.fit.names == ("gain", "delay", "beta_1")
    assert found.warnings[0].startswith("lag: the motion has a single frequency: delay and lag")
    turn = 2 * np.pi * frequency
    both, size = DELAY + np.arctan(turn * LAG) / turn, GAIN / np.hypot(1.0, turn * LAG)
    errors = found.fit.correlated_standard_errors
    assert abs(found.fit.of("delay") - both) < 4.0 * errors[1] + 1e-5
    assert abs(found.fit.of("gain") - size) < 4.0 * errors[0] + 1e-4


def test_of_several_frequencies_they_are_two():
    found = only(record(several), with_lag=True)
    assert found.undetermined == () and found.warnings == ()
    for name, value in (("gain", GAIN), ("delay", DELAY), ("lag", LAG)):
        error = found.fit.correlated_standard_errors[found.fit.names.index(name)]
        assert abs(found.fit.of(name) - value) < 4.0 * error


def test_no_lag_is_not_seen():
    found = only(record(several, lag=0.0), with_lag=True)
    assert found.undetermined == ("lag",)
    assert found.warnings == (
        "lag: none is seen: with one the fit is no better; the fit without a lag is shown: its delay includes "
        "the lag, its ± are for no lag",
    )
    assert abs(found.fit.of("delay") - DELAY) < 4.0 * found.fit.correlated_standard_errors[1]


@pytest.mark.parametrize(
    ("settings", "drift", "words"),
    [
        ({}, 0.0, "a lag is missing: with --lag the residuals fall from 0.00028 to 0.0002"),
        ({"with_lag": True}, 1e-3, "a drift is missing: with --drift 2 the residuals fall from 0.0034 to 0.0002"),
        ({"n_drift": 0}, 0.01, "a drift is missing: with --drift 2"),
    ],
)
def test_what_would_cure_the_residuals_is_suggested(settings, drift, words):
    assert any(note.startswith(words) for note in only(record(several, drift=drift), **settings).notes)


def test_what_cures_nothing_is_not_suggested():
    recording = record(several)
    assert only(recording, with_lag=True).notes == ()
    samples = np.concatenate([block.samples for block in recording.blocks(1 << 16)])
    samples[:, 1] += 300.0 * samples[:, 0] ** 3
    notes = only(ArrayRecording(STREAM, samples), with_lag=True).notes
    assert any("correlated" in note for note in notes) and not any("missing" in note for note in notes)
