"""PAEI: exact for a tone, and its definition for anything else; both readings of the ellipse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.indicators import reference
from monitor.indicators.parts.chords import chord_lags
from monitor.indicators.phase_amplitude import PhaseAmplitudeIndices
from tests.oracles import delayed_motion, ellipse
from tests.oracles.strategies import cases
from tests.oracles.tones import Tones, several_tones

pytestmark = pytest.mark.usefixtures("warm_kernels")
RATIO, AMPLITUDE_ERROR, PHASE, DELAY, RATIO_SD, PHASE_SD, DELAY_SD = range(7)
RATE, N = 200.0, 100


@given(case=cases(), lift=st.sampled_from([0.0, 1000.0]), corrected=st.booleans())
def test_a_tone_is_read_exactly(case, lift, corrected):
    tones = case.tones
    tones = tones._replace(offset_c=lift * tones.amplitude, offset_m=-lift * tones.amplitude)
    rows = case._replace(tones=tones).newest(PhaseAmplitudeIndices, noise_correction=corrected)
    np.testing.assert_allclose(rows[:, RATIO], tones.ratio, rtol=1e-8)
    np.testing.assert_allclose(rows[:, PHASE], tones.phase, rtol=1e-8)
    np.testing.assert_allclose(rows[:, DELAY], tones.delay, rtol=1e-8)
    if abs(tones.phase) >= 1e-3:
        error = rows[:, AMPLITUDE_ERROR] / tones.amplitude
        np.testing.assert_allclose(error, tones.amplitude_error / tones.amplitude, atol=1e-6)


@given(
    cycles=st.floats(1.0, 6.0),
    size=st.floats(-4.0, 0.4),
    lead=st.booleans(),
    start=st.floats(0.0, 6.3),
    corrected=st.booleans(),
)
def test_a_tone_needs_no_whole_cycles(cycles, size, lead, start, corrected):
    tones = Tones(cycles * RATE / N, 2.0, 1.3, 10.0**size * (1.0 if lead else -1.0), start, 3.0, -1.0)
    indicator = PhaseAmplitudeIndices(RATE, N / RATE, noise_correction=corrected)
    rows = indicator.update_block(*tones.signals(3 * N, RATE))[N - 1 :]
    np.testing.assert_allclose(rows[:, PHASE], tones.phase, atol=1e-9)
    np.testing.assert_allclose(rows[:, RATIO], tones.ratio, rtol=1e-9)
    np.testing.assert_allclose(rows[:, DELAY], tones.delay, rtol=1e-8)
    np.testing.assert_allclose(rows[:, RATIO_SD:], 0.0, atol=1e-6)


@pytest.mark.parametrize("cycles", [7.5, 23.0, 70.0, 399.5, 2000.0])
def test_any_number_of_cycles_may_be_in_the_window(cycles):
    """As many as ten samples a cycle allow: no lag is mistaken for one that winds round the loop."""
    n = 20_000
    tones = Tones(cycles, 2.0, 1.3, -0.25, 0.4, 3.0, -1.0)
    indicator = PhaseAmplitudeIndices(float(n), 1.0, every=n)
    row = indicator.update_block(*tones.signals(n, float(n)), first=1)[-1]
    np.testing.assert_allclose(row[:4], [tones.ratio, tones.amplitude_error, tones.phase, tones.delay], rtol=1e-9)


@pytest.mark.parametrize("cycles", [5.0, 12.5, 32.0])
def test_no_number_of_cycles_spoils_the_ratio(cycles):
    """Chords of half a cycle determine the delay, and of a motion that is no tone neither gain nor frequency."""
    rate, n, rng = 1024.0, 2048, np.random.default_rng(12)
    t, pairs = np.arange(n) / rate, []
    for _ in range(60):
        frequency, delay = 0.5 * cycles * rng.uniform(0.94, 1.06), rng.uniform(0.0, 0.8 / cycles)
        drift, depth, start, slow = rng.uniform((-0.01 / cycles, 0.0, 0.0, 0.0), (0.01 / cycles, 0.3, 6.28, 6.28))
        at = np.stack([t, t - delay - drift * (t - t[n // 2])])
        motion = (1.0 + depth * np.sin(0.4 * np.pi * at + slow)) * np.cos(2.0 * np.pi * frequency * at + start)
        pairs.append((motion, delay))
    x_c, x_m = (np.stack([motion[i] for motion, _ in pairs], axis=1) for i in range(2))
    x_m = x_m + 0.01 * rng.normal(size=x_m.shape)
    rows = PhaseAmplitudeIndices(rate, n / rate, n_pairs=60, every=n).update_block(x_c, x_m, first=1)[-1]
    assert np.percentile(np.abs(rows[:, RATIO] - 1.0), 95.0) < 0.004
    assert np.percentile(np.abs(rows[:, DELAY] - [delay for _, delay in pairs]), 95.0) < 1.5e-3 / cycles


@pytest.mark.parametrize("drift", [(0.0, 0.3), (0.3, 0.0), (-0.5, 0.2)])
def test_drifts_that_differ_are_no_motion(drift):
    tones, t = Tones(7.0, 1.0, 0.9, -0.2), np.arange(6 * N) / RATE
    x_c, x_m = (x + slope * t for x, slope in zip(tones.signals(6 * N, RATE), drift, strict=True))
    rows = PhaseAmplitudeIndices(RATE, N / RATE).update_block(x_c, x_m)[N - 1 :]
    np.testing.assert_allclose(rows[:, PHASE], tones.phase, atol=2e-3)
    np.testing.assert_allclose(rows[:, RATIO], tones.ratio, rtol=2e-3)


@pytest.mark.parametrize("seed", range(4))
def test_the_loop_of_several_tones_in_noise_is_closed_at_every_look(seed):
    """The area that measured sweeps against the command, delayed by what is said, is nil beside its common motion."""
    x_c, x_m = several_tones(np.random.default_rng(seed), 6 * N, RATE, noise=0.02, lag=(0.3, 0.7))
    indicator = PhaseAmplitudeIndices(RATE, N / RATE, relative_gate=0.0)
    delays = indicator.update_block(x_c, x_m)[:, DELAY]
    for i in range(N - 1 + 2 * indicator.hop, len(delays), indicator.hop):
        at = i - i % indicator.hop
        # the whole sample from the motion, the rest from a line between two readings of it
        lag = delays[at] * RATE
        part, away = lag - np.floor(lag), []
        for k in chord_lags(N):
            early, late = (np.arctan2(*swept_and_common(x_c, x_m, at, shift, k)) for shift in whole_samples(lag))
            away.append(abs((1.0 - part) * early + part * late))
        # of one of the chords: each weighs the tones, which are not delayed alike, in its own way
        assert min(away) < 0.04


def whole_samples(lag):
    return int(np.floor(lag)), int(np.floor(lag)) + 1


def swept_and_common(x_c, x_m, newest, shift, k):
    """Return the sums over a window, with the command delayed by whole samples."""
    m = x_m[newest + 1 - N + shift : newest + 1]
    return delayed_motion.chord_sums(x_c[newest + 1 - N : newest + 1 - shift], m, k)


@pytest.mark.parametrize("seed", range(4))
def test_without_noise_correction_it_is_equation_1_by_regression(seed):
    x_c, x_m = several_tones(np.random.default_rng(seed), 6 * N, RATE, noise=0.02, lag=(0.3, 0.7))
    indicator = PhaseAmplitudeIndices(RATE, N / RATE, noise_correction=False, relative_gate=0.0)
    rows = indicator.update_block(x_c, x_m)[N - 1 :]
    for i, row in enumerate(rows):
        fit = reference.phase_amplitude(x_c[i : i + N], x_m[i : i + N])
        np.testing.assert_allclose(row[RATIO], fit.ratio, rtol=1e-9)
        np.testing.assert_allclose(row[PHASE], fit.phase, atol=1e-9)
        np.testing.assert_allclose(row[AMPLITUDE_ERROR], fit.amplitude_error, atol=1e-8)


@pytest.mark.parametrize("phase", [1e-4, -1e-3, 0.138, -1.5, 3.0])
@pytest.mark.parametrize("lift", [0.0, 1000.0])
def test_equation_1_at_any_phase_and_offset(phase, lift):
    """With noise a tenth of the loop's width, so that the fit is no exact one."""
    rng, tones = np.random.default_rng(3), Tones(6.3, 2.0, 1.3, phase, 0.4, lift, -lift)
    noise = 0.1 * abs(np.sin(phase)) * rng.normal(size=(2, N))
    x_c, x_m = (x + each for x, each in zip(tones.signals(N, RATE), noise, strict=True))
    indicator = PhaseAmplitudeIndices(RATE, N / RATE, noise_correction=False)
    indicator.update_block(x_c, x_m)
    ratio, expected = ellipse.equation_1_exactly(x_c, x_m)
    # what is left of the digits of an offset of 1000
    tolerance = 1e-13 * max(1.0, lift) / abs(np.sin(phase)) + 1e-11
    np.testing.assert_allclose(indicator.value.phase, expected, rtol=tolerance)
    np.testing.assert_allclose(indicator.value.ratio, ratio, rtol=tolerance)


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
    # the last sample is one at which the whole window is looked at
    x_c, x_m = several_tones(rng, 3 * N + 1, RATE, noise=0.02, lag=(0.3, 0.7))
    for corrected in (True, False):
        alone = PhaseAmplitudeIndices(RATE, N / RATE, noise_correction=corrected)
        expected = alone.update_block(x_c[-N:], x_m[-N:], first=2 * N + 1)[-1, [RATIO, PHASE]]
        for skip in (0, 7, N // 2, N + 3):
            indicator = PhaseAmplitudeIndices(RATE, N / RATE, noise_correction=corrected)
            row = indicator.update_block(x_c[skip:], x_m[skip:], first=skip)[-1]
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
