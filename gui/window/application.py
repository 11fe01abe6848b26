"""The window as a process: its parts put together, shown, told to stop, and put away."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType, TracebackType

from PySide6.QtCore import QObject, QSettings, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from gui.panels.events import EventsPanel
from gui.panels.histories import HistoriesPanel
from gui.plots.view import View
from gui.sources.processes.catalogue import Catalogue
from gui.sources.processes.playback import PlaySimulation
from gui.sources.processes.session import Source
from gui.window.actions import Actions
from gui.window.bindings import bind_panels, bind_replay, bind_view, seek
from gui.window.commands import COMMANDS, simulation_commands
from gui.window.export import Exports
from gui.window.help import ShortcutList, show_about, show_documentation
from gui.window.launch import Opening
from gui.window.layouts import LayoutController
from gui.window.operator import OperatorMode
from gui.window.palette import Palette
from gui.window.preferences import SettingsController
from gui.window.service_requests import AlarmRequests, Notes
from gui.window.source_controller import SourceController
from gui.window.watch import Watch
from gui.window.window import MainWindow


class Program(QObject):
    """Put the parts together, and open what is asked for.

    Parameters
    ----------
    offers : what can be opened.
    store : where settings and choices are kept.
    opening : what to begin with.
    """

    def __init__(self, offers: Catalogue, store: QSettings, opening: Opening | None = None) -> None:
        super().__init__()
        self._opening, self._store = (opening := opening or Opening()), store
        self.preferences = SettingsController(store, opening.theme, self)
        settings = self.preferences.settings
        self.view = View(self)
        self.view.span = settings.span
        self.watch = Watch(self.view, settings.memory << 20, settings.history_minutes, self)
        self.window = MainWindow(self.view, self.watch, offers, store, self.preferences.themes.theme)
        self.actions = Actions(self.window, (*COMMANDS, *simulation_commands(offers.simulations)))
        self.actions.fill(self.window.menuBar())
        self.window.bar.fill(self.actions)
        self.sources = SourceController(self.window, self.actions, offers, store, self.preferences.service_file)
        self.sessions = self.sources.sessions
        self.exports = Exports(self.window, self.actions, self.say)
        self.layouts = LayoutController(self.window, self.actions, store, self.say)
        self.operator = OperatorMode(
            self.window, self.actions, (self.window.replay, self.window.faults, self.window.bar), self.window.desk
        )
        self._notes = Notes(self.window, self.actions, self.say)
        self._alarms = AlarmRequests(self.window, self.actions, self.say, self._show_events)
        self.preferences.attach(self.window, self.actions, self.say)
        self._palette = Palette(self.actions, self.window)
        self._keys = ShortcutList(self.actions, self.window)
        self._bind()
        self._show_session()

    def start(self) -> None:
        """Show the window, and open what it was started for."""
        self.layouts.restore(self._opening.layout)
        self.window.show()
        self.window.show_data(False)
        self.window.start(self.preferences.settings.frame_rate)
        self.sources.begin(self._opening)
        if self._opening.operator:
            self.actions["window.operator"].trigger()

    def say(self, level: str, text: str) -> None:
        """Tell the user a line, quietly."""
        self.window.notices.tell(level, text, time.time())

    def finish(self) -> None:
        """Put everything away at the end; waits some seconds for processes at most."""
        self.sources.finish()
        self.exports.close()
        self._notes.close()
        self._alarms.close()
        self.watch.close()
        self.sessions.finish()
        # the parts know each other by what they have connected: they go together, or not at all
        self.window.deleteLater()
        self.deleteLater()

    def _bind(self) -> None:
        window, actions, sessions = self.window, self.actions, self.sessions
        bind_view(actions, self.view)
        bind_replay(actions, sessions, window.replay)
        bind_panels(actions, window, self.view)
        actions.connect(
            {
                "file.quit": window.close,
                "replay.faults": self._show_faults,
                "replay.seek": partial(self._present_palette, "Play from", "Look at"),
                "help.palette": partial(self._present_palette, "Look at", "Play from"),
                "help.keys": self._keys.present,
                "help.documentation": partial(show_documentation, window),
                "help.about": partial(show_about, window),
            },
        )
        sessions.ready.connect(self._listen)
        sessions.progress.connect(self._wait)
        self.sources.told.connect(self.say)
        self.sources.opened.connect(self._show_model)
        sessions.changed.connect(self._show_session)
        self.sources.opener.progress.connect(self._wait)
        self.operator.changed.connect(self._show_session)
        self.operator.changed.connect(window.alarms.set_large)
        window.ticked.connect(self._hear)
        window.desk.panel(HistoriesPanel).detail = window.detail
        window.closing.connect(self._keep)
        self.preferences.themes.changed.connect(partial(setattr, self.sources.opener, "theme"))

    def _listen(self, url: str) -> None:
        self.watch.open(url, self.sources.keys)

    def _show_session(self) -> None:
        """Show what belongs to the session that is watched, and to what may be changed."""
        session, player = self.sessions.current, self.sessions.player
        window, actions, read_only = self.window, self.actions, self.operator.on
        if session is None:
            window.first.refresh()
        window.show_data(session is not None)
        window.first.setDisabled(read_only)
        window.bar.setVisible(session is not None and not read_only)
        title = "" if session is None else session.title
        window.title = title
        window.redraw()
        window.bar.name(title)
        window.replay.set_player(player)
        window.faults.set_player(player)
        window.replay.setVisible(player is not None and not read_only)
        self._show_faults()
        if session is None or read_only:
            window.notes.forget()
        actions.enable("file.columns", session is not None and self.sources.has_columns)
        window.desk.panel(EventsPanel).alarms.set_read_only(read_only)
        for key in ("source.disconnect", "note.add", "alarm.list", "alarm.acknowledge_all"):
            actions.enable(key, session is not None)
        self.exports.allow(session is not None)

    def _show_model(self, source: Source) -> None:
        """Show the reliability where a simulation's model is judged."""
        if isinstance(source, PlaySimulation) and source.judged is not None:
            self.layouts.show_panel("reliability", "Reliability")

    def _keep(self) -> None:
        """Write everything for the next start."""
        self.operator.set(False)
        self.layouts.layouts.store()
        self.preferences.keep()
        self._store.sync()

    def _show_events(self) -> None:
        self.layouts.show_panel(EventsPanel.key, "Operator")

    def _show_faults(self) -> None:
        wanted = self.actions["replay.faults"].isChecked() and not self.operator.on
        self.window.faults.setVisible(wanted and self.sessions.player is not None)

    def _present_palette(self, *instants: str) -> None:
        """Offer the commands, and what can be done with an instant, in this order."""
        offered: dict[str, Callable[[float], None]] = {}
        if self.watch.history.end_x > 0.0 and self.sessions.current is not None:
            offered["Look at"] = self._look_at
        if self.sessions.player is not None and not self.actions.locked:
            offered["Play from"] = partial(seek, self.sessions)
        self._palette.set_instants({word: offered[word] for word in instants if word in offered})
        self._palette.present()

    def _look_at(self, time: float) -> None:
        """Look at an instant that is said in the rig's time."""
        self.view.look_at(self.watch.history.timeline.x_of(time) + 0.5 * self.view.span)

    def _wait(self, text: str) -> None:
        self.window.waiting_for = text
        self.window.redraw()

    def _hear(self) -> None:
        """Let the session know that it is watched, and the history that its source was halted."""
        session, player, history = self.sessions.current, self.sessions.player, self.watch.history
        history.halted = player is not None and not player.playing
        if session is not None and self.watch.watching and history.health is not None:
            session.watched()
        if self.watch.failed:
            self.say("error", self.watch.failed)
            # a service that was heard goes on without us
            self.watch.close() if history.health is not None else self.sources.leave()


_NICE_INCREMENT = 5  # of 19: a service on the same machine goes first


def run_window(opening: Opening, offers: Catalogue) -> int:
    """Show the window until it is closed; return the exit code."""
    if opening.connect and hasattr(os, "nice"):
        # only here: a service that this window starts would be as nice, and a recording must not be
        os.nice(_NICE_INCREMENT)
    QGuiApplication.setApplicationName("synchroscope")
    QGuiApplication.setApplicationDisplayName("Synchroscope")
    QGuiApplication.setDesktopFileName("synchroscope")
    application = QApplication(sys.argv[:1])
    store, told = _open_store()
    program = Program(offers, store, opening)
    _listen(program)
    if told:
        program.say("warning", told)
    program.start()
    try:
        return application.exec()
    finally:
        program.finish()


def _open_store() -> tuple[QSettings, str]:
    """Return what is remembered, and a line that says that it cannot be used; it is replaced at the end."""
    place = QSettings.Format.IniFormat, QSettings.Scope.UserScope, "synchroscope", "synchroscope"
    store = QSettings(*place)
    if store.status() is QSettings.Status.NoError:
        return store, ""
    path = Path(store.fileName())
    kept = path.with_name(f"{path.name}.damaged")
    try:
        shutil.copyfile(path, kept)
    except OSError as problem:
        return store, f"{path} cannot be read ({problem.strerror}): everything is as at first"
    return store, f"{path} is damaged: everything is as at first, and a copy is {kept.name}"


def _listen(program: Program) -> None:
    """Let Ctrl-C and SIGTERM close the window, and tell what goes wrong within it instead of dying of it."""

    def leave() -> None:
        program.window.close()
        # the last window may have been closed before Qt waited for that
        QApplication.quit()

    def close(_number: int, _frame: FrameType | None) -> None:
        # not at once: it may have come in the middle of a frame
        QTimer.singleShot(0, leave)

    def tell(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        traceback.print_exception(kind, error, trace)
        program.say("error", f"something went wrong in this window ({kind.__name__}: {error}); the service goes on")

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, close)
    sys.excepthook = tell
