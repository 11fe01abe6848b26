"""Runs: another recording over the one that is shown, judged by `synchroscope compare`; the runs of a folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import msgspec
from PySide6.QtCore import QSettings, QTimer
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QVBoxLayout, QWidget

from gui.model.comparison import ComparedRun, Judgement, align, alignment_channel, read_judgement
from gui.model.history import History
from gui.panels.comparison import ComparisonPanel
from gui.sources.opening.first_page import recent_files
from gui.sources.opening.open_dialog import Opener
from gui.sources.opening.run_list import RunList
from gui.sources.processes.child_process import CommandJob, finish_all
from gui.sources.processes.recording import JOIN, OpenRecording, RunLoader
from gui.widgets.layout import fill
from gui.widgets.theme import Theme
from gui.window.export import ReportController
from gui.window.layout_controller import LayoutController
from gui.window.source_controller import SourceController
from gui.window.window import Controller, MainWindow

_TIMEOUT = 1.0  # s for a process that reads a file to end
_PAUSE = 300  # ms without another lag or tolerance, before the command is run
_TOLERANCES = "comparison/tolerances"


class ComparedFile(msgspec.Struct, frozen=True):
    """A recording to compare with: its file and the words that choose its columns, and its lag; None: estimated."""

    source: tuple[str, ...]
    lag: float | None = None


class ComparisonController(Controller):
    """Chooses and loads recordings to compare with, one at a time, and stores them in the history that is shown.

    Parameters
    ----------
    window : has the panel and the action.
    sources : knows the settings for a recording.
    layouts : to show the panel.
    reports : writes the page on a comparison.
    """

    def __init__(
        self,
        window: MainWindow,
        sources: SourceController,
        layouts: LayoutController,
        reports: ReportController,
    ) -> None:
        super().__init__(window)
        self._sources, self._layouts, self._reports = sources, layouts, reports
        self._panel = window.dock_area.panel(ComparisonPanel)
        self._panel.tolerances = _stored_tolerances(window.store)
        self._job: CommandJob | None = None
        self._asked: ComparedRun | None = None
        self._pause = QTimer(self, singleShot=True, interval=_PAUSE)
        self._pause.timeout.connect(self._judge_next)
        self._loader: RunLoader | None = None
        self._loaded_words: tuple[str, ...] = ()
        self._reference: History | None = None
        self._waiting: list[ComparedFile] = []
        self._lag: float | None = None
        self._over: Path | None = None
        self.opener = Opener(window, window.store, window.offers)
        self.opener.opened.connect(self._load)
        self.opener.notified.connect(self._notify)
        self.opener.failed.connect(partial(self._notify, "error"))
        self._actions["file.compare"].triggered.connect(self._ask)
        self._panel.wanted.connect(self._ask)
        self._panel.cancelled.connect(self._cancel)
        self._panel.runs_changed.connect(self._set)
        self._panel.reported.connect(self._report)
        self._panel.differences.model.tolerance_entered.connect(self._set_tolerance)
        window.ticked.connect(self._poll)

    def open_runs(self, runs: Sequence[ComparedFile], over: Path | None = None) -> None:
        """Compare with these files once a recording is shown: `over`, or any where that is None."""
        self._waiting, self._over = list(runs), over

    @property
    def busy(self) -> bool:
        """Whether a recording is to be opened or loaded."""
        return bool(self._waiting) or self._loader is not None or self.opener.busy

    def close(self) -> None:
        """Stop loading and comparing."""
        self._cancel()
        self._pause.stop()
        judging = self._job.process if self._job is not None else None
        if self._job is not None:
            # no further run is judged
            self._job.finished.disconnect(self._on_judged)
        reading = (*self.opener.processes, *([] if judging is None else [judging]))
        self.opener.stop()
        finish_all(reading, _TIMEOUT)

    def _ask(self) -> None:
        if self._history.recording is not None:
            self._lag = None
            self.opener.ask()

    def _load(self, source: OpenRecording) -> None:
        self._cancel()
        if self._history.recording is None:
            return
        source = self._sources.with_settings(source)
        self._reference = self._history
        self._loader = RunLoader(source.path, source.options, source.memory)
        self._loaded_words = (str(source.path), *source.words)
        self._layouts.show_panel(ComparisonPanel.key, "Comparison")

    def _cancel(self) -> None:
        loader, self._loader, self._reference = self._loader, None, None
        self._panel.show_loading("")
        if loader is not None:
            loader.cancel()

    def _poll(self) -> None:
        """Show the progress, and accept what is loaded; where another recording is shown now, drop it."""
        if self._waiting and self._history.recording is not None and self._loader is None and not self.opener.busy:
            if self._over is not None and Path(self._history.recording.path) != self._over:
                # that could not be opened, or another was chosen meanwhile
                self._waiting.clear()
            else:
                wanted = self._waiting.pop(0)
                self._lag = wanted.lag
                self.opener.open_path(wanted.source[0], wanted.source[1:])
        if self._job is not None and all(run is not self._asked for run in self._history.compared):
            # removed, or with another lag by now
            self._job.stop()
        loader = self._loader
        if loader is None:
            return
        if self._history is not self._reference:
            self._cancel()
            return
        loader.store()
        if not loader.done:
            task, share = loader.progress
            known = f", {100.0 * share:.0f} %" if share == share else ""
            self._panel.show_loading(f"{loader.path.name}: {task}{known}")
            return
        self._cancel()
        if loader.history is None:
            self._notify("error", loader.failure)
            return
        run = ComparedRun(loader.history, source=self._loaded_words)
        if not alignment_channel(self._history, run, self._window.view.actuator):
            shown = "" if self._history.recording is None else self._history.recording.name
            self._notify("error", f"{run.name} has no channel of {shown}: channels are compared by name and unit")
            return
        lag, self._lag = self._lag, None
        run = align(self._history, run, self._window.view.actuator) if lag is None else run.aligned(lag)
        self._set((*self._history.compared, run))

    def _set(self, runs: tuple[ComparedRun, ...]) -> None:
        self._history.compare(runs)
        self._window.redraw()
        self._pause.start()

    def _set_tolerance(self, key: str, text: str) -> None:
        """Store a tolerance, and compare all runs again; empty removes it."""
        known = {name: other for name, other in self._panel.tolerances.items() if name != key}
        self._panel.tolerances = known | ({key: text} if text else {})
        self._store.setValue(_TOLERANCES, json.dumps(self._panel.tolerances))
        self._set(tuple(replace(run, judged=False) for run in self._history.compared))

    def _judge_next(self) -> None:
        """Compare the next run that is not judged, with the one that is shown; one at a time."""
        run = next((run for run in self._history.compared if not run.judged), None)
        if run is None or self._job is not None:
            return
        self._asked = run
        try:
            words = self._words([run])
        except ValueError as problem:
            self._accept(Judgement(problem=str(problem)))
            self._judge_next()
            return
        self._job = CommandJob(words, read_judgement, self)
        self._job.done.connect(self._accept)
        self._job.failed.connect(self._refuse)
        self._job.finished.connect(self._on_judged)
        self._job.start()

    def _on_judged(self) -> None:
        self._job = None
        if not self._pause.isActive():
            self._judge_next()

    def _accept(self, found: Judgement) -> None:
        runs = self._history.compared
        self._history.compare(
            tuple(replace(run, judgement=found, judged=True) if run is self._asked else run for run in runs)
        )
        self._window.redraw()

    def _refuse(self, why: str) -> None:
        key = why.removeprefix("--tolerance ").partition("=")[0]
        if key in self._panel.tolerances and why.startswith("--tolerance "):
            self._notify("error", why)
            self._set_tolerance(key, "")
        else:
            self._accept(Judgement(problem=why))

    def _words(self, runs: Sequence[ComparedRun]) -> list[str]:
        """Return the command that compares runs with the one that is shown.

        Raises
        ------
        ValueError : it could not read them as they are shown.
        """
        source = self._sources.source
        assert isinstance(source, OpenRecording)
        if JOIN in source.words or "--auxiliary" in source.words:
            raise ValueError("one of them has no command and measured signal, or is in several files")
        if any(run.source[1:] != source.words for run in runs):
            raise ValueError("their columns are chosen differently: choose them alike, or remember them by the files")
        lags = [f"--lag={run.lag!r}" for run in runs]
        limits = [word for pair in self._panel.tolerances.items() for word in ("--tolerance", "=".join(pair))]
        files = [str(source.path), *(run.source[0] for run in runs)]
        return ["compare", *files, *source.options, *lags, *limits, "--json"]

    def _report(self) -> None:
        runs = self._history.compared
        try:
            words = self._words(runs)
        except ValueError as problem:
            self._notify("error", f"no report: {problem}")
            return
        shown = Path(words[1])
        self._reports.ask(shown.with_name(f"{shown.stem}-compared.html"), words)


def _stored_tolerances(store: QSettings) -> dict[str, str]:
    """Return the tolerances that were entered last, by the key of their quantity; none of damaged settings."""
    try:
        found = json.loads(str(store.value(_TOLERANCES, "{}")))
    except ValueError:
        return {}
    return {str(key): str(text) for key, text in found.items()} if isinstance(found, dict) else {}


class RunsDialog(QDialog):
    """Dialog with the runs of a folder; it closes when one is opened or compared."""

    def __init__(self, store: QSettings, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("Runs")
        self.runs = RunList(store, theme, fills=True)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close, self)
        # Enter opens the selected run
        buttons.button(QDialogButtonBox.StandardButton.Close).setAutoDefault(False)
        for button in (self.runs.choose, self.runs.again):
            button.setAutoDefault(False)
        buttons.rejected.connect(self.reject)
        self.runs.opened.connect(self.accept)
        self.runs.compared.connect(self.accept)
        fill(QVBoxLayout(self), (self.runs, 1), buttons)
        self.resize(860, 520)


class RunsController(Controller):
    """Opens, compares and reports the runs that are chosen in a list.

    Parameters
    ----------
    window : has the start page and the action.
    sources, comparison, reports : do what is chosen.
    """

    def __init__(
        self,
        window: MainWindow,
        sources: SourceController,
        comparison: ComparisonController,
        reports: ReportController,
    ) -> None:
        super().__init__(window)
        self._sources, self._comparison, self._reports = sources, comparison, reports
        self.dialog: RunsDialog | None = None
        self._connect(window.start_page.runs)
        # the recording of a session that has ended is complete
        sources.sessions.ended.connect(window.start_page.runs.refresh)
        self._actions.connect({"file.runs": self._present})

    def close(self) -> None:
        """Stop listing, at the end of the program."""
        if self.dialog is not None:
            reading = self.dialog.runs.processes
            self.dialog.close()
            finish_all(reading, _TIMEOUT)

    @property
    def _shown(self) -> str:
        """Path of the recording that is shown; empty: of none."""
        recording = self._history.recording
        return "" if recording is None else recording.path

    def _present(self) -> None:
        if self.dialog is None:
            self.dialog = RunsDialog(self._store, self._window.theme, self._window)
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
