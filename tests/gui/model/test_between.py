"""What is known of one instant: the value, or the range of its bucket, against all that ever came."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gui.model.pyramid import Envelope
from gui.model.results import ResultHistory
from gui.model.signals import SignalHistory
from monitor.messages.blocks import Channel, Column, ResultStream, Role, Stream

RATE = 100.0
N = 20_000
SAMPLES = np.random.default_rng(4).normal(size=(N, 2)).cumsum(axis=0)
CHANNELS = (Channel("command", Role.COMMAND, "m", "a"), Channel("measured", Role.MEASURED, "m", "a"))


@pytest.fixture(scope="module")
def signals():
    """Two hundred seconds of which the last 164 are kept as they came: no fewer rows are."""
    made = SignalHistory(Stream("rig", 1, RATE, CHANNELS), minutes=0.5, memory=64 << 20)
    made.append(0.0, SAMPLES)
    assert 30.0 < made.exact_begin_x < 40.0
    return made


@settings(max_examples=200, deadline=None)
@given(st.floats(0.0, (N - 1) / RATE))
def test_the_sample_lies_within_what_is_known_of_it(signals, x):
    nearest = round(x * RATE)
    low, high = signals.between(x, [1, 0])
    true = SAMPLES[nearest, [1, 0]]
    if nearest / RATE >= signals.exact_begin_x:
        np.testing.assert_array_equal((low, high), (true, true))
    else:
        bucket = SAMPLES[nearest // 16 * 16 :][:16, [1, 0]]
        np.testing.assert_array_equal(low, bucket.min(axis=0))
        np.testing.assert_array_equal(high, bucket.max(axis=0))


@pytest.mark.parametrize("x", [-1.0, N / RATE + 1.0, np.nan, np.inf])
def test_where_nothing_came_nothing_is_known(signals, x):
    assert np.isnan(signals.between(x, [0])).all()


def test_a_result_lies_within_what_is_known_of_it():
    columns = (Column("delay", "s", "a"), Column("ratio", "1", "a"))
    made = ResultHistory(ResultStream("rig", 1, 25.0, 1, columns), minutes=0.5, memory=64 << 20)
    made.append(0.0, SAMPLES)
    names = [("a", "ratio"), ("a", "none"), ("a", "delay")]
    for instant in (0, 15, 16, 3000, N - 1):
        low, high = made.between(instant / 25.0, names)
        kept = instant >= N - 1 - 10_000
        rows = SAMPLES[instant : instant + 1] if kept else SAMPLES[instant // 16 * 16 :][:16]
        np.testing.assert_array_equal(low, [rows[:, 1].min(), np.nan, rows[:, 0].min()])
        np.testing.assert_array_equal(high, [rows[:, 1].max(), np.nan, rows[:, 0].max()])
    assert np.isnan(made.between(np.nan, names)).all()


def test_buckets_reach_from_edge_to_edge():
    envelope = Envelope(np.array([1.0, 3.0, 5.0]), np.array([[1.0], [2.0]]), np.array([[4.0], [6.0]]), 2)
    known = {0.9: (np.nan, np.nan), 1.0: (1.0, 4.0), 2.9: (1.0, 4.0), 3.0: (2.0, 6.0), 5.0: (np.nan, np.nan)}
    for place, expected in known.items():
        np.testing.assert_array_equal(np.concatenate(envelope.at(place)), expected)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(
    ("begin", "end", "kept"),
    [(0.0, 9.0, [0, 1, 2]), (1.0, 7.0, [0, 1, 2]), (1.5, 7.0, [1, 2]), (3.0, 6.9, [1]), (3.5, 6.0, []),
     (8.0, 9.0, []), (-2.0, 0.0, []), (5.0, 5.0, []), (6.0, 2.0, [])],
)  # fmt: skip
def test_buckets_that_reach_out_are_left_out(begin, end, kept, exact):
    low = np.array([[1.0], [2.0], [3.0]])
    high = low if exact else low + 3.0
    found = Envelope(np.array([1.0, 3.0, 5.0, 7.0]), low, high, 2).within(begin, end)
    assert found.rows == 2 and found.exact == exact
    np.testing.assert_array_equal(found.low, low[kept])
    np.testing.assert_array_equal(found.high, high[kept])
    assert len(found.edges) == len(kept) + 1
    np.testing.assert_array_equal(found.edges[:-1], [1.0 + 2.0 * i for i in kept])
