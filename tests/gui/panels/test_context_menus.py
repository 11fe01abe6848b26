"""Context menus of tiles and events: by mouse and by key, they act on what is under the mouse or selected."""

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QScrollArea

from gui.model.alarms import AlarmLimit
from gui.panels.events import EventsPanel
from gui.panels.histories import HistoriesPanel
from gui.panels.hysteresis import HysteresisPanel
from gui.panels.indicators import IndicatorsPanel
from monitor.messages.alarms import Severity
from tests.gui.panels.tile_rig import history_of, panel_of, tiles
from tests.gui.shown import show_panel

MOUSE, KEY = QContextMenuEvent.Reason.Mouse, QContextMenuEvent.Reason.Keyboard


def menu_of(widget, at, reason):
    QApplication.sendEvent(widget, QContextMenuEvent(reason, at, widget.mapToGlobal(at)))
    return open_menu_of(widget)


def open_menu_of(widget):
    """Return the context menu of the panel of a widget; None where none is open."""
    found = [menu for menu in widget.window().findChildren(QMenu) if menu.isVisible()]
    return found[0] if found else None


def choose(menu, text):
    (action,) = (action for action in menu.actions() if action.text() == text)
    action.trigger()
    menu.close()
    # deleted before its panel is
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    QApplication.processEvents()


@pytest.mark.parametrize("reason", [MOUSE, KEY], ids=["mouse", "key"])
def test_a_tile_is_selected_and_copied(qtbot, reason):
    panel, view = panel_of(qtbot, history_of(actuators=("north", "south")))
    grid = panel.findChild(QScrollArea).widget()
    view.select_actuator("north" if reason is MOUSE else "south")
    menu = menu_of(grid, tiles(panel)[1].geometry().center(), reason)
    assert [action.text() for action in menu.actions()] == ["Select south", "Copy values"]
    choose(menu, "Select south")
    assert view.actuator == "south"
    QApplication.processEvents()
    choose(menu_of(grid, tiles(panel)[1].geometry().center(), reason), "Copy values")
    assert QGuiApplication.clipboard().text().startswith("south; lag, undershoot; delay 12.3 ms")


def test_without_a_tile_there_is_no_menu(qtbot):
    panel, _ = panel_of(qtbot, history_of())
    grid = panel.findChild(QScrollArea).widget()
    assert menu_of(grid, QPoint(0, 0), KEY) is None


@pytest.fixture
def events(qtbot, watched):
    return show_panel(qtbot, EventsPanel, watched, (600, 400))


@pytest.mark.parametrize("reason", [MOUSE, KEY], ids=["mouse", "key"])
def test_an_event_is_shown_copied_and_its_kind_filtered(events, reason):
    table, view = events.events.table, events.events.view
    assert table.rowCount() > 0
    index = table.index(0, 0)
    view.setCurrentIndex(index)
    at = view.visualRect(index).center()
    target = view.viewport() if reason is MOUSE else view

    def open_menu():
        QApplication.sendEvent(target, QContextMenuEvent(reason, at, target.mapToGlobal(at)))
        (menu,) = view.findChildren(QMenu)
        return menu

    choose(open_menu(), "Copy")
    cells = QGuiApplication.clipboard().text().split("\t")
    assert cells == [table.data(table.index(0, column)) for column in range(3)]
    QApplication.processEvents()
    kind = table.rows[0].event.kind
    choose(open_menu(), "Show only events of this kind")
    assert {table.rows[row].event.kind for row in range(table.rowCount())} == {kind}
    QApplication.processEvents()
    view.setCurrentIndex(table.index(0, 0))
    choose(open_menu(), "Show this instant")
    assert events.view.left <= table.rows[0].x <= events.view.right


def plot(qtbot, kind, history):
    return show_panel(qtbot, kind, history, actuator="north")


def right_click(widget, at):
    QTest.mouseClick(widget, Qt.MouseButton.RightButton, Qt.KeyboardModifier.NoModifier, at)
    return open_menu_of(widget)


def texts(menu):
    found = [action.text() for action in menu.actions() if not action.isSeparator()]
    menu.close()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    return found


def test_a_row_is_scaled_pinned_and_hidden_by_its_menu(qtbot, watched):
    panel = plot(qtbot, HistoriesPanel, watched)
    stack, view = panel.stack, panel.view
    at = stack.plot_of(1).center().toPoint()
    first, second = panel.shown[:2]
    open_menu = lambda: right_click(stack.viewport(), at)  # noqa: E731
    before = stack.limits(second)
    assert texts(open_menu()) == [
        "Keep this scale", *(f"Curve {curve.label}…" for curve in stack.rows[1].curves), "Undo", "Redo",
        "Pin cursor here", "Add a cursor here", "Hide this row", "Derived channels…",
    ]  # fmt: skip
    menu = open_menu()
    assert [a.isEnabled() for a in menu.actions() if a.text() in ("Undo", "Redo")] == [False, False]
    choose(menu, "Keep this scale")
    assert stack.is_manual(1) and not stack.is_manual(0)
    assert stack.limits(second) == before
    QApplication.processEvents()
    choose(open_menu(), "Undo")
    assert not stack.is_manual(1)
    choose(open_menu(), "Redo")
    assert stack.is_manual(1)
    choose(open_menu(), "Fit scale")
    assert not stack.is_manual(1)
    choose(open_menu(), "Pin cursor here")
    assert view.pinned == pytest.approx(stack.scale().x(at.x()))
    choose(open_menu(), "Unpin cursor")
    assert view.pinned is None
    choose(open_menu(), "Hide this row")
    assert first in panel.shown and second not in panel.shown


def test_in_a_view_that_stays_live_nothing_is_pinned(qtbot, watched):
    panel = plot(qtbot, HistoriesPanel, watched)
    panel.view.stay_live(True)
    found = texts(right_click(panel.stack.viewport(), panel.stack.plot_of(0).center().toPoint()))
    assert "Undo" in found
    assert not any("in cursor" in text for text in found)


def test_a_row_has_the_limits_of_its_curves(qtbot, watched):
    watched.limits = ()
    panel = plot(qtbot, IndicatorsPanel, watched)
    panel.show_rows(["delay", "ratio", "phase", "ti"])
    asked = []
    panel.limits_requested.connect(asked.append)

    def limits(key):
        row = panel.shown.index(key)
        menu = right_click(panel.stack.viewport(), panel.stack.plot_of(row).center().toPoint())
        return [text for text in texts(menu) if text.startswith("Limits")]

    # display limits are on the quantity, whichever curve
    assert limits("delay") == ["Limits…"]
    assert limits("ti") == []
    watched.limits = (AlarmLimit("fdb_delay", "north", Severity.WARN, None, 0.02),)
    panel.refresh(watched)
    assert limits("delay") == ["Limits…"]
    assert limits("phase") == []
    watched.limits = (*watched.limits, AlarmLimit("paei_delay", "north", Severity.WARN, None, 0.02))
    panel.refresh(watched)
    assert limits("delay") == ["Limits of FDB…", "Limits of PAEI…"]
    watched.limits = watched.limits[:1]
    panel.refresh(watched)
    row = panel.shown.index("delay")
    choose(right_click(panel.stack.viewport(), panel.stack.plot_of(row).center().toPoint()), "Limits…")
    assert [(each.results, each.quantity) for each in asked] == [((("north", "fdb_delay"),), "delay")]
    assert asked[0].name == "north delay (FDB)"


def test_the_scales_of_an_xy_plot_are_kept_and_fitted_and_a_right_drag_has_no_menu(qtbot, watched):
    panel = plot(qtbot, HysteresisPanel, watched)
    viewport, at = panel.pane.viewport(), panel.pane.viewport().rect().center()
    right, none = Qt.MouseButton.RightButton, Qt.KeyboardModifier.NoModifier
    choose(right_click(viewport, at), "Keep these scales")
    assert not panel.plot.auto_range_on
    choose(right_click(viewport, at), "Fit scales")
    assert panel.plot.auto_range_on
    QTest.mousePress(viewport, right, none, at)
    event = QContextMenuEvent(MOUSE, at, viewport.mapToGlobal(at))
    QApplication.sendEvent(viewport, event)
    for step in (10, 40):
        QTest.mouseMove(viewport, at + QPoint(step, step))
        QApplication.processEvents()
    QTest.mouseRelease(viewport, right, none, at + QPoint(40, 40))
    assert QApplication.activePopupWidget() is None
