"""What stands and what happened: alarms, the events of the stream, the notes of the operator."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QSplitter, QVBoxLayout

from gui.model.history.history import History
from gui.panels.alarm_list import AlarmList
from gui.panels.base import Panel
from gui.panels.event_list import EventList
from gui.plots.view import View
from gui.widgets.theme import Theme


class EventsPanel(Panel):
    """The list of the alarms, where the service has any, over that of the events.

    Signals
    -------
    note_wanted : somebody wants to write a note.
    """

    key = "events"
    title = "Events"
    note_wanted = Signal()

    def __init__(self, view: View, theme: Theme) -> None:
        super().__init__(view, theme)
        self.alarms = AlarmList(theme)
        self.alarms.looked.connect(self._look_at_time)
        self.events = EventList(theme)
        self.events.chosen.connect(self._look_at)
        self.events.note_wanted.connect(self.note_wanted)
        parts = QSplitter(Qt.Orientation.Vertical)
        parts.setChildrenCollapsible(False)
        for part in (self.alarms, self.events):
            parts.addWidget(part)
        parts.setSizes([1000, 1000])
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(parts)
        self.setFocusProxy(self.events)
        self._history: History | None = None
        self.alarms.hide()

    def configure(self, history: History) -> None:
        """Take the events of another history; they do not depend on channels."""
        self.refresh(history)

    def refresh(self, history: History) -> None:
        """Add what is new."""
        self._history = history
        self.alarms.take(history)
        self.events.take(history.events)

    def restyle(self, theme: Theme) -> None:
        """Take other colours."""
        super().restyle(theme)
        self.alarms.restyle(theme)
        self.events.restyle(theme)

    def _look_at_time(self, time: float) -> None:
        """Look at what happened at an instant of the rig."""
        if self._history is not None:
            self._look_at(self._history.timeline.x_of(time))

    def _look_at(self, x: float) -> None:
        """Put `x` in the middle and stand still; near the newest sample it is right of the middle."""
        self.view.look_at(x + 0.5 * self.view.span)
        if self.view.following:
            self.view.pause()
