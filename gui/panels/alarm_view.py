"""The table of the alarms as it is seen and moved through; what is chosen stays so, whatever the order becomes."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QFont, QFontMetrics, QKeyEvent, QPainter, QPaintEvent, QPalette, QResizeEvent
from PySide6.QtWidgets import QHeaderView, QTableView

from gui.panels.alarm_table import HEADINGS, AlarmTable
from gui.panels.listed import look_like_a_list
from monitor.messages.alarms import Alarm

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
        look_like_a_list(self, "alarms; Enter acknowledges, Shift+S shelves, R resets the one that is chosen")
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
        deed = _KEYS.get((Qt.Key(event.key()), shifted)) if plain else None
        if deed is not None:
            self.asked.emit(deed)
        else:
            super().keyPressEvent(event)

    def keyboardSearch(self, search: str) -> None:  # noqa: N802 - Qt's name
        """Do not jump to what begins with a letter: letters ask for something here."""

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Leave out what has no room; the tool tip of a row has it."""
        super().resizeEvent(event)
        needed = sum(self._widths)
        for heading in _GIVE_WAY:
            column = HEADINGS.index(heading)
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
        columns.setSectionResizeMode(HEADINGS.index("of"), QHeaderView.ResizeMode.Stretch)
