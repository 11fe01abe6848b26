"""Job that lists the runs of a folder in another process."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from gui.model.run_catalogue import RunListing, read_listing
from gui.sources.processes.child_process import ChildProcess
from gui.sources.processes.service import ProcessFactory, exit_reason


class ListRunsJob(QObject):
    """Job that runs ``synchroscope runs FOLDER --json`` once; deleted when it has ended.

    Parameters
    ----------
    folder : absolute path.
    launch : creates the process.

    Signals
    -------
    listed : a `RunListing`.
    progress : what is being read, one line.
    failed : why the folder cannot be listed.
    finished : it has ended, or was stopped; emitted last.
    """

    listed = Signal(object)
    progress = Signal(str)
    failed = Signal(str)
    finished = Signal()

    def __init__(self, folder: Path, parent: QObject | None = None, *, launch: ProcessFactory = ChildProcess) -> None:
        super().__init__(parent)
        self._stopped = self._answered = False
        self.process: ChildProcess = launch(["runs", str(folder), "--json"], self)
        self.process.answer.connect(self._on_answer)
        self.process.line.connect(self._on_line)
        self.process.ended.connect(self._on_ended)

    def start(self) -> None:
        """Start; does not wait."""
        self.process.start()

    def stop(self) -> None:
        """Stop the process: only `finished` follows. What it has read is in the index."""
        self._stopped = True
        self.process.stop()

    def _on_line(self, line: str) -> None:
        # an error is reported when the process has ended
        if not self._stopped and not line.startswith("synchroscope"):
            self.progress.emit(line)

    def _on_answer(self, answer: Mapping[str, object]) -> None:
        if self._stopped or self._answered:
            return
        self._answered = True
        try:
            listing: RunListing = read_listing(answer)
        except ValueError as problem:
            self.failed.emit(str(problem))
            return
        self.listed.emit(listing)

    def _on_ended(self, code: int, last: str) -> None:
        if not self._stopped and not self._answered:
            self.failed.emit(exit_reason(code, last))
        self.finished.emit()
        self.deleteLater()
