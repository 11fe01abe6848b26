"""Sprague and Geers' and Russell's errors: closed forms, the printed formulas, and what must not change them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.integrate import quad

from replay.validation.error_measures import norm, russell, sprague_geers

N = 400
TIME = np.arange(N) / N
histories = st.lists(st.floats(-1e3, 1e3), min_size=4, max_size=40)


def tone(phase=0.0, size=1.0, cycles=5):
    """Return whole cycles, so that the sums over the samples are the integrals over the cycles."""
    return size * np.sin(2.0 * np.pi * cycles * TIME - phase)


def printed_phase(measured, model):
    return np.arccos(np.sum(measured * model) / np.sqrt(np.sum(measured**2) * np.sum(model**2))) / np.pi


def printed_sprague_geers(measured, model):
    magnitude, phase = np.sqrt(np.sum(model**2) / np.sum(measured**2)) - 1.0, printed_phase(measured, model)
    return magnitude, phase, np.sqrt(magnitude**2 + phase**2)


def printed_russell(measured, model):
    squares, phase = (np.sum(model**2), np.sum(measured**2)), printed_phase(measured, model)
    relative = (squares[0] - squares[1]) / np.sqrt(squares[0] * squares[1])
    magnitude = np.sign(relative) * np.log10(1.0 + np.abs(relative))
    return magnitude, phase, np.sqrt(np.pi / 4.0 * (magnitude**2 + phase**2))


@pytest.mark.parametrize("size", [0.5, 0.9999, 1.0, 1.2, 40.0])
def test_a_scaled_copy_has_no_phase(size):
    record = np.random.default_rng(1).standard_normal(N)
    magnitude, phase, combined = sprague_geers(record, size * record)
    assert magnitude == pytest.approx(size - 1.0, abs=1e-14)
    assert phase == pytest.approx(0.0, abs=1e-15)
    assert combined == pytest.approx(abs(size - 1.0), abs=1e-14)


@pytest.mark.parametrize("angle", [1e-12, 1e-6, 0.3, np.pi / 2.0, 3.0, np.pi])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_tone_shifted_by_an_angle_has_only_phase(angle, sign):
    magnitude, phase, combined = sprague_geers(tone(), tone(sign * angle))
    assert magnitude == pytest.approx(0.0, abs=1e-14)
    # the tenth of a wave that is 1e-12 still has three digits, where the arccosine has none
    assert phase == pytest.approx(angle / np.pi, rel=1e-12, abs=1e-15)
    assert combined == pytest.approx(phase, rel=1e-9)


def test_both_errors_of_a_tone():
    error = sprague_geers(tone(), tone(phase=0.2 * np.pi, size=1.2))
    assert error == pytest.approx((0.2, 0.2, 0.2 * np.sqrt(2.0)), abs=1e-14)
    relative = 1.2 - 1.0 / 1.2
    magnitude = np.log10(1.0 + relative)
    expected = magnitude, 0.2, np.sqrt(np.pi / 4.0 * (magnitude**2 + 0.04))
    assert russell(tone(), tone(phase=0.2 * np.pi, size=1.2)) == pytest.approx(expected, abs=1e-14)


def test_sums_are_the_integrals_of_decaying_waves():
    def wave(t, start):
        return np.exp(start - t) * np.sin(2.0 * np.pi * (t - start))

    integrals = [
        quad(lambda t, a=a, b=b: wave(t, a) * wave(t, b), 0.3, 2.3, epsabs=1e-13)[0]
        for a, b in [(0.14, 0.14), (0.24, 0.24), (0.14, 0.24)]
    ]
    magnitude = np.sqrt(integrals[1] / integrals[0]) - 1.0
    phase = np.arccos(integrals[2] / np.sqrt(integrals[0] * integrals[1])) / np.pi
    # midpoints, whose sum errs by the square of the step
    time = 0.3 + (np.arange(20000) + 0.5) * 1e-4
    error = sprague_geers(wave(time, 0.14), wave(time, 0.24))
    assert error == pytest.approx((magnitude, phase, np.hypot(magnitude, phase)), abs=1e-7)


@given(histories, st.integers(0, 2**32 - 1))
def test_both_are_their_printed_formulas(samples, seed):
    measured = np.array(samples)
    assume(np.max(np.abs(measured)) > 1e-3)
    model = measured + np.random.default_rng(seed).standard_normal(len(measured)) * np.max(np.abs(measured))
    assert sprague_geers(measured, model) == pytest.approx(printed_sprague_geers(measured, model), abs=1e-7)
    assert russell(measured, model) == pytest.approx(printed_russell(measured, model), abs=1e-7)


@given(histories, st.integers(0, 2**32 - 1), st.floats(-200.0, 200.0))
def test_the_bounds_and_a_common_scale(samples, seed, exponent):
    measured = np.array(samples)
    assume(np.max(np.abs(measured)) > 1e-3)
    model = np.random.default_rng(seed).standard_normal(len(measured))
    for errors in (sprague_geers, russell):
        magnitude, phase, combined = errors(measured, model)
        assert 0.0 <= phase <= 1.0
        assert combined >= (abs(magnitude) if errors is sprague_geers else np.sqrt(np.pi / 4.0) * abs(magnitude))
        # squares of 1e-200 and 1e200 would under- and overflow
        scale = 10.0**exponent
        assert errors(scale * measured, scale * model) == pytest.approx((magnitude, phase, combined), rel=1e-12)


@given(histories, st.integers(0, 2**32 - 1))
def test_what_changing_places_does(samples, seed):
    a, b = np.array(samples), np.random.default_rng(seed).standard_normal(len(samples))
    assume(np.max(np.abs(a)) > 1e-3)
    there, back = sprague_geers(a, b), sprague_geers(b, a)
    assert there.phase == pytest.approx(back.phase, abs=1e-15)
    assert (1.0 + there.magnitude) * (1.0 + back.magnitude) == pytest.approx(1.0, rel=1e-12)
    there, back = russell(a, b), russell(b, a)
    assert there == pytest.approx((-back.magnitude, back.phase, back.combined), rel=1e-9, abs=1e-12)


def test_a_model_too_large_is_positive():
    for errors in (sprague_geers, russell):
        assert errors(tone(), tone(size=1.1)).magnitude > 0.0 > errors(tone(), tone(size=0.9)).magnitude


def test_zero_throughout():
    for errors in (sprague_geers, russell):
        assert np.isnan(errors(0.0 * TIME, tone())).all()
        assert np.isnan(errors(0.0 * TIME, 0.0 * TIME)).all()
    assert np.isnan(russell(tone(), 0.0 * TIME)).all()
    magnitude, phase, combined = sprague_geers(tone(), 0.0 * TIME)
    assert magnitude == -1.0
    assert np.isnan([phase, combined]).all()


def test_a_norm_of_the_smallest_and_largest_numbers():
    assert norm(np.array([3e-320, 4e-320])) == pytest.approx(5e-320, rel=1e-3)
    assert norm(np.array([3e307, -4e307])) == pytest.approx(5e307)
