"""The main window: panels in docks, a strip that says how the service is, and one timer that draws what is new."""

from __future__ import annotations

from time import monotonic, time
from typing import TypeVar

from PySide6.QtCore import QByteArray, QSettings, Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QDockWidget, QMainWindow, QTabWidget, QVBoxLayout, QWidget

from gui.detail import DetailLoader
from gui.note_bar import NoteBar
from gui.panels.base import Panel
from gui.panels.catalogue import PANELS
from gui.shell.health_strip import HealthStrip
from gui.shell.notification_bar import NotificationBar
from gui.sources.fault_bar import FaultBar
from gui.sources.first_page import FirstPage
from gui.sources.offers import Offers
from gui.sources.replay_bar import ReplayBar
from gui.theme import Theme
from gui.view import View
from gui.view_bar import ViewBar
from gui.watch import Watch

Kind = TypeVar("Kind", bound=Panel)

_PULSE = 0.5  # s: what is silent grows old without a word from anybody


class MainWindow(QMainWindow):
    """What the user sees; what can be asked of it is wired elsewhere.

    Parameters
    ----------
    view, watch : what is looked at, and what is watched.
    offers : what can be opened.
    store : where choices are kept.
    theme : colours to begin with.

    Signals
    -------
    dropped : a file was let fall on it.
    ticked : a frame was drawn, or found unnecessary.
    closing : it is closed by its user.
    """

    dropped = Signal(str)
    ticked = Signal()
    closing = Signal()

    def __init__(self, view: View, watch: Watch, offers: Offers, store: QSettings, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("synchroscope")
        self.setWindowTitle("Synchroscope")
        self.setDockNestingEnabled(True)
        self.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, QTabWidget.TabPosition.North)
        self.setAcceptDrops(True)
        self.view, self.watch = view, watch
        self.detail = DetailLoader()
        self.panels: dict[str, Panel] = {}
        self.docks: dict[str, QDockWidget] = {}
        for kind in PANELS:
            self._add(kind(view, theme))
        self.notices = NotificationBar(theme)
        self.strip = HealthStrip(theme)
        self.notes = NoteBar()
        self.replay = ReplayBar(theme)
        self.faults = FaultBar(theme)
        self.first = FirstPage(offers, store, theme)
        self.bar = ViewBar(view, theme)
        self.addToolBar(self.bar)
        self.setCentralWidget(self.first)
        self._below = self._stacked(self.notices, self.notes, self.faults, self.replay, self.strip)
        self._generation: int | None = None
        self._arrangement: QByteArray | None = None
        self.waiting_for = ""
        self._stale = True
        self._drawn = -_PULSE
        view.moved.connect(self.redraw)
        view.pointed.connect(self.redraw)
        view.chosen.connect(self.redraw)
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self.tick)

    def start(self, frame_rate: float) -> None:
        """Draw so many times a second from now on."""
        self._timer.start(round(1000.0 / frame_rate))

    def panel(self, kind: type[Kind]) -> Kind:
        """Return the panel of that kind."""
        panel = self.panels[kind.key]
        assert isinstance(panel, kind)
        return panel

    @property
    def running(self) -> bool:
        """It draws."""
        return self._timer.isActive()

    def set_window_seconds(self, seconds: float) -> None:
        """Say how long the windows of the indicators are."""
        for panel in self.panels.values():
            panel.window_seconds = seconds

    def show_data(self, shown: bool) -> None:
        """Show the panels where they stood; else the first page alone."""
        if shown == self.first.isHidden():
            return
        if not shown:
            self._arrangement = self.saveState()
            for dock in self.docks.values():
                dock.hide()
        self.first.setVisible(not shown)
        self.bar.setVisible(shown)
        if shown and self._arrangement is not None:
            self.restoreState(self._arrangement)

    def redraw(self) -> None:
        """Let the next tick draw, whether anything is new or not."""
        self._stale = True

    def restyle(self, theme: Theme) -> None:
        """Take other colours."""
        for panel in self.panels.values():
            panel.restyle(theme)
        for part in (self.bar, self.first, self.notices, self.strip, self.replay, self.faults):
            part.restyle(theme)
        self.redraw()

    def tick(self) -> None:
        """Take what has come, and draw where it can be seen."""
        now = monotonic()
        fresh = self.watch.tick()
        history = self.watch.history
        self.detail.follow("" if history.health is None else history.health.recording)
        fresh |= self.detail.tick()
        if history.generation != self._generation or not self.watch.configured:
            self._generation, self.watch.configured = history.generation, True
            for panel in self.panels.values():
                panel.configure(history)
            self.bar.configure(history)
            self._stale = True
        if fresh or self._stale or now - self._drawn >= _PULSE:
            self._stale, self._drawn = False, now
            for panel in self.panels.values():
                if panel.isVisible() and not panel.visibleRegion().isEmpty():
                    panel.refresh(history)
            if self.watch.watching:
                self.strip.show_health(history, self.watch.dropped)
            else:
                self.strip.show_nothing(self.waiting_for)
        self.notices.tick(time())
        self.ticked.emit()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:  # noqa: N802 - Qt's name
        """Take files."""
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:  # noqa: N802 - Qt's name
        """Open the first file."""
        paths = [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
        if paths:
            event.acceptProposedAction()
            self.dropped.emit(paths[0])

    def closeEvent(self, event: QCloseEvent) -> None:  # noqa: N802 - Qt's name
        """Stop drawing, and let others put things away."""
        self._timer.stop()
        self.closing.emit()
        self.watch.close()
        self.detail.close()
        super().closeEvent(event)

    def _add(self, panel: Panel) -> None:
        dock = QDockWidget(panel.title, self)
        dock.setObjectName(panel.key)
        dock.setWidget(panel)
        dock.visibilityChanged.connect(self.redraw)
        self.addDockWidget(Qt.DockWidgetArea.TopDockWidgetArea, dock)
        self.panels[panel.key], self.docks[panel.key] = panel, dock

    def _stacked(self, *rows: QWidget) -> QWidget:
        """Put rows below the docks: the status bar is the one place that no dock can take."""
        below = QWidget()
        layout = QVBoxLayout(below)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        for row in rows:
            layout.addWidget(row)
        bar = self.statusBar()
        bar.setSizeGripEnabled(False)
        bar.addWidget(below, 1)
        return below
