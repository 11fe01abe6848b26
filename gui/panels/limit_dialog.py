"""Limits dialog: the warning and the trip limits of one value, in the units of the display."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from msgspec.structs import replace
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QGridLayout, QLineEdit, QPushButton, QVBoxLayout, QWidget

from gui.model.alarms import NormalRange
from gui.widgets.labels import PlainLabel
from gui.wording.event_text import alarm_source, alarm_value, normal_range, scale_of, severity_shape, severity_word
from monitor.messages.alarms import Alarm, Severity

_DIGITS = 9
_SIDES = ("low", "high")


def limit_pair(alarms: Sequence[Alarm], name: str) -> tuple[Alarm, ...]:
    """Return the warning and the trip alarm of the value of an alarm, as far as requests may change them."""
    base = name.rpartition(".")[0]
    names = [f"{base}.{severity}" for severity in (Severity.WARN, Severity.TRIP)]
    return tuple(alarm for alarm in alarms if alarm.name in names and alarm.changeable)


class LimitDialog(QDialog):
    """Form with a low and a high limit for the warning and the trip of one value; an empty field is no limit.

    It is not modal: the window goes on showing data. It shows what is wrong with the input, and Apply is enabled once
    nothing is.

    Parameters
    ----------
    alarms : warning, trip or both, see `limit_pair`.

    Signals
    -------
    requested : new normal ranges by the name of the alarm, in its unit; only those that were changed.
    """

    requested = Signal(object)

    def __init__(self, alarms: Sequence[Alarm], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._alarms = tuple(alarms)
        self._factor, unit = scale_of(alarms[0].value, alarms[0].unit)
        self.fields: dict[tuple[str, str], QLineEdit] = {}
        self._former: dict[tuple[str, str], tuple[str, float | None]] = {}
        self._now, self.problem = PlainLabel(), PlainLabel()
        self.problem.setWordWrap(True)
        self.setObjectName("limits")
        self.setWindowTitle(f"Limits of {alarm_source(alarms[0])}")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Apply | QDialogButtonBox.StandardButton.Cancel)
        self.apply = buttons.button(QDialogButtonBox.StandardButton.Apply)
        self.restore = QPushButton("Restore settings")
        self.restore.setToolTip("Fill in the limits of the settings of the service")
        buttons.addButton(self.restore, QDialogButtonBox.ButtonRole.ResetRole)
        self._lay_out(unit, buttons)
        self.apply.setDefault(True)
        next(field for field in self.fields.values() if field.text()).setFocus()
        self.apply.clicked.connect(self._accept)
        self.restore.clicked.connect(self._restore)
        buttons.rejected.connect(self.reject)
        self._check()

    def _lay_out(self, unit: str, buttons: QDialogButtonBox) -> None:
        grid = QGridLayout()
        grid.setColumnStretch(1, 1)
        grid.setColumnStretch(2, 1)
        for column, heading in enumerate(("Lowest normal", "Highest normal"), 1):
            grid.addWidget(PlainLabel(heading), 0, column)
        for row, alarm in enumerate(self._alarms, 1):
            grid.addWidget(PlainLabel(f"{severity_shape(alarm.severity)} {severity_word(alarm.severity)}"), row, 0)
            for column, (side, limit) in enumerate(zip(_SIDES, (alarm.low, alarm.high), strict=True), 1):
                field = QLineEdit(self._number(limit), placeholderText="none")
                field.setAccessibleName(f"{severity_word(alarm.severity)}, {side}")
                field.textChanged.connect(self._check)
                self.fields[alarm.name, side] = field
                self._former[alarm.name, side] = field.text(), limit
                grid.addWidget(field, row, column)
            grid.addWidget(PlainLabel("" if unit == "1" else unit), row, 3)
            note = f"settings: {self._configured(alarm)}" if alarm.configured is not None else ""
            grid.addWidget(PlainLabel(note), row, 4)
        layout = QVBoxLayout(self)
        layout.addWidget(self._now)
        self.show_now(self._alarms)
        layout.addLayout(grid)
        layout.addWidget(self.problem)
        layout.addWidget(buttons)

    def show_now(self, alarms: Sequence[Alarm]) -> None:
        """Show the newest value, from the newest alarms of the service."""
        name = self._alarms[-1].name
        for alarm in alarms:
            if alarm.name == name:
                self._now.setText(f"{alarm_source(alarm)} is now {alarm_value(alarm, alarm.last)}")

    def _number(self, limit: float | None) -> str:
        return "" if limit is None else f"{limit * self._factor:.{_DIGITS}g}"

    def _configured(self, alarm: Alarm) -> str:
        low, high = alarm.configured or (None, None)
        return normal_range(replace(alarm, low=low, high=high))

    def _restore(self) -> None:
        for alarm in self._alarms:
            limits = (alarm.low, alarm.high) if alarm.configured is None else alarm.configured
            for side, limit in zip(_SIDES, limits, strict=True):
                self.fields[alarm.name, side].setText(self._number(limit))

    def _accept(self) -> None:
        changed, problem = self._read()
        if changed and not problem:
            self.requested.emit(changed)
            self.accept()

    def _check(self) -> None:
        changed, problem = self._read()
        self.problem.setText(problem)
        self.apply.setEnabled(bool(changed) and not problem)
        self.restore.setEnabled(any(alarm.configured is not None for alarm in self._alarms))

    def _read(self) -> tuple[dict[str, NormalRange], str]:
        """Return the ranges that were changed, and what is wrong with the input; empty if nothing is."""
        ranges: dict[str, NormalRange] = {}
        for alarm in self._alarms:
            word = severity_word(alarm.severity)
            try:
                low, high = (self._limit(alarm.name, side) for side in _SIDES)
            except ValueError as problem:
                return {}, f"{word}: {problem}"
            if low is None and high is None:
                return {}, f"{word}: one limit is needed at least"
            if low is not None and high is not None and low > high:
                return {}, f"{word}: the lowest is above the highest"
            ranges[alarm.name] = low, high
        if len(ranges) == 2:
            warn, trip = ranges.values()
            if _bound(trip[0], min) > _bound(warn[0], min) or _bound(trip[1], max) < _bound(warn[1], max):
                return {}, "the trip limits must not be inside the warning limits"
        before = {alarm.name: (alarm.low, alarm.high) for alarm in self._alarms}
        return {name: each for name, each in ranges.items() if each != before[name]}, ""

    def _limit(self, name: str, side: str) -> float | None:
        text = self.fields[name, side].text().strip()
        former, limit = self._former[name, side]
        if text == former:
            # without rounding
            return limit
        if not text:
            return None
        try:
            number = float(text.replace(",", ".").replace("−", "-"))
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise ValueError(f"{text} is not a number")
        return float(f"{number / self._factor:.12g}")


def _bound(limit: float | None, side: Callable[[float, float], float]) -> float:
    return side(-math.inf, math.inf) if limit is None else limit
