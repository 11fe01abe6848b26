"""Context menus of tiles and events: by mouse and by key, they act on what is under the mouse or selected."""

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtGui import QContextMenuEvent, QGuiApplication
from PySide6.QtWidgets import QApplication, QMenu, QScrollArea

from gui.panels.events import EventsPanel
from gui.plots.view import View
from gui.widgets.theme import LIGHT
from tests.gui.panels.tile_rig import history_of, panel_of, tiles

MOUSE, KEY = QContextMenuEvent.Reason.Mouse, QContextMenuEvent.Reason.Keyboard


def menu_of(widget, at, reason):
    QApplication.sendEvent(widget, QContextMenuEvent(reason, at, widget.mapToGlobal(at)))
    (menu,) = widget.findChildren(QMenu) or [None]
    return menu


def choose(menu, text):
    (action,) = (action for action in menu.actions() if action.text() == text)
    action.trigger()
    menu.close()


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
    view = View()
    view.extend(watched.begin_x, watched.end_x)
    panel = EventsPanel(view, LIGHT)
    qtbot.addWidget(panel)
    panel.resize(600, 400)
    panel.show()
    panel.configure(watched)
    return panel


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
    kind = table.placed(0).event.kind
    choose(open_menu(), "Show only events of this kind")
    assert {table.placed(row).event.kind for row in range(table.rowCount())} == {kind}
    QApplication.processEvents()
    view.setCurrentIndex(table.index(0, 0))
    choose(open_menu(), "Show this instant")
    assert events.view.left <= table.placed(0).x <= events.view.right
