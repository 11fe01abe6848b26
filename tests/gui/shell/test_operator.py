"""The operator mode shows what is measured, allows no change, and leaves everything as it was."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDockWidget, QLabel, QLineEdit, QMainWindow, QToolBar

from gui.window.actions import Actions
from gui.window.layout_controller import OperatorMode


@pytest.fixture
def window(qtbot):
    window = QMainWindow()
    qtbot.addWidget(window)
    window.resize(640, 420)
    for name in ("tiles", "events", "histories"):
        dock = QDockWidget(name, window)
        dock.setObjectName(name)
        dock.setWidget(QLineEdit() if name == "events" else QLabel(name))
        window.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, dock)
    window.findChild(QDockWidget, "histories").setFeatures(QDockWidget.DockWidgetFeature.DockWidgetMovable)
    bar = QToolBar("bar", window)
    bar.setObjectName("bar")
    window.addToolBar(bar)
    hidden = QToolBar("hidden", window)
    hidden.setObjectName("hidden")
    window.addToolBar(hidden)
    hidden.hide()
    return window


@pytest.fixture
def mode(qtbot, window):
    actions = Actions(window)
    actions.fill(window.menuBar())
    replay = QLabel("replay", window)
    mode = OperatorMode(window, actions, [replay])
    with qtbot.waitActive(window):
        window.show()
        window.activateWindow()
    return mode


def _seen(window):
    QApplication.processEvents()
    docks = {
        dock.objectName(): (dock.isVisible(), dock.geometry().getRect(), dock.features())
        for dock in window.findChildren(QDockWidget)
    }
    bars = {bar.objectName(): bar.isVisible() for bar in window.findChildren(QToolBar)}
    replay = next(label for label in window.findChildren(QLabel) if label.text() == "replay")
    return (
        docks,
        bars,
        replay.isVisible(),
        window.menuBar().isVisible(),
        window.geometry().getRect(),
        window.windowState(),
        window.contextMenuPolicy(),
    )


def _enabled(mode):
    return {command.key for command, action in mode._actions if action.isEnabled()}


def test_it_fills_the_screen_and_hides_what_changes_anything(window, mode):
    QTest.keyClick(window, Qt.Key.Key_F11)
    assert mode.on
    assert window.isFullScreen()
    docks, bars, replay, menus, *_ = _seen(window)
    assert all(visible for visible, _, _ in docks.values())
    assert all(features == QDockWidget.DockWidgetFeature.NoDockWidgetFeatures for *_, features in docks.values())
    assert not any(bars.values()) and not replay and not menus
    assert {"view.pause", "view.live", "window.operator", "help.keys", "file.quit"} <= _enabled(mode)
    assert _enabled(mode).isdisjoint(
        {
            "source.connect",
            "source.disconnect",
            "replay.play",
            "note.add",
            "window.settings",
            "layout.save",
            "file.open",
        }
    )


@pytest.mark.parametrize("key", [Qt.Key.Key_F11, Qt.Key.Key_Escape])
def test_leaving_restores_everything(window, mode, key):
    before = _seen(window), _enabled(mode)
    QTest.keyClick(window, Qt.Key.Key_F11)
    window.findChild(QDockWidget, "tiles").hide()
    QTest.keyClick(window, key)
    assert not mode.on
    assert (_seen(window), _enabled(mode)) == before
    assert not mode._actions["window.operator"].isChecked()


def test_a_maximized_window_is_maximized_again(qtbot, window, mode):
    window.showMaximized()
    before = _seen(window)
    mode.set(True)
    assert window.isFullScreen()
    mode.set(False)
    assert _seen(window) == before
    assert window.isMaximized()


def test_escape_in_a_text_field_leaves_too_and_outside_the_mode_does_nothing(window, mode):
    field = window.findChild(QLineEdit)
    QTest.keyClick(window, Qt.Key.Key_Escape)
    assert not mode.on
    mode.set(True)
    field.setFocus()
    QTest.keyClick(field, Qt.Key.Key_Escape)
    assert not mode.on


def test_entering_twice_is_entering_once(window, mode):
    before = _seen(window)
    told = []
    mode.changed.connect(told.append)
    mode.set(True)
    mode.set(True)
    mode.set(False)
    mode.set(False)
    assert told == [True, False]
    assert _seen(window) == before
