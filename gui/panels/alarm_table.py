"""Table of the alarms: its model, and its view, whose selection survives sorting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QModelIndex, QObject, Qt, Signal
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFont,
    QFontMetrics,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QPalette,
    QResizeEvent,
)
from PySide6.QtWidgets import QHeaderView, QTableView

from gui.model.alarms import in_order
from gui.panels.controls import Index, ListModel, set_list_style
from gui.widgets.labels import plain_tip
from gui.widgets.theme import Theme, level_colour
from gui.wording.event_text import (
    alarm_details,
    alarm_source,
    alarm_value,
    counted_before,
    normal_range,
    severity_level,
    severity_shape,
    severity_word,
    since_text,
    state_text,
)
from gui.wording.numbers import DASH
from monitor.messages.alarms import Alarm, AlarmState

_HEADINGS = ("alarm", "of", "value", "normal", "state", "since")
_NUMBERS = (2, 3, 5)
_LISTED = (AlarmState.SHELVED, AlarmState.OUT_OF_SERVICE)


class AlarmTable(ListModel):
    """The alarms that are active or shelved; on demand those that are normal too."""

    headings = _HEADINGS

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

    def set_alarms(self, alarms: Sequence[Alarm], *, old: bool = False) -> None:
        """List these; `old`: nobody knows whether they are still so."""
        if alarms is not self._alarms or old != self._old:
            self._alarms, self._old = alarms, old
            self._list()

    def show_normal(self, shown: bool) -> None:
        """List those that are normal too, or no longer."""
        self._with_normal = shown
        self._list()

    def apply_theme(self, theme: Theme) -> None:
        """Take other colours."""
        self._theme = theme
        self._tell_changed(0, len(self._rows) - 1)

    def row_of(self, name: str) -> int:
        """Return the row of an alarm; -1 where it is not listed."""
        return next((row for row, alarm in enumerate(self._rows) if alarm.name == name), -1)

    def _list(self) -> None:
        wanted = [a for a in self._alarms if self._with_normal or a.is_annunciated or a.state in _LISTED]
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
            self.dataChanged.emit(self.index(first, 0), self.index(last, len(_HEADINGS) - 1))

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return a cell; what nobody has taken note of is bold, and how grave it is has its colour and a shape."""
        alarm, column = self._rows[index.row()], index.column()
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return _text(alarm, column)
            case Qt.ItemDataRole.ToolTipRole:
                return plain_tip(alarm_details(alarm))
            case Qt.ItemDataRole.TextAlignmentRole if column in _NUMBERS:
                return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            case Qt.ItemDataRole.FontRole if alarm.needs_acknowledgement:
                return self._bold
            case Qt.ItemDataRole.ForegroundRole:
                return self._brush(alarm, column)
        return None

    def _brush(self, alarm: Alarm, column: int) -> QBrush | None:
        if column == 0 and alarm.is_annunciated:
            return QBrush(QColor(level_colour(self._theme, severity_level(alarm.severity))))
        quiet = not alarm.is_annunciated or column == len(_HEADINGS) - 1
        gone = column in (2, 3) and not alarm.active
        return QBrush(QColor(self._theme.muted)) if quiet or gone or self._old else None


def _text(alarm: Alarm, column: int) -> str:
    match column:
        case 0:
            # an empty shape: it is watched, and nothing is wrong
            shape = severity_shape(alarm.severity) if alarm.is_annunciated else "○"
            return f"{shape} {severity_word(alarm.severity)}"
        case 1:
            return alarm_source(alarm)
        case 2:
            return DASH if counted_before(alarm) else alarm_value(alarm, alarm.last)
        case 3:
            return normal_range(alarm)
        case 4:
            return state_text(alarm)
        case _:
            return since_text(alarm)


_WIDEST = ("▲ WARN", "north delay (F", "−88.88 ms", "± 88.8 ms", "returned, unacknowledged", "00:00:00")
_GIVE_WAY = ("since", "normal", "value")  # where there is little room, in this order
_KEYS = {
    (Qt.Key.Key_A, False): "acknowledge",
    (Qt.Key.Key_Return, False): "acknowledge",
    (Qt.Key.Key_Enter, False): "acknowledge",
    (Qt.Key.Key_S, True): "shelve",
    (Qt.Key.Key_R, False): "reset",
}
_MARGIN = 8


class AlarmView(QTableView):
    """A table where keys ask something of the alarm that is chosen.

    Signals
    -------
    asked : acknowledge, shelve or reset.
    chosen : another alarm is the chosen one, or none is, or it has changed.
    """

    asked = Signal(str)
    chosen = Signal()

    def __init__(self, table: AlarmTable) -> None:
        super().__init__()
        self.nothing = ""
        self._widths: list[int] = []
        self._table = table
        self._name, self._scrolled = "", 0
        self.setModel(table)
        set_list_style(self, "alarms; Enter acknowledges, Shift+S shelves, R resets the one that is chosen")
        self._lay_out()
        table.modelAboutToBeReset.connect(self._remember)
        table.modelReset.connect(self._find_again)
        table.dataChanged.connect(self._tell)
        self.selectionModel().currentRowChanged.connect(self._choose)

    @property
    def alarm(self) -> Alarm | None:
        """The one that is chosen."""
        row = self.currentIndex().row()
        return self._table.rows[row] if 0 <= row < len(self._table.rows) else None

    def choose_first(self) -> None:
        """Choose the one that matters most, where none is chosen."""
        if self.alarm is None and self._table.rows:
            self.selectRow(0)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Ask what a key asks; the arrows go through the list."""
        modifiers = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        shifted = modifiers == Qt.KeyboardModifier.ShiftModifier
        plain = shifted or modifiers == Qt.KeyboardModifier.NoModifier
        action = _KEYS.get((Qt.Key(event.key()), shifted)) if plain else None
        if action is not None:
            self.asked.emit(action)
        else:
            super().keyPressEvent(event)

    def keyboardSearch(self, search: str) -> None:  # noqa: N802 - Qt's name
        """Do not jump to what begins with a letter: letters ask for something here."""

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Leave out what has no room; the tool tip of a row has it."""
        super().resizeEvent(event)
        needed = sum(self._widths)
        for heading in _GIVE_WAY:
            column = _HEADINGS.index(heading)
            hidden = needed > self.viewport().width()
            self.setColumnHidden(column, hidden)
            needed -= self._widths[column] * hidden

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Say in an empty table why it is empty."""
        super().paintEvent(event)
        if not self._table.rows and self.nothing:
            painter = QPainter(self.viewport())
            painter.setPen(self.palette().color(QPalette.ColorRole.PlaceholderText))
            area = self.viewport().rect().adjusted(8, 4, -8, -4)
            painter.drawText(area, Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap, self.nothing)
            painter.end()

    def _remember(self) -> None:
        alarm = self.alarm
        self._name = "" if alarm is None else alarm.name
        self._scrolled = self.verticalScrollBar().value()

    def _find_again(self) -> None:
        """Choose the same alarm; where it is no longer listed none is, or a key would be meant for another."""
        row = self._table.row_of(self._name) if self._name else -1
        if row >= 0:
            self.selectRow(row)
        self.verticalScrollBar().setValue(self._scrolled)
        self.chosen.emit()

    def _choose(self, _now: QModelIndex, _before: QModelIndex) -> None:
        self.chosen.emit()

    def _tell(self) -> None:
        self.chosen.emit()

    def _lay_out(self) -> None:
        font = QFont(self.font())
        font.setFeature(QFont.Tag("tnum"), 1)
        self.setFont(font)
        bold = QFont(font)
        bold.setBold(True)
        metrics = QFontMetrics(bold)
        self._widths = [metrics.horizontalAdvance(text) + _MARGIN for text in _WIDEST]
        rows, columns = self.verticalHeader(), self.horizontalHeader()
        rows.hide()
        # one height for all: nothing is measured as rows come
        rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        rows.setDefaultSectionSize(metrics.height() + 6)
        columns.setHighlightSections(False)
        columns.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        for section, width in enumerate(self._widths):
            columns.resizeSection(section, width)
        columns.setSectionResizeMode(_HEADINGS.index("of"), QHeaderView.ResizeMode.Stretch)
