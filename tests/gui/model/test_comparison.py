"""Lags and differences of recordings, compared with definitions in plain numpy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gui.model.comparison import StoredCurve, difference
from gui.model.pyramid import Pyramid
from tests.monitor.test_alignment import noise


def stored(values, rate, factor=1.0, shift=0.0, length=None):
    rows = Pyramid(1, (length or max(16, len(values)), 64, 16), rate=rate)
    rows.append(0.0, np.asarray(values, dtype=float)[:, None])
    return StoredCurve(rows, 0, factor, shift)


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
