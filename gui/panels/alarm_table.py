"""The alarms as rows of a table, in the order of the list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QBrush, QColor, QFont

from gui.model.alarm_summary import in_order
from gui.panels.listed import Index, ListedRows
from gui.widgets.level_colour import level_colour
from gui.widgets.plain_text import plain_tip
from gui.widgets.theme import Theme
from gui.wording.alarm_text import (
    amount,
    counted_before,
    normal_text,
    sentence,
    severity_level,
    severity_shape,
    severity_word,
    since_text,
    state_words,
    subject,
)
from gui.wording.numbers import DASH
from monitor.messages.alarms import Alarm, AlarmState

HEADINGS = ("alarm", "of", "value", "normal", "state", "since")
_NUMBERS = (2, 3, 5)
_LISTED = (AlarmState.SHELVED, AlarmState.OUT_OF_SERVICE)


class AlarmTable(ListedRows):
    """The alarms that stand or are put aside; on demand those that are normal too."""

    headings = HEADINGS

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._alarms: Sequence[Alarm] = ()
        self._rows: tuple[Alarm, ...] = ()
        self._with_normal = False
        self._old = False
        self._bold = QFont()
        self._bold.setBold(True)

    @property
    def rows(self) -> tuple[Alarm, ...]:
        """What is listed."""
        return self._rows

    def take(self, alarms: Sequence[Alarm], *, old: bool = False) -> None:
        """List these; `old`: nobody knows whether they are still so."""
        if alarms is not self._alarms or old != self._old:
            self._alarms, self._old = alarms, old
            self._list()

    def show_normal(self, shown: bool) -> None:
        """List those that are normal too, or no longer."""
        self._with_normal = shown
        self._list()

    def restyle(self, theme: Theme) -> None:
        """Take other colours."""
        self._theme = theme
        self._tell_changed(0, len(self._rows) - 1)

    def row_of(self, name: str) -> int:
        """Return the row of an alarm; -1 where it is not listed."""
        return next((row for row, alarm in enumerate(self._rows) if alarm.name == name), -1)

    def _list(self) -> None:
        wanted = [a for a in self._alarms if self._with_normal or a.standing or a.state in _LISTED]
        before, rows = self._rows, in_order(wanted)
        if [alarm.name for alarm in before] != [alarm.name for alarm in rows]:
            self.beginResetModel()
            self._rows = rows
            self.endResetModel()
            return
        # most often only values have changed: what is chosen and where the list stands is left as it is
        self._rows = rows
        self._tell_changed(0, len(rows) - 1)

    def _tell_changed(self, first: int, last: int) -> None:
        if last >= first:
            self.dataChanged.emit(self.index(first, 0), self.index(last, len(HEADINGS) - 1))

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return a cell; what nobody has taken note of is bold, and how grave it is has its colour and a shape."""
        alarm, column = self._rows[index.row()], index.column()
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return _text(alarm, column)
            case Qt.ItemDataRole.ToolTipRole:
                return plain_tip(sentence(alarm))
            case Qt.ItemDataRole.TextAlignmentRole if column in _NUMBERS:
                return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            case Qt.ItemDataRole.FontRole if alarm.needs_acknowledgement:
                return self._bold
            case Qt.ItemDataRole.ForegroundRole:
                return self._brush(alarm, column)
        return None

    def _brush(self, alarm: Alarm, column: int) -> QBrush | None:
        if column == 0 and alarm.standing:
            return QBrush(QColor(level_colour(self._theme, severity_level(alarm.severity))))
        quiet = not alarm.standing or column == len(HEADINGS) - 1
        gone = column in (2, 3) and not alarm.active
        return QBrush(QColor(self._theme.muted)) if quiet or gone or self._old else None


def _text(alarm: Alarm, column: int) -> str:
    match column:
        case 0:
            # an empty shape: it is watched, and nothing is wrong
            shape = severity_shape(alarm.severity) if alarm.standing else "○"
            return f"{shape} {severity_word(alarm.severity)}"
        case 1:
            return subject(alarm)
        case 2:
            return DASH if counted_before(alarm) else amount(alarm, alarm.last)
        case 3:
            return normal_text(alarm)
        case 4:
            return state_words(alarm)
        case _:
            return since_text(alarm)
