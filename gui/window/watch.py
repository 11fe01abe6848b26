"""What is watched: the receiver of a service's messages, their history, and detail read from the run file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject

from gui.model.envelope import Envelope
from gui.model.history import History
from gui.model.receiver import ReceiverThread, ResultLink
from gui.model.run_detail import RunDetail
from gui.plots.view import View

Span = tuple[int, float, float, int, tuple[int, ...]]


class DetailLoader:
    """Ask for a span again and again: the answer is None until it has been read.

    Of spans that are asked for meanwhile, the newest is read next.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "run-detail")
        self._path = ""
        self._detail: RunDetail | None = None
        self._reading: tuple[Span, Future[Envelope | None]] | None = None
        self._read: tuple[Span, Envelope | None] | None = None
        self._wanted: Span | None = None

    def follow(self, path: str) -> None:
        """Read from the run file at `path` from now on, if it is on this machine; empty: from none."""
        if path != self._path:
            # a path that is not whole would be looked for where this program happens to run
            self._path, self._detail = path, RunDetail(Path(path)) if Path(path).is_absolute() else None
            self._reading = self._read = self._wanted = None

    def __call__(
        self, epoch: int, start: float, stop: float, n_columns: int, columns: Sequence[int]
    ) -> Envelope | None:
        """Return the envelope of samples number `start` to `stop`, in at most `n_columns`; None: not there yet."""
        if self._detail is None:
            return None
        span = epoch, start, stop, n_columns, tuple(columns)
        if self._read is not None and self._read[0] == span:
            return self._read[1]
        self._wanted = span
        return None

    def tick(self) -> bool:
        """Take what has been read, and begin to read what is wanted; return whether there is something new."""
        fresh = False
        if self._reading is not None and self._reading[1].done():
            (span, future), self._reading = self._reading, None
            # whatever is wrong with a file, the picture goes on without it
            found = None if future.exception() else future.result()
            self._read, fresh = (span, found), found is not None
        if self._reading is None and self._wanted is not None and self._detail is not None:
            span, self._wanted = self._wanted, None
            self._reading = span, self._thread.submit(_envelope, self._detail, span)
        return fresh

    def close(self) -> None:
        """Wait for the thread."""
        self._thread.shutdown(wait=True, cancel_futures=True)


def _envelope(detail: RunDetail, span: Span) -> Envelope | None:
    """Read, where there is a file: a disk that is far away, or gone, is waited for in the thread."""
    return detail.envelope(*span) if detail.path.is_file() else None


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
        arrivals = self._feed.drain()
        history = self.history
        history.update(arrivals, silence=self._feed.silence, age=self._feed.age)
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
