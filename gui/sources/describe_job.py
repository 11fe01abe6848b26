"""Asks what a recording is, in a process of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QObject, Signal

from gui.sources.child_process import ChildProcess
from gui.sources.service import Launch, reason
from monitor.messages.recordings import Description, read_description


class DescribeJob(QObject):
    """Run ``synchroscope replay ... --describe`` once; gone when it has ended.

    Parameters
    ----------
    played : words of `replay` that say what.
    launch : makes workers.

    Signals
    -------
    described : what it is, a `Description`.
    failed : why it is no recording.
    """

    described = Signal(object)
    failed = Signal(str)

    def __init__(
        self, played: Sequence[str], parent: QObject | None = None, *, launch: Launch = ChildProcess
    ) -> None:
        super().__init__(parent)
        self.played = tuple(played)
        self._answered = False
        self._worker: ChildProcess | None = launch(["replay", *played, "--describe"], self)
        self._worker.answer.connect(self._take)
        self._worker.ended.connect(self._end)

    @property
    def worker(self) -> ChildProcess | None:
        """The process, until it has ended."""
        return self._worker

    def start(self) -> None:
        """Begin; returns at once."""
        assert self._worker is not None
        self._worker.start()

    def stop(self) -> None:
        """Ask no longer; nothing is told any more."""
        self._answered = True
        if self._worker is not None:
            self._worker.stop()

    def _take(self, answer: Mapping[str, object]) -> None:
        if self._answered:
            return
        self._answered = True
        try:
            description: Description = read_description(answer)
        except ValueError as problem:
            self.failed.emit(str(problem))
            return
        self.described.emit(description)

    def _end(self, code: int, last: str) -> None:
        self._worker = None
        if not self._answered:
            self._answered = True
            self.failed.emit(reason(code, last))
        self.deleteLater()
