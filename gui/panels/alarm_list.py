"""Alarm list: its table, whose selection survives sorting; keys and a menu acknowledge, shelve, reset, edit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from msgspec.structs import replace
from PySide6.QtCore import QModelIndex, QObject, QPoint, Qt, Signal
from PySide6.QtGui import QAction, QFont, QFontMetrics, QKeyEvent, QPainter, QPaintEvent, QPalette, QResizeEvent
from PySide6.QtWidgets import QHeaderView, QPushButton, QVBoxLayout, QWidget

from gui.model.alarms import NormalRange, sorted_alarms
from gui.model.history import History
from gui.widgets.layout import fill
from gui.widgets.lists import ListModel, ListView
from gui.widgets.menus import MenuEntry, show_context_menu
from gui.widgets.painting import font_like
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
from monitor.messages.requests import AcknowledgeRequest, ResetRequest, ShelveRequest
from monitor.text.numbers import DASH

_ALWAYS_LISTED = (AlarmState.NOT_JUDGED, AlarmState.SHELVED, AlarmState.OUT_OF_SERVICE)


class AlarmTable(ListModel):
    """Model of the alarms that are active, not judged, shelved or out of service, and optionally of normal ones."""

    headings = ("Priority", "Source", "Value", "Normal range", "State", "Since")
    numbers = (2, 3, 5)
    rows: tuple[Alarm, ...] = ()

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(theme, parent)
        self._alarms: Sequence[Alarm] = ()
        self._with_normal = False
        self._stale = False
        self._pending: Mapping[str, NormalRange] = {}
        self._bold = font_like(QFont(), bold=True)

    def set_alarms(
        self,
        alarms: Sequence[Alarm],
        *,
        stale: bool,
        pending: Mapping[str, NormalRange],
    ) -> None:
        """Set the alarms; `stale`: they may have changed since; `pending`: requested limits by name."""
        if alarms is not self._alarms or stale != self._stale or pending is not self._pending:
            self._alarms, self._stale, self._pending = alarms, stale, pending
            self._update_rows()

    def show_normal(self, shown: bool) -> None:
        """List normal alarms too, or not."""
        self._with_normal = shown
        self._update_rows()

    def row_of(self, name: str) -> int:
        """Return the row of an alarm; -1 where it is not listed."""
        return next((row for row, alarm in enumerate(self.rows) if alarm.name == name), -1)

    def _update_rows(self) -> None:
        wanted = [a for a in self._alarms if self._with_normal or a.is_annunciated or a.state in _ALWAYS_LISTED]
        rows = sorted_alarms(wanted)
        if [alarm.name for alarm in self.rows] != [alarm.name for alarm in rows]:
            self.set_rows(rows)
            return
        # usually only values change: selection and scroll position are preserved
        self.rows = rows
        self.emit_changed()

    def tip(self, alarm: Alarm) -> str:
        """Return everything about an alarm."""
        return alarm_details(alarm)

    def font(self, alarm: Alarm) -> QFont | None:
        """Return that unacknowledged alarms are bold."""
        return self._bold if alarm.needs_acknowledgement else None

    def text(self, alarm: Alarm, column: int) -> str:
        """Return the text of a cell; limits that are requested are marked as pending."""
        if alarm.name not in self._pending:
            return _text(alarm, column)
        low, high = self._pending[alarm.name]
        mark = {3: " …", 4: ", limits pending"}.get(column, "")
        return _text(replace(alarm, low=low, high=high), column) + mark

    def colour(self, alarm: Alarm, column: int) -> str:
        """Return the colour of a severity, which has a shape too; muted for what is quiet."""
        if column == 0 and alarm.is_annunciated:
            return level_colour(self.theme, severity_level(alarm.severity))
        quiet = not alarm.is_annunciated or column == len(self.headings) - 1
        cleared = column in (2, 3) and not alarm.active
        return self.theme.muted if quiet or cleared or self._stale else ""


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


class AlarmView(ListView):
    """Table view with keys for the selected alarm.

    Signals
    -------
    action_requested : acknowledge, shelve, reset or limits.
    selection_changed : another alarm or none is selected, or the selected one has changed.
    """

    action_requested = Signal(str)
    selection_changed = Signal()

    def __init__(self, table: AlarmTable) -> None:
        super().__init__(
            table, "alarms; Enter acknowledges, Shift+S shelves, R resets the selected one, L edits its limits"
        )
        self.empty_text = ""
        self._widths: list[int] = []
        self._table = table
        self._name, self._scrolled = "", 0
        self.setFont(font_like(self.font(), tabular=True))
        self.verticalHeader().setMinimumSectionSize(1)
        columns = self.horizontalHeader()
        columns.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self.fit_to_font()
        for heading in ("Source", "State"):
            columns.setSectionResizeMode(table.headings.index(heading), QHeaderView.ResizeMode.Stretch)
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

    def keyboardSearch(self, search: str) -> None:
        """Disable the search by letter: letters are actions."""

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Hide columns that do not fit; the tool tip of a row has their text."""
        super().resizeEvent(event)
        needed = sum(self._widths)
        for heading in _HIDE_ORDER:
            column = self._table.headings.index(heading)
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

    def fit_to_font(self) -> None:
        """Set the height of the rows and the width of the columns."""
        metrics = QFontMetrics(font_like(self.font(), bold=True))
        texts = zip(_WIDEST, AlarmTable.headings, strict=True)
        self._widths = [max(map(metrics.horizontalAdvance, pair)) + _MARGIN for pair in texts]
        self.verticalHeader().setDefaultSectionSize(metrics.height() + 2)
        for section, width in enumerate(self._widths):
            self.horizontalHeader().resizeSection(section, width)


_DURATIONS = (("&1:  10 min", 600.0), ("&2:  1 h", 3600.0), ("&3:  8 h", 28800.0))
_STALE_STATES = ("silent", "connecting")
_LATCHED = (AlarmState.LATCHED_ACKNOWLEDGED, AlarmState.LATCHED_UNACKNOWLEDGED)


class AlarmList(QWidget):
    """Sorted alarms with keys and a menu that send requests; the list shows what the service reports.

    `acknowledge_all` and `normal` are a button and a menu entry for the bar above the list.

    Attributes
    ----------
    operator : name sent with requests; empty for the user name.
    confirm_limits : ask before limits are changed.

    Signals
    -------
    requested : an `AlarmRequest` without number and operator.
    limits_requested : name of the alarm whose limits are to be edited.
    instant_requested : the rig's time, s, of a double-clicked alarm.
    """

    requested = Signal(object)
    limits_requested = Signal(str)
    instant_requested = Signal(float)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.operator, self.confirm_limits = "", False
        self._read_only = False
        self._shown: tuple[object, ...] = ()
        self.table = AlarmTable(theme, self)
        self.view = AlarmView(self.table)
        texts = {"acknowledge": "Acknowledge", "shelve": "Shelve…", "reset": "Reset", "limits": "Limits…"}
        self._actions = {key: QAction(text, self) for key, text in texts.items()}
        self.acknowledge, self.shelve, self.reset, self.limits = self._actions.values()
        self.acknowledge_all = QPushButton("Acknowledge all")
        self.acknowledge_all.setToolTip("Acknowledge all active alarms (Shift+A)")
        # a click leaves the focus in the list
        self.acknowledge_all.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.normal = QAction("normal alarms", self, checkable=True)
        fill(QVBoxLayout(self), self.view, margins=(0, 0, 0, 0))
        self.acknowledge.triggered.connect(self._acknowledge)
        self.acknowledge_all.clicked.connect(self.acknowledge_all_alarms)
        self.shelve.triggered.connect(self._shelve)
        self.reset.triggered.connect(self._reset)
        self.limits.triggered.connect(self._edit_limits)
        self.normal.toggled.connect(self.table.show_normal)
        self.view.action_requested.connect(self._act)
        self.view.selection_changed.connect(self._update_actions)
        self.view.doubleClicked.connect(self._request_instant)
        self.view.menu_requested.connect(self._show_menu)
        self.setFocusProxy(self.view)
        self._update_actions()

    def refresh(self, history: History) -> None:
        """Show the newest alarms of the service; hidden where it has none."""
        # where the service is lost, no value is shown as if it were one of now
        alarms, found = history.alarms_at(None) if history.alarms else (), history.summary
        stale = history.state.key in _STALE_STATES
        pending = history.requested_limits
        if (alarms, stale, pending) == self._shown:
            return
        self._shown = alarms, stale, pending
        self.setHidden(not alarms)
        counts = ", ".join((*found.aside, f"{found.configured} configured"))
        note = "as of the last message from the service" if stale else counts
        self.view.empty_text = f"No active alarms, {note}."
        self.view.viewport().update()
        self.table.set_alarms(alarms, stale=stale, pending=pending)
        # with the number, so that it is not mistaken for the selected one
        n = found.unacknowledged
        self.acknowledge_all.setText(f"Acknowledge all ({n})" if n else "Acknowledge all")
        self._update_actions()

    def set_read_only(self, read_only: bool) -> None:
        """Disable or enable requests."""
        self._read_only = read_only
        self._update_actions()

    def acknowledge_all_alarms(self) -> None:
        """Request to acknowledge all active alarms."""
        if self.acknowledge_all.isEnabled():
            self.requested.emit(AcknowledgeRequest())

    def apply_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme."""
        self.table.apply_theme(theme)

    def _act(self, action: str) -> None:
        """Do what a key is for, where it applies."""
        self._actions[action].trigger()

    def _show_menu(self, index: QModelIndex, at: QPoint) -> None:
        """Select an alarm, and offer what can be done with it, at a point of the screen."""
        self.view.selectRow(index.row())
        entries = [MenuEntry(each.text(), each.trigger) for each in self._actions.values() if each.isEnabled()]
        instant = [] if self._read_only else [MenuEntry("Show this instant", self._request_instant)]
        show_context_menu(self, at, [*entries, *instant])

    def _edit_limits(self) -> None:
        if self.view.alarm is not None:
            self.limits_requested.emit(self.view.alarm.name)

    def _acknowledge(self) -> None:
        self._request(AcknowledgeRequest)

    def _reset(self) -> None:
        self._request(ResetRequest)

    def _request(self, kind: type[AcknowledgeRequest | ResetRequest]) -> None:
        if self.view.alarm is not None:
            self.requested.emit(kind(alarm=self.view.alarm.name))

    def _shelve(self) -> None:
        alarm = self.view.alarm
        if alarm is None:
            return
        if alarm.state is AlarmState.SHELVED:
            self.requested.emit(ShelveRequest(alarm=alarm.name, seconds=0.0))
            return
        below = self.view.visualRect(self.view.currentIndex()).bottomLeft()
        entries = [
            MenuEntry(text, partial(self.requested.emit, ShelveRequest(alarm=alarm.name, seconds=seconds)))
            for text, seconds in _DURATIONS
        ]
        menu = show_context_menu(self, self.view.viewport().mapToGlobal(below), entries)
        if menu is not None:
            menu.setActiveAction(menu.actions()[0])

    def _request_instant(self) -> None:
        if self.view.alarm is not None:
            self.instant_requested.emit(self.view.alarm.time)

    def _update_actions(self) -> None:
        """Enable the actions that apply to the selected alarm; what is read-only has no button."""
        alarm, enabled = self.view.alarm, not self._read_only
        state = None if alarm is None else alarm.state
        self.acknowledge.setEnabled(enabled and alarm is not None and alarm.needs_acknowledgement)
        self.acknowledge_all.setVisible(enabled and bool(self._shown and self._shown[0]))
        self.acknowledge_all.setEnabled(enabled and any(each.needs_acknowledgement for each in self.table.rows))
        self.shelve.setEnabled(enabled and state not in (None, AlarmState.OUT_OF_SERVICE))
        self.shelve.setText("Unshelve" if state is AlarmState.SHELVED else "Shelve…")
        self.reset.setEnabled(enabled and state in _LATCHED)
        self.limits.setEnabled(enabled and alarm is not None and alarm.changeable)
        # no higher than its rows: the rest is for the events
        high = self.view.verticalHeader().defaultSectionSize() * max(2, len(self.table.rows))
        self.setMaximumHeight(self.view.horizontalHeader().sizeHint().height() + high + 2)
