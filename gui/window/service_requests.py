"""Requests to the service that is watched: alarms to acknowledge, reset or shelve, and notes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import takewhile
from typing import Generic, TypeVar

import msgspec
from PySide6.QtCore import QObject, Qt

from gui.model.timeline import Timeline
from gui.panels.alarm_list import AlarmList
from gui.panels.events import EventsPanel
from gui.window.actions import Actions
from gui.window.watch import Watch
from gui.window.window import MainWindow
from gui.wording.numbers import instant_text
from monitor.messages.requests import (
    AcknowledgeRequest,
    AlarmRequest,
    NoteRequest,
    Request,
    ResetRequest,
    ShelveRequest,
)
from monitor.transport.zeromq.key_files import keys_of
from monitor.transport.zeromq.request_client import RequestClient, requests_url, user_name

Asked = TypeVar("Asked")


class Asking(Generic[Asked]):
    """Send requests to whichever service is watched, and give each its answer; nothing here waits.

    Parameters
    ----------
    watch : says which service that is.
    """

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._url = ""
        self._client: RequestClient | None = None
        self._sent: dict[int, Asked] = {}
        self._lost: list[tuple[Asked, str]] = []

    def send(self, request: Request, asked: Asked) -> None:
        """Send a request; `asked` comes back with its answer.

        Raises
        ------
        ValueError : there is no service, or it takes no requests; one line says so.
        """
        health = self._watch.history.health
        if health is None or not self._watch.watching:
            raise ValueError("no service answers yet")
        client = self._client_of(requests_url(health.requests, self._watch.url))
        self._sent[client.send(request)] = asked

    def answers(self) -> list[tuple[Asked, str]]:
        """Return what was answered since the last call: what was asked, and why it was refused; empty: it was not."""
        found, self._lost = self._lost, []
        for answer in () if self._client is None else self._client.answers():
            asked = self._sent.pop(answer.id, None)
            if asked is not None:
                found.append((asked, "" if answer.ok else answer.reason or "refused"))
        return found

    def close(self, linger: float = 0.0) -> None:
        """Leave; what cannot be sent within `linger` s is lost."""
        if self._client is not None:
            self._client.close(linger)
            self._client = None

    def _client_of(self, url: str) -> RequestClient:
        if self._client is not None and url == self._url:
            return self._client
        new = RequestClient(url, security=keys_of(self._watch.keys))
        self.close()
        why = f"no answer from {self._url}, and another service is watched now"
        self._lost += [(asked, why) for asked in self._sent.values()]
        self._sent.clear()
        self._client, self._url = new, url
        return new


_LINGER = 0.5  # s that a request has to leave at the end


class AlarmRequests(QObject):
    """Carry requests from the list to the service, and tell refusals; what is shown is what the service says.

    Parameters
    ----------
    window : has the list and the banner.
    actions : some of them ask too.
    say : tells level and text.
    show : lets the list be seen, where it is hidden.
    """

    def __init__(
        self, window: MainWindow, actions: Actions, say: Callable[[str, str], None], show: Callable[[], None]
    ) -> None:
        super().__init__(window)
        self._window, self._say, self._show = window, say, show
        self._asking = Asking[AlarmRequest](window.watch)
        self._list.asked.connect(self._send)
        window.alarms.clicked.connect(self.present)
        actions["alarm.list"].triggered.connect(self.present)
        actions["alarm.acknowledge_all"].triggered.connect(self._acknowledge_all)
        window.ticked.connect(self._hear)

    @property
    def _list(self) -> AlarmList:
        return self._window.desk.panel(EventsPanel).alarms

    def present(self) -> None:
        """Show the list, and give it the keys."""
        if not self._window.watch.history.alarms:
            self._say("info", "this service has no alarms")
            return
        self._show()
        dock = self._window.desk.docks[EventsPanel.key]
        dock.show()
        # a tab may lie in front of it
        dock.raise_()
        self._list.view.choose_first()
        self._list.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def close(self) -> None:
        """Leave; what cannot be sent within half a second is lost."""
        self._asking.close(_LINGER)

    def _acknowledge_all(self) -> None:
        self._list.ask_all()

    def _send(self, request: AlarmRequest) -> None:
        request = msgspec.structs.replace(request, by=self._list.operator or user_name())
        try:
            self._asking.send(request, request)
        except (ValueError, OSError) as problem:
            self._tell(request, str(problem))

    def _hear(self) -> None:
        for request, refusal in self._asking.answers():
            if refusal:
                self._tell(request, refusal)

    def _tell(self, request: AlarmRequest, why: str) -> None:
        self._say("error", f"{_undone(request)}: {why}")


def _undone(request: AlarmRequest) -> str:
    match request:
        case AcknowledgeRequest():
            return f"not acknowledged, {request.alarm or 'all alarms'}"
        case ResetRequest():
            return f"not reset, {request.alarm or 'all alarms'}"
        case ShelveRequest():
            return f"not {'shelved' if request.seconds else 'taken off the shelf'}, {request.alarm}"


_MOST_UNKEPT = 64


class Notes(QObject):
    """Ask for a note, send it to the service that is watched, and tell its answer; nothing here waits.

    A text that is not kept is offered again the next time.

    Parameters
    ----------
    window : whose view says the instant.
    actions : one of them asks for a note.
    say : tells level and text.
    """

    def __init__(self, window: MainWindow, actions: Actions, say: Callable[[str, str], None]) -> None:
        super().__init__(window)
        self._window, self._actions, self._say = window, actions, say
        self._asking = Asking[str](window.watch)
        self._unkept: deque[str] = deque(maxlen=_MOST_UNKEPT)
        actions["note.add"].triggered.connect(self.ask)
        window.desk.panel(EventsPanel).note_wanted.connect(self.ask)
        window.notes.written.connect(self._write)
        window.ticked.connect(self._hear)

    def ask(self) -> None:
        """Ask for a text, for the instant that is looked at."""
        # a button of a panel asks for it too
        if not self._actions["note.add"].isEnabled():
            return
        instant, timeline = self._window.view.instant, self._window.watch.history.timeline
        try:
            _require_newest_epoch(timeline, instant)
        except ValueError as problem:
            self._say("error", f"no note can be kept there: {problem}")
            return
        # one that is being written goes on
        text = self._unkept.popleft() if self._unkept and self._window.notes.isHidden() else ""
        self._window.notes.ask(instant, instant_text(timeline.time_at(instant)), text)

    def close(self) -> None:
        """Leave; what cannot be sent within half a second is lost."""
        self._asking.close(_LINGER)

    def _write(self, text: str, instant: float) -> None:
        timeline = self._window.watch.history.timeline
        try:
            _require_newest_epoch(timeline, instant)
            time, index = timeline.sample_at(instant) or (None, None)
            self._asking.send(NoteRequest(text=text, time=time, index=index), text)
        except (ValueError, OSError) as problem:
            self._miss(text, str(problem))

    def _hear(self) -> None:
        for text, refusal in self._asking.answers():
            health = self._window.watch.history.health
            if refusal:
                self._miss(text, refusal)
            elif health is not None and health.recording:
                self._say("info", "the note is kept with the run")
            else:
                self._say("warning", "the note was sent, not saved: no recording is running")

    def _miss(self, text: str, why: str) -> None:
        """Tell that a note is not kept, and keep its text for the next."""
        if text:
            self._unkept.append(text)
        self._say("error", f"the note is not kept: {why}; the next note begins with its text")


def _require_newest_epoch(timeline: Timeline, instant: float) -> None:
    """Raise ValueError where the rig has started again since `instant`: a note is kept in the epoch that goes on."""
    segments = timeline.segments
    newest = [*takewhile(lambda segment: segment.epoch == timeline.epoch, reversed(segments))]
    if len(newest) < len(segments) and instant < newest[-1].x_begin:
        begin = instant_text(newest[-1].x_begin + newest[-1].offset)
        raise ValueError(f"the rig has started again since: a note can be kept only from {begin} on")
