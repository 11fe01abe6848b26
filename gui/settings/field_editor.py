"""What every editor of a setting is to its page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QToolButton, QWidget

from gui.settings.setting_field import SettingField
from gui.widgets.labels import PlainLabel


class FieldEditor(QWidget):
    """Give what was entered, right or wrong, and say when it is another.

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
            self._row.addWidget(PlainLabel(self.field.unit))
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

    def _add_picker(self, pick: Callable[[], None]) -> None:
        """Put a button behind the line that asks for files."""
        button = QToolButton()
        button.setText("…")
        button.setToolTip(f"Choose: {self.field.label.lower()}")
        button.setAccessibleName(f"Choose: {self.field.label}")
        button.clicked.connect(pick)
        self._row.addWidget(button)
