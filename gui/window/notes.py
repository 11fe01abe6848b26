"""Notes of the operator on their way to the service, and what became of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import takewhile

from PySide6.QtCore import QObject

from gui.model.history.timeline import Timeline
from gui.panels.events import EventsPanel
from gui.window.actions import Actions
from gui.window.asking import Asking
from gui.window.window import MainWindow
from gui.wording.numbers import instant_text
from monitor.messages.requests import NoteRequest

_LINGER = 0.5  # s that a note has to leave at the end
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
