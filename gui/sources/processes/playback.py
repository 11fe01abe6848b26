"""Session of a replay: a file or a simulation played by a process that is controlled, and judged by a service."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, QTimer

from gui.sources.processes.catalogue import DescribeJob, EnsembleCache, ModelUnderTest
from gui.sources.processes.child_process import ChildProcess
from gui.sources.processes.player import ReplayControl
from gui.sources.processes.service import ProcessFactory, ServiceProcess, exit_reason
from gui.sources.processes.session import ANY_PORT, SourceSession, free_endpoint
from monitor.messages.recordings import Description
from monitor.transport.zeromq.request_client import RequestClient

_REQUESTS = re.compile(r"; requests at ([^\s;]+)$")
_MAX_ADVANCE = 5.0  # s; a position further on is sought, not played
_START_TIMEOUT = 1500  # ms after which it begins though nobody has said that the results are watched


class PlaybackSession(SourceSession):
    """First the ensemble of the model that is judged, once; then the player and the service, side by side.

    Parameters
    ----------
    title : of the session.
    played : words of `replay` that say what is played.
    service : words of `monitor`, without endpoints.
    ensemble : makes the ensemble of a model that is judged; None where none is.
    description : of what is played, where it is known.
    paused : it waits for `Player.resume`.
    launch : makes processes.
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
        paused: bool = False,
        launch: ProcessFactory = ChildProcess,
    ) -> None:
        super().__init__(title, parent)
        self._played, self._words, self._launch = played, service, launch
        self._ensemble, self._description, self._paused = ensemble, description, paused
        self._signals = ""
        self._service: ServiceProcess | None = None
        self._process: ChildProcess | None = None
        self._describing: DescribeJob | None = None
        self._stopping = self._over = False
        self._client_connected = self._begun = self._told_doubts = False
        self._passed = 0.0  # s, the position that is told of
        self._start_timer = QTimer(self, singleShot=True, interval=_START_TIMEOUT)
        self._start_timer.timeout.connect(self.on_client_connected)
        if ensemble is not None:
            ensemble.setParent(self)
            ensemble.ready.connect(self._play)
            ensemble.progress.connect(self.progress)
            ensemble.failed.connect(self._give_up)

    @property
    def processes(self) -> Sequence[ChildProcess]:
        """The processes that run for it."""
        others = [part.process for part in (self._service, self._ensemble, self._describing) if part is not None]
        # the player first: the service then hears the end of the stream
        return [process for process in (self._process, *others) if process is not None]

    def start(self) -> None:
        """Begin; returns at once."""
        if self._ensemble is None:
            self._play("")
        else:
            self._ensemble.start()

    def stop(self) -> None:
        """Let its processes end; returns at once."""
        if self._stopping:
            return
        self._stopping = True
        self._start_timer.stop()
        self._close_player()
        for process in self.processes:
            process.ended.connect(self._end_when_all_have)
            process.stop()
        if self._service is not None:
            self._service.stop()
        self._end_when_all_have()

    def finish(self, seconds: float = 5.0) -> None:
        """Let its processes end at the exit of the program."""
        self.stop()
        super().finish(seconds)

    def on_client_connected(self) -> None:
        """Say that the results are listened to: what is played from now on will be seen."""
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
        words = ["replay", *self._played, "--control", "--paused", "--until-closed", "--bind", self._signals]
        process = self._launch(words, self, exits_on_stdin_close=True)
        self._process = process
        process.line.connect(self._find_requests)
        process.ended.connect(self._player_ended)
        process.start()

    def _find_requests(self, line: str) -> None:
        """Control the replay from the line on that says where it takes requests."""
        found = _REQUESTS.search(line)
        if found is None or self.player is not None or self._stopping:
            return
        self.player = player = ReplayControl(RequestClient(found[1]), self, self._description)
        player.changed.connect(self._begin)
        player.refused.connect(self._tell_refusal)
        player.described.connect(self._tell_doubts)
        self.player_changed.emit()
        player.changed.connect(self._tell_injections)
        self._tell_doubts()
        known = player.description
        if known is None or known.overview is None:
            self._describing = DescribeJob(self._played, self, launch=self._launch)
            self._describing.described.connect(player.describe)
            self._describing.start()

    def _tell_injections(self) -> None:
        """Tell what a simulation injects when the replay comes by; a seek over it tells nothing."""
        player = self.player
        if player is None or player.description is None or player.description.format != "simulation":
            return
        now, before = player.position, self._passed
        self._passed = now
        if before == 0.0 or 0.0 <= now - before <= _MAX_ADVANCE:
            # the first are there from the beginning
            past = -1.0 if before == 0.0 else before
            for event in player.description.events:
                if past < event.time <= now:
                    self.notified.emit("info", event.detail)

    def _tell_doubts(self) -> None:
        known = None if self.player is None else self.player.description
        if known is not None and known.doubts and not self._told_doubts:
            self._told_doubts = True
            self.notified.emit("warning", f"the file is damaged: {'; '.join(known.doubts)}")

    def _begin(self) -> None:
        """Play when the service hears the player and the results are watched: sooner, samples would be lost."""
        if self._client_connected and not self._begun and self.player is not None and self.player.subscribed:
            self._begun = True
            if not self._paused:
                self.player.resume()

    def _player_ended(self, code: int, last: str) -> None:
        self._process = None
        if self._stopping:
            return
        if self.player is None:
            self._give_up(exit_reason(code, last))
        else:
            self._close_player()
            self.player = None
            self.player_changed.emit()
            self.notified.emit(
                "error", f"the player ended: {exit_reason(code, last)}; what it has sent can be looked at"
            )

    def _close_player(self) -> None:
        if self.player is not None:
            self.player.close()

    def _tell_refusal(self, why: str) -> None:
        self.notified.emit("warning", f"the player refuses: {why}")

    def _give_up(self, why: str) -> None:
        if not self._stopping:
            self.failed.emit(why)
            self.stop()

    def _end_when_all_have(self) -> None:
        if not self._over and not any(process.running for process in self.processes):
            self._over = True
            self.ended.emit()


# what the simulated actuators stay within by themselves, and a good model too
_ALARMS = ("--alarm", "broadband_delay=-0.038..0.038:-0.058..0.058", "--alarm", "broadband_ratio=0.85..1.15")
_ALARMS_OF_A_MODEL = ("--alarm", "reliability_accumulated=0.85:0.7")


@dataclass(frozen=True, slots=True)
class PlayFile:
    """Play a recording.

    Parameters
    ----------
    path : of the file.
    words : options of `replay` that choose columns.
    description : where it is known already.
    config, service : settings of the service, a file and words that go before it.
    record : where the service keeps the run; by default nowhere.
    paused : it waits for `Player.resume`.
    """

    path: Path
    words: tuple[str, ...] = ()
    description: Description | None = None
    config: Path | None = None
    service: tuple[str, ...] = ()
    record: str = ""
    paused: bool = False

    def session(self, parent: QObject | None = None, *, launch: ProcessFactory = ChildProcess) -> SourceSession:
        """Return the session."""
        return PlaybackSession(
            self.path.name,
            (str(self.path), *self.words),
            _service_words(self),
            parent,
            description=self.description,
            paused=self.paused,
            launch=launch,
        )


@dataclass(frozen=True, slots=True)
class PlaySimulation:
    """Play a simulation, and judge the model it belongs to where there is one; the rest is as of a file.

    Without settings of a service it has limits of its own, so that faults by hand are seen to make alarms.
    """

    name: str
    model_under_test: ModelUnderTest | None = None
    words: tuple[str, ...] = ()
    config: Path | None = None
    service: tuple[str, ...] = ()
    record: str = ""
    paused: bool = False

    def session(self, parent: QObject | None = None, *, launch: ProcessFactory = ChildProcess) -> SourceSession:
        """Return the session."""
        return PlaybackSession(
            self.name,
            (self.name, *self.words),
            (*_service_words(self), *self._alarms),
            parent,
            ensemble=None if self.model_under_test is None else EnsembleCache(self.model_under_test, launch=launch),
            paused=self.paused,
            launch=launch,
        )

    @property
    def _alarms(self) -> tuple[str, ...]:
        if self.config is not None:
            return ()
        return _ALARMS if self.model_under_test is None else _ALARMS_OF_A_MODEL


def _service_words(source: PlayFile | PlaySimulation) -> tuple[str, ...]:
    """Return the options of `monitor`: a file of settings speaks of the laboratory's rig and where its runs go."""
    words = [] if source.config is None else [str(source.config)]
    return (*words, "--bind", "", "--rig", "", "--record", source.record, *source.service)
