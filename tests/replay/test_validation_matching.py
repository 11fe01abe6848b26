"""Records at the model's instants: every sample where it belongs, nothing invented, and all that is left out told."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.formats import RecordingError
from replay.validation.alignment import match
from replay.validation.records import MeasuredRecord

INSTANTS = 0.02 * np.arange(101)


def smooth(time):
    return np.sin(3.0 * time) + 0.2 * time


def record(time, response=None, name="r.csv", notes=()):
    return MeasuredRecord(name, time, smooth(time) if response is None else response, "m", notes)


def matched(one, shift=0.0, **words):
    found = match([one], INSTANTS, [shift], **words)
    return found.measured[:, 0], found.notes


@pytest.mark.parametrize("factor", [1, 2, 5])
def test_the_same_rate_or_one_finer_by_a_whole_factor_is_taken_as_it_is(factor):
    time = 0.02 / factor * np.arange(100 * factor + 1)
    found, notes = matched(record(time))
    np.testing.assert_array_equal(found, smooth(time)[::factor])
    assert notes == ()


def test_times_that_were_rounded_when_written_meet_the_instants():
    rng = np.random.default_rng(0)
    found, _ = matched(record(INSTANTS + 1e-4 * rng.uniform(-1.0, 1.0, len(INSTANTS)), smooth(INSTANTS)))
    np.testing.assert_array_equal(found, smooth(INSTANTS))


@pytest.mark.parametrize(("dt", "there"), [(0.04, 51), (0.013, 8)])
def test_another_rate_is_told_and_interpolated_only_if_asked(dt, there):
    one = record(dt * np.arange(round(2.0 / dt) + 2))
    complaint = (
        rf"^r\.csv: has a sample every {dt:g} s, and one at only {there} of the model's 101 instants \(every 0"
    )
    with pytest.raises(RecordingError, match=complaint):
        matched(one)
    found, notes = matched(one, resample=True)
    # a cubic spline's error: 5/384 h^4 max |f''''|, and more at the ends
    assert np.abs(found - smooth(INSTANTS)).max() < 0.02 * dt**4 * 81.0 * 10.0
    assert notes[0] == "r.csv: interpolated at the model's 101 instants"


@given(st.integers(-20, 20), st.integers(1, 3))
def test_a_whole_shift_reads_the_samples_later(steps, factor):
    time = 0.02 / factor * np.arange(100 * factor + 1)
    found, _ = matched(record(time), 0.02 * steps)
    expected = np.full(101, np.nan)
    places = np.arange(101) + steps
    inside = (places >= 0) & (places <= 100)
    expected[inside] = smooth(time)[factor * places[inside]]
    np.testing.assert_array_equal(found, expected)


@given(st.floats(-0.3, 0.3))
def test_a_broken_shift_is_interpolated(shift):
    found, _ = matched(record(INSTANTS), shift, resample=True)
    inside = (INSTANTS + shift >= 0.0) & (INSTANTS + shift <= 2.0)
    # a sample within a hundredth of a step of the instant is taken as it is; the slope is up to 3.2
    taken = abs(shift / 0.02 - round(shift / 0.02)) <= 0.0101
    np.testing.assert_allclose(found[inside], smooth(INSTANTS + shift)[inside], atol=7e-4 if taken else 2e-5)
    assert np.isnan(found[(INSTANTS + shift < -2e-4) | (INSTANTS + shift > 2.0 + 2e-4)]).all()


@pytest.mark.parametrize(("first", "last"), [(0, 60), (30, 101), (30, 60)])
def test_a_record_shorter_than_the_model_says_nothing_of_the_rest(first, last):
    found, notes = matched(record(INSTANTS[first:last]))
    np.testing.assert_array_equal(found[first:last], smooth(INSTANTS)[first:last])
    assert np.isnan(np.delete(found, slice(first, last))).all()
    (note,) = notes
    assert note == f"r.csv: has no data at {101 - last + first} of the model's 101 instants: they are not assessed"


def test_a_record_longer_than_the_model_is_told():
    _, (note,) = matched(record(0.02 * np.arange(151)))
    assert note == "r.csv: runs to 3 s, the model only to 2 s: assessed up to there"


@pytest.mark.parametrize("start", [2.5, -7.0])
def test_no_time_in_common(start):
    with pytest.raises(
        RecordingError, match=r"^r\.csv: runs from .* s and the model from 0 to 2 s: they have no time"
    ):
        matched(record(start + INSTANTS))


def test_a_missing_sample_is_missing_at_its_instant_alone_and_counted():
    response = smooth(INSTANTS)
    response[[7, 50]] = np.nan
    found, notes = matched(record(INSTANTS, response))
    np.testing.assert_array_equal(found, response)
    assert notes == ("r.csv: 2 of 101 instants are not assessed: the sample is missing",)


def test_rows_that_were_lost_are_missing_samples():
    kept = np.delete(np.arange(101), [20, 21, 22, 60])
    found, notes = matched(record(INSTANTS[kept]))
    np.testing.assert_array_equal(found[kept], smooth(INSTANTS)[kept])
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(found)), [20, 21, 22, 60])
    assert notes == ("r.csv: 4 of 101 instants are not assessed: the sample is missing",)


@pytest.mark.parametrize("lost", ["rows", "cells"])
@pytest.mark.parametrize("dt", [0.013, 0.015])
def test_nothing_is_interpolated_over_what_is_missing(lost, dt):
    time = dt * np.arange(round(2.0 / dt) + 2)
    # with the coarser steps the samples at its rims stand at instants
    hole = (time > 0.49) & (time < 0.71)
    one = record(time[~hole]) if lost == "rows" else record(time, np.where(hole, np.nan, smooth(time)))
    found, notes = matched(one, resample=True)
    before, after = time[~hole & (time < 0.6)][-1], time[~hole & (time > 0.6)][0]
    unknown = (before + 1e-9 < INSTANTS) & (after - 1e-9 > INSTANTS)
    np.testing.assert_array_equal(np.isnan(found), unknown)
    np.testing.assert_allclose(found[~unknown], smooth(INSTANTS)[~unknown], atol=1e-4)
    assert f"r.csv: {int(unknown.sum())} of 101 instants are not assessed: the sample is missing" in notes


def test_a_record_of_missing_samples_stays_one():
    response = np.full(101, np.nan)
    response[3] = 1.0
    for words in ({}, {"resample": True}):
        found, _ = matched(record(INSTANTS, response), 0.005 if words else 0.0, **words)
        assert np.isnan(found).sum() >= 100


def test_replicates_stand_side_by_side_each_with_its_own_shift_and_notes():
    ones = [record(INSTANTS, name="a"), record(INSTANTS, 2.0 * smooth(INSTANTS), "b", ("no header",))]
    found = match(ones, INSTANTS, [0.0, 0.04])
    assert found.measured.shape == (101, 2) and found.measured.flags.c_contiguous
    np.testing.assert_array_equal(found.measured[:, 0], smooth(INSTANTS))
    np.testing.assert_array_equal(found.measured[:-2, 1], 2.0 * smooth(INSTANTS)[2:])
    assert found.notes[0] == "b: no header"


def test_a_single_instant():
    found = match([record(INSTANTS)], INSTANTS[40:41], [0.0])
    np.testing.assert_array_equal(found.measured, [[smooth(INSTANTS)[40]]])
    with pytest.raises(RecordingError, match=r"at only 0 of the model's 1 instants: check"):
        match([record(INSTANTS)], INSTANTS[40:41] + 0.007, [0.0])
