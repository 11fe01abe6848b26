"""Editors of settings, one for each kind: text, number, pair, names, path, switch, choice, several choices."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFileDialog,
    QGridLayout,
    QHBoxLayout,
    QLineEdit,
    QToolButton,
    QWidget,
)

from gui.widgets.painting import PlainLabel
from monitor.config import SettingField

_NARROW, _WIDE = 110, 300
_COLUMNS = 3


class FieldEditor(QWidget):
    """Editor of one setting: emits `changed`, and returns the entry, valid or not."""

    changed = Signal()

    def __init__(self, field: SettingField) -> None:
        super().__init__()
        self.field = field
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)

    def value(self) -> Any:
        """Return the entry in the form the section expects; None if it is empty."""
        raise NotImplementedError

    def show_value(self, value: Any) -> None:
        """Enter a value."""
        raise NotImplementedError

    def _add_unit(self) -> None:
        """Add the unit, and stretch."""
        if self.field.unit:
            self._row.addWidget(PlainLabel(self.field.unit))
        self._row.addStretch(1)

    def _line(self, name: str = "", *, width: int = 0) -> QLineEdit:
        line = QLineEdit()
        line.setAccessibleName(f"{self.field.title} {name}".strip())
        if width:
            line.setFixedWidth(width)
        line.textChanged.connect(self.changed)
        self._row.addWidget(line)
        if self.focusProxy() is None:
            self.setFocusProxy(line)
        return line


class TextEditor(FieldEditor):
    """A text or a path, or several in one line."""

    def __init__(self, field: SettingField) -> None:
        super().__init__(field)
        self.line = self._line()
        self.line.setPlaceholderText(field.empty)
        self.separator = separator_of(field)
        if field.opens in ("file", "files", "folder"):
            button = QToolButton()
            button.setText("…")
            button.setToolTip(f"Choose: {field.title}")
            button.setAccessibleName(f"Choose: {field.title}")
            button.clicked.connect(self._pick)
            self._row.addWidget(button)

    def value(self) -> Any:
        """Return the text, stripped, or a tuple of texts."""
        text = self.line.text()
        if not self.separator:
            return text.strip()
        return tuple(part.strip() for part in text.split(self.separator) if part.strip())

    def show_value(self, value: Any) -> None:
        """Enter one text or several."""
        self.line.setText(f"{self.separator} ".join(value) if self.separator else value)

    def _pick(self) -> None:
        if self.field.opens == "folder":
            picked: Any = QFileDialog.getExistingDirectory(self, self.field.title, self.line.text())
        elif self.field.opens == "file":
            picked, _ = QFileDialog.getOpenFileName(self, self.field.title, self.line.text())
        else:
            picked, _ = QFileDialog.getOpenFileNames(self, self.field.title)
        if picked:
            self.show_value(picked)


class NumberEditor(FieldEditor):
    """A number, or an amount such as 8%; other text is returned as it is, so that validation reports it."""

    def __init__(self, field: SettingField) -> None:
        super().__init__(field)
        self.line = self._line(width=_WIDE if field.kind == "amount" or len(field.empty) > 12 else _NARROW)
        self.line.setPlaceholderText(field.empty)
        self._add_unit()

    def value(self) -> Any:
        """Return the number."""
        return _number_or_text(self.line.text())

    def show_value(self, value: Any) -> None:
        """Enter a number, a text, or nothing."""
        self.line.setText(value if isinstance(value, str) else _number_text(value))


class PairEditor(FieldEditor):
    """Two numbers, or nothing."""

    def __init__(self, field: SettingField) -> None:
        super().__init__(field)
        self.low = self._line("from", width=_NARROW)
        self._row.addWidget(PlainLabel("to"))
        self.high = self._line("to", width=_NARROW)
        self._add_unit()

    def value(self) -> Any:
        """Return both numbers; None if both are empty."""
        pair = _number_or_text(self.low.text()), _number_or_text(self.high.text())
        return None if pair == (None, None) else pair

    def show_value(self, value: Any) -> None:
        """Enter both numbers, or nothing."""
        for line, number in zip((self.low, self.high), value or (None, None), strict=True):
            line.setText(_number_text(number))


class SwitchEditor(FieldEditor):
    """A check box."""

    def __init__(self, field: SettingField) -> None:
        super().__init__(field)
        self.box = QCheckBox("on")
        self.box.setAccessibleName(field.title)
        self.box.toggled.connect(self.changed)
        self._row.addWidget(self.box)
        self.setFocusProxy(self.box)

    def value(self) -> Any:
        """Return whether it is checked."""
        return self.box.isChecked()

    def show_value(self, value: Any) -> None:
        """Check or uncheck."""
        self.box.setChecked(bool(value))


class _ComboBox(QComboBox):
    """Ignores the wheel, so that scrolling the page changes nothing."""

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()


class ChoiceEditor(FieldEditor):
    """One of several choices."""

    def __init__(self, field: SettingField) -> None:
        super().__init__(field)
        self.box = _ComboBox()
        self.box.setAccessibleName(field.title)
        for value, label in field.choices:
            self.box.addItem(label, value)
        self.box.currentIndexChanged.connect(self.changed)
        self._row.addWidget(self.box)
        self.setFocusProxy(self.box)
        self._add_unit()

    def value(self) -> Any:
        """Return the selected value."""
        return self.box.currentData()

    def show_value(self, value: Any) -> None:
        """Select."""
        self.box.setCurrentIndex([known for known, _ in self.field.choices].index(value))


class SeveralEditor(FieldEditor):
    """Several of several choices."""

    def __init__(self, field: SettingField) -> None:
        super().__init__(field)
        grid = QGridLayout()
        grid.setContentsMargins(0, 0, 0, 0)
        self.boxes: dict[Any, QCheckBox] = {}
        for place, (value, label) in enumerate(field.choices):
            box = self.boxes[value] = QCheckBox(label)
            box.toggled.connect(self.changed)
            grid.addWidget(box, place // _COLUMNS, place % _COLUMNS)
        self._row.addLayout(grid)
        self.setFocusProxy(next(iter(self.boxes.values())))
        self._add_unit()

    def value(self) -> Any:
        """Return the selected values, in the order of the choices."""
        return tuple(value for value, box in self.boxes.items() if box.isChecked())

    def show_value(self, value: Any) -> None:
        """Select."""
        for known, box in self.boxes.items():
            box.setChecked(known in value)


_EDITORS: dict[str, type[FieldEditor]] = {
    "text": TextEditor,
    "names": TextEditor,
    "number": NumberEditor,
    "amount": NumberEditor,
    "pair": PairEditor,
    "switch": SwitchEditor,
    "choice": ChoiceEditor,
    "several": SeveralEditor,
}


def editor_of(field: SettingField) -> FieldEditor:
    """Return an editor for a setting."""
    return _EDITORS[field.kind](field)


def separator_of(field: SettingField) -> str:
    """Return the separator of several texts; empty for a single text."""
    if field.kind != "names":
        return ""
    # file names may contain commas
    return ";" if field.opens == "files" else ","


def _number_or_text(text: str) -> float | str | None:
    text = text.strip()
    try:
        return float(text.replace(",", ".")) if text else None
    except ValueError:
        return text


def _number_text(value: float | None) -> str:
    """Return the shortest text of a number: 2, 0.5, 2e9."""
    if value is None:
        return ""
    if float(value).is_integer() and abs(value) < 1e6:
        return str(int(value))
    short = f"{value:g}"
    return short.replace("e+0", "e").replace("e+", "e") if float(short) == value else repr(value)
