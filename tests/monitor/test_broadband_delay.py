"""The delay of a broadband motion: pure lags are exact, standard deviations are honest, nonsense is not valid."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.indicators import reference
from monitor.indicators.broadband_delay import BroadbandDelayIndicator, BroadbandValues
from monitor.indicators.parts.cross_correlation import find_peak, plan_lags
from monitor.indicators.parts.cross_spectra import fit_lag, multitaper_length, plan_tapers
from monitor.indicators.parts.residual import REACH, interpolate
from tests.oracles import broadband as oracle
from tests.oracles.tones import Tones

RATE, N = 1024.0, 1024


def read(x_c, x_m, **settings):
    """Return the value of the last full window."""
    indicator = BroadbandDelayIndicator(RATE, len(x_c) / RATE, **settings)
    # so numbered that the last sample is one at which values are made
    indicator.update_block(x_c, x_m, first=1)
    return indicator.value


def read_at(rate, x_c, x_m):
    """Return the value of the last full window at another sample rate."""
    indicator = BroadbandDelayIndicator(rate, len(x_c) / rate)
    indicator.update_block(x_c, x_m, first=1)
    return indicator.value


def read_many(seeds, delay, disturb, **settings):
    """Return the values of that many motions, each with a disturbance of measured, as arrays by name."""
    values = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        x_c, x_m = oracle.motion(rng, N, RATE, delay)
        values.append(read(x_c, x_m + disturb(rng), **settings))
    return BroadbandValues(*np.array(values).T)


def rms(x):
    return np.sqrt(np.mean(np.square(x)))


@pytest.mark.parametrize("delay", [0.005, 0.020, 0.050, 0.0333, -0.005])
def test_a_pure_delay_of_a_broadband_motion(delay):
    found = read_many(25, delay, lambda rng: 0.0)
    # a hundredth of the 0.05 ms that are asked for
    assert rms(found.delay - delay) < 5e-7
    assert rms(found.xcorr_delay - delay) < 5e-7
    np.testing.assert_allclose(found.ratio, 1.0, rtol=1e-6)
    np.testing.assert_allclose(found.coherence, 1.0, rtol=1e-6)


@pytest.mark.parametrize("decibels", [5.0, 12.0, 20.0, 40.0])
def test_the_standard_deviation_is_that_of_the_error(decibels):
    size = 10.0 ** (-decibels / 20.0)
    found = read_many(120, 0.02, lambda rng: size * rng.normal(size=N))
    assert 0.6 < rms(found.delay - 0.02) / rms(found.delay_sd) < 1.7
    assert 0.6 < rms(found.ratio - 1.0) / rms(found.ratio_sd) < 1.7
    assert 0.6 < rms(found.xcorr_delay - 0.02) / rms(found.xcorr_delay_sd) < 1.7
    # the correlation is not worse than the cross-spectrum in white noise, as the documentation says
    assert rms(found.xcorr_delay - 0.02) < 1.1 * rms(found.delay - 0.02)
    if decibels == 40.0:
        assert rms(found.delay - 0.02) < 5e-5


@pytest.mark.parametrize("delay", [-0.024, 0.024])
def test_a_slow_tone_in_strong_noise_is_not_drawn_towards_zero(delay):
    """Case (v) of the tracking paper: hundreds of bins, and hundreds of peaks of the correlation, are noise alone."""
    t, found = np.arange(4 * N) / RATE, []
    for seed in range(30):
        noise = 0.1 * np.random.default_rng(seed).normal(size=(2, 4 * N))
        x_c, x_m = np.cos(np.pi * t + 0.2 * seed), 2.0 * np.cos(np.pi * (t - delay) + 0.2 * seed)
        found.append(read(x_c + noise[0], x_m + noise[1]))
    found = BroadbandValues(*np.array(found).T)
    np.testing.assert_allclose(np.mean(found.delay), delay, rtol=0.05)
    np.testing.assert_allclose(np.mean(found.xcorr_delay), delay, rtol=0.05)


def test_a_hum_outside_the_band_disturbs_less():
    hum = 0.5 * np.sin(2.0 * np.pi * 13.0 * np.arange(N) / RATE)
    found = read_many(30, 0.02, lambda rng: hum, band=(0.3, 7.0))
    # in one of these the hum is half of the motion, and the correlation has no value
    both = np.isfinite(found.xcorr_delay)
    assert both.mean() > 0.95
    assert rms(found.delay - 0.02) < 0.5 * rms(found.xcorr_delay[both] - 0.02)


def test_an_amplitude_error_and_a_delay_together():
    x_c, x_m = oracle.motion(np.random.default_rng(0), N, RATE, 0.0123)
    found = read(2.0 * x_c + 50.0, 1.6 * x_m - 3.0)
    np.testing.assert_allclose(found.delay, 0.0123, atol=1e-8)
    np.testing.assert_allclose(found.ratio, 1.25, rtol=1e-6)


@given(
    frequency=st.floats(3.0, 60.0),
    phase=st.floats(0.01, 2.9),
    lead=st.booleans(),
    start=st.floats(0.0, 6.3),
    gain=st.floats(0.2, 5.0),
)
def test_a_clean_tone_up_to_half_a_cycle(frequency, phase, lead, start, gain):
    tones = Tones(frequency, 2.0, gain, phase if lead else -phase, start, offset_c=1.0)
    found = read(*tones.signals(N, RATE), max_delay=0.2)
    for delay in (found.delay, found.xcorr_delay):
        np.testing.assert_allclose(delay, tones.delay, rtol=0.01)
    np.testing.assert_allclose(found.ratio, tones.ratio, rtol=1e-3)


@given(seed=st.integers(0, 1000), n=st.integers(20, 120), lag=st.floats(-1.5, 1.5), noise=st.floats(0.0, 1.0))
def test_the_fit_is_its_definition(seed, n, lag, noise):
    rng = np.random.default_rng(seed)
    rate = 100.0
    x_c, x_m = oracle.motion(rng, n + 40, rate, lag / rate, high=9.0)
    c, slope = np.empty((2, n))
    interpolate(x_c, 20, 0.3, c, slope)
    m = x_m[20 : 20 + n] + noise * rng.normal(size=n)
    high = int(np.ceil(0.1 * (n + 1) - 1e-9))
    found = fit_lag(c, m, slope, plan_tapers(n, rate, None))
    expected = reference.broadband_lag(c, m, slope, 1, high)
    for one, other in zip(found, expected, strict=True):
        # near zero what is left of a lag is a difference
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9)


@given(seed=st.integers(0, 1000), n=st.integers(8, 60), share=st.floats(0.05, 0.4))
def test_the_fit_is_its_definition_in_short_pieces_and_wide_bands(seed, n, share):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n + 40)
    c, slope = np.empty((2, n))
    interpolate(x, 20, 0.3, c, slope)
    m = x[20 : 20 + n] + 0.2 * rng.normal(size=n)
    found = fit_lag(c, m, slope, plan_tapers(n, 1.0, (0.0, share)))
    high = max(1, int(np.ceil(share * (n + 1) - 1e-9)))
    for one, other in zip(found, reference.broadband_lag(c, m, slope, 1, high), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)


@given(
    seed=st.integers(0, 1000), n=st.integers(60, 200), lag=st.floats(-9.0, 9.0), offset=st.sampled_from([0.0, 5.0])
)
def test_the_peak_is_that_of_the_correlation_coefficients(seed, n, lag, offset):
    rng = np.random.default_rng(seed)
    x_c, x_m = oracle.motion(rng, n, 100.0, lag / 100.0, high=9.0)
    x_c, x_m = x_c - np.mean(x_c) + offset, x_m + 0.1 * rng.normal(size=n) + offset
    n_middle = n - 2 * (10 + REACH)
    found = find_peak(x_c, x_m, plan_lags(n, n_middle, 10))
    lags = np.arange(-10, 11)
    expected = reference.lagged_correlation(x_c, x_m, 10 + REACH, n_middle, lags)
    if np.isnan(found.lag):
        # the highest is at an end, or there is none
        assert np.argmax(expected) in (0, len(lags) - 1)
        return
    nearest = expected[np.argmin(np.abs(lags - found.lag))]
    # the lag is not that of the highest of values that noise has moved
    assert found.correlation >= nearest - 0.02
    assert np.isclose(found.correlation, nearest, atol=0.15)
    # among peaks as high as this one it is the nearest to zero lag
    inner = [i for i in range(1, len(lags) - 1) if expected[i] >= max(expected[i - 1], expected[i + 1])]
    nearer = [expected[i] for i in inner if abs(lags[i]) < abs(found.lag) - 1.0]
    assert all(value < found.correlation for value in nearer)


def test_the_lengths_of_pieces_are_fast():
    for n in range(8, 400):
        length = multitaper_length(n)
        rest = length + 1
        for factor in (2, 3, 5):
            while rest % factor == 0:
                rest //= factor
        assert rest == 1
        assert 0.8 * n < length <= n


def test_values_stand_between_evaluations():
    x_c, x_m = oracle.motion(np.random.default_rng(1), 3 * N, RATE, 0.01)
    x_m += 0.1 * np.random.default_rng(1).normal(size=3 * N)
    indicator = BroadbandDelayIndicator(RATE, 1.0)
    rows = indicator.update_block(x_c, x_m)
    changes = np.flatnonzero((np.diff(rows[:, 2]) != 0.0) & ~np.isnan(rows[1:, 2])) + 1
    np.testing.assert_array_equal(changes, [N - 1, *range(N, 3 * N, indicator.hop)])


def test_a_delay_beyond_the_largest_is_not_taken_for_another():
    for seed in range(20):
        x_c, x_m = oracle.motion(np.random.default_rng(seed), 2 * N, RATE, 0.15)
        beyond = read(x_c, x_m, max_delay=0.1)
        # or a side lobe, which tells itself by a low correlation
        assert np.isnan(beyond[:8]).all() or beyond.xcorr_peak < 0.9
        np.testing.assert_allclose(read(x_c, x_m, max_delay=0.2).delay, 0.15, atol=1e-6)


def test_a_delay_near_the_largest():
    """A lag of ten samples and a half is not told: the command that it belongs to is not in the window."""
    told = []
    for seed, lag in enumerate(np.linspace(9.5, 11.0, 120)):
        rng = np.random.default_rng(seed)
        x_c, x_m = oracle.motion(rng, 100, 100.0, lag / 100.0, high=9.0)
        found = read_at(100.0, x_c, x_m + 0.1 * rng.normal(size=100))
        assert not abs(found.xcorr_delay) > 0.1 + 1e-3
        assert not abs(found.delay) > 0.1
        told.append(np.isfinite(found.xcorr_delay))
    assert any(told) and not all(told)
    # a whole number of samples is no other kind of number to the kernel
    assert len(interpolate.signatures) == 1


@pytest.mark.parametrize("level", [0.0, 0.1, 1234.5])
def test_a_dead_channel_is_not_valid(level):
    x_c, _ = oracle.motion(np.random.default_rng(0), N, RATE, 0.0)
    dead = np.full(N, level)
    for pair in ((x_c, dead), (dead, x_c), (dead, dead)):
        assert np.isnan(read(*pair)[:8]).all()


def test_the_gate_closes_on_a_quiet_lead_out():
    x_c, x_m = oracle.motion(np.random.default_rng(2), 8 * N, RATE, 0.01)
    quiet = np.where(np.arange(8 * N) < 5 * N, 1.0, 0.005)
    open_rows, rows = (
        BroadbandDelayIndicator(RATE, 1.0, relative_gate=gate).update_block(quiet * x_c, quiet * x_m)
        for gate in (0.0, 0.02)
    )
    after = slice(6 * N + N // 4, None)
    assert np.isnan(rows[after, :8]).all()
    assert np.isfinite(open_rows[after]).all()
    assert np.isnan(BroadbandDelayIndicator(RATE, 1.0, gate=10.0).update_block(x_c, x_m)[:, :8]).all()


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_max_delay_must_be_positive(value):
    with pytest.raises(ValueError, match="max_delay"):
        BroadbandDelayIndicator(RATE, 1.0, max_delay=value)


@pytest.mark.parametrize("lag", [7.0, 7.25, 7.5, 7.9])
def test_noise_on_both_does_not_draw_the_correlation_to_whole_samples(lag):
    errors, sds = [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        x_c, x_m = oracle.motion(rng, N, RATE, lag / RATE)
        found = read(x_c + 0.05 * rng.normal(size=N), x_m + 0.05 * rng.normal(size=N))
        errors.append(found.xcorr_delay * RATE - lag)
        sds.append(found.xcorr_delay_sd * RATE)
    errors, sds = np.array(errors), np.array(sds)
    # by three of the mean's own deviations
    assert abs(errors.mean()) < 3.0 * errors.std() / np.sqrt(len(errors))
    assert 0.55 < np.mean(np.abs(errors) < sds) < 0.9
