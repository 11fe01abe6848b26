"""Alarms to acknowledge, reset or shelve, and notes: requests of the operator to the connected service."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from itertools import takewhile

import msgspec
from PySide6.QtCore import Qt

from gui.model.timeline import DisplayTimeline
from gui.panels.alarm_list import AlarmList
from gui.panels.events import EventsPanel
from gui.widgets.menus import MenuEntry, MenuPlace
from gui.window.service_connection import RequestSender
from gui.window.window import Controller, MainWindow
from monitor.messages.requests import AcknowledgeRequest, AlarmRequest, NoteRequest, ResetRequest, ShelveRequest
from monitor.text.numbers import instant_text
from monitor.transport.zeromq.requests import user_name


class AlarmController(Controller):
    """Sends the requests of the alarm list to the service, and reports refusals.

    The list shows the states that the service publishes, not those that were requested.

    Parameters
    ----------
    window : has the list and the banner.
    show_list : shows the panel with the list where it is hidden.
    """

    def __init__(self, window: MainWindow, show_list: Callable[[], None]) -> None:
        super().__init__(window)
        self._show_list = show_list
        self._requests = RequestSender[AlarmRequest](window.connection)
        self._list.requested.connect(self._send)
        window.alarm_banner.clicked.connect(self.present)
        self._actions.connect(
            {"alarm.list": self.present, "alarm.acknowledge_all": self._list.acknowledge_all_alarms}
        )
        window.ticked.connect(self._read_answers)

    @property
    def _list(self) -> AlarmList:
        return self._window.dock_area.panel(EventsPanel).alarms

    def present(self) -> None:
        """Show the list of alarms, and focus it."""
        if not self._history.alarms:
            self._notify("info", "this service has no alarms")
            return
        self._show_list()
        dock = self._window.dock_area.docks[EventsPanel.key]
        dock.show()
        # it may be behind another tab
        dock.raise_()
        self._list.view.select_first()
        self._list.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _send(self, request: AlarmRequest) -> None:
        request = msgspec.structs.replace(request, by=self._list.operator or user_name())
        try:
            self._requests.send(request, request)
        except (ValueError, OSError) as problem:
            self._report_refusal(request, str(problem))

    def _read_answers(self) -> None:
        for request, refusal in self._requests.answers():
            if refusal:
                self._report_refusal(request, refusal)

    def _report_refusal(self, request: AlarmRequest, why: str) -> None:
        self._notify("error", f"{_not_done(request)}: {why}")


def _not_done(request: AlarmRequest) -> str:
    match request:
        case AcknowledgeRequest():
            return f"not acknowledged, {request.alarm or 'all alarms'}"
        case ResetRequest():
            return f"not reset, {request.alarm or 'all alarms'}"
        case ShelveRequest():
            return f"not {'shelved' if request.seconds else 'unshelved'}, {request.alarm}"


_MAX_UNSAVED = 64


class NoteController(Controller):
    """Asks for the text of a note, sends it to the service, and reports the answer; does not block.

    A note on a recording belongs to the view.

    The text of a note that was not saved is offered for the next one.
    """

    of_source = True

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._requests = RequestSender[str](window.connection)
        self._unsaved: deque[str] = deque(maxlen=_MAX_UNSAVED)
        self._until: float | None = None
        self._own: deque[tuple[str, float | None]] = deque(maxlen=_MAX_UNSAVED)
        self._actions.connect({"note.add": self.ask})
        window.note_bar.written.connect(self._send)
        for panel in window.dock_area.panels.values():
            panel.menu_sources.append(self._entries)
        window.ticked.connect(self._read_answers)

    def _entries(self, place: MenuPlace) -> Iterator[MenuEntry]:
        """Return "Note at this instant" for a context menu at an instant of which a note can be sent."""
        history = self._history
        if place.x is None or not self._actions["note.add"].isEnabled():
            return
        try:
            _require_newest_epoch(history.timeline, place.x)
        except ValueError:
            return
        if history.begin_x <= place.x <= history.end_x:
            yield MenuEntry("Note at this instant…", partial(self.ask, place.x))
        if region := self._window.view.marked_region(place.x):
            yield MenuEntry("Note on the span between the cursors…", partial(self.ask, *region))

    def ask(self, instant: float | None = None, until: float | None = None) -> None:
        """Ask for the text of a note at an instant or on a span, s of the display; None: at that in view."""
        # a button of the events panel calls this too
        if not self._actions["note.add"].isEnabled():
            return
        timeline = self._history.timeline
        instant = self._window.view.instant if instant is None else instant
        try:
            _require_newest_epoch(timeline, instant)
        except ValueError as problem:
            self._notify("error", f"no note is possible at this instant: {problem}")
            return
        # a note that is being written is not replaced
        text = self._unsaved.popleft() if self._unsaved and self._window.note_bar.isHidden() else ""
        self._until = until
        self._window.note_bar.ask(instant, self._place_text(instant), text)

    def _place_text(self, instant: float) -> str:
        """Return the instant of a note, or its span."""
        timeline = self._history.timeline
        ends = [instant] if self._until is None else [instant, self._until]
        return " to ".join(instant_text(timeline.time_at(x)) for x in ends)

    def record(self, text: str, time: float | None = None) -> None:
        """Send a note of the window itself, at a time of the rig or the newest sample; only a refusal is shown.

        It waits for the first report of the service, which has its address, and for the first samples.
        """
        self._own.append((text, time))
        self._send_own()

    def _send_own(self) -> None:
        history = self._history
        while self._own and history.health is not None and history.end_x > 0.0:
            text, time = self._own.popleft()
            at = None if time is None else history.timeline.sample_at(history.timeline.x_of(time))
            time, index = at or (None, None)
            try:
                self._requests.send(NoteRequest(text=text, time=time, index=index), "")
            except (ValueError, OSError) as problem:
                self._notify("warning", f"not recorded, {text}: {problem}")

    def _send(self, text: str, instant: float) -> None:
        history = self._history
        try:
            _require_newest_epoch(history.timeline, instant)
            time, index = history.timeline.sample_at(instant) or (None, None)
            note = text if self._until is None else f"{text} ({self._place_text(instant)})"
            request = NoteRequest(text=note, time=time, index=index)
            if history.recording is not None:
                history.add_note(request)
                self._notify("info", "note added to the view; Save view as keeps it in a file")
                return
            self._requests.send(request, text)
        except (ValueError, OSError) as problem:
            self._report_failure(text, str(problem))

    def _read_answers(self) -> None:
        self._send_own()
        for text, refusal in self._requests.answers():
            health = self._history.health
            if not text:
                if refusal:
                    self._notify("warning", f"injected faults are not recorded: {refusal}")
            elif refusal:
                self._report_failure(text, refusal)
            elif health is not None and health.recording:
                self._notify("info", "note saved with the run")
            else:
                self._notify("warning", "note sent, not saved: no recording is running")

    def _report_failure(self, text: str, why: str) -> None:
        """Show why a note was not saved, and offer its text for the next."""
        if text:
            self._unsaved.append(text)
        self._notify("error", f"note not saved: {why}; the next note begins with its text")


def _require_newest_epoch(timeline: DisplayTimeline, instant: float) -> None:
    """Raise ValueError where the rig has restarted since `instant`: a note belongs to the current epoch."""
    segments = timeline.segments
    newest = [*takewhile(lambda segment: segment.epoch == timeline.epoch, reversed(segments))]
    if len(newest) < len(segments) and instant < newest[-1].x_begin:
        begin = instant_text(newest[-1].x_begin + newest[-1].offset)
        raise ValueError(f"the rig has restarted since; notes are possible from {begin} on")
