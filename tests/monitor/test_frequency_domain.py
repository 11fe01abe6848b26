"""FDB: exact for a tone, its definition for anything else, and the trap of own peaks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.indicators import reference
from monitor.indicators.frequency_domain import FrequencyDomainIndicator
from tests.oracles import frequency_domain as oracle
from tests.oracles.strategies import cases
from tests.oracles.tones import Tones, at_every_sample, several_tones

pytestmark = pytest.mark.usefixtures("warm_kernels")
RATIO, PHASE, DELAY, FREQUENCY, AMPLITUDE = range(5)
RATE, N = 200.0, 100


@given(case=cases(), lift=st.sampled_from([0.0, 1000.0]))
def test_a_tone_is_read_exactly(case, lift):
    tones = case.tones
    tones = tones._replace(offset_c=lift * tones.amplitude, offset_m=-lift * tones.amplitude)
    rows = case._replace(tones=tones).newest(FrequencyDomainIndicator)
    np.testing.assert_allclose(rows[:, RATIO], tones.ratio, rtol=1e-8)
    np.testing.assert_allclose(rows[:, PHASE], tones.phase, atol=1e-8)
    np.testing.assert_allclose(rows[:, FREQUENCY], tones.frequency, rtol=1e-8)
    np.testing.assert_allclose(rows[:, DELAY], tones.delay, rtol=1e-8, atol=1e-8 / tones.frequency)
    np.testing.assert_allclose(rows[:, AMPLITUDE], tones.amplitude, rtol=1e-8)


@settings(max_examples=15)
@given(case=cases())
def test_a_tone_is_read_as_nonlinear_least_squares_reads_it(case):
    row = case.newest(FrequencyDomainIndicator, rows=0)[-1]
    x_c, x_m = case.tones.signals(case.n_window, case.sample_rate)
    guess = 1.01 * case.tones.frequency / case.sample_rate
    ratio, phase, frequency = oracle.exact_tone(x_c, x_m, guess)
    np.testing.assert_allclose(row[RATIO], ratio, rtol=1e-8)
    np.testing.assert_allclose(row[PHASE], phase, atol=1e-8)
    np.testing.assert_allclose(row[FREQUENCY], frequency * case.sample_rate, rtol=1e-8)


@pytest.mark.parametrize("taper", reference.TAPERS)
def test_less_than_a_cycle_is_no_tone(taper):
    x_c, x_m = Tones(0.7 * RATE / N).signals(3 * N, RATE)
    rows = FrequencyDomainIndicator(RATE, N / RATE, taper=taper).update_block(x_c, x_m)
    assert np.isnan(rows[:, :-1]).all()


@pytest.mark.parametrize("taper", reference.TAPERS)
@pytest.mark.parametrize("seed", range(2))
def test_several_tones_in_noise_after_every_sample(seed, taper):
    x_c, x_m = several_tones(np.random.default_rng(seed), 6 * N, RATE)
    indicator = FrequencyDomainIndicator(RATE, N / RATE, taper=taper, delay_of="tone", relative_gate=0.0)
    rows = indicator.update_block(x_c, x_m)[N - 1 :]
    expected = at_every_sample(lambda c, m: reference.frequency_domain(c, m, RATE, taper=taper), x_c, x_m, N)
    np.testing.assert_allclose(rows[:, RATIO], expected[:, 0], rtol=1e-9)
    np.testing.assert_allclose(rows[:, PHASE], expected[:, 1], atol=1e-9)
    np.testing.assert_allclose(rows[:, DELAY], expected[:, 2], atol=1e-9)
    np.testing.assert_allclose(rows[:, FREQUENCY], expected[:, 3], rtol=1e-9)


@pytest.mark.parametrize("seed", range(2))
def test_own_peaks_after_every_sample(seed):
    x_c, x_m = several_tones(np.random.default_rng(seed), 6 * N, RATE)
    indicator = FrequencyDomainIndicator(RATE, N / RATE, peak="own", relative_gate=0.0)
    rows = indicator.update_block(x_c, x_m)[N - 1 :]
    expected = at_every_sample(lambda c, m: reference.frequency_domain(c, m, RATE, peak="own"), x_c, x_m, N)
    np.testing.assert_allclose(rows[:, :4], expected, rtol=1e-9, atol=1e-9)


def test_own_peaks_in_neighbouring_bins_are_off_by_half_a_turn():
    rng = np.random.default_rng(3)
    tones = Tones(4.5 * RATE / N, 1.0, 0.95, -0.1)
    x_c, x_m = (x + 0.01 * rng.normal(size=x.shape) for x in tones.signals(40 * N, RATE))
    own, common = (
        FrequencyDomainIndicator(RATE, N / RATE, peak=peak).update_block(x_c, x_m)[N - 1 :, PHASE]
        for peak in ("own", "command")
    )
    trapped = np.abs(own - tones.phase) > 2.5
    # halfway between two bins either is as likely
    assert 0.02 < trapped.mean() < 0.6
    np.testing.assert_allclose(np.abs(own[trapped] - tones.phase), np.pi, atol=0.2)
    np.testing.assert_allclose(common, tones.phase, atol=0.02)


def test_the_band_is_where_the_frequency_is_sought():
    t = np.arange(3 * N) / RATE
    x_c = np.sin(2 * np.pi * 6.0 * t) + 0.3 * np.sin(2 * np.pi * 30.0 * t)
    x_m = 0.9 * np.sin(2 * np.pi * 6.0 * t - 0.1) + 0.15 * np.sin(2 * np.pi * 30.0 * t - 0.6)
    for band, ratio, phase, frequency in (
        (None, 1 / 0.9, -0.1, 6.0),
        ((2.0, 50.0), 1 / 0.9, -0.1, 6.0),
        ((20.0, 50.0), 2.0, -0.6, 30.0),
    ):
        indicator = FrequencyDomainIndicator(RATE, N / RATE, band=band, delay_of="tone")
        row = indicator.update_block(x_c, x_m)[-1]
        np.testing.assert_allclose(row[[RATIO, PHASE, FREQUENCY]], (ratio, phase, frequency), rtol=1e-6)


def test_the_gates():
    quiet, loud = Tones(7.0, 0.01), Tones(7.0, 1.0)
    x = np.concatenate([loud.signals(4 * N, RATE)[0], quiet.signals(3 * N, RATE)[0]])
    ratio = FrequencyDomainIndicator(RATE, N / RATE, relative_gate=0.02).update_block(x, x)[:, RATIO]
    assert np.isfinite(ratio[N - 1 : 4 * N]).all()
    assert np.isnan(ratio[5 * N + N // 8 :]).all()
    ratio = FrequencyDomainIndicator(RATE, N / RATE, relative_gate=0.0).update_block(x, x)[:, RATIO]
    # what is left of the loud motion at the window's end has no delay that is sure
    assert np.isfinite(ratio[N - 1 : 4 * N]).all() and np.isfinite(ratio[5 * N + N // 8 :]).all()
    ratio = FrequencyDomainIndicator(RATE, N / RATE, relative_gate=0.0, gate=0.02).update_block(x, x)[:, RATIO]
    assert np.isnan(ratio[5 * N + N // 8 :]).all()


def test_a_spike_does_not_shut_the_relative_gate():
    x_c, x_m = Tones(7.0, 1.0, phase=-0.1).signals(10 * N, RATE)
    x_c[3 * N] = 1e6
    rows = FrequencyDomainIndicator(RATE, N / RATE, relative_gate=0.5).update_block(x_c, x_m)
    # the gate is looked at eight times a window
    np.testing.assert_allclose(rows[4 * N + N // 8 :, PHASE], -0.1, atol=1e-8)


def test_ten_million_samples_on_a_large_offset_leave_no_drift(long_run):
    """The state after a long run is that of an indicator that saw the last samples only."""
    rows, fresh = long_run(FrequencyDomainIndicator)
    np.testing.assert_allclose(rows, fresh, rtol=1e-9, atol=1e-9)
