"""TI, NRMSE and peak error: their printed definitions, after every sample."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.indicators.peak_error import PeakError
from monitor.indicators.rms_error import RootMeanSquareError
from monitor.indicators.tracking_indicator import TrackingIndicator
from tests.oracles import tracking_measures as oracle
from tests.oracles.tones import Tones, area_per_radian, several_tones
from tests.oracles.tracking_measures import at_every_sample

pytestmark = pytest.mark.usefixtures("warm_kernels")
RATE = 100.0
MEASURES = [
    (TrackingIndicator, oracle.tracking_indicator, 1),
    (RootMeanSquareError, oracle.nrmse, 1),
    (PeakError, oracle.peak_error, 2),
]
every_measure = pytest.mark.parametrize(
    ("kind", "definition", "width"), MEASURES, ids=lambda value: getattr(value, "__name__", "")
)


@every_measure
@given(seed=st.integers(0, 10_000), n=st.integers(2, 40), offset=st.sampled_from([0.0, 10.0, -1e4]))
def test_the_definition_after_every_sample(kind, definition, width, seed, n, offset):
    x_c, x_m = (x + offset for x in several_tones(np.random.default_rng(seed), 130, RATE))
    rows = kind(RATE, n / RATE).update_block(x_c, x_m)
    assert np.isnan(rows[: n - 1, 0]).all()
    expected = at_every_sample(definition, x_c, x_m, n).reshape(-1, width)
    # TI as printed cancels on an offset: the comparison is as good as the printed form
    small = 1e-12 * max(1.0, offset * offset)
    np.testing.assert_allclose(rows[n - 1 :, :width], expected, rtol=1e-10, atol=small)


@every_measure
def test_small_whole_numbers_tie_and_are_exact(kind, definition, width):
    rng = np.random.default_rng(1)
    x_c, x_m = (rng.integers(-3, 4, 300).astype(float) for _ in range(2))
    rows = kind(RATE, 0.12).update_block(x_c, x_m)[11:, :width]
    expected = at_every_sample(definition, x_c, x_m, 12).reshape(-1, width)
    np.testing.assert_allclose(rows, expected, rtol=1e-14, atol=1e-14)


@every_measure
@pytest.mark.parametrize("n", [2, 3])
def test_the_smallest_windows(kind, definition, width, n):
    x_c, x_m = several_tones(np.random.default_rng(0), 30, RATE)
    rows = kind(RATE, n / RATE).update_block(x_c, x_m)[n - 1 :, :width]
    np.testing.assert_allclose(rows, at_every_sample(definition, x_c, x_m, n).reshape(-1, width), rtol=1e-10)


@pytest.mark.parametrize("phase", [0.2, -0.2, 1.5, -3.0])
def test_ti_of_a_tone_in_closed_form(phase):
    tones, n = Tones(3.0, 2.0, 0.9, phase), 57
    rows = TrackingIndicator(RATE, n / RATE).update_block(*tones.signals(200, RATE))
    # the area of chords: the sine of the step stands for the step
    step = np.sin(2.0 * np.pi * tones.frequency / RATE)
    np.testing.assert_allclose(rows[n - 1 :, 0], (n - 1) * step * area_per_radian(tones), rtol=1e-10)
    np.testing.assert_allclose(rows[1:, 1], np.arange(1, 200) * step * area_per_radian(tones), rtol=1e-10)


def test_the_total_of_ti_leaves_out_what_touches_a_bad_sample():
    x_c, x_m = several_tones(np.random.default_rng(0), 90, RATE)
    x_c[40] = np.nan
    total = TrackingIndicator(RATE, 0.1).update_block(x_c, x_m)[-1, 1]
    expected = oracle.tracking_indicator(x_c[:40], x_m[:40]) + oracle.tracking_indicator(x_c[41:], x_m[41:])
    np.testing.assert_allclose(total, expected, rtol=1e-12)


def test_ti_grows_with_a_lead_and_falls_with_a_lag():
    for phase in (0.3, -0.3):
        total = TrackingIndicator(RATE, 0.2).update_block(*Tones(2.0, phase=phase).signals(300, RATE))[:, 1]
        assert (np.sign(np.diff(total)) == np.sign(phase)).all()


def test_a_single_sample_is_a_window_for_nrmse_and_peak():
    c, m = np.array([2.0, 4.0, -5.0]), np.array([1.0, 5.0, -5.0])
    np.testing.assert_allclose(RootMeanSquareError(RATE, 0.01).update_block(c, m)[:, 0], [0.5, 0.25, 0.0])
    np.testing.assert_allclose(PeakError(RATE, 0.01).update_block(c, m), [[1.0, 0.5], [1.0, 0.25], [0.0, 0.0]])


def test_a_command_at_zero_has_no_relative_error():
    zeros, ones = np.zeros(20), np.ones(20)
    assert np.isnan(RootMeanSquareError(RATE, 0.1).update_block(zeros, ones)).all()
    rows = PeakError(RATE, 0.1).update_block(zeros, ones)
    np.testing.assert_array_equal(rows[9:, 0], 1.0)
    assert np.isnan(rows[:, 1]).all()


@every_measure
def test_a_spike_is_gone_to_the_last_bit(kind, definition, width):
    x_c, x_m = several_tones(np.random.default_rng(4), 300, RATE)
    clean = kind(RATE, 0.3).update_block(x_c, x_m)
    x_m[100] = 1e15
    rows = kind(RATE, 0.3).update_block(x_c, x_m)
    np.testing.assert_array_equal(rows[131:, :width], clean[131:, :width])
