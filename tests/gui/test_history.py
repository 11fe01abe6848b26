"""The history against the plain definition: of all rows in a display instant, the last one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gui.history import History
from monitor.blocks import Column, ResultBlock, ResultStream

COLUMNS = (Column("fdb_delay", "s", "a"), Column("fdb_ratio", "1", "a"), Column("fdb_delay", "s", "b"))


def stream(rate=100.0, every=1, epoch=1, columns=COLUMNS):
    return ResultStream("rig", epoch, rate, every, columns)


def rows(start, stop, every=1):
    """Rows whose first column is the index."""
    index = np.arange(start, stop, every, dtype=float)
    return np.column_stack([index, index + 0.25, -index])


def test_before_the_first_block_there_is_nothing():
    history = History(seconds=2.0, rate=10.0)
    assert history.actuators == ()
    assert history.stream is None
    assert np.isnan(history.value("a", "fdb_delay"))
    assert history.trace("a", "fdb_delay").shape == (20,)
    assert np.isnan(history.trace("a", "fdb_delay")).all()


@given(cuts=st.lists(st.integers(1, 699), max_size=12, unique=True), every=st.sampled_from([1, 3, 10, 40]))
def test_a_trace_holds_the_last_row_of_every_instant_however_it_was_cut(cuts, every):
    history, results = History(seconds=5.0, rate=10.0), stream(every=every)
    for start, stop in zip([0, *sorted(cuts)], [*sorted(cuts), 700], strict=True):
        first = -(-start // every) * every
        history.add(ResultBlock(results, first, first / 100.0, rows(first, stop, every)))
    expected = np.full(50, np.nan)
    head = (699 // every * every) // 10
    for index in range(0, 700, every):
        if head - 50 < index // 10 <= head:
            expected[index // 10 - head - 1] = index
    np.testing.assert_array_equal(history.trace("a", "fdb_delay"), expected)
    np.testing.assert_array_equal(history.trace("b", "fdb_delay"), -expected)
    assert history.value("a", "fdb_ratio") == 699 // every * every + 0.25


def test_what_is_invalid_now_is_told_from_what_was_valid_last():
    history = History()
    values = rows(0, 10)
    values[4:, 0] = np.nan
    values[:, 2] = np.nan
    history.add(ResultBlock(stream(), 0, 0.0, values))
    assert np.isnan(history.value("a", "fdb_delay"))
    assert history.last_valid("a", "fdb_delay") == 3.0
    assert history.last_valid("a", "fdb_ratio") == 9.25
    assert np.isnan(history.last_valid("b", "fdb_delay"))
    assert np.isnan(history.last_valid("nobody", "fdb_delay"))
    history.add(ResultBlock(stream(), 10, 0.1, np.empty((0, 3))))
    assert history.last_valid("a", "fdb_delay") == 3.0


@pytest.mark.parametrize("missing", [100, 100_000, 10**15])
def test_a_gap_stays_empty_and_costs_nothing(missing):
    history, results = History(seconds=3.0, rate=10.0), stream()
    history.add(ResultBlock(results, 0, 0.0, rows(0, 300)))
    history.add(ResultBlock(results, 300 + missing, 0.0, rows(300, 310)))
    trace = history.trace("a", "fdb_delay")
    assert trace[-1] == 309.0
    instants = min(missing // 10, 29)
    assert np.isnan(trace[-1 - instants : -1]).all()
    assert np.isfinite(trace[: -1 - instants]).all()


def test_a_restart_goes_on_and_other_columns_begin_anew():
    history = History(seconds=3.0, rate=10.0)
    history.add(ResultBlock(stream(), 5000, 50.0, rows(0, 100)))
    history.add(ResultBlock(stream(epoch=2), 0, 0.0, rows(0, 50)))
    trace = history.trace("a", "fdb_delay")
    np.testing.assert_array_equal(trace[-15:], [*np.arange(9.0, 100.0, 10.0), *np.arange(9.0, 50.0, 10.0)])
    other = stream(columns=(Column("fdb_delay", "s", "c"),))
    history.add(ResultBlock(other, 0, 0.0, np.ones((1, 1))))
    assert history.actuators == ("c",)
    assert np.isfinite(history.trace("c", "fdb_delay")).sum() == 1
    assert np.isnan(history.value("a", "fdb_delay"))


def test_a_restart_without_results_yet_has_no_newest_value():
    history = History()
    history.add(ResultBlock(stream(), 0, 0.0, rows(0, 10)))
    history.add(ResultBlock(stream(epoch=2), 0, 0.0, np.empty((0, 3))))
    assert np.isnan(history.value("a", "fdb_delay"))
    assert history.last_valid("a", "fdb_delay") == 9.0


def test_read_only_blocks_are_kept_by_copy():
    history = History()
    values = rows(0, 10)
    values.flags.writeable = False
    history.add(ResultBlock(stream(), 0, 0.0, values))
    history.add(ResultBlock(stream(), 10, 0.1, values.copy()))
    assert history.value("a", "fdb_delay") == 9.0


JUDGED = (Column("fdb_delay", "s", "a"), Column("model_low", "m", "y"), Column("reliability_accumulated", "1", "y"),
          Column("reliability_decision", "1", "all sites"))  # fmt: skip


def test_sites_of_a_model_are_no_actuators():
    history, results = History(), stream(columns=JUDGED)
    history.add(ResultBlock(results, 0, 0.0, np.array([[1.0, 2.0, 0.5, 1.0]])))
    assert (history.actuators, history.sites) == (("a",), ("y", "all sites"))
    assert history.value("y", "reliability_accumulated") == 0.5
    assert history.last_valid("all sites", "reliability_decision") == 1.0
    history.add(ResultBlock(stream(columns=JUDGED[1:]), 0, 0.0, np.ones((1, 3))))
    assert (history.actuators, history.sites) == ((), ("y", "all sites"))
    history.add(ResultBlock(stream(), 0, 0.0, rows(0, 1)))
    assert (history.actuators, history.sites) == (("a", "b"), ())


def test_what_was_said_of_a_model_does_not_outlive_a_restart():
    history = History()
    row = np.array([[1.0, 2.0, 0.5, -1.0]])
    history.add(ResultBlock(stream(columns=JUDGED), 0, 0.0, row))
    history.add(ResultBlock(stream(columns=JUDGED), 1, 0.01, np.full((1, 4), np.nan)))
    assert history.last_valid("all sites", "reliability_decision") == -1.0
    history.add(ResultBlock(stream(columns=JUDGED, epoch=2), 0, 0.0, np.empty((0, 4))))
    assert np.isnan(history.last_valid("all sites", "reliability_decision"))
    assert np.isnan(history.last_valid("y", "reliability_accumulated"))
    assert history.last_valid("a", "fdb_delay") == 1.0
