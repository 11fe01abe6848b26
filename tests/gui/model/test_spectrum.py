"""Spectra: against scipy's Welch and against Parseval."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import signal

from gui.model.statistics import Spectrogram, occupied_band, segment_length, spectrogram

RATE = 256.0


def noise(n, seed=0):
    return np.random.default_rng(seed).normal(size=n)


@pytest.mark.parametrize("n_segment", [64, 256, 1024])
@pytest.mark.parametrize("n", [1024, 4000])
def test_the_mean_is_welchs_estimate(n, n_segment):
    samples = noise(n) + 3.0
    found = spectrogram(samples, RATE, n_segment)
    frequencies, power = signal.welch(samples, RATE, "hann", n_segment, detrend="constant")
    np.testing.assert_allclose(found.frequencies, frequencies)
    np.testing.assert_allclose(found.mean, np.sqrt(power), rtol=1e-9, atol=1e-12)


def test_the_spectrogram_is_scipys():
    samples = noise(2000)
    found = spectrogram(samples, RATE, 128)
    frequencies, times, power = signal.spectrogram(samples, RATE, "hann", 128, 64, detrend="constant")
    np.testing.assert_allclose(found.times, times)
    np.testing.assert_allclose(found.frequencies, frequencies)
    np.testing.assert_allclose(found.density, np.sqrt(power).T, rtol=1e-9, atol=1e-12)


@given(st.floats(0.1, 10.0), st.integers(4, 60))
def test_the_power_of_a_sine_is_half_its_amplitude_squared(amplitude, cycles):
    n = 1024
    samples = amplitude * np.sin(2.0 * np.pi * cycles * np.arange(4 * n) / n)
    found = spectrogram(samples, RATE, n)
    width = RATE / n
    assert np.sum(found.mean**2) * width == pytest.approx(0.5 * amplitude**2, rel=1e-6)
    assert found.frequencies[np.argmax(found.mean)] == pytest.approx(cycles * width)
    assert occupied_band(found.frequencies, found.mean) == pytest.approx(cycles * width, abs=2.1 * width)


def test_segments_with_a_gap_are_nan_and_do_not_count():
    samples = noise(2048)
    whole = spectrogram(samples, RATE, 256)
    samples[700] = np.nan
    found = spectrogram(samples, RATE, 256)
    broken = np.isnan(found.density[:, 0])
    # two overlapping segments contain a sample
    assert broken.sum() == 2
    np.testing.assert_array_equal(found.density[~broken], whole.density[~broken])
    np.testing.assert_allclose(found.mean, np.sqrt(np.mean(whole.density[~broken] ** 2, axis=0)))
    nothing = spectrogram(np.full(512, np.nan), RATE, 256)
    assert np.isnan(nothing.mean).all()
    assert occupied_band(nothing.frequencies, nothing.mean) == RATE / 2.0


@given(st.integers(300, 200_000), st.integers(2, 400))
def test_a_long_record_has_a_bounded_number_of_segments(n, most):
    found = spectrogram(np.zeros(n), RATE, 256, most)
    assert 1 <= len(found.times) <= most
    assert found.times[-1] <= n / RATE


@given(st.integers(2, 10**6), st.floats(0.5, 20.0))
def test_a_segment_is_a_power_of_two_that_fits(n, seconds):
    found = segment_length(n, RATE, seconds)
    assert found & (found - 1) == 0
    assert 2 <= found <= max(2, n)


def test_too_few_samples_are_an_error():
    with pytest.raises(ValueError, match="100 samples are fewer than a segment of 128"):
        spectrogram(np.zeros(100), RATE, 128)


def test_the_mean_of_nothing_is_nan():
    assert np.isnan(Spectrogram(np.empty(0), np.arange(3.0), np.empty((0, 3))).mean).all()
