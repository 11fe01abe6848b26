"""Session of a replay: a process that plays a file or a simulation, and a service that monitors it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, QTimer

from gui.sources.processes.catalogue import EnsembleCache, ModelUnderTest, describe_job
from gui.sources.processes.child_process import ChildProcess, CommandJob, ProcessFactory, exit_reason
from gui.sources.processes.player import ReplayControl
from gui.sources.processes.session import ANY_PORT, ServiceProcess, SourceSession, free_endpoint
from monitor.messages.ready import Endpoints
from monitor.messages.recordings import Description
from monitor.transport.zeromq.requests import RequestClient

_MAX_ADVANCE = 5.0  # s; a larger step is a seek
_BEFORE_START = -1.0  # s, before the faults at the start
_START_TIMEOUT = 1500  # ms after which it begins without a client


class PlaybackSession(SourceSession):
    """Session with an ensemble job, where a model is tested, then a player and a service.

    Parameters
    ----------
    title : of the session.
    played : arguments of `replay`.
    service : arguments of `monitor`, without endpoints.
    ensemble : creates the ensemble job of the model under test; None without one.
    description : of the recording, if it is known.
    launch : creates processes.
    """

    def __init__(
        self,
        title: str,
        played: tuple[str, ...],
        service: tuple[str, ...],
        parent: QObject | None = None,
        *,
        ensemble: EnsembleCache | None = None,
        description: Description | None = None,
        launch: ProcessFactory = ChildProcess,
    ) -> None:
        super().__init__(title, parent)
        self._played, self._words, self._launch = played, service, launch
        self._ensemble, self._description = ensemble, description
        self._signals = ""
        self._control: ReplayControl | None = None
        self._service: ServiceProcess | None = None
        self._process: ChildProcess | None = None
        self._describing: CommandJob | None = None
        self._stopping = self._over = False
        self._client_connected = self._begun = self._doubts_reported = False
        self._passed = _BEFORE_START  # s, the last position for which injected faults were shown
        self._start_timer = QTimer(self, singleShot=True, interval=_START_TIMEOUT)
        self._start_timer.timeout.connect(self.on_client_connected)
        if ensemble is not None:
            ensemble.setParent(self)
            ensemble.ready.connect(self._play)
            ensemble.progress.connect(self.progress)
            ensemble.failed.connect(self._give_up)

    @property
    def processes(self) -> Sequence[ChildProcess]:
        """The running processes."""
        others = [part.process for part in (self._service, self._ensemble, self._describing) if part is not None]
        # the player first, so that the service receives the end of the stream
        return [process for process in (self._process, *others) if process is not None]

    def start(self) -> None:
        """Start; does not wait."""
        if self._ensemble is None:
            self._play("")
        else:
            self._ensemble.start()

    def stop(self) -> None:
        """Stop the processes; does not wait."""
        if self._stopping:
            return
        self._stopping = True
        self._start_timer.stop()
        self._close_player()
        for process in self.processes:
            process.ended.connect(self._emit_ended)
            process.stop()
        if self._service is not None:
            self._service.stop()
        self._emit_ended()

    def finish(self, seconds: float = 5.0) -> None:
        """Stop the processes at the exit of the program."""
        self.stop()
        super().finish(seconds)

    def on_client_connected(self) -> None:
        """Start playing: a client receives the results."""
        self._client_connected = True
        self._start_timer.stop()
        self._begin()

    def _play(self, ensemble: str) -> None:
        if self._stopping:
            return
        self._signals = free_endpoint()
        self._start_service(ensemble)
        self._start_player()

    def _start_service(self, ensemble: str) -> None:
        words = [*self._words, "--connect", self._signals]
        if self._ensemble is not None:
            words += self._ensemble.model_under_test.words(ensemble)
        service = ServiceProcess(words, ANY_PORT, self, launch=self._launch)
        service.ready.connect(self.ready)
        service.ready.connect(self._start_timer.start)
        service.progress.connect(self.progress)
        service.notified.connect(self.notified)
        service.failed.connect(self._give_up)
        self._service = service
        service.start()

    def _start_player(self) -> None:
        words = ["replay", *self._played, "--control", "--paused", "--until-closed", "--ready-json"]
        words += ["--bind", self._signals]
        process = self._launch(words, self, exits_on_stdin_close=True)
        self._process = process
        process.answer.connect(self._on_ready)
        process.ended.connect(self._player_ended)
        process.start()

    def _on_ready(self, message: dict[str, object]) -> None:
        """Connect to the replay's endpoint of requests."""
        found = Endpoints.from_message(message)
        if found is None or self.player is not None or self._stopping:
            return
        self.player = self._control = player = ReplayControl(RequestClient(found.requests), self, self._description)
        player.changed.connect(self._begin)
        player.refused.connect(self._show_refusal)
        player.described.connect(self._show_warnings)
        self.player_changed.emit()
        player.changed.connect(self._show_injections)
        self._show_warnings()
        known = player.description
        if known is None or known.overview is None:
            self._describing = describe_job(self._played, self, launch=self._launch)
            self._describing.done.connect(player.describe)
            self._describing.start()

    def _show_injections(self) -> None:
        """Show the faults that a simulation injects, when the replay reaches them; not those that a seek skips."""
        player = self.player
        if player is None or player.description is None or player.description.format != "simulation":
            return
        now, before = player.position, self._passed
        # after a restart those of the start are injected again
        self._passed = _BEFORE_START if now == 0.0 < before else now
        # on a busy machine it has played for long when its description comes
        if before == _BEFORE_START or 0.0 <= now - before <= _MAX_ADVANCE:
            for event in player.description.events:
                if before < event.time <= now:
                    self.notified.emit("info", event.detail)
                    self.injected.emit(event.detail, event.time)

    def _show_warnings(self) -> None:
        known = None if self.player is None else self.player.description
        if known is not None and known.doubts and not self._doubts_reported:
            self._doubts_reported = True
            self.notified.emit("warning", f"the file is damaged: {'; '.join(known.doubts)}")

    def _begin(self) -> None:
        """Play once the service and a client are connected; before, samples would be lost."""
        if self._client_connected and not self._begun and self._control is not None and self._control.subscribed:
            self._begun = True
            self._control.resume()

    def _player_ended(self, code: int, last: str) -> None:
        self._process = None
        if self._stopping:
            return
        if self.player is None:
            self._give_up(exit_reason(code, last))
        else:
            self._close_player()
            self.player = self._control = None
            self.player_changed.emit()
            self.notified.emit(
                "error", f"the player ended: {exit_reason(code, last)}; what it has sent can be looked at"
            )

    def _close_player(self) -> None:
        if self.player is not None:
            self.player.close()

    def _show_refusal(self, why: str) -> None:
        self.notified.emit("warning", f"the player refuses: {why}")

    def _give_up(self, why: str) -> None:
        if not self._stopping:
            self.failed.emit(why)
            self.stop()

    def _emit_ended(self) -> None:
        if not self._over and not any(process.running for process in self.processes):
            self._over = True
            self.ended.emit()


# limits that the simulated actuators and an accurate model do not exceed
_ALARMS = ("--alarm", "delay=-0.038..0.038:-0.058..0.058", "--alarm", "ratio=0.85..1.15")


def _alarms_of(model: ModelUnderTest) -> tuple[str, ...]:
    """Return an alarm for each limit of the decision on a model: what rejects it is a trip, with a line."""
    limits = (limit.partition("=") for limit in model.limits)
    pairs = ((name, *values.partition(":")[::2]) for name, _, values in limits)
    return tuple(
        word for name, reject, accept in pairs for word in ("--alarm", f"reliability_{name}={accept}:{reject}")
    )


@dataclass(frozen=True, slots=True)
class PlayFile:
    """Source: a recording that is played.

    Parameters
    ----------
    path : of the file.
    words : options of `replay` that choose columns.
    description : if it is known.
    config : settings file of the service.
    record : file or folder of the recording; empty: not recorded.
    """

    path: Path
    words: tuple[str, ...] = ()
    description: Description | None = None
    config: Path | None = None
    record: str = ""

    def session(self, parent: QObject | None = None, *, launch: ProcessFactory = ChildProcess) -> SourceSession:
        """Return a new session."""
        return PlaybackSession(
            self.path.name,
            (str(self.path), *self.words),
            _service_words(self),
            parent,
            description=self.description,
            launch=launch,
        )


@dataclass(frozen=True, slots=True)
class PlaySimulation:
    """Source: a simulation that is played, with its model under test, if it has one; else as `PlayFile`.

    Without settings of a service it has alarm limits of its own, so that injected faults cause alarms.
    """

    name: str
    model_under_test: ModelUnderTest | None = None
    words: tuple[str, ...] = ()
    config: Path | None = None
    record: str = ""

    def session(self, parent: QObject | None = None, *, launch: ProcessFactory = ChildProcess) -> SourceSession:
        """Return a new session."""
        return PlaybackSession(
            self.name,
            (self.name, *self.words),
            (*_service_words(self), *self._alarms),
            parent,
            ensemble=None if self.model_under_test is None else EnsembleCache(self.model_under_test, launch=launch),
            launch=launch,
        )

    @property
    def _alarms(self) -> tuple[str, ...]:
        if self.config is not None:
            return ()
        return _ALARMS if self.model_under_test is None else _alarms_of(self.model_under_test)


def _service_words(source: PlayFile | PlaySimulation) -> tuple[str, ...]:
    """Return the options of `monitor` that override the rig and the recording of a settings file."""
    words = [] if source.config is None else [str(source.config)]
    return (*words, "--bind", "", "--rig", "", "--record", source.record)
