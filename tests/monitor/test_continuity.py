"""Continuity: any order of blocks gives every sample once, counts add up, and short gaps are interpolated."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.config import IndicatorSettings
from monitor.engine.continuity import Continuity
from monitor.engine.gap_interpolation import GapInterpolation
from monitor.engine.monitor import Monitor
from monitor.messages.blocks import Channel, EventKind, Role, SignalBlock, Stream
from monitor.messages.reasons import Reason

RATE = 100.0
CHANNELS = (
    Channel("c", Role.COMMAND, "m", "a"),
    Channel("m", Role.MEASURED, "m", "a"),
    Channel("count", Role.AUXILIARY),
)


def stream(epoch=1, rig="rig", channels=CHANNELS):
    return Stream(rig, epoch, RATE, channels)


def block(start, stop, of=None, late=0.0, last=False):
    """Samples start .. stop - 1, their own number in the last column."""
    count = np.arange(start, stop, dtype=float)
    samples = np.stack([0.0 * count, 0.0 * count, count], axis=1)
    return SignalBlock(of or stream(), start, start / RATE + late, samples, last)


def feed(*blocks):
    follow = Continuity()
    return [follow.accept(b) for b in blocks]


def kinds(arrival):
    return [event.kind for event in arrival.events]


class Sent(NamedTuple):
    """One message of a publisher: its epoch and samples start .. stop - 1."""

    epoch: int
    start: int
    stop: int


@st.composite
def deliveries(draw):
    """Cut streams of up to three epochs into blocks; drop, repeat, swap and delay some."""
    sent = []
    for epoch in range(1, 1 + draw(st.integers(1, 3))):
        index = draw(st.integers(0, 50))
        for length in draw(st.lists(st.integers(0, 12), min_size=1, max_size=12)):
            sent.append(Sent(epoch, index, index + length))
            index += length
    arrived = [s for s in sent for _ in range(draw(st.sampled_from([1, 1, 1, 0, 2])))]
    for _ in range(draw(st.integers(0, 6))):
        if len(arrived) > 1:
            i = draw(st.integers(0, len(arrived) - 1))
            arrived.insert(draw(st.integers(0, len(arrived) - 1)), arrived.pop(i))
    return arrived


@settings(max_examples=100)
@given(arrived=deliveries())
def test_every_sample_once_in_order_and_the_counts_add_up(arrived):
    follow, streams = Continuity(), {e: stream(e) for e in (1, 2, 3)}
    taken, lost, repeated, epoch = {}, {}, 0, 0
    for sent in arrived:
        arrival = follow.accept(block(sent.start, sent.stop, streams[sent.epoch]))
        assert arrival.started == (sent.epoch > epoch)
        epoch = max(epoch, sent.epoch)
        for event in arrival.events:
            if event.kind is EventKind.GAP:
                lost[epoch] = lost.get(epoch, 0) + event.count
                assert arrival.broken
            repeated += event.count if event.kind is not EventKind.GAP else 0
            assert event.kind is not EventKind.CLOCK_JUMP
        if arrival.block is not None:
            assert arrival.block.stream.epoch == sent.epoch == epoch
            count = arrival.block.samples[:, 2]
            np.testing.assert_array_equal(count, arrival.block.index + np.arange(len(arrival.block)))
            np.testing.assert_allclose(arrival.block.time, arrival.block.index / RATE)
            taken.setdefault(epoch, []).append((arrival.block.index, len(arrival.block)))
    for e, blocks in taken.items():
        received = sum(length for _, length in blocks)
        ends = [index + length for index, length in blocks]
        assert all(start >= end for (start, _), end in zip(blocks[1:], ends, strict=False))
        assert received + lost.get(e, 0) == ends[-1] - blocks[0][0]
    repeated += sum(event.count for event in follow.finish())
    received = sum(length for blocks in taken.values() for _, length in blocks)
    assert sum(sent.stop - sent.start for sent in arrived) == received + repeated


def test_a_stream_in_order_has_one_event():
    arrivals = feed(block(0, 5), block(5, 6), block(6, 6), block(6, 20))
    assert [kinds(a) for a in arrivals] == [[EventKind.STARTED], [], [], []]
    assert [a.started for a in arrivals] == [True, False, False, False]
    assert not any(a.broken for a in arrivals)


def test_a_gap_is_told_with_its_size():
    _, arrival = feed(block(0, 5), block(9, 12))
    (event,) = arrival.events
    assert (event.kind, event.index, event.count, event.time) == (EventKind.GAP, 5, 4, pytest.approx(0.05))
    assert arrival.broken
    assert arrival.block.index == 9


def test_a_heartbeat_tells_of_a_gap_at_the_end():
    _, arrival, after = feed(block(0, 5), block(9, 9), block(9, 12))
    assert kinds(arrival) == [EventKind.GAP]
    assert arrival.events[0].count == 4
    assert kinds(after) == []
    assert len(after.block) == 3


@pytest.mark.parametrize("before", [(), (block(0, 40, stream(0)),)], ids=["first", "restarted"])
def test_a_stream_that_begins_with_a_heartbeat_has_no_jump(before):
    """Its clock starts where it says, be it at zero or in this century."""
    *_, start, after = feed(*before, block(0, 0, late=1.7e9), block(0, 5, late=1.7e9))
    assert start.started
    assert kinds(after) == []
    assert not after.broken


def test_an_old_heartbeat_is_nothing():
    _, arrival, after = feed(block(0, 5), block(3, 3), block(5, 8))
    assert (arrival.block, kinds(arrival), kinds(after)) == (None, [], [])


def test_what_comes_twice_is_cut_off():
    _, arrival = feed(block(0, 10), block(6, 14))
    assert kinds(arrival) == [EventKind.DUPLICATE]
    assert arrival.events[0].count == 4
    np.testing.assert_array_equal(arrival.block.samples[:, 2], [10, 11, 12, 13])
    assert not arrival.broken


def test_what_comes_late_is_told_from_what_comes_twice():
    arrivals = feed(block(0, 5), block(10, 15), block(5, 10), block(5, 10), block(15, 16))
    # reported when the stream goes on, for until then it may be one that has begun anew
    assert [kinds(a) for a in arrivals[1:]] == [[EventKind.GAP], [], [EventKind.REORDERED], []]
    assert arrivals[2].block is None and arrivals[3].block is None


def test_a_restart_begins_anew_and_the_earlier_epoch_is_over():
    first, again = stream(1), stream(2)
    arrivals = feed(block(0, 50, first), block(0, 5, again), block(50, 60, first), block(5, 6, again))
    assert kinds(arrivals[1]) == [EventKind.RESTART]
    assert arrivals[1].started
    assert kinds(arrivals[2]) == kinds(arrivals[3]) == []
    assert arrivals[2].block is None


def test_other_channels_or_another_rig_begin_anew():
    for other in (stream(1, channels=CHANNELS[:2]), stream(0, rig="other"), Stream("rig", 1, 200.0, CHANNELS)):
        samples = np.zeros((3, len(other.channels)))
        _, arrival = feed(block(0, 5), SignalBlock(other, 5, 0.05, samples))
        assert arrival.started
        assert kinds(arrival) == [EventKind.RESTART]


def test_equal_streams_need_not_be_one_object():
    _, arrival = feed(block(0, 5, stream()), block(5, 6, stream()))
    assert kinds(arrival) == []


@pytest.mark.parametrize("jump", [0.5, -0.5, 3600.0])
def test_a_clock_that_jumps_breaks_the_windows(jump):
    _, arrival, after = feed(block(0, 5), block(5, 10, late=jump), block(10, 15, late=jump))
    assert kinds(arrival) == [EventKind.CLOCK_JUMP]
    assert arrival.broken
    assert len(arrival.block) == 5
    assert kinds(after) == []


def test_jitter_is_no_jump():
    arrivals = feed(block(0, 5), block(5, 10, late=0.02), block(10, 15, late=-0.02))
    assert not any(a.broken for a in arrivals)


def test_the_end_is_told_once():
    arrivals = feed(block(0, 5), block(5, 8, last=True), block(5, 8, last=True), block(8, 8, last=True))
    assert [EventKind.ENDED in kinds(a) for a in arrivals] == [False, True, False, False]


def test_an_end_that_comes_late_takes_nothing_back():
    """Samples 10 .. 19 were taken already: they must not be taken again."""
    *_, after = feed(block(0, 20), block(5, 10, last=True), block(10, 25))
    assert EventKind.GAP not in kinds(after)
    np.testing.assert_array_equal(after.block.samples[:, 2], np.arange(20, 25))


def test_the_first_block_may_begin_anywhere():
    (arrival,) = feed(block(1000, 1005))
    assert kinds(arrival) == [EventKind.STARTED]
    assert arrival.block.index == 1000


def followed(*blocks):
    """Return the numbers of the samples that are taken, and the kinds of the events that are told."""
    arrivals = feed(*blocks)
    taken = [arrival.block.samples[:, 2] for arrival in arrivals if arrival.block is not None]
    return np.concatenate(taken).tolist(), [kind for arrival in arrivals for kind in kinds(arrival)]


def cut(start, stop, of=None, late=0.0, rows=10):
    return [block(index, index + rows, of, late) for index in range(start, stop, rows)]


@pytest.mark.parametrize(
    ("lie", "seconds"),
    [(block(7, 8, stream(epoch=2**63 - 1)), 1), (block(2**52, 2**52 + 1), 5), (block(2**52, 2**52 + 1, late=9.0), 1)],
    ids=["of the last epoch", "far ahead", "far ahead with a time of its own"],
)
def test_one_message_that_lies_blinds_for_some_seconds_and_costs_no_sample(lie, seconds):
    blocks = [*cut(0, 500), lie, *cut(500, 1500)]
    taken, told = followed(*blocks)
    assert sum(arrival.block is None for arrival in feed(*blocks)) == seconds * RATE / 10 - 1
    assert taken == [*range(500), *lie.samples[:, 2], *range(500, 1500)]
    assert told.count(EventKind.RESTART) == 1 + (lie.stream.epoch > 1)
    # what is received after all was not late
    assert told.count(EventKind.REORDERED) + told.count(EventKind.DUPLICATE) == 0


def test_who_has_lied_once_is_not_believed_again_and_a_true_restart_is():
    lies = [block(7, 8, stream(epoch=2**63 - number)) for number in range(100, 0, -1)]
    honest = cut(0, 2000)
    mixed = [each for pair in zip(honest[100:], lies, strict=True) for each in pair]
    again = cut(0, 1000, stream(epoch=2))
    taken, told = followed(*honest[:50], block(7, 8, stream(epoch=2**62)), *honest[50:100], *mixed, *again)
    assert taken == [*range(500), 7, *range(500, 2000), *range(1000)]
    assert told.count(EventKind.RESTART) == 3


@pytest.mark.parametrize(("late", "seconds"), [(0.0, 5), (33.0, 1)], ids=["the same times", "another time"])
def test_a_sender_that_comes_back_with_the_same_epoch_and_numbers_is_taken_in(late, seconds):
    blocks = [*cut(0, 1000), *cut(0, 1000, late=late)]
    taken, told = followed(*blocks)
    assert sum(arrival.block is None for arrival in feed(*blocks)) == seconds * RATE / 10 - 1
    assert taken == [*range(1000), *range(1000)]
    assert told.count(EventKind.RESTART) == 1
    assert told.count(EventKind.DUPLICATE) == 0


def test_what_is_sent_once_more_is_no_new_stream():
    twice = [each for each in cut(0, 2000) for _ in range(2)]
    assert followed(*twice)[0] == list(range(2000))
    # four seconds that came already, and then it goes on
    taken, told = followed(*cut(0, 1000), *cut(600, 2000))
    assert taken == list(range(2000))
    assert EventKind.RESTART not in told
    # a second path, two seconds behind the first, for long
    behind = [each for pair in zip(cut(200, 5200), cut(0, 5000), strict=True) for each in pair]
    taken, told = followed(*cut(0, 200), *behind)
    assert taken == list(range(5200))
    assert EventKind.RESTART not in told


def test_a_stream_of_long_blocks_is_believed_once_five_have_come():
    follow = Continuity()
    follow.accept(block(0, 5, stream(9)))
    # 11 s each
    arrivals = [follow.accept(block(1100 * n, 1100 * (n + 1), stream(1))) for n in range(5)]
    assert [a.started for a in arrivals] == [False] * 4 + [True]
    assert len(arrivals[-1].block) == 5500


@settings(max_examples=100)
@given(arrived=deliveries(), late=st.lists(st.sampled_from([0.0, 0.0, 0.0, 0.3]), min_size=1))
def test_the_short_way_of_a_block_that_follows_is_the_long_way(arrived, late):
    short, long, streams = Continuity(), Continuity(), {e: stream(e) for e in (1, 2, 3)}
    long._follows = lambda _: False  # type: ignore[method-assign]
    for i, sent in enumerate(arrived):
        given_block = block(sent.start, sent.stop, streams[sent.epoch], late[i % len(late)], last=i % 7 == 6)
        one, other = short.accept(given_block), long.accept(given_block)
        assert (one.started, one.broken, one.events) == (other.started, other.broken, other.events)
        assert (one.block is None) == (other.block is None)
        assert one.block is None or (one.block.index, len(one.block)) == (other.block.index, len(other.block))


PAIRED = tuple(
    Channel(f"{name}.{role.value}", role, "mm", name)
    for name in ("north", "south")
    for role in (Role.COMMAND, Role.MEASURED)
)
STREAM = Stream("rig", 0, RATE, (*PAIRED, Channel("oil", Role.AUXILIARY)))


def blocks_of(samples, numbers, cuts):
    """Return blocks that end at gaps in the numbers and at the cuts, with whether samples before are missing."""
    edges = sorted({0, len(numbers), *cuts, *(np.flatnonzero(np.diff(numbers) > 1) + 1)})
    for begin, end in pairwise(edges):
        first = int(numbers[begin])
        broken = begin > 0 and first != numbers[begin - 1] + 1
        yield SignalBlock(STREAM, first, first / RATE, samples[begin:end], last=end == len(numbers)), broken


def interpolated(samples, numbers, longest):
    """Return what should come out, NaN where nothing does: channel by channel, by numpy."""
    whole = np.full((numbers[-1] + 1, samples.shape[1]), np.nan)
    whole[numbers] = samples
    for column in range(4):
        good = np.flatnonzero(np.isfinite(whole[:, column]))
        for before, after in pairwise(good):
            if 1 < after - before <= longest + 1:
                inside = np.arange(before + 1, after)
                whole[inside, column] = np.interp(inside, good, whole[good, column])
    return whole


@st.composite
def records(draw):
    n = draw(st.integers(2, 60))
    samples = np.random.default_rng(draw(st.integers(0, 1000))).standard_normal((n, 5))
    for begin, length, column in draw(st.lists(st.tuples(*[st.integers(0, k) for k in (59, 5, 4)]), max_size=6)):
        samples[begin : begin + length, column] = np.nan
    steps = np.ones(n, dtype=np.int64)
    for place, missing in draw(st.lists(st.tuples(st.integers(1, 59), st.integers(1, 6)), max_size=2)):
        steps[place : place + 1] += missing
    return samples, np.cumsum(steps) - 1, draw(st.sets(st.integers(1, 59), max_size=20))


@given(records(), st.integers(1, 4))
def test_what_is_released_is_what_numpy_interpolates_however_it_is_cut(record, longest):
    samples, numbers, cuts = record
    gaps = GapInterpolation(STREAM, longest / RATE, 1.0)
    expected = interpolated(samples, numbers, longest)
    seen = np.full(expected.shape, np.nan)
    at = 0
    for block, broken in blocks_of(samples, numbers, {cut for cut in cuts if cut < len(numbers)}):
        for part, missing in gaps.push(block, broken=broken):
            assert (part.index == at) is not missing
            at = part.index + len(part)
            assert part.time == pytest.approx(part.index / RATE)
            seen[part.index : at] = part.samples
    assert at == len(expected)
    np.testing.assert_allclose(seen, expected, rtol=1e-12, atol=1e-12)
    counts = []
    for columns in ([0, 1], [2, 3]):
        counts.append(np.sum((np.isfinite(seen[:, columns]) & ~np.isin(np.arange(at), numbers)[:, None]).any(axis=1)))
        known = np.isfinite(samples[:, columns])
        counts[-1] += np.sum((np.isfinite(seen[numbers][:, columns]) & ~known).any(axis=1))
    assert gaps.count == max(counts)


def signals(seed, n=1200, delay=0.013):
    rng = np.random.default_rng(seed)
    t, tones = np.arange(n) / RATE, [(f, rng.uniform(0.0, 6.0)) for f in (0.9, 1.7, 2.6)]
    move = lambda at: sum(np.sin(2.0 * np.pi * f * at + p) for f, p in tones)  # noqa: E731 - a command of three tones
    pairs = [move(t), 0.9 * move(t - delay) + 0.02 * rng.standard_normal(n)]
    return np.column_stack([*pairs, *pairs, t])


def run(samples, bridge, sizes, numbers=None):
    monitor = Monitor(IndicatorSettings(window=2.0, bridge=bridge, measures=("broadband", "fdb", "paei", "ti")))
    numbers = np.arange(len(samples)) if numbers is None else numbers
    found, events, interpolated_samples = [], [], 0
    cuts = set(np.cumsum(sizes)) & set(range(1, len(numbers)))
    for block, _ in blocks_of(samples, numbers, cuts):
        update = monitor.update(block)
        found.append((update.results.index + np.arange(len(update.results)), update.results.values))
        events += [event.detail for event in update.events if event.kind is EventKind.NOTE]
        interpolated_samples += update.interpolated
    names = [(column.actuator, column.name) for column in update.results.stream.columns]
    rows, values = (np.concatenate(each) for each in zip(*found, strict=True))
    return names, rows, values, events, interpolated_samples


@pytest.mark.usefixtures("warm_kernels")
def test_a_lone_bad_sample_costs_a_window_only_where_it_is_not_interpolated():
    samples = signals(1)
    places = np.array([300, 420, 421, 650, 900])
    samples[places, 1] = np.nan
    numbers = np.delete(np.arange(len(samples)), [500, 501])
    outcomes = {}
    for name, sizes in (("one by one", [1] * 1200), ("sevens", [7] * 200), ("whole", [1200])):
        outcomes[name] = run(samples[numbers], 0.02, sizes, numbers)
    names, rows, values, events, count = outcomes["whole"]
    for other in outcomes.values():
        np.testing.assert_array_equal(other[1], rows)
        assert other[2].tobytes() == values.tobytes()
        assert other[4] == count == 5 + 2
    assert events == ["samples interpolated so far in gaps of up to 0.02 s: 3"]
    np.testing.assert_array_equal(rows, np.arange(1200))
    delay = names.index(("north", "broadband_delay"))
    assert np.isfinite(values[300:, delay]).all()
    assert values[300:, delay] == pytest.approx(0.013, abs=5e-4)
    _, rows, without, *_ = run(samples[numbers], 0.0, [1200], numbers)
    assert np.isfinite(without[:, delay]).mean() < 0.3
    # the other actuator, whose signals are good, has the values that it would have alone but for the lost samples
    south = [i for i, (actuator, _) in enumerate(names) if actuator == "south"]
    good = samples.copy()
    good[places, 1] = good[places, 3]
    _, _, alone, *_ = run(good[numbers], 0.02, [1200], numbers)
    assert values[:, south].tobytes() == alone[:, south].tobytes()


@pytest.mark.usefixtures("warm_kernels")
def test_bands_hold_and_widen_by_what_is_interpolated():
    errors, n_window = [], round(2.0 * RATE)
    for seed in range(30):
        samples = signals(seed)
        rng = np.random.default_rng(seed)
        bad = np.sort(rng.choice(np.arange(1, 1199), 60, replace=False))
        samples[bad, 1] = np.nan
        names, rows, values, *_ = run(samples, 0.03, [1200])
        delay, sd = (names.index(("north", f"broadband_delay{end}")) for end in ("", "_sd"))
        at = np.arange(399, 1200, 200)
        errors += list((values[at, delay] - 0.013) / values[at, sd])
    errors = np.abs(errors)
    assert np.isfinite(errors).mean() > 0.95
    assert 0.6 < np.mean(errors < 1.0) < 0.85 and np.mean(errors < 2.0) > 0.9
    gaps = GapInterpolation(STREAM, 0.05, 2.0)
    samples = signals(0)[:400]
    samples[100:104, 0] = np.nan
    gaps.push(SignalBlock(STREAM, 0, 0.0, samples), broken=False)
    columns = tuple(type("C", (), {"actuator": a, "name": n}) for a in ("north", "south") for n in ("x", "x_sd"))
    rows = np.ones((400, 4))
    gaps.widen(rows, 0, 1, columns)
    assert rows[103 + n_window - 1, 1] == pytest.approx(1.0 / np.sqrt(1.0 - 4 / n_window))
    assert (rows[:99] == 1.0).all() and (rows[:, [0, 2, 3]] == 1.0).all()


@pytest.mark.usefixtures("warm_kernels")
def test_a_window_that_is_mostly_interpolated_has_a_reason_and_no_value():
    samples = signals(1)
    samples[np.arange(1200) % 4 != 0, 1] = np.nan
    names, _, values, *_ = run(samples, 0.03, [1200])
    north = {name: values[600:, i] for i, (actuator, name) in enumerate(names) if actuator == "north"}
    for name, column in north.items():
        if name.endswith("_reason"):
            assert np.isfinite(column).all() and (column != Reason.VALID).all(), name
        else:
            assert np.isnan(column).all(), name
