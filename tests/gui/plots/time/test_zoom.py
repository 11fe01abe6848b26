"""Rubber band, zoom history and the mark of a manual scale, by mouse and keys."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QMouseEvent, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from gui.model.timeline import ClockSegment
from gui.plots.time.rows import CurveStyle, Frame, PlotRow, RowData, Trace
from gui.plots.view import View
from gui.widgets.theme import LIGHT
from tests.gui.shown import show_stack

LEFT, RIGHT = Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton
ROWS = tuple(
    PlotRow(
        f"row{i}",
        f"a{i}",
        "displacement",
        "mm",
        (CurveStyle("command", "command"), CurveStyle("measured", "measured")),
    )
    for i in range(2)
)


@pytest.fixture
def view():
    made = View()
    made.span = 20.0
    made.extend(0.0, 100.0)
    return made


@pytest.fixture
def stack(qtbot, view):
    made = show_stack(qtbot, ROWS, view=view)
    draw(made, view)
    return made


def draw(stack, view):
    x = np.arange(view.left, view.right, view.span / 500.0)
    traces = [Trace(np.append(x, view.right), x, y, y, exact=True) for y in (8.0 * np.sin(x), 2.0 * np.cos(x))]
    rows = tuple(RowData(tuple(traces)) for _ in stack.rows)
    stack.draw(Frame(view.left, view.right, rows, (ClockSegment(0.0, 100.0, 0.0, 1),)))


def point(stack, x, value, row=0):
    place, (low, high) = stack.plot_of(row), stack.limits(f"row{row}")
    # two pixels at either end are a margin
    y = place.top() + 2.0 + (high - value) / (high - low) * (place.height() - 4.0)
    return QPoint(round(stack.scale().pixel(x)), round(y))


def drag(stack, begin, end, button, modifiers=Qt.KeyboardModifier.NoModifier):
    viewport = stack.viewport()
    QTest.mousePress(viewport, button, modifiers, begin)
    for at in (begin + (end - begin) / 2, end):
        event = QMouseEvent(
            QMouseEvent.Type.MouseMove, QPointF(at), QPointF(viewport.mapToGlobal(at)), Qt.MouseButton.NoButton,
            button, modifiers,
        )  # fmt: skip
        QApplication.sendEvent(viewport, event)
    QTest.mouseRelease(viewport, button, modifiers, end)


@pytest.mark.parametrize(
    ("button", "modifiers"), [(RIGHT, Qt.KeyboardModifier.NoModifier), (LEFT, Qt.KeyboardModifier.ControlModifier)]
)
def test_a_rubber_band_zooms_to_its_span_and_values(stack, view, button, modifiers):
    other = stack.limits("row1")
    drag(stack, point(stack, 85.0, 4.0), point(stack, 90.0, -2.0), button, modifiers)
    assert (view.left, view.right) == (pytest.approx(85.0, abs=0.05), pytest.approx(90.0, abs=0.05))
    assert not view.following
    assert stack.limits("row0") == (pytest.approx(-2.0, abs=0.1), pytest.approx(4.0, abs=0.1))
    assert stack.limits("row1") == other
    assert view.pinned is None


def test_a_flat_one_zooms_in_time_and_a_narrow_one_in_value(stack, view):
    before = stack.limits("row0")
    drag(stack, point(stack, 85.0, 4.0), point(stack, 90.0, 4.0) + QPoint(0, 3), RIGHT)
    assert view.span == pytest.approx(5.0, abs=0.1)
    assert stack.limits("row0") == before
    draw(stack, view)
    drag(stack, point(stack, 87.0, 4.0), point(stack, 87.0, 0.0) + QPoint(3, 0), RIGHT)
    assert view.span == pytest.approx(5.0, abs=0.1)
    assert stack.limits("row0") == (pytest.approx(0.0, abs=0.1), pytest.approx(4.0, abs=0.1))


def test_a_click_of_the_right_button_or_escape_changes_nothing(stack, view):
    before = view.left, view.right, stack.limits("row0")
    at = point(stack, 85.0, 4.0)
    QTest.mouseClick(stack.viewport(), RIGHT, Qt.KeyboardModifier.NoModifier, at)
    viewport = stack.viewport()
    QTest.mousePress(viewport, RIGHT, Qt.KeyboardModifier.NoModifier, at)
    end = at + QPoint(100, 50)
    move = QMouseEvent(
        QMouseEvent.Type.MouseMove, QPointF(end), QPointF(viewport.mapToGlobal(end)), Qt.MouseButton.NoButton, RIGHT,
        Qt.KeyboardModifier.NoModifier,
    )  # fmt: skip
    QApplication.sendEvent(viewport, move)
    assert colour_at(stack, at + QPoint(50, 0)) == QColor(LIGHT.accent).name()
    QTest.keyClick(stack, Qt.Key.Key_Escape)
    QTest.mouseRelease(viewport, RIGHT, Qt.KeyboardModifier.NoModifier, end)
    assert (view.left, view.right, stack.limits("row0")) == before
    assert view.following and view.pinned is None
    assert colour_at(stack, at + QPoint(50, 0)) != QColor(LIGHT.accent).name()


def colour_at(stack, at):
    return stack.viewport().grab().toImage().pixelColor(at).name()


def test_zooms_are_undone_and_redone_by_the_buttons_of_the_mouse(stack, view):
    viewport, at = stack.viewport(), point(stack, 85.0, 4.0)
    scale = stack.limits("row0")
    drag(stack, at, point(stack, 90.0, -2.0), RIGHT)
    zoomed = view.left, view.right, stack.limits("row0")
    draw(stack, view)
    drag(stack, point(stack, 86.0, 2.0), point(stack, 87.0, 1.0), RIGHT)
    closer = view.left, view.right, stack.limits("row0")
    QTest.mouseClick(viewport, Qt.MouseButton.BackButton, Qt.KeyboardModifier.NoModifier, at)
    assert (view.left, view.right, stack.limits("row0")) == zoomed
    QTest.mouseClick(viewport, Qt.MouseButton.BackButton, Qt.KeyboardModifier.NoModifier, at)
    # live again, with the scale that follows the values
    assert view.following and view.span == 20.0
    draw(stack, view)
    assert stack.limits("row0") == pytest.approx(scale)
    QTest.mouseClick(viewport, Qt.MouseButton.BackButton, Qt.KeyboardModifier.NoModifier, at)
    assert view.following and view.span == 20.0
    for state in (zoomed, closer, closer):
        QTest.mouseClick(viewport, Qt.MouseButton.ForwardButton, Qt.KeyboardModifier.NoModifier, at)
        assert (view.left, view.right, stack.limits("row0")) == state


def test_notches_of_the_wheel_are_one_step_and_so_is_panning(stack, view):
    at = point(stack, 95.0, 0.0)
    for _ in range(4):
        event = QWheelEvent(
            QPointF(at), QPointF(stack.viewport().mapToGlobal(at)), QPoint(), QPoint(0, 120), Qt.MouseButton.NoButton,
            Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
        )  # fmt: skip
        QApplication.sendEvent(stack.viewport(), event)
    assert view.span == pytest.approx(20.0 / 1.25**4)
    # data go on meanwhile
    view.extend(0.0, 101.0)
    view.set_span(5.0)
    view.shift(-10.0)
    view.shift(-10.0)
    view.undo()
    assert (view.span, view.right, view.following) == (5.0, 101.0, True)
    view.undo()
    assert view.span == pytest.approx(20.0 / 1.25**4)
    view.undo()
    assert view.span == 20.0 and view.following and view.right == 101.0


def test_a_span_of_a_recording_is_about_its_play_head(view):
    view.show_recording(0.0, 100.0)
    view.pin(40.0)
    view.set_span(10.0)
    assert (view.left, view.right) == (35.0, 45.0)


def test_another_zoom_after_going_back_replaces_the_undone_ones(view):
    view.set_span(10.0)
    view.set_span(5.0)
    view.undo()
    view.set_span(2.0)
    view.redo()
    assert view.span == 2.0
    view.undo()
    assert view.span == 10.0
    # other signals have no history
    view.restart()
    view.undo()
    assert view.span == 10.0


def has_mark(stack, row):
    """Whether the header of a row has something in the colour of the mark; the edge is that of the focus."""
    image, place = stack.viewport().grab().toImage(), stack.places.rows[row]
    inner = range(2, stack.viewport().width() - 2), range(place.top + 2, place.plot_top)
    return any(image.pixelColor(x, y).name() == QColor(LIGHT.accent).name() for x in inner[0] for y in inner[1])


def test_a_manual_scale_has_a_mark_that_fits_it_again(stack, view):
    scale = stack.limits("row1")
    assert not has_mark(stack, 1)
    stack.zoom_values(1, 0.5, 0.0)
    assert has_mark(stack, 1)
    assert not has_mark(stack, 0)
    top = stack.places.rows[1].top + 5
    _, header = stack._header_at(QPointF(20, top))
    at = QPoint(round(6 + header.mark[0] + header.mark[1] / 2), top)
    QTest.mouseClick(stack.viewport(), LEFT, Qt.KeyboardModifier.NoModifier, at)
    assert not has_mark(stack, 1)
    assert stack.limits("row1") == pytest.approx(scale)
    assert view.pinned is None
    view.undo()
    assert has_mark(stack, 1)


def test_the_keys_of_the_window_go_through_the_zooms(fed, hybrid_arrivals):
    hands = fed()
    hands.played.say(*hybrid_arrivals[:200])
    hands.until(lambda: hands.history.end_x > 7.0)
    hands.ticks()
    hands.key("1")
    span = hands.view.span
    viewport = hands.stack.viewport()
    drag(hands.stack, viewport.rect().center(), viewport.rect().center() + QPoint(100, 2), RIGHT)
    zoomed = hands.view.left, hands.view.right
    assert hands.view.span < span
    hands.key("Alt+Left")
    assert hands.view.span == span and hands.view.following
    hands.key("Alt+Right")
    assert (hands.view.left, hands.view.right) == zoomed
