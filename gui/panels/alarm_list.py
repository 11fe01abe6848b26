"""The list of the alarms with what can be asked of them."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from gui.model.history.history import History
from gui.panels.alarm_table import AlarmTable
from gui.panels.alarm_view import AlarmView
from gui.panels.shelve_choice import ShelveChoice
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.flow_layout import FlowLayout
from gui.widgets.theme import Theme
from gui.wording.alarm_text import since_text, state_words, subject
from monitor.messages.alarms import Alarm, AlarmState
from monitor.messages.requests import AcknowledgeRequest, ResetRequest, ShelveRequest

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
        self.acknowledge = self._button("Acknowledge", "take note of the one that is chosen (A, Enter)")
        self.acknowledge_all = self._button("All", "take note of all of them (Shift+A)")
        self.shelve = self._button("Shelve…", "put the one that is chosen aside for a while, or back (Shift+S)")
        self.reset = self._button("Reset", "let a latched one go whose condition has gone (R)")
        self.normal = QCheckBox("Show normal")
        self.normal.setToolTip("list all that is watched, with its values, and not only what stands")
        self.choice = ShelveChoice()
        self._advice = ElidedLabel()
        self._lay_out()
        self.acknowledge.clicked.connect(self._acknowledge)
        self.acknowledge_all.clicked.connect(self.ask_all)
        self.shelve.clicked.connect(self._shelve)
        self.reset.clicked.connect(self._reset)
        self.normal.toggled.connect(self._show_normal)
        self.view.asked.connect(self._ask)
        self.view.chosen.connect(self._allow)
        self.view.doubleClicked.connect(self._look)
        self.choice.chosen.connect(self._put_aside)
        self.choice.left.connect(self.view.setFocus)
        self.setFocusProxy(self.view)
        self._allow()

    def take(self, history: History) -> None:
        """Show the alarms of a service as it told them last; hidden where it has none."""
        alarms, found = history.alarms or (), history.summary
        stale = history.state.key in _OLD
        if (alarms, stale) == self._taken:
            return
        self._taken = alarms, stale
        self.setHidden(not alarms)
        counts = f"{found.shelved} shelved, " * bool(found.shelved) + f"{found.watched} watched"
        said = "as it was when the service was last heard" if stale else counts
        self.view.nothing = f"No active alarms; {said}."
        self.table.take(alarms, old=stale)
        # the number is part of the text: a button that says "All" of three is not pressed for one
        n = found.unacknowledged
        self.acknowledge_all.setText(f"Acknowledge all ({n})" if n else "Acknowledge all")
        self._allow()

    def set_read_only(self, read_only: bool) -> None:
        """Let nothing be asked, or again."""
        self._read_only = read_only
        if read_only:
            self.choice.forget()
        self._allow()

    def ask_all(self) -> None:
        """Take note of all alarms."""
        if self.acknowledge_all.isEnabled():
            self.asked.emit(AcknowledgeRequest())

    def restyle(self, theme: Theme) -> None:
        """Take other colours."""
        self.table.restyle(theme)

    def _ask(self, deed: str) -> None:
        """Do what a key asks, where its button would."""
        {"acknowledge": self.acknowledge, "shelve": self.shelve, "reset": self.reset}[deed].click()

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
            self.choice.ask(alarm.name, subject(alarm))

    def _put_aside(self, name: str, seconds: float) -> None:
        self.asked.emit(ShelveRequest(alarm=name, seconds=seconds))

    def _look(self) -> None:
        if self.view.alarm is not None:
            self.looked.emit(self.view.alarm.time)

    def _show_normal(self, shown: bool) -> None:
        self.table.show_normal(shown)

    def _allow(self) -> None:
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
    since = f"{state_words(alarm)} since {since_text(alarm)}"
    return f"{since}. Advice: {alarm.advice}" if alarm.advice else since
