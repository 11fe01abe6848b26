"""Notes of the operator on their way to the service, and what became of them."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject

from gui.instant_text import instant_text
from gui.panels.events import EventsPanel
from gui.shell.actions import Actions
from gui.window import MainWindow
from monitor.requests import NoteRequest
from monitor.transport.requests import RequestClient, requests_url


class Notes(QObject):
    """Ask for a note, send it to the service that is watched, and tell its answer; nothing here waits.

    Parameters
    ----------
    window : whose view says the instant.
    actions : one of them asks for a note.
    say : tells level and text.
    """

    def __init__(self, window: MainWindow, actions: Actions, say: Callable[[str, str], None]) -> None:
        super().__init__(window)
        self._window, self._actions, self._say = window, actions, say
        self._url = ""
        self._client: RequestClient | None = None
        actions["note.add"].triggered.connect(self.ask)
        window.desk.panel(EventsPanel).note_wanted.connect(self.ask)
        window.notes.written.connect(self._write)
        window.ticked.connect(self._hear)

    def ask(self) -> None:
        """Ask for a text, for the instant that is looked at."""
        # a button of a panel asks for it too
        if self._actions["note.add"].isEnabled():
            instant = self._window.view.instant
            self._window.notes.ask(instant, instant_text(self._window.watch.history.timeline.time_at(instant)))

    def close(self) -> None:
        """Leave; what was not sent is forgotten."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _write(self, text: str, instant: float) -> None:
        try:
            self._send(text, instant)
        except (ValueError, OSError) as problem:
            self._say("error", f"the note is not kept: {problem}")

    def _send(self, text: str, instant: float) -> None:
        watch = self._window.watch
        if watch.history.health is None:
            raise ValueError("no service answers yet: nobody can keep it")
        url = requests_url(watch.history.health.requests, watch.url)
        if self._client is None or url != self._url:
            self.close()
            self._client, self._url = RequestClient(url), url
        time, index = watch.history.timeline.sample_at(instant) or (None, None)
        self._client.send(NoteRequest(text=text, time=time, index=index))

    def _hear(self) -> None:
        for answer in () if self._client is None else self._client.answers():
            if answer.ok:
                self._say("info", "the note is kept with the run")
            else:
                self._say("error", f"the note is not kept: {answer.reason}")
