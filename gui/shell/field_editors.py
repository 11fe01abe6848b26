"""Editors of single settings: each gives what was entered, right or wrong, and says when it is another."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFileDialog,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QToolButton,
    QWidget,
)

from gui.shell.setting_field import SettingField

_COLUMNS = 3
_NARROW, _WIDE = 110, 300


class FieldEditor(QWidget):
    """What all editors have in common.

    Signals
    -------
    changed : something else is entered.
    """

    changed = Signal()

    def __init__(self, field: SettingField) -> None:
        super().__init__()
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self.field = field

    def value(self) -> Any:
        """Return what is entered, as its section takes it; None for nothing."""
        raise NotImplementedError

    def show_value(self, value: Any) -> None:
        """Enter a value."""
        raise NotImplementedError

    def _end(self) -> None:
        """Put the unit behind what is there; the rest of the row stays empty where nothing takes it."""
        if self.field.unit:
            self._row.addWidget(QLabel(self.field.unit))
        self._row.addStretch(1)

    def _line(self, name: str = "", *, width: int = 0) -> QLineEdit:
        line = QLineEdit()
        line.setAccessibleName(f"{self.field.label} {name}".strip())
        line.setPlaceholderText(self.field.empty)
        if width:
            line.setFixedWidth(width)
        line.textChanged.connect(self.changed)
        self._row.addWidget(line)
        self.setFocusProxy(line)
        return line


class TextEditor(FieldEditor):
    """A line of text."""

    def __init__(self, field: SettingField) -> None:
        super().__init__(field)
        self.line = self._line()

    def value(self) -> Any:
        """Return the text without blanks around it."""
        return self.line.text().strip()

    def show_value(self, value: Any) -> None:
        """Enter a text."""
        self.line.setText(value)


class NumberEditor(FieldEditor):
    """A number; what is none is given as text, so that its section refuses it."""

    def __init__(self, field: SettingField) -> None:
        super().__init__(field)
        self.line = self._line(width=_WIDE if field.kind == "amount" or field.empty else _NARROW)
        self._end()

    def value(self) -> Any:
        """Return the number."""
        return _read(self.line.text())

    def show_value(self, value: Any) -> None:
        """Enter a number, a text, or nothing."""
        self.line.setText(value if isinstance(value, str) else _written(value))


class PairEditor(FieldEditor):
    """Two numbers, or nothing."""

    def __init__(self, field: SettingField) -> None:
        super().__init__(field)
        self.low = self._line("from", width=_NARROW)
        self._row.addWidget(QLabel("to"))
        self.high = self._line("to", width=_NARROW)
        for line in (self.low, self.high):
            line.setPlaceholderText("")
        self.setFocusProxy(self.low)
        self._end()

    def value(self) -> Any:
        """Return both numbers; None where there is neither."""
        pair = _read(self.low.text()), _read(self.high.text())
        return None if pair == (None, None) else pair

    def show_value(self, value: Any) -> None:
        """Enter both numbers, or nothing."""
        for line, number in zip((self.low, self.high), value or (None, None), strict=True):
            line.setText(_written(number))


class NamesEditor(FieldEditor):
    """Several texts in one line."""

    def __init__(self, field: SettingField, mark: str) -> None:
        super().__init__(field)
        self._mark = mark
        self.line = self._line()

    def value(self) -> Any:
        """Return the texts."""
        return tuple(text for part in self.line.text().split(self._mark) if (text := part.strip()))

    def show_value(self, value: Any) -> None:
        """Enter the texts."""
        self.line.setText(f"{self._mark} ".join(value))


class SwitchEditor(FieldEditor):
    """Yes or no."""

    def __init__(self, field: SettingField) -> None:
        super().__init__(field)
        self.box = QCheckBox("on")
        self.box.setAccessibleName(field.label)
        self.box.toggled.connect(self.changed)
        self._row.addWidget(self.box)
        self.setFocusProxy(self.box)

    def value(self) -> Any:
        """Return whether it is on."""
        return self.box.isChecked()

    def show_value(self, value: Any) -> None:
        """Switch on or off."""
        self.box.setChecked(bool(value))


class ChoiceEditor(FieldEditor):
    """One of several."""

    def __init__(self, field: SettingField) -> None:
        super().__init__(field)
        self.box = QComboBox()
        self.box.setAccessibleName(field.label)
        for value, text in field.choices:
            self.box.addItem(text, value)
        self.box.currentIndexChanged.connect(self.changed)
        self._row.addWidget(self.box)
        self.setFocusProxy(self.box)
        self._end()

    def value(self) -> Any:
        """Return what is chosen."""
        return self.box.currentData()

    def show_value(self, value: Any) -> None:
        """Choose."""
        self.box.setCurrentIndex([known for known, _ in self.field.choices].index(value))


class SeveralEditor(FieldEditor):
    """Some of several."""

    def __init__(self, field: SettingField) -> None:
        super().__init__(field)
        grid = QGridLayout()
        grid.setContentsMargins(0, 0, 0, 0)
        self.boxes: dict[str | None, QCheckBox] = {}
        for place, (value, text) in enumerate(field.choices):
            box = self.boxes[value] = QCheckBox(text)
            box.toggled.connect(self.changed)
            grid.addWidget(box, place // _COLUMNS, place % _COLUMNS)
        self._row.addLayout(grid)
        self.setFocusProxy(next(iter(self.boxes.values())))
        self._end()

    def value(self) -> Any:
        """Return what is chosen, in the order of the choices."""
        return tuple(value for value, box in self.boxes.items() if box.isChecked())

    def show_value(self, value: Any) -> None:
        """Choose."""
        for known, box in self.boxes.items():
            box.setChecked(known in value)


class PathEditor(TextEditor):
    """A folder, or files, written or picked."""

    def __init__(self, field: SettingField) -> None:
        super().__init__(field)
        button = QToolButton()
        button.setText("…")
        button.setToolTip(f"Choose: {field.label.lower()}")
        button.setAccessibleName(f"Choose: {field.label}")
        button.clicked.connect(self._pick)
        self._row.addWidget(button)

    def _pick(self) -> None:
        picked = QFileDialog.getExistingDirectory(self, self.field.label, self.line.text())
        if picked:
            self.line.setText(picked)


class FilesEditor(NamesEditor):
    """Several files in one line, written or picked."""

    def __init__(self, field: SettingField) -> None:
        super().__init__(field, ";")
        button = QToolButton()
        button.setText("…")
        button.setToolTip(f"Choose: {field.label.lower()}")
        button.setAccessibleName(f"Choose: {field.label}")
        button.clicked.connect(self._pick)
        self._row.addWidget(button)

    def _pick(self) -> None:
        picked, _ = QFileDialog.getOpenFileNames(self, self.field.label)
        if picked:
            self.show_value(picked)


def editor_of(field: SettingField) -> FieldEditor:
    """Return the editor that a setting needs."""
    match field.kind:
        case "number" | "amount":
            return NumberEditor(field)
        case "pair":
            return PairEditor(field)
        case "switch":
            return SwitchEditor(field)
        case "choice":
            return ChoiceEditor(field)
        case "several":
            return SeveralEditor(field)
        case "names":
            return NamesEditor(field, ",")
        case "files":
            return FilesEditor(field)
        case "folder":
            return PathEditor(field)
        case "text":
            return TextEditor(field)


def _read(text: str) -> float | str | None:
    text = text.strip()
    try:
        return float(text.replace(",", ".")) if text else None
    except ValueError:
        return text


def _written(value: float | None) -> str:
    """Return a number with as many digits as it has, a whole one without a point."""
    if value is None:
        return ""
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))
