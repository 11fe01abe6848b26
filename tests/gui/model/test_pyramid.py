"""Rows and envelopes in the pyramid: as they came, at coarser resolutions, between two instants, spliced."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gui.model.pyramid import Envelope, Pyramid, signal_levels, spliced
from gui.model.results import ResultHistory
from gui.model.signals import SignalHistory
from monitor.messages.blocks import Channel, Column, ResultStream, Role, Stream

LEVELS, FACTOR, WIDTH = (64, 40, 30), 4, 2


class Twin:
    """Every row that ever came, by its number."""

    def __init__(self):
        self.all = {}
        self.end = 0

    def append(self, first, rows):
        for number, row in enumerate(rows.tolist(), first):
            if number >= self.end:
                self.all[number] = row
                self.end = number + 1

    def rows(self, start, stop, oldest):
        nothing = [np.nan] * WIDTH
        return np.array([self.all.get(i, nothing) if i >= oldest else nothing for i in range(start, stop)]).reshape(
            -1, WIDTH
        )

    def bucket(self, start, stop, column):
        found = [self.all[i][column] for i in range(start, stop) if i in self.all]
        found = [value for value in found if not np.isnan(value)]
        return (min(found), max(found)) if found else (np.nan, np.nan)


values = st.one_of(st.floats(-1e6, 1e6), st.just(np.nan), st.integers(-3, 3).map(float))


pieces = st.lists(
    st.tuples(
        st.one_of(st.integers(0, 5), st.integers(-10, 60), st.sampled_from([0, 0, 200, 1000, 5000])),
        st.integers(0, 90),
        st.integers(0, 2**32 - 1),
    ),
    max_size=12,
)


def grown(first, pieces, pyramid, twin):
    at = first
    for gap, n, seed in pieces:
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(n, WIDTH)).round(2)
        rows[rng.random((n, WIDTH)) < 0.2] = np.nan
        at = max(0, at + gap)
        pyramid.append(at, rows)
        twin.append(at, rows)
        at += n


@given(first=st.integers(0, 2000), pieces=pieces, start=st.integers(-80, 300), span=st.integers(0, 400),
       n_columns=st.integers(1, 60))  # fmt: skip
def test_an_envelope_is_that_of_the_definition(first, pieces, start, span, n_columns):
    pyramid, twin = Pyramid(WIDTH, LEVELS, FACTOR), Twin()
    grown(first, pieces, pyramid, twin)
    assert pyramid.end == twin.end
    start = max(0, twin.end - start - span)
    np.testing.assert_array_equal(
        pyramid.rows(start, start + span), twin.rows(start, start + span, twin.end - LEVELS[0])
    )
    envelope = pyramid.envelope(start, start + span, n_columns, [1, 0])
    w = envelope.rows
    assert w & (w - 1) == 0 and span <= n_columns * w and (w == 1 or span > n_columns * w // 2)
    assert len(envelope) <= n_columns + 4
    np.testing.assert_array_equal(np.diff(envelope.edges), w)
    assert len(envelope.edges) == len(envelope) + 1
    # what a level knows: whole buckets of its own
    kept = [(-(-twin.end // FACTOR**k) - length) * FACTOR**k for k, length in enumerate(LEVELS)]
    for i, edge in enumerate(envelope.edges[:-1].astype(int).tolist()):
        assert edge % w == 0
        finest = next(k for k, oldest in enumerate(kept) if -(-max(oldest, 0) // w) * w <= edge)
        rows = max(w, FACTOR**finest)
        for place, column in enumerate([1, 0]):
            low, high = twin.bucket(edge // rows * rows, edge // rows * rows + rows, column)
            np.testing.assert_array_equal([envelope.low[i, place], envelope.high[i, place]], [low, high])
    if len(envelope):
        # all that is known of the span is there, and the bucket beside it on either side
        known = max(pyramid.begin, start - w)
        assert envelope.edges[0] <= max(known, -(-min(kept) // w) * w)
        assert envelope.edges[-1] >= min(twin.end, start + span)
    assert envelope.exact == (envelope.low is envelope.high)


@given(pieces=pieces, cuts=st.lists(st.integers(1, 40), min_size=1, max_size=8))
def test_any_chopping_gives_the_same(pieces, cuts):
    whole, chopped, twin = Pyramid(WIDTH, LEVELS, FACTOR), Pyramid(WIDTH, LEVELS, FACTOR), Twin()
    grown(7, pieces, whole, twin)
    numbers = sorted(twin.all)
    for start, stop in zip([0, *np.flatnonzero(np.diff(numbers) > 1) + 1], [*np.flatnonzero(np.diff(numbers) > 1) + 1, len(numbers)], strict=True):  # fmt: skip  # noqa: E501
        at, turn = start, 0
        while at < stop:
            n = min(cuts[turn % len(cuts)], stop - at)
            chopped.append(numbers[at], np.array([twin.all[i] for i in numbers[at : at + n]]))
            at, turn = at + n, turn + 1
    assert (whole.begin, whole.end) == (chopped.begin, chopped.end)
    for n_columns in (1, 3, 17, 100):
        one, other = (p.envelope(whole.begin, whole.end, n_columns, [0, 1]) for p in (whole, chopped))
        for name in ("edges", "low", "high"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@given(pieces=pieces, replaced=st.lists(st.integers(-9, 9), min_size=1, max_size=3), more=st.integers(0, 30))
def test_a_row_that_is_renewed_was_never_another(pieces, replaced, more):
    renewed, plain, twin = Pyramid(WIDTH, LEVELS, FACTOR), Pyramid(WIDTH, LEVELS, FACTOR), Twin()
    grown(0, pieces, renewed, twin)
    grown(0, pieces, plain, Twin())
    end = plain.end
    renewed.append(end, np.full((1, WIDTH), 1e9))
    for value in replaced:
        renewed.replace_last(np.full(WIDTH, float(value)))
    plain.append(end, np.full((1, WIDTH), float(replaced[-1])))
    tail = np.arange(float(more * WIDTH)).reshape(more, WIDTH)
    for pyramid in (renewed, plain):
        pyramid.append(end + 1, tail)
    for n_columns in (1, 10, 1000):
        one, other = (p.envelope(plain.begin, plain.end, n_columns, [0, 1]) for p in (renewed, plain))
        np.testing.assert_array_equal(one.low, other.low)
        np.testing.assert_array_equal(one.high, other.high)


@given(steps=st.lists(st.integers(1, 25), min_size=2, max_size=20), span=st.integers(20, 150),
       n_columns=st.integers(5, 40))  # fmt: skip
def test_while_a_picture_scrolls_only_the_bucket_at_the_live_edge_changes(steps, span, n_columns):
    pyramid = Pyramid(1, (256, 256, 256), FACTOR)
    rng = np.random.default_rng(0)
    shown = {}
    end, widths = 0, set()
    for step in steps:
        pyramid.append(end, rng.normal(size=(step, 1)))
        end += step
        # the span is the same but for what a float makes of it
        envelope = pyramid.envelope(0.1 + end - span - 0.1, float(end), n_columns, [0])
        widths.add(envelope.rows)
        for i, edge in enumerate(envelope.edges[:-1].tolist()):
            values = envelope.low[i, 0], envelope.high[i, 0]
            if edge + envelope.rows <= end:
                assert shown.setdefault(edge, values) == values
    assert len(widths) == 1


def test_the_width_does_not_flicker_where_the_span_is_a_power_of_two_of_columns():
    pyramid = Pyramid(1, (5000,))
    pyramid.append(0, np.zeros((5000, 1)))
    spans = [np.nextafter(4000.0, direction) for direction in (0.0, 1e9)] + [4000.0]
    assert {pyramid.envelope(0.0, span, 1000, [0]).rows for span in spans} == {4}


def test_older_than_a_ring_a_coarser_one_stands_in():
    pyramid = Pyramid(1, (64, 100), 16)
    pyramid.append(0, np.arange(1000.0)[:, None])
    envelope = pyramid.envelope(900, 1000, 1000, [0])
    np.testing.assert_array_equal(envelope.edges[:-1], np.arange(899.0, 1000.0))
    fine = envelope.edges[:-1] >= 936
    np.testing.assert_array_equal(envelope.low[fine, 0], np.arange(936.0, 1000.0))
    old = envelope.edges[:-1][~fine] // 16 * 16
    np.testing.assert_array_equal(envelope.low[~fine, 0], old)
    np.testing.assert_array_equal(envelope.high[~fine, 0], old + 15)
    assert not envelope.exact and pyramid.envelope(940, 1000, 1000, [0]).exact


def test_where_a_curve_is_drawn():
    pyramid = Pyramid(1, (64,))
    pyramid.append(0, np.zeros((64, 1)))
    np.testing.assert_array_equal(pyramid.envelope(10, 13, 10, [0]).centers, np.arange(9.0, 15.0))
    wide = pyramid.envelope(0, 64, 16, [0])
    np.testing.assert_array_equal(wide.centers, 4.0 * np.arange(16) + 1.5)
    np.testing.assert_allclose(wide.scaled(0.1, 5.0).centers, 5.0 + 0.1 * wide.centers)


@pytest.mark.parametrize("jump", [100, 10**6, 2**52])
def test_a_jump_costs_nothing_and_leaves_nothing(jump):
    pyramid = Pyramid(1, LEVELS, FACTOR)
    pyramid.append(0, np.ones((300, 1)))
    pyramid.append(300 + jump, np.full((3, 1), 2.0))
    assert pyramid.end == 303 + jump
    far = jump > max(length * FACTOR**k for k, length in enumerate(LEVELS))
    assert pyramid.begin == (300 + jump if far else 0)
    assert not np.isfinite(pyramid.rows(pyramid.end - 70, pyramid.end - 3)).any()
    newest = pyramid.envelope(pyramid.end - 40, pyramid.end, 10, [0])
    assert np.nanmin(newest.low) == np.nanmax(newest.high) == 2.0


def test_nothing_is_shown_of_nothing():
    pyramid = Pyramid(3, LEVELS, FACTOR)
    for start, stop in ((0.0, 10.0), (-5.0, -1.0), (10.0, 0.0)):
        envelope = pyramid.envelope(start, stop, 100, [0, 2])
        assert envelope.low.shape == (0, 2) and len(envelope) == 0 and len(envelope.centers) == 0
    assert pyramid.rows(-3, 4, [1]).shape == (7, 1)
    assert (pyramid.begin, pyramid.end) == (0, 0)
    pyramid.append(5, np.empty((0, 3)))
    assert pyramid.end == 0
    pyramid.append(50, np.ones((20, 3)))
    assert len(pyramid.envelope(500, 600, 10, [0])) == len(pyramid.envelope(0, 10, 10, [0])) == 0
    assert pyramid.envelope(55, 60, 10, []).low.shape[1] == 0


@pytest.mark.parametrize(("levels", "factor"), [((), 16), ((8, 8), 16), ((64, 64), 12), ((64, 0), 16), ((64,), 1)])
def test_levels_that_make_no_pyramid_are_refused(levels, factor):
    with pytest.raises(ValueError, match=r"factor|levels"):
        Pyramid(1, levels, factor)


def test_memory_is_taken_at_once_and_stays():
    pyramid = Pyramid(4, (4096, 512, 512))
    assert pyramid.nbytes == 8 * 4 * (4096 + 2 * 512 + 2 * 512)
    rows = np.ones((40, 4))
    pyramid.append(0, rows)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for i in range(1, 500):
            pyramid.append(40 * i, rows)
            pyramid.envelope(40 * i - 4000, 40 * i, 500, [0, 1])
        assert tracemalloc.get_traced_memory()[0] - before < 20_000
    finally:
        tracemalloc.stop()


def test_differences_of_columns_are_not_stored_in_single_rows():
    rng = np.random.default_rng(4)
    values = rng.standard_normal((300, 2))
    values[17, 0] = np.nan
    rows = np.column_stack([values, values[:, 0] - values[:, 1]])
    lean, plain = Pyramid(3, (256, 64), sources=(0, 1, (0, 1))), Pyramid(3, (256, 64))
    for at in range(0, 300, 7):
        lean.append(at, rows[at : at + 7])
        plain.append(at, rows[at : at + 7])
    assert plain.nbytes - lean.nbytes == 256 * 8
    for columns in (None, [2], [2, 0], [1, 0]):
        np.testing.assert_array_equal(lean.rows(40, 300, columns), plain.rows(40, 300, columns))
    for n_columns in (10, 400):
        ours, theirs = (each.envelope(50.0, 250.0, n_columns, [2, 1]) for each in (lean, plain))
        np.testing.assert_array_equal((ours.low, ours.high), (theirs.low, theirs.high))


@pytest.mark.parametrize("memory", [1 << 22, 1 << 25, 1 << 28, 1 << 31])
def test_where_memory_is_short_the_coarsest_level_still_reaches_far_back(memory):
    width, stored, rate = 192, 128, 1000.0
    finest, *coarse = signal_levels(rate, width, 10.0, memory, stored=stored)
    assert 8 * stored * finest + 16 * width * sum(coarse) <= memory
    assert finest <= 10 * 60 * rate
    # a quarter of an eighth of the memory, or a day
    assert coarse[-1] * 4096 >= min(86_400 * rate, memory / 32 / (16 * width) * 4096) - 4096


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


def envelope(begin, width, values):
    found = np.array(values, dtype=float)[:, np.newaxis]
    return Envelope(begin + width * np.arange(len(found) + 1), found, found + 0.5, 4)


@pytest.mark.parametrize(("begin", "n"), [(0.0, 8), (8.0, 8), (6.0, 12), (0.0, 40), (3.0, 5), (34.0, 6)])
def test_inside_it_is_fine_outside_it_is_coarse(begin, n):
    coarse, fine = envelope(0.0, 4.0, range(10)), envelope(begin, 1.0, 100 + np.arange(n))
    found = spliced(coarse, fine)
    assert len(found.edges) == len(found.low) + 1 == len(found.high) + 1
    assert (np.diff(found.edges) >= 0.0).all()
    for x in np.arange(0.5, 40.0):
        inside = begin <= x < begin + n
        bucket = int(np.searchsorted(found.edges, x, side="right")) - 1
        if inside:
            assert found.low[bucket, 0] == 100 + int(x - begin)
        elif not begin - 4.0 < x < begin + n + 4.0:
            # a coarse bucket that is covered in part may give way to its neighbour
            assert found.low[bucket, 0] == int(x // 4.0)


def test_without_detail_nothing_changes():
    coarse = envelope(0.0, 4.0, range(10))
    assert spliced(coarse, envelope(0.0, 1.0, [])) is coarse
