"""Processes and clients that are only played."""

from __future__ import annotations

import weakref

import msgspec
from PySide6.QtCore import QObject, Signal

from gui.sources.processes.player import ReplayControl
from monitor.messages.requests import Answer, PlayerState, StateRequest


class FakeWorker(QObject):
    """Stands where a `ChildProcess` would, and does what the test says."""

    line = Signal(str)
    answer = Signal(object)
    ended = Signal(int, str)

    def __init__(self, words, parent=None, *, outlives=False, exits_on_stdin_close=False):
        super().__init__(parent)
        self.words = tuple(words)
        self.outlives, self.exits_on_stdin_close = outlives, exits_on_stdin_close
        self.running = self.stopped = False

    def start(self):
        self.running = True

    def take_requests(self):
        """Report the endpoints, as a replay that is ready does."""
        self.answer.emit({"ready": {"signals": ["tcp://a"], "requests": "tcp://127.0.0.1:9"}})

    def stop(self):
        self.stopped = True

    def end(self, code=0, last=""):
        self.running = False
        self.ended.emit(code, last)


class Launched(list):
    """All processes that were made, in their order; called, it makes one."""

    def __call__(self, words, parent=None, **how):
        self.append(FakeWorker(words, parent, **how))
        return self[-1]

    def of(self, word):
        """The newest whose words have `word`."""
        return next(process for process in reversed(self) if word in process.words)


class FakeClient:
    """Stands where a `RequestClient` would: keeps what is sent, and answers what the test says."""

    def __init__(self, url=""):
        self.url = url
        self.told = []
        self.closed = False
        self.newest_command = self.newest = 0
        self._answers, self._players = [], []

    def player(self, parent=None, description=None):
        """Return a player that sends its requests here."""
        player = ReplayControl(self, parent, description)
        self._players.append(weakref.ref(player))
        return player

    def send(self, request):
        self.newest += 1
        if not isinstance(request, StateRequest):
            self.newest_command = self.newest
            told = msgspec.to_builtins(request)
            self.told.append({name: value for name, value in told.items() if (name, value) != ("lead", 0.0)})
        return self.newest

    def answers(self, timeout=0.0):
        found, self._answers = self._answers, []
        return found

    def close(self, linger=0.0):
        self.closed = True

    def say(self, state, player=None, number=None):
        """Answer the newest request, or that of a number, with a state."""
        number = self.newest if number is None else number
        self._hand_over(Answer(ok=True, id=number, state=PlayerState(**state)), player)

    def refuse(self, reason, player=None):
        """Refuse the newest command."""
        self._hand_over(Answer(ok=False, reason=reason, id=self.newest_command), player)

    def _hand_over(self, answer, player):
        self._answers.append(answer)
        (self._players[-1]() if player is None else player).poll()
