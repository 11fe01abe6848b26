"""Finer detail of what is older than memory, read from the run file while nobody waits for it."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from gui.model.history.pyramid import Envelope
from gui.model.history.run_detail import RunDetail

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
