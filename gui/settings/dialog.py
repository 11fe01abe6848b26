"""Settings dialog: settings of the window and of the service that it starts; not modal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast

from pydantic import BaseModel, ValidationError
from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QFrame,
    QGridLayout,
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

from gui.settings.editors import FieldEditor, editor_of, separator_of
from gui.settings.storage import DisplayLimitSettings, WindowSettings, write_service_settings
from gui.widgets.layout import fill
from gui.widgets.lists import set_row_padding
from gui.widgets.painting import MutedLabel, PlainLabel, ProblemLabel
from monitor.config import SettingField, Settings, SettingsError, fields_of, load_settings, problem_text
from monitor.system.files import WriteError

_LABEL_WIDTH = 150
_OPTIONS = re.compile(r" \([^()]*--[^()]*\)")


class FormSection(NamedTuple):
    """One page of the dialog: a section of settings with title and description."""

    key: str
    title: str
    description: str
    model: type[BaseModel]


def _sections(model: type[BaseModel]) -> Iterator[FormSection]:
    for name, info in model.model_fields.items():
        if isinstance(info.annotation, type) and issubclass(info.annotation, BaseModel):
            yield FormSection(name, info.title or name, info.description or "", info.annotation)


WINDOW_SECTIONS = (
    FormSection("window", "Window", "Appearance and memory of this window.", WindowSettings),
    *_sections(WindowSettings),
)
SERVICE_SECTIONS = tuple(_sections(Settings))
"""The tables of a settings file of the service."""


class SettingsForm(QWidget):
    """The settings of one section.

    Signals
    -------
    changed : an entry has changed.
    """

    changed = Signal()

    def __init__(self, section: FormSection) -> None:
        super().__init__()
        self.section = section
        layout = QVBoxLayout(self)
        self.problem = ProblemLabel()
        grid = QGridLayout()
        grid.setColumnMinimumWidth(0, _LABEL_WIDTH)
        grid.setColumnStretch(1, 1)
        grid.setVerticalSpacing(2)
        self.rows = {field.key: _Row(field, grid) for field in fields_of(section.model)}
        defaults = QPushButton("Restore defaults")
        defaults.setToolTip(f"Restore the defaults of this page: {section.title}")
        defaults.clicked.connect(self.restore_defaults)
        last = fill(QHBoxLayout(), None, defaults)
        layout.addWidget(PlainLabel(section.description, wordWrap=True))
        layout.addWidget(self.problem)
        layout.addLayout(grid)
        layout.addStretch(1)
        layout.addLayout(last)
        self._default = section.model()
        self._without_editor: dict[str, Any] = {}
        self.n_problems = 0
        self.model: BaseModel | None = None
        self.show_model(self._default)
        for row in self.rows.values():
            row.editor.changed.connect(self._validate)

    def show_model(self, model: BaseModel) -> None:
        """Enter the settings of a section; those without an editor stay as they are."""
        # nested sections have pages of their own
        names = {name for name in model.model_fields_set if not isinstance(getattr(model, name), BaseModel)}
        names -= {row.field.path[0] for row in self.rows.values()}
        self._without_editor = {name: getattr(model, name) for name in names}
        self._enter(model)

    def restore_defaults(self) -> None:
        """Enter the defaults; settings without an editor stay as they are."""
        self._enter(self._default)

    def filter_rows(self, words: list[str]) -> int:
        """Show the settings that contain every word, or all if the title does; return their number."""
        whole = all(word in self.section.title.casefold() for word in words)
        found = 0
        for row in self.rows.values():
            shown = whole or row.contains(words)
            row.show(shown)
            found += shown
        return found

    def _enter(self, model: BaseModel) -> None:
        for row in self.rows.values():
            with QSignalBlocker(row.editor):
                row.editor.show_value(_value_of(model, row.field))
        self._validate()

    def _validate(self) -> None:
        """Show the errors of each setting, and those of the section as a whole."""
        given = dict(self._without_editor)
        problems: dict[str, str] = {}
        for key, row in self.rows.items():
            value = row.editor.value()
            # defaults are left out: `model_fields_set` has what was entered
            if value != _value_of(self._default, row.field):
                _set_value(given, row.field.path, value)
            if wrong := _endpoint_error(row.field, value):
                problems[key] = wrong
        together = ""
        self.model = None
        try:
            model = self.section.model.model_validate(given)
        except ValidationError as found:
            for error in found.errors():
                # options of the command line are fields here
                text = _OPTIONS.sub("", problem_text(error))
                place = self._key_at(error["loc"])
                if place is None:
                    together = together or text
                else:
                    problems.setdefault(place, text)
        else:
            self.model = None if problems else model
        for name, row in self.rows.items():
            row.show_problem(problems.get(name, ""))
        self.problem.show_problem(f"▲ {together}" if together else "")
        self.n_problems = len(problems) + bool(together)
        self.changed.emit()

    def _key_at(self, location: tuple[int | str, ...]) -> str | None:
        return next((k for k, row in self.rows.items() if location[: len(row.field.path)] == row.field.path), None)


class _Row:
    """The widgets of one setting in the grid of the form."""

    def __init__(self, field: SettingField, grid: QGridLayout) -> None:
        self.field = field
        self.editor: FieldEditor = editor_of(field)
        self.label = PlainLabel(field.title)
        self.label.setBuddy(self.editor)
        # aligned with the text of the editor
        self.label.setContentsMargins(0, 5, 8, 0)
        notes = [field.description]
        if field.kind == "pair":
            notes.append(f"Empty: {field.empty}.")
        if separator := separator_of(field):
            notes.append(f"Several are separated by {'semicolons' if separator == ';' else 'commas'}.")
        self.description, self.problem = MutedLabel(" ".join(notes)), ProblemLabel()
        self.editor.setToolTip(field.description)
        place = grid.rowCount()
        grid.addWidget(self.label, place, 0, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(self.editor, place, 1)
        grid.addWidget(self.problem, place + 1, 1)
        grid.addWidget(self.description, place + 2, 1)
        grid.setRowMinimumHeight(place + 3, 8)

    def show_problem(self, problem: str) -> None:
        self.problem.setText(f"▲ {problem}" if problem else "")
        self.problem.setVisible(bool(problem) and not self.label.isHidden())

    def show(self, shown: bool) -> None:
        for widget in (self.label, self.editor, self.description):
            widget.setVisible(shown)
        self.problem.setVisible(shown and bool(self.problem.text()))

    def contains(self, words: list[str]) -> bool:
        text = f"{self.field.title} {self.field.key} {self.field.description} {self.field.unit}".casefold()
        return all(word in text for word in words)


def _endpoint_error(field: SettingField, value: Any) -> str:
    """Return the error of an endpoint, or of the first malformed one of several; empty if there is none."""
    if field.opens not in ("bind", "connect"):
        return ""
    # imported here, so that the window starts without ZeroMQ
    from monitor.transport.base import TransportError
    from monitor.transport.lsl.library import check_signal_endpoint

    for url in value if isinstance(value, tuple) else (value,):
        try:
            if url and url != "none":
                check_signal_endpoint(url, bind=field.opens == "bind")
        except TransportError as problem:
            return str(problem)
    return ""


def _value_of(model: BaseModel, field: SettingField) -> Any:
    """Return the value of a setting; None where it is not set and that differs from its default."""
    value: Any = model
    for part in field.path:
        if field.has_dynamic_default and part not in value.model_fields_set:
            return None
        value = getattr(value, part)
    return value


def _set_value(document: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for part in path[:-1]:
        document = document.setdefault(part, {})
    document[path[-1]] = value


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
        self.search = QLineEdit(placeholderText="Find a setting", clearButtonEnabled=True)
        self.search.setAccessibleName("Find a setting")
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
            area.setAccessibleName(section.title)
            area.setWidgetResizable(True)
            area.setFrameShape(QFrame.Shape.NoFrame)
            area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
            area.setWidget(page)
            self.stack.addWidget(area)
            page.changed.connect(self._update_message)
        self.list.currentRowChanged.connect(self.stack.setCurrentIndex)
        self.message = ProblemLabel()
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
        middle = fill(QHBoxLayout(), self.list, (self.stack, 1))
        fill(QVBoxLayout(self), self.search, (middle, 1), self.message, buttons)
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
            self.message.show_problem(f"▲ {problem}")

    def export_file(self, path: Path) -> None:
        """Save the settings of the service."""
        settings = self.service_settings
        if settings is None:
            return
        try:
            write_service_settings(settings, path)
            self.message.show_problem("")
        except WriteError as problem:
            self.message.show_problem(f"▲ {problem}")

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

    def _update_message(self) -> None:
        """Mark the pages with invalid entries."""
        if not hasattr(self, "ok"):
            return
        for key, page in self.pages.items():
            self._items[key].setText(f"▲ {page.section.title}" if page.n_problems else page.section.title)
        n = self.n_problems
        wrong = ", ".join(page.section.title for page in self.pages.values() if page.n_problems)
        self.message.show_problem(f"▲ {n} invalid {'entry' if n == 1 else 'entries'}: {wrong}" if n else "")
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
