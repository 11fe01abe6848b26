"""Recordings and simulations: opened, played and steered by keys; and what cannot be opened."""

from __future__ import annotations

import math

import numpy as np
import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QDialogButtonBox, QFileDialog

from gui.sources.processes.playback import PlaySimulation

N, TABLE_RATE = 6000, 100.0


@pytest.fixture
def table(tmp_path):
    """A minute of columns whose names tell nothing; values propose a pair."""
    time = np.arange(N) / TABLE_RATE
    columns = (time, np.sin(20.0 * time), 0.9 * np.sin(20.0 * (time - 0.02)), np.cos(3.0 * time))
    path = tmp_path / "table.csv"
    np.savetxt(path, np.column_stack(columns), delimiter=",", header="t [s],p [mm],q [mm],r [kN]", comments="")
    return path


def choose(hands, letters):
    """Go to the next field of the dialog and type what begins an entry of its list."""
    hands.key("Tab")
    if letters:
        hands.type(letters)


def test_a_table_is_opened_steered_and_left_by_keys(begin, warm_kernels, table):
    hands = begin()
    assert hands.first_page
    hands.key("Ctrl+O")
    hands.name_file(table)
    hands.until(lambda: hands.program.sources.opener.chooser is not None)
    chooser = hands.program.sources.opener.chooser
    hands.until(chooser.isActiveWindow)
    opens = chooser.buttons.button(QDialogButtonBox.StandardButton.Open)
    assert [box.currentText() for box in chooser.rows[0].boxes.values()] == ["p [mm]", "q [mm]", "—"]
    assert opens.isEnabled()
    # without a command the dialog cannot be left but by Esc
    chooser.rows[0].boxes["command"].setFocus()
    hands.key("Home")
    assert not opens.isEnabled()
    hands.type("p")
    choose(hands, "q")
    assert [box.currentText() for box in chooser.rows[0].boxes.values()] == ["p [mm]", "q [mm]", "—"]
    assert opens.isEnabled()
    hands.key("Return")
    hands.until(lambda: hands.program.sources.opener.chooser is None)
    hands.until(lambda: hands.program.sessions.player is not None)
    player = hands.program.sessions.player
    # all of it is there, and nothing plays
    assert not player.playing
    assert hands.history.end_x == pytest.approx(59.99)
    hands.window.activateWindow()
    hands.until(hands.window.isActiveWindow)
    assert not hands.first_page
    assert hands.window.windowTitle() == "table.csv - Synchroscope"

    hands.key("P")
    hands.until(lambda: player.playing and 0.0 < player.position < 50.0)
    hands.key("P")
    hands.until(lambda: not player.playing)
    stood = player.position
    hands.key(".")
    hands.until(lambda: player.position == pytest.approx(stood + 0.1, abs=0.011))
    hands.key("]")
    hands.until(lambda: player.speed == 2.0)
    hands.key("[")
    hands.key("[")
    hands.until(lambda: player.speed == 0.5)
    # Ctrl+G, and an instant
    hands.key("Ctrl+G")
    hands.type("30 s")
    hands.key("Return")
    hands.until(lambda: player.position == pytest.approx(30.0, abs=0.011))
    assert "30.0 of 60.0 s" in hands.window.replay_bar.place.text()
    # a window manager would give the window back what a list over it had
    hands.window.activateWindow()
    hands.until(hands.window.isActiveWindow)
    hands.until(lambda: any("delay 20.0 ms" in text for text in hands.tile_texts.values()))
    timeline = hands.window.replay_bar.timeline
    place = timeline.picture.x_of(45.0)
    hands.click(timeline, QPoint(round(place), timeline.height() // 2))
    hands.until(lambda: player.position == pytest.approx(45.0, abs=0.5))
    for _ in range(6):
        speed = player.speed
        hands.key("]")
        hands.until(lambda speed=speed: player.speed > speed or math.isinf(speed))
    hands.key("P")
    hands.until(lambda: player.ended)
    signals, last = hands.history.signals, [np.sin(20.0 * 59.99), 0.9 * np.sin(20.0 * 59.97)]
    assert signals.at(hands.view.instant, [0, 1]) == pytest.approx(last)
    hands.key("Ctrl+D")
    assert hands.first_page
    assert hands.window.start_page.recent.item(0).text().startswith("table.csv")
    assert hands.modal is None


def test_the_demonstration_is_a_click_away(begin):
    hands = begin()
    hands.click(hands.window.start_page.demonstration)
    assert not hands.first_page
    hands.until(lambda: "waiting" not in hands.strip and len(hands.tile_texts) == 6)
    hands.until(lambda: hands.history.end_x > 0.3)
    hands.until(lambda: hands.program.sessions.player is not None)
    assert hands.window.replay_bar.isVisible()
    hands.key("Ctrl+Shift+F")
    assert hands.window.fault_bar.isVisible()
    hands.click(hands.window.fault_bar.delay)
    injected = "north: injected delay 12.0 ms, amplitude ratio 1.000"
    hands.until(lambda: any(placed.event.detail == injected for placed in hands.history.events))
    notes = "faults injected: measured 5 ms later"
    hands.until(lambda: any(placed.event.detail == notes for placed in hands.history.events))


@pytest.fixture
def opened(monkeypatch):
    """Sources that would be opened: nothing is started."""
    from gui.sources.processes.session import SessionManager

    found = []
    monkeypatch.setattr(SessionManager, "open", lambda self, source: found.append(source))
    return found


def test_the_fields_and_buttons_of_the_first_page(begin, opened, tmp_path):
    hands = begin()
    first = hands.window.start_page
    # somebody else's service
    first.watch.endpoint.setFocus()
    hands.key("Ctrl+A")
    hands.type("tcp://10.0.0.7:5556")
    hands.key("Return")
    assert opened.pop().url == "tcp://10.0.0.7:5556"
    hands.key("Ctrl+A")
    hands.type("10.0.0.7")
    hands.key("Return")
    assert not opened
    assert not first.watch.go.isEnabled()
    assert first.watch.endpoint.fault.text()
    # a service for a rig
    first.serve.folder.setFocus()
    hands.type(str(tmp_path))
    hands.click(first.serve.go)
    source = opened.pop()
    assert (source.connect, source.record) == ("tcp://127.0.0.1:5555", f"{tmp_path}/")
    first.serve.direction.setFocus()
    hands.key("Down")
    assert first.serve.binds
    hands.click(first.serve.go)
    assert opened.pop().bind == "tcp://127.0.0.1:5555"
    # a simulation, of the menu of its group
    assert first.simulations.menu() is not None
    hands.program.actions["source.simulate.hybrid"].trigger()
    assert isinstance(opened.pop(), PlaySimulation)
    hands.click(first.open)
    assert isinstance(hands.modal, QFileDialog)
    hands.modal.reject()
    assert not opened


def drop(window, path):
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    left, none = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    enter = QDragEnterEvent(QPoint(50, 50), Qt.DropAction.CopyAction, data, left, none)
    QApplication.sendEvent(window, enter)
    event = QDropEvent(QPointF(50.0, 50.0), Qt.DropAction.CopyAction, data, left, none)
    QApplication.sendEvent(window, event)
    return enter.isAccepted() and event.isAccepted()


def test_what_is_no_recording_is_one_line(begin, opened, tmp_path):
    empty, line = tmp_path / "empty.csv", tmp_path / "line.csv"
    empty.touch()
    line.write_text("x" * 2_000_000)
    hands = begin()
    # a folder lists its runs: test_window_runs.py
    for path in (tmp_path / "missing.csv", empty, line):
        told = len(hands.notices)
        assert drop(hands.window, path)
        hands.until(lambda told=told: len(hands.notices) == told + 1)
        assert hands.notices[-1].startswith("■ error: ")
        assert path.name in hands.notices[-1]
        assert "Traceback" not in hands.notices[-1]
        assert len(hands.notices[-1]) < 400
        assert hands.first_page
        assert hands.modal is None
    assert not opened
    hands.until(lambda: hands.strip == "○ not connected")


def test_an_endpoint_that_is_none_is_one_line_and_the_first_page(begin):
    hands = begin(connect="10.0.0.7")
    hands.until(lambda: any("error" in line for line in hands.notices))
    assert "10.0.0.7" in hands.notices[-1]
    hands.until(lambda: hands.first_page)
    assert not hands.connection.is_open
    assert len(hands.notices) == 1


def test_nobody_at_the_endpoint_is_connecting_and_can_be_left(begin):
    hands = begin(connect="tcp://127.0.0.1:9")
    hands.ticks(3)
    assert "○ connecting" in hands.strip
    hands.key("N")
    hands.type("too early")
    hands.key("Return")
    assert "no service has answered yet" in hands.notices[-1]
    hands.key("Ctrl+D")
    assert hands.first_page


def test_the_dialog_of_the_menu_connects(begin, opened):
    hands = begin()
    for keys, kind in (("Ctrl+L", "ConnectToService"), ("Ctrl+R", "ServeRig")):
        hands.key(keys)
        hands.until(lambda: hands.modal is not None and hands.modal.isActiveWindow())
        hands.key("Return")
        assert type(opened.pop()).__name__ == kind
        assert hands.modal is None
        hands.window.activateWindow()
        hands.until(hands.window.isActiveWindow)
