"""The axis: it never goes back, a restart goes on after a pause, and every place leads back to the rig's time."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gui.model.timeline import DisplayTimeline

# what happens next: samples that follow, a gap, a restart, a clock that jumps
steps = st.lists(
    st.tuples(
        st.sampled_from(["follow", "follow", "gap", "restart", "jump", "interrupt"]),
        st.integers(1, 500),
        st.floats(-1e4, 2e9),
    ),
    min_size=1,
    max_size=20,
)
rates = st.sampled_from([0.1, 1.0, 10.0, 100.0, 1000.0, 1024.0, 51.2, 100.0 / 3.0])


def told(steps, rate):
    """Give (kind, epoch, index, time, n) of blocks as a rig would send them."""
    epoch, index, start = 1, 7, steps[0][2]
    for kind, n, time in steps:
        if kind == "restart":
            epoch, index, start = epoch + 1, n, time
        elif kind == "jump":
            start += 5.0 + 100.0 / rate
        elif kind == "gap":
            index += n
        yield kind, epoch, index, start + index / rate, n
        index += n


@given(steps=steps, rate=rates)
def test_x_never_goes_back_and_leads_back_to_the_rigs_time(steps, rate):
    timeline = DisplayTimeline()
    newest, before = -math.inf, None
    for kind, epoch, index, time, n in told(steps, rate):
        # what a float cannot tell of a time apart is no sample either
        assume(math.ulp(abs(time) + n / rate) * 100 < 1 / rate)
        if kind == "interrupt":
            timeline.interrupt()
        x = timeline.place(epoch, index, time, rate)
        assert x * rate == pytest.approx(round(x * rate), abs=1e-5)
        segment = timeline.segments[-1]
        assert x > newest
        if kind == "follow" and before is not None:
            assert x == pytest.approx(before + 1 / rate)
        if kind in ("restart", "jump", "interrupt") and before is not None:
            pause = x - newest
            assert 1.0 - 0.6 / rate <= pause < 2.0 + 1.0 / rate or pause == pytest.approx(1 / rate)
        assert segment.offset == round(segment.offset) and segment.epoch == epoch
        half = max(0.5 / rate, 0.5 * (rate < 1.0))
        assert timeline.time_at(x) == pytest.approx(time, abs=half + 1e-5)
        newest = before = timeline.reach(index + n - 1)
        assert timeline.end == newest == pytest.approx(x + (n - 1) / rate)
    ends = [(segment.x_begin, segment.x_end) for segment in timeline.segments]
    assert all(one[1] < other[0] for one, other in pairwise(ends))
    assert ends[0][0] < 1.0 + 1.0 / rate
    # there and back
    for segment in timeline.segments:
        for x in (segment.x_begin, segment.x_end, (segment.x_begin + segment.x_end) / 2):
            time = timeline.time_at(x)
            assert time == pytest.approx(x + segment.offset)
            again = timeline.x_of(time, segment.epoch)
            twins = [s for s in timeline.segments if s.epoch == segment.epoch and s.holds(time)]
            assert again == pytest.approx(time - twins[-1].offset)


def test_before_all_and_in_a_break_there_is_no_time():
    timeline = DisplayTimeline()
    assert math.isnan(timeline.time_at(0.0)) and timeline.x_of(5.0) == 0.0
    assert timeline.segments == () and timeline.epoch is None and timeline.end == -math.inf
    timeline.place(1, 0, 100.25, 100.0)
    timeline.reach(200)
    timeline.place(2, 0, 7.0, 100.0)
    first, second = timeline.segments
    assert (first.x_begin, first.x_end, first.offset) == (0.25, 2.25, 100.0)
    assert (second.x_begin, second.offset) == (4.0, 3.0)
    assert math.isnan(timeline.time_at(0.2)) and math.isnan(timeline.time_at(3.0))
    assert timeline.time_at(2.25) == 102.25 and timeline.time_at(4.0) == 7.0
    # what is to come
    assert timeline.time_at(10.0) == 13.0
    assert timeline.epoch == 2


def test_events_go_to_the_newest_segment_that_holds_them():
    timeline = DisplayTimeline()
    for epoch in (1, 2, 3):
        timeline.place(epoch, 0, 10.0, 100.0)
        timeline.reach(100)
    begins = [segment.x_begin for segment in timeline.segments]
    assert timeline.x_of(10.5) == begins[2] + 0.5
    assert timeline.x_of(10.5, 1) == begins[0] + 0.5
    # clipped, of an epoch that is not known too
    assert timeline.x_of(99.0, 1) == begins[0] + 1.0
    assert timeline.x_of(-99.0, 2) == begins[1]
    assert timeline.x_of(99.0, 7) == begins[2] + 1.0
    assert timeline.x_of(math.nan) == begins[2] + 1.0
    assert timeline.x_of(math.inf) == begins[2] + 1.0


def test_signals_and_results_may_take_turns():
    timeline = DisplayTimeline()
    for start in range(0, 400, 40):
        one = timeline.place(1, start, start / 100.0, 100.0)
        timeline.reach(start + 39)
        assert timeline.place(1, start, start / 100.0, 100.0) == one == start / 100.0
        assert timeline.place(1, start + 10, (start + 10) / 100.0, 100.0) == pytest.approx(one + 0.1)
    assert len(timeline.segments) == 1


@pytest.mark.parametrize("wrong", [0.97, 0.9999, 1.00001, 1.03])
def test_a_rate_that_is_not_quite_right_makes_no_break(wrong):
    timeline = DisplayTimeline()
    for start in range(0, 100_000, 100):
        x = timeline.place(1, start, start * wrong / 1000.0, 1000.0)
        assert x == pytest.approx(start / 1000.0)
        assert timeline.time_at(x) == pytest.approx(start * wrong / 1000.0, abs=0.11)
        timeline.reach(start + 99)
    segments = timeline.segments
    drift = abs(wrong - 1.0) * 100.0
    assert len(segments) <= 2 + 2 * drift / 0.1
    assert all(b.x_begin - a.x_end < 0.0011 for a, b in pairwise(segments))
    assert {round(10 * segment.offset, 6) % 1 for segment in segments} == {0.0}


def test_segments_are_bounded_in_number():
    timeline = DisplayTimeline()
    for epoch in range(6000):
        x = timeline.place(epoch, 0, 0.0, 100.0)
    assert len(timeline.segments) == 4096
    assert timeline.segments[-1].x_begin == x
    assert math.isnan(timeline.time_at(0.0))


@pytest.mark.parametrize("time", [math.nan, math.inf, -math.inf, 1e300, -1e300])
def test_a_clock_that_says_nonsense_is_survived(time):
    timeline = DisplayTimeline()
    newest = timeline.place(1, 0, time, 100.0)
    for epoch, index in ((1, 10), (2, 0)):
        x = timeline.place(epoch, index, time, 100.0)
        assert math.isfinite(x) and x > newest
        newest = x
    assert math.isfinite(timeline.place(2, 10, 5.0, 100.0))


def test_a_run_goes_on_where_a_clock_is_followed_and_ends_with_a_restart():
    timeline, rate = DisplayTimeline(), 100.0
    for index in range(0, 100_000, 100):
        # 0.2 s behind after 1000 s; samples are lost where it is found out
        if not 50_000 < index < 52_000:
            timeline.place(1, index, 5.0 + index / rate * (1.0 - 200e-6), rate)
            timeline.reach(index + 99)
    followed = timeline.segments
    assert [segment.follows for segment in followed] == [False] + [True] * (len(followed) - 1)
    assert len(followed) > 1
    assert {timeline.run_of(x) for x in np.linspace(followed[0].x_begin, timeline.end, 997)} == {followed[0].x_begin}
    ended = timeline.end
    restart = timeline.place(2, 0, 5.0, rate)
    assert math.isnan(timeline.run_of(followed[0].x_begin - 0.1))
    assert math.isnan(timeline.run_of(0.5 * (ended + restart)))
    assert timeline.run_of(restart) == timeline.run_of(restart + 9.0) == restart


def test_samples_that_an_epoch_taken_up_again_numbers_anew_are_told():
    timeline = DisplayTimeline()
    for epoch, first, n in ((1, 0, 100), (2, 0, 100), (1, 60, 100), (1, 300, 50)):
        timeline.interrupt()
        timeline.place(epoch, first, 10.0 * epoch + first / 100.0, 100.0)
        timeline.reach(first + n - 1)
    assert [timeline.numbered_once(segment) for segment in timeline.segments] == [False, True, False, True]
