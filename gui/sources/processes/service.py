"""A `synchroscope monitor` that is kept alive: when it dies, it is started again, later each time."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from time import monotonic

from PySide6.QtCore import QObject, QTimer, Signal

from gui.sources.processes.child_process import ChildProcess

ProcessFactory = Callable[..., ChildProcess]
"""Makes a process, as the class itself does."""

_READY = re.compile(r"^listening on .*?; results on ([^\s;]+)")
_PREFIX = re.compile(r"^synchroscope( \w+)?: ")
_MISTAKE = 2  # exit code of a user's mistake, which is there again at the next start
_TRIES = 3  # starts of a service that has never been ready
_FIRST, _LONGEST = 1.0, 30.0  # s before the next start
_STEADY = 60.0  # s after which a service that ran is taken for well


def exit_reason(code: int, last: str) -> str:
    """Return why a process ended, in its own last words where it has ended itself."""
    if code < 0:
        return f"ended by signal {-code}"
    return _PREFIX.sub("", last) or f"ended with exit code {code}"


class ServiceProcess(QObject):
    """Keep a service running until told to stop.

    Parameters
    ----------
    words : options of `monitor`, without the endpoint of its results.
    publish : where it publishes; a port that it took itself is kept when it is started again.
    outlives : it goes on recording when this process crashes.
    launch : makes processes.
    clock : s, monotonic.

    Signals
    -------
    ready : it listens for the first time; the endpoint of its results.
    progress : what it does until it is ready.
    notified : level and text.
    failed : it cannot run, and why; `ended` follows.
    ended : there is no process any more, and will be none; once.
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
        """The process, while there is one."""
        return self._process

    @property
    def listening(self) -> bool:
        """It takes samples now."""
        return self._is_ready

    def start(self) -> None:
        """Start it, or start it again."""
        words = ["monitor", *self._words, "--publish", self._publish]
        if not self._outlives:
            words.append("--until-closed")
        self._tries += 1
        self._begun = self._clock()
        process = self._launch(words, self, outlives=self._outlives, exits_on_stdin_close=not self._outlives)
        self._process = process
        process.line.connect(self._hear)
        process.ended.connect(self._end)
        process.start()

    def stop(self) -> None:
        """Let it close its recording and end; returns at once."""
        self._stopping = True
        self._again.stop()
        if self._process is None:
            self._finish()
        else:
            self._process.stop()

    def _hear(self, line: str) -> None:
        found = _READY.match(line)
        if self._stopping:
            return
        if found is None:
            if not self._is_ready:
                self.progress.emit(line)
            return
        self._is_ready = True
        self.progress.emit("")
        if self._was_ready:
            self.notified.emit("info", "the service runs again")
            return
        self._was_ready = True
        self._publish = found[1]
        self.ready.emit(found[1])

    def _end(self, code: int, last: str) -> None:
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
            self.notified.emit(level, f"the service died ({why}); it is started again in {self._pause:g} s")
            self._again.start(round(1000 * self._pause))
            self._pause = min(2.0 * self._pause, _LONGEST)

    def _finish(self) -> None:
        # who hears of a failure may stop it as well
        if not self._over:
            self._over = True
            self.ended.emit()
