"""The list of keys shows all of them, and finds one."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMainWindow

from gui.panels.tiles import TileGrid
from gui.plots.time.rows import PlotRow
from gui.plots.time.stack import TimeStack
from gui.plots.view import View
from gui.sources.replay_bar.run_timeline import RunTimeline
from gui.widgets.theme import LIGHT
from gui.window.action_table import ACTIONS
from gui.window.actions import Actions
from gui.window.help import PLOT_KEYS, SECTIONS, TILE_KEYS, TIMELINE_KEYS, ShortcutDialog
from monitor.messages.recordings import Description, Overview


@pytest.fixture
def keys(qtbot):
    window = QMainWindow()
    qtbot.addWidget(window)
    keys = ShortcutDialog(Actions(window), window)
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
    assert sum(map(len, lines.values())) == sum(bool(c.shortcuts) for c in ACTIONS) + sum(
        len(section) for _, section in SECTIONS
    )
    assert ("Ctrl++, +, Ctrl+=", "Zoom in") in lines["Replay"]
    assert ("wheel", "zoom in time, around the pointer") in lines["Mouse in the panels"]


def test_it_is_searched_by_key_by_word_and_by_group(keys):
    QTest.keyClicks(keys.line, "f11")
    assert _lines(keys) == {"Window": [("F11", "Operator mode")]}
    keys.line.clear()
    QTest.keyClicks(keys.line, "wheel values")
    assert _lines(keys) == {"Mouse in the panels": [("Ctrl+wheel", "zoom the values of the row under the pointer")]}
    keys.line.setText("replay")
    assert len(_lines(keys)["Replay"]) == sum(c.menu == "Replay" for c in ACTIONS)


def test_it_holds_nothing_up_and_escape_closes_it(keys):
    assert not keys.isModal()
    assert keys.isVisible()
    QTest.keyClick(keys, Qt.Key.Key_Escape)
    assert not keys.isVisible()


def test_enter_ends_a_search_and_not_the_window(keys):
    QTest.keyClicks(keys.line, "pause")
    QTest.keyClick(keys.line, Qt.Key.Key_Return)
    assert keys.isVisible()


def _takes(widget, key):
    """Return whether a widget that has the focus keeps a key for itself."""
    event = QKeyEvent(QEvent.Type.KeyPress, key.key(), key.keyboardModifiers())
    # a filter that takes it says so, and a handler leaves it accepted
    return QApplication.sendEvent(widget, event) and event.isAccepted()


@pytest.fixture
def plot(qtbot):
    plot = TimeStack(View(), LIGHT)
    qtbot.addWidget(plot)
    plot.resize(400, 200)
    plot.set_rows([PlotRow(f"r{i}", f"r{i}", "", "m", ()) for i in range(9)])
    return plot


@pytest.fixture
def tiles(qtbot):
    tiles = TileGrid(LIGHT)
    qtbot.addWidget(tiles)
    tiles.set_count(4)
    return tiles


@pytest.fixture
def timeline(qtbot):
    timeline = RunTimeline(LIGHT)
    qtbot.addWidget(timeline)
    curve = {"a.command": (0.0,), "a.measured": (0.0,)}
    timeline.show_run(Description(overview=Overview((0.0,), curve, curve)))
    timeline.choose("a.command")
    timeline.set_position(5.0, 10.0)
    return timeline


@pytest.mark.parametrize(
    ("name", "section"), [("plot", PLOT_KEYS), ("tiles", TILE_KEYS), ("timeline", TIMELINE_KEYS)]
)
def test_what_is_listed_for_a_panel_is_taken_by_it(request, name, section):
    widget = request.getfixturevalue(name)
    for keys, _ in section:
        sequence = QKeySequence(keys)
        assert sequence.count() == len(keys.split(", "))
        for i in range(sequence.count()):
            assert _takes(widget, sequence[i]), keys
    assert not _takes(widget, QKeySequence("F9")[0])
