"""What is watched next: chosen by command line, menu, dialog, first page or a file that is let fall."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QSettings, Qt, Signal
from PySide6.QtWidgets import QMessageBox

from gui.sources.opening.connect_dialog import ConnectDialog
from gui.sources.opening.first_page import recent_files
from gui.sources.opening.open_dialog import Opener
from gui.sources.processes.catalogue import Catalogue
from gui.sources.processes.child_process import finish
from gui.sources.processes.playback import PlayFile, PlaySimulation
from gui.sources.processes.session import ConnectToService, ServeRig, Source
from gui.window.actions import Actions
from gui.window.launch import Opening
from gui.window.sessions import Sessions
from gui.window.window import MainWindow
from monitor.config import load_settings

_READING = 1.0  # s that a process which looks at a file has to end


class SourceController(QObject):
    """Lead every way of choosing to the sessions.

    Parameters
    ----------
    window, actions : where it is chosen.
    offers : what there is.
    store : where choices are remembered.
    service_file : settings of a service that the window starts, unless the command line names others.

    Signals
    -------
    opened : the source that is opened.
    told : level and text.
    """

    opened = Signal(object)
    told = Signal(str, str)

    def __init__(
        self, window: MainWindow, actions: Actions, offers: Catalogue, store: QSettings, service_file: Path
    ) -> None:
        super().__init__(window)
        self._window, self._actions, self._offers, self._store = window, actions, offers, store
        self._service_file = service_file
        self.sessions = Sessions(self)
        self.sessions.told.connect(self.told)
        self.source: Source | None = None
        # what the command line says holds for the first that is opened
        self._asked: Opening | None = None
        self._question: QMessageBox | None = None
        self._wanted: Callable[[], None] | None = None
        self.opener = Opener(window, store, offers, window.theme)
        self.opener.opened.connect(self.open)
        self.opener.told.connect(self.told)
        self.opener.failed.connect(self._fail)
        window.first.chosen.connect(self.open)
        window.first.browse.connect(self.opener.ask)
        window.first.path_chosen.connect(self.opener.open_path)
        window.dropped.connect(self._take_dropped)
        actions.connect(
            {
                "file.open": self.opener.ask,
                "file.columns": self._choose_columns,
                "source.connect": partial(self._ask_endpoint, serve=False),
                "source.serve": partial(self._ask_endpoint, serve=True),
                "source.disconnect": self.leave,
            },
        )
        actions.connect(
            {f"source.simulate.{offer.name}": partial(self.simulate, offer.name) for offer in offers.simulations}
        )

    @property
    def has_columns(self) -> bool:
        """A recording is played, whose columns may be chosen anew."""
        return isinstance(self.source, PlayFile)

    @property
    def keys(self) -> str:
        """Folder of the keys to hear the results with: those handed over, or our own service's; empty: none."""
        if isinstance(self.source, ConnectToService):
            return self.source.keys
        config = getattr(self.source, "config", None)
        try:
            return "" if config is None else load_settings(config, {}).security.keys
        except (ValueError, OSError):
            # the service that is started with it says what is wrong
            return ""

    def begin(self, opening: Opening) -> None:
        """Open what the command line asks for."""
        self._asked = opening
        if opening.connect:
            self.open(ConnectToService(opening.connect, opening.keys))
        elif opening.serve:
            words = tuple(word for limit in opening.alarms for word in ("--alarm", limit))
            self.open(ServeRig(connect=opening.serve, words=words))
        elif opening.file:
            self.opener.open_path(opening.file, opening.words)
        elif opening.simulation:
            self.simulate(opening.simulation, opening.words)

    def open(self, source: Source) -> None:
        """Watch something else; where that ends the recording of a rig, the user is asked first."""
        self._ask_to_end(lambda: self._open(source))

    def _open(self, source: Source) -> None:
        opening = self._opening_of(source)
        if isinstance(source, ServeRig | PlayFile | PlaySimulation):
            config = Path(opening.config) if opening.config else self._service_file
            record = source.record or opening.record
            source = replace(source, config=config if config.exists() else None, record=record)
        if isinstance(source, PlayFile):
            recent_files(self._store).add(str(source.path))
        self._window.watch.forget()
        self.source = source
        self.sessions.open(source)
        self.opened.emit(source)

    def simulate(self, name: str, words: tuple[str, ...] = ()) -> None:
        """Play a simulation, and judge its model where it has one; `words` are options of `replay`."""
        offer = self._offers.simulation(name)
        if offer is not None:
            self.open(PlaySimulation(offer.name, offer.judged, words))

    def leave(self) -> None:
        """Watch nothing any more; where that ends the recording of a rig, the user is asked first."""
        self._ask_to_end(self._leave)

    def _leave(self) -> None:
        self._window.watch.close()
        self.sessions.close()

    def finish(self) -> None:
        """Look at no file any more, at the end of the program."""
        reading = self.opener.workers
        self.opener.stop()
        finish(reading, _READING)

    def _opening_of(self, source: Source) -> Opening:
        """Return what the command line says of `source`: nothing, but of what it has asked for itself."""
        asked, self._asked = self._asked, None
        if asked is None:
            return Opening()
        # a file takes its time to be read: something else may be quicker
        its_own = not asked.file or (isinstance(source, PlayFile) and source.path == Path(asked.file).absolute())
        return asked if its_own else Opening()

    def _served(self) -> str:
        """Return what is lost if the session ends: the recording of a rig that is there; empty where nothing is."""
        session, watch = self.sessions.current, self._window.watch
        health = watch.history.health
        if session is None or not isinstance(self.source, ServeRig) or health is None or not health.rig:
            return ""
        # until it is ready, the history is that of the session before
        if not session.results_url or session.results_url != watch.url:
            return ""
        if not health.recording:
            return f"{health.rig} is served by this window."
        return f"{health.recording} is being recorded from {health.rig}."

    def _ask_to_end(self, go_on: Callable[[], None]) -> None:
        """Do `go_on`, after the user has agreed where a rig is recorded; the window works meanwhile."""
        served = self._served()
        if not served:
            # a question that is still there has nothing to ask any more
            self._close_question()
            go_on()
            return
        self._wanted = go_on
        if self._question is None:
            self._question = self._make_question(served)
        self._question.show()
        self._question.activateWindow()

    def _make_question(self, served: str) -> QMessageBox:
        box = QMessageBox(
            QMessageBox.Icon.Question, "A rig is being watched", f"{served} End it?", parent=self._window
        )
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setModal(False)
        box.addButton("End it", QMessageBox.ButtonRole.DestructiveRole)
        keep = box.addButton("Keep watching", QMessageBox.ButtonRole.RejectRole)
        box.setDefaultButton(keep)
        box.setEscapeButton(keep)
        box.finished.connect(self._take_answer)
        return box

    def _take_answer(self) -> None:
        box, go_on = self._question, self._wanted
        agreed = box is not None and box.buttonRole(box.clickedButton()) is QMessageBox.ButtonRole.DestructiveRole
        self._close_question()
        if agreed and go_on is not None:
            go_on()

    def _close_question(self) -> None:
        box, self._question, self._wanted = self._question, None, None
        if box is not None:
            box.finished.disconnect()
            box.close()
            box.deleteLater()

    def _ask_endpoint(self, *, serve: bool) -> None:
        dialog = ConnectDialog(self._store, self._window.theme, self._window, serve=serve)
        dialog.chosen.connect(self.open)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _fail(self, why: str) -> None:
        self.told.emit("error", why)

    def _take_dropped(self, path: str) -> None:
        if self._actions["file.open"].isEnabled():
            self.opener.open_path(path)

    def _choose_columns(self) -> None:
        if isinstance(self.source, PlayFile):
            self.opener.open_path(self.source.path, choose=True)
