"""Supervised `synchroscope monitor` process: it is restarted after a crash, with increasing delay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic

from PySide6.QtCore import QObject, QTimer, Signal

from gui.sources.processes.child_process import ChildProcess, ProcessFactory, exit_reason
from monitor.messages.ready import Endpoints

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
        self._process: ChildProcess | None = None
        self._again = QTimer(self, singleShot=True)
        self._again.timeout.connect(self.start)
        self._stopping = self._over = self._was_ready = self._is_ready = False
        self._tries, self._pause, self._begun = 0, _FIRST, 0.0

    @property
    def process(self) -> ChildProcess | None:
        """The running process; None between restarts."""
        return self._process

    @property
    def listening(self) -> bool:
        """Whether the service is ready for samples."""
        return self._is_ready

    def start(self) -> None:
        """Start or restart the process."""
        words = ["monitor", *self._words, "--publish", self._publish, "--ready-json"]
        if not self._outlives:
            words.append("--until-closed")
        self._tries += 1
        self._begun = self._clock()
        process = self._launch(words, self, outlives=self._outlives, exits_on_stdin_close=not self._outlives)
        self._process = process
        process.line.connect(self._on_line)
        process.answer.connect(self._on_answer)
        process.ended.connect(self._on_ended)
        process.start()

    def stop(self) -> None:
        """Stop the service, which closes its recording; does not wait."""
        self._stopping = True
        self._again.stop()
        if self._process is None:
            self._finish()
        else:
            self._process.stop()

    def _on_line(self, line: str) -> None:
        if not self._stopping and not self._is_ready:
            self.progress.emit(line)

    def _on_answer(self, message: dict[str, object]) -> None:
        found = Endpoints.from_message(message)
        if self._stopping or found is None:
            return
        self._is_ready = True
        self.progress.emit("")
        if self._was_ready:
            self.notified.emit("info", BACK)
            return
        self._was_ready = True
        self._publish = found.results
        self.ready.emit(found.results)

    def _on_ended(self, code: int, last: str) -> None:
        if self._process is not None:
            self._process.deleteLater()
        self._process, was_listening, self._is_ready = None, self._is_ready, False
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
