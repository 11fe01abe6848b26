"""The program: creates the parts of the window and connects them."""

from __future__ import annotations

import math
import os
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import FrameType, TracebackType

from PySide6.QtCore import QObject, QSettings, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from gui.model.history import History
from gui.panels.events import EventsPanel
from gui.panels.histories import HistoriesPanel
from gui.panels.over_time import TimePanel
from gui.panels.wall import WallPanel
from gui.plots.view import View
from gui.sources.processes.catalogue import Catalogue
from gui.sources.processes.playback import PlaySimulation
from gui.sources.processes.player import ReplayControl
from gui.sources.processes.session import SourceSpec
from gui.window.action_table import SIMULATIONS
from gui.window.bindings import PlotFocus, bind_panels, bind_play_head, bind_replay, bind_view, seek
from gui.window.derived_channels import DerivedChannelController
from gui.window.export import ExportController, ReportController
from gui.window.help import CommandPalette, PaletteEntry, ShortcutDialog, show_about, show_documentation
from gui.window.launch import VIEW, LaunchOptions
from gui.window.layout_controller import LayoutController, OperatorMode
from gui.window.limit_requests import LimitController
from gui.window.preferences import SettingsController
from gui.window.runs import ComparedFile, ComparisonController, RunsController
from gui.window.saved_views import ViewController
from gui.window.service_connection import ServiceConnection
from gui.window.service_requests import AlarmController, NoteController
from gui.window.source_controller import SourceController
from gui.window.window import MainWindow


class Program(QObject):
    """Creates and connects the parts of the window.

    Parameters
    ----------
    offers : simulations and file formats.
    store : the settings of the program.
    options : of the command line.
    """

    def __init__(self, offers: Catalogue, store: QSettings, options: LaunchOptions | None = None) -> None:
        super().__init__()
        self._options, self._store = options or LaunchOptions(), store
        self.preferences = SettingsController(store, self._options.theme, self)
        settings = self.preferences.settings
        self.view = View(self)
        self.view.span = settings.span
        self.connection = ServiceConnection(self.view, settings.live_memory << 20, settings.history_minutes, self)
        self.window = MainWindow(self.view, self.connection, offers, store, self.preferences.themes.theme)
        self.actions = self.window.commands
        menus = self.actions.fill(self.window.menuBar())
        if SIMULATIONS in menus:
            self.window.start_page.simulations.setMenu(menus[SIMULATIONS])
        self.window.view_bar.fill(self.actions)
        self.sources = SourceController(self.window, self.preferences.service_file)
        self.sessions = self.sources.sessions
        self.exports = ExportController(self.window)
        self.reports = ReportController(self.window, self.sources)
        self.layouts = LayoutController(self.window)
        self._derived = DerivedChannelController(self.window)
        self.comparison = ComparisonController(self.window, self.sources, self.layouts, self.reports)
        self.views = ViewController(self.window, self.sources, self.comparison, self.layouts)
        self.runs = RunsController(self.window, self.sources, self.comparison, self.reports)
        self.operator = OperatorMode(
            self.window,
            self.actions,
            (self.window.replay_bar, self.window.fault_bar, self.window.view_bar),
            self.window.dock_area,
        )
        self._notes = NoteController(self.window)
        self._alarms = AlarmController(self.window, partial(self.layouts.show_panel, EventsPanel.key, "Operator"))
        self._limits = LimitController(self.window, self.preferences.present)
        self.window.fault_bar.injected.connect(self._notes.record)
        self.sessions.injected.connect(self._notes.record)
        self.preferences.attach(self.window)
        self._palette = CommandPalette(self.actions, self.window)
        self._shortcuts = ShortcutDialog(self.actions, self.window)
        self._palette.rows = self._rows
        self._bind()
        self._show_session()

    def start(self) -> None:
        """Show the window, and open what the command line names."""
        self.layouts.restore(self._options.layout)
        self.window.show()
        self.window.show_data(False)
        self.window.start(self.preferences.settings.frame_rate)
        self.views.offer_unclosed()
        if self._options.file.endswith(VIEW):
            self.views.open(Path(self._options.file))
        else:
            self.sources.begin(self._options)
        self.comparison.open_runs([ComparedFile((path,)) for path in self._options.compare])
        if self._options.operator:
            self.actions["window.operator"].trigger()

    def finish(self) -> None:
        """Close everything; waits some seconds for processes at most."""
        self.sources.finish()
        self.comparison.close()
        self.runs.close()
        self.exports.close()
        self.reports.close()
        self.connection.finish()
        self.sessions.finish()
        # the parts are connected to each other, and are deleted together
        self.window.deleteLater()
        self.deleteLater()

    def _bind(self) -> None:
        window, actions, sessions = self.window, self.actions, self.sessions
        bind_view(actions, self.view, sessions)
        bind_play_head(self.view, sessions)
        bind_replay(actions, sessions, window.replay_bar)
        bind_panels(actions, window, self.view)
        PlotFocus(window)
        for changed in (self.layouts.layouts.changed, self.sources.opened, sessions.loaded):
            changed.connect(window.focus_plot)
        actions.connect(
            {
                "file.quit": window.close,
                "replay.faults": self._show_faults,
                "replay.seek": partial(self._present_palette, "Play from", "Look at"),
                "help.palette": partial(self._present_palette, "Look at", "Play from"),
                "help.keys": self._shortcuts.present,
                "help.documentation": partial(show_documentation, window),
                "help.about": partial(show_about, window),
            }
        )
        sessions.ready.connect(self._connect)
        self.connection.notified.connect(partial(window.notify, of_source=True))
        sessions.loaded.connect(self._show_recording)
        sessions.progress.connect(self._show_progress)
        self.sources.opening.connect(window.notification_bar.dismiss_of_source)
        self.sources.opened.connect(self._show_model)
        sessions.changed.connect(self._show_session)
        self.sources.opener.progress.connect(self._show_progress)
        self.operator.changed.connect(self._show_session)
        self.operator.changed.connect(self._limits.set_read_only)
        for set_mode in (window.health_strip.show_operator_mode, self.view.stay_live, self._scale_banner):
            self.operator.changed.connect(set_mode)
        window.dock_area.docks[WallPanel.key].visibilityChanged.connect(self._scale_banner)
        window.ticked.connect(self._update_session)
        window.cancelled.connect(self.sources.cancel)
        window.dock_area.panel(HistoriesPanel).detail = window.detail
        window.closing.connect(self._save)

    def _scale_banner(self) -> None:
        """Enlarge the alarm banner where it is to be read from a distance."""
        # not behind another tab
        wall = self.window.dock_area.panel(WallPanel) in self.window.dock_area.visible_panels
        self.window.alarm_banner.set_large(self.operator.on or wall)

    def _connect(self, url: str) -> None:
        self.connection.open(url, self.sources.keys)

    def _show_recording(self, history: History) -> None:
        self.connection.show(history)
        self._show_session()

    def _show_session(self) -> None:
        """Show the parts that the current session has, and enable the actions that it allows."""
        session, player = self.sessions.current, self.sessions.player
        window, actions, read_only = self.window, self.actions, self.operator.on
        if session is None:
            window.start_page.refresh()
        recorded = window.connection.history.recording is not None
        loading = session is not None and session.loading is not None
        window.show_data(session is not None, live=not recorded and not loading)
        window.start_page.setDisabled(read_only)
        window.view_bar.setVisible(session is not None and not loading and not read_only)
        title = "" if session is None else session.title
        window.title = title
        window.redraw()
        window.view_bar.set_title(title)
        window.replay_bar.set_player(player)
        window.fault_bar.set_player(player if isinstance(player, ReplayControl) else None)
        window.replay_bar.setVisible(player is not None and not read_only)
        self._show_faults()
        if session is None or read_only:
            window.note_bar.cancel()
        actions.enable("file.columns", session is not None and self.sources.has_columns)
        window.dock_area.panel(EventsPanel).alarms.set_read_only(read_only)
        actions.enable("source.disconnect", session is not None)
        actions.enable("note.add", session is not None and not loading)
        for key in ("alarm.list", "alarm.acknowledge_all"):
            actions.enable(key, session is not None and not recorded)
        actions.enable("view.live", not recorded)
        for key in ("file.compare", "file.save_view", "file.reload"):
            actions.enable(key, recorded and not loading)
        self.reports.set_enabled(session is not None and not loading)
        self.exports.set_enabled(session is not None and window.connection.history.computed is None)

    def _show_model(self, source: SourceSpec) -> None:
        """Show the reliability panel where a simulation has a model under test."""
        if isinstance(source, PlaySimulation) and source.model_under_test is not None:
            self.layouts.show_panel("reliability", "Reliability")

    def _save(self) -> None:
        """Save layout and settings for the next start."""
        self.operator.set(False)
        self.layouts.layouts.save_state()
        self.preferences.save()
        self._store.sync()

    def _show_faults(self) -> None:
        wanted = self.actions["replay.faults"].isChecked() and not self.operator.on
        self.window.fault_bar.setVisible(wanted and isinstance(self.sessions.player, ReplayControl))

    def _present_palette(self, *instants: str) -> None:
        """Open the command palette; `instants` are labels of what can be done with an instant, in order."""
        offered: dict[str, Callable[[float], None]] = {}
        if self.view.recorded:
            self._palette.set_instants({} if self.actions.locked else {"Go to": self._go_to})
            self._palette.present()
            return
        if self.connection.history.end_x > 0.0 and self.sessions.current is not None:
            offered["Look at"] = self._show_instant
        if self.sessions.player is not None and not self.actions.locked:
            offered["Play from"] = partial(seek, self.sessions)
        self._palette.set_instants({label: offered[label] for label in instants if label in offered})
        self._palette.present()

    def _rows(self) -> Iterator[PaletteEntry]:
        """Yield the rows that the plots over time can show."""
        for panel in self.window.dock_area.panels.values():
            if isinstance(panel, TimePanel):
                for choice in panel.choices():
                    yield PaletteEntry(panel.title, choice.text, partial(self._show_row, panel, choice.key))

    def _show_row(self, panel: TimePanel, key: str) -> None:
        dock = self.window.dock_area.docks[panel.key]
        dock.show()
        dock.raise_()
        panel.show_rows((*panel.shown, key))
        panel.stack.scroll_to(key)

    def _go_to(self, time: float) -> None:
        """Move the play head to an instant of the rig's clock."""
        self.view.move_head(self.connection.history.timeline.x_of(time))

    def _show_instant(self, time: float) -> None:
        """Show an instant of the rig's clock in the middle of the view."""
        self.view.set_right(self.connection.history.timeline.x_of(time) + 0.5 * self.view.span)

    def _show_progress(self, text: str) -> None:
        self.window.waiting_for = text
        self.window.redraw()
        self._show_loading()

    def _show_loading(self) -> None:
        """Show what is being read."""
        session, known = self.sessions.current, self.connection.history.recording
        reading = self.sources.opener.reading
        if session is not None and session.loading is not None:
            title = session.title if known is None else f"{session.title}, {known.coarse}"
            self.window.show_loading(title, session.loading, above=known is not None)
        else:
            progress = ("reading the file", math.nan) if reading else None
            self.window.show_loading(reading, progress, above=session is not None)

    def _update_session(self) -> None:
        """Report to the session that its results are received, and to the history that the replay is paused."""
        session, player, history = self.sessions.current, self.sessions.player, self.connection.history
        history.halted = player is not None and not player.playing
        self._show_loading()
        if session is not None and self.connection.is_open and history.health is not None:
            session.on_client_connected()
            self.sources.confirm(history.health)
        problem = self.connection.problem or self.sources.rig_problem(history.health)
        self.window.notification_bar.show_problem(problem, time.time())
        if self.connection.failed:
            self.window.notify("error", self.connection.failed, of_source=True)
            # a service that was connected keeps running
            self.connection.close() if history.health is not None else self.sources.disconnect_source()


_NICE_INCREMENT = 5  # of 19: a service on the same machine has priority


def run_window(options: LaunchOptions, offers: Catalogue) -> int:
    """Show the window until it is closed; return the exit code."""
    if options.connect and hasattr(os, "nice"):
        # not where this window starts the service, which would inherit it
        os.nice(_NICE_INCREMENT)
    QGuiApplication.setApplicationName("synchroscope")
    QGuiApplication.setApplicationDisplayName("Synchroscope")
    QGuiApplication.setDesktopFileName("synchroscope")
    application = QApplication(sys.argv[:1])
    store, warning = _open_store()
    program = Program(offers, store, options)
    _install_handlers(program)
    if warning:
        program.window.notify("warning", warning)
    program.start()
    try:
        return application.exec()
    finally:
        program.finish()


def _open_store() -> tuple[QSettings, str]:
    """Return the settings of the program, and a warning where their file is damaged; it is overwritten at the end."""
    store = QSettings(QSettings.Format.IniFormat, QSettings.Scope.UserScope, "synchroscope", "synchroscope")
    if store.status() is QSettings.Status.NoError:
        return store, ""
    path = Path(store.fileName())
    backup = path.with_name(f"{path.name}.damaged")
    try:
        shutil.copyfile(path, backup)
    except OSError as problem:
        return store, f"{path} cannot be read ({problem.strerror}): defaults are used"
    return store, f"{path} is damaged: defaults are used, and {backup.name} is a copy of it"


def _install_handlers(program: Program) -> None:
    """Close the window at Ctrl-C and SIGTERM; report uncaught exceptions in the window, which keeps running."""

    def close_window() -> None:
        program.window.close_now()
        # the last window may have been closed before the event loop started
        QApplication.quit()

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        # deferred: it may have come in the middle of a frame
        QTimer.singleShot(0, close_window)

    def on_exception(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        traceback.print_exception(kind, error, trace)
        program.window.notify(
            "error", f"internal error of the window ({kind.__name__}: {error}); the service is not affected"
        )

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, on_signal)
    sys.excepthook = on_exception
