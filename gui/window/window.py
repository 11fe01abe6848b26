"""The main window: the panels or the first page, a strip that says how the service is, and one timer that draws."""

from __future__ import annotations

from time import monotonic, time

from PySide6.QtCore import QSettings, Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QKeyEvent
from PySide6.QtWidgets import QMainWindow, QStackedWidget, QVBoxLayout, QWidget

from gui.plots.view import View
from gui.sources.opening.first_page import FirstPage
from gui.sources.processes.catalogue import Catalogue
from gui.sources.replay_bar.fault_bar import FaultBar
from gui.sources.replay_bar.replay_bar import ReplayBar
from gui.widgets.theme import Theme
from gui.window.alarm_banner import AlarmBanner
from gui.window.health_strip import HealthStrip
from gui.window.note_bar import NoteBar
from gui.window.notification_bar import NotificationBar
from gui.window.panel_docks import PanelDocks
from gui.window.view_bar import ViewBar
from gui.window.watch import DetailLoader, Watch

_IDLE_REFRESH_INTERVAL = 0.5  # s: the age of data grows without a message


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

    def __init__(self, view: View, watch: Watch, offers: Catalogue, store: QSettings, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("synchroscope")
        self.setWindowTitle("Synchroscope")
        self.setAcceptDrops(True)
        self.view, self.watch, self.theme = view, watch, theme
        self.detail = DetailLoader()
        self.desk = PanelDocks(view, theme)
        self.first = FirstPage(offers, store, theme)
        self.bar = ViewBar(view, theme)
        self.alarms = AlarmBanner(theme)
        self.notices = NotificationBar(theme)
        self.notes = NoteBar()
        self.faults = FaultBar(theme)
        self.replay = ReplayBar(theme)
        self.strip = HealthStrip(theme)
        self._pages = QStackedWidget()
        for page in (self.first, self.desk):
            self._pages.addWidget(page)
        central = QWidget()
        rows = QVBoxLayout(central)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(0)
        for row in (self.alarms, self._pages, self.notices, self.notes, self.faults, self.replay, self.strip):
            rows.addWidget(row)
        rows.setStretchFactor(self._pages, 1)
        self.setCentralWidget(central)
        self.addToolBar(self.bar)
        self.waiting_for = self.title = ""
        self._generation: int | None = None
        self._stale = True
        self._drawn = -_IDLE_REFRESH_INTERVAL
        for changed in (view.moved, view.pointed, view.chosen, self.desk.uncovered):
            changed.connect(self.redraw)
        self.desk.failed.connect(self._tell_failure)
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self.tick)

    @property
    def running(self) -> bool:
        """It draws."""
        return self._timer.isActive()

    def start(self, frame_rate: float) -> None:
        """Draw so many times a second from now on."""
        self._timer.start(round(1000.0 / frame_rate))

    def show_data(self, shown: bool) -> None:
        """Show the panels; else the first page."""
        self._pages.setCurrentWidget(self.desk if shown else self.first)
        # with the panels, and not with an alarm: what is looked at stays where it is
        self.alarms.setVisible(shown)

    def redraw(self) -> None:
        """Let the next tick draw, whether anything is new or not."""
        self._stale = True

    def apply_theme(self, theme: Theme) -> None:
        """Take other colours."""
        self.theme = theme
        parts = (self.desk, self.bar, self.alarms, self.first, self.notices, self.strip, self.replay, self.faults)
        for part in parts:
            part.apply_theme(theme)
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
            self.desk.configure(history)
            self.bar.configure(history)
            self._stale = True
        if fresh or self._stale or now - self._drawn >= _IDLE_REFRESH_INTERVAL:
            self._stale, self._drawn = False, now
            # first, because it says how all the rest is
            if self.watch.watching:
                self.strip.show_health(history, self.watch.dropped)
            else:
                self.strip.show_nothing(self.waiting_for)
            self.desk.refresh(history)
            self.bar.refresh()
        self.alarms.show_alarms(history, now)
        self._name(self.alarms.found.plain_words)
        self.notices.tick(time())
        self.ticked.emit()

    def _name(self, alarms: str) -> None:
        """Say in the title what is watched, and first what is wrong."""
        told = f"({alarms}) " if alarms else ""
        title = f"{told}{self.title} - Synchroscope" if self.title else f"{told}Synchroscope"
        if title != self.windowTitle():
            self.setWindowTitle(title)

    def _tell_failure(self, what: str) -> None:
        self.notices.tell("error", what, time())

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Take a message away at Esc, where nobody else wanted it."""
        if event.key() != Qt.Key.Key_Escape or not self.notices.dismiss():
            super().keyPressEvent(event)

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
