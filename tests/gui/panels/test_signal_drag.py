"""Signals are dragged from headers, legends and lists, and dropped onto time histories, spectrum and XY."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QContextMenuEvent, QDrag, QDragEnterEvent, QDragLeaveEvent, QDragMoveEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu

from gui.model.derived import DerivedChannel
from gui.panels.histories import HistoriesPanel
from gui.panels.spectrum import SpectrumPanel
from gui.panels.xy_panel import PairPanel
from gui.plots.time.scene import MARGIN
from gui.widgets.signal_drag import SIGNALS_TYPE, dragged_signals, signals_data
from gui.window.derived_channels import DerivedDialog
from tests.gui.shown import show_panel

LEFT, NONE = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
COPY = Qt.DropAction.CopyAction


@pytest.fixture
def make(qtbot, watched):
    return lambda kind: show_panel(qtbot, kind, watched, span=8.0)


@pytest.fixture
def drags(monkeypatch):
    """What was dragged: a drag with the mouse runs a loop of its own until the drop."""
    found = []
    monkeypatch.setattr(
        QDrag, "exec", lambda drag, *_: found.append((dragged_signals(drag.mimeData()), drag.pixmap()))
    )
    return found


def send(panel, kind, at, data):
    """Send a drag event as the window system would, to the widget that it finds; return whether it was accepted."""
    widget = panel.childAt(at) or panel
    while widget is not panel and not widget.acceptDrops():
        widget = widget.parentWidget()
    assert widget is panel
    place = QPointF(at) if kind is QDropEvent else at
    event = kind(place, COPY, data, LEFT, NONE)
    event.ignore()
    QApplication.sendEvent(widget, event)
    return event.isAccepted()


def drag_over(panel, at, data):
    return send(panel, QDragEnterEvent, at, data) and send(panel, QDragMoveEvent, at, data)


def drop(panel, at, *names):
    data = signals_data(names)
    assert drag_over(panel, at, data)
    text = panel.drop_target.text
    assert panel.drop_target.isVisible() and text
    assert send(panel, QDropEvent, at, data)
    assert not panel.drop_target.isVisible() and panel.drop_target.text == ""
    return text


def curves(panel, key):
    (row,) = (row for row in panel.stack.rows if row.key == key)
    return [curve.signal for curve in row.curves]


def middle(panel, key):
    """The middle of the curves of a row, px of the panel."""
    (i,) = (i for i, row in enumerate(panel.stack.rows) if row.key == key)
    return panel.stack.viewport().mapTo(panel, panel.stack.plot_of(i).center().toPoint())


def header(panel, key, label=""):
    """A point in the header of a row, or in its legend, px of the viewport."""
    (i,) = (i for i, row in enumerate(panel.stack.rows) if row.key == key)
    top = panel.stack.places.rows[i].top - panel.stack.scrolled
    if not label:
        return QPoint(MARGIN + 4, top + 7)
    _, found = panel.stack._header_at(QPointF(20, top + 5))
    (place,) = (
        begin + 6 for begin, _, entry in found.entries if panel.stack.rows[i].curves[entry.index].label == label
    )
    return QPoint(round(MARGIN + place), top + 7)


def drag_away(widget, at):
    QTest.mousePress(widget, LEFT, NONE, at)
    for step in (4, 30):
        QTest.mouseMove(widget, at + QPoint(step, step))
        QApplication.processEvents()


def test_a_legend_drags_its_curve_and_a_header_all_of_its_row(make, drags):
    panel = make(HistoriesPanel)
    viewport, right, pinned = panel.stack.viewport(), panel.view.right, panel.view.pinned
    drag_away(viewport, header(panel, "motion:south", "measured"))
    drag_away(viewport, header(panel, "motion:roof"))
    assert [names for names, _ in drags] == [("south.measured",), ("roof.command", "roof.measured")]
    assert all(not pixmap.isNull() for _, pixmap in drags)
    # neither a pan nor a click
    assert panel.view.right == right and panel.view.following and panel.view.pinned == pinned
    assert not any(curve.hidden for row in panel.stack.rows for curve in row.curves)


def test_a_click_on_a_legend_still_hides_and_a_drag_in_the_plot_still_pans(make, drags):
    panel = make(HistoriesPanel)
    viewport, right = panel.stack.viewport(), panel.view.right
    QTest.mouseClick(viewport, LEFT, NONE, header(panel, "motion:south", "measured"))
    assert [curve.hidden for curve in panel.stack.rows[1].curves] == [False, True]
    at = panel.stack.plot_of(0).center().toPoint()
    drag_away(viewport, at)
    QTest.mouseRelease(viewport, LEFT, NONE, at + QPoint(30, 30))
    assert panel.view.right < right and not drags


def test_a_signal_dropped_on_curves_of_its_unit_is_drawn_over_them(make, watched):
    panel = make(HistoriesPanel)
    text = drop(panel, middle(panel, "motion:north"), "south.measured")
    assert text == "add south.measured to this row"
    assert curves(panel, "motion:north") == ["north.command", "north.measured", "south.measured"]
    x = watched.end_x
    row = [row.key for row in panel.stack.rows].index("motion:north")
    values = [value.low for value in panel.reader(watched)(x)[row]]
    columns = [watched.signals.named[name].column for name in curves(panel, "motion:north")]
    np.testing.assert_array_equal(values, watched.signals.at(x, columns))
    frame = panel.stack.frame.rows[row]
    assert len(frame.curves) == 3 and frame.curves[2].known.any()
    assert len({curve.colour for curve in panel.stack.rows[row].curves}) == 3
    # it remains when the panel is configured for the same channels again
    panel.configure(watched)
    assert len(curves(panel, "motion:north")) == 3


def test_it_is_removed_by_its_legend(make):
    panel = make(HistoriesPanel)
    drop(panel, middle(panel, "motion:north"), "south.measured")
    viewport, at = panel.stack.viewport(), header(panel, "motion:north", "south.measured")
    QApplication.sendEvent(viewport, QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, viewport.mapToGlobal(at)))
    (remove,) = (
        action
        for menu in panel.findChildren(QMenu)
        for action in menu.actions()
        if action.text() == "Remove from this row"
    )
    remove.trigger()
    assert curves(panel, "motion:north") == ["north.command", "north.measured"]
    # those of the rig cannot be removed
    for menu in panel.findChildren(QMenu):
        menu.close()
    at = header(panel, "motion:north", "command")
    QApplication.sendEvent(viewport, QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, viewport.mapToGlobal(at)))
    texts = [a.text() for menu in panel.findChildren(QMenu) if menu.isVisible() for a in menu.actions()]
    assert "Hide" in texts and "Remove from this row" not in texts


def test_another_unit_or_a_place_beside_the_curves_makes_a_row_of_its_own(make):
    panel = make(HistoriesPanel)
    before = panel.shown
    assert drop(panel, middle(panel, "motion:north"), "south.force") == "south.force in a row of its own"
    # it has a row already, which is shown
    assert set(panel.shown) == {*before, "force:south"}
    place = panel.stack.viewport().mapTo(panel, header(panel, "motion:north"))
    drop(panel, place, "north.command")
    assert "signal:north.command" in panel.shown and curves(panel, "signal:north.command") == ["north.command"]
    # the whole row of another panel
    panel.show_rows(before[1:])
    drop(panel, place, "north.command", "north.measured")
    assert before[0] in panel.shown


def test_what_is_there_already_is_not_accepted(make):
    panel = make(HistoriesPanel)
    data = signals_data(["north.command", "north.measured"])
    assert send(panel, QDragEnterEvent, middle(panel, "motion:north"), data)
    assert not send(panel, QDragMoveEvent, middle(panel, "motion:north"), data)
    assert not panel.drop_target.isVisible()
    assert panel.shown == ("motion:north", "motion:south", "motion:roof")


def test_the_highlight_is_the_row_and_goes_when_the_mouse_leaves(make):
    panel = make(HistoriesPanel)
    plain, data, at = panel.grab().toImage(), signals_data(["south.measured"]), middle(panel, "motion:north")
    assert drag_over(panel, at, data)
    lit = panel.grab().toImage()
    inside, outside = at + QPoint(-100, 20), middle(panel, "motion:roof") + QPoint(-100, 20)
    assert lit.pixel(inside) != plain.pixel(inside) and lit.pixel(outside) == plain.pixel(outside)
    QApplication.sendEvent(panel, QDragLeaveEvent())
    assert not panel.drop_target.isVisible()
    assert panel.grab().toImage().pixel(inside) == plain.pixel(inside)


@pytest.mark.parametrize("kind", [HistoriesPanel, SpectrumPanel, PairPanel])
def test_files_unknown_names_and_other_content_are_not_accepted(make, kind):
    panel = make(kind)
    files, foreign = QMimeData(), QMimeData()
    files.setUrls([QUrl.fromLocalFile("/tmp/run.h5")])
    foreign.setData(SIGNALS_TYPE, b"{not json")
    at = panel.rect().center()
    for data in (files, foreign):
        assert not send(panel, QDragEnterEvent, at, data)
    unknown = signals_data(["of another rig"])
    assert not send(panel, QDragMoveEvent, at, unknown)
    assert not send(panel, QDropEvent, at, unknown)
    assert not panel.drop_target.isVisible()


def test_a_drop_on_the_spectrum_shows_that_of_the_signals(make, watched):
    panel = make(SpectrumPanel)
    assert drop(panel, panel.pane.geometry().center(), "south.force") == "spectrum of south.force"
    panel.refresh(watched)
    assert panel.channels.currentText() == "south.force" and [*panel._found] == ["south.force"]
    drop(panel, panel.pane.geometry().center(), "north.measured", "south.measured", "south.force")
    panel.refresh(watched)
    # a force has another unit
    assert [*panel._found] == ["north.measured", "south.measured"]
    panel.configure(watched)
    assert panel.channels.currentText() == "north.measured + 1 more"
    drawn = [curve for curve in panel.curves if curve.getData()[0] is not None and len(curve.getData()[0])]
    assert len(drawn) == 2


def test_a_drop_on_xy_is_for_the_nearer_axis_or_the_field_under_the_mouse(make, watched):
    panel = make(PairPanel)
    area = panel.pane.geometry()
    beside, below = QPoint(area.left() + 20, area.center().y()), QPoint(area.center().x(), area.bottom() - 20)
    assert drop(panel, below, "north.tracking_error") == "x: north.tracking_error"
    assert drop(panel, beside, "roof.force") == "y: roof.force"
    assert (panel.horizontal.currentText(), panel.vertical.currentText()) == ("north.tracking_error", "roof.force")
    panel.refresh(watched)
    assert panel.heading.text().endswith("roof.force against north.tracking_error")
    for box, name in ((panel.vertical, "south.command"), (panel.horizontal, "south.measured")):
        drop(panel, box.geometry().center(), name)
        assert box.currentText() == name
    # two signals have no axis
    assert not drag_over(panel, below, signals_data(["north.command", "north.measured"]))


def test_a_derived_channel_is_dropped_everywhere(make, watched):
    watched.derive([DerivedChannel("work", "J", "cumtrapz(north.force * deriv(north.measured))")])
    histories, spectrum, pair = make(HistoriesPanel), make(SpectrumPanel), make(PairPanel)
    histories.show_rows(["motion:north"])
    drop(histories, histories.rect().center(), "work")
    assert histories.shown == ("motion:north", "derived:work")
    drop(spectrum, spectrum.pane.geometry().center(), "work")
    drop(pair, QPoint(pair.pane.geometry().left() + 5, pair.pane.geometry().center().y()), "work")
    assert spectrum.channels.currentText() == pair.vertical.currentText() == "work"


def test_rows_of_the_menu_and_channels_of_the_dialog_are_dragged(qtbot, make, drags, watched):
    panel = make(HistoriesPanel)
    menu = panel.menu.menu()
    menu.popup(panel.mapToGlobal(QPoint(10, 10)))
    (action,) = (each for each in menu.actions() if each.text() == "south force")
    checked = action.isChecked()
    drag_away(menu, menu.actionGeometry(action).center())
    assert drags.pop()[0] == ("south.force",)
    assert not menu.isVisible() and action.isChecked() == checked
    dialog = DerivedDialog()
    qtbot.addWidget(dialog)
    dialog.show()
    dialog.show_channels((), watched)
    names = [*watched.signals.named]
    item = dialog.signals.item(names.index("roof.measured"))
    dialog.signals.scrollToItem(item)
    drag_away(dialog.signals.viewport(), dialog.signals.visualItemRect(item).center())
    assert drags.pop()[0] == ("roof.measured",)
    assert not drags


def test_mime_data_is_readable_text_too():
    data = signals_data(["a b", "c"])
    assert data.text() == "a b, c" and dragged_signals(data) == ("a b", "c")
    assert dragged_signals(QMimeData()) == ()
    huge = QMimeData()
    huge.setData(SIGNALS_TYPE, b'["' + b"x" * (1 << 20) + b'"]')
    assert dragged_signals(huge) == ()
