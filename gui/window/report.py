"""Reports: runs `synchroscope report` on a recording, and opens the page in the browser."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QUrl
from PySide6.QtGui import QDesktopServices

from gui.sources.processes.child_process import ChildProcess, CommandJob, ProcessFactory, finish_all
from gui.sources.processes.recording import OpenRecording
from gui.widgets.file_dialog import ask_path
from gui.window.actions import Actions
from gui.window.source_controller import SourceController
from gui.window.window import MainWindow

_BEGUN = "the report on "
_TIMEOUT = 1.0  # s for the process to end


class ReportController(QObject):
    """Asks for a file name, and writes the report of a recording in a process of its own, one at a time.

    Parameters
    ----------
    window, actions : have the dialog and the action.
    sources : knows the file and its options.
    notify : shows a message; arguments are level and text, and as `ends` the beginning of those that it replaces.
    launch : creates the process.
    """

    def __init__(
        self,
        window: MainWindow,
        actions: Actions,
        sources: SourceController,
        notify: Callable[..., None],
        *,
        launch: ProcessFactory = ChildProcess,
    ) -> None:
        super().__init__(window)
        self._window, self._actions, self._sources = window, actions, sources
        self._notify, self._launch = notify, launch
        self._job: CommandJob | None = None
        actions["file.report"].triggered.connect(self._ask)

    def set_enabled(self, on: bool) -> None:
        """Enable or disable the action: for data that are shown, or not."""
        self._actions.enable("file.report", on)

    def ask(self, path: Path, words: Sequence[str] = ()) -> None:
        """Ask for the name of a page on a recording; `words` are the command that writes it, else its report."""
        ask_path(
            self._window,
            "Report",
            str(path.with_suffix(".html")),
            lambda text: self.write(Path(text), path, words),
            kinds="Pages (*.html)",
            suffix="html",
        )

    def write(self, page: Path, path: Path, words: Sequence[str] = ()) -> None:
        """Write the page on a recording, and open it; the dialog has asked before replacing a file."""
        if self._job is not None:
            self._notify("warning", "the previous report is still being written")
            return
        words = [*(words or ("report", str(path))), "-o", str(page), "--overwrite"]
        # what exceeds a tolerance is an answer, with an exit code of its own
        read = dict if words[0] == "compare" else None
        self._job = CommandJob(words, read, self, launch=self._launch)
        self._job.done.connect(partial(self._open, page))
        self._job.failed.connect(lambda why: self._notify("error", f"no report: {why}", ends=_BEGUN))
        self._job.finished.connect(self._on_finished)
        self._notify("info", f"{_BEGUN}{path.name} is being written to {page}")
        self._job.start()

    def close(self) -> None:
        """Stop a report that is being written; nothing is left of it."""
        if self._job is not None and self._job.process is not None:
            self._job.stop()
            finish_all([self._job.process], _TIMEOUT)

    def _on_finished(self) -> None:
        self._job = None

    def _open(self, page: Path, _result: object) -> None:
        self._notify("info", f"report saved as {page}", ends=_BEGUN)
        if not QDesktopServices.openUrl(QUrl.fromLocalFile(str(page))):
            self._notify("warning", f"no browser opens {page}: open it by hand")

    def _ask(self) -> None:
        source = self._sources.source
        if isinstance(source, OpenRecording):
            self.ask(source.path, ("report", str(source.path), *source.options))
            return
        recorded = self._window.connection.history.run_path
        if not recorded:
            self._notify(
                "warning", "nothing is recorded, so there is nothing to report on: record with --record PATH"
            )
        elif not Path(recorded).is_file():
            self._notify("warning", f"{recorded} is on the service's machine: run synchroscope report there")
        else:
            self.ask(Path(recorded))
