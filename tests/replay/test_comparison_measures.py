"""All measures of two histories at once: their names, the holes, and what is refused."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from replay.validation.error_measures import HistoryComparison, compare_histories, time_warping_distance

N, DT = 500, 0.002
TIME = np.arange(N) * DT
MEASURES = [field.name for field in fields(HistoryComparison)[3:]]


def tone(phase=0.0, size=1.0):
    return size * np.sin(2.0 * np.pi * 4.0 * TIME - phase)


def values(comparison):
    return {name: getattr(comparison, name) for name in MEASURES}


def test_a_tone_of_known_errors():
    found = compare_histories(tone(), tone(0.2 * np.pi, 1.2), DT)
    magnitude = np.log10(1.0 + 1.2 - 1.0 / 1.2)
    # the law of cosines between the two phasors
    rms = np.sqrt(1.0 + 1.44 - 2.4 * np.cos(0.2 * np.pi))
    expected = {
        "sprague_geers_magnitude": 0.2,
        "sprague_geers_phase": 0.2,
        "sprague_geers_combined": np.hypot(0.2, 0.2),
        "russell_magnitude": magnitude,
        "russell_phase": 0.2,
        "russell_comprehensive": np.sqrt(np.pi / 4.0) * np.hypot(magnitude, 0.2),
        "relative_rms_error": rms,
        # a tenth of the record
        "time_warping_distance": time_warping_distance(tone(), tone(0.2 * np.pi, 1.2), N // 10),
    }
    assert values(found) == pytest.approx(expected, abs=1e-12)
    assert (found.n_samples, found.left_out) == (N, 0) and found.warping_window == pytest.approx(0.1 * N * DT)


def test_a_perfect_model_has_no_error():
    assert values(compare_histories(tone(), tone(), DT)) == pytest.approx(dict.fromkeys(MEASURES, 0.0), abs=1e-15)


def test_instants_without_a_number_are_left_out_of_both_and_counted():
    measured, model = tone(), tone(0.3, 0.9)
    holes = [3, 100, 101, 499]
    kept = np.delete(np.arange(N), holes)
    expected = compare_histories(measured[kept], model[kept], DT)
    measured[[3, 100]], model[[100, 101]], model[499] = np.nan, np.nan, np.inf
    found = compare_histories(measured, model, DT)
    assert (found.n_samples, found.left_out) == (N - 4, 4)
    assert values(found) == values(expected)
    # the caller's arrays are not mended
    assert np.isnan(measured[3])


def test_zero_throughout_means_nothing():
    assert np.isnan(list(values(compare_histories(0.0 * TIME, tone(), DT)).values())).all()
    of_nothing = values(compare_histories(tone(), 0.0 * TIME, DT))
    left = {name: value for name, value in of_nothing.items() if not np.isnan(value)}
    expected = {"sprague_geers_magnitude": -1.0, "relative_rms_error": 1.0, "time_warping_distance": 1.0}
    assert left == pytest.approx(expected)


def test_fewer_than_two_common_samples_are_not_compared():
    assert compare_histories(np.full(5, np.nan), np.ones(5), DT) is None
    assert compare_histories(np.array([1.0, np.nan, 3.0]), np.array([1.0, 2.0, np.nan]), DT) is None
