"""Lags of sampled curves, compared with shifts that are known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor import alignment
from monitor.alignment import correlation_coefficient, estimate_lag, interpolated


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
    monkeypatch.setattr(alignment, "_MOST", 512)
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


@pytest.mark.parametrize("later", [128, -300, 640])
def test_the_lag_of_a_whole_number_of_samples_is_exact_though_the_records_share_less_than_all(later):
    """Three tones, of which the records hold no whole number of periods."""
    rate = 256.0
    time = np.arange(7680) / rate

    def motion(t):
        return sum(size * np.sin(2.0 * np.pi * f * t + f) for size, f in ((8.0, 0.7), (3.0, 1.9), (1.0, 4.3)))

    found = estimate_lag(motion(time), motion(time - later / rate), rate, rate)
    assert found == pytest.approx(later / rate, abs=0.02 / rate)


def test_values_between_samples_are_those_of_the_chord_and_outside_there_are_none():
    values = np.array([0.0, 2.0, 8.0])
    assert interpolated(values, np.array([0.5, 1.75, 2.0, -0.1, 2.1])) == pytest.approx(
        [1.0, 6.5, 8.0, math.nan, math.nan], nan_ok=True
    )


def test_a_correlation_is_of_the_samples_that_both_have():
    one = noise(300)
    two = 3.0 - 2.0 * one
    two[40:60] = np.nan
    assert correlation_coefficient(one, two) == pytest.approx(-1.0)
    assert math.isnan(correlation_coefficient(one, np.full(300, 1.0)))


@pytest.mark.parametrize("missing", [100, 589, 2509])
def test_a_gap_does_not_move_the_lag(missing):
    rate, time = 256.0, np.arange(15360) / 256.0
    curve = sum(size * np.sin(2.0 * np.pi * f * time + f) for size, f in ((8.0, 0.7), (3.0, 1.9), (1.0, 4.3))) + 5.0
    curve[6000 : 6000 + missing] = np.nan
    assert estimate_lag(curve, curve, rate, rate) == 0.0
    later = np.concatenate([np.full(200, curve[0]), curve])
    assert estimate_lag(curve, later, rate, rate) == pytest.approx(200 / rate, abs=0.05 / rate)
