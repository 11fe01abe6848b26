"""Labels are the rig's times, of every segment its own."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gui.model.timeline import ClockSegment
from gui.plots.time.axis import TimeScale, axis_unit, breaks, segment_at, tick_text, time_ticks

TWO = (ClockSegment(0.0, 8.0, 100.0, 1), ClockSegment(9.0, 20.0, -9.0, 2))


@given(st.floats(0.0, 1e5), st.floats(0.02, 9e4), st.floats(0.0, 1.0))
def test_pixels_and_instants_are_each_others_inverse(left, span, share):
    scale = TimeScale(left, left + span, 60.0, 1000.0)
    x = left + share * span
    assert scale.x(scale.pixel(x)) == pytest.approx(x, abs=1e-7 * span)
    assert scale.pixels(np.array([x]))[0] == pytest.approx(scale.pixel(x))


def test_labels_are_of_the_rigs_clock_in_each_segment():
    found = time_ticks(TimeScale(0.0, 16.0, 0.0, 800.0), TWO, 90.0)
    assert [(tick.x, tick.text) for tick in found] == [
        *[(x, f"{x + 100:.0f}") for x in (0.0, 2.0, 4.0, 6.0, 8.0)],
        *[(x, f"{x - 9:.0f}") for x in (9.0, 11.0, 13.0, 15.0)],
    ]


def test_there_is_no_label_in_a_break():
    assert [tick for tick in time_ticks(TimeScale(8.1, 8.9, 0.0, 800.0), TWO, 90.0) if tick.x < 9.0] == []
    assert list(breaks(TWO, 0.0, 16.0)) == [(8.0, 9.0)]
    assert list(breaks(TWO, 9.5, 16.0)) == []


def test_a_clock_in_nanoseconds_has_labels_only_where_its_floats_tell_them_apart():
    # floats are 256 apart at 1.7e18
    segments = (ClockSegment(0.0, 1e5, 1.7e18, 1),)
    assert time_ticks(TimeScale(0.0, 30.0, 0.0, 800.0), segments, 90.0) == []
    found = [tick.x for tick in time_ticks(TimeScale(0.0, 1e5, 0.0, 800.0), segments, 90.0)]
    assert len(found) >= 3
    assert len(set(found)) == len(found)


@pytest.mark.parametrize(("x", "epoch"), [(-1.0, None), (0.0, 1), (8.0, 1), (8.5, None), (9.0, 2), (25.0, 2)])
def test_which_segment_an_instant_is_in(x, epoch):
    found = segment_at(TWO, x)
    assert (None if found is None else found.epoch) == epoch


def test_a_clock_that_counts_from_1970_is_shown_as_time_of_day():
    begin = datetime(2026, 3, 1, 14, 3, 20).timestamp()
    segments = (ClockSegment(0.0, 60.0, begin, 1),)
    found = time_ticks(TimeScale(0.0, 60.0, 0.0, 600.0), segments, 90.0)
    assert [tick.text for tick in found] == [
        "14:03:20",
        "14:03:30",
        "14:03:40",
        "14:03:50",
        "14:04:00",
        "14:04:10",
        "14:04:20",
    ]
    assert axis_unit(segments) == "h:min:s"
    assert axis_unit(TWO) == "time [s]"
    finer = time_ticks(TimeScale(0.0, 0.6, 0.0, 600.0), segments, 90.0)
    assert finer[1].text == "14:03:20.1"


@given(st.floats(0.02, 9e4), st.floats(0.0, 1e4), st.integers(200, 3000))
def test_labels_are_few_and_lie_in_the_span(span, left, width):
    segments = (ClockSegment(0.0, left + span, 3.0, 1),)
    found = time_ticks(TimeScale(left, left + span, 0.0, width), segments, 100.0)
    assert len(found) <= width / 100.0 + 1.0
    assert all(left - 1e-5 * span <= tick.x <= left + span * (1.0 + 1e-5) for tick in found)


def test_a_label_has_as_many_digits_as_it_needs():
    assert tick_text(12345.678, 3) == "12345.678"
    assert tick_text(-0.5, 1) == "−0.5"
