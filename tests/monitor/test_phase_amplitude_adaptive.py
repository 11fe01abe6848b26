"""The adaptive PAEI: exact for a tone, and as quick as the motion allows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.indicators.adaptive_phase_amplitude import AdaptivePhaseAmplitudeIndices
from monitor.indicators.phase_amplitude import PhaseAmplitudeIndices
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
