"""Runs of a folder: opened, compared and reported from the start page, and from a dialog while a source is shown."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, QSettings
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QVBoxLayout, QWidget

from gui.sources.opening.first_page import recent_files
from gui.sources.opening.run_list import RunList
from gui.sources.processes.child_process import ChildProcess, ProcessFactory, finish_all
from gui.widgets.theme import Theme
from gui.window.actions import Actions
from gui.window.comparison import ComparedFile, ComparisonController
from gui.window.report import ReportController
from gui.window.source_controller import SourceController
from gui.window.window import MainWindow

_TIMEOUT = 1.0  # s for the process that lists runs to end


class RunsDialog(QDialog):
    """Dialog with the runs of a folder; it closes when one is opened or compared."""

    def __init__(self, store: QSettings, theme: Theme, launch: ProcessFactory, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("Runs")
        self.runs = RunList(store, theme, fills=True, launch=launch)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close, self)
        # Enter opens the selected run
        buttons.button(QDialogButtonBox.StandardButton.Close).setAutoDefault(False)
        for button in (self.runs.choose, self.runs.again):
            button.setAutoDefault(False)
        buttons.rejected.connect(self.reject)
        self.runs.opened.connect(self.accept)
        self.runs.compared.connect(self.accept)
        rows = QVBoxLayout(self)
        rows.addWidget(self.runs, 1)
        rows.addWidget(buttons)
        self.resize(860, 520)


class RunsController(QObject):
    """Opens, compares and reports the runs that are chosen in a list.

    Parameters
    ----------
    window, actions : have the start page and the action.
    sources, comparison, reports : do what is chosen.
    store : the settings of the program.
    launch : creates the process that lists runs.
    """

    def __init__(
        self,
        window: MainWindow,
        actions: Actions,
        sources: SourceController,
        comparison: ComparisonController,
        reports: ReportController,
        store: QSettings,
        *,
        launch: ProcessFactory = ChildProcess,
    ) -> None:
        super().__init__(window)
        self._window, self._sources, self._comparison, self._reports = window, sources, comparison, reports
        self._store, self._launch = store, launch
        self.dialog: RunsDialog | None = None
        self._connect(window.start_page.runs)
        # the recording of a session that has ended is complete
        sources.sessions.ended.connect(window.start_page.runs.refresh)
        actions.connect({"file.runs": self._present})

    def close(self) -> None:
        """Stop listing, at the end of the program."""
        if self.dialog is not None:
            reading = self.dialog.runs.processes
            self.dialog.close()
            finish_all(reading, _TIMEOUT)

    @property
    def _shown(self) -> str:
        """Path of the recording that is shown; empty: of none."""
        recording = self._window.connection.history.recording
        return "" if recording is None else recording.path

    def _present(self) -> None:
        if self.dialog is None:
            self.dialog = RunsDialog(self._store, self._window.theme, self._launch, self._window)
            self._connect(self.dialog.runs)
            self.dialog.runs.opened.connect(self._sources.opener.open_path)
        self.dialog.runs.apply_theme(self._window.theme)
        recent = recent_files(self._store).texts
        self.dialog.runs.last_opened = self._shown or (recent[0] if recent else "")
        self.dialog.open()

    def _connect(self, runs: RunList) -> None:
        runs.compared.connect(self._compare)
        runs.reported.connect(self._report)

    def _report(self, path: str) -> None:
        self._reports.ask(Path(path))

    def _compare(self, paths: list[str]) -> None:
        """Draw the other recordings over the first, which is opened where another is shown."""
        first, *others = map(Path, paths)
        if self._shown != str(first):
            self._sources.opener.open_path(first)
        self._comparison.open_runs([ComparedFile((str(path),)) for path in others], over=first)
