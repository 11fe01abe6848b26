"""The menu of layouts: apply, save, delete, and share them as files."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QSettings
from PySide6.QtWidgets import QFileDialog, QInputDialog

from gui.window.action_table import N_LAYOUTS
from gui.window.actions import Actions
from gui.window.layout_files import SUFFIX, LayoutFileError
from gui.window.layouts import LayoutStore
from gui.window.window import MainWindow
from monitor.system.files import WriteError

_FILES = f"Layouts (*{SUFFIX});;All files (*)"


class LayoutController(QObject):
    """Connects the actions of the menu Layouts.

    Parameters
    ----------
    notify : shows a message; arguments are level and text.
    """

    def __init__(
        self, window: MainWindow, actions: Actions, store: QSettings, notify: Callable[[str, str], None]
    ) -> None:
        super().__init__(window)
        self._window, self._actions, self._notify = window, actions, notify
        self.layouts = LayoutStore(window, window.dock_area.docks, store, window.dock_area)
        self.layouts.changed.connect(self._name_layouts)
        actions.connect(
            {f"layout.{n}": partial(self._apply_number, n) for n in range(1, N_LAYOUTS + 1)}
            | {
                "layout.save": self._ask_name,
                "layout.delete": lambda: self.layouts.delete(self.layouts.current),
                "layout.reset": lambda: self._apply(self.layouts.current),
                "layout.export": self._ask_export,
                "layout.import": self._ask_import,
            }
        )

    def restore(self, layout: str = "") -> None:
        """Restore the window as it was closed, and apply `layout`, if there is one."""
        self.layouts.restore_state()
        if layout and layout not in self.layouts.names:
            self._notify("warning", f"there is no layout {layout!r}: there are {', '.join(self.layouts.names)}")
        elif layout:
            self._apply(layout)

    def show_panel(self, key: str, layout: str) -> None:
        """Show a panel; where it is hidden, apply a layout that has it."""
        if self._window.dock_area.docks[key].isHidden():
            self._apply(layout)

    def _apply(self, name: str) -> None:
        if message := self.layouts.apply(name):
            self._notify("warning", message)

    def _apply_number(self, number: int) -> None:
        if number <= len(self.layouts.names):
            self._apply(self.layouts.names[number - 1])

    def _name_layouts(self) -> None:
        self._actions.name_layouts(self.layouts.names, self.layouts.current)
        self._actions.enable("layout.delete", self.layouts.current in self.layouts.saved)

    def _ask_name(self) -> None:
        dialog = QInputDialog(self._window)
        dialog.setWindowTitle("Save layout")
        dialog.setLabelText("Name of the layout:")
        dialog.textValueSelected.connect(self._save)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _ask_export(self) -> None:
        name = "".join(letter if letter.isalnum() else "-" for letter in self.layouts.current)
        dialog = QFileDialog(self._window, "Export layout", f"{name}{SUFFIX}", _FILES)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        self._ask(dialog, self.export)

    def _ask_import(self) -> None:
        dialog = QFileDialog(self._window, "Import layout", "", _FILES)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        self._ask(dialog, self.import_file)

    def _ask(self, dialog: QFileDialog, use: Callable[[Path], None]) -> None:
        dialog.fileSelected.connect(lambda text: use(Path(text)))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def export(self, path: Path) -> None:
        """Write the arrangement of the panels to a file, and report it."""
        try:
            self.layouts.export(path)
        except WriteError as problem:
            self._notify("error", str(problem))
        else:
            self._notify("info", f"layout {self.layouts.current}: saved as {path}")

    def import_file(self, path: Path) -> None:
        """Apply and save the layout in a file, and report it."""
        try:
            name = self.layouts.import_file(path)
        except LayoutFileError as problem:
            self._notify("error", str(problem))
        else:
            self._notify("info", f"layout {name}: imported from {path}")

    def _save(self, name: str) -> None:
        try:
            self.layouts.save(name)
        except ValueError as problem:
            self._notify("error", str(problem))
