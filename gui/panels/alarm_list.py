"""Alarm list: keys and the menu of a row acknowledge, shelve, reset, and edit limits."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, Qt, Signal
from PySide6.QtGui import QAction, QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from gui.model.history import History
from gui.panels.alarm_table import AlarmTable, AlarmView
from gui.widgets.labels import ElidedLabel
from gui.widgets.menus import MenuEntry, show_context_menu
from gui.widgets.theme import Theme
from gui.wording.event_text import alarm_source
from monitor.messages.alarms import AlarmState
from monitor.messages.requests import AcknowledgeRequest, ResetRequest, ShelveRequest

_DURATIONS = (("10 min", 600.0), ("1 h", 3600.0), ("8 h", 28800.0))
_STEPS = {Qt.Key.Key_Left: -1, Qt.Key.Key_Up: -1, Qt.Key.Key_Right: 1, Qt.Key.Key_Down: 1}
_NUMBERS = (Qt.Key.Key_1, Qt.Key.Key_2, Qt.Key.Key_3)
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_BAR_KEYS = (*_STEPS, *_NUMBERS, *_ENTER, Qt.Key.Key_Escape)


class _ShelveBar(QWidget):
    """Bar that asks for the duration of shelving: 1, 2, 3, or arrows and Enter; Esc cancels.

    Signals
    -------
    accepted : name of the alarm, and duration, s.
    closed : the bar is hidden.
    """

    accepted = Signal(str, float)
    closed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._name = ""
        self._label = ElidedLabel()
        # the label is elided, not the buttons
        self._label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(4, 0, 4, 0)
        layout.setSpacing(4)
        layout.addWidget(self._label, 1)
        self.buttons: list[QPushButton] = []
        for number, (text, seconds) in enumerate(_DURATIONS, 1):
            button = QPushButton(text)
            button.setToolTip(f"Shelve for {text} ({number})")
            button.setProperty("seconds", seconds)
            button.clicked.connect(self._choose)
            layout.addWidget(button)
            self.buttons.append(button)
        cancel = QPushButton("Cancel")
        cancel.setToolTip("Do not shelve (Esc)")
        cancel.clicked.connect(self.cancel)
        layout.addWidget(cancel)
        self.hide()

    def open(self, name: str, label: str) -> None:
        """Ask for how long to shelve the alarm `name`, shown as `label`."""
        self._name = name
        self._label.set_text(f"Shelve {label} for")
        self.show()
        self.buttons[0].setFocus(Qt.FocusReason.ShortcutFocusReason)

    def cancel(self) -> None:
        """Close the bar."""
        if not self.isHidden():
            # before hide, which would move the focus to the next widget
            self.closed.emit()
            self.hide()

    def event(self, event: QEvent) -> bool:
        """Keep the keys of the bar from being shortcuts of the window."""
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent) and event.key() in _BAR_KEYS:
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Select a duration by number or arrows, or cancel."""
        key = Qt.Key(event.key())
        focused = next((i for i, button in enumerate(self.buttons) if button.hasFocus()), 0)
        if key == Qt.Key.Key_Escape:
            self.cancel()
        elif key in _NUMBERS:
            self.buttons[_NUMBERS.index(key)].click()
        elif key in _ENTER and self.buttons[focused].hasFocus():
            self.buttons[focused].click()
        elif key in _STEPS:
            self.buttons[(focused + _STEPS[key]) % len(self.buttons)].setFocus()
        else:
            super().keyPressEvent(event)

    def _choose(self) -> None:
        button = self.sender()
        if isinstance(button, QPushButton):
            name, seconds = self._name, float(button.property("seconds"))
            self.cancel()
            self.accepted.emit(name, seconds)


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
        self.acknowledge, self.shelve, self.reset, self.limits = (
            QAction(text, self) for text in ("Acknowledge", "Shelve…", "Reset", "Limits…")
        )
        self.acknowledge_all = QPushButton("Acknowledge all")
        self.acknowledge_all.setToolTip("Acknowledge all active alarms (Shift+A)")
        # a click leaves the focus in the list
        self.acknowledge_all.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.normal = QAction("normal alarms", self, checkable=True)
        self.shelve_bar = _ShelveBar()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        layout.addWidget(self.shelve_bar)
        layout.addWidget(self.view, 1)
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
        self.shelve_bar.accepted.connect(self._shelve_for)
        self.shelve_bar.closed.connect(self.view.setFocus)
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
        # a table that stays empty does not draw itself again
        self.view.viewport().update()
        self.table.set_alarms(alarms, stale=stale, pending=pending)
        # with the number, so that it is not mistaken for the selected one
        n = found.unacknowledged
        self.acknowledge_all.setText(f"Acknowledge all ({n})" if n else "Acknowledge all")
        self._update_actions()

    def set_read_only(self, read_only: bool) -> None:
        """Disable or enable requests."""
        self._read_only = read_only
        if read_only:
            self.shelve_bar.cancel()
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
        {"acknowledge": self.acknowledge, "shelve": self.shelve, "reset": self.reset, "limits": self.limits}[
            action
        ].trigger()

    def _show_menu(self, at: QPoint) -> None:
        """Offer what can be done with the selected alarm, at a point of the screen."""
        actions = (self.acknowledge, self.shelve, self.reset, self.limits)
        entries = [MenuEntry(action.text(), action.trigger) for action in actions if action.isEnabled()]
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
        else:
            self.shelve_bar.open(alarm.name, alarm_source(alarm))

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
