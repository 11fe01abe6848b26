"""The channels of a rig, as they came."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gui.model.history import History
from gui.model.pyramid import Envelope
from gui.model.receiver import ReceivedMessages
from gui.panels.histories import HistoriesPanel
from gui.plots.view import View
from gui.widgets.theme import LIGHT
from monitor.compensation.base import channels as compensator_channels
from monitor.messages.blocks import Channel, Event, EventKind, Role, SignalBlock, Stream
from monitor.messages.health import Health
from tests.gui.shown import show_panel

RATE = 200.0


def channels(n_actuators=1, *, force=True, unit="m"):
    found = []
    for i in range(n_actuators):
        found += [
            Channel(f"a{i}.command", Role.COMMAND, unit, f"a{i}"),
            Channel(f"a{i}.measured", Role.MEASURED, "m", f"a{i}"),
        ]
        if force:
            found.append(Channel(f"a{i}.force", Role.FORCE, "kN", f"a{i}"))
    return tuple(found)


def block(samples, *, index=0, time=0.0, epoch=1, named=None):
    stream = Stream("rig", epoch, RATE, named or channels())
    return SignalBlock(stream, index, time, np.ascontiguousarray(samples, dtype=float))


def motion(n, width=3, begin=0):
    t = (begin + np.arange(n)) / RATE
    return np.column_stack([(0.01 + 0.001 * k) * np.sin(5.0 * t + 0.1 * k) for k in range(width)])


def shown(qtbot, history, span=10.0, width=900, height=500):
    panel = show_panel(qtbot, HistoriesPanel, history, (width, height), span=span)
    return panel, panel.view


def kept(*blocks, events=()):
    history = History(memory=16 << 20)
    for one in blocks:
        history.update(ReceivedMessages(signals=(one,)))
    history.update(ReceivedMessages(health=Health(state="receiving"), events=tuple(events)))
    return history


def test_command_and_measured_lie_over_each_other_with_the_force_below_when_asked_for(qtbot, watched):
    panel, _ = shown(qtbot, watched)
    assert panel.shown == ("motion:north", "motion:south", "motion:roof")
    panel.show_rows([key for name in ("north", "south", "roof") for key in (f"motion:{name}", f"force:{name}")])
    names = [(row.name, row.quantity, [curve.label for curve in row.curves]) for row in panel.stack.rows]
    assert names == [
        (actuator, *what)
        for actuator in ("north", "south", "roof")
        for what in (("displacement", ["command", "measured"]), ("force", ["force"]))
    ]
    assert [row.unit for row in panel.stack.rows] == ["m", "N"] * 3


def test_close_up_every_sample_is_drawn_where_it_was_taken(qtbot):
    samples = motion(2000)
    panel, view = shown(qtbot, kept(block(samples)), span=2.0)
    trace = panel.stack.frame.rows[0].curves[1]
    assert trace.exact
    places = np.rint(trace.centers * RATE).astype(int)
    assert (np.diff(places) == 1).all()
    assert trace.centers[-1] == pytest.approx(1999 / RATE)
    assert trace.centers[0] <= view.left
    np.testing.assert_array_equal(trace.low, samples[places, 1])


def test_from_afar_each_bucket_has_its_least_and_greatest(qtbot):
    samples = motion(6000) + np.random.default_rng(1).normal(size=(6000, 3)) * 1e-3
    panel, _ = shown(qtbot, kept(block(samples)), span=30.0, width=400)
    trace = panel.stack.frame.rows[0].curves[0]
    assert not trace.exact
    for k in range(2, len(trace.low) - 1, 7):
        first, last = round(trace.edges[k] * RATE), round(trace.edges[k + 1] * RATE)
        assert trace.low[k] == samples[first:last, 0].min()
        assert trace.high[k] == samples[first:last, 0].max()


def test_what_is_missing_is_a_gap_of_its_length(qtbot):
    samples = motion(1000)
    samples[400:600] = np.nan
    panel, _ = shown(qtbot, kept(block(samples)), span=5.0)
    trace = panel.stack.frame.rows[0].curves[0]
    missing = trace.centers[np.isnan(trace.low)]
    assert missing.min() == pytest.approx(400 / RATE)
    assert missing.max() == pytest.approx(599 / RATE)


def test_the_legend_has_the_newest_sample_or_that_at_the_cursor(qtbot):
    samples = motion(1000)
    panel, view = shown(qtbot, kept(block(samples)), span=5.0)
    assert panel.stack.legend(0) == [
        f"{name} {1e3 * value:.2f} mm".replace("-", "−")
        for name, value in zip(("command", "measured"), samples[-1], strict=False)
    ]
    view.set_cursor(1.502)
    row = samples[300]
    assert panel.stack.legend(0)[0] == f"command {1e3 * row[0]:.2f} mm".replace("-", "−")


def test_values_of_different_units_do_not_share_a_scale(qtbot):
    named = channels(unit="V")
    panel, _ = shown(qtbot, kept(block(motion(400), named=named)))
    assert [(row.key, row.unit) for row in panel.stack.rows] == [("command:a0", "V"), ("measured:a0", "m")]


def test_of_many_actuators_the_first_eight_are_shown_and_all_can_be(qtbot):
    named = channels(12, force=False)
    panel, _ = shown(qtbot, kept(block(motion(400, 24), named=named)))
    assert panel.shown == tuple(f"motion:a{i}" for i in range(8))
    panel.show_rows([choice.key for choice in panel.choices() if choice.key.startswith("motion")])
    assert len(panel.shown) == 12
    assert panel.stack.verticalScrollBar().maximum() > 0
    # what is out of sight costs nothing
    assert panel.stack.frame.rows[11] is None
    panel.stack.verticalScrollBar().setValue(panel.stack.verticalScrollBar().maximum())
    assert panel.stack.frame.rows[11] is not None
    assert panel.stack.frame.rows[0] is None


def test_a_chosen_row_is_shown_alone_and_stays_so_after_a_restart_of_the_rig(qtbot, watched):
    panel, _ = shown(qtbot, watched)
    panel.show_rows(["force:roof"])
    panel.configure(watched)
    assert panel.shown == ("force:roof",)
    panel.show_rows([])
    assert panel.shown == ()


def test_auxiliary_channels_of_one_kind_share_a_row_that_is_shown_when_asked_for(qtbot, watched):
    panel, _ = shown(qtbot, watched)
    choice = next(choice for choice in panel.choices() if choice.text == "true delay")
    assert choice.key not in panel.shown
    panel.show_rows([choice.key])
    assert [curve.label for curve in panel.stack.rows[0].curves] == ["north", "south", "roof"]
    assert panel.stack.rows[0].unit == "s"


def test_what_a_compensator_does_is_shown_below_the_motion(qtbot):
    named = (*channels(2, force=False), *compensator_channels("a0"), *compensator_channels("a1"))
    panel, _ = shown(qtbot, kept(block(motion(400, len(named)), named=named)))
    assert [row.quantity for row in panel.stack.rows] == ["displacement", "displacement", "compensated delay"]
    assert [curve.label for curve in panel.stack.rows[-1].curves] == ["a0", "a1"]


def test_without_actuators_the_other_channels_are_shown(qtbot):
    named = (Channel("strain", Role.AUXILIARY, "1"), Channel("tower.level", Role.AUXILIARY, "V"))
    panel, _ = shown(qtbot, kept(block(motion(400, 2), named=named)))
    assert [(row.name, row.quantity) for row in panel.stack.rows] == [("", "strain"), ("tower", "level")]


def test_the_menu_ticks_what_is_shown_and_shows_what_is_ticked(qtbot, watched):
    panel, _ = shown(qtbot, watched)
    actions = {action.text(): action for action in panel.menu.menu().actions() if action.isCheckable()}
    assert actions["north displacement"].isChecked()
    assert not actions["north force"].isChecked()
    assert not actions["true ratio"].isChecked()
    actions["north displacement"].trigger()
    actions["north force"].trigger()
    actions["true ratio"].trigger()
    assert "motion:north" not in panel.shown
    assert "force:north" in panel.shown
    assert any(key.startswith("auxiliary:true_ratio") for key in panel.shown)


def test_events_are_marked_where_they_happened(qtbot):
    note = Event(EventKind.NOTE, 102.5, 500, detail="look here")
    panel, _ = shown(qtbot, kept(block(motion(1000), time=100.0), events=[note]), span=5.0)
    assert [(mark.x, mark.event) for mark in panel.stack.frame.marks] == [(pytest.approx(2.5), note)]


def test_a_picture_is_made_once(qtbot):
    history = kept(block(motion(1000)))
    panel, view = shown(qtbot, history)
    before = panel.stack.frame
    panel.refresh(history)
    assert panel.stack.frame is before
    view.zoom(0.5)
    panel.refresh(history)
    assert panel.stack.frame is not before


def test_nothing_to_show_is_said(qtbot):
    panel, _ = shown(qtbot, History(memory=1 << 20))
    assert panel.stack.rows == ()
    assert "No signals yet" in panel.stack.message
    assert not panel.menu.isEnabled()


def test_old_values_are_called_so_while_they_are_the_newest(qtbot):
    history = kept(block(motion(1000)))
    history.update(ReceivedMessages(), silence=0.0, age=30.0)
    panel, view = shown(qtbot, history)
    assert panel.stack.frame.stale == "stale"
    view.pause()
    panel.refresh(history)
    assert panel.stack.frame.stale == ""


class Asked:
    """A run file that has every sample; places are numbers of samples."""

    def __init__(self, samples, *, ready=True):
        self.samples, self.ready, self.spans = samples, ready, []

    def __call__(self, epoch, start, stop, n_columns, columns):
        self.spans.append((epoch, start, stop, n_columns, tuple(columns)))
        if not self.ready:
            return None
        first, last = round(start), round(stop)
        found = self.samples[first:last][:, list(columns)]
        return Envelope(np.arange(first, last + 1, dtype=float), found, found)


@pytest.fixture
def long_ago():
    """A hundred seconds of which memory has the last as they came, the first in buckets of sixteen."""
    samples = motion(20_000)
    history = History(memory=16 << 20, minutes=1.0)
    history.update(ReceivedMessages(signals=(block(samples),)))
    assert history.signals.exact_begin_x > 5.0
    return samples, history


def test_what_memory_has_forgotten_comes_from_the_run_file(qtbot, long_ago):
    samples, history = long_ago
    panel, view = shown(qtbot, history, span=2.0)
    panel.detail = Asked(samples)
    view.set_right(3.0)
    panel.refresh(history)
    trace = panel.stack.frame.rows[0].curves[0]
    assert trace.exact
    np.testing.assert_array_equal(trace.low, samples[200:600, 0])
    epoch, start, stop, _, columns = panel.detail.spans[0]
    assert (epoch, start, stop, columns) == (1, pytest.approx(200.0), pytest.approx(600.0), (0, 1))


def test_detail_that_comes_later_is_drawn_although_nothing_else_is_new(qtbot, long_ago):
    samples, history = long_ago
    panel, view = shown(qtbot, history, span=2.0)
    panel.detail = Asked(samples, ready=False)
    view.set_right(3.0)
    panel.refresh(history)
    assert not panel.stack.frame.rows[0].curves[0].exact
    panel.detail.ready = True
    panel.refresh(history)
    trace = panel.stack.frame.rows[0].curves[0]
    assert samples[400, 0] in trace.low


def ranges(samples, at, factor=1e3):
    """Return what a legend says where memory has buckets of 16 samples."""
    first = at // 16 * 16
    low, high = (factor * f(samples[first : first + 16, 0]) for f in (np.min, np.max))
    return f"command {low:.2f} … {high:.2f} mm".replace("-", "−")


def test_where_memory_has_buckets_their_range_is_read(qtbot, long_ago):
    samples, history = long_ago
    panel, view = shown(qtbot, history, span=2.0)
    view.set_right(3.0)
    panel.refresh(history)
    view.set_cursor(2.0)
    assert panel.stack.legend(0)[0] == ranges(samples, 400)


def test_where_the_screen_has_detail_its_value_is_read(qtbot, long_ago):
    samples, history = long_ago
    panel, view = shown(qtbot, history, span=2.0)
    panel.detail = Asked(samples)
    view.set_right(3.0)
    panel.refresh(history)
    view.set_cursor(2.0)
    said = f"command {1e3 * samples[400, 0]:.2f} mm".replace("-", "−")
    assert panel.stack.legend(0)[0] == said
    # beyond the detail the bucket is all that is known
    view.set_cursor(4.0)
    assert panel.stack.legend(0)[0] == ranges(samples, 800)


def test_coarser_detail_does_not_widen_what_memory_knows(qtbot, long_ago):
    samples, history = long_ago
    panel, view = shown(qtbot, history, span=2.0)
    wide = samples[:6400].reshape(100, 64, 3)
    panel.detail = lambda *span: Envelope(np.arange(101) * 64.0, wide.min(axis=1), wide.max(axis=1), 64)
    view.set_right(3.0)
    panel.refresh(history)
    view.set_cursor(2.0)
    assert panel.stack.legend(0)[0] == ranges(samples, 400)


def test_no_detail_is_asked_for_while_memory_has_all(qtbot, long_ago):
    samples, history = long_ago
    panel, _ = shown(qtbot, history, span=0.5)
    panel.detail = Asked(samples)
    panel.stack.set_rows(panel.stack.rows)
    history.update(ReceivedMessages(health=Health(state="receiving")))
    panel.refresh(history)
    assert panel.detail.spans == []


def test_a_restart_of_the_rig_is_a_break_with_a_time_of_its_own(qtbot):
    history = kept(block(motion(1000), time=500.0), block(motion(600), time=20.0, epoch=2))
    panel, _ = shown(qtbot, history, span=12.0)
    first, second = history.timeline.segments
    assert panel.stack.instant(first.x_end - 0.005) == "504.99 s"
    assert panel.stack.instant((first.x_end + second.x_begin) / 2.0) == "—"
    assert panel.stack.instant(second.x_begin) == "20.00 s"


@settings(max_examples=12, deadline=None)
@given(st.integers(320, 1400), st.integers(120, 900), st.integers(1, 9), st.floats(0.02, 500.0))
def test_any_size_can_be_painted(width, height, n, span):
    from PySide6.QtWidgets import QApplication

    assert QApplication.instance() is not None
    history = kept(block(motion(900, 3 * n), named=channels(n)))
    view = View()
    view.span = span
    view.extend(history.begin_x, history.end_x)
    panel = HistoriesPanel(view, LIGHT)
    panel.resize(width, height)
    panel.configure(history)
    panel.refresh(history)
    assert not panel.grab().isNull()
    panel.deleteLater()
