"""PAEI where the motion is no clean sine, and the adaptive one: as quick as the motion allows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.indicators.adaptive_phase_amplitude import AdaptivePhaseAmplitudeIndices
from monitor.indicators.phase_amplitude import PhaseAmplitudeIndices
from tests.oracles import ellipse
from tests.oracles.tones import Tones

pytestmark = pytest.mark.usefixtures("warm_kernels")
RATIO, AMPLITUDE_ERROR, PHASE, DELAY, RATIO_SD, PHASE_SD, DELAY_SD, WINDOW = range(8)
RATE, LONGEST = 1024.0, 2.0


def run(x_c, x_m, rate=RATE, longest=LONGEST, **settings):
    return AdaptivePhaseAmplitudeIndices(rate, longest, **settings).update_block(x_c, x_m)


@given(
    frequency=st.floats(1.0, 25.0),
    # a lag of more than a third of a window is not looked for in it
    size=st.floats(-4.0, 0.3),
    lead=st.booleans(),
    start=st.floats(0.0, 6.3),
    corrected=st.booleans(),
)
def test_a_tone_is_read_exactly_over_one_turn(frequency, size, lead, start, corrected):
    tones = Tones(frequency, 2.0, 1.3, 10.0**size * (1.0 if lead else -1.0), start, 3.0, -1.0)
    rows = run(*tones.signals(4096, RATE), noise_correction=corrected)
    valid = ~np.isnan(rows[:, RATIO])
    assert valid[2048:].all()
    rows = rows[valid]
    np.testing.assert_allclose(rows[:, RATIO], tones.ratio, rtol=1e-9)
    np.testing.assert_allclose(rows[:, PHASE], tones.phase, atol=1e-9)
    np.testing.assert_allclose(rows[:, DELAY], tones.delay, rtol=1e-7)
    np.testing.assert_allclose(rows[:, AMPLITUDE_ERROR], tones.amplitude_error, atol=1e-6)
    one_turn = max(32.0, np.ceil(RATE / frequency) + 1.0)
    assert abs(rows[-1, WINDOW] * RATE - one_turn) <= 1.0


def test_it_recovers_from_a_switch_within_its_own_window():
    """As in the review's case iii: overshoot until 5 s, undershoot after it."""
    t = np.arange(10240) / RATE
    x_c = np.cos(2.0 * np.pi * 1.5 * t)
    x_m = np.where(t < 5.0, 1.1, 0.75) * np.cos(2.0 * np.pi * 1.5 * t - 0.1)
    adaptive, fixed = run(x_c, x_m), PhaseAmplitudeIndices(RATE, LONGEST).update_block(x_c, x_m)
    after = t >= 5.0
    wrong = [
        t[after][~(np.abs(rows[after, RATIO] - 1.0 / 0.75) < most)].max() - 5.0
        for rows, most in ((adaptive, 5e-3), (fixed, 1e-6))
    ]
    assert wrong[0] < 1.2 / 1.5
    assert wrong[1] > 0.9 * LONGEST
    # the two turns before it, of another ratio, are in the deviation until they have passed
    sd = adaptive[:, RATIO_SD]
    assert 0.1 < sd[round(6.0 * RATE)] < 0.5
    assert sd[round(7.2 * RATE)] < 1e-6


def test_a_sweep_shortens_the_window():
    t = np.arange(8192) / RATE
    angle, frequency = 2.0 * np.pi * (0.8 * t + 0.25 * t**2), 0.8 + 0.5 * t
    rows = run(np.cos(angle), 0.9 * np.cos(angle - 0.2))
    later = slice(2048, None)
    # the frequency is that of the middle of the window
    middle = frequency[later] - 0.25 * rows[later, WINDOW]
    np.testing.assert_allclose(np.median(rows[later, WINDOW] * middle), 1.0, rtol=0.05)
    # by a quarter a window grows at once
    np.testing.assert_allclose(rows[later, WINDOW] * middle, 1.0, atol=0.27)
    np.testing.assert_allclose(rows[later, PHASE], -0.2, atol=0.005)
    # of the delayed command, which was slower
    np.testing.assert_allclose(rows[later, RATIO], 1.0 / 0.9, rtol=0.012)


def test_an_offset_that_drifts_is_followed():
    """A specimen that yields: the centre wanders by three amplitudes."""
    t = np.arange(10240) / RATE
    drift = 3.0 / (1.0 + np.exp(-(t - 5.0)))
    x_c, x_m = Tones(1.5, 1.0, 0.9, -0.2).signals(len(t), RATE)
    rows = run(x_c + drift, x_m + 0.9 * drift)[1024:]
    np.testing.assert_allclose(rows[:, PHASE], -0.2, atol=0.02)
    np.testing.assert_allclose(rows[:, RATIO], 1.0 / 0.9, rtol=0.02)


@pytest.mark.parametrize("noise", [0.02, 0.1])
def test_noise_alone_draws_no_loop_and_noise_on_a_loop_does_no_harm(noise):
    x_c, x_m = (np.tile(x[:, None], 20) for x in Tones(1.5, 1.0, 0.9, -0.2).signals(6144, RATE))
    x_c[:2048] = x_m[:2048] = 0.0
    rng = np.random.default_rng(1)
    rows = run(*(x + noise * rng.normal(size=x.shape) for x in (x_c, x_m)), relative_gate=0.0, n_pairs=20)
    assert np.isnan(rows[:2048, :, RATIO]).mean() > 0.99
    steady = rows[4096:]
    # a tenth of noise may leave as much in the band as the command has apart from its tone
    assert np.isfinite(steady[..., RATIO]).mean() > 0.95
    np.testing.assert_allclose(np.nanmean(steady[..., PHASE]), -0.2, atol=0.01)
    assert 0.9 < 1.5 * np.nanmedian(steady[..., WINDOW]) < (1.2 if noise == 0.02 else 2.0)


@pytest.mark.slow
def test_ten_million_samples_on_a_large_offset_leave_no_drift(long_run):
    rows, fresh = long_run(AdaptivePhaseAmplitudeIndices)
    np.testing.assert_allclose(rows[:, :WINDOW], fresh[:, :WINDOW], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("noise", [0.003, 0.03])
@pytest.mark.parametrize("phase", [0.1, -0.8])
@pytest.mark.parametrize("frequency", [1.1, 5.1])
def test_the_standard_deviations_are_within_about_twice_the_errors(frequency, phase, noise):
    tones, n_pairs, rng = Tones(frequency, 1.0, 0.9, phase), 200, np.random.default_rng(3)
    x_c, x_m = (x[:, None] + noise * rng.normal(size=(4096, n_pairs)) for x in tones.signals(4096, RATE))
    rows = AdaptivePhaseAmplitudeIndices(RATE, LONGEST, n_pairs=n_pairs, every=512).update_block(x_c, x_m)[4:]
    rows = rows[np.isfinite(rows[:, :, RATIO])]
    assert len(rows) > 0.99 * 4 * n_pairs
    for value, sd, true in (
        (RATIO, RATIO_SD, tones.ratio),
        (PHASE, PHASE_SD, tones.phase),
        (DELAY, DELAY_SD, tones.delay),
    ):
        actual = np.sqrt(np.mean((rows[:, value] - true) ** 2))
        assert 0.7 < np.sqrt(np.mean(rows[:, sd] ** 2)) / actual < 2.6


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
