"""One section of settings: every field with its editor, its unit, what it does, and what is wrong with it."""

from __future__ import annotations

import re
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from gui.settings.field_editor import FieldEditor
from gui.settings.field_editors import editor_of
from gui.settings.setting_field import SettingField, SettingsSection
from gui.widgets.labels import PlainLabel

_OPTIONS = re.compile(r" \([^()]*--[^()]*\)")
_APART = ("limits",)  # of the window: a page of its own


class _Row:
    """The widgets of one field in the grid of its page."""

    def __init__(self, field: SettingField, grid: QGridLayout) -> None:
        self.field = field
        self.editor: FieldEditor = editor_of(field)
        self.label = PlainLabel(field.label)
        self.label.setBuddy(self.editor)
        # its line of text beside that of the editor
        self.label.setContentsMargins(0, 5, 8, 0)
        # two lines have no room to say it in
        empty = f" Empty: {field.empty}." if field.kind == "pair" else ""
        self.does = PlainLabel(field.does + empty)
        self.does.setWordWrap(True)
        self.does.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        self.problem = PlainLabel()
        self.problem.setWordWrap(True)
        self.problem.setForegroundRole(QPalette.ColorRole.BrightText)
        self.problem.hide()
        self.editor.setToolTip(field.does)
        place = grid.rowCount()
        grid.addWidget(self.label, place, 0, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(self.editor, place, 1)
        grid.addWidget(self.problem, place + 1, 1)
        grid.addWidget(self.does, place + 2, 1)
        grid.setRowMinimumHeight(place + 3, 8)

    def tell(self, problem: str) -> None:
        self.problem.setText(f"▲ {problem}" if problem else "")
        self.problem.setVisible(bool(problem) and not self.label.isHidden())

    def show(self, shown: bool) -> None:
        for widget in (self.label, self.editor, self.does):
            widget.setVisible(shown)
        self.problem.setVisible(shown and bool(self.problem.text()))

    def holds(self, words: list[str]) -> bool:
        text = f"{self.field.label} {self.field.key} {self.field.does} {self.field.unit}".casefold()
        return all(word in text for word in words)


class SettingsPage(QWidget):
    """The settings of one section.

    Parameters
    ----------
    section : what there is to set, and the model that checks it.

    Signals
    -------
    changed : something else is entered.
    """

    changed = Signal()

    def __init__(self, section: SettingsSection) -> None:
        super().__init__()
        self.section = section
        layout = QVBoxLayout(self)
        about = PlainLabel(section.about)
        about.setWordWrap(True)
        self.problem = PlainLabel()
        self.problem.setWordWrap(True)
        self.problem.setForegroundRole(QPalette.ColorRole.BrightText)
        self.problem.hide()
        grid = QGridLayout()
        grid.setColumnStretch(1, 1)
        grid.setVerticalSpacing(2)
        self.rows = {field.key: _Row(field, grid) for field in section.fields}
        defaults = QPushButton("Restore defaults")
        defaults.setToolTip(f"Let the settings of this page be as at first: {section.title}")
        defaults.clicked.connect(self.restore_defaults)
        last = QHBoxLayout()
        last.addStretch(1)
        last.addWidget(defaults)
        layout.addWidget(about)
        layout.addWidget(self.problem)
        layout.addLayout(grid)
        layout.addStretch(1)
        layout.addLayout(last)
        self._default = section.model()
        self._beside: dict[str, Any] = {}
        self.n_problems = 0
        self.model: BaseModel | None = None
        self.show_model(self._default)
        for row in self.rows.values():
            row.editor.changed.connect(self._check)

    def show_model(self, model: BaseModel) -> None:
        """Enter the settings of a section; those that have no field stay as they are."""
        shown = {row.field.path[0] for row in self.rows.values()}
        self._beside = {key: getattr(model, key) for key in model.model_fields_set - shown if key not in _APART}
        self._enter(model)

    def _enter(self, model: BaseModel) -> None:
        for row in self.rows.values():
            row.editor.blockSignals(True)
            row.editor.show_value(_at(model, row.field.path))
            row.editor.blockSignals(False)
        self._check()

    def restore_defaults(self) -> None:
        """Enter what is so at first; what has no field stays."""
        self._enter(self._default)

    def narrow(self, words: list[str]) -> int:
        """Show the fields that hold every word, or all if the title does; return how many."""
        whole = all(word in self.section.title.casefold() for word in words)
        found = 0
        for row in self.rows.values():
            shown = whole or row.holds(words)
            row.show(shown)
            found += shown
        return found

    def _check(self) -> None:
        """Say what is wrong with each field, and with all of them together."""
        given = dict(self._beside)
        problems: dict[str, str] = {}
        for key, row in self.rows.items():
            value = row.editor.value()
            # what is as at first is not given: a section may ask what was
            if value != _at(self._default, row.field.path):
                _put(given, row.field.path, value)
            wrong = row.field.check(value) if row.field.check else ""
            if wrong:
                problems[key] = wrong
        together = ""
        self.model = None
        try:
            model = self.section.model.model_validate(given)
        except ValidationError as found:
            for error in found.errors():
                place = self._field_at(error["loc"])
                if place is None:
                    together = together or _sentence(error)
                else:
                    problems.setdefault(place, _sentence(error))
        else:
            self.model = None if problems else model
        for name, row in self.rows.items():
            row.tell(problems.get(name, ""))
        self.problem.setText(f"▲ {together}" if together else "")
        self.problem.setVisible(bool(together))
        self.n_problems = len(problems) + bool(together)
        self.changed.emit()

    def _field_at(self, location: tuple[int | str, ...]) -> str | None:
        return next((k for k, row in self.rows.items() if location[: len(row.field.path)] == row.field.path), None)


def _at(model: BaseModel, path: tuple[str, ...]) -> Any:
    value: Any = model
    for part in path:
        value = getattr(value, part)
    return value


def _put(document: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for part in path[:-1]:
        document = document.setdefault(part, {})
    document[path[-1]] = value


def _sentence(error: ErrorDetails) -> str:
    if error["input"] is None:
        return "a value is needed"
    text = error["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
    # what is an option on the command line is a field here
    text = _OPTIONS.sub("", text.partition(", unable to parse")[0])
    return text.replace("a valid integer", "a whole number").replace(" valid ", " ")
