"""A stack of rows as a hand moves it: wheel, drag, click and double click; and what is read in it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from gui.model.timeline import ClockSegment
from gui.plots.time.rows import CurveStyle, Frame, Interval, PlotRow, RowData, Trace
from gui.plots.time.stack import TimeStack
from gui.plots.view import View
from gui.widgets.theme import DARK, LIGHT
from tests.gui.shown import show_stack

SPAN = 10.0
ROWS = tuple(
    PlotRow(f"row{i}", f"a{i}", "displacement", "m", (CurveStyle("command", "command"),), prefixed=True)
    for i in range(2)
)


def known(value):
    return Interval(value, value)


def numbers(begin=0.0, end=SPAN, amplitude=0.008, missing=(4.0, 6.0)):
    x = np.arange(begin, end, 0.01)
    y = amplitude * np.sin(2.0 * x)
    y[(x >= missing[0]) & (x < missing[1])] = np.nan
    edges = np.append(x, end)
    return Trace(edges, x, y, y, exact=True)


@pytest.fixture
def view():
    made = View()
    made.span = SPAN
    made.extend(-20.0, SPAN)
    return made


@pytest.fixture
def stack(qtbot, view):
    made = show_stack(qtbot, ROWS, view=view)
    draw(made)
    return made


def draw(stack, left=0.0, amplitude=0.008, **changes):
    rows = tuple(RowData((numbers(left, left + SPAN, amplitude),)) for _ in stack.rows)
    segments = (ClockSegment(-20.0, 100.0, 1000.0, 1),)

    def read(x):
        return [[known(0.001 * x * (i + 1))] for i in range(len(stack.rows))]

    stack.draw(Frame(left, left + SPAN, rows, segments, read=read, **changes))


def place(stack, x, row=0):
    """Return the pixel of an instant in the middle of a row."""
    scale = stack.scale()
    y = next(y for y in range(400) if stack.row_at(y) == row) + 60
    return QPoint(round(scale.pixel(x)), y)


def move(stack, at, buttons=Qt.MouseButton.NoButton):
    from PySide6.QtGui import QMouseEvent

    event = QMouseEvent(
        QEvent.Type.MouseMove, QPointF(at), QPointF(stack.viewport().mapToGlobal(at)), Qt.MouseButton.NoButton,
        buttons, Qt.KeyboardModifier.NoModifier,
    )  # fmt: skip
    QApplication.sendEvent(stack.viewport(), event)


def wheel(stack, at, notches, modifiers=Qt.KeyboardModifier.NoModifier):
    event = QWheelEvent(
        QPointF(at), QPointF(stack.viewport().mapToGlobal(at)), QPoint(), QPoint(0, 120 * notches),
        Qt.MouseButton.NoButton, modifiers, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(stack.viewport(), event)


def colours(stack, x, row=0):
    """Return the colours of the picture in a column of a row, below its heading."""
    image = stack.viewport().grab().toImage()
    at = place(stack, x, row)
    return {image.pixelColor(at.x(), y).name() for y in range(at.y() - 35, 400) if stack.row_at(y + 8) == row}


def test_the_wheel_zooms_in_time_around_the_mouse(stack, view):
    view.pause()
    view.set_right(SPAN - 1.0)
    draw(stack, -1.0)
    at = place(stack, 3.0)
    x = stack.scale().x(at.x())
    share = (x - view.left) / view.span
    wheel(stack, at, 2)
    assert view.span == pytest.approx(SPAN / 1.25**2)
    assert (x - view.left) / view.span == pytest.approx(share)


def test_the_wheel_with_ctrl_zooms_one_row_in_value(stack, view):
    before, other = stack.limits("row0"), stack.limits("row1")
    at = place(stack, 3.0, 0)
    value = stack.value_at(0, at.y())
    wheel(stack, at, 1, Qt.KeyboardModifier.ControlModifier)
    after = stack.limits("row0")
    assert after[1] - after[0] == pytest.approx((before[1] - before[0]) / 1.25)
    assert stack.value_at(0, at.y()) == pytest.approx(value)
    assert stack.limits("row1") == other
    assert view.span == SPAN


def test_a_double_click_lets_the_scale_follow_again_and_pins_nothing(stack, view):
    before = stack.limits("row0")
    at = place(stack, 3.0)
    wheel(stack, at, 3, Qt.KeyboardModifier.ControlModifier)
    draw(stack)
    assert stack.limits("row0") != before
    QTest.mouseClick(stack.viewport(), Qt.MouseButton.LeftButton, pos=at)
    QTest.mouseDClick(stack.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert stack.limits("row0") == pytest.approx(before)
    assert view.pinned is None


@pytest.mark.parametrize("pinned", [None, 6.0])
def test_a_double_click_leaves_the_view_as_it_was(stack, view, pinned):
    view.pin(pinned)
    before = view.following, view.left, view.right, view.pinned
    at = place(stack, 3.0)
    wheel(stack, at, 3, Qt.KeyboardModifier.ControlModifier)
    QTest.mouseClick(stack.viewport(), Qt.MouseButton.LeftButton, pos=at)
    QTest.mouseDClick(stack.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert (view.following, view.left, view.right, view.pinned) == before
    # also over the value axis, long after a click
    QTest.mouseClick(stack.viewport(), Qt.MouseButton.LeftButton, pos=at)
    before = view.pinned
    QTest.mouseClick(stack.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(10, at.y()))
    QTest.mouseDClick(stack.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(10, at.y()))
    assert view.pinned == before


def test_a_click_pins_and_only_a_drag_or_a_key_pauses(stack, view):
    QTest.mouseClick(stack.viewport(), Qt.MouseButton.LeftButton, pos=place(stack, 3.0))
    assert view.pinned == pytest.approx(3.0, abs=0.02)
    assert view.following
    view.extend(-20.0, SPAN + 1.0)
    draw(stack, 1.0)
    # the pinned instant scrolls with the data
    assert view.right == SPAN + 1.0
    assert view.pinned == pytest.approx(3.0, abs=0.02)


def test_while_data_scroll_the_cursor_stays_under_the_mouse(stack, view):
    at = place(stack, 7.0)
    move(stack, at)
    for newest in (1.0, 2.5):
        view.extend(-20.0, SPAN + newest)
        draw(stack, newest)
        assert stack.scale().pixel(view.cursor) == pytest.approx(at.x())
    assert view.cursor == pytest.approx(9.5, abs=0.02)
    # a paused view does not scroll
    view.pause()
    x = view.cursor
    draw(stack, 2.5)
    assert view.cursor == x
    # nor does the cursor that keys have moved
    view.follow()
    QTest.keyClick(stack, Qt.Key.Key_Left, Qt.KeyboardModifier.ControlModifier)
    x = view.cursor
    draw(stack, 3.0)
    assert view.cursor == x


def test_dragging_scrubs_and_comes_back_to_live(stack, view):
    begin, end = place(stack, 3.0), place(stack, 5.0)
    QTest.mousePress(stack.viewport(), Qt.MouseButton.LeftButton, pos=begin)
    move(stack, end, Qt.MouseButton.LeftButton)
    assert not view.following
    assert view.right == pytest.approx(SPAN - 2.0, abs=0.05)
    move(stack, begin, Qt.MouseButton.LeftButton)
    assert view.following
    QTest.mouseRelease(stack.viewport(), Qt.MouseButton.LeftButton, pos=begin)
    assert view.pinned is None


def test_a_click_pins_and_another_one_lets_go(stack, view):
    at = place(stack, 3.0)
    QTest.mouseClick(stack.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert view.pinned == pytest.approx(3.0, abs=0.02)
    QTest.mouseClick(stack.viewport(), Qt.MouseButton.LeftButton, pos=place(stack, 7.0))
    assert view.pinned is None


def test_the_mouse_points_and_takes_its_cursor_away(stack, view):
    move(stack, place(stack, 7.0))
    assert view.cursor == pytest.approx(7.0, abs=0.02)
    QApplication.sendEvent(stack.viewport(), QEvent(QEvent.Type.Leave))
    assert view.cursor is None


def test_the_legend_has_newest_values_then_those_at_the_cursor_then_differences(stack, view):
    assert stack.legend(0) == ["command 10.00 mm"]
    view.set_cursor(4.0)
    assert stack.legend(1) == ["command 8.00 mm"]
    view.pin(3.0)
    assert stack.legend(1) == ["command 8.00 mm Δ 2.00 mm"]
    view.set_cursor(2.0)
    assert stack.legend(0) == ["command 2.00 mm Δ −1.00 mm"]


def test_the_rigs_time_is_told_as_fine_as_a_pixel(stack):
    assert stack.instant(3.25) == "1003.25 s"
    assert stack.instant(-30.0) == "—"


def test_where_only_a_range_is_known_it_is_said_and_so_is_that_of_the_difference(stack, view):
    frame = stack.frame

    def read(x):
        # memory has buckets before 4 s
        found = Interval(-0.0021, 0.0034) if x < 4.0 else known(0.001 * x)
        return [[found], [known(0.0025)]]

    stack.draw(replace(frame, read=read))
    view.set_cursor(3.0)
    assert stack.legend(0) == ["command −2.10 … 3.40 mm"]
    view.pin(5.0)
    assert stack.legend(0) == ["command −2.10 … 3.40 mm Δ −7.10 … −1.60 mm"]
    view.set_cursor(6.0)
    assert stack.legend(0) == ["command 6.00 mm Δ 1.00 mm"]
    view.pin(3.0)
    assert stack.legend(0) == ["command 6.00 mm Δ 2.60 … 8.10 mm"]


def test_a_range_that_is_no_wider_than_what_is_written_is_a_value(stack, view):
    stack.draw(replace(stack.frame, read=lambda x: [[Interval(0.0012499, 0.0012501)], [known(0.0)]]))
    assert stack.legend(0) == ["command 1.25 mm"]


def test_in_a_break_nothing_is_read_whatever_lies_beside(stack, view):
    segments = (ClockSegment(-20.0, 4.0, 0.0, 1), ClockSegment(5.0, 100.0, 50.0, 2))
    stack.draw(replace(stack.frame, segments=segments))
    view.set_cursor(4.5)
    assert stack.legend(0) == ["command —"]
    view.set_cursor(5.0)
    assert stack.legend(0) == ["command 5.00 mm"]
    view.pin(4.5)
    assert stack.legend(0) == ["command 5.00 mm Δ —"]


def test_lines_are_smooth_while_the_view_stands_still_and_not_live(stack, view):
    def shades():
        """Return how many colours there are between those of the curve and of the ground."""
        return len(colours(stack, 2.3))

    live = shades()
    view.pause()
    assert shades() > live
    stack.set_smooth(False)
    assert shades() == live
    stack.set_smooth(True)
    assert shades() > live
    view.follow()
    assert shades() == live


def test_what_comes_beyond_the_edge_changes_no_picture_that_stands(stack, view):
    view.pause()
    taken = []
    for n in (101, 102, 140):
        x = np.arange(n) * 0.1
        y = 0.008 * np.sin(2.0 * x)
        trace = Trace(np.append(x, x[-1] + 0.1), x, y, y, exact=True)
        stack.draw(replace(stack.frame, rows=(RowData((trace,)),) * 2))
        taken.append(stack.viewport().grab().toImage())
    assert taken[0] == taken[1] == taken[2]


def test_what_has_no_value_is_a_gap_on_grey(stack):
    assert QColor(LIGHT.command).name() in colours(stack, 2.3)
    assert QColor(LIGHT.base).name() in colours(stack, 2.3)
    assert QColor(LIGHT.command).name() not in colours(stack, 5.3)
    assert QColor(LIGHT.invalid).name() in colours(stack, 5.3)
    assert QColor(LIGHT.base).name() not in colours(stack, 5.3)


def test_what_is_to_come_is_not_grey(stack):
    frame = stack.frame
    stack.draw(Frame(0.0, 2.0 * SPAN, frame.rows, (ClockSegment(0.0, SPAN, 0.0, 1),), read=frame.read))
    assert QColor(LIGHT.invalid).name() not in colours(stack, 1.5 * SPAN)


def test_another_theme_is_drawn(stack):
    stack.apply_theme(DARK)
    assert QColor(DARK.command).name() in colours(stack, 2.3)


def test_rows_without_room_are_scrolled(qtbot, stack):
    assert stack.verticalScrollBar().maximum() == 0
    stack.set_rows([PlotRow(f"row{i}", f"a{i}", "", "m", (CurveStyle("command", "command"),)) for i in range(20)])
    draw(stack)
    assert stack.verticalScrollBar().maximum() > 0
    assert stack.seen.start == 0
    with qtbot.waitSignal(stack.rows_revealed):
        stack.verticalScrollBar().setValue(stack.verticalScrollBar().maximum())
    assert stack.seen.stop == 20
    # over the value axes the wheel scrolls
    wheel(stack, QPoint(20, 100), 1)
    assert stack.verticalScrollBar().value() < stack.verticalScrollBar().maximum()


def test_the_value_axes_of_all_stacks_are_equally_wide(qtbot, stack, view):
    other = TimeStack(view, LIGHT)
    qtbot.addWidget(other)
    other.resize(800, 300)
    other.set_rows([PlotRow("big", "big", "", "kN", (CurveStyle("force", "force"),))])
    other.draw(Frame(0.0, SPAN, (RowData((numbers(amplitude=8e7),)),)))
    assert other.scale().begin == stack.scale().begin


def test_stacks_with_and_without_a_scroll_bar_end_in_one_place(qtbot, stack, view):
    other = TimeStack(view, LIGHT)
    qtbot.addWidget(other)
    other.resize(800, 300)
    other.set_rows([PlotRow(f"row{i}", f"a{i}", "", "m", (CurveStyle("command", "command"),)) for i in range(20)])
    other.show()
    assert other.verticalScrollBar().isVisible()
    assert not stack.verticalScrollBar().isVisible()
    assert other.scale().width == stack.scale().width
    assert other.scale().begin + other.scale().width <= other.viewport().width()


def test_nothing_is_said_as_text(qtbot, view):
    made = TimeStack(view, LIGHT)
    qtbot.addWidget(made)
    made.message = "nothing yet"
    made.resize(400, 200)
    image = made.viewport().grab().toImage()
    found = {image.pixelColor(x, y).name() for x in range(0, 400, 1) for y in range(80, 120)}
    assert len(found) > 1


def test_a_very_large_and_a_very_small_scale_keep_their_unit(stack):
    stack.set_rows([PlotRow("ti", "", "TI", "m^2", (CurveStyle("TI", 0),))])
    stack.draw(Frame(0.0, SPAN, (RowData((numbers(amplitude=4e-6),)),), read=lambda x: [[known(3.3e-6)]]))
    assert stack.legend(0) == ["TI 3.30 10⁻⁶ m²"]
    assert all("e" not in text for text in stack.legend(0))


def test_all_that_a_mouse_does_can_be_done_by_keys(stack, view):
    view.set_cursor(5.0)
    QTest.keyClick(stack, Qt.Key.Key_Left, Qt.KeyboardModifier.ControlModifier)
    assert view.cursor == pytest.approx(4.9)
    QTest.keyClick(stack, Qt.Key.Key_Return)
    assert view.pinned == pytest.approx(4.9)
    QTest.keyClick(stack, Qt.Key.Key_Right, Qt.KeyboardModifier.ControlModifier)
    assert stack.legend(0) == ["command 5.00 mm Δ 0.10 mm"]
    QTest.keyClick(stack, Qt.Key.Key_Return)
    assert view.pinned is None
    before = stack.limits("row0")
    QTest.keyClick(stack, Qt.Key.Key_Up, Qt.KeyboardModifier.ShiftModifier)
    assert stack.limits("row0")[1] < before[1]
    QTest.keyClick(stack, Qt.Key.Key_Home, Qt.KeyboardModifier.ShiftModifier)
    assert stack.limits("row0") == pytest.approx(before)


def test_the_cursor_stays_in_sight(stack, view):
    for _ in range(3):
        QTest.keyClick(stack, Qt.Key.Key_Right, Qt.KeyboardModifier.ControlModifier)
    assert view.cursor == view.right


def test_what_is_written_to_a_file_keeps_its_text(stack, tmp_path):
    from PySide6.QtCore import QSize
    from PySide6.QtGui import QPainter
    from PySide6.QtSvg import QSvgGenerator

    path = tmp_path / "stack.svg"
    made = QSvgGenerator()
    made.setFileName(str(path))
    made.setSize(QSize(800, 400))
    painter = QPainter(made)
    stack.render(painter, QPoint())
    painter.end()
    text = path.read_text()
    assert "displacement [mm]" in text
    assert "10.00 mm" in text
    assert text.count("<polyline") >= 2


def test_no_stack_outlives_its_parent(qtbot, view):
    import gc
    import weakref

    from PySide6.QtWidgets import QWidget
    from shiboken6 import isValid

    parent = QWidget()
    made = TimeStack(view, LIGHT, parent)
    made.set_rows(ROWS)
    seen = weakref.ref(made)
    parent.deleteLater()
    QApplication.sendPostedEvents(parent, QEvent.Type.DeferredDelete.value)
    assert not isValid(made)
    view.set_cursor(1.0)
    del made, parent
    gc.collect()
    assert seen() is None


def heading(stack, row=0):
    """Return the picture of a row's heading."""
    top = next(y for y in range(400) if stack.row_at(y) == row)
    return stack.viewport().grab().toImage().copy(0, top, 800, 14)


def at_end(stack, end, value, more):
    """Draw a live picture whose newest sample is at `end`."""
    read = [[known(value)], [known(value)]]
    made = replace(stack.frame, left=end - SPAN, right=end, segments=(ClockSegment(-20.0, end, 0.0, 1),))
    stack.draw(replace(made, read=lambda x: read), more=more)


def test_headings_wait_for_what_is_on_its_way_and_not_longer(stack, view):
    at_end(stack, 10.0, 0.001, more=True)
    first = heading(stack)
    at_end(stack, 10.04, 0.002, more=True)
    assert heading(stack) == first
    assert stack.legend(0) == ["command 2.00 mm"]
    stack.flush_readouts()
    second = heading(stack)
    assert second != first
    at_end(stack, 10.08, 0.001, more=True)
    assert heading(stack) == second
    at_end(stack, 10.3, 0.001, more=True)
    assert heading(stack) == first


def test_a_value_that_is_lost_leaves_its_heading_at_once(stack, view):
    at_end(stack, 10.0, 0.001, more=True)
    first = heading(stack)
    at_end(stack, 10.04, float("nan"), more=True)
    dash = heading(stack)
    assert dash != first
    at_end(stack, 10.08, 0.001, more=True)
    assert heading(stack) == first


def test_the_heading_of_a_view_that_stops_is_of_its_last_instant(stack, view):
    stack.set_smooth(False)
    at_end(stack, 10.0, 0.001, more=True)
    first = heading(stack)
    at_end(stack, 10.04, 0.002, more=True)
    assert heading(stack) == first
    view.pause()
    assert heading(stack) != first
