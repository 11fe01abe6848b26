"""The list of keys shows all of them, and finds one."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMainWindow

from gui.shell.actions import Actions
from gui.shell.commands import COMMANDS
from gui.shell.help import GESTURES, KeyList


@pytest.fixture
def keys(qtbot):
    window = QMainWindow()
    qtbot.addWidget(window)
    keys = KeyList(Actions(window), window)
    keys.present()
    return keys


def _lines(keys):
    heads = [keys.tree.topLevelItem(i) for i in range(keys.tree.topLevelItemCount())]
    return {
        head.text(0): [
            (head.child(i).text(0), head.child(i).text(1))
            for i in range(head.childCount())
            if not head.child(i).isHidden()
        ]
        for head in heads
        if not head.isHidden()
    }


def test_every_command_with_a_key_and_every_gesture_is_there(keys):
    lines = _lines(keys)
    assert sum(map(len, lines.values())) == sum(bool(c.shortcuts) for c in COMMANDS) + len(GESTURES)
    assert ("Ctrl++, +, Ctrl+=", "Zoom in") in lines["Time"]
    assert ("wheel", "zoom in time, around the mouse") in lines["Mouse in the panels"]


def test_it_is_searched_by_key_by_word_and_by_group(keys):
    QTest.keyClicks(keys.line, "f11")
    assert _lines(keys) == {"Window": [("F11", "Operator mode")]}
    keys.line.clear()
    QTest.keyClicks(keys.line, "wheel values")
    assert _lines(keys) == {"Mouse in the panels": [("Ctrl+wheel", "zoom the values of the row under the mouse")]}
    keys.line.setText("replay")
    assert len(_lines(keys)["Replay"]) == sum(c.group == "Replay" for c in COMMANDS)


def test_it_holds_nothing_up_and_escape_closes_it(keys):
    assert not keys.isModal()
    assert keys.isVisible()
    QTest.keyClick(keys, Qt.Key.Key_Escape)
    assert not keys.isVisible()


def test_enter_ends_a_search_and_not_the_window(keys):
    QTest.keyClicks(keys.line, "pause")
    QTest.keyClick(keys.line, Qt.Key.Key_Return)
    assert keys.isVisible()
