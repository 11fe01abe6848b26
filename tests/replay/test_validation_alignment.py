"""The lag of a record behind the model: known shifts are found, and none is found where there is none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.fft import rfft

from replay.validation import alignment
from replay.validation.alignment import has_equal_steps, lag
from replay.validation.records import MeasuredRecord
from tests.oracles.lagged_correlation import lag_by_each_shift

DT = 0.01
INSTANTS = DT * np.arange(401)
FREQUENCIES = np.array([0.6, 1.1, 1.7, 2.9])
PHASES = np.array([0.3, 2.0, 4.0, 5.5])


def motion(time):
    """Return four tones without a common period: only one shift fits."""
    return np.cos(2.0 * np.pi * np.multiply.outer(time, FREQUENCIES) + PHASES).sum(axis=-1)


def record(time, response):
    return MeasuredRecord("r.csv", time, response)


def late(shift, time=INSTANTS):
    return record(time, motion(time - shift))


@given(st.integers(-30, 30))
def test_a_whole_number_of_steps(steps):
    assert lag(late(steps * DT), INSTANTS, motion(INSTANTS)) == pytest.approx(steps * DT, abs=0.02 * DT)


@given(st.floats(-0.3, 0.3))
def test_a_broken_number_of_steps(shift):
    assert lag(late(shift), INSTANTS, motion(INSTANTS)) == pytest.approx(shift, abs=0.05 * DT)


@given(st.floats(-0.3, 0.3), st.sampled_from([0.02, 0.004, 0.0037]))
def test_another_rate_of_the_record(shift, dt):
    time = dt * np.arange(round(4.0 / dt) + 1)
    assert lag(late(shift, time), INSTANTS, motion(INSTANTS)) == pytest.approx(shift, abs=0.2 * DT)


@given(st.floats(0.1, 100.0), st.floats(-50.0, 50.0))
def test_size_and_offset_do_not_matter(gain, offset):
    one = record(INSTANTS, gain * motion(INSTANTS - 0.05) + offset)
    assert lag(one, INSTANTS, motion(INSTANTS)) == pytest.approx(0.05, abs=0.02 * DT)


def test_noise_moves_it_little():
    rng = np.random.default_rng(0)
    noisy = record(INSTANTS, motion(INSTANTS + 0.073) + 0.5 * rng.standard_normal(401))
    assert lag(noisy, INSTANTS, motion(INSTANTS)) == pytest.approx(-0.073, abs=DT)


def test_missing_samples_are_bridged():
    response = motion(INSTANTS - 0.05)
    response[[3, 4, 5, 200]] = np.nan
    assert lag(record(INSTANTS, response), INSTANTS, motion(INSTANTS)) == pytest.approx(0.05, abs=0.02 * DT)


@pytest.mark.parametrize("part", [slice(0, 150), slice(250, 401), slice(100, 250)])
def test_a_record_of_a_part_of_the_time(part):
    time = INSTANTS[part]
    assert lag(late(-0.04, time), INSTANTS, motion(INSTANTS)) == pytest.approx(-0.04, abs=0.05 * DT)


def test_the_largest_lag_is_a_tenth_of_the_time_or_what_is_asked_for():
    model = motion(INSTANTS)
    for shift in (0.7, -0.7):
        assert np.isnan(lag(late(shift), INSTANTS, model))
        assert lag(late(shift), INSTANTS, model, largest=1.0) == pytest.approx(shift, abs=0.05 * DT)
    # the largest coefficient at the end of the range is no maximum
    assert np.isnan(lag(late(0.1), INSTANTS, model, largest=0.05))


@pytest.mark.parametrize(
    "response",
    [np.zeros(401), np.full(401, 3.0), np.full(401, np.nan), np.random.default_rng(1).standard_normal(401)],
    ids=["no motion", "constant", "no number", "noise"],
)
def test_where_nothing_is_to_be_told(response):
    assert np.isnan(lag(record(INSTANTS, response), INSTANTS, motion(INSTANTS)))
    assert np.isnan(lag(late(0.0), INSTANTS, np.ones(401)))


@pytest.mark.parametrize("n", [1, 2])
def test_too_few_instants(n):
    assert np.isnan(lag(late(0.0), INSTANTS[:n], motion(INSTANTS[:n])))
    assert np.isnan(lag(late(0.0, INSTANTS[:n]), INSTANTS, motion(INSTANTS)))


def test_no_time_in_common():
    assert np.isnan(lag(record(INSTANTS + 100.0, motion(INSTANTS)), INSTANTS, motion(INSTANTS)))


@given(
    seed=st.integers(0, 10_000),
    n=st.integers(30, 90),
    samples=st.integers(80, 200),
    begins=st.floats(-1.2, 0.5),
    holes=st.integers(0, 6),
    largest=st.floats(0.0, 1.5),
    offset=st.sampled_from([0.0, 3.0, -1e4]),
)
def test_all_shifts_at_once_are_each_alone(seed, n, samples, begins, holes, largest, offset):
    chance = np.random.default_rng(seed)
    instants = 0.3 + 0.02 * np.arange(n)
    # with many samples no two shifts are as good as each other
    model = chance.standard_normal(n).cumsum() + offset
    time = begins + np.sort(chance.uniform(0.0, 2.0, samples))
    late = np.interp(time - chance.uniform(-0.4, 0.4), instants, model)
    response = 2.0 * late + 0.3 * chance.standard_normal(samples) - offset
    response[chance.integers(0, samples, holes)] = np.nan
    known = np.isfinite(response)
    expected = lag_by_each_shift(time[known], response[known], instants, model, largest)
    assert lag(record(time, response), instants, model, largest) == pytest.approx(expected, abs=1e-6, nan_ok=True)


def test_a_long_record_costs_no_more_than_its_transforms(monkeypatch):
    n, late = 100_000, 0.0123
    instants = 1e-3 * np.arange(n)
    chance = np.random.default_rng(2)
    smooth = np.convolve(chance.standard_normal(n + 2000), np.hanning(400), "same")
    model, response = smooth[1000:-1000], np.interp(instants - late, 1e-3 * np.arange(-1000, n + 1000), smooth)
    transforms = []
    monkeypatch.setattr(alignment, "rfft", lambda *given: transforms.append(given) or rfft(*given))
    assert lag(record(instants, response), instants, model) == pytest.approx(late, abs=2e-5)
    assert len(transforms) == 2


def test_steps_that_are_not_equal_tell_no_lag():
    bent = INSTANTS * (1.0 + 0.1 * INSTANTS)
    assert has_equal_steps(INSTANTS) and not has_equal_steps(bent)
    assert np.isnan(lag(record(bent, motion(bent - 0.05)), bent, motion(bent)))
    # times written with two digits more than their step
    rounded = np.round(INSTANTS * 1.0173, 3)
    assert has_equal_steps(rounded)
    assert lag(late(0.05), rounded, motion(rounded)) == pytest.approx(0.05, abs=0.1 * DT)
    for n in (1, 2):
        assert has_equal_steps(bent[:n])
