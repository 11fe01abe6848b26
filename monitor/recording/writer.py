"""Recording while it happens: a bounded queue to the one thread that owns the run file."""

from __future__ import annotations

import errno
import os
import re
import threading
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from monitor.blocks import Event, ResultBlock, ResultStream, SignalBlock, Stream
from monitor.recording import layout
from monitor.recording.columns import Clock, Columns, result_columns, signal_columns
from monitor.recording.growing import TROUBLE, GrowingFile

_QUEUE_ITEMS = 1 << 20
_WRITE_BYTES = 1 << 23
_WAITING_EVENTS = 10_000
_PATIENCE = 2.0
_ERRNO = re.compile(r"errno = (\d+)")


class RunWriter:
    """A sink that records; none of its calls waits for the disk but `close`.

    Parameters
    ----------
    path : the run file; where it exists, ``name-2``, ``name-3`` ... is written instead. A stream with other
        channels or another rate goes to the next free name.
    settings : what the run was computed with; anything that JSON can say.
    flush_interval : s from one flush to the next; a kill loses no more than that.
    queue_seconds : how much of the stream waits in memory while the disk is slow; what comes after is
        dropped and counted, and the outcome is then ``lossy``.

    Raises
    ------
    RunFileError : the folder is not there or not writable, or `settings` cannot be said in JSON.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        settings: Mapping[str, Any],
        flush_interval: float = 0.5,
        queue_seconds: float = 30.0,
    ) -> None:
        self._wanted = Path(path)
        if not self._wanted.parent.is_dir() or not os.access(self._wanted.parent, os.W_OK):
            raise layout.RunFileError(f"{path}: the folder does not exist or cannot be written to")
        try:
            self._settings = msgspec.json.encode(dict(settings))
        except (TypeError, ValueError) as problem:
            raise layout.RunFileError(f"{path}: the settings cannot be stored as JSON: {problem}") from problem
        self._path = self._wanted
        self._interval = flush_interval
        self._queue_seconds = queue_seconds
        self._queue: deque[SignalBlock | ResultBlock | Event] = deque()
        self._offered = self._dropped = 0
        self._fetched = self._recorded = 0
        self._lossy = self._full = False
        self._failed = ""
        self._outcome: str | None = None
        self._stop = threading.Event()
        self._file: GrowingFile | None = None
        self._forget_stream()
        self._signals: list[SignalBlock] = []
        self._results: list[ResultBlock] = []
        self._events: list[Event] = []
        self._bytes = 0
        self._thread = threading.Thread(target=self._run, name="run-writer", daemon=True)
        self._thread.start()

    @property
    def path(self) -> Path:
        """The file being written; before the first samples, the one wanted."""
        return self._path

    @property
    def recorded(self) -> int:
        """Samples acknowledged: written and flushed, safe from a kill of this process."""
        return self._recorded

    @property
    def unrecorded(self) -> int:
        """Samples that are not, and will not be, in a file."""
        return self._offered - self._recorded if self._failed else self._dropped

    @property
    def failed(self) -> str:
        """Why the disk refused; empty while it does not."""
        return self._failed

    def signals(self, block: SignalBlock) -> None:
        """Take samples; blocks come from one thread, in the order of the stream."""
        rows = len(block)
        waiting = self._offered - self._dropped - self._fetched
        self._full = waiting >= self._queue_seconds * block.stream.sample_rate
        self._offered += rows
        if not self._put(block):
            self._dropped += rows

    def results(self, block: ResultBlock) -> None:
        """Take indicator values; the first ones tell what the columns are."""
        self._put(block)

    def event(self, event: Event) -> None:
        """Take an event."""
        self._put(event)

    def _put(self, item: SignalBlock | ResultBlock | Event) -> bool:
        if self._full or self._failed or self._stop.is_set() or len(self._queue) >= _QUEUE_ITEMS:
            self._lossy = True
            return False
        self._queue.append(item)
        return True

    def close(self, outcome: str | None = None) -> None:
        """Write what waits, set the outcome and close; a second call does nothing.

        `outcome` is the word for the run; left out, it is ``clean``, or ``lossy`` when anything was dropped.
        """
        if len((outcome or "").encode()) > layout.OUTCOME_BYTES:
            raise ValueError(f"outcome {outcome!r}: at most {layout.OUTCOME_BYTES} bytes")
        if not self._stop.is_set():
            self._outcome = outcome
            self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._stop.wait(self._interval):
                self._drain()
            self._drain()
            self._end_file()
        except TROUBLE as problem:
            self._failed = _reason(problem)
            if self._file is not None:
                self._file.give_up(layout.TRUNCATED)
        finally:
            self._queue.clear()

    def _drain(self) -> None:
        """Write everything that waits, a few megabytes at a time."""
        while self._queue:
            match self._queue.popleft():
                case SignalBlock() as block:
                    self._add_signals(block)
                case ResultBlock() as block:
                    self._add_results(block)
                case event if len(self._events) < _WAITING_EVENTS:
                    self._events.append(event)
                case _:
                    self._lossy = True
            if self._bytes >= _WRITE_BYTES and self._file is not None:
                self._write()
        if self._file is None and self._signals and time.monotonic() - self._since >= _PATIENCE:
            self._begin_file()
        self._write()

    def _add_signals(self, block: SignalBlock) -> None:
        self._fetched += len(block)
        if self._stream is not None and block.stream is not self._stream and _differ(block.stream, self._stream):
            self._end_file()
        if self._stream is None:
            self._since = time.monotonic()
        self._stream = block.stream
        if len(block):
            self._signals.append(block)
            self._bytes += block.samples.nbytes
        if self._file is None:
            self._rows += len(block)
            if self._rows >= _PATIENCE * block.stream.sample_rate:
                self._begin_file()

    def _add_results(self, block: ResultBlock) -> None:
        stream = self._result_stream
        if self._stream is not None and self._file is None:
            self._result_stream = block.stream
            self._begin_file()
        elif stream is None:
            # the file was begun without results, or there is no stream yet: there is no place for them
            self._lossy |= len(block) > 0
            return
        elif (stream.every, stream.columns) != (block.stream.every, block.stream.columns):
            signals = self._stream
            self._end_file()
            self._stream, self._result_stream = signals, block.stream
            self._begin_file()
        if len(block):
            self._results.append(block)
            self._bytes += block.values.nbytes

    def _begin_file(self) -> None:
        assert self._stream is not None
        self._file = GrowingFile(self._wanted, self._stream, self._result_stream, self._settings)
        self._path = self._file.path

    def _write(self) -> None:
        """Write and flush what was gathered: many blocks in one go."""
        if self._file is None or not (self._signals or self._results or self._events):
            return
        rows: dict[str, Columns] = {}
        if self._signals:
            rows[layout.SIGNALS] = signal_columns(self._signals, self._clock)
        if self._results:
            rows[layout.RESULTS] = result_columns(self._results)
        self._file.append(rows, self._events)
        self._recorded += len(rows[layout.SIGNALS]) if self._signals else 0
        self._signals, self._results, self._events, self._bytes = [], [], [], 0

    def _end_file(self) -> None:
        """Finish the file at the end of a stream or of the recording."""
        if self._file is None and self._signals:
            self._begin_file()
        self._write()
        if self._file is not None:
            usual = layout.LOSSY if self._lossy else layout.CLEAN
            self._file.finish(self._outcome or usual)
        self._forget_stream()

    def _forget_stream(self) -> None:
        self._file = None
        self._stream: Stream | None = None
        self._result_stream: ResultStream | None = None
        self._clock = Clock()
        self._rows, self._since = 0, 0.0


def _differ(one: Stream, other: Stream) -> bool:
    return (one.rig, one.sample_rate, one.channels) != (other.rig, other.sample_rate, other.channels)


def _reason(problem: BaseException) -> str:
    """Return why in a few words; HDF5 hides the number of the error in a long text."""
    found = _ERRNO.search(str(problem))
    number = int(found[1]) if found else problem.errno if isinstance(problem, OSError) else None
    if number in errno.errorcode:
        return os.strerror(number)
    return " ".join(str(problem).split())[:200]
