"""What is watched: the receiver of a service's messages, their history, and the visible time range."""

from __future__ import annotations

import math
from functools import partial

from PySide6.QtCore import QObject

from gui.model.history.history import History
from gui.model.receiver import ReceiverThread, ResultLink
from gui.plots.view import View


class Watch(QObject):
    """Follow one service at a time.

    Parameters
    ----------
    view : what is looked at; kept within what there is.
    memory : bytes that the history may take.
    minutes : that it keeps at full rate.

    Attributes
    ----------
    history : what is kept; another one after each `open`.
    configured : whoever shows it has seen that it is another one; False until it says so.
    """

    def __init__(self, view: View, memory: int, minutes: float, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.view = view
        self.memory, self.minutes = memory, minutes
        self.url = self.keys = ""
        self.history = History(memory, minutes)
        self.configured = False
        self._feed: ReceiverThread | None = None

    @property
    def watching(self) -> bool:
        """There is a service that is listened to."""
        return self._feed is not None

    @property
    def dropped(self) -> int:
        """Samples that came while the window took too long to take them."""
        return 0 if self._feed is None else self._feed.dropped

    @property
    def failed(self) -> str:
        """Why nothing can come, in one line."""
        return "" if self._feed is None else self._feed.failed

    def open(self, url: str, keys: str = "") -> None:
        """Listen to the service at `url`, with the keys in that folder, and begin a new history."""
        self.forget()
        self.url, self.keys = url, keys
        self._feed = ReceiverThread(partial(ResultLink.connect, url, signals=True, keys=keys))

    def tick(self) -> bool:
        """Take what has come; return whether anything has."""
        if self._feed is None:
            return False
        arrivals = self._feed.take()
        history = self.history
        history.take(arrivals, silence=self._feed.silence, age=self._feed.age)
        self.view.extend(history.begin_x, history.end_x)
        return bool(arrivals)

    def forget(self) -> None:
        """Listen no longer, and begin a new history: what was seen is of something else."""
        self.close()
        self.history, self.configured = History(self.memory, self.minutes), False
        self.view.restart()

    def close(self) -> None:
        """Listen no longer; the history stays to be looked at."""
        if self._feed is not None:
            self._feed.close()
            self._feed = None
            # what stands there is of no service any more
            self.history.silence = self.history.age = math.inf
