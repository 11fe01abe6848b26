"""Alarm table: its model, and its view, whose selection survives sorting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace
from PySide6.QtCore import QEvent, QObject, QPoint, Qt, Signal
from PySide6.QtGui import (
    QBrush,
    QColor,
    QContextMenuEvent,
    QFont,
    QFontMetrics,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QPalette,
    QResizeEvent,
)
from PySide6.QtWidgets import QHeaderView, QTableView

from gui.model.alarms import NormalRange, sorted_alarms
from gui.widgets.labels import plain_tip
from gui.widgets.lists import Index, ListModel, set_list_style
from gui.widgets.theme import Theme, level_colour
from gui.wording.event_text import (
    NOT_JUDGED_SHAPE,
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
from monitor.messages.alarms import Alarm, AlarmState
from monitor.text.numbers import DASH

_HEADINGS = ("Priority", "Source", "Value", "Normal range", "State", "Since")
_NUMBERS = (2, 3, 5)
_ALWAYS_LISTED = (AlarmState.NOT_JUDGED, AlarmState.SHELVED, AlarmState.OUT_OF_SERVICE)


class AlarmTable(ListModel):
    """Model of the alarms that are active, not judged, shelved or out of service, and optionally of normal ones."""

    headings = _HEADINGS

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._alarms: Sequence[Alarm] = ()
        self._rows: tuple[Alarm, ...] = ()
        self._with_normal = False
        self._stale = False
        self._pending: Mapping[str, NormalRange] = {}
        self._bold = QFont()
        self._bold.setBold(True)

    @property
    def rows(self) -> tuple[Alarm, ...]:
        """The listed alarms."""
        return self._rows

    def set_alarms(
        self,
        alarms: Sequence[Alarm],
        *,
        stale: bool = False,
        pending: Mapping[str, NormalRange] = MappingProxyType({}),
    ) -> None:
        """Set the alarms; `stale`: they may have changed since; `pending`: requested limits by name."""
        if alarms is not self._alarms or stale != self._stale or pending is not self._pending:
            self._alarms, self._stale, self._pending = alarms, stale, pending
            self._update_rows()

    def show_normal(self, shown: bool) -> None:
        """List normal alarms too, or not."""
        self._with_normal = shown
        self._update_rows()

    def apply_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme."""
        self._theme = theme
        self._emit_changed(0, len(self._rows) - 1)

    def row_of(self, name: str) -> int:
        """Return the row of an alarm; -1 where it is not listed."""
        return next((row for row, alarm in enumerate(self._rows) if alarm.name == name), -1)

    def _update_rows(self) -> None:
        wanted = [a for a in self._alarms if self._with_normal or a.is_annunciated or a.state in _ALWAYS_LISTED]
        before, rows = self._rows, sorted_alarms(wanted)
        if [alarm.name for alarm in before] != [alarm.name for alarm in rows]:
            self.beginResetModel()
            self._rows = rows
            self.endResetModel()
            return
        # usually only values change: selection and scroll position are preserved
        self._rows = rows
        self._emit_changed(0, len(rows) - 1)

    def _emit_changed(self, first: int, last: int) -> None:
        if last >= first:
            self.dataChanged.emit(self.index(first, 0), self.index(last, len(_HEADINGS) - 1))

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return a cell; unacknowledged alarms are bold, severity has a colour and a shape."""
        alarm, column = self._rows[index.row()], index.column()
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return self._text(alarm, column)
            case Qt.ItemDataRole.ToolTipRole:
                return plain_tip(alarm_details(alarm))
            case Qt.ItemDataRole.TextAlignmentRole if column in _NUMBERS:
                return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            case Qt.ItemDataRole.FontRole if alarm.needs_acknowledgement:
                return self._bold
            case Qt.ItemDataRole.ForegroundRole:
                return self._brush(alarm, column)
        return None

    def _text(self, alarm: Alarm, column: int) -> str:
        if alarm.name not in self._pending:
            return _text(alarm, column)
        low, high = self._pending[alarm.name]
        mark = {3: " …", 4: ", limits pending"}.get(column, "")
        return _text(replace(alarm, low=low, high=high), column) + mark

    def _brush(self, alarm: Alarm, column: int) -> QBrush | None:
        if column == 0 and alarm.is_annunciated:
            return QBrush(QColor(level_colour(self._theme, severity_level(alarm.severity))))
        quiet = not alarm.is_annunciated or column == len(_HEADINGS) - 1
        cleared = column in (2, 3) and not alarm.active
        return QBrush(QColor(self._theme.muted)) if quiet or cleared or self._stale else None


def _text(alarm: Alarm, column: int) -> str:
    match column:
        case 0:
            # an empty shape: configured and normal
            quiet = NOT_JUDGED_SHAPE if alarm.state is AlarmState.NOT_JUDGED else "○"
            shape = severity_shape(alarm.severity) if alarm.is_annunciated else quiet
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
_HIDE_ORDER = ("Since", "Normal range", "Value")  # where the table is narrow
_KEYS = {
    (Qt.Key.Key_A, False): "acknowledge",
    (Qt.Key.Key_Return, False): "acknowledge",
    (Qt.Key.Key_Enter, False): "acknowledge",
    (Qt.Key.Key_S, True): "shelve",
    (Qt.Key.Key_R, False): "reset",
    (Qt.Key.Key_L, False): "limits",
}
_MARGIN = 8


class AlarmView(QTableView):
    """Table view with keys for the selected alarm.

    Signals
    -------
    action_requested : acknowledge, shelve, reset or limits.
    menu_requested : a menu for the selected alarm is wanted at this point of the screen.
    selection_changed : another alarm or none is selected, or the selected one has changed.
    """

    action_requested = Signal(str)
    menu_requested = Signal(QPoint)
    selection_changed = Signal()

    def __init__(self, table: AlarmTable) -> None:
        super().__init__()
        self.empty_text = ""
        self._widths: list[int] = []
        self._table = table
        self._name, self._scrolled = "", 0
        self.setModel(table)
        set_list_style(
            self, "alarms; Enter acknowledges, Shift+S shelves, R resets the selected one, L edits its limits"
        )
        self._lay_out()
        table.modelAboutToBeReset.connect(self._save_selection)
        table.modelReset.connect(self._restore_selection)
        table.dataChanged.connect(self._on_changed)
        self.selectionModel().currentRowChanged.connect(self._on_changed)

    @property
    def alarm(self) -> Alarm | None:
        """The selected alarm."""
        row = self.currentIndex().row()
        return self._table.rows[row] if 0 <= row < len(self._table.rows) else None

    def select_first(self) -> None:
        """Select the first alarm where none is selected."""
        if self.alarm is None and self._table.rows:
            self.selectRow(0)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Emit the action of a key; the arrows move through the list."""
        modifiers = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        shifted = modifiers == Qt.KeyboardModifier.ShiftModifier
        plain = shifted or modifiers == Qt.KeyboardModifier.NoModifier
        action = _KEYS.get((Qt.Key(event.key()), shifted)) if plain else None
        if action is not None:
            self.action_requested.emit(action)
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Request a menu for the alarm under the mouse, which is selected then, or for the selected one."""
        by_mouse = event.reason() is QContextMenuEvent.Reason.Mouse
        index = self.indexAt(event.pos()) if by_mouse else self.currentIndex()
        if index.isValid():
            self.selectRow(index.row())
            at = event.pos() if by_mouse else self.visualRect(index).center()
            self.menu_requested.emit(self.viewport().mapToGlobal(at))

    def keyboardSearch(self, search: str) -> None:
        """Disable the search by letter: letters are actions."""

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Hide columns that do not fit; the tool tip of a row has their text."""
        super().resizeEvent(event)
        needed = sum(self._widths)
        for heading in _HIDE_ORDER:
            column = _HEADINGS.index(heading)
            hidden = needed > self.viewport().width()
            self.setColumnHidden(column, hidden)
            needed -= self._widths[column] * hidden

    def paintEvent(self, event: QPaintEvent) -> None:
        """Show why the table is empty."""
        super().paintEvent(event)
        if not self._table.rows and self.empty_text:
            painter = QPainter(self.viewport())
            painter.setPen(self.palette().color(QPalette.ColorRole.PlaceholderText))
            area = self.viewport().rect().adjusted(8, 4, -8, -4)
            painter.drawText(area, Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap, self.empty_text)
            painter.end()

    def _save_selection(self) -> None:
        alarm = self.alarm
        self._name = "" if alarm is None else alarm.name
        self._scrolled = self.verticalScrollBar().value()

    def _restore_selection(self) -> None:
        """Select the same alarm, or none where it is no longer listed: a key must not act on another one."""
        row = self._table.row_of(self._name) if self._name else -1
        if row >= 0:
            self.selectRow(row)
        self.verticalScrollBar().setValue(self._scrolled)
        self.selection_changed.emit()

    def _on_changed(self) -> None:
        self.selection_changed.emit()

    def changeEvent(self, event: QEvent) -> None:
        """Fit rows and columns to another font."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._fit_to_font()

    def _fit_to_font(self) -> None:
        bold = QFont(self.font())
        bold.setBold(True)
        metrics = QFontMetrics(bold)
        texts = zip(_WIDEST, _HEADINGS, strict=True)
        self._widths = [max(map(metrics.horizontalAdvance, pair)) + _MARGIN for pair in texts]
        # fixed height: rows are not measured
        self.verticalHeader().setDefaultSectionSize(metrics.height() + 2)
        for section, width in enumerate(self._widths):
            self.horizontalHeader().resizeSection(section, width)

    def _lay_out(self) -> None:
        font = QFont(self.font())
        font.setFeature(QFont.Tag("tnum"), 1)
        self.setFont(font)
        rows, columns = self.verticalHeader(), self.horizontalHeader()
        rows.hide()
        rows.setMinimumSectionSize(1)
        rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        columns.setHighlightSections(False)
        columns.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self._fit_to_font()
        for heading in ("Source", "State"):
            columns.setSectionResizeMode(_HEADINGS.index(heading), QHeaderView.ResizeMode.Stretch)
