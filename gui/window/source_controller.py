"""Opens sources: from the command line, the menus, the start page, a dialog or a dropped file."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QMessageBox

from gui.model.receiver import RigProbe
from gui.sources.opening.connect_dialog import RIGS, SERVICES, ConnectDialog, RecentList
from gui.sources.opening.first_page import recent_files
from gui.sources.opening.open_dialog import Opener
from gui.sources.processes.child_process import finish_all
from gui.sources.processes.playback import PlayFile, PlaySimulation
from gui.sources.processes.recording import OpenRecording, parts_of
from gui.sources.processes.session import ConnectToService, ServeRig, SessionManager, SourceSpec
from gui.window.launch import LaunchOptions
from gui.window.window import Controller, MainWindow
from monitor.config import load_settings
from monitor.messages.health import Health

_RUN_FILE = "run file"  # format with settings of its own
_DESCRIBE_TIMEOUT = 1.0  # s for a process that reads a file to end


class SourceController(Controller):
    """Opens the source that was chosen, after a question where that would end a recording.

    Parameters
    ----------
    window : has the ways to choose a source.
    service_file : settings of a service that the window starts, unless the command line names others.

    Signals
    -------
    opening : a source will replace the one that is open.
    opened : the source.
    """

    opening = Signal()
    opened = Signal(object)
    of_source = True

    def __init__(self, window: MainWindow, service_file: Path) -> None:
        super().__init__(window)
        self._service_file = service_file
        self.sessions = SessionManager(self)
        self.sessions.notified.connect(self._notify)
        self.sessions.failed.connect(self._on_failed)
        self.source: SourceSpec | None = None
        # they are for the first source that is opened
        self._options: LaunchOptions | None = None
        self._question: QMessageBox | None = None
        self._pending: Callable[[], None] | None = None
        self.opener = Opener(window, window.store, window.offers)
        self.opener.opened.connect(self.open)
        self.opener.notified.connect(self._notify)
        self.opener.failed.connect(self._fail)
        self._typed: SourceSpec | None = None
        self._rig_probe: RigProbe | None = None
        window.start_page.chosen.connect(self._open_typed)
        window.start_page.browse.connect(self.opener.ask)
        window.start_page.path_chosen.connect(self.opener.open_path)
        window.dropped.connect(self._open_dropped)
        window.may_close = self._may_close
        self._actions.connect(
            {
                "file.open": self.opener.ask,
                "file.columns": self._choose_columns,
                "source.connect": partial(self._ask_endpoint, serve=False),
                "source.serve": partial(self._ask_endpoint, serve=True),
                "source.disconnect": self.disconnect_source,
                "replay.stream": self._stream,
            }
        )
        self._actions.connect(
            {
                f"source.simulate.{offer.name}": partial(self.simulate, offer.name)
                for offer in window.offers.simulations
            }
        )

    @property
    def has_columns(self) -> bool:
        """Whether a file is shown, whose columns can be chosen again."""
        return isinstance(self.source, OpenRecording | PlayFile)

    @property
    def keys(self) -> str:
        """Folder of the keys for the results: of the service that is connected, or of our own; empty: none."""
        if isinstance(self.source, ConnectToService):
            return self.source.keys
        config = getattr(self.source, "config", None)
        try:
            return "" if config is None else load_settings(config, {}).security.keys
        except (ValueError, OSError):
            # the service that is started with it reports the error
            return ""

    def begin(self, options: LaunchOptions) -> None:
        """Open what the command line names."""
        self._options = options
        if options.connect:
            self.open(ConnectToService(options.connect, options.keys))
        elif options.serve:
            words = tuple(word for limit in options.alarms for word in ("--alarm", limit))
            self.open(ServeRig(connect=options.serve, words=words))
        elif options.file:
            self.opener.open_path(options.file, options.replay_options)
        elif options.simulation:
            self.simulate(options.simulation, options.replay_options)

    def open(self, source: SourceSpec) -> None:
        """Open a source; where that ends the recording of a rig, the user is asked first."""
        self._confirm(lambda: self._open(source))

    def _open(self, source: SourceSpec) -> None:
        self.opening.emit()
        options = self._options_of(source)
        if isinstance(source, OpenRecording) and options.stream:
            source = self._streamed(source)
        if isinstance(source, OpenRecording):
            source = self.with_settings(source, options)
        if isinstance(source, ServeRig | PlayFile | PlaySimulation):
            config = Path(options.config) if options.config else self._service_file
            record = source.record or options.record
            source = replace(source, config=config if config.exists() else None, record=record)
            self._list_recordings(source)
        if isinstance(source, OpenRecording | PlayFile):
            recent_files(self._store).add(str(source.path))
        self._window.connection.reset()
        self.source = source
        self._rig_probe = RigProbe(source.connect) if isinstance(source, ServeRig) and source.connect else None
        self.sessions.open(source)
        self.opened.emit(source)

    def _list_recordings(self, source: ServeRig | PlayFile | PlaySimulation) -> None:
        """List the runs of the folder into which a source is recorded, when the start page is shown again."""
        record = source.record
        if not record and source.config is not None:
            try:
                record = load_settings(source.config, {}).record.path
            except (ValueError, OSError):
                # the service that is started with it reports the error
                record = ""
        if record:
            folder = record.endswith(("/", os.sep)) or Path(record).is_dir()
            self._window.start_page.runs.set_folder(record if folder else Path(record).parent)

    def with_settings(self, source: OpenRecording, options: LaunchOptions | None = None) -> OpenRecording:
        """Return a recording with its settings: a run file has its own, unless the command line names a file."""
        config = Path(options.config) if options is not None and options.config else None
        own = source.description is not None and source.description.format == _RUN_FILE
        if config is None and not own and self._service_file.exists():
            config = self._service_file
        return replace(source, config=config, memory=self._window.connection.recorded_memory)

    def _stream(self) -> None:
        """Send the file that is shown through a service, as a rig would."""
        if isinstance(self.source, OpenRecording):
            self.open(self._streamed(self.source))

    def _streamed(self, source: OpenRecording) -> PlayFile:
        known = source.description
        return PlayFile(source.path, source.words, known if known is not None and known.share == 1.0 else None)

    def simulate(self, name: str, words: tuple[str, ...] = ()) -> None:
        """Play a simulation, and validate its model if it has one; `words` are options of `synchroscope replay`."""
        offer = self._window.offers.simulation(name)
        if offer is not None:
            self.open(PlaySimulation(offer.name, offer.model_under_test, words))

    def _open_typed(self, source: SourceSpec) -> None:
        self._typed = source
        self.open(source)

    def confirm(self, health: Health) -> None:
        """Remember an endpoint that was typed, once a service answers there, or its rig sends."""
        source = self._typed
        if isinstance(source, ConnectToService) and source is self.source:
            self._typed = None
            RecentList(self._store, SERVICES).add(source.url)
        elif isinstance(source, ServeRig) and _same_rig(source, self.source) and health.rig:
            self._typed = None
            RecentList(self._store, RIGS).add(source.connect or source.bind)

    def rig_problem(self, health: Health | None) -> str:
        """Return why the service of this window receives nothing from its rig, in one line; empty: it does."""
        probe = self._rig_probe
        if probe is None or self.sessions.current is None:
            return ""
        probe.update(received=health is not None and bool(health.rig))
        return probe.problem

    def disconnect_source(self) -> None:
        """Close the source; where that ends the recording of a rig, the user is asked first."""
        self._confirm(self._disconnect)

    def cancel(self) -> None:
        """Stop reading a file, or loading it."""
        session = self.sessions.current
        if session is not None and session.loading is not None:
            self.disconnect_source()
        else:
            self.opener.stop()

    def _may_close(self) -> bool:
        """Return whether the window may close; where that ends the recording of a rig, the user is asked first."""
        if not self._at_risk():
            return True
        self._confirm(self._window.close_now)
        return False

    def _disconnect(self) -> None:
        self._window.connection.close()
        if self._history.recording is not None:
            self._window.connection.reset()
        self.sessions.close()

    def finish(self) -> None:
        """Stop reading files, at the end of the program."""
        runs = self._window.start_page.runs
        reading = (*self.opener.processes, *runs.processes)
        self.opener.stop()
        runs.stop()
        finish_all(reading, _DESCRIBE_TIMEOUT)

    def _options_of(self, source: SourceSpec) -> LaunchOptions:
        """Return the options of the command line if they are for `source`, and else none."""
        options, self._options = self._options, None
        if options is None:
            return LaunchOptions()
        # while the file is read, the user may have opened another source
        its_own = not options.file or (
            isinstance(source, OpenRecording | PlayFile) and source.path == Path(options.file).absolute()
        )
        return options if its_own else LaunchOptions()

    def _at_risk(self) -> str:
        """Return what ends with the session: service and recording of a rig; empty if nothing does."""
        session, connection = self.sessions.current, self._window.connection
        health = connection.history.health
        if session is None or not isinstance(self.source, ServeRig) or health is None or not health.rig:
            return ""
        # until it is ready, the history is that of the previous session
        if not session.results_url or session.results_url != connection.url:
            return ""
        if not health.recording:
            return f"This window runs the service for {health.rig}."
        return f"{health.recording} is being recorded from {health.rig}."

    def _confirm(self, proceed: Callable[[], None]) -> None:
        """Call `proceed`; where a rig is recorded, after a question that does not block the window."""
        at_risk = self._at_risk()
        if not at_risk:
            # a question that is still open is obsolete
            self._close_question()
            proceed()
            return
        self._pending = proceed
        if self._question is None:
            self._question = self._make_question(at_risk)
        self._question.show()
        self._question.activateWindow()

    def _make_question(self, at_risk: str) -> QMessageBox:
        box = QMessageBox(QMessageBox.Icon.Question, "End the recording?", f"{at_risk} End it?", parent=self._window)
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setModal(False)
        box.addButton("End it", QMessageBox.ButtonRole.DestructiveRole)
        keep = box.addButton("Continue", QMessageBox.ButtonRole.RejectRole)
        box.setDefaultButton(keep)
        box.setEscapeButton(keep)
        box.finished.connect(self._read_answer)
        return box

    def _read_answer(self) -> None:
        box, proceed = self._question, self._pending
        confirmed = box is not None and box.buttonRole(box.clickedButton()) is QMessageBox.ButtonRole.DestructiveRole
        self._close_question()
        if confirmed and proceed is not None:
            proceed()

    def _close_question(self) -> None:
        box, self._question, self._pending = self._question, None, None
        if box is not None:
            box.finished.disconnect()
            box.close()
            box.deleteLater()

    def _ask_endpoint(self, *, serve: bool) -> None:
        dialog = ConnectDialog(self._store, self._window, serve=serve)
        dialog.chosen.connect(self._open_typed)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _on_failed(self, why: str) -> None:
        source = self.source
        if self._history.recording is not None:
            self._window.connection.reset()
        if isinstance(source, OpenRecording) and source.description is not None and source.description.share < 1.0:
            # some of its rows have promised what all do not keep: what is to be chosen?
            self.opener.open_path(source.path, source.words, whole=True)
        else:
            self._fail(why)

    def _fail(self, why: str) -> None:
        self._notify("error", why)

    def _open_dropped(self, paths: list[str]) -> None:
        if not self._actions["file.open"].isEnabled():
            return
        path = paths[0]
        if Path(path).is_dir():
            self._window.start_page.runs.set_folder(path)
            if not self._window.start_page.isVisible():
                self._notify("info", f"File > Runs lists the runs of {path}")
            return
        self.opener.open_paths(paths)

    def _choose_columns(self) -> None:
        if isinstance(self.source, OpenRecording | PlayFile):
            self.opener.open_path(self.source.path, parts_of(self.source.words), choose=True)


def _same_rig(typed: ServeRig, opened: SourceSpec | None) -> bool:
    # settings and the folder of the recording are added when it is opened
    return isinstance(opened, ServeRig) and (typed.connect, typed.bind) == (opened.connect, opened.bind)
