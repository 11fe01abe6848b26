"""One window at work: what is opened, what is watched, and what its user is told."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QSettings

from gui.appearance import Appearance
from gui.bindings import bind_panels, bind_replay, bind_view, connect_all, seek
from gui.exports import Exports
from gui.instant_text import instant_text
from gui.notes import Notes
from gui.opening import Opening
from gui.panels.events import EventsPanel
from gui.panels.histories import HistoriesPanel
from gui.sessions import Sessions
from gui.shell.actions import Actions
from gui.shell.commands import COMMANDS, simulation_commands
from gui.shell.help import KeyList
from gui.shell.palette import Palette
from gui.sources.connect_dialog import ConnectDialog
from gui.sources.connection import ConnectToService
from gui.sources.first_page import recent_files
from gui.sources.offers import Offers
from gui.sources.open_dialog import Opener
from gui.sources.playback import PlayFile, PlaySimulation
from gui.sources.processes import finish
from gui.sources.rig import ServeRig
from gui.sources.session import Source
from gui.view import View
from gui.watch import Watch
from gui.window import MainWindow

_READING = 1.0  # s that a process which looks at a file has to end


class Program(QObject):
    """Put the parts together, and open what is asked for.

    Parameters
    ----------
    offers : what can be opened.
    store : where settings and choices are kept.
    opening : what to begin with.
    """

    def __init__(self, offers: Offers, store: QSettings, opening: Opening | None = None) -> None:
        super().__init__()
        opening = opening or Opening()
        self._opening, self._store, self._offers = opening, store, offers
        self.appearance = Appearance(store, opening.theme, self)
        settings = self.appearance.settings
        self.view = View(self)
        self.view.span = settings.span
        self.watch = Watch(self.view, settings.memory << 20, settings.history_minutes, self)
        self.window = MainWindow(self.view, self.watch, offers, store, self.appearance.theme)
        self.actions = Actions(self.window, (*COMMANDS, *simulation_commands(offers.simulations)))
        self.actions.fill(self.window.menuBar())
        self.window.bar.fill(self.actions)
        self.sessions = Sessions(self)
        self.opener = Opener(self.window, store, offers, self.appearance.theme)
        self._source: Source | None = None
        self._notes = Notes()
        self.exports = Exports(self.window, self.actions, self.say)
        self.appearance.dress(self.window, self.actions, self.opener, self.say)
        self._palette = Palette(self.actions, self.window)
        self._keys = KeyList(self.actions, self.window)
        self._bind()
        self._show_session()

    def start(self) -> None:
        """Show the window, and open what it was started for."""
        opening = self._opening
        self.appearance.restore(opening.layout)
        self.window.show()
        self.window.show_data(False)
        self.window.start(self.appearance.settings.frame_rate)
        if opening.connect:
            self.open(ConnectToService(opening.connect))
        elif opening.serve:
            self.open(ServeRig(connect=opening.serve, record=opening.record))
        elif opening.file:
            self.opener.open_path(opening.file, opening.words)
        elif opening.simulation:
            self.simulate(opening.simulation, opening.words)
        if opening.operator:
            self.actions["window.operator"].trigger()

    def open(self, source: Source) -> None:
        """Watch something else."""
        if isinstance(source, ServeRig | PlayFile | PlaySimulation):
            config = Path(self._opening.config) if self._opening.config else self.appearance.service_file
            source = replace(source, config=config if config.exists() else None)
            if self._opening.record and not source.record:
                source = replace(source, record=self._opening.record)
        if isinstance(source, PlayFile):
            recent_files(self._store).add(str(source.path))
        self.watch.close()
        self._source = source
        self.sessions.open(source)
        if isinstance(source, PlaySimulation) and source.judged is not None:
            self.appearance.show_panel("reliability", "Reliability")

    def simulate(self, name: str, words: tuple[str, ...] = ()) -> None:
        """Play a simulation, and judge its model where it has one; `words` are options of `replay`."""
        offer = self._offers.simulation(name)
        if offer is not None:
            self.open(PlaySimulation(offer.name, offer.judged, words))

    def say(self, level: str, text: str) -> None:
        """Tell the user a line, quietly."""
        self.window.notices.tell(level, text, time.time())

    def finish(self) -> None:
        """Put everything away at the end; waits some seconds for processes at most."""
        reading = self.opener.workers
        self.opener.stop()
        finish(reading, _READING)
        self.exports.close()
        self._notes.close()
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
                "file.open": self.opener.ask,
                "file.columns": self._choose_columns,
                "file.quit": window.close,
                "source.connect": lambda: self._ask_endpoint(serve=False),
                "source.serve": lambda: self._ask_endpoint(serve=True),
                "source.disconnect": self._disconnect,
                "note.add": self._ask_note,
                "replay.faults": self._show_faults,
                "replay.seek": lambda: self._present_palette("Play from", "Look at"),
                "help.palette": lambda: self._present_palette("Look at", "Play from"),
                "help.keys": self._keys.present,
            }
            | {
                f"source.simulate.{offer.name}": partial(self.simulate, offer.name)
                for offer in self._offers.simulations
            },
        )
        sessions.ready.connect(self.watch.open)
        sessions.progress.connect(self._wait)
        sessions.told.connect(self.say)
        sessions.changed.connect(self._show_session)
        self.opener.opened.connect(self.open)
        self.opener.progress.connect(self._wait)
        self.opener.told.connect(self.say)
        self.opener.failed.connect(lambda why: self.say("error", why))
        window.first.chosen.connect(self.open)
        window.first.browse.connect(self.opener.ask)
        window.first.path_chosen.connect(self.opener.open_path)
        window.dropped.connect(self._take_dropped)
        self.appearance.operator.changed.connect(self._show_session)
        window.notes.written.connect(self._note)
        window.desk.panel(EventsPanel).note_wanted.connect(self._ask_note)
        window.ticked.connect(self._hear)
        window.desk.panel(HistoriesPanel).detail = window.detail
        window.closing.connect(self.appearance.keep)

    def _ask_endpoint(self, *, serve: bool) -> None:
        dialog = ConnectDialog(self._store, self.appearance.theme, self.window, serve=serve)
        dialog.chosen.connect(self.open)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _take_dropped(self, path: str) -> None:
        if self.actions["file.open"].isEnabled():
            self.opener.open_path(path)

    def _choose_columns(self) -> None:
        if isinstance(self._source, PlayFile):
            self.opener.open_path(self._source.path, choose=True)

    def _disconnect(self) -> None:
        self.watch.close()
        self.sessions.close()

    def _show_session(self) -> None:
        session, player = self.sessions.current, self.sessions.player
        window, read_only = self.window, self.appearance.operator.on
        if session is None:
            window.first.refresh()
        window.show_data(session is not None)
        window.first.setDisabled(read_only)
        window.bar.setVisible(session is not None and not read_only)
        title = "" if session is None else session.title
        window.setWindowTitle(f"{title} - Synchroscope" if title else "Synchroscope")
        window.bar.name(title)
        window.replay.set_player(player)
        window.faults.set_player(player)
        window.replay.setVisible(player is not None and not read_only)
        self._show_faults()
        if session is None or read_only:
            window.notes.forget()
        self.actions.enable("file.columns", session is not None and isinstance(self._source, PlayFile))
        self.actions.enable("source.disconnect", session is not None)
        self.actions.enable("note.add", session is not None)
        self.exports.allow(session is not None)

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

    def _wait(self, text: str) -> None:
        self.window.waiting_for = text
        self.window.redraw()

    def _look_at(self, x: float) -> None:
        """Look at an instant that is said in the rig's time."""
        self.view.look_at(self.watch.history.timeline.x_of(x) + 0.5 * self.view.span)

    def _ask_note(self) -> None:
        # a button of a panel asks for it too
        if not self.actions["note.add"].isEnabled():
            return
        instant = self.view.instant
        said = instant_text(self.watch.history.timeline.time_at(instant))
        self.window.notes.ask(instant, said)

    def _note(self, text: str, instant: float) -> None:
        try:
            self._notes.send(text, instant, self.watch.history, self.watch.url)
        except (ValueError, OSError) as problem:
            self.say("error", f"the note is not kept: {problem}")

    def _hear(self) -> None:
        """Pass on what came with the last look."""
        player = self.sessions.player
        self.watch.history.halted = player is not None and not player.playing
        if self.sessions.current is not None and self.watch.watching and self.watch.history.health is not None:
            self.sessions.current.watched()
        for level, text in self._notes.answers():
            self.say(level, text)
        if self.watch.failed:
            self.say("error", self.watch.failed)
            # a service that was heard goes on without us
            self.watch.close() if self.watch.history.health is not None else self._disconnect()
