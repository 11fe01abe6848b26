"""Catalogue of runs on the start page: the run files of a folder with outcome, worst delay, alarms and notes."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import QModelIndex, QPoint, QSettings, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QGuiApplication, QHideEvent, QPalette, QShowEvent
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QLineEdit, QPushButton, QVBoxLayout, QWidget

from gui.model.run_catalogue import RunFilter, RunListing, read_listing
from gui.sources.opening.connect_dialog import RECORDED
from gui.sources.opening.run_table import RunTable, RunView
from gui.sources.processes.child_process import ChildProcess, CommandJob, ProcessFactory
from gui.widgets.layout import fill
from gui.widgets.menus import MenuEntry, ask_path, show_context_menu
from gui.widgets.painting import ElidedLabel, MutedLabel
from gui.widgets.theme import Theme

_CHOSEN = "runs/folder"
_ROWS = 12
_NO_FOLDER = "no folder yet: choose one, drop one here, or record a run"


class RunList(QWidget):
    """Runs of a folder, listed by another process whenever the widget is shown.

    Parameters
    ----------
    settings : that store the folder.
    theme : colours.
    fills : the table has the height of the widget; else it is as high as its rows, to be on a page that is scrolled.
    launch : creates processes.

    Signals
    -------
    opened : path of a run.
    compared : paths of runs; the others are drawn over the first.
    reported : path of a run on which a report is wanted.
    """

    opened = Signal(str)
    compared = Signal(list)
    reported = Signal(str)

    def __init__(
        self, settings: QSettings, theme: Theme, *, fills: bool = False, launch: ProcessFactory = ChildProcess
    ) -> None:
        super().__init__()
        self.theme = theme
        self._settings, self._fills, self._launch = settings, fills, launch
        self._job: CommandJob | None = None
        self._listing, self._stale = RunListing(), True
        self._listed: Path | None = None
        self.last_opened = ""
        self._fault = ""
        self._most = _ROWS
        self.place = ElidedLabel()
        self.choose = QPushButton("Choose a folder…")
        self.again = QPushButton("Refresh")
        self.filter = QLineEdit(placeholderText="filter by name, notes, record", clearButtonEnabled=True)
        self.filter.setAccessibleName("show only runs with these words in name, notes or record")
        self.with_alarms = QCheckBox("with alarms only")
        self.table = RunTable(theme, self)
        self.view = RunView(self.table)
        self.status = MutedLabel()
        self._lay_out()
        self.choose.clicked.connect(self._browse)
        self.again.clicked.connect(self.refresh)
        self.filter.textChanged.connect(self._filter)
        self.with_alarms.toggled.connect(self._filter)
        self.view.opened.connect(self._open)
        self.view.menu_requested.connect(self._show_menu)
        self.apply_theme(theme)
        self._show()

    @property
    def folder(self) -> Path | None:
        """The folder whose runs are listed: the chosen one, or that of the recordings; None: neither is known."""
        text = str(self._settings.value(_CHOSEN, "")) or str(self._settings.value(RECORDED, ""))
        return Path(text).absolute() if text else None

    @property
    def processes(self) -> tuple[ChildProcess, ...]:
        """The running process."""
        return () if self._job is None or self._job.process is None else (self._job.process,)

    def set_folder(self, folder: str | Path) -> None:
        """List the runs of another folder, now and at the next start."""
        self._settings.setValue(_CHOSEN, str(Path(folder).absolute()))
        self.refresh()

    def set_room(self, height: int) -> None:
        """Set how high the table may be, px; longer ones are scrolled."""
        self._most = max(_ROWS // 2, height // self.view.verticalHeader().defaultSectionSize())
        self._fit_rows()

    def refresh(self) -> None:
        """List the runs again: now where the widget is visible, else when it is shown."""
        self._stale = True
        if self._job is not None:
            # it may have passed the file that is new; `_on_finished` starts again
            if self.folder != self._listed:
                self._job.stop()
        elif self.isVisible():
            self._list()
        self._show()

    def stop(self) -> None:
        """Stop the process; what it has read is in the index."""
        if self._job is not None:
            self._stale = True
            self._job.stop()

    def apply_theme(self, theme: Theme) -> None:
        """Apply a theme."""
        self.theme = theme
        self.table.apply_theme(theme)
        self._show_status()

    def showEvent(self, event: QShowEvent) -> None:
        """List the runs."""
        super().showEvent(event)
        if self._job is None:
            self._list()

    def hideEvent(self, event: QHideEvent) -> None:
        """Stop listing: a test that is watched needs the processor."""
        super().hideEvent(event)
        self.stop()

    def _lay_out(self) -> None:
        above, below = QHBoxLayout(), QHBoxLayout()
        above.addWidget(self.place, 1)
        above.addWidget(self.again)
        above.addWidget(self.choose)
        below.addWidget(self.filter, 1)
        below.addWidget(self.with_alarms)
        rows = fill(QVBoxLayout(self), above, below, (self.view, 1), self.status, margins=(0, 0, 0, 0), spacing=6)
        if self._fills:
            rows.addStretch()

    def _list(self) -> None:
        folder, self._stale = self.folder, False
        if folder is None:
            self._show()
            return
        if folder != self._listed:
            self._listing = RunListing()
        self._listed, self._fault = folder, ""
        job = self._job = CommandJob(["runs", str(folder), "--json"], read_listing, self, launch=self._launch)
        job.done.connect(self._accept)
        job.failed.connect(self._fail)
        job.progress.connect(self._show_progress)
        job.finished.connect(self._on_finished)
        self._show()
        job.start()

    def _accept(self, listing: RunListing) -> None:
        self._listing = listing
        self._show()

    def _fail(self, why: str) -> None:
        self._listing, self._fault = RunListing(), why
        self._show()

    def _on_finished(self) -> None:
        self._job = None
        if self._stale and self.isVisible():
            self._list()
        else:
            self._show_status()

    def _filter(self) -> None:
        self.table.show_only(RunFilter(self.filter.text(), self.with_alarms.isChecked()))
        self._show_status()

    def _show(self) -> None:
        """Show the listing, and only the parts that it needs."""
        folder, listing = self.folder, self._listing
        if listing.rows != self.table.all:
            self.table.set_runs(listing.rows)
        self.place.setText(_NO_FOLDER if folder is None else str(folder))
        self.again.setVisible(folder is not None)
        for part in (self.filter, self.with_alarms, self.view):
            part.setVisible(bool(listing.rows))
        self._fit_rows()
        self._show_status()

    def _fit_rows(self) -> None:
        if not self._fills:
            self.view.fit_rows(self._most)

    def _show_progress(self, line: str) -> None:
        self.status.setText(line)

    def _show_status(self) -> None:
        self.status.setText(self._fault or self._status)
        self.status.setVisible(bool(self.status.text()))
        role = QPalette.ColorRole.BrightText if self._fault else QPalette.ColorRole.PlaceholderText
        self.status.setForegroundRole(role)

    @property
    def _status(self) -> str:
        listing, shown = self._listing, len(self.table.rows)
        if self.folder is None:
            return ""
        if not listing.rows:
            return "reading the folder ..." if self._job is not None else f"no run files here{_left_out(listing)}"
        total = f"{len(listing.rows):,} {'run' if len(listing.rows) == 1 else 'runs'}"
        unread = sum(bool(row.problem) for row in listing.rows)
        parts = [f"{shown:,} of {total}" if shown < len(listing.rows) else total]
        parts += [f"{unread} damaged"] if unread else []
        parts += [] if listing.saved else ["the index cannot be saved: the files are read again each time"]
        return "; ".join(parts) + _left_out(listing)

    def _open(self, file: str) -> None:
        if self._listed is not None:
            self.opened.emit(str(self._listed / file))

    def _show_menu(self, index: QModelIndex, at: QPoint) -> None:
        """Offer what can be done with the runs that are selected, or with the one under the mouse."""
        if self._listed is None:
            return
        if not self.view.selectionModel().isRowSelected(index.row(), QModelIndex()):
            self.view.selectRow(index.row())
        chosen = self.view.chosen
        paths = [str(self._listed / row.file) for row in chosen]
        first, other = paths[0], self.last_opened
        one = len(paths) == 1
        if one:
            pair = [other, first]
            known = bool(other) and other != first
            compare = MenuEntry(
                f"Compare with {Path(other).name}" if known else "Compare with the recording opened last",
                partial(self.compared.emit, pair),
                known,
            )
        else:
            compare = MenuEntry(f"Compare the {len(paths)} runs", partial(self.compared.emit, paths))
        show_context_menu(
            self,
            at,
            [MenuEntry("Open", partial(self.opened.emit, first), one), compare],
            [MenuEntry("Report…", partial(self.reported.emit, first), one)],
            [
                MenuEntry("Show in folder", partial(self._show_folder, first), one),
                MenuEntry("Copy path", partial(QGuiApplication.clipboard().setText, "\n".join(paths))),
            ],
        )

    def _show_folder(self, path: str) -> None:
        folder = Path(path).parent
        if not QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder))):
            self._fault = f"no file manager opens {folder}"
            self._show_status()

    def _browse(self) -> None:
        ask_path(self, "Folder of run files", str(self.folder or ""), self.set_folder)


def _left_out(listing: RunListing) -> str:
    return f"; HDF5 files of other programs left out: {listing.foreign}" if listing.foreign else ""
