"""One window at work: its parts put together, and what they tell each other."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject, QSettings

from gui.panels.events import EventsPanel
from gui.panels.histories import HistoriesPanel
from gui.plots.view import View
from gui.sources.processes.catalogue import Catalogue
from gui.window.actions import Actions
from gui.window.alarm_requests import AlarmRequests
from gui.window.bindings import bind_panels, bind_replay, bind_view, connect_all, seek
from gui.window.commands import COMMANDS, simulation_commands
from gui.window.exports import Exports
from gui.window.help import KeyList
from gui.window.notes import Notes
from gui.window.opening import Opening
from gui.window.palette import Palette
from gui.window.preferences import PreferencesController
from gui.window.sessions import Sessions
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
        self._opening = opening = opening or Opening()
        self.appearance = PreferencesController(store, opening.theme, self)
        settings = self.appearance.settings
        self.view = View(self)
        self.view.span = settings.span
        self.watch = Watch(self.view, settings.memory << 20, settings.history_minutes, self)
        self.window = MainWindow(self.view, self.watch, offers, store, self.appearance.theme)
        self.actions = Actions(self.window, (*COMMANDS, *simulation_commands(offers.simulations)))
        self.actions.fill(self.window.menuBar())
        self.window.bar.fill(self.actions)
        self.sessions = Sessions(self)
        self.choosing = SourceController(
            self.window, self.actions, offers, store, opening, self.sessions, self.appearance, self.say
        )
        self.exports = Exports(self.window, self.actions, self.say)
        self._notes = Notes(self.window, self.actions, self.say)
        self._alarms = AlarmRequests(self.window, self.actions, self.say, self._show_events)
        self.appearance.dress(self.window, self.actions, self.choosing.opener, self.say)
        self._palette = Palette(self.actions, self.window)
        self._keys = KeyList(self.actions, self.window)
        self._bind()
        self._show_session()

    def start(self) -> None:
        """Show the window, and open what it was started for."""
        self.appearance.restore(self._opening.layout)
        self.window.show()
        self.window.show_data(False)
        self.window.start(self.appearance.settings.frame_rate)
        self.choosing.begin()
        if self._opening.operator:
            self.actions["window.operator"].trigger()

    def say(self, level: str, text: str) -> None:
        """Tell the user a line, quietly."""
        self.window.notices.tell(level, text, time.time())

    def finish(self) -> None:
        """Put everything away at the end; waits some seconds for processes at most."""
        self.choosing.finish()
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
        connect_all(
            actions,
            {
                "file.quit": window.close,
                "replay.faults": self._show_faults,
                "replay.seek": partial(self._present_palette, "Play from", "Look at"),
                "help.palette": partial(self._present_palette, "Look at", "Play from"),
                "help.keys": self._keys.present,
            },
        )
        sessions.ready.connect(self._listen)
        sessions.progress.connect(self._wait)
        sessions.told.connect(self.say)
        sessions.changed.connect(self._show_session)
        self.choosing.opener.progress.connect(self._wait)
        self.appearance.operator.changed.connect(self._show_session)
        self.appearance.operator.changed.connect(window.alarms.set_large)
        window.ticked.connect(self._hear)
        window.desk.panel(HistoriesPanel).detail = window.detail
        window.closing.connect(self.appearance.keep)

    def _listen(self, url: str) -> None:
        self.watch.open(url, self.choosing.keys)

    def _show_session(self) -> None:
        """Show what belongs to the session that is watched, and to what may be changed."""
        session, player = self.sessions.current, self.sessions.player
        window, actions, read_only = self.window, self.actions, self.appearance.operator.on
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
        actions.enable("file.columns", session is not None and self.choosing.has_columns)
        window.desk.panel(EventsPanel).alarms.set_read_only(read_only)
        for key in ("source.disconnect", "note.add", "alarm.list", "alarm.acknowledge_all"):
            actions.enable(key, session is not None)
        self.exports.allow(session is not None)

    def _show_events(self) -> None:
        self.appearance.show_panel(EventsPanel.key, "Operator")

    def _show_faults(self) -> None:
        wanted = self.actions["replay.faults"].isChecked() and not self.appearance.operator.on
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
            self.watch.close() if history.health is not None else self.choosing.leave()
