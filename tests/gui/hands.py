"""Eyes and hands of somebody before the window: keys, mouse, and what can be read."""

from __future__ import annotations

import gc
import os
import threading
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue

from PySide6.QtCore import QCoreApplication, QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QKeySequence, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QLineEdit, QWidget

from gui.model.receiver import ReceivedMessages
from gui.panels.events import EventsPanel
from gui.panels.histories import HistoriesPanel
from gui.panels.tiles import TilesPanel
from gui.sources.processes.player import ReplayControl
from gui.sources.processes.session import SourceSession
from gui.window.application import Program
from gui.window.launch import LaunchOptions
from monitor.__main__ import offers
from monitor.messages.requests import StateRequest

PATIENCE = 60_000  # ms


class Played:
    """What a window hears of a service: what the test says, at a time that the test says."""

    def __init__(self) -> None:
        self.now = 0.0
        self._said: SimpleQueue[ReceivedMessages] = SimpleQueue()

    def clock(self) -> float:
        return self.now

    def say(self, *arrivals: ReceivedMessages) -> None:
        for each in arrivals:
            self._said.put(each)

    def receive(self, timeout: float) -> list[object]:
        try:
            said = self._said.get(timeout=timeout)
        except Empty:
            return []
        return [item for item in (*said.in_order, said.transfer, said.alarms, said.health) if item is not None]

    def close(self) -> None:
        pass


class PlayedReplay:
    """Source: a replay without a process; `sent` are the requests to its player."""

    def __init__(self, parent) -> None:
        self.newest_command = self.newest = 0
        self.sent = []
        self.player = ReplayControl(self, parent)

    def session(self, parent=None, **_):
        session = _ReplaySession("played", parent)
        session.player = self.player
        return session

    def send(self, request) -> int:
        if not isinstance(request, StateRequest):
            self.sent.append(request)
        return 1

    def answers(self, timeout=0.0):
        return []

    def close(self, linger=0.0) -> None:
        pass


class _ReplaySession(SourceSession):
    def start(self) -> None:
        self.ready.emit("tcp://127.0.0.1:1")

    def stop(self) -> None:
        self.ended.emit()


class Hands:
    """One program at work; the keys go where the focus is, as a window system sends them."""

    def __init__(self, qtbot, store, **opening) -> None:
        self._qtbot = qtbot
        self.played: Played | None = None
        self.program = Program(offers(), store, LaunchOptions(**opening))
        self.window = self.program.window
        self.view, self.connection = self.program.view, self.program.connection
        with qtbot.waitActive(self.window):
            self.program.start()
            self.window.resize(1280, 800)
            self.window.activateWindow()

    # reading

    @property
    def history(self):
        return self.connection.history

    @property
    def notices(self) -> list[str]:
        """All that was told, the newest last."""
        return [notice.line for notice in self.window.notification_bar.log.entries]

    @property
    def tile_texts(self) -> dict[str, str]:
        """What the tiles say."""
        return {tile.content.name: tile.content.text for tile in self.window.dock_area.panel(TilesPanel)._grid.tiles}

    @property
    def strip(self) -> str:
        return " | ".join(self.window.health_strip.texts)

    @property
    def events(self) -> list[str]:
        table = self.window.dock_area.panel(EventsPanel).events.table
        return [f"{table.index(row, 1).data()} {table.index(row, 2).data()}" for row in range(table.rowCount())]

    @property
    def first_page(self) -> bool:
        return self.window.start_page.isVisible()

    @property
    def stack(self):
        """The picture of the time histories."""
        return self.window.dock_area.panel(HistoriesPanel).stack

    @property
    def focus(self) -> QWidget | None:
        return QApplication.focusWidget()

    @property
    def modal(self) -> QWidget | None:
        return QApplication.activeModalWidget()

    def until(self, condition) -> None:
        self._qtbot.waitUntil(lambda: bool(condition()), timeout=PATIENCE)

    def ticks(self, n: int = 2) -> None:
        """Let the window look `n` times."""
        with self._qtbot.waitSignals([self.window.ticked] * n, timeout=PATIENCE):
            pass

    def silence(self, seconds: float) -> None:
        """Let time pass without a word from the service, while the window goes on: half a second at a look."""
        for _ in range(round(2.0 * seconds)):
            self.played.now += 0.5
            self.ticks(1)

    # doing

    def key(self, keys: str) -> None:
        """Press ``Ctrl+K``."""
        (combination,) = QKeySequence(keys)
        target = QApplication.activePopupWidget() or QApplication.focusWidget() or self.window
        target = target.focusWidget() or target
        QTest.keyClick(target, combination.key(), combination.keyboardModifiers())

    def type(self, text: str) -> None:
        target = QApplication.activePopupWidget() or QApplication.focusWidget() or self.window
        QTest.keyClicks(target.focusWidget() or target, text)

    def click(self, widget: QWidget, at: QPoint | None = None) -> None:
        self._qtbot.mouseClick(widget, Qt.MouseButton.LeftButton, pos=at or widget.rect().center())

    def wheel(self, widget: QWidget, notches: int, at: QPoint | None = None) -> None:
        """Turn the wheel away from oneself, or towards oneself if negative."""
        place = at or widget.rect().center()
        event = QWheelEvent(
            QPointF(place),
            QPointF(widget.mapToGlobal(place)),
            QPoint(),
            QPoint(0, 120 * notches),
            Qt.MouseButton.NoButton,
            Qt.KeyboardModifier.NoModifier,
            Qt.ScrollPhase.NoScrollPhase,
            False,
        )
        QApplication.sendEvent(widget, event)

    def drag(self, widget: QWidget, by: int, at: QPoint | None = None) -> None:
        """Draw the mouse `by` pixels to the right with its left button down."""
        begin, left = at or widget.rect().center(), Qt.MouseButton.LeftButton
        QTest.mousePress(widget, left, Qt.KeyboardModifier.NoModifier, begin)
        for part in (by // 2, by):
            QTest.mouseMove(widget, begin + QPoint(part, 0))
            QApplication.processEvents()
        QTest.mouseRelease(widget, left, Qt.KeyboardModifier.NoModifier, begin + QPoint(by, 0))

    def name_file(self, path: Path) -> None:
        """Answer a dialog that asks for a file."""
        dialog = self.window.findChild(QFileDialog)
        self.until(dialog.isActiveWindow)
        field = dialog.findChild(QLineEdit, "fileNameEdit")
        field.selectAll()
        QTest.keyClicks(field, str(path))
        QTest.keyClick(field, Qt.Key.Key_Return)

    def leave(self) -> None:
        """Close the window as its user does, and end the program as `run_window` does."""
        if self.program is not None:
            self.window.close_now()
            self.program.finish()
        self.program = self.window = self.view = self.connection = None


def delete_later() -> None:
    """Delete the objects whose deletion is deferred, and those that only they kept alive."""
    for _ in range(3):
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        QApplication.processEvents()
        gc.collect()


def top_level_widgets() -> list[str]:
    return [repr(widget) for widget in QApplication.topLevelWidgets()]


def left_over() -> list[str]:
    """Return what a program that was left has forgotten to take with it."""
    delete_later()
    found = top_level_widgets()
    threads = ("receiver", "run-detail_0", "export_0", "run-loader")
    found += [thread.name for thread in threading.enumerate() if thread.name in threads]
    return found + [f"process {pid}" for pid in children()]


def children() -> list[int]:
    """Return the processes that this one has started and that have not ended.

    The screen that tests of the real command share is not the program's, nor is the resource tracker that
    multiprocessing keeps once other tests have used it.
    """
    found: list[int] = []
    for task in Path(f"/proc/{os.getpid()}/task").iterdir():
        with suppress(OSError):
            found += [int(pid) for pid in (task / "children").read_text().split()]
    return [pid for pid in found if not _is_shared(pid)]


def _is_shared(pid: int) -> bool:
    with suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_bytes()
        return b"multiprocessing.resource_tracker" in words or Path(f"/proc/{pid}/comm").read_text().strip() == "Xvfb"
    return False
