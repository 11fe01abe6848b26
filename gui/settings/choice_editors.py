"""Settings that are chosen: yes or no, one of several, some of several."""

from __future__ import annotations

from typing import Any

from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QCheckBox, QComboBox, QGridLayout

from gui.settings.field_editor import FieldEditor
from gui.settings.setting_field import SettingField

_COLUMNS = 3


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


class _StillBox(QComboBox):
    """A list that a wheel, turned to scroll the page, does not change."""

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802 Qt's name
        event.ignore()


class ChoiceEditor(FieldEditor):
    """One of several."""

    def __init__(self, field: SettingField) -> None:
        super().__init__(field)
        self.box = _StillBox()
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
        self.boxes: dict[str | bool | None, QCheckBox] = {}
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
