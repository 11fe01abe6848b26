"""Full detail of samples that are no longer in memory, read from the run file that the service records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np

from gui.model.pyramid import Envelope, Pyramid, bucket_rows
from gui.model.tracking_error import Difference, chosen
from monitor.recording.layout import RunFileError
from monitor.recording.reader import SignalSpan, read_signals

_MAX_BYTES = 1 << 25


class RunDetail:
    """Read a run file, which may be written at the same time.

    Each call opens the file again and takes some milliseconds, longer where much is read.

    Parameters
    ----------
    path : the file, on this machine.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def envelope(
        self, epoch: int, first: float, stop: float, n_columns: int, columns: Sequence[int | Difference]
    ) -> Envelope | None:
        """Return the min/max buckets of channels, or differences of two, from sample `first` of an epoch to `stop`.

        Edges are sample numbers, independent of the rig's clock, as in memory. Buckets are whole, as those of
        `Pyramid.envelope`, and extend beyond the requested span. None where more than 32 MB would have to be read,
        where the file does not have the span, and where the file is damaged or missing.
        """
        if not (first < stop and math.isfinite(stop - first)):
            return None
        w = bucket_rows(stop - first, n_columns)
        begin, end = (math.floor(first / w) - 1) * w, (math.floor(stop / w) + 2) * w
        try:
            span = read_signals(self.path, epoch, begin, end, _MAX_BYTES)
        except (RunFileError, OSError):
            return None
        if span is None:
            return None
        needed = [each for column in columns for each in ((column,) if isinstance(column, int) else column)]
        if any(not 0 <= column < span.samples.shape[1] for column in needed):
            return None
        return _envelope(span, first, stop, n_columns, list(columns))


def _envelope(
    span: SignalSpan, first: float, stop: float, n_columns: int, columns: list[int | Difference]
) -> Envelope | None:
    if not len(span.index):
        return None
    begin = int(span.index.min())
    n_rows = int(span.index.max()) - begin + 1
    if 8 * n_rows * max(1, len(columns)) > _MAX_BYTES:
        return None
    rows = np.full((n_rows, len(columns)), np.nan)
    rows[span.index - begin] = chosen(span.samples, columns)
    pyramid = Pyramid(len(columns), (n_rows,))
    pyramid.append(begin, rows)
    return pyramid.envelope(first, stop, n_columns, range(len(columns)))


_Span = tuple[int, float, float, int, tuple[int | Difference, ...]]


class DetailLoader:
    """Reads spans of a run file in a thread: a call returns None until its span has been read.

    Of the spans that are requested in the meantime the newest is read next.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "run-detail")
        self._path = ""
        self._detail: RunDetail | None = None
        self._reading: tuple[_Span, Future[Envelope | None]] | None = None
        self._read: tuple[_Span, Envelope | None] | None = None
        self._requested: _Span | None = None

    def set_path(self, path: str) -> None:
        """Read from the run file at `path`, if it is on this machine; empty: from none."""
        if path != self._path:
            # a relative path would be looked up in the working directory of this process
            self._path, self._detail = path, RunDetail(Path(path)) if Path(path).is_absolute() else None
            self._reading = self._read = self._requested = None

    def __call__(
        self, epoch: int, start: float, stop: float, n_columns: int, columns: Sequence[int | Difference]
    ) -> Envelope | None:
        """Return the envelope of samples number `start` to `stop`, in at most `n_columns`; None: not yet read."""
        if self._detail is None:
            return None
        span = epoch, start, stop, n_columns, tuple(columns)
        if self._read is not None and self._read[0] == span:
            return self._read[1]
        self._requested = span
        return None

    def read(self, epoch: int, start: float, stop: float, n_columns: int, columns: Sequence[int]) -> Envelope | None:
        """Return the same as a call, but wait for it."""
        if self._detail is None:
            return None
        return _read_span(self._detail, (epoch, start, stop, n_columns, tuple(columns)))

    def poll(self) -> bool:
        """Accept what has been read, and begin to read what was requested; return whether there is something new."""
        fresh = False
        if self._reading is not None and self._reading[1].done():
            (span, future), self._reading = self._reading, None
            # a damaged file costs the detail, not the picture
            found = None if future.exception() else future.result()
            self._read, fresh = (span, found), found is not None
        if self._reading is None and self._requested is not None and self._detail is not None:
            span, self._requested = self._requested, None
            self._reading = span, self._thread.submit(_read_span, self._detail, span)
        return fresh

    def close(self) -> None:
        """Wait for the thread."""
        self._thread.shutdown(wait=True, cancel_futures=True)


def _read_span(detail: RunDetail, span: _Span) -> Envelope | None:
    """Read a span if the file exists; checked here, because a remote disk may block."""
    return detail.envelope(*span) if detail.path.is_file() else None
