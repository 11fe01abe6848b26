"""Numbers that nobody can read are let go by; the newest is never lost, and nothing unknown is hidden."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gui.model.timeline import ClockSegment
from gui.plots.time.headers import Readout, ReadoutThrottle
from gui.plots.time.rows import Frame, Interval

TICK = 0.04


def frame(end):
    """A run shorter than its axis: the right edge stands still while samples come."""
    return Frame(0.0, 60.0, segments=(ClockSegment(0.0, end, 0.0, 1),))


def reading(value, stale=""):
    return [Readout([Interval(value, value)], None, stale)]


def shown(pace, end, value, stale="", more=True, live=True):
    pace.update(frame(end), more=more)
    found = pace.choose(reading(value, stale), live=live)
    return found[0].values[0].low


def test_there_are_five_numbers_a_second_while_more_are_on_their_way():
    pace = ReadoutThrottle()
    said = [shown(pace, k * TICK, float(k)) for k in range(250)]
    assert len(set(said)) <= 5 * 250 * TICK + 1
    # none of them is older than a fifth of a second
    assert max(k - value for k, value in enumerate(said)) * TICK < 0.2 + 1e-9


def test_the_newest_is_shown_once_nothing_more_comes():
    pace = ReadoutThrottle()
    shown(pace, 1.0, 1.0)
    assert shown(pace, 1.0 + TICK, 2.0) == 1.0
    assert pace.pending
    pace.flush()
    assert pace.choose(reading(2.0), live=True)[0].values[0].low == 2.0
    assert not pace.pending
    # the same instant again is nothing more
    assert shown(pace, 1.0 + 2 * TICK, 3.0) == 2.0
    assert shown(pace, 1.0 + 2 * TICK, 3.0) == 3.0


@given(st.lists(st.tuples(st.sampled_from([1.0, 2.0, math.nan]), st.sampled_from(["", "stale"])), min_size=1))
def test_what_is_unknown_or_old_is_said_at_once(said):
    pace = ReadoutThrottle()
    for k, (value, stale) in enumerate(said):
        pace.update(frame(k * TICK), more=True)
        found = pace.choose(reading(value, stale), live=True)[0]
        assert np.isnan(found.values[0].low) == math.isnan(value)
        assert found.stale == stale


def test_what_a_cursor_shows_is_shown_at_once_and_does_not_stay():
    pace = ReadoutThrottle()
    assert shown(pace, 1.0, 1.0) == 1.0
    assert shown(pace, 1.0 + TICK, 7.0, live=False) == 7.0
    assert shown(pace, 1.0 + 2 * TICK, 2.0) == 2.0


def test_without_more_to_come_every_number_is_shown():
    pace = ReadoutThrottle()
    assert [shown(pace, k * TICK, float(k), more=False) for k in range(9)] == list(range(9))


def test_other_rows_are_other_numbers():
    pace = ReadoutThrottle()
    shown(pace, 1.0, 1.0)
    pace.reset()
    assert shown(pace, 1.0 + TICK, 2.0) == 2.0
