"""Pictures of panels and tables of what is in view, as files."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

from PySide6.QtWidgets import QApplication, QFileDialog, QMenu, QWidget

from gui.panels.base import Panel
from gui.settings.files import ExportError
from gui.window.actions import Actions
from gui.window.bindings import connect_all
from gui.window.export import export_picture
from gui.window.export_csv import left_out, tables_in_view, write_tables
from gui.window.window import MainWindow


class Exports:
    """Ask for a name, and write.

    Parameters
    ----------
    window : whose panels are exported.
    actions : that ask for it.
    say : tells level and text.
    """

    def __init__(self, window: MainWindow, actions: Actions, say: Callable[[str, str], None]) -> None:
        self._window, self._actions, self._say = window, actions, say
        self._focused: Panel | None = None
        self._thread = ThreadPoolExecutor(1, "export")
        self._writing: Future[tuple[Path, ...]] | None = None
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        application.focusChanged.connect(self._remember)
        window.ticked.connect(self._report)
        connect_all(
            actions,
            {
                "file.export_png": lambda: self._choose_panel(".png"),
                "file.export_svg": lambda: self._choose_panel(".svg"),
                "file.export_csv": self._ask_csv,
            },
        )

    def allow(self, there_is_data: bool) -> None:
        """Say whether there is anything to export."""
        for kind in ("png", "svg", "csv"):
            self._actions.enable(f"file.export_{kind}", there_is_data)

    def close(self) -> None:
        """Finish what is being written."""
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.focusChanged.disconnect(self._remember)
        self._thread.shutdown(wait=True)

    def write_picture(self, panel: Panel, path: Path) -> None:
        """Write what a panel shows, and say where."""
        try:
            export_picture(panel, path, panel.title)
        except ExportError as problem:
            self._say("error", str(problem))
        else:
            self._say("info", f"{panel.title}: written to {path}")

    def write_csv(self, path: Path) -> None:
        """Write what is in view; the disk is not waited for."""
        view, history = self._window.view, self._window.watch.history
        if self._writing is not None:
            self._say("warning", "the export before is still being written: wait for it")
            return
        try:
            # copied here: the history goes on
            tables = tables_in_view(history, view.left, view.right)
        except ExportError as problem:
            self._say("error", str(problem))
            return
        missing = left_out(history, view.left)
        if missing:
            self._say("warning", missing)
        self._writing = self._thread.submit(write_tables, tables, path)

    def _report(self) -> None:
        if self._writing is None or not self._writing.done():
            return
        done, self._writing = self._writing, None
        try:
            self._say("info", f"written: {', '.join(str(path) for path in done.result())}")
        except ExportError as problem:
            self._say("error", str(problem))

    def _remember(self, _old: QWidget | None, new: QWidget | None) -> None:
        """Note which panel had the keys last."""
        while new is not None and not isinstance(new, Panel):
            new = new.parentWidget()
        if new is not None:
            self._focused = new

    def _choose_panel(self, suffix: str) -> None:
        """Ask which panel: the one with the keys stands first."""
        shown = list(self._window.desk.seen)
        if self._focused in shown:
            shown.sort(key=lambda panel: panel is not self._focused)
        menu = QMenu(self._window)
        menu.addSection(f"Export as {suffix[1:].upper()}")
        for panel in shown:
            menu.addAction(panel.title, self._asker(panel, suffix))
        menu.aboutToHide.connect(menu.deleteLater)
        menu.setActiveAction(menu.actions()[-len(shown)] if shown else menu.actions()[0])
        menu.popup(self._window.mapToGlobal(self._window.rect().center()))

    def _asker(self, panel: Panel, suffix: str) -> Callable[[], None]:
        return lambda: self._ask(
            f"{panel.key}{suffix}", f"Pictures (*{suffix})", lambda path: self.write_picture(panel, path)
        )

    def _ask_csv(self) -> None:
        self._ask("span.csv", "Tables (*.csv)", self.write_csv)

    def _ask(self, name: str, kinds: str, write: Callable[[Path], None]) -> None:
        stem, dot, suffix = name.partition(".")
        dialog = QFileDialog(self._window, "Export", f"{stem}-{datetime.now():%Y%m%d-%H%M%S}{dot}{suffix}", kinds)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix(suffix)
        dialog.fileSelected.connect(lambda text: write(Path(text)))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()
