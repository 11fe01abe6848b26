"""The settings dialog: of the window and of the service that it starts; not modal."""

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
    """Pages of settings; nothing is applied before OK, and OK is off while anything is wrong.

    Parameters
    ----------
    window : it belongs to this one.

    Signals
    -------
    accepted_settings : WindowSettings and Settings that were agreed to.
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
            ("Import…", "Take the settings of a service from a file.", self._ask_import),
            ("Export…", "Write those of the service to a file that synchroscope monitor takes.", self._ask_export),
        ):
            button = QPushButton(text)
            button.setToolTip(tip)
            button.clicked.connect(act)
            # apart from what closes the dialog
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
        self.resize(760, 620)
        self._update_message()

    def present(self, window: WindowSettings, service: Settings) -> None:
        """Show these settings."""
        self.search.clear()
        self.pages["window"].show_model(window)
        self.pages["limits"].show_model(window.limits)
        self._show_service(service)
        self.show()
        self.raise_()
        self.activateWindow()

    @property
    def n_problems(self) -> int:
        """How many things are wrong with what is entered."""
        return sum(page.n_problems for page in self.pages.values())

    @property
    def window_settings(self) -> WindowSettings | None:
        """What is entered for the window; None while something is wrong."""
        own, limits = self.pages["window"].model, self.pages["limits"].model
        if own is None or limits is None:
            return None
        return cast(WindowSettings, own).model_copy(update={"limits": cast(DisplayLimitSettings, limits)})

    @property
    def service_settings(self) -> Settings | None:
        """What is entered for the service; None while something is wrong."""
        sections: dict[str, BaseModel | None] = {s.key: self.pages[s.key].model for s in SERVICE_SECTIONS}
        if any(section is None for section in sections.values()):
            return None
        return Settings.model_validate(sections)

    def import_file(self, path: Path) -> None:
        """Enter the settings of a file; what is wrong with it is told, and nothing changes."""
        try:
            self._show_service(load_settings(path, {}))
        except SettingsError as problem:
            self._tell(f"▲ {problem}")

    def export_file(self, path: Path) -> None:
        """Write the settings of the service."""
        settings = self.service_settings
        if settings is None:
            return
        try:
            write_service_settings(settings, path)
            self._tell("")
        except WriteError as problem:
            self._tell(f"▲ {problem}")

    def accept(self) -> None:
        """Let the settings hold, if nothing is wrong with them."""
        window, service = self.window_settings, self.service_settings
        if window is not None and service is not None:
            super().accept()
            self.accepted_settings.emit(window, service)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 Qt's name
        """Let Enter end a search or an entry, and not the dialog."""
        if event.key() not in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            super().keyPressEvent(event)

    def _show_service(self, settings: Settings) -> None:
        for section in SERVICE_SECTIONS:
            self.pages[section.key].show_model(getattr(settings, section.key))

    def _tell(self, text: str) -> None:
        self.message.setText(text)
        self.message.setVisible(bool(text))

    def _update_message(self) -> None:
        """Mark the pages where something is wrong."""
        if not hasattr(self, "ok"):
            return
        for key, page in self.pages.items():
            self._items[key].setText(f"▲ {page.section.title}" if page.n_problems else page.section.title)
        n = self.n_problems
        wrong = [page.section.title for page in self.pages.values() if page.n_problems]
        self._tell(f"▲ {n} {'entry is' if n == 1 else 'entries are'} wrong: {', '.join(wrong)}" if n else "")
        self.ok.setEnabled(not n)

    def _filter(self, text: str) -> None:
        """Show the settings that contain the words, and the pages that have one."""
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
