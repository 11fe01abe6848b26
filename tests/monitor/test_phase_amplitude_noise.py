"""PAEI where the motion is no clean sine: noise, amplitudes that change, a measured signal that is cut off."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.indicators.phase_amplitude import PhaseAmplitudeIndices
from tests.oracles import ellipse
from tests.oracles.tones import Tones

pytestmark = pytest.mark.usefixtures("warm_kernels")
RATIO, AMPLITUDE_ERROR, PHASE, DELAY, RATIO_SD, PHASE_SD, DELAY_SD = range(7)
RATE = 1024.0
N = 2048
SEEDS = 200


def readings(tones, noise, seeds=SEEDS, **settings):
    """Return the values of windows with any start phase, each in noise of its own, (n_seeds, n_outputs)."""
    clean = [tones._replace(start=2.4 * seed).signals(N, RATE) for seed in range(seeds)]
    x_c, x_m = (np.stack(x, axis=1) for x in zip(*clean, strict=True))
    rng = np.random.default_rng(0)
    x_c, x_m = (x + noise * tones.amplitude * rng.normal(size=x.shape) for x in (x_c, x_m))
    indicator = PhaseAmplitudeIndices(RATE, N / RATE, n_pairs=seeds, every=N, **settings)
    return indicator.update_block(x_c, x_m, first=1)[-1]


@pytest.mark.parametrize("noise", [0.02, 0.05, 0.1])
@pytest.mark.parametrize("phase", [0.03, 0.138, 0.3])
def test_noise_biases_neither_phase_nor_amplitude(phase, noise):
    """The amplitudes of the review's case i, and its 15 samples of delay."""
    tones = Tones(1.5, 1.5, 4.0 / 3.0, phase)
    found = readings(tones, noise)
    np.testing.assert_allclose(found[:, PHASE].mean(), phase, rtol=0.05)
    np.testing.assert_allclose(found[:, RATIO].mean(), tones.ratio, rtol=0.003)
    np.testing.assert_allclose(found[:, AMPLITUDE_ERROR].mean(), tones.amplitude_error, rtol=0.01)
    # the bound of Cramer and Rao for the phase of a known frequency
    bound = noise * np.sqrt(2.0 * (1.0 + tones.ratio**2) / N)
    assert np.sqrt(np.mean((found[:, PHASE] - phase) ** 2)) < 1.3 * bound


@pytest.mark.parametrize("noise", [0.02, 0.05, 0.1])
@pytest.mark.parametrize("phase", [0.138, 0.3])
def test_the_bias_of_equation_1_in_noise_is_that_of_its_regression(phase, noise):
    tones = Tones(1.5, 1.5, 4.0 / 3.0, phase)
    found = readings(tones, noise, noise_correction=False)
    ratio, expected = ellipse.equation_1_expected(tones, noise * tones.amplitude)
    clear = np.abs(found[:, PHASE]) > 0.0
    # where noise hides the loop altogether it has no opening
    assert clear.mean() > 0.99
    error = found[clear, PHASE].std() / np.sqrt(SEEDS)
    np.testing.assert_allclose(found[clear, PHASE].mean(), expected, atol=4.0 * error + 0.02 * phase)
    np.testing.assert_allclose(found[:, RATIO].mean(), ratio, rtol=0.003)


@pytest.mark.parametrize("noise", [0.01, 0.03, 0.1])
@pytest.mark.parametrize("cycles", [2.5, 3.0, 3.7, 4.4, 6.0])
@pytest.mark.parametrize("phase", [0.138, -1.0])
def test_the_standard_deviations_are_the_errors(phase, cycles, noise):
    tones = Tones(cycles * RATE / N, 1.5, 4.0 / 3.0, phase)
    found = readings(tones, noise)
    for value, sd, true in (
        (RATIO, RATIO_SD, tones.ratio),
        (PHASE, PHASE_SD, tones.phase),
        (DELAY, DELAY_SD, tones.delay),
    ):
        actual = np.sqrt(np.mean((found[:, value] - true) ** 2))
        assert 0.8 < np.sqrt(np.mean(found[:, sd] ** 2)) / actual < 1.6


def free_decay(t):
    angle = 2.0 * np.pi * 1.5 * t
    return np.exp(-0.05 * angle) * np.cos(np.sqrt(1.0 - 0.05**2) * angle)


def growing(t, size, phase):
    return 0.1 * t * size * np.sin(3.0 * np.pi * t + phase)


def modulated(kind):
    """Return command, measured and the delay in s of ten seconds of motion whose amplitude changes."""
    t = np.arange(10240) / RATE
    if kind == "free decay":
        return free_decay(t), free_decay(t - 0.012), 0.012
    # the review's case vi
    return growing(t, 2.5, 0.092), growing(t, 2.0, 0.369), -(0.369 - 0.092) / (3.0 * np.pi)


@pytest.mark.parametrize("kind", ["free decay", "case vi"])
def test_a_changing_amplitude_is_not_taken_for_noise(kind):
    x_c, x_m, delay = modulated(kind)
    rows = PhaseAmplitudeIndices(RATE, N / RATE, relative_gate=0.0).update_block(x_c, x_m)[N - 1 :]
    np.testing.assert_allclose(rows[:, DELAY], delay, rtol=0.02)


@pytest.mark.parametrize("kind", ["free decay", "case vi"])
def test_a_changing_amplitude_in_noise(kind):
    x_c, x_m, delay = modulated(kind)
    starts = [200, 1400, 2800]
    for start in starts:
        c, m = x_c[start : start + N, None], x_m[start : start + N, None]
        rng = np.random.default_rng(start)
        noise = 0.02 * np.sqrt(2.0) * np.std(c) * rng.normal(size=(2, N, 100))
        indicator = PhaseAmplitudeIndices(RATE, N / RATE, n_pairs=100, every=N)
        found = indicator.update_block(c + noise[0], m + noise[1], first=1)[-1]
        np.testing.assert_allclose(found[:, DELAY].mean(), delay, rtol=0.03)
        np.testing.assert_allclose(found[:, DELAY], delay, atol=4.5 * found[:, DELAY_SD].mean() + 0.02 * abs(delay))


def test_common_noise_is_motion():
    """What both signals share is followed, so that it leaves no doubt."""
    x_c, _ = Tones(1.5).signals(N, RATE)
    x_c = x_c + 0.1 * np.random.default_rng(0).normal(size=N)
    indicator = PhaseAmplitudeIndices(RATE, N / RATE)
    indicator.update_block(x_c, 0.9 * x_c)
    assert indicator.value.phase == pytest.approx(0.0, abs=1e-12)
    assert indicator.value.phase_sd == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("limit", [0.9, 0.7, 0.5])
def test_an_actuator_at_its_stroke_limit(limit):
    """The ratio rises with what is cut off, the phase stays, and the uncertainty says that this is no ellipse."""
    tones = Tones(1.7, 1.0, 1.0, -0.2)
    x_c, x_m = tones.signals(N, RATE)
    indicator = PhaseAmplitudeIndices(RATE, N / RATE)
    indicator.update_block(x_c, np.clip(x_m, -limit, limit))
    # of a sine cut off at sin a the fundamental is (2 a + sin 2a)/pi
    angle = np.arcsin(limit)
    fundamental = (2.0 * angle + np.sin(2.0 * angle)) / np.pi
    value = indicator.value
    assert value.ratio > 1.0
    np.testing.assert_allclose(value.ratio, 1.0 / fundamental, rtol=0.03)
    np.testing.assert_allclose(value.phase, tones.phase, atol=0.02)
    assert value.phase_sd > 1e-4
    clean = PhaseAmplitudeIndices(RATE, N / RATE)
    clean.update_block(x_c, x_m)
    assert value.phase_sd > 100.0 * clean.value.phase_sd
