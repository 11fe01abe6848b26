"""Sessions: one source of data with its processes; here of a running service, and of a rig with a supervised one."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, Protocol

from PySide6.QtCore import QObject, QTimer, Signal, SignalInstance

from gui.sources.processes.child_process import ChildProcess, ProcessFactory, exit_reason, finish_all
from gui.sources.processes.player import Player
from monitor.messages.ready import Endpoints
from monitor.system.default_endpoints import RESULTS

DIED, BACK = "the service died", "the service runs again"
"""Beginnings of messages: the second ends the first."""

_MISTAKE = 2  # exit code for invalid input: a restart would fail again
_TRIES = 3  # attempts to start a service that was never ready
_FIRST, _LONGEST = 1.0, 30.0  # s before a restart
_STEADY = 60.0  # s of running after which the delays start again from the shortest


class ServiceProcess(QObject):
    """Service process that is restarted until `stop` is called.

    Parameters
    ----------
    words : options of `monitor`, without the endpoint of its results.
    publish : endpoint of the results; a port chosen by the system is used again after a restart.
    outlives : continues to record if this process crashes.
    launch : creates processes.
    clock : s, monotonic.

    Attributes
    ----------
    process : the running one; None between restarts.
    listening : the service is ready for samples.

    Signals
    -------
    ready : the service is ready for the first time; endpoint of its results.
    progress : status text until it is ready.
    notified : level and text.
    failed : it cannot run, and why; `ended` follows.
    ended : there is no process, and none will be started; emitted once.
    """

    ready = Signal(str)
    progress = Signal(str)
    notified = Signal(str, str)
    failed = Signal(str)
    ended = Signal()

    def __init__(
        self,
        words: Sequence[str],
        publish: str,
        parent: QObject | None = None,
        *,
        outlives: bool = False,
        launch: ProcessFactory = ChildProcess,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        super().__init__(parent)
        self._words = tuple(words)
        self._publish = publish
        self._outlives = outlives
        self._launch = launch
        self._clock = clock
        self.process: ChildProcess | None = None
        self._again = QTimer(self, singleShot=True)
        self._again.timeout.connect(self.start)
        self._stopping = self._over = self._was_ready = self.listening = False
        self._tries, self._pause, self._begun = 0, _FIRST, 0.0

    def start(self) -> None:
        """Start or restart the process."""
        words = ["monitor", *self._words, "--publish", self._publish, "--ready-json"]
        if not self._outlives:
            words.append("--until-closed")
        self._tries += 1
        self._begun = self._clock()
        process = self._launch(words, self, outlives=self._outlives, exits_on_stdin_close=not self._outlives)
        self.process = process
        process.line.connect(self._on_line)
        process.answer.connect(self._on_answer)
        process.ended.connect(self._on_ended)
        process.start()

    def stop(self) -> None:
        """Stop the service, which closes its recording; does not wait."""
        self._stopping = True
        self._again.stop()
        if self.process is None:
            self._finish()
        else:
            self.process.stop()

    def _on_line(self, line: str) -> None:
        if not self._stopping and not self.listening:
            self.progress.emit(line)

    def _on_answer(self, message: dict[str, object]) -> None:
        found = Endpoints.from_message(message)
        if self._stopping or found is None:
            return
        self.listening = True
        self.progress.emit("")
        if self._was_ready:
            self.notified.emit("info", BACK)
            return
        self._was_ready = True
        self._publish = found.results
        self.ready.emit(found.results)

    def _on_ended(self, code: int, last: str) -> None:
        if self.process is not None:
            self.process.deleteLater()
        self.process, was_listening, self.listening = None, self.listening, False
        self.progress.emit("")
        why = exit_reason(code, last)
        if self._stopping:
            if code:
                self.notified.emit("warning", f"the service did not end well: {why}")
            self._finish()
        elif not self._was_ready and (code == _MISTAKE or self._tries >= _TRIES):
            self.failed.emit(f"the service cannot run: {why}")
            self._finish()
        else:
            if was_listening and self._clock() - self._begun >= _STEADY:
                self._pause = _FIRST
            level = "error" if self._was_ready else "warning"
            self.notified.emit(level, f"{DIED} ({why}); it is started again in {self._pause:g} s")
            self._again.start(round(1000 * self._pause))
            self._pause = min(2.0 * self._pause, _LONGEST)

    def _finish(self) -> None:
        # a slot of `failed` may call `stop`
        if not self._over:
            self._over = True
            self.ended.emit()


ANY_PORT = "tcp://127.0.0.1:*"
"""Endpoint with a free port chosen by the system."""


def free_endpoint() -> str:
    """Return an endpoint that is currently free, for two processes that must know it beforehand."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"tcp://127.0.0.1:{server.getsockname()[1]}"


def default_or_any_endpoint() -> str:
    """Return the default endpoint of results if it is free, else one with any port."""
    port = int(RESULTS.rpartition(":")[2])
    try:
        with socket.create_server(("127.0.0.1", port)):
            return RESULTS
    except OSError:
        return ANY_PORT


class SourceSession(QObject):
    """Base class of the sessions; the window has one at a time.

    Signals
    -------
    ready : endpoint of the results; emitted once.
    loaded : history of a recording that is shown as a whole; emitted once, in place of `ready`.
    progress : status text; empty: none.
    notified : level (info, warning, error) and one line.
    injected : a fault that a simulation injects, one line, and from when on, s.
    failed : there will be no results, and why; `ended` follows.
    ended : no process is running, and none will be started; emitted once.
    player_changed : the player was created, replaced or removed.
    """

    ready = Signal(str)
    loaded = Signal(object)
    progress = Signal(str)
    notified = Signal(str, str)
    injected = Signal(str, float)
    failed = Signal(str)
    ended = Signal()
    player_changed = Signal()

    def __init__(self, title: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.title = title
        self.results_url = ""
        self.player: Player | None = None
        self.ready.connect(self._track)

    @property
    def processes(self) -> Sequence[ChildProcess]:
        """The running processes."""
        return ()

    @property
    def loading(self) -> tuple[str, float] | None:
        """What is being loaded, and the share that is done (NaN: unknown); None where nothing is."""
        return None

    def start(self) -> None:
        """Start; does not wait."""
        raise NotImplementedError

    def on_client_connected(self) -> None:
        """Called when a client receives the results: a replay starts then."""

    def stop(self) -> None:
        """Stop the processes; does not wait, `ended` follows."""
        raise NotImplementedError

    def finish(self, seconds: float = 5.0) -> None:
        """Stop the processes at the exit of the program; waits about `seconds` at most."""
        finish_all(self.processes, seconds)

    def _track(self, url: str) -> None:
        self.results_url = url


class SourceSpec(Protocol):
    """Source: immutable description of a session."""

    def session(self, parent: QObject | None = None, *, launch: ProcessFactory = ChildProcess) -> SourceSession:
        """Return a new session, not started."""


@dataclass(frozen=True, slots=True)
class ConnectToService:
    """Source: the service that publishes at `url`; `keys` is the key folder, empty: without encryption."""

    url: str
    keys: str = ""

    def session(self, parent: QObject | None = None, *, launch: ProcessFactory = ChildProcess) -> SourceSession:  # noqa: ARG002
        """Return a new session."""
        return _Connection(self, parent)


class _Connection(SourceSession):
    def __init__(self, source: ConnectToService, parent: QObject | None) -> None:
        super().__init__(source.url, parent)
        self._url = source.url

    def start(self) -> None:
        self.ready.emit(self._url)

    def stop(self) -> None:
        self.ended.emit()


@dataclass(frozen=True, slots=True)
class ServeRig:
    """Source: a rig, for which a service is started.

    Parameters
    ----------
    connect : endpoint of a rig that publishes; or
    bind : endpoint that rigs connect to.
    config : its settings in TOML; None for the defaults.
    words : further options of `monitor`, which override the file.
    record : folder (ending in a slash) or file of the recording; empty: as in the settings.
    """

    connect: str = ""
    bind: str = ""
    config: Path | None = None
    words: tuple[str, ...] = ()
    record: str = ""

    def session(self, parent: QObject | None = None, *, launch: ProcessFactory = ChildProcess) -> SourceSession:
        """Return a new session."""
        return _Rig(self, parent, launch)

    @property
    def options(self) -> tuple[str, ...]:
        """Arguments of `monitor`."""
        options = [] if self.config is None else [str(self.config)]
        options += ["--connect", self.connect] if self.connect else []
        options += ["--bind", self.bind] if self.bind else []
        options += ["--record", self.record] if self.record else []
        return (*options, *self.words)


class _Rig(SourceSession):
    """Session whose service continues to record if this process crashes.

    On Windows, where there is no SIGTERM, an outliving service could not close its recording: there it ends with this
    process.
    """

    def __init__(self, source: ServeRig, parent: QObject | None, launch: ProcessFactory) -> None:
        super().__init__(source.connect or source.bind or "rig", parent)
        self._options, self._launch = source.options, launch
        self._start_service(default_or_any_endpoint())

    def _start_service(self, publish: str) -> None:
        self._elsewhere = publish == ANY_PORT
        service = ServiceProcess(self._options, publish, self, outlives=os.name == "posix", launch=self._launch)
        service.ready.connect(self._begin)
        service.progress.connect(self.progress)
        service.notified.connect(self.notified)
        service.failed.connect(self._fail)
        service.ended.connect(self._on_ended)
        self._service = service

    @property
    def processes(self) -> Sequence[ChildProcess]:
        process = self._service.process
        return () if process is None else (process,)

    def start(self) -> None:
        self._service.start()

    def stop(self) -> None:
        self._service.stop()

    def finish(self, seconds: float = 5.0) -> None:
        # the end of the old process must not start another
        self._service.stop()
        super().finish(seconds)

    def _begin(self, url: str) -> None:
        if self._elsewhere:
            self.notified.emit("info", f"another program has {RESULTS}: this service publishes its results on {url}")
        self.ready.emit(url)

    def _fail(self, why: str) -> None:
        if self._elsewhere or default_or_any_endpoint() != ANY_PORT:
            self.failed.emit(why)
            return
        # another program has bound the default endpoint in the meantime
        self._start_service(ANY_PORT)
        self._service.start()

    def _on_ended(self) -> None:
        # the process that failed to bind is ignored
        if self.sender() is self._service:
            self.ended.emit()


class SessionManager(QObject):
    """Owner of the current session; signals of the previous one are disconnected.

    Signals
    -------
    ready : endpoint of the current session's results.
    loaded : history of the current session's recording.
    progress : status text; empty: none.
    notified : level and one line.
    failed : why the current session has.
    injected : a fault that a simulation injects, one line, and from when on, s.
    changed : the session or its player has changed.
    ended : the processes of a session have ended; its recording is complete.
    """

    ready = Signal(str)
    loaded = Signal(object)
    progress = Signal(str)
    notified = Signal(str, str)
    failed = Signal(str)
    injected = Signal(str, float)
    changed = Signal()
    ended = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.current: SourceSession | None = None
        self._closing: list[SourceSession] = []

    @property
    def player(self) -> Player | None:
        """Controls the replay; None where there is none."""
        return None if self.current is None else self.current.player

    def open(self, source: SourceSpec) -> None:
        """Close the current session, and start another."""
        self.close()
        session = source.session(self)
        self.current = session
        for signal, slot in self._links(session):
            signal.connect(slot)
        session.ended.connect(self._remove)
        self.changed.emit()
        session.start()

    def close(self) -> None:
        """Stop the processes of the current session; returns at once."""
        session, self.current = self.current, None
        if session is None:
            return
        # only `ended` is still needed
        for signal, _ in self._links(session):
            signal.disconnect()
        self._closing.append(session)
        self.progress.emit("")
        self.changed.emit()
        session.stop()

    def finish(self) -> None:
        """End all sessions at the exit of the program; waits some seconds at most."""
        self.close()
        for session in self._closing:
            session.finish()

    def _links(self, session: SourceSession) -> tuple[tuple[SignalInstance, Any], ...]:
        """Return the signals of the current session, and what they are passed on to."""
        return (
            (session.ready, self.ready), (session.loaded, self.loaded), (session.progress, self.progress),
            (session.notified, self.notified), (session.injected, self.injected), (session.failed, self._fail),
            (session.player_changed, self.changed),
        )  # fmt: skip

    def _fail(self, reason: str) -> None:
        self.close()
        self.failed.emit(reason)

    def _remove(self) -> None:
        session = self.sender()
        if session is self.current:
            self.close()
        self._closing = [other for other in self._closing if other is not session]
        if isinstance(session, SourceSession):
            session.deleteLater()
        self.ended.emit()
