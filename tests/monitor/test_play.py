"""A play of the actuator: found, its size, and in the standard deviation; by a play of numpy's own."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.indicators.broadband_delay import BroadbandDelayIndicator
from monitor.indicators.frequency_domain import FrequencyDomainIndicator
from monitor.indicators.phase_amplitude import PhaseAmplitudeIndices
from tests.oracles import delayed_motion as oracle

RATE, WINDOW, DELAY, N_PAIRS = 1024.0, 2.0, 0.012, 24
T = np.arange(round(2.2 * WINDOW * RATE)) / RATE


def with_play(x, play):
    """Return a signal, (n, n_pairs), after a joint with a play of `play` to either side."""
    at, found = x[0], np.empty_like(x)
    for i, now in enumerate(x):
        at = found[i] = np.clip(at, now - play, now + play)
    return found


def tones(frequency):
    def draw(rng):
        angles = rng.uniform(0.0, 2.0 * np.pi, N_PAIRS)
        return lambda t: np.sin(2.0 * np.pi * frequency * t[:, None] + angles)

    return draw


def earthquakes(rng):
    motions = [oracle.band_noise(rng, low=0.7, high=6.0) for _ in range(N_PAIRS)]
    return lambda t: np.stack([motion(t) for motion in motions], axis=1)


MOTIONS = {"1 Hz": tones(1.03), "3 Hz": tones(3.03), "band noise": earthquakes}


def last_rows(make, motion, play, noise, seed=3, limit=np.inf):
    """Return amplitudes, and the last results by name, (n_pairs,) each."""
    rng = np.random.default_rng(seed)
    x = MOTIONS[motion](rng)
    command = x(T)
    amplitude = np.sqrt(2.0) * command[-round(WINDOW * RATE) :].std(axis=0)
    measured = np.clip(with_play(x(T - DELAY), play * amplitude), -limit * amplitude, limit * amplitude)
    measured += noise * amplitude * rng.normal(size=command.shape)
    command = command + noise * amplitude * rng.normal(size=command.shape)
    indicator = make(RATE, WINDOW, n_pairs=N_PAIRS)
    rows = indicator.update_block(command, measured).reshape(len(T), N_PAIRS, -1)[-1]
    return amplitude, {output.name: rows[:, j] for j, output in enumerate(indicator.outputs)}


@pytest.mark.parametrize("motion", MOTIONS)
@pytest.mark.parametrize(("play", "noise"), [(0.01, 0.001), (0.02, 0.003), (0.05, 0.01)])
def test_a_play_is_found_with_its_size(motion, play, noise):
    amplitude, found = last_rows(BroadbandDelayIndicator, motion, play, noise)
    sizes = found["broadband_play"] / amplitude / play
    assert np.mean(sizes > 0.0) > 0.9
    np.testing.assert_allclose(np.median(sizes), 1.0, atol=0.15)


@pytest.mark.parametrize("motion", MOTIONS)
def test_a_play_larger_than_a_tenth_is_found_and_not_said_to_be_larger(motion):
    """Most of it looks like a delay and a gain: its size is up to a third too small."""
    amplitude, found = last_rows(BroadbandDelayIndicator, motion, 0.12, 0.003)
    sizes = found["broadband_play"] / amplitude / 0.12
    assert np.mean(sizes > 0.0) > 0.5
    assert 0.67 < np.median(sizes[sizes > 0.0]) < 1.05


def share_with_play(motion, noises, seeds, limit=np.inf):
    runs = [(noise, seed) for noise in noises for seed in range(seeds)]
    rows = [last_rows(BroadbandDelayIndicator, motion, 0.0, noise, seed, limit)[1] for noise, seed in runs]
    sizes = np.concatenate([row["broadband_play"] for row in rows])
    assert np.isfinite(sizes).all()
    return np.mean(sizes > 0.0)


@pytest.mark.parametrize("motion", MOTIONS)
def test_without_play_one_is_found_in_one_of_fifty_at_most(motion):
    assert share_with_play(motion, (0.001, 0.01, 0.05), 6) <= 0.02


@pytest.mark.parametrize("motion", ["1 Hz", "3 Hz"])
@pytest.mark.parametrize("limit", [0.7, 0.9])
def test_a_limit_of_the_stroke_is_no_play(motion, limit):
    assert share_with_play(motion, (0.003,), 6, limit) <= 0.02


@pytest.mark.parametrize("frequency", [1.03, 3.03])
@pytest.mark.parametrize(
    ("make", "name"),
    [(BroadbandDelayIndicator, "broadband"), (FrequencyDomainIndicator, "fdb"), (PhaseAmplitudeIndices, "paei")],
)
def test_what_it_adds_to_the_delay_is_in_the_standard_deviation(make, name, frequency):
    play = 0.02
    _, found = last_rows(make, f"{frequency:.0f} Hz", play, 0.002)
    error = found[f"{name}_delay"] - DELAY
    # the describing function of a play
    np.testing.assert_allclose(error, 4.0 * play / (np.pi * 2.0 * np.pi * frequency), rtol=0.15)
    assert np.mean(error < found[f"{name}_delay_sd"]) > 0.9
    assert np.median(found[f"{name}_delay_sd"]) < 2.5 * np.median(error)
