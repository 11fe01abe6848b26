"""Lags and differences of recordings, compared with definitions in plain numpy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gui.model import comparison
from gui.model.comparison import StoredCurve, correlation, difference, estimate_lag
from gui.model.pyramid import Pyramid


def stored(values, rate, factor=1.0, shift=0.0, length=None):
    rows = Pyramid(1, (length or max(16, len(values)), 64, 16), rate=rate)
    rows.append(0.0, np.asarray(values, dtype=float)[:, None])
    return StoredCurve(rows, 0, factor, shift)


def noise(n, seed=0, smooth=9):
    rng = np.random.default_rng(seed)
    return np.convolve(rng.normal(size=n + smooth - 1), np.hanning(smooth + 2)[1:-1], "valid")


@given(st.integers(-300, 300), st.floats(0.1, 10.0), st.floats(-50.0, 50.0))
def test_a_shift_of_whole_samples_is_found_exactly(samples, gain, offset):
    motion = noise(2000)
    one, two = motion[400:1600], gain * motion[400 - samples : 1600 - samples] + offset
    assert estimate_lag(one, two, 200.0, 200.0) == samples / 200.0


def tone_burst(t):
    return np.sin(2.0 * np.pi * 1.3 * t) * np.exp(-(((t - 10.0) / 3.0) ** 2))


@pytest.mark.parametrize("rate", [100.0, 128.0, 50.0])
@pytest.mark.parametrize("lag", [0.0, 0.3333, -1.27])
def test_a_lag_between_samples_and_at_another_rate_is_found(rate, lag):
    one = tone_burst(np.arange(2000) / 100.0)
    two = tone_burst(np.arange(round(20 * rate)) / rate - lag)
    assert estimate_lag(one, two, 100.0, rate) == pytest.approx(lag, abs=2e-4)


def test_a_long_record_is_aligned_at_full_resolution(monkeypatch):
    monkeypatch.setattr(comparison, "_MOST", 512)
    motion = noise(6000, smooth=41) * np.exp(-(((np.arange(6000) - 3000.0) / 900.0) ** 2))
    assert estimate_lag(motion[:5000], motion[137:5137], 1000.0, 1000.0) == -137 / 1000.0
    assert estimate_lag(motion[137:5137], motion[:5000], 1000.0, 1000.0) == 137 / 1000.0


def test_samples_that_are_missing_do_not_spoil_a_lag_and_no_motion_has_none():
    motion = noise(2000)
    two = motion[60:1660].copy()
    two[::50] = np.nan
    assert estimate_lag(motion[100:1700], two, 100.0, 100.0) == 0.4
    assert math.isnan(estimate_lag(motion, np.full(100, 3.0), 100.0, 100.0))
    assert math.isnan(estimate_lag(np.full(100, np.nan), motion, 100.0, 100.0))


@given(st.integers(0, 60))
def test_a_difference_by_whole_samples_is_exact(samples):
    one, two = noise(500, 1), noise(500, 2)
    two[33] = np.nan
    found = difference(stored(two, 100.0, shift=samples / 100.0), stored(one, 100.0))
    first, values = found.values()
    expected = np.full(500, np.nan)
    expected[: 500 - samples] = two[samples:] - one[: 500 - samples]
    assert first == 0
    assert np.array_equal(values, expected, equal_nan=True)


def test_a_difference_between_samples_is_that_of_the_interpolated_curve():
    time, other = np.arange(400) / 100.0, np.arange(1000) / 256.0
    one, two = np.sin(time), 3.0 * np.cos(other)
    found = difference(stored(two, 256.0, shift=0.123, factor=1e3), stored(one, 100.0, factor=1e3))
    _, values = found.values()
    places = time + 0.123
    expected = 1e3 * np.interp(places, other, two, left=np.nan, right=np.nan) - 1e3 * one
    assert values == pytest.approx(expected, abs=1e-9, nan_ok=True)
    assert np.isnan(values[places > other[-1]]).all()
    # read at an instant, and drawn
    assert found.between(1.0)[0] == pytest.approx(expected[100])
    assert len(found.envelope(0.0, 4.0, 50)) >= 25


def test_what_memory_has_lost_at_full_rate_has_no_difference():
    one, two = noise(500, 1), noise(500, 2)
    found = difference(stored(two, 100.0, length=200), stored(one, 100.0))
    _, values = found.values()
    assert np.isnan(values[:300]).all()
    assert np.array_equal(values[300:], (two - one)[300:])


def test_a_correlation_is_that_of_the_overlap():
    motion = noise(600)
    one, two = stored(motion[:500], 100.0), stored(-2.0 * motion[100:] + 7.0, 100.0, shift=-1.0)
    assert correlation(two, one) == pytest.approx(-1.0)
    assert math.isnan(correlation(stored(motion, 100.0, shift=50.0), one))


@pytest.mark.parametrize("later", [128, -300, 640])
def test_the_lag_of_a_whole_number_of_samples_is_exact_though_the_records_share_less_than_all(later):
    """Three tones, of which the records hold no whole number of periods."""
    rate = 256.0
    time = np.arange(7680) / rate

    def motion(t):
        return sum(size * np.sin(2.0 * np.pi * f * t + f) for size, f in ((8.0, 0.7), (3.0, 1.9), (1.0, 4.3)))

    found = estimate_lag(motion(time), motion(time - later / rate), rate, rate)
    assert found == pytest.approx(later / rate, abs=0.02 / rate)
