"""Form of one section of settings: editors, units, descriptions and validation errors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from gui.settings.editors import FieldEditor, editor_of, separator_of
from gui.settings.storage import WindowSettings
from gui.widgets.labels import PlainLabel
from monitor.config import SettingField, Settings, fields_of, problem_text

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
        description = PlainLabel(section.description)
        description.setWordWrap(True)
        self.problem = _problem_label()
        grid = QGridLayout()
        grid.setColumnMinimumWidth(0, _LABEL_WIDTH)
        grid.setColumnStretch(1, 1)
        grid.setVerticalSpacing(2)
        self.rows = {field.key: _Row(field, grid) for field in fields_of(section.model)}
        defaults = QPushButton("Restore defaults")
        defaults.setToolTip(f"Restore the defaults of this page: {section.title}")
        defaults.clicked.connect(self.restore_defaults)
        last = QHBoxLayout()
        last.addStretch(1)
        last.addWidget(defaults)
        layout.addWidget(description)
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
            row.editor.blockSignals(True)
            row.editor.show_value(_value_of(model, row.field))
            row.editor.blockSignals(False)
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
        self.problem.setText(f"▲ {together}" if together else "")
        self.problem.setVisible(bool(together))
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
        self.description = PlainLabel(" ".join(notes))
        self.description.setWordWrap(True)
        self.description.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        self.problem = _problem_label()
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


def _problem_label() -> PlainLabel:
    label = PlainLabel()
    label.setWordWrap(True)
    label.setForegroundRole(QPalette.ColorRole.BrightText)
    label.hide()
    return label


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
