"""The main window: panels or start page, the bars around them, and the timer that draws."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from time import monotonic, time
from typing import ClassVar

from PySide6.QtCore import QObject, QSettings, Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QFont, QKeyEvent
from PySide6.QtWidgets import (
    QApplication,
    QBoxLayout,
    QHBoxLayout,
    QLineEdit,
    QMainWindow,
    QProgressBar,
    QPushButton,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)
from shiboken6 import isValid

from gui.model.history import History
from gui.model.run_detail import DetailLoader
from gui.model.service_state import ServiceState
from gui.plots.view import View
from gui.sources.opening.first_page import FirstPage
from gui.sources.processes.catalogue import Catalogue
from gui.sources.processes.session import BACK, DIED
from gui.sources.replay_bar.fault_bar import FaultBar
from gui.sources.replay_bar.replay_bar import ReplayBar
from gui.widgets.layout import fill
from gui.widgets.painting import PlainLabel
from gui.widgets.theme import Theme
from gui.window.action_table import ACTIONS, simulation_actions
from gui.window.actions import Actions
from gui.window.notification_bar import NotificationBar
from gui.window.panel_docks import PanelDocks
from gui.window.service_connection import ServiceConnection
from gui.window.status_bars import AlarmBanner, HealthStrip
from gui.window.view_bar import ViewBar
from gui.wording.level import Level
from monitor.messages.requests import MAX_NOTE


class NoteBar(QWidget):
    """A line for the text, hidden until `ask`; the focus returns to where it was.

    Signals
    -------
    written : the text, and its instant in s of the display.
    """

    written = Signal(str, float)

    def __init__(self) -> None:
        super().__init__()
        self._instant = 0.0
        self._before: QWidget | None = None
        self._label = PlainLabel()
        self._text = QLineEdit(placeholderText="Text of the note; Enter saves it with the run, Esc cancels")
        self._text.setAccessibleName("Text of the note")
        self._save = QPushButton("Save")
        self._remaining = PlainLabel()
        fill(QHBoxLayout(self), self._label, (self._text, 1), self._remaining, self._save, margins=(8, 4, 8, 4))
        self._text.textChanged.connect(self._update_remaining)
        self._text.returnPressed.connect(self._emit)
        self._save.clicked.connect(self._emit)
        self._update_remaining()
        self.hide()

    def ask(self, instant: float, label: str, text: str = "") -> None:
        """Ask for a note at `instant`, shown as `label`; a note that is being written is not replaced by `text`."""
        self._instant = instant
        focused = QApplication.focusWidget()
        if focused is None or not self.isAncestorOf(focused):
            self._before = focused
        self._label.setText(f"Note at {label}:")
        if self.isHidden():
            self._text.setText(text)
            # selected, so that typing replaces it
            self._text.selectAll()
        self.show()
        self._text.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Cancel with Esc."""
        if event.key() == Qt.Key.Key_Escape:
            self.cancel()
        else:
            super().keyPressEvent(event)

    def cancel(self) -> None:
        """Hide the bar without a note."""
        if not self.isHidden():
            self._close()

    def _update_remaining(self) -> None:
        used = len(self._text.text().encode())
        self._save.setEnabled(bool(self._text.text().strip()) and used <= MAX_NOTE)
        self._remaining.setText(
            "" if used <= MAX_NOTE - 40 else f"{MAX_NOTE - used} left" if used <= MAX_NOTE else "too long"
        )

    def _emit(self) -> None:
        if self._save.isEnabled():
            self._close()
            self.written.emit(self._text.text().strip(), self._instant)

    def _close(self) -> None:
        """Hide, and return the focus: a button that had it would use Space."""
        before, self._before = self._before, None
        if before is not None and isValid(before) and before.isVisible():
            before.setFocus()
        else:
            self._text.clearFocus()
            self.window().setFocus()
        self.hide()


_IDLE_REFRESH_INTERVAL = 0.5  # s: the age of the data is shown, and grows without messages


class LoadingPage(QWidget):
    """Progress of a recording that is being computed, with a button to cancel: a page, or a bar."""

    def __init__(self, direction: QBoxLayout.Direction = QBoxLayout.Direction.TopToBottom) -> None:
        super().__init__()
        self._text = PlainLabel(alignment=Qt.AlignmentFlag.AlignCenter)
        self.bar = QProgressBar()
        self.bar.setMaximumWidth(480)
        self.cancel = QPushButton("Cancel")
        parts = QBoxLayout(direction, self)
        parts.addStretch(1)
        for part in (self._text, self.bar, self.cancel):
            parts.addWidget(part, 0, Qt.AlignmentFlag.AlignCenter)
        parts.addStretch(1)
        self.bar.setMinimumWidth(320)

    @property
    def text(self) -> str:
        """What is being done."""
        return self._text.text()

    def show_progress(self, title: str, task: str, share: float) -> None:
        """Show a task and the share of it that is done; NaN: unknown."""
        self._text.setText(f"{title}: {task}")
        self.bar.setRange(0, 0 if math.isnan(share) else 1000)
        if not math.isnan(share):
            self.bar.setValue(round(1000.0 * share))


class MainWindow(QMainWindow):
    """The widgets of the window and its actions; `Program` connects them.

    Parameters
    ----------
    view : visible time range and selected actuator.
    connection : to the service.
    offers : simulations and file formats.
    store : the settings of the program.
    theme : at the start.

    Signals
    -------
    dropped : paths of files that were dropped on the window.
    ticked : the timer has fired.
    closing : the window is being closed.
    cancelled : a recording is not to be loaded.

    Attributes
    ----------
    may_close : called before the window closes, unless by `close_now`; False where the user is asked first.
    """

    dropped = Signal(list)
    ticked = Signal()
    closing = Signal()
    cancelled = Signal()

    def __init__(
        self, view: View, connection: ServiceConnection, offers: Catalogue, store: QSettings, theme: Theme
    ) -> None:
        super().__init__()
        self.setObjectName("synchroscope")
        self.setWindowTitle("Synchroscope")
        self.setAcceptDrops(True)
        self.view, self.connection, self.theme = view, connection, theme
        self.offers, self.store = offers, store
        self.detail = DetailLoader()
        self.dock_area = PanelDocks(view, theme)
        self.start_page = FirstPage(offers, store, theme)
        self.view_bar = ViewBar(view, theme)
        self.alarm_banner = AlarmBanner(theme)
        self.notification_bar = NotificationBar(theme)
        self.note_bar = NoteBar()
        self.fault_bar = FaultBar(theme)
        self.replay_bar = ReplayBar(theme)
        self.health_strip = HealthStrip(theme)
        self.loading_page, self.loading_bar = LoadingPage(), LoadingPage(QBoxLayout.Direction.LeftToRight)
        for loading in (self.loading_page, self.loading_bar):
            loading.cancel.clicked.connect(self.cancelled)
        self.loading_bar.hide()
        self._pages = QStackedWidget()
        for page in (self.start_page, self.dock_area, self.loading_page):
            self._pages.addWidget(page)
        central = QWidget()
        rows = QVBoxLayout(central)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(0)
        below = self.notification_bar, self.note_bar, self.fault_bar, self.replay_bar, self.health_strip
        for row in (self.alarm_banner, self.loading_bar, self._pages, *below):
            rows.addWidget(row)
        rows.setStretchFactor(self._pages, 1)
        self.setCentralWidget(central)
        self.addToolBar(self.view_bar)
        self.waiting_for = self.title = ""
        self.may_close: Callable[[], bool] = lambda: True
        self._state_key = ""
        self._generation: int | None = None
        self._stale = True
        self._last_drawn = -_IDLE_REFRESH_INTERVAL
        for changed in (view.range_changed, view.cursor_changed, view.actuator_changed, self.dock_area.uncovered):
            changed.connect(self.redraw)
        self.dock_area.failed.connect(partial(self.notify, "error"))
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self.tick)
        # `actions` is Qt's
        self.commands = Actions(self, (*ACTIONS, *simulation_actions(offers.simulations)))

    @property
    def is_configured(self) -> bool:
        """Whether the panels have the rows of the history that is shown."""
        return self.connection.configured and self._generation == self.connection.history.generation

    @property
    def running(self) -> bool:
        """Whether the timer is active."""
        return self._timer.isActive()

    def start(self, frame_rate: float) -> None:
        """Draw at this rate [Hz]."""
        self._timer.start(round(1000.0 / frame_rate))

    def show_data(self, shown: bool, *, live: bool = True) -> None:
        """Show the panels, or else the start page; with the banner of alarms, where they are `live`."""
        page = self.dock_area if shown else self.start_page
        if page is not self._pages.currentWidget():
            self._pages.setCurrentWidget(page)
            self.focus_plot()
        # always visible with the panels, so that an alarm does not move them
        self.alarm_banner.setVisible(shown and live)

    def show_loading(self, title: str, progress: tuple[str, float] | None, *, above: bool) -> None:
        """Show what is loaded and the share that is done, `above` the panels or in their place; None: nothing."""
        self.loading_bar.setVisible(progress is not None and above)
        if progress is not None:
            (self.loading_bar if above else self.loading_page).show_progress(title, *progress)
        if progress is not None and not above:
            self._pages.setCurrentWidget(self.loading_page)
        elif self._pages.currentWidget() is self.loading_page:
            self._pages.setCurrentWidget(self.dock_area if above else self.start_page)

    def focus_plot(self) -> None:
        """Give the keys to a plot, where panels are shown."""
        if self._pages.currentWidget() is self.dock_area:
            self.dock_area.focus_plot()

    def notify(self, level: str, text: str, *, of_source: bool = False, ends: str = "") -> None:
        """Show a message: info, warning or error, in place of those that begin with `ends`.

        One `of_source` is dismissed when another source is opened.
        """
        # a service that is back is no longer dead
        ends = DIED if text == BACK else ends
        self.notification_bar.show_message(level, text, time(), of_source=of_source, ends=ends)

    def redraw(self) -> None:
        """Draw at the next tick, even if there is no new data."""
        self._stale = True

    def apply_theme(self, theme: Theme) -> None:
        """Apply a theme to all parts."""
        self.theme = theme
        bars = (
            self.view_bar,
            self.alarm_banner,
            self.notification_bar,
            self.fault_bar,
            self.replay_bar,
            self.health_strip,
        )
        for part in (self.dock_area, self.start_page, *bars):
            part.apply_theme(theme)
        self.redraw()

    def set_frame_font(self, font: QFont) -> None:
        """Set the font of the bars."""
        above: tuple[QWidget, ...] = self.view_bar, self.alarm_banner
        for bar in (*above, self.notification_bar, self.note_bar, self.fault_bar, self.replay_bar, self.health_strip):
            bar.setFont(font)
        self.view_bar.fit_to_font()

    def tick(self) -> None:
        """Process received messages, and draw the visible panels."""
        now = monotonic()
        fresh = self.connection.poll()
        history = self.connection.history
        self.detail.set_path(history.run_path)
        fresh |= self.detail.poll()
        if history.generation != self._generation or not self.connection.configured:
            self._generation, self.connection.configured = history.generation, True
            self.dock_area.configure(history)
            self.view_bar.configure(history)
            self._stale = True
        state = history.state
        if state.key != self._state_key:
            # a service that sends nothing changes its state too
            self._state_key, self._stale = state.key, True
        if fresh or self._stale or now - self._last_drawn >= _IDLE_REFRESH_INTERVAL:
            self._stale, self._last_drawn = False, now
            # first: should a panel fail, the state of the service is shown
            if self.connection.is_open or history.recording is not None:
                self.health_strip.show_health(history, self.connection.dropped, self.connection.backfill_progress)
            else:
                self.health_strip.show_disconnected(self.waiting_for)
            self.dock_area.refresh(history)
            self.view_bar.refresh()
        self.alarm_banner.show_alarms(history, now)
        self._update_title(self.alarm_banner.summary.plain_words, state)
        self.notification_bar.tick(time())
        self.ticked.emit()

    def _update_title(self, alarms: str, state: ServiceState) -> None:
        """Show active alarms, a bad state and the source in the title of the window."""
        bad = state.brief or state.words if self.connection.is_open and state.level is Level.BAD else ""
        if state.key == "silent":
            # alarms are unknown
            alarms = ""
        words = ", ".join(filter(None, (alarms, bad)))
        prefix = f"({words}) " if words else ""
        title = f"{prefix}{self.title} - Synchroscope" if self.title else f"{prefix}Synchroscope"
        if title != self.windowTitle():
            self.setWindowTitle(title)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Dismiss a message with Esc, where no widget has used the key."""
        if event.key() != Qt.Key.Key_Escape or not self.notification_bar.dismiss():
            super().keyPressEvent(event)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Accept local files."""
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Open the file, or the files as parts of one run."""
        paths = [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
        if paths:
            event.acceptProposedAction()
            self.dropped.emit(paths)

    def close_now(self) -> None:
        """Close without a question."""
        self.may_close = lambda: True
        self.close()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Stop the timer, and close the connection, if the window may close."""
        if not self.may_close():
            event.ignore()
            return
        self._timer.stop()
        self.closing.emit()
        self.connection.close()
        self.detail.close()
        super().closeEvent(event)


class Controller(QObject):
    """Part of the program that acts on the window, and reports in it.

    Parameters
    ----------
    window : has the actions and the settings of the program.
    """

    of_source: ClassVar[bool] = False  # its messages are dismissed when another source is opened

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window, self._actions, self._store = window, window.commands, window.store

    @property
    def _history(self) -> History:
        return self._window.connection.history

    def _notify(self, level: str, text: str, ends: str = "") -> None:
        """Show a message: info, warning or error, in place of those that begin with `ends`."""
        self._window.notify(level, text, of_source=self.of_source, ends=ends)
