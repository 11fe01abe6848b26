"""Alarm list: keys and the menu of a row acknowledge, shelve, reset, and edit limits."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget

from gui.model.history import History
from gui.panels.alarm_table import AlarmTable, AlarmView
from gui.widgets.menus import MenuEntry, show_context_menu
from gui.widgets.theme import Theme
from monitor.messages.alarms import AlarmState
from monitor.messages.requests import AcknowledgeRequest, ResetRequest, ShelveRequest

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
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.view)
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

    def _show_menu(self, at: QPoint) -> None:
        """Offer what can be done with the selected alarm, at a point of the screen."""
        entries = [MenuEntry(each.text(), each.trigger) for each in self._actions.values() if each.isEnabled()]
        instant = [] if self._read_only else [MenuEntry("Show this instant", self._request_instant)]
        show_context_menu(self, at, [*entries, *instant])

    def _edit_limits(self) -> None:
        if self.view.alarm is not None:
            self.limits_requested.emit(self.view.alarm.name)

    def _acknowledge(self) -> None:
        if self.view.alarm is not None:
            self.requested.emit(AcknowledgeRequest(alarm=self.view.alarm.name))

    def _reset(self) -> None:
        if self.view.alarm is not None:
            self.requested.emit(ResetRequest(alarm=self.view.alarm.name))

    def _shelve(self) -> None:
        alarm = self.view.alarm
        if alarm is None:
            return
        if alarm.state is AlarmState.SHELVED:
            self.requested.emit(ShelveRequest(alarm=alarm.name, seconds=0.0))
            return
        below = self.view.visualRect(self.view.currentIndex()).bottomLeft()
        entries = [MenuEntry(text, partial(self._shelve_for, alarm.name, seconds)) for text, seconds in _DURATIONS]
        menu = show_context_menu(self, self.view.viewport().mapToGlobal(below), entries)
        if menu is not None:
            menu.setActiveAction(menu.actions()[0])

    def _shelve_for(self, name: str, seconds: float) -> None:
        self.requested.emit(ShelveRequest(alarm=name, seconds=seconds))

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
