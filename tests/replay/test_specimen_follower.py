"""A specimen's parameters from a stream: preloads, rests, faulty samples, rates and streams without a force."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.messages.blocks import Channel, Role, SignalBlock, Stream
from replay.identification.specimen_follower import SpecimenFollower, SpecimenModel, parameter_words

K, RATE = 0.8e6, 500.0
TIMES = np.arange(round(8.0 * RATE)) / RATE
CHANNELS = (
    Channel("a.command", Role.COMMAND, "m", "a"),
    Channel("a.measured", Role.MEASURED, "m", "a"),
    Channel("a.force", Role.FORCE, "N", "a"),
)
MODEL = SpecimenModel(stiffness=1e6)


def followed(x, force):
    """Return the follower after a stream in blocks of 50."""
    stream = Stream("rig", 1, RATE, CHANNELS)
    follower, samples = SpecimenFollower(MODEL, stream), np.stack([x, x, force], axis=1)
    for at in range(0, len(samples), 50):
        follower.advance(SignalBlock(stream, at, at / RATE, samples[at : at + 50]))
    return follower


@pytest.mark.parametrize("preload", [0.0, -5e3, 5e4])
@pytest.mark.parametrize("rest", [0.0, 1.5])
def test_a_preload_is_no_stiffness_whether_the_rig_rests_or_moves_at_first(preload, rest):
    x = np.where(rest > TIMES, 0.0, 0.01 * np.sin(2.0 * np.pi * (TIMES - rest)))
    noise = np.random.default_rng(1).normal(0.0, 10.0, len(x))
    told = followed(x, K * x + preload + noise).newest
    assert told.estimate.gained[0] > 0.9
    assert abs(told.estimate.parameters[0] - K) < max(4.0 * told.estimate.sd[0], 1e-3 * K)
    assert told.estimate.sd[0] < 0.02 * K
    assert told.estimate.offset == pytest.approx(preload, abs=0.02 * K * 0.01 + 20.0)


@pytest.mark.parametrize("wrong", [1e160, -1e300, 1e12])
def test_a_sample_of_a_faulty_sensor_is_a_lost_one(wrong):
    x = 0.01 * np.sin(2.0 * np.pi * TIMES)
    force = K * x + np.random.default_rng(1).normal(0.0, 10.0, len(x))
    force[1500] = wrong
    estimate = followed(x, force).newest.estimate
    assert abs(estimate.parameters[0] - K) < 4.0 * estimate.sd[0] < 0.05 * K
    assert "not determined" not in parameter_words("stiffness", 1e6, 0, estimate, ("stiffness",))


def test_the_filter_is_run_at_a_kilohertz_at_most():
    for rate in (1000.0, 1400.0, 1499.0, 4096.0):
        follower = SpecimenFollower(MODEL, Stream("rig", 1, rate, CHANNELS))
        assert 500.0 < follower.sample_rate <= 1000.0


def test_a_rig_without_a_force_is_told():
    with pytest.raises(ValueError, match="no actuator has a force: send the measured force"):
        SpecimenFollower(MODEL, Stream("rig", 1, RATE, CHANNELS[:2]))
