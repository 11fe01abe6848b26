"""What is watched next: chosen by command line, menu, dialog, first page or a file that is let fall."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QSettings

from gui.appearance import Appearance
from gui.bindings import connect_all
from gui.opening import Opening
from gui.sessions import Sessions
from gui.shell.actions import Actions
from gui.sources.connect_dialog import ConnectDialog
from gui.sources.connection import ConnectToService
from gui.sources.first_page import recent_files
from gui.sources.offers import Offers
from gui.sources.open_dialog import Opener
from gui.sources.playback import PlayFile, PlaySimulation
from gui.sources.processes import finish
from gui.sources.rig import ServeRig
from gui.sources.session import Source
from gui.window import MainWindow

_READING = 1.0  # s that a process which looks at a file has to end


class Choosing(QObject):
    """Lead every way of choosing to the sessions.

    Parameters
    ----------
    window, actions : where it is chosen.
    offers : what there is.
    store : where choices are remembered.
    opening : what the command line says of all sources.
    sessions : open what is chosen.
    appearance : knows the service's settings, and has the reliability shown where a model is judged.
    say : tells level and text.
    """

    def __init__(
        self,
        window: MainWindow,
        actions: Actions,
        offers: Offers,
        store: QSettings,
        opening: Opening,
        sessions: Sessions,
        appearance: Appearance,
        say: Callable[[str, str], None],
    ) -> None:
        super().__init__(window)
        self._window, self._actions, self._offers, self._store = window, actions, offers, store
        self._opening, self._sessions, self._appearance, self._say = opening, sessions, appearance, say
        self.source: Source | None = None
        self.opener = Opener(window, store, offers, appearance.theme)
        self.opener.opened.connect(self.open)
        self.opener.told.connect(say)
        self.opener.failed.connect(self._fail)
        window.first.chosen.connect(self.open)
        window.first.browse.connect(self.opener.ask)
        window.first.path_chosen.connect(self.opener.open_path)
        window.dropped.connect(self._take_dropped)
        connect_all(
            actions,
            {
                "file.open": self.opener.ask,
                "file.columns": self._choose_columns,
                "source.connect": partial(self._ask_endpoint, serve=False),
                "source.serve": partial(self._ask_endpoint, serve=True),
                "source.disconnect": self.leave,
            },
        )
        connect_all(
            actions,
            {f"source.simulate.{offer.name}": partial(self.simulate, offer.name) for offer in offers.simulations},
        )

    @property
    def has_columns(self) -> bool:
        """A recording is played, whose columns may be chosen anew."""
        return isinstance(self.source, PlayFile)

    def begin(self) -> None:
        """Open what the command line asks for."""
        opening = self._opening
        if opening.connect:
            self.open(ConnectToService(opening.connect))
        elif opening.serve:
            self.open(ServeRig(connect=opening.serve, record=opening.record))
        elif opening.file:
            self.opener.open_path(opening.file, opening.words)
        elif opening.simulation:
            self.simulate(opening.simulation, opening.words)

    def open(self, source: Source) -> None:
        """Watch something else."""
        if isinstance(source, ServeRig | PlayFile | PlaySimulation):
            config = Path(self._opening.config) if self._opening.config else self._appearance.service_file
            source = replace(source, config=config if config.exists() else None)
            if self._opening.record and not source.record:
                source = replace(source, record=self._opening.record)
        if isinstance(source, PlayFile):
            recent_files(self._store).add(str(source.path))
        self._window.watch.close()
        self.source = source
        self._sessions.open(source)
        if isinstance(source, PlaySimulation) and source.judged is not None:
            self._appearance.show_panel("reliability", "Reliability")

    def simulate(self, name: str, words: tuple[str, ...] = ()) -> None:
        """Play a simulation, and judge its model where it has one; `words` are options of `replay`."""
        offer = self._offers.simulation(name)
        if offer is not None:
            self.open(PlaySimulation(offer.name, offer.judged, words))

    def leave(self) -> None:
        """Watch nothing any more."""
        self._window.watch.close()
        self._sessions.close()

    def finish(self) -> None:
        """Look at no file any more, at the end of the program."""
        reading = self.opener.workers
        self.opener.stop()
        finish(reading, _READING)

    def _ask_endpoint(self, *, serve: bool) -> None:
        dialog = ConnectDialog(self._store, self._appearance.theme, self._window, serve=serve)
        dialog.chosen.connect(self.open)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _fail(self, why: str) -> None:
        self._say("error", why)

    def _take_dropped(self, path: str) -> None:
        if self._actions["file.open"].isEnabled():
            self.opener.open_path(path)

    def _choose_columns(self) -> None:
        if isinstance(self.source, PlayFile):
            self.opener.open_path(self.source.path, choose=True)
