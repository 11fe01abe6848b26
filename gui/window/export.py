"""Export of panels as figures, and of the span in view as CSV; reports, which open in the browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime
from functools import partial
from pathlib import Path

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QCheckBox,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QWidget,
)

from gui.panels.base import Panel
from gui.plots.figure import ONE_COLUMN, TWO_COLUMNS, Figure, Page
from gui.sources.processes.child_process import CommandJob, finish_all
from gui.sources.processes.recording import OpenRecording
from gui.widgets.lists import row_text
from gui.widgets.menus import MenuEntry, MenuPlace, ask_path
from gui.window.export_files import (
    FORMATS,
    PNG_DPI,
    clipboard_data,
    decimated_note,
    tables_in_view,
    with_title,
    write_figure,
    write_tables,
)
from gui.window.source_controller import SourceController
from gui.window.window import Controller, MainWindow
from monitor.system.files import WriteError

_WIDTHS = {"One column": ONE_COLUMN, "Two columns": TWO_COLUMNS}
_BEGUN = "the span is being written to "
_FORMAT_NAMES = {
    ".pdf": "PDF, vectors, fonts embedded",
    ".svg": "SVG, vectors, editable text",
    ".png": "PNG, 300 dpi",
}


class FigureDialog(QDialog):
    """Asks which panel to export, how wide, with a title or without, and in which format.

    Parameters
    ----------
    panels : to choose from; the first is selected.
    """

    def __init__(self, panels: list[Panel], parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("Export figure")
        self._panels = panels
        self.panel, self.width_box, self.format = QComboBox(), QComboBox(), QComboBox()
        for panel in panels:
            self.panel.addItem(panel.title)
        for name, mm in _WIDTHS.items():
            self.width_box.addItem(f"{name}, {mm:g} mm", mm)
        self.width_box.setCurrentIndex(1)
        for suffix in FORMATS:
            self.format.addItem(_FORMAT_NAMES[suffix], suffix)
        self.titled = QCheckBox("Title with rig, run and time range")
        self.titled.setChecked(True)
        form = QFormLayout(self)
        form.addRow("&Panel", self.panel)
        form.addRow("&Width", self.width_box)
        form.addRow("&Format", self.format)
        form.addRow("", self.titled)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Save | QDialogButtonBox.StandardButton.Cancel)
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        form.addRow(buttons)

    @property
    def chosen(self) -> Panel:
        """The selected panel."""
        return self._panels[self.panel.currentIndex()]


class ExportController(Controller):
    """Connects the actions of exports: asks for a file name, and writes the file."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._focused: Panel | None = None
        self._thread = ThreadPoolExecutor(1, "export")
        self._writing: Future[tuple[Path, ...]] | None = None
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        application.focusChanged.connect(self._remember_panel)
        window.ticked.connect(self._report_written)
        for panel in window.dock_area.panels.values():
            panel.menu_sources.append(partial(self._entries, panel))
        self._actions.connect(
            {
                "file.export_figure": partial(self._ask, None),
                "file.copy_figure": self._copy_focused,
                "file.export_csv": self._ask_csv,
            }
        )

    def set_enabled(self, enabled: bool) -> None:
        """Enable or disable the actions."""
        for name in ("export_figure", "copy_figure", "export_csv"):
            self._actions.enable(f"file.{name}", enabled)

    def close(self) -> None:
        """Wait for a file that is being written."""
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.focusChanged.disconnect(self._remember_panel)
        self._thread.shutdown(wait=True)

    def write_figure(self, panel: Panel, path: Path, mm: float = TWO_COLUMNS, *, titled: bool = True) -> None:
        """Write a panel as a figure of `mm` width, and report the result."""
        page = self._page(panel, mm, path.suffix.lower() == ".png")
        try:
            write_figure(self._figure(panel, page, titled=titled), page, path)
        except (WriteError, ValueError) as problem:
            self._notify("error", str(problem))
        else:
            self._notify("info", f"{panel.title}: saved as {path}")

    def copy(self, panel: Panel) -> None:
        """Copy a panel as a figure to the clipboard, and report it."""
        page = self._page(panel, TWO_COLUMNS, raster=True)
        try:
            data = clipboard_data(self._figure(panel, page), page)
        except ValueError as problem:
            self._notify("warning", str(problem))
        else:
            focused = QApplication.focusWidget()
            if isinstance(focused, QAbstractItemView) and focused.currentIndex().isValid():
                # a list has its selected row as text too
                data.setText(row_text(focused.currentIndex()))
            QApplication.clipboard().setMimeData(data)
            self._notify("info", f"{panel.title}: copied to the clipboard")

    def write_csv(self, path: Path, span: tuple[float, float] | None = None) -> None:
        """Write the samples and results of a span, or of that in view, in a thread."""
        view, history = self._window.view, self._history
        if self._writing is not None:
            self._notify("warning", "the previous export is still being written")
            return
        left, right = span or (view.left, view.right)
        try:
            # copied here: the history changes while the thread writes
            tables = tables_in_view(history, left, right)
        except WriteError as problem:
            self._notify("error", str(problem))
            return
        missing = decimated_note(history, left)
        if missing:
            self._notify("warning", missing)
        self._notify("info", f"{_BEGUN}{path}")
        self._writing = self._thread.submit(write_tables, tables, path)

    def _page(self, panel: Panel, mm: float, raster: bool) -> Page:
        dpi = float(panel.logicalDpiX())
        return Page(mm, dpi, PNG_DPI / dpi if raster else 1.0)

    def _figure(self, panel: Panel, page: Page, *, titled: bool = True) -> Figure:
        history = self._history
        figure = panel.figure(page, history)
        if not titled:
            return figure
        stored = history.signals or history.results
        rig = "" if stored is None else stored.stream.rig
        run = Path(history.run_path).name if history.recording is None else history.recording.name
        source = [f"{kind} {name}" for kind, name in (("rig", rig), ("run", run)) if name]
        if rig and rig in run:
            # a run is named after its rig
            source = source[1:]
        return with_title(figure, page, panel.font(), source)

    def _report_written(self) -> None:
        if self._writing is None or not self._writing.done():
            return
        done, self._writing = self._writing, None
        try:
            self._notify("info", f"saved: {', '.join(str(path) for path in done.result())}", ends=_BEGUN)
        except WriteError as problem:
            self._notify("error", str(problem), ends=_BEGUN)

    def _remember_panel(self, _old: QWidget | None, new: QWidget | None) -> None:
        """Remember the panel that had the focus last."""
        while new is not None and not isinstance(new, Panel):
            new = new.parentWidget()
        if new is not None:
            self._focused = new

    @property
    def _shown(self) -> list[Panel]:
        """The visible panels; the one that had the focus last is first."""
        return sorted(self._window.dock_area.visible_panels, key=lambda panel: panel is not self._focused)

    def _copy_focused(self) -> None:
        if shown := self._shown:
            self.copy(shown[0])

    def _entries(self, panel: Panel, place: MenuPlace) -> Iterator[MenuEntry]:
        """Return the exports of a panel for its context menu."""
        for key, act in (
            ("file.copy_figure", partial(self.copy, panel)),
            ("file.export_figure", partial(self._ask, panel)),
            ("file.export_csv", self._ask_csv),
        ):
            if self._actions[key].isEnabled():
                yield MenuEntry(self._actions[key].text(), act)
        region = self._window.view.marked_region(place.x)
        if region is not None and self._actions["file.export_csv"].isEnabled():
            yield MenuEntry("Export between the cursors as CSV…", partial(self._ask_csv, region))

    def _ask(self, first: Panel | None) -> None:
        """Ask for a figure; `first` is selected, or else the panel that had the focus last."""
        dialog = FigureDialog(sorted(self._shown, key=lambda panel: panel is not first), self._window)
        dialog.accepted.connect(lambda: self._ask_figure_path(dialog))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _ask_figure_path(self, dialog: FigureDialog) -> None:
        panel, suffix = dialog.chosen, dialog.format.currentData()
        mm, titled = dialog.width_box.currentData(), dialog.titled.isChecked()
        self._ask_path(
            f"{panel.key}{suffix}",
            f"Figures (*{suffix})",
            lambda path: self.write_figure(panel, path, mm, titled=titled),
        )

    def _ask_csv(self, span: tuple[float, float] | None = None) -> None:
        self._ask_path("span.csv", "Tables (*.csv)", partial(self.write_csv, span=span))

    def _ask_path(self, name: str, kinds: str, write: Callable[[Path], None]) -> None:
        stem, dot, suffix = name.partition(".")
        place = f"{stem}-{datetime.now():%Y%m%d-%H%M%S}{dot}{suffix}"
        ask_path(self._window, "Export", place, lambda text: write(Path(text)), kinds=kinds, suffix=suffix)


_REPORT_BEGUN = "the report on "
_TIMEOUT = 1.0  # s for the process to end


class ReportController(Controller):
    """Asks for a file name, and writes the report of a recording in a process of its own, one at a time.

    Parameters
    ----------
    sources : knows the file and its options.
    """

    def __init__(self, window: MainWindow, sources: SourceController) -> None:
        super().__init__(window)
        self._sources = sources
        self._job: CommandJob | None = None
        self._actions["file.report"].triggered.connect(self._ask)

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
        self._job = CommandJob(words, read, self)
        self._job.done.connect(partial(self._open, page))
        self._job.failed.connect(lambda why: self._notify("error", f"no report: {why}", ends=_REPORT_BEGUN))
        self._job.finished.connect(self._on_finished)
        self._notify("info", f"{_REPORT_BEGUN}{path.name} is being written to {page}")
        self._job.start()

    def close(self) -> None:
        """Stop a report that is being written; nothing is left of it."""
        if self._job is not None and self._job.process is not None:
            self._job.stop()
            finish_all([self._job.process], _TIMEOUT)

    def _on_finished(self) -> None:
        self._job = None

    def _open(self, page: Path, _result: object) -> None:
        self._notify("info", f"report saved as {page}", ends=_REPORT_BEGUN)
        if not QDesktopServices.openUrl(QUrl.fromLocalFile(str(page))):
            self._notify("warning", f"no browser opens {page}: open it by hand")

    def _ask(self) -> None:
        source = self._sources.source
        if isinstance(source, OpenRecording):
            self.ask(source.path, ("report", str(source.path), *source.options))
            return
        recorded = self._history.run_path
        if not recorded:
            self._notify(
                "warning", "nothing is recorded, so there is nothing to report on: record with --record PATH"
            )
        elif not Path(recorded).is_file():
            self._notify("warning", f"{recorded} is on the service's machine: run synchroscope report there")
        else:
            self.ask(Path(recorded))
