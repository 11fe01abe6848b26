"""Settings dialog: settings of the window and of the service that it starts; not modal."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from pydantic import BaseModel
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QPalette
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QScrollArea,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from gui.settings.form import SERVICE_SECTIONS, WINDOW_SECTIONS, SettingsForm
from gui.settings.storage import DisplayLimitSettings, WindowSettings, write_service_settings
from gui.widgets.labels import PlainLabel
from gui.widgets.layout import set_row_padding
from monitor.config import Settings, SettingsError, load_settings
from monitor.system.files import WriteError

_FILES = "Settings (*.toml);;All files (*)"
_LIST_WIDTH = 150


class SettingsDialog(QDialog):
    """One page for each section; applied with OK, which is disabled while an entry is invalid.

    Parameters
    ----------
    window : its parent.

    Signals
    -------
    accepted_settings : the WindowSettings and the Settings of the service.
    """

    accepted_settings = Signal(object, object)

    def __init__(self, window: QWidget | None = None) -> None:
        super().__init__(window)
        self.setWindowTitle("Settings - Synchroscope")
        self.setModal(False)
        self.search = QLineEdit()
        self.search.setPlaceholderText("Find a setting")
        self.search.setAccessibleName("Find a setting")
        self.search.setClearButtonEnabled(True)
        self.list = QListWidget()
        self.list.setFixedWidth(_LIST_WIDTH)
        self.list.setAccessibleName("Pages")
        set_row_padding(self.list)
        self.stack = QStackedWidget()
        self.pages: dict[str, SettingsForm] = {}
        self._items: dict[str, QListWidgetItem] = {}
        for section in (*WINDOW_SECTIONS, *SERVICE_SECTIONS):
            page = self.pages[section.key] = SettingsForm(section)
            self._items[section.key] = QListWidgetItem(section.title, self.list)
            area = QScrollArea()
            area.setWidgetResizable(True)
            area.setFrameShape(QFrame.Shape.NoFrame)
            area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
            area.setWidget(page)
            self.stack.addWidget(area)
            page.changed.connect(self._update_message)
        self.list.currentRowChanged.connect(self.stack.setCurrentIndex)
        self.message = PlainLabel()
        self.message.setWordWrap(True)
        self.message.setForegroundRole(QPalette.ColorRole.BrightText)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel)
        self.ok = buttons.button(QDialogButtonBox.StandardButton.Ok)
        for text, tip, act in (
            ("Import…", "Load the settings of a service from a file.", self._ask_import),
            ("Export…", "Save the settings of the service to a file for synchroscope monitor.", self._ask_export),
        ):
            button = QPushButton(text)
            button.setToolTip(tip)
            button.clicked.connect(act)
            # separate from the buttons that close the dialog
            buttons.addButton(button, QDialogButtonBox.ButtonRole.ResetRole)
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        middle = QHBoxLayout()
        middle.addWidget(self.list)
        middle.addWidget(self.stack, 1)
        layout = QVBoxLayout(self)
        layout.addWidget(self.search)
        layout.addLayout(middle, 1)
        layout.addWidget(self.message)
        layout.addWidget(buttons)
        self.search.textChanged.connect(self._filter)
        self.list.setCurrentRow(0)
        self.resize(780, 680)
        self._update_message()

    def present(self, window: WindowSettings, service: Settings) -> None:
        """Show the dialog with these settings."""
        self.search.clear()
        self.pages["window"].show_model(window)
        self.pages["limits"].show_model(window.limits)
        self._show_service(service)
        self.show()
        self.raise_()
        self.activateWindow()

    def show_setting(self, page: str, key: str) -> None:
        """Show the page of a setting, with the focus in its editor."""
        self.list.setCurrentRow(list(self.pages).index(page))
        self.pages[page].rows[key].editor.setFocus()

    @property
    def n_problems(self) -> int:
        """Number of invalid entries."""
        return sum(page.n_problems for page in self.pages.values())

    @property
    def window_settings(self) -> WindowSettings | None:
        """The entered settings of the window; None while an entry is invalid."""
        own, limits = self.pages["window"].model, self.pages["limits"].model
        if own is None or limits is None:
            return None
        return cast(WindowSettings, own).model_copy(update={"limits": cast(DisplayLimitSettings, limits)})

    @property
    def service_settings(self) -> Settings | None:
        """The entered settings of the service; None while an entry is invalid."""
        sections: dict[str, BaseModel | None] = {s.key: self.pages[s.key].model for s in SERVICE_SECTIONS}
        if any(section is None for section in sections.values()):
            return None
        return Settings.model_validate(sections)

    def import_file(self, path: Path) -> None:
        """Enter the settings of a file; an error is shown, and nothing changes."""
        try:
            self._show_service(load_settings(path, {}))
        except SettingsError as problem:
            self._show_message(f"▲ {problem}")

    def export_file(self, path: Path) -> None:
        """Save the settings of the service."""
        settings = self.service_settings
        if settings is None:
            return
        try:
            write_service_settings(settings, path)
            self._show_message("")
        except WriteError as problem:
            self._show_message(f"▲ {problem}")

    def accept(self) -> None:
        """Apply the settings, if all are valid."""
        window, service = self.window_settings, self.service_settings
        if window is not None and service is not None:
            super().accept()
            self.accepted_settings.emit(window, service)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter ends a search or an entry, and does not close the dialog."""
        if event.key() not in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            super().keyPressEvent(event)

    def _show_service(self, settings: Settings) -> None:
        for section in SERVICE_SECTIONS:
            self.pages[section.key].show_model(getattr(settings, section.key))

    def _show_message(self, text: str) -> None:
        self.message.setText(text)
        self.message.setVisible(bool(text))

    def _update_message(self) -> None:
        """Mark the pages with invalid entries."""
        if not hasattr(self, "ok"):
            return
        for key, page in self.pages.items():
            self._items[key].setText(f"▲ {page.section.title}" if page.n_problems else page.section.title)
        n = self.n_problems
        wrong = [page.section.title for page in self.pages.values() if page.n_problems]
        self._show_message(f"▲ {n} invalid {'entry' if n == 1 else 'entries'}: {', '.join(wrong)}" if n else "")
        self.ok.setEnabled(not n)

    def _filter(self, text: str) -> None:
        """Show the settings that contain the words, and the pages with any of these."""
        words = text.casefold().split()
        found = [bool(page.filter_rows(words)) for page in self.pages.values()]
        for shown, item in zip(found, self._items.values(), strict=True):
            item.setHidden(not shown)
        if any(found) and not found[self.list.currentRow()]:
            self.list.setCurrentRow(found.index(True))

    def _ask_import(self) -> None:
        name, _ = QFileDialog.getOpenFileName(self, "Import settings of a service", "", _FILES)
        if name:
            self.import_file(Path(name))

    def _ask_export(self) -> None:
        name, _ = QFileDialog.getSaveFileName(self, "Export settings of a service", "service.toml", _FILES)
        if name:
            self.export_file(Path(name))
