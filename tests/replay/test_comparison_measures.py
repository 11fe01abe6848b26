"""All measures of two histories at once: their names, the holes, and what is refused."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from replay.validation.history_measures import HistoryComparison, compare_histories

N, DT = 500, 0.002
TIME = np.arange(N) * DT
MEASURES = [field.name for field in fields(HistoryComparison)[3:]]


def tone(phase=0.0, size=1.0):
    return size * np.sin(2.0 * np.pi * 4.0 * TIME - phase)


def values(comparison):
    return {name: getattr(comparison, name) for name in MEASURES}


def test_a_tone_of_known_errors():
    found = compare_histories(tone(), tone(0.2 * np.pi, 1.2), DT, warping_window=0.0)
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
        "time_warping_distance": rms,
    }
    assert values(found) == pytest.approx(expected, abs=1e-12)
    assert (found.n_samples, found.left_out, found.warping_window) == (N, 0, 0.0)


def test_a_perfect_model_has_no_error():
    assert values(compare_histories(tone(), tone(), DT)) == pytest.approx(dict.fromkeys(MEASURES, 0.0), abs=1e-15)


def test_the_window_is_a_tenth_of_the_record_or_what_is_asked():
    assert compare_histories(tone(), tone(0.1), DT).warping_window == pytest.approx(0.1 * N * DT)
    asked = compare_histories(tone(), tone(0.1), DT, warping_window=0.0205)
    assert asked.warping_window == pytest.approx(0.02)
    everything = compare_histories(tone(), tone(0.1), DT, warping_window=1e9)
    assert everything.warping_window == pytest.approx(N * DT)
    assert everything.time_warping_distance <= asked.time_warping_distance


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


@pytest.mark.parametrize(
    ("measured", "model", "dt", "window", "words"),
    [
        (tone(), tone()[1:], DT, None, "one length"),
        (np.full(5, np.nan), np.ones(5), DT, None, "0 samples are numbers"),
        (np.array([1.0, np.nan, 3.0]), np.array([1.0, 2.0, np.nan]), DT, None, "1 samples are numbers"),
        (tone(), tone(), 0.0, None, "time step is 0.0 s"),
        (tone(), tone(), np.nan, None, "time step is nan s"),
        (tone(), tone(), DT, -1.0, "window is -1.0 s"),
        (tone(), tone(), DT, np.inf, "window is inf s"),
    ],
)
def test_what_is_refused(measured, model, dt, window, words):
    with pytest.raises(ValueError, match=words):
        compare_histories(measured, model, dt, warping_window=window)
