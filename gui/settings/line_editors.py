"""Settings that are written: texts, numbers, names, folders and files."""

from __future__ import annotations

from typing import Any

from PySide6.QtWidgets import QFileDialog

from gui.settings.field_editor import FieldEditor
from gui.settings.setting_field import SettingField
from gui.widgets.labels import PlainLabel

_NARROW, _WIDE = 110, 300


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
        self._row.addWidget(PlainLabel("to"))
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


class FolderEditor(TextEditor):
    """A folder, written or picked."""

    def __init__(self, field: SettingField) -> None:
        super().__init__(field)
        self._add_picker(self._pick)

    def _pick(self) -> None:
        picked = QFileDialog.getExistingDirectory(self, self.field.label, self.line.text())
        if picked:
            self.line.setText(picked)


class FilesEditor(NamesEditor):
    """Several files in one line, written or picked."""

    def __init__(self, field: SettingField) -> None:
        super().__init__(field, ";")
        self._add_picker(self._pick)

    def _pick(self) -> None:
        picked, _ = QFileDialog.getOpenFileNames(self, self.field.label)
        if picked:
            self.show_value(picked)


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
