"""Help: the command palette, the list of shortcuts, the documentation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
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
from gui.window.help import (
    PLOT_KEYS,
    SECTIONS,
    TILE_KEYS,
    TIMELINE_KEYS,
    CommandPalette,
    ShortcutDialog,
    has_unit,
    rank,
    seconds,
)
from monitor.messages.recordings import Description, Overview


@pytest.fixture
def window(qtbot):
    window = QMainWindow()
    qtbot.addWidget(window)
    window.resize(1280, 720)
    with qtbot.waitExposed(window):
        window.show()
    return window


@pytest.fixture
def palette(window):
    palette = CommandPalette(Actions(window), window)
    window.run = []
    for command, action in palette._actions:
        action.triggered.connect(lambda *_, key=command.key: window.run.append(key))
    palette.present()
    return palette


def _rows(palette):
    items = [palette.list.topLevelItem(i) for i in range(palette.list.topLevelItemCount())]
    return [tuple(item.text(column) for column in range(3)) for item in items]


def test_all_enabled_commands_are_listed_with_group_and_keys(palette):
    rows = _rows(palette)
    assert ("Replay", "Pause", "Space") in rows
    assert ("File", "Export span as CSV", "Ctrl+E") in rows
    assert not any(text == "Find a command" for _, text, _ in rows)


def test_it_opens_with_whole_rows(palette):
    # also the first time, when the list has not had a row yet
    assert palette.list.viewport().height() >= 14 * palette.list.sizeHintForRow(0)


def test_typing_narrows_and_enter_runs_the_best(palette, window):
    QTest.keyClicks(palette.line, "export fig")
    assert _rows(palette)[0][1] == "Export figure"
    QTest.keyClick(palette.line, Qt.Key.Key_Return)
    assert window.run == ["file.export_figure"]
    assert not palette.isVisible()


def test_arrows_choose_and_escape_leaves(palette, window):
    second = _rows(palette)[1][1]
    QTest.keyClick(palette.line, Qt.Key.Key_Down)
    assert palette.list.currentItem().text(1) == second
    QTest.keyClick(palette.line, Qt.Key.Key_Up)
    QTest.keyClick(palette.line, Qt.Key.Key_Up)
    assert palette.list.currentItem().text(1) == _rows(palette)[0][1]
    QTest.keyClick(palette.line, Qt.Key.Key_PageDown)
    assert palette.list.currentItem().text(1) == _rows(palette)[14][1]
    QTest.keyClick(palette.line, Qt.Key.Key_Escape)
    assert not palette.isVisible()
    assert window.run == []


def test_what_is_off_is_not_offered(palette):
    palette._actions.enable("replay.play", False)
    palette._actions.lock(True)
    palette.present()
    texts = [text for _, text, _ in _rows(palette)]
    assert "Pause" in texts
    assert "Play or pause" not in texts
    assert "Settings" not in texts


def test_a_single_key_command_is_typed_not_run(palette, window):
    QTest.keyClicks(palette.line, "n p 1")
    assert palette.line.text() == "n p 1"
    assert window.run == []


def test_nothing_fits_and_enter_does_nothing(palette, window):
    QTest.keyClicks(palette.line, "xyzzy")
    assert _rows(palette) == []
    QTest.keyClick(palette.line, Qt.Key.Key_Return)
    assert palette.isVisible()
    assert window.run == []


def test_an_instant_is_looked_at(palette):
    looked, sought = [], []
    palette.set_instants({"Look at": looked.append, "Play from": sought.append})
    QTest.keyClicks(palette.line, "12.5 s")
    assert [text for _, text, _ in _rows(palette)[:2]] == ["Look at 12.5 s", "Play from 12.5 s"]
    QTest.keyClick(palette.line, Qt.Key.Key_Down)
    QTest.keyClick(palette.line, Qt.Key.Key_Return)
    assert (looked, sought) == ([], [12.5])


def test_a_bare_number_is_first_a_span_and_last_an_instant(palette):
    palette.set_instants({"Look at": print})
    QTest.keyClicks(palette.line, "30")
    texts = [text for _, text, _ in _rows(palette)]
    assert texts[0] == "Show 30 s"
    assert texts[-1] == "Look at 30 s"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("12.5", 12.5),
        (" 12,5 s ", 12.5),
        ("800ms", 0.8),
        ("2 min", 120.0),
        (".5", 0.5),
        ("1 h", 3600.0),
        ("2:03.5", 123.5),
        ("1:02:03", 3723.0),
        ("", None),
        ("s", None),
        ("12 m", None),
        ("-3", None),
        ("nan", None),
        ("1:2:3:4", None),
    ],
)
def test_seconds_are_read_as_people_write_them(text, found):
    assert seconds(text) == (None if found is None else pytest.approx(found))


def test_only_a_unit_or_a_colon_makes_it_an_instant_for_certain():
    assert has_unit("3 s") and has_unit("1:02")
    assert not has_unit("3.5") and not has_unit("pause")


@given(st.text("abc 1.é", max_size=6), st.text("abc 1.é", max_size=30))
def test_a_rank_is_given_only_where_every_word_begins_one(wanted, text):
    found, held = rank(wanted, text), text.casefold()

    def begins_a_word(word):
        starts = [i for i in range(len(held)) if held.startswith(word, i)]
        return any(i == 0 or not (held[i - 1].isalnum() or held[i - 1] == "_") for i in starts)

    assert (found is not None) == all(begins_a_word(word) for word in wanted.casefold().split())
    assert found is None or found >= 0.0


def test_an_earlier_word_ranks_first_and_the_middle_of_one_is_no_match():
    assert rank("pa", "Pause") < rank("pa", "Export panel")
    assert rank("pa", "unpaid") is None
    assert rank("err", "terror") is None


def test_a_click_runs_what_it_hits(palette, window):
    (item,) = palette.list.findItems("Export figure", Qt.MatchFlag.MatchExactly, 1)
    QTest.mouseClick(
        palette.list.viewport(), Qt.MouseButton.LeftButton, pos=palette.list.visualItemRect(item).center()
    )
    assert window.run == ["file.export_figure"]
    assert not palette.isVisible()


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
