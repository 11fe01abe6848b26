"""FDB: exact for a tone under every taper, its definition for anything else, and the trap of own peaks."""

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


DAMPING = 8
every_taper = pytest.mark.parametrize("taper", reference.TAPERS)


def rows_of(tones, n=2 * N, **settings):
    """Return the rows of full windows of `N` samples."""
    return FrequencyDomainIndicator(RATE, N / RATE, **settings).update_block(*tones.signals(n, RATE))[N - 1 :]


@every_taper
@given(
    cycles=st.one_of(st.floats(1.0, 2.0), st.floats(2.0, 9.5), st.sampled_from([1.0, 2.0, 3.0, 2.0 + 1e-9])),
    start=st.floats(0.0, 6.3),
    phase=st.floats(-3.1, 3.1),
    gain=st.floats(0.2, 5.0),
    offset=st.sampled_from([0.0, 3.0]),
)
def test_a_tone_is_exact_from_one_cycle_on(taper, cycles, start, phase, gain, offset):
    tones = Tones(cycles * RATE / N, 1.0, gain, phase, start, offset, -offset)
    rows = rows_of(tones, N + 4, taper=taper)
    np.testing.assert_allclose(rows[:, PHASE], phase, atol=1e-9)
    np.testing.assert_allclose(rows[:, RATIO], tones.ratio, rtol=1e-9)
    np.testing.assert_allclose(rows[:, FREQUENCY], tones.frequency, rtol=1e-9)
    np.testing.assert_allclose(rows[:, AMPLITUDE], 1.0, rtol=1e-9)
    np.testing.assert_allclose(rows[:, DELAY], tones.delay, atol=1e-9)
    np.testing.assert_allclose(rows[:, DAMPING], oracle.added_damping(gain, phase), atol=1e-8)


@every_taper
@pytest.mark.parametrize("n_window", [32, 33])
def test_the_smallest_windows(taper, n_window):
    tones = Tones(1.3 * RATE / n_window, 1.0, 0.8, -0.4, 0.7)
    indicator = FrequencyDomainIndicator(RATE, n_window / RATE, taper=taper)
    rows = indicator.update_block(*tones.signals(3 * n_window, RATE))[n_window - 1 :]
    np.testing.assert_allclose(rows[:, PHASE], -0.4, atol=1e-9)
    np.testing.assert_allclose(rows[:, AMPLITUDE], 1.0, rtol=1e-9)


@every_taper
def test_the_plain_reading_after_every_sample(taper):
    x_c, x_m = several_tones(np.random.default_rng(5), 4 * N, RATE)
    settings = {"taper": taper, "relative_gate": 0.0}
    plain, exact = (
        FrequencyDomainIndicator(RATE, N / RATE, image_correction=on, **settings).update_block(x_c, x_m)[N - 1 :]
        for on in (False, True)
    )
    expected = at_every_sample(
        lambda c, m: reference.frequency_domain(c, m, RATE, taper=taper, image_correction=False), x_c, x_m, N
    )
    np.testing.assert_allclose(plain[:, :4], expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(plain[:, [FREQUENCY, AMPLITUDE]], exact[:, [FREQUENCY, AMPLITUDE]])


@pytest.mark.parametrize(("cycles", "most"), [(1.0, 1e-10), (1.5, 0.034), (2.0, 1e-10), (2.5, 0.0012)])
def test_the_plain_reading_errs_by_the_image(cycles, most):
    """The image turns a reading by arg(1 - share exp(i a)), a being twice its phase: most where it turns fastest."""
    phase = 0.13
    rows = rows_of(Tones(cycles * RATE / N, 1.0, 1.0, phase), 6 * N, image_correction=False)
    worst = np.max(np.abs(rows[:, PHASE] - phase))
    share = oracle.image_share(cycles, N)
    expected = 2.0 * np.arctan2(share * np.sin(phase), 1.0 - share * np.cos(phase))
    np.testing.assert_allclose(worst, expected, rtol=0.05, atol=1e-10)
    assert worst < most
    np.testing.assert_allclose(rows[:, FREQUENCY], cycles * RATE / N, rtol=1e-9)


def test_own_peaks_are_read_as_they_stand():
    tones = Tones(1.5 * RATE / N, 1.0, 0.9, 0.5)
    forms = [rows_of(tones, peak="own", image_correction=on) for on in (True, False)]
    np.testing.assert_array_equal(*forms)
    assert np.max(np.abs(forms[0][:, PHASE] - 0.5)) > 0.01


@pytest.mark.parametrize(("phase", "sign"), [(0.3, 1.0), (-0.3, -1.0), (0.0, 0.0)])
def test_a_lag_adds_negative_damping(phase, sign):
    damping = rows_of(Tones(7.0, 2.0, 0.8, phase))[:, DAMPING]
    assert (np.sign(np.round(damping, 12)) == sign).all()


def test_an_unknown_taper_is_refused():
    with pytest.raises(ValueError, match="taper must be 'hann', 'hamming'"):
        FrequencyDomainIndicator(RATE, N / RATE, taper="flat")
