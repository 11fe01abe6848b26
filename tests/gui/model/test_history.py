"""The history against the plain definitions: rows where they belong on one axis, the last row of every instant."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gui.model.history import History
from gui.model.receiver import ReceivedMessages
from gui.model.results import ResultHistory
from gui.panels.reliability import latest_decision
from monitor.messages.blocks import (
    FREQUENCY,
    Channel,
    Column,
    Event,
    EventKind,
    ResultBlock,
    ResultStream,
    Role,
    SignalBlock,
    Stream,
    TransferBlock,
    TransferStream,
)
from monitor.messages.health import Health

MEMORY = 8 << 20
CHANNELS = (Channel("c", Role.COMMAND, "m", "a"), Channel("m", Role.MEASURED, "m", "a"))
COLUMNS = (Column("fdb_delay", "s", "a"), Column("fdb_ratio", "1", "a"), Column("fdb_delay", "s", "b"))
JUDGED = (Column("fdb_delay", "s", "a"), Column("model_low", "m", "y"), Column("reliability_accumulated", "1", "y"),
          Column("reliability_decision", "1", "all sites"))  # fmt: skip


def stream(rate=100.0, epoch=1, channels=CHANNELS):
    return Stream("rig", epoch, rate, channels)


def result_stream(rate=100.0, every=1, epoch=1, columns=COLUMNS):
    return ResultStream("rig", epoch, rate, every, columns)


def samples(start, stop):
    """Samples that tell their index."""
    index = np.arange(start, stop, dtype=float)
    return np.column_stack([index, -index])


def trace(results, actuator, name, seconds=60.0):
    """The instants of the last seconds, oldest first."""
    column, end = results.column(actuator, name), results.instants.end
    return results.instants.rows(end - round(seconds * results.rate), end, (column,))[:, 0]


def rows(start, stop, every=1):
    """Rows whose first column is the index."""
    index = np.arange(start, stop, every, dtype=float)
    return np.column_stack([index, index + 0.25, -index])


def signal(start, stop, begin=0.0, **kind):
    of = stream(**kind)
    return SignalBlock(of, start, begin + start / of.sample_rate, samples(start, stop))


def result(start, stop, begin=0.0, values=None, **kind):
    of = result_stream(**kind)
    first = -(-start // of.every) * of.every
    found = rows(first, stop, of.every) if values is None else values
    return ResultBlock(of, first, begin + first / of.sample_rate, found)


def taken(*items, history=None):
    """Return a history that took all of it at once."""
    history = history or History(MEMORY, minutes=1.0)
    history.update(ReceivedMessages.sort(items))
    return history


def test_before_the_first_block_there_is_nothing():
    history = History(MEMORY)
    assert history.signals is history.results is history.transfer is history.health is None
    assert (history.begin_x, history.end_x, history.generation, history.version) == (0.0, 0.0, 0, 0)
    history.update(ReceivedMessages())
    assert history.version == 0 and not history.events


def test_a_trace_before_the_first_row_is_empty():
    results = ResultHistory(result_stream(rate=10.0), minutes=1.0, memory=MEMORY)
    assert np.isnan(trace(results, "a", "fdb_delay", 2.0)).all() and len(trace(results, "a", "fdb_delay", 2.0)) == 20
    assert np.isnan([results.value("a", "fdb_delay"), results.end_x, results.begin_x]).all()


@given(cuts=st.lists(st.integers(1, 699), max_size=12, unique=True), every=st.sampled_from([1, 3, 10, 40]))
def test_a_trace_holds_the_last_row_of_every_instant_however_it_was_cut(cuts, every):
    history = History(MEMORY, minutes=1.0)
    for start, stop in zip([0, *sorted(cuts)], [*sorted(cuts), 700], strict=True):
        if -(-start // every) * every < stop:
            taken(result(start, stop, every=every), history=history)
    results = history.results
    rate = min(25.0, 100.0 / every)
    assert results.rate == rate
    last = {int((index * rate + 1e-6) // 100.0): index for index in range(0, 700, every)}
    head = max(last)
    n = round(5.0 * rate)
    expected = [last.get(instant, np.nan) for instant in range(head - n + 1, head + 1)]
    np.testing.assert_array_equal(trace(results, "a", "fdb_delay", 5.0), expected)
    np.testing.assert_array_equal(trace(results, "b", "fdb_delay", 5.0), -np.array(expected))
    assert results.value("a", "fdb_ratio") == 699 // every * every + 0.25
    assert results.end_x == pytest.approx(699 // every * every / 100.0)
    for index in (0, 120, 480):
        # a row that came later within the instant was not known then
        known = [row for row in last.values() if row <= index]
        assert results.value("a", "fdb_delay", index / 100.0) == pytest.approx(
            max(known, default=np.nan), nan_ok=True
        )


def test_results_slower_than_the_display_have_no_holes():
    results = taken(result(0, 600, rate=30.0, every=60)).results
    assert results.rate == 0.5
    np.testing.assert_array_equal(trace(results, "a", "fdb_delay", 20.0), np.arange(0.0, 600.0, 60.0))


def test_what_is_invalid_now_is_told_from_what_was_valid_last():
    values = rows(0, 10)
    values[4:, 0] = np.nan
    values[:, 2] = np.nan
    history = taken(result(0, 10, values=values))
    results = history.results
    assert np.isnan(results.value("a", "fdb_delay"))
    assert results.last_valid("a", "fdb_delay") == 3.0
    assert results.last_valid("a", "fdb_ratio") == 9.25
    assert np.isnan(results.last_valid("b", "fdb_delay"))
    assert np.isnan(results.last_valid("nobody", "fdb_delay"))
    taken(result(10, 10), history=history)
    assert results.last_valid("a", "fdb_delay") == 3.0


@pytest.mark.parametrize("missing", [100, 100_000, 10**12])
def test_a_gap_stays_empty_and_costs_nothing(missing):
    at = 300 + missing
    history = taken(signal(0, 300), result(0, 300), signal(at, at + 10), result(at, at + 10, values=rows(0, 10)))
    kept = trace(history.results, "a", "fdb_delay", 3.0)
    assert kept[-1] == 9.0
    last = {**{i // 4: float(i) for i in range(300)}, **{(at + i) // 4: float(i) for i in range(10)}}
    head = (at + 9) // 4
    np.testing.assert_array_equal(kept, [last.get(instant, np.nan) for instant in range(head - 74, head + 1)])
    x, found = history.signals.samples((at - 5) / 100.0, (at + 3) / 100.0)
    np.testing.assert_allclose(x[-4:], np.arange(at, at + 4) / 100.0)
    np.testing.assert_array_equal(found[-4:, 0], [float(at + i) for i in range(4)])
    assert np.isnan(found[:-4]).all()


def test_signals_and_results_of_an_instant_stand_at_one_x():
    history = taken(signal(5000, 5100, 0.123), result(5000, 5100, 0.123), signal(0, 50, 7.0, epoch=2),
                    result(0, 50, 7.0, epoch=2))  # fmt: skip
    assert history.signals.end_x == pytest.approx(history.results.end_x) == pytest.approx(history.end_x)
    for x in (history.begin_x + 0.39, history.end_x - 0.05):
        # the newest instant's row is at most an instant and a step old
        known = history.signals.samples(x - 0.04, x)[1][:, 0]
        assert history.results.value("a", "fdb_delay", x) in known
        assert history.signals.at(x)[0] == -history.signals.at(x)[1]
    assert np.isnan(history.signals.at(history.end_x + 1.0)).all()
    assert np.isnan(history.signals.at(np.nan, [0])).all()
    assert np.isnan(history.results.value("a", "fdb_delay", np.nan))


@pytest.mark.parametrize("n", [1, 7, 100])
@pytest.mark.parametrize("at_once", [True, False])
def test_every_sample_is_kept_however_it_came(n, at_once):
    blocks = [block for i in range(0, 700, n) for block in (signal(i, i + n), result(i, i + n))]
    history = History(MEMORY, minutes=1.0)
    for items in [blocks] if at_once else [[block] for block in blocks]:
        taken(*items, history=history)
    stop = -(-700 // n) * n
    x, found = history.signals.samples(-1.0, 100.0)
    np.testing.assert_allclose(x, np.arange(stop) / 100.0, atol=1e-12)
    np.testing.assert_array_equal(found, samples(0, stop))
    np.testing.assert_array_equal(history.signals.samples(0.0, 100.0, most=3)[1], samples(stop - 3, stop))
    assert len(history.timeline.segments) == 1
    assert history.results.value("a", "fdb_delay") == stop - 1
    envelope = history.signals.envelope(0.0, 6.4, 40, [1])
    assert (np.diff(envelope.edges) == 0.16).all() or np.diff(envelope.edges) == pytest.approx(0.16)
    assert envelope.high[0, 0] == 0.0 and envelope.low[0, 0] == -15.0


@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["", "", "gap", "restart"]), st.integers(1, 60), st.booleans()),
        min_size=1,
        max_size=15,
    ),
    cuts=st.sets(st.integers(0, 45)),
)
def test_every_sample_stands_at_its_time_whatever_happens(steps, cuts):
    """Blocks with gaps and restarts, of which signals or results may be lost, in looks of any length."""
    items, index, epoch = [], 0, 1
    for happens, n, lost in steps:
        index, epoch = (0, epoch + 1) if happens == "restart" else (index + n * (happens == "gap"), epoch)
        block = signal(index, index + n, 10.0 * epoch, epoch=epoch)
        items += [block] if lost else [block, result(index, index + n, 10.0 * epoch, epoch=epoch)]
        index += n
    at_once, in_looks = taken(*items), History(MEMORY, minutes=1.0)
    edges = [0, *sorted(cut for cut in cuts if 0 < cut < len(items)), len(items)]
    for start, stop in itertools.pairwise(edges):
        taken(*items[start:stop], history=in_looks)
    x, found = at_once.signals.samples(0.0, at_once.end_x)
    for one, other in zip((x, found), in_looks.signals.samples(0.0, in_looks.end_x), strict=True):
        np.testing.assert_array_equal(one, other)
    known = ~np.isnan(found[:, 0])
    sent = [block for block in items if isinstance(block, SignalBlock)]
    np.testing.assert_array_equal(found[known], np.concatenate([block.samples for block in sent]))
    times = np.concatenate([block.time + np.arange(len(block)) / 100.0 for block in sent])
    np.testing.assert_allclose([at_once.timeline.time_at(place) for place in x[known]], times, atol=1e-9)
    one, other = at_once.results, in_looks.results
    if one is not None:
        np.testing.assert_array_equal(trace(one, "a", "fdb_delay"), trace(other, "a", "fdb_delay"))
        assert one.last_valid("a", "fdb_delay") == other.last_valid("a", "fdb_delay")


def test_a_block_without_rows_at_the_end_of_a_stream_changes_nothing():
    first = result(0, 100)
    # after an event, at which what came before is stored
    event = Event(EventKind.ENDED, 1.0, 100)
    history = taken(first, event, ResultBlock(first.stream, 100, 1.0, first.values[:0]))
    assert history.results.end_x == pytest.approx(0.99)


def test_a_restart_goes_on_and_other_columns_begin_anew():
    history = taken(signal(5000, 5100), result(5000, 5100), signal(0, 50, epoch=2), result(0, 50, epoch=2))
    assert history.generation == 2
    first, second = history.timeline.segments
    assert second.x_begin >= first.x_end + 1.0 and second.x_begin < first.x_end + 2.0
    assert np.isnan(history.results.value("a", "fdb_delay", second.x_begin))
    assert history.results.value("a", "fdb_delay", second.x_begin + 0.03) == 3.0
    assert history.signals.at(second.x_begin)[0] == 0.0
    assert np.isnan(history.signals.samples(first.x_end + 0.01, second.x_begin - 0.01)[1]).all()
    other = (Column("fdb_delay", "s", "c"),)
    taken(result(50, 51, values=np.ones((1, 1)), epoch=2, columns=other), history=history)
    assert history.generation == 3
    assert history.results.actuators == ("c",)
    assert np.isfinite(trace(history.results, "c", "fdb_delay")).sum() == 1
    assert np.isnan(history.results.value("a", "fdb_delay"))
    assert history.signals is not None and len(history.timeline.segments) == 2


def test_other_channels_begin_anew_later_on_the_axis():
    history = taken(signal(0, 100), result(0, 100))
    more = (*CHANNELS, Channel("t", Role.AUXILIARY))
    block = SignalBlock(stream(channels=more, epoch=2), 0, 0.0, np.ones((10, 3)))
    taken(block, history=history)
    assert history.generation == 3 and history.results is None
    assert len(history.signals.channels) == 3 and history.signals.pairs == block.stream.pairs
    assert history.signals.begin_x == history.begin_x > 1.0
    taken(signal(0, 10, rate=50.0, epoch=3), history=history)
    assert history.signals.sample_rate == 50.0 and history.signals.begin_x > 3.0


def test_the_same_stream_played_again_goes_on():
    """A service that was started anew, over a recording with the epoch of its time."""
    history = taken(signal(0, 100), result(0, 100))
    taken(signal(0, 20), result(0, 20), signal(20, 40), result(20, 40), history=history)
    assert len(history.timeline.segments) == 2
    assert history.signals.at(history.end_x)[0] == 39.0 and history.end_x > 2.0


def test_results_alone_make_the_axis():
    history = taken(result(0, 100), result(0, 100, epoch=2))
    assert history.signals is None
    assert history.end_x == pytest.approx(history.results.end_x) and history.end_x > 2.9
    # of a rig with signals, and then of another without
    history = taken(signal(0, 100), result(0, 100))
    taken(result(0, 10, rate=50.0, epoch=2), history=history)
    assert history.signals is None and history.results.stream.sample_rate == 50.0


def test_a_restart_without_results_yet_has_no_newest_value():
    history = taken(result(0, 10))
    taken(result(0, 0, epoch=2), history=history)
    assert np.isnan(history.results.value("a", "fdb_delay"))
    assert history.results.last_valid("a", "fdb_delay") == 9.0
    history = taken(signal(0, 10), result(0, 10), signal(0, 10, epoch=2))
    assert np.isnan(history.results.value("a", "fdb_delay"))


def test_rows_that_stand_apart_do_not_look_like_a_restart():
    """The first block of a stream has results without rows, which say where the next row will be."""
    history = taken(signal(30, 40), result(30, 40, every=100), signal(40, 130), result(40, 130, every=100))
    assert len(history.timeline.segments) == 1
    assert history.results.value("a", "fdb_delay") == 100.0


def test_read_only_blocks_are_kept_by_copy():
    values = rows(0, 10)
    values.flags.writeable = False
    history = taken(result(0, 10, values=values))
    changed = rows(10, 11)
    taken(result(10, 11, values=changed), history=history)
    changed[:] = 5.0
    assert history.results.value("a", "fdb_delay") == 10.0
    assert trace(history.results, "a", "fdb_delay", 1.0)[-1] == 10.0


def test_what_is_infinite_is_no_part_of_a_curve():
    history = taken(SignalBlock(stream(), 0, 0.0, np.array([[1.0, np.inf], [2.0, -np.inf], [np.nan, 3.0]])),
                    result(0, 3, values=np.array([[1.0, np.inf, 0.0]] * 3)))  # fmt: skip
    np.testing.assert_array_equal(history.signals.samples(0, 1)[1], [[1.0, np.nan], [2.0, np.nan], [np.nan, 3.0]])
    assert history.results.value("a", "fdb_ratio") == np.inf
    assert np.isnan(trace(history.results, "a", "fdb_ratio")).all()


def test_sites_of_a_model_are_no_actuators():
    results = taken(result(0, 1, values=np.array([[1.0, 2.0, 0.5, 1.0]]), columns=JUDGED)).results
    assert (results.actuators, results.sites) == (("a",), ("y", "all sites"))
    assert results.value("y", "reliability_accumulated") == 0.5
    assert results.last_valid("all sites", "reliability_decision") == 1.0
    results = taken(result(0, 1, values=np.ones((1, 3)), columns=JUDGED[1:])).results
    assert (results.actuators, results.sites) == ((), ("y", "all sites"))
    results = taken(result(0, 1)).results
    assert (results.actuators, results.sites) == (("a", "b"), ())


def test_what_was_said_of_a_model_does_not_outlive_a_restart():
    history = taken(result(0, 1, values=np.array([[1.0, 2.0, 0.5, -1.0]]), columns=JUDGED),
                    result(1, 2, values=np.full((1, 4), np.nan), columns=JUDGED))  # fmt: skip
    assert history.results.last_valid("all sites", "reliability_decision") == -1.0
    taken(result(0, 0, values=np.empty((0, 4)), columns=JUDGED, epoch=2), history=history)
    assert np.isnan(history.results.last_valid("all sites", "reliability_decision"))
    assert np.isnan(history.results.last_valid("y", "reliability_accumulated"))
    assert history.results.last_valid("a", "fdb_delay") == 1.0


def test_curves_of_results_come_in_the_order_that_was_asked_for():
    results = taken(result(0, 400)).results
    names = [("b", "fdb_delay"), ("a", "nothing"), ("a", "fdb_ratio")]
    envelope = results.envelope(1.0, 3.0, 10, names)
    assert envelope.rows == 8 and not envelope.exact
    for i, edge in enumerate(envelope.edges[:-1].tolist()):
        inside = [last for k in range(8) if (last := 4 * (round(edge * 25.0) + k) + 3) < 400]
        np.testing.assert_allclose(envelope.low[i], [-max(inside), np.nan, min(inside) + 0.25])
        np.testing.assert_allclose(envelope.high[i], [-min(inside), np.nan, max(inside) + 0.25])
    assert results.envelope(1.0, 3.0, 1000, names).exact
    assert np.isnan(results.envelope(1.0, 3.0, 10, [("a", "nothing")]).low).all()


def test_events_stand_where_they_happened():
    gap, restart = Event(EventKind.GAP, 1.0, 100, 50), Event(EventKind.RESTART, 0.25, 0)
    ended = Event(EventKind.ENDED, 0.5, 25)
    history = taken(signal(0, 100), signal(150, 160), gap, signal(0, 25, 0.25, epoch=2), restart, ended)
    second = history.timeline.segments[1]
    assert [placed.x for placed in history.events] == pytest.approx([1.0, second.x_begin, second.x_end])
    assert [placed.event for placed in history.events] == [gap, restart, ended]
    for i in range(10_050):
        taken(Event(EventKind.NOTE, 0.5, i), history=history)
    assert len(history.events) == 10_000 and history.events[-1].event.index == 10_049
    assert taken(gap).events[0].x == 0.0


def test_an_event_on_an_earlier_instant_is_in_its_place():
    notes = [Event(EventKind.NOTE, time, i) for i, time in enumerate((0.2, 0.8, 0.4, 0.4, 0.9))]
    history = taken(signal(0, 100), *notes)
    assert [placed.event.index for placed in history.events] == [0, 2, 3, 1, 4]


def test_events_that_come_apart_from_blocks_are_taken_after_them():
    restart = Event(EventKind.RESTART, 0.25, 0)
    history = taken(signal(0, 100))
    history.update(ReceivedMessages(signals=(signal(0, 25, 0.25, epoch=2),), events=(restart,)))
    assert history.events[0].x == pytest.approx(history.timeline.segments[1].x_begin)


def test_transfer_functions_are_those_of_the_run_that_goes_on():
    def transfer(epoch):
        return TransferBlock(TransferStream("rig", epoch, 100.0, (FREQUENCY,)), 0, 0.0, np.ones((1, 1)))

    history = History(MEMORY)
    history.update(ReceivedMessages(transfer=transfer(1)))
    assert history.transfer.stream.epoch == 1
    taken(result(0, 10), history=history)
    assert history.transfer.stream.epoch == 1
    taken(result(0, 10, epoch=2), history=history)
    assert history.transfer is None
    history.update(ReceivedMessages(transfer=transfer(2)))
    assert history.transfer.stream.epoch == 2


def test_health_silence_and_age_are_those_of_the_last_look():
    history = History(MEMORY)
    history.update(ReceivedMessages(health=Health("rig")), silence=0.5, age=2.0)
    history.update(ReceivedMessages(), silence=0.75, age=2.25)
    assert (history.health, history.silence, history.age) == (Health("rig"), 0.75, 2.25)
    assert history.version == 1


@pytest.mark.parametrize(("rate", "n_channels"), [(1.0, 2), (1000.0, 8), (4096.0, 32)])
@pytest.mark.parametrize("memory", [1 << 22, 1 << 25])
def test_memory_is_bounded_taken_at_once_and_flat(rate, n_channels, memory):
    channels = tuple(Channel(f"x{i}", Role.AUXILIARY) for i in range(n_channels))
    columns = tuple(Column(f"r{i}", "", "a") for i in range(3 * n_channels))
    kinds, of = stream(rate, channels=channels), result_stream(rate, columns=columns)
    history = History(memory, minutes=10.0)

    def look(i, n):
        history.update(ReceivedMessages.sort([SignalBlock(kinds, i, i / rate, np.ones((n, n_channels))),
                                  ResultBlock(of, i, i / rate, np.ones((n, len(columns))))]))  # fmt: skip

    look(0, 40)
    assert history.nbytes <= memory
    tracemalloc.start()
    try:
        look(40, 40)
        before = tracemalloc.get_traced_memory()[0]
        for i in range(80, 4000, 40):
            look(i, 40)
        assert tracemalloc.get_traced_memory()[0] - before < 50_000
    finally:
        tracemalloc.stop()
    for i in range(4000, 200_000, 4000):
        look(i, 4000)
    # what is told to be the oldest is there, and nothing before it
    for kept, names in ((history.signals, [0]), (history.results, [("a", "r0")])):
        envelope = kept.envelope(0.0, history.end_x, 2000, names)
        assert kept.begin_x <= envelope.edges[0] < kept.begin_x + 0.02 * history.end_x + 256 / rate
        assert np.isfinite(envelope.low[1:, 0]).all()


@pytest.mark.parametrize("n_channels", [4])
def test_ten_minutes_are_kept_as_they_came_and_a_day_in_less_detail(n_channels):
    rate, day = 20.0, 86_400
    channels = tuple(Channel(f"x{i}", Role.AUXILIARY) for i in range(n_channels))
    kind = stream(rate, channels=channels)
    history = History(64 << 20)
    for start in range(0, 2 * day * 20, 72_000):
        history.update(
            ReceivedMessages(signals=(SignalBlock(kind, start, start / rate, np.ones((72_000, n_channels))),))
        )
    kept = history.signals
    assert kept.end_x - kept.exact_begin_x >= 600.0
    assert kept.end_x - kept.begin_x == pytest.approx(day, rel=0.001)


@pytest.mark.parametrize(("rate", "every"), [(1024.0, 10), (1000.0, 10), (1000.0, 7), (256.0, 4)])
def test_a_value_is_never_of_later_than_where_it_is_read(rate, every):
    history = History(MEMORY)
    of = result_stream(rate, every, columns=(Column("fdb_delay", "s", "a"),))
    times = np.arange(0, int(5.0 * rate), every) / rate
    history.update(ReceivedMessages(results=(ResultBlock(of, 0, 0.0, times[:, None]),)))
    for x in np.arange(1.0, 4.0, 0.0113):
        value = history.results.value("a", "fdb_delay", x)
        assert x - 0.04 - every / rate < value <= x
        assert history.results.between(x, [("a", "fdb_delay")]) == (value, value)
    x, values = history.results.rows(1.0, 4.0)
    np.testing.assert_allclose(x, values[:, 0], atol=1e-9)
    assert 74 <= len(x) <= 76


def test_a_decision_stands_until_the_rig_starts_again_though_its_clock_drifts():
    history, rate = History(MEMORY), 100.0
    told = Event(EventKind.DECISION, 10.0, 1000, 0, "any words", site="y", verdict="reject")
    for index in range(0, 60_000, 1000):
        of, time_ = result_stream(columns=JUDGED), index / rate * (1.0 + 400e-6)
        block = ResultBlock(of, index, time_, np.ones((1000, len(JUDGED))))
        history.update(ReceivedMessages(results=(block,), events=(told,) if index == 1000 else ()))
    assert len(history.timeline.segments) > 1
    for x in (10.1, 200.0, 599.0):
        assert latest_decision(history, "y", x)[0] == "■ any words"
    taken(result(0, 50, values=np.ones((50, len(JUDGED))), epoch=2, columns=JUDGED), history=history)
    assert "any words" not in latest_decision(history, "y", history.end_x)[0]
