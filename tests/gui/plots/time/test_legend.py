"""Legends of rows: readouts at the cursor, and what a click or a menu changes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QContextMenuEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from gui.model.timeline import ClockSegment
from gui.plots.time.headers import Readout, ReadoutThrottle
from gui.plots.time.rows import CurveStyle, Frame, Interval, PlotRow, RowData, Trace, spread
from gui.plots.time.scene import MARGIN
from gui.widgets.theme import LIGHT
from tests.gui.shown import show_stack

COMMAND, MEASURED = QColor(LIGHT.command).name(), QColor(LIGHT.measured).name()


@pytest.fixture
def stack(qtbot):
    curves = CurveStyle("command", "command"), CurveStyle("measured", "measured")
    rows = [PlotRow(f"row{i}", f"a{i}", "displacement", "mm", curves, bands=("command",)) for i in range(2)]
    made = show_stack(qtbot, rows, (900, 300))
    draw(made)
    return made


def draw(stack):
    x = np.arange(0.0, 10.0, 0.01)
    traces = [Trace(np.append(x, 10.0), x, y, y, exact=True) for y in (80.0 + 0.0 * x, 2.0 * np.cos(x))]
    width = Trace(traces[0].edges, x, 20.0 + 0.0 * x, 20.0 + 0.0 * x, exact=True)
    rows = tuple(RowData(tuple(traces), (spread(traces[0], width),)) for _ in range(2))
    stack.draw(Frame(0.0, 10.0, rows, (ClockSegment(0.0, 10.0, 0.0, 1),)))


def place_of(stack, label, row=0):
    """Return the point of an entry of a legend."""
    top = stack.places.rows[row].top
    _, header = stack._header_at(QPointF(20, top + 5))
    (found,) = (
        (begin, width) for begin, width, entry in header.entries if stack.rows[row].curves[entry.index].label == label
    )
    return QPoint(round(MARGIN + found[0] + found[1] / 2), top + 8)


def colours(stack, row=0):
    image, place = stack.viewport().grab().toImage(), stack.plot_of(row).toRect()
    return {
        image.pixelColor(x, y).name()
        for x in range(place.left(), place.right())
        for y in range(place.top(), place.bottom())
    }


def click(stack, label, row=0):
    QTest.mouseClick(
        stack.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, place_of(stack, label, row)
    )


def test_a_click_hides_a_curve_with_its_band_and_another_shows_it_again(stack):
    before = colours(stack)
    assert {COMMAND, MEASURED} <= before
    click(stack, "command")
    hidden = colours(stack)
    assert COMMAND not in hidden and MEASURED in hidden
    assert len(hidden) < len(before)
    # the other row has it, and nothing was pinned
    assert COMMAND in colours(stack, 1)
    assert stack._view.pinned is None
    assert stack.legend(0)[0] == "command"
    click(stack, "command")
    assert colours(stack) == before


def test_the_scale_is_that_of_the_curves_that_are_shown(stack):
    click(stack, "command")
    stack.enable_auto_range(0)
    assert stack.limits("row0")[1] < 10.0
    click(stack, "command")
    draw(stack)
    assert stack.limits("row0")[1] > 80.0


def test_it_remains_hidden_in_other_frames_and_rows(stack):
    click(stack, "measured")
    draw(stack)
    stack.set_rows(tuple(reversed(stack._given)))
    draw(stack)
    assert MEASURED not in colours(stack, 1)
    assert MEASURED in colours(stack, 0)


def test_all_curves_may_be_hidden(stack):
    for label in ("command", "measured"):
        click(stack, label)
    draw(stack)
    assert not {COMMAND, MEASURED} & colours(stack)
    click(stack, "command")
    assert COMMAND in colours(stack)


def test_the_right_button_has_the_colours(stack):
    at = place_of(stack, "command")
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, stack.viewport().mapToGlobal(at))
    QApplication.sendEvent(stack.viewport(), event)
    menu = QApplication.activePopupWidget()
    actions = {action.text(): action for action in menu.actions()}
    assert {"Hide", "Show all curves", "purple", "default"} <= set(actions)
    actions["purple"].trigger()
    menu.close()
    assert COMMAND not in colours(stack)
    assert QColor(LIGHT.series[3]).name() in colours(stack)
    # and of the band behind it
    assert stack.rows[0].bands == (3,)
    QApplication.sendEvent(stack.viewport(), event)
    menu = QApplication.activePopupWidget()
    next(action for action in menu.actions() if action.text() == "default").trigger()
    menu.close()
    assert COMMAND in colours(stack)


def right_button(stack, at, to=None):
    """Press the right button, with the event for a menu that many systems send then, move, and release it."""
    viewport, right, none = stack.viewport(), Qt.MouseButton.RightButton, Qt.KeyboardModifier.NoModifier
    asked = []
    stack.menu_requested.connect(lambda *menu: asked.append(menu))
    QTest.mousePress(viewport, right, none, at)
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, viewport.mapToGlobal(at))
    QApplication.sendEvent(viewport, event)
    assert not asked
    assert QApplication.activePopupWidget() is None
    if to is not None:
        QTest.mouseMove(viewport, to)
    QTest.mouseRelease(viewport, right, none, to or at)
    return asked


def test_a_right_click_in_a_plot_asks_for_the_menu_of_its_row_and_instant(stack):
    at = stack.plot_of(1).center().toPoint()
    ((key, x, place),) = right_button(stack, at)
    assert key == "row1"
    assert x == pytest.approx(stack.scale().x(at.x()))
    assert place == stack.viewport().mapToGlobal(at)
    assert stack._view.pinned is None


def test_a_right_drag_zooms_and_has_no_menu(stack):
    at = stack.plot_of(0).center().toPoint()
    assert right_button(stack, at, at + QPoint(120, 0)) == []
    assert QApplication.activePopupWidget() is None
    assert stack._view.span < 5.0


def test_the_legend_asks_for_the_limits_of_one_curve(stack):
    asked = []
    stack.limits_requested.connect(lambda *curve: asked.append(curve))
    at = place_of(stack, "measured")
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, stack.viewport().mapToGlobal(at))
    QApplication.sendEvent(stack.viewport(), event)
    menu = QApplication.activePopupWidget()
    next(action for action in menu.actions() if action.text() == "Limits…").trigger()
    menu.close()
    assert asked == [("row0", "measured")]


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
