"""PAEI: exact for a tone, unbiased by noise, and its definition for anything else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.indicators.phase_amplitude import PhaseAmplitudeIndices
from tests.oracles import ellipse as oracle
from tests.oracles.strategies import cases
from tests.oracles.tones import Tones, several_tones
from tests.oracles.tracking_measures import at_every_sample

pytestmark = pytest.mark.usefixtures("warm_kernels")
RATIO, AMPLITUDE_ERROR, PHASE, DELAY = range(4)
RATE, N = 200.0, 100


@given(case=cases(), lift=st.sampled_from([0.0, 1000.0]), corrected=st.booleans())
def test_a_tone_is_read_exactly(case, lift, corrected):
    tones = case.tones
    tones = tones._replace(offset_c=lift * tones.amplitude, offset_m=-lift * tones.amplitude)
    rows = case._replace(tones=tones).newest(PhaseAmplitudeIndices, noise_correction=corrected)
    np.testing.assert_allclose(rows[:, RATIO], tones.ratio, rtol=1e-8)
    np.testing.assert_allclose(rows[:, PHASE], tones.phase, rtol=1e-8)
    # straight lines between samples, ten of them a cycle at the worst
    np.testing.assert_allclose(rows[:, DELAY], tones.delay, rtol=2e-3)
    if abs(tones.phase) >= 1e-3:
        error = rows[:, AMPLITUDE_ERROR] / tones.amplitude
        np.testing.assert_allclose(error, tones.amplitude_error / tones.amplitude, atol=1e-6)


@pytest.mark.parametrize("cycles", [0.6, 1.0, 1.3])
def test_a_tone_needs_no_whole_cycles(cycles):
    tones = Tones(cycles * RATE / N, 2.0, 1.3, 0.25, 0.4, 3.0, -1.0)
    rows = PhaseAmplitudeIndices(RATE, N / RATE).update_block(*tones.signals(3 * N, RATE))[N - 1 :]
    np.testing.assert_allclose(rows[:, PHASE], tones.phase, atol=1e-8)
    np.testing.assert_allclose(rows[:, RATIO], tones.ratio, rtol=1e-8)
    np.testing.assert_allclose(rows[:, AMPLITUDE_ERROR], tones.amplitude_error, atol=1e-6)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("corrected", "fit"), [(True, oracle.corrected_fit), (False, oracle.ordinary_fit)], ids=["corrected", "ordinary"]
)
def test_several_tones_in_noise_after_every_sample(seed, corrected, fit):
    x_c, x_m = several_tones(np.random.default_rng(seed), 6 * N, RATE, noise=0.02, lag=(0.3, 0.7))
    indicator = PhaseAmplitudeIndices(RATE, N / RATE, noise_correction=corrected, relative_gate=0.0)
    rows = indicator.update_block(x_c, x_m)[N - 1 :]
    expected = at_every_sample(fit, x_c, x_m, N)
    is_open = expected[:, 2] > 0.0
    assert is_open.mean() > 0.9
    np.testing.assert_allclose(rows[is_open, RATIO], expected[is_open, 0], rtol=1e-9)
    np.testing.assert_allclose(rows[is_open, PHASE], expected[is_open, 1], atol=1e-9)


def test_a_loop_too_thin_to_fit_keeps_its_sign_and_its_size():
    """Where noise hides the opening the area that the loop sweeps takes over, window after window."""
    rng = np.random.default_rng(2)
    x_c, x_m = (x + 0.05 * rng.normal(size=x.shape) for x in Tones(7.0, 1.0, 0.9, -0.05).signals(200 * N, RATE))
    rows = PhaseAmplitudeIndices(RATE, N / RATE).update_block(x_c, x_m)[N - 1 :]
    thin = [not oracle.corrected_fit(x_c[i : i + N], x_m[i : i + N]).is_open for i in range(0, len(rows), N)]
    assert np.mean(thin) > 0.5
    np.testing.assert_allclose(np.mean(rows[:, PHASE]), -0.05, atol=0.01)
    np.testing.assert_allclose(rows[:, PHASE], -0.05, atol=0.12)
    np.testing.assert_allclose(np.mean(rows[:, RATIO]), 1.0 / 0.9, rtol=0.01)


@pytest.mark.parametrize("noise", [0.02, 0.05, 0.1])
def test_noise_does_not_bias_the_phase_when_corrected(noise):
    # the review's case i: 5 and 5.5 mm, 0.138 rad
    tones = Tones(1.0, 5.0, 1.1, 0.138)
    means = {}
    for corrected in (True, False):
        found = []
        for seed in range(30):
            rng = np.random.default_rng(seed)
            x_c, x_m = (x + noise * 5.0 * rng.normal(size=x.shape) for x in tones.signals(3000, 1000.0))
            indicator = PhaseAmplitudeIndices(1000.0, 3.0, noise_correction=corrected)
            found.append(abs(indicator.update_block(x_c, x_m)[-1, PHASE]))
        means[corrected] = np.mean(found)
    np.testing.assert_allclose(means[True], tones.phase, rtol=0.1)
    # a fit that treats both signals alike reads at least the width that both channels' noise gives the loop
    apparent = np.sqrt(tones.phase**2 + 4.0 * noise**2 * (1.0 + 1.0 / 1.1**2))
    assert means[False] > 0.95 * apparent


def test_the_ordinary_fit_is_visibly_biased():
    tones, rng = Tones(1.0, 5.0, 1.1, 0.138), np.random.default_rng(0)
    x_c, x_m = (x + 0.25 * rng.normal(size=x.shape) for x in tones.signals(3000, 1000.0))
    corrected, ordinary = (
        PhaseAmplitudeIndices(1000.0, 3.0, noise_correction=flag).update_block(x_c, x_m)[-1, PHASE]
        for flag in (True, False)
    )
    assert abs(ordinary - 0.138) > 4.0 * abs(corrected - 0.138)
    assert ordinary > 0.17


@pytest.mark.parametrize("lead", [0.3, -0.3, 2.0, -2.0])
def test_measured_that_leads_has_positive_phase_and_negative_delay(lead):
    indicator = PhaseAmplitudeIndices(RATE, N / RATE)
    indicator.update_block(*Tones(7.0, phase=lead).signals(N, RATE))
    assert np.sign(indicator.value.phase) == np.sign(lead)
    assert np.sign(indicator.value.delay) == -np.sign(lead)


@pytest.mark.parametrize("gain", [0.5, 1.0, 2.0])
def test_overshoot_has_a_ratio_below_one_and_a_negative_error(gain):
    indicator = PhaseAmplitudeIndices(RATE, N / RATE)
    indicator.update_block(*Tones(8.0, 3.0, gain).signals(N, RATE))
    np.testing.assert_allclose(indicator.value.ratio, 1.0 / gain, rtol=1e-12)
    np.testing.assert_allclose(indicator.value.amplitude_error, 3.0 * (1.0 - gain), atol=1e-12)
    assert indicator.value.phase == pytest.approx(0.0, abs=1e-12)


def test_a_value_is_a_matter_of_its_window_alone():
    """Two histories that end in the same window end in the same value."""
    rng = np.random.default_rng(5)
    x_c, x_m = several_tones(rng, 3 * N, RATE, noise=0.02, lag=(0.3, 0.7))
    for corrected in (True, False):
        alone = PhaseAmplitudeIndices(RATE, N / RATE, noise_correction=corrected)
        expected = alone.update_block(x_c[-N:], x_m[-N:])[-1, [RATIO, PHASE]]
        for skip in (0, 7, N // 2, N + 3):
            indicator = PhaseAmplitudeIndices(RATE, N / RATE, noise_correction=corrected)
            row = indicator.update_block(x_c[skip:], x_m[skip:])[-1]
            np.testing.assert_allclose(row[[RATIO, PHASE]], expected, rtol=1e-9)


def test_a_drifting_centre_is_followed():
    x_c, x_m = Tones(7.0, 1.0, 0.9, -0.2).signals(20 * N, RATE)
    lift = np.repeat([0.0, 50.0, -200.0, 1000.0], 5 * N)
    rows = PhaseAmplitudeIndices(RATE, N / RATE).update_block(x_c + lift, x_m + lift)
    settled = (np.arange(20 * N) % (5 * N)) >= 2 * N
    np.testing.assert_allclose(rows[settled, PHASE], -0.2, atol=1e-8)
    np.testing.assert_allclose(rows[settled, RATIO], 1.0 / 0.9, rtol=1e-8)


def test_ten_million_samples_on_a_large_offset_leave_no_drift(long_run):
    """The state after a long run is that of an indicator that saw the last samples only."""
    rows, fresh = long_run(PhaseAmplitudeIndices)
    np.testing.assert_allclose(rows, fresh, rtol=1e-9, atol=1e-9)
