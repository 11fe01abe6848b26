"""Comparison of recordings: opens another one over the one that is shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, QSettings

from gui.model.comparison import ComparedRun, align, alignment_channel
from gui.model.history import History
from gui.panels.comparison import ComparisonPanel
from gui.sources.opening.open_dialog import Opener
from gui.sources.processes.catalogue import Catalogue
from gui.sources.processes.child_process import finish_all
from gui.sources.processes.recording import OpenRecording
from gui.sources.processes.run_loader import RunLoader
from gui.window.actions import Actions
from gui.window.layout_controller import LayoutController
from gui.window.source_controller import SourceController
from gui.window.window import MainWindow

_TIMEOUT = 1.0  # s for a process that reads a file to end


class ComparisonController(QObject):
    """Chooses and loads recordings to compare with, one at a time, and stores them in the history that is shown.

    Parameters
    ----------
    window, actions : have the panel and the action.
    sources : knows the settings for a recording.
    layouts : to show the panel.
    notify : shows a message; arguments are level and text.
    """

    def __init__(
        self,
        window: MainWindow,
        actions: Actions,
        sources: SourceController,
        layouts: LayoutController,
        offers: Catalogue,
        store: QSettings,
        notify: Callable[[str, str], None],
    ) -> None:
        super().__init__(window)
        self._window, self._sources, self._layouts, self._notify = window, sources, layouts, notify
        self._panel = window.dock_area.panel(ComparisonPanel)
        self._loader: RunLoader | None = None
        self._reference: History | None = None
        self._waiting: list[str] = []
        self._over: Path | None = None
        self.opener = Opener(window, store, offers, window.theme)
        self.opener.opened.connect(self._load)
        self.opener.notified.connect(notify)
        self.opener.failed.connect(lambda why: notify("error", why))
        actions["file.compare"].triggered.connect(self._ask)
        self._panel.wanted.connect(self._ask)
        self._panel.cancelled.connect(self._cancel)
        self._panel.runs_changed.connect(self._set)
        window.ticked.connect(self._poll)

    def open_paths(self, paths: tuple[str, ...], over: Path | None = None) -> None:
        """Compare with these files once a recording is shown: `over`, or any where that is None."""
        self._waiting, self._over = list(paths), over

    def close(self) -> None:
        """Stop loading."""
        self._cancel()
        reading = self.opener.processes
        self.opener.stop()
        finish_all(reading, _TIMEOUT)

    @property
    def _history(self) -> History:
        return self._window.connection.history

    def _ask(self) -> None:
        if self._history.recording is not None:
            self.opener.theme = self._window.theme
            self.opener.ask()

    def _load(self, source: OpenRecording) -> None:
        self._cancel()
        if self._history.recording is None:
            return
        source = self._sources.with_settings(source)
        self._reference = self._history
        self._loader = RunLoader(source.path, source.options, source.memory)
        self._show_panel()

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
                self.opener.open_path(self._waiting.pop(0))
        loader = self._loader
        if loader is None:
            return
        if self._history is not self._reference:
            self._cancel()
            return
        if not loader.done:
            task, share = loader.progress
            known = f", {100.0 * share:.0f} %" if share == share else ""
            self._panel.show_loading(f"{loader.path.name}: {task}{known}")
            return
        self._cancel()
        if loader.history is None:
            self._notify("error", loader.failure)
            return
        run = ComparedRun(loader.history)
        if not alignment_channel(self._history, run, self._window.view.actuator):
            shown = "" if self._history.recording is None else self._history.recording.name
            self._notify("error", f"{run.name} has no channel of {shown}: channels are compared by name and unit")
            return
        self._set((*self._history.compared, align(self._history, run, self._window.view.actuator)))

    def _set(self, runs: tuple[ComparedRun, ...]) -> None:
        self._history.compare(runs)
        self._window.redraw()

    def _show_panel(self) -> None:
        self._layouts.show_panel(ComparisonPanel.key, "Comparison")
