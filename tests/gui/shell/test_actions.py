"""One table of commands: unique keys, menus that hold them all, and keys that leave typing alone."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import pyqtgraph as pg
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QDockWidget,
    QLineEdit,
    QListWidget,
    QMainWindow,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from gui.panels.base import Panel
from gui.panels.catalogue import PANELS
from gui.panels.tiles import TileGrid, TilesPanel
from gui.plots.view import View
from gui.sources.replay_bar.run_timeline import RunTimeline
from gui.widgets.theme import LIGHT
from gui.window.action_table import ACTIONS, MENUS, SIMULATIONS, ActionSpec, panel_actions, simulation_actions
from gui.window.actions import Actions, action_text

NO = Qt.KeyboardModifier.NoModifier


@pytest.fixture
def window(qtbot):
    window = QMainWindow()
    qtbot.addWidget(window)
    window.setCentralWidget(QWidget())
    window.centralWidget().setLayout(QVBoxLayout())
    return window


@pytest.fixture
def actions(window):
    return Actions(window)


@pytest.fixture
def fired(actions):
    keys = []
    for command, action in actions:
        action.triggered.connect(lambda *_, key=command.key: keys.append(key))
    yield keys


def _shown(qtbot, window, *widgets):
    for widget in widgets:
        window.centralWidget().layout().addWidget(widget)
    with qtbot.waitActive(window):
        window.show()
        window.activateWindow()


def test_no_key_and_no_shortcut_serves_twice():
    keys = [command.key for command in ACTIONS]
    assert len(set(keys)) == len(keys)
    shortcuts = [QKeySequence(text).toString() for command in ACTIONS for text in command.shortcuts]
    assert all(shortcuts)
    assert len(set(shortcuts)) == len(shortcuts)
    assert {command.menu for command in ACTIONS} <= set(MENUS)
    assert sum(command.key.startswith("panel.") for command in ACTIONS) == len(PANELS) + 2


def test_a_second_command_with_a_taken_shortcut_is_refused(actions):
    with pytest.raises(ValueError, match=r"already used by view\.pause"):
        actions.add(ActionSpec("mine", "Mine", "File", ("Space",)))
    with pytest.raises(ValueError, match="already used"):
        actions.add(ActionSpec("view.pause", "Mine", "File"))


def test_letters_of_a_menu_are_not_used_twice():
    for group in MENUS:
        marked = [c.text.replace("&&", "") for c in ACTIONS if c.menu == group and not c.submenu]
        letters = [text[text.index("&") + 1].lower() for text in marked if "&" in text]
        assert len(set(letters)) == len(letters), group


@pytest.mark.parametrize("command", [c for c in ACTIONS if c.shortcuts], ids=lambda c: c.key)
def test_every_first_shortcut_works_without_a_menu(qtbot, window, actions, fired, command):
    _shown(qtbot, window)
    combined = QKeySequence(command.shortcuts[0])[0]
    QTest.keyClick(window, combined.key(), combined.keyboardModifiers())
    assert fired == [command.key]


def test_what_is_typed_into_a_text_field_is_no_shortcut(qtbot, window, actions, fired):
    field = QLineEdit()
    _shown(qtbot, window, field)
    field.setFocus()
    QTest.keyClicks(field, "no play, 12.5 + [3] -4")
    for key in (Qt.Key.Key_Left, Qt.Key.Key_Home, Qt.Key.Key_Right, Qt.Key.Key_Delete):
        QTest.keyClick(field, key)
    QTest.keyClick(field, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClick(field, Qt.Key.Key_Home, Qt.KeyboardModifier.ControlModifier)
    assert fired == []
    assert field.text() == "n play, 12.5 + [3] -4"
    QTest.keyClick(field, Qt.Key.Key_F1)
    QTest.keyClick(field, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
    assert fired == ["help.keys", "help.palette"]


def test_a_text_field_in_a_floating_dock_is_left_alone(qtbot, window, actions, fired):
    dock = QDockWidget("floats", window)
    field = QLineEdit()
    dock.setWidget(field)
    window.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, dock)
    _shown(qtbot, window)
    with qtbot.waitActive(dock):
        dock.setFloating(True)
        dock.activateWindow()
    field.setFocus()
    QTest.keyClicks(field, "a p 1")
    QTest.keyClick(field, Qt.Key.Key_Left)
    assert field.text() == "a p 1"
    assert fired == []


def test_a_button_keeps_its_space_and_a_list_its_arrows(qtbot, window, actions, fired):
    button, rows = QPushButton("press"), QListWidget()
    rows.addItems(["one", "two"])
    _shown(qtbot, window, button, rows)
    pressed = []
    button.clicked.connect(lambda: pressed.append(True))
    button.setFocus()
    QTest.keyClick(button, Qt.Key.Key_Space)
    assert pressed == [True]
    rows.setFocus()
    rows.setCurrentRow(0)
    QTest.keyClick(rows, Qt.Key.Key_End)
    assert rows.currentRow() == 1
    QTest.keyClick(rows, Qt.Key.Key_Home)
    assert rows.currentRow() == 0
    assert fired == []
    QTest.keyClick(rows, Qt.Key.Key_N)
    assert fired == ["note.add"]


class Board(QWidget):
    """A widget that is moved through with keys of its own."""

    def __init__(self):
        super().__init__()
        self.keys = []
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def keyPressEvent(self, event):
        self.keys.append(event.key())


def test_a_widget_with_keys_of_its_own_keeps_what_moves_through_it(qtbot, window, actions, fired):
    board, curves = Board(), pg.PlotWidget()
    _shown(qtbot, window, board, curves)
    board.setFocus()
    moves = [Qt.Key.Key_Left, Qt.Key.Key_Home, Qt.Key.Key_Down]
    for key in (*moves, Qt.Key.Key_N):
        QTest.keyClick(board, key)
    assert board.keys == moves
    assert fired == ["note.add"]
    curves.setFocus()
    QTest.keyClick(curves, Qt.Key.Key_Left)
    assert fired == ["note.add", "view.back"]


def test_tiles_and_the_timeline_of_a_replay_keep_their_arrows(qtbot, window, actions, fired):
    tiles = TilesPanel(View(), LIGHT)
    timeline = RunTimeline(LIGHT)
    _shown(qtbot, window, tiles, timeline)
    for widget in (tiles.findChild(TileGrid), timeline):
        widget.setFocus()
        assert QApplication.focusWidget() is widget
        QTest.keyClick(widget, Qt.Key.Key_Left)
        QTest.keyClick(widget, Qt.Key.Key_Home)
    assert fired == []


def test_a_panel_of_the_catalogue_has_an_action_and_a_place():
    class Peak(Panel):
        key, title = "peak", "Peak error"

    entries = panel_actions((*PANELS, Peak))
    assert [entry.text for entry in entries] == [*(panel.title for panel in PANELS), "Peak error"]
    assert [entry.shortcuts for entry in entries] == [
        (f"Alt+{n % 10}",) if n <= 10 else () for n in range(1, len(entries) + 1)
    ]


def test_menus_hold_every_command_once(window, actions):
    menus = actions.fill(window.menuBar())
    assert [action_text(action) for action in window.menuBar().actions()] == list(MENUS)
    held = [a.objectName() for menu in menus.values() for a in menu.actions() if a.objectName()]
    assert sorted(held) == sorted(command.key for command in ACTIONS)


def test_simulations_come_into_submenus(window, actions):
    menus = actions.fill(window.menuBar())
    offers = [
        SimpleNamespace(name="hybrid", summary="three actuators", group="hybrid tests"),
        SimpleNamespace(name="beam", summary="good & judged", group="models"),
    ]
    for command in simulation_actions(offers):
        actions.add(command)
    submenu = menus[f"{SIMULATIONS}/models"]
    assert [action_text(a) for a in submenu.actions()] == ["beam: good & judged"]


def test_locked_actions_come_back_as_they_are_now(actions):
    actions.enable("replay.step", False)
    actions.lock(True)
    for command, action in actions:
        assert action.isEnabled() == (not command.modifies), command.key
    actions.enable("replay.step", True)
    actions.enable("replay.play", False)
    actions.enable("view.live", False)
    assert not actions["replay.step"].isEnabled()
    assert not actions["view.live"].isEnabled()
    actions.lock(False)
    off = {command.key for command, action in actions if not action.isEnabled()}
    assert off == {"replay.play", "view.live"}


def test_one_theme_at_a_time(actions):
    actions["theme.dark"].setChecked(True)
    actions["theme.light"].setChecked(True)
    assert not actions["theme.dark"].isChecked()


def test_layouts_lend_their_names(actions):
    actions.name_layouts(["Operator", "Mine & yours"], "Mine & yours")
    assert action_text(actions["layout.2"]) == "Mine & yours (current)"
    assert actions["layout.1"].isVisible()
    assert not actions["layout.3"].isVisible()


def test_plain_text_has_no_marks():
    assert ActionSpec("k", "Save && &close…", "File").plain_text == "Save & close"
    assert dataclasses.is_dataclass(ActionSpec)
