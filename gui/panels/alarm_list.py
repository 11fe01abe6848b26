"""The alarm list with its buttons: acknowledge, shelve and reset."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from gui.model.history import History
from gui.panels.alarm_table import AlarmTable, AlarmView
from gui.widgets.labels import ElidedLabel
from gui.widgets.layout import FlowLayout
from gui.widgets.theme import Theme
from gui.wording.event_text import alarm_source, since_text, state_text
from monitor.messages.alarms import Alarm, AlarmState
from monitor.messages.requests import AcknowledgeRequest, ResetRequest, ShelveRequest

_DURATIONS = (("10 min", 600.0), ("1 h", 3600.0), ("8 h", 28800.0))
_STEPS = {Qt.Key.Key_Left: -1, Qt.Key.Key_Up: -1, Qt.Key.Key_Right: 1, Qt.Key.Key_Down: 1}
_NUMBERS = (Qt.Key.Key_1, Qt.Key.Key_2, Qt.Key.Key_3)
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_OWN = (*_STEPS, *_NUMBERS, *_ENTER, Qt.Key.Key_Escape)


class _ShelveBar(QWidget):
    """Hidden until asked for; 1, 2 and 3 choose, and so do the arrows with Enter. Esc forgets it.

    Signals
    -------
    chosen : name of the alarm, and s.
    left : it is hidden again.
    """

    chosen = Signal(str, float)
    left = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._name = ""
        self._label = ElidedLabel()
        # the question gives way, never its answers
        self._label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(4, 0, 4, 0)
        layout.setSpacing(4)
        layout.addWidget(self._label, 1)
        self.buttons: list[QPushButton] = []
        for number, (text, seconds) in enumerate(_DURATIONS, 1):
            button = QPushButton(text)
            button.setToolTip(f"shelve it for {text} ({number})")
            button.setProperty("seconds", seconds)
            button.clicked.connect(self._choose)
            layout.addWidget(button)
            self.buttons.append(button)
        forget = QPushButton("Cancel")
        forget.setToolTip("do not shelve it (Esc)")
        forget.clicked.connect(self.forget)
        layout.addWidget(forget)
        self.hide()

    def ask(self, name: str, said: str) -> None:
        """Ask for how long the alarm `name`, shown as `said`, is shelved."""
        self._name = name
        self._label.set_text(f"Shelve {said} for")
        self.show()
        self.buttons[0].setFocus(Qt.FocusReason.ShortcutFocusReason)

    def forget(self) -> None:
        """Ask no longer."""
        if not self.isHidden():
            # first, or the focus would go to the next widget
            self.left.emit()
            self.hide()

    def event(self, event: QEvent) -> bool:
        """Keep the keys that choose from being commands of the window."""
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent) and event.key() in _OWN:
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Choose by number, go from one to the next, or forget it."""
        key = Qt.Key(event.key())
        focused = next((i for i, button in enumerate(self.buttons) if button.hasFocus()), 0)
        if key == Qt.Key.Key_Escape:
            self.forget()
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
            self.forget()
            self.chosen.emit(name, seconds)


_OLD = ("silent", "connecting")
_LATCHED = (AlarmState.LATCHED_ACKNOWLEDGED, AlarmState.LATCHED_UNACKNOWLEDGED)


class AlarmList(QWidget):
    """What stands, sorted; buttons and keys ask, and what the service then says is what is shown.

    Attributes
    ----------
    operator : who asks; empty for who has logged in.

    Signals
    -------
    asked : an `AlarmRequest` without a number, and without who asks it.
    looked : the rig's time, s, of the alarm that is double-clicked.
    """

    asked = Signal(object)
    looked = Signal(float)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.operator = ""
        self._read_only = False
        self._taken: tuple[tuple[Alarm, ...], bool] = (), False
        self.table = AlarmTable(theme, self)
        self.view = AlarmView(self.table)
        self.acknowledge = self._button("Acknowledge", "Acknowledge the selected alarm (A, Enter)")
        self.acknowledge_all = self._button("Acknowledge all", "Acknowledge all active alarms (Shift+A)")
        self.shelve = self._button("Shelve…", "Shelve the selected alarm for a while, or unshelve it (Shift+S)")
        self.reset = self._button("Reset", "Reset a latched alarm whose condition has cleared (R)")
        self.normal = QCheckBox("Show normal")
        self.normal.setToolTip("List all configured alarms with their values, not only active ones")
        self.choice = _ShelveBar()
        self._advice = ElidedLabel()
        self._lay_out()
        self.acknowledge.clicked.connect(self._acknowledge)
        self.acknowledge_all.clicked.connect(self.ask_all)
        self.shelve.clicked.connect(self._shelve)
        self.reset.clicked.connect(self._reset)
        self.normal.toggled.connect(self._show_normal)
        self.view.asked.connect(self._ask)
        self.view.chosen.connect(self._update_buttons)
        self.view.doubleClicked.connect(self._look)
        self.choice.chosen.connect(self._shelve_for)
        self.choice.left.connect(self.view.setFocus)
        self.setFocusProxy(self.view)
        self._update_buttons()

    def refresh(self, history: History) -> None:
        """Show the alarms of a service as it told them last; hidden where it has none."""
        alarms, found = history.alarms or (), history.summary
        stale = history.state.key in _OLD
        if (alarms, stale) == self._taken:
            return
        self._taken = alarms, stale
        self.setHidden(not alarms)
        counts = f"{found.shelved} shelved, " * bool(found.shelved) + f"{found.watched} configured"
        said = "as of the last message from the service" if stale else counts
        self.view.nothing = f"No active alarms, {said}."
        self.table.set_alarms(alarms, old=stale)
        # the number is part of the text: a button that says "All" of three is not pressed for one
        n = found.unacknowledged
        self.acknowledge_all.setText(f"Acknowledge all ({n})" if n else "Acknowledge all")
        self._update_buttons()

    def set_read_only(self, read_only: bool) -> None:
        """Let nothing be asked, or again."""
        self._read_only = read_only
        if read_only:
            self.choice.forget()
        self._update_buttons()

    def ask_all(self) -> None:
        """Acknowledge all alarms."""
        if self.acknowledge_all.isEnabled():
            self.asked.emit(AcknowledgeRequest())

    def apply_theme(self, theme: Theme) -> None:
        """Take other colours."""
        self.table.apply_theme(theme)

    def _ask(self, action: str) -> None:
        """Do what a key asks, where its button would."""
        {"acknowledge": self.acknowledge, "shelve": self.shelve, "reset": self.reset}[action].click()

    def _acknowledge(self) -> None:
        if self.view.alarm is not None:
            self.asked.emit(AcknowledgeRequest(alarm=self.view.alarm.name))

    def _reset(self) -> None:
        if self.view.alarm is not None:
            self.asked.emit(ResetRequest(alarm=self.view.alarm.name))

    def _shelve(self) -> None:
        alarm = self.view.alarm
        if alarm is None:
            return
        if alarm.state is AlarmState.SHELVED:
            self.asked.emit(ShelveRequest(alarm=alarm.name, seconds=0.0))
        else:
            self.choice.ask(alarm.name, alarm_source(alarm))

    def _shelve_for(self, name: str, seconds: float) -> None:
        self.asked.emit(ShelveRequest(alarm=name, seconds=seconds))

    def _look(self) -> None:
        if self.view.alarm is not None:
            self.looked.emit(self.view.alarm.time)

    def _show_normal(self, shown: bool) -> None:
        self.table.show_normal(shown)

    def _update_buttons(self) -> None:
        """Let be asked what can be done with the alarm that is chosen, and say what is advised."""
        alarm, free = self.view.alarm, not self._read_only
        state = None if alarm is None else alarm.state
        self.acknowledge.setEnabled(free and alarm is not None and alarm.needs_acknowledgement)
        self.acknowledge_all.setEnabled(free and any(each.needs_acknowledgement for each in self.table.rows))
        self.shelve.setEnabled(free and state not in (None, AlarmState.OUT_OF_SERVICE))
        self.shelve.setText("Unshelve" if state is AlarmState.SHELVED else "Shelve…")
        self.reset.setEnabled(free and state in _LATCHED)
        self._advice.set_text("" if alarm is None else _beside(alarm))

    def _button(self, text: str, tip: str) -> QPushButton:
        button = QPushButton(text)
        button.setToolTip(tip)
        # a click leaves the keys with the list
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        return button

    def _lay_out(self) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        bar = FlowLayout(margin=4, spacing=4)
        for part in (self.acknowledge, self.acknowledge_all, self.shelve, self.reset, self.normal):
            bar.addWidget(part)
        layout.addLayout(bar)
        layout.addWidget(self.choice)
        layout.addWidget(self.view, 1)
        advice = QHBoxLayout()
        advice.setContentsMargins(6, 0, 6, 2)
        advice.addWidget(self._advice)
        layout.addLayout(advice)


def _beside(alarm: Alarm) -> str:
    """Return what columns have no room for."""
    since = f"{state_text(alarm)} since {since_text(alarm)}"
    return f"{since}. Advice: {alarm.advice}" if alarm.advice else since
