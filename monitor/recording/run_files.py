"""Run files of a recording: a new file for each stream, and after disk errors. Used by a single thread."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from monitor.messages.blocks import ResultBlock, ResultStream, SignalBlock, Stream
from monitor.recording import layout
from monitor.recording.queues import Backlog, Item, NoteQueue, memory_size
from monitor.recording.rows import SampleTimes, SeriesRows, result_columns, signal_columns
from monitor.recording.swmr_file import DISK_ERRORS, Location, SwmrFile, error_text
from monitor.system.safe_text import elide_left

_MIN_DELAY, _MAX_DELAY = 1.0, 8.0  # s
_STABLE_TIME = 30.0  # s of recording after which the delay starts at its minimum again


class RetryDelay:
    """Exponential backoff: 1 s after the first error, doubled for each further one, up to 8 s.

    Parameters
    ----------
    clock : s, monotonic.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._delay = 0.0
        self._created_at = self._until = -float("inf")

    @property
    def elapsed(self) -> bool:
        """Whether it may be tried again."""
        return self._clock() >= self._until

    def succeeded(self) -> None:
        """Note that a file was created."""
        self._created_at = self._clock()

    def failed(self) -> None:
        """Start the next delay."""
        now = self._clock()
        was_stable = self._created_at >= self._until and now - self._created_at >= _STABLE_TIME
        self._delay = _MIN_DELAY if was_stable else min(2.0 * self._delay, _MAX_DELAY)
        self._until = now + self._delay


_WRITE_BYTES = 1 << 20
_MAX_PENDING_EVENTS = 10_000
_RESULTS_TIMEOUT = 0.5  # s: a stream without results so far is then recorded without


class RunFiles:
    """Collects blocks and writes them; starts a file when the stream is known, and another when its channels change.

    Disk errors are not raised: pending blocks are kept for a new file, and until that is created it is not `ready`.

    Parameters
    ----------
    wanted : the preferred file name.
    settings : JSON.
    backlog : recorded and dropped items are removed from it.
    notes : reports errors, and new, moved and removed files.
    """

    def __init__(self, wanted: Path, settings: bytes, backlog: Backlog, notes: NoteQueue) -> None:
        self.path = wanted
        self.recorded = self.lost = self.breaks = 0
        self.lossy = False  # of the file that is open
        self._was_lossy = False
        self.disk_error = ""
        self._wanted = wanted
        self._settings = settings
        self._backlog = backlog
        self._notes = notes
        self._delay = RetryDelay()
        self._reported_error = ""
        self._file: SwmrFile | None = None
        self._in_file = 0
        self._interrupted = False  # the stream continues without its file
        self._stream: Stream | None = None
        self._result_stream: ResultStream | None = None
        self._times = SampleTimes()
        self._rows, self._since = 0, 0.0
        self._pending: list[Item] = []
        self._bytes = self._events = 0

    @property
    def ever_lossy(self) -> bool:
        """Whether samples, results or events are missing in any of the files."""
        return self.lossy or self._was_lossy

    def ready(self, *, at_once: bool = False) -> bool:
        """Whether it accepts items; after a disk error, retry when the delay has elapsed or with `at_once`."""
        if self.disk_error and (at_once or self._delay.elapsed):
            self.commit()
        return not self.disk_error

    def add(self, item: Item) -> bool:
        """Add a block or an event, and write once a megabyte is pending. False: not accepted, see `ready`."""
        if self.disk_error:
            return False
        try:
            if isinstance(item, SignalBlock):
                self._prepare_for_signals(item)
                accepted = len(item) > 0
            elif isinstance(item, ResultBlock):
                accepted = self._prepare_for_results(item) and len(item) > 0
            else:
                accepted = self._events < _MAX_PENDING_EVENTS
                self._events += accepted
                self.lossy |= not accepted
        except DISK_ERRORS as problem:
            self._on_disk_error(problem)
            return False
        if accepted:
            self._pending.append(item)
            self._bytes += memory_size(item)
        else:
            self._backlog.remove(0, memory_size(item))
        if self._bytes >= _WRITE_BYTES:
            self.commit()
        return True

    def commit(self) -> None:
        """Write and flush the pending items, after checking that the file still has its name."""
        try:
            self._check_location()
            if self._file is None and self._has_samples and (self._interrupted or self._results_are_overdue):
                self._create_file()
            self._write()
            self.disk_error = ""
        except DISK_ERRORS as problem:
            self._on_disk_error(problem)

    def close(self, outcome: str | None = None) -> None:
        """Finish the file, with `outcome` or else ``clean`` or ``lossy``; what cannot be written is dropped."""
        try:
            self._finish_file(outcome)
        except DISK_ERRORS as problem:
            self._on_disk_error(problem)

    @property
    def _has_samples(self) -> bool:
        return any(isinstance(item, SignalBlock) for item in self._pending)

    @property
    def _results_are_overdue(self) -> bool:
        return time.monotonic() - self._since >= _RESULTS_TIMEOUT

    def _prepare_for_signals(self, block: SignalBlock) -> None:
        stream = block.stream
        if self._stream is not None and stream is not self._stream and _differ(stream, self._stream):
            self._finish_file()
        if self._stream is None:
            self._since = time.monotonic()
        # this block's results may follow: only those of earlier blocks are overdue
        if self._file is None and self._rows >= _RESULTS_TIMEOUT * stream.sample_rate:
            self._create_file()
        self._stream = stream
        self._rows += len(block)

    def _prepare_for_results(self, block: ResultBlock) -> bool:
        stream, known = block.stream, self._result_stream
        if self._stream is None or (self._file is not None and known is None):
            # no stream yet, or a file without a results group
            self.lossy |= len(block) > 0
            return False
        if known is not None and (known.every, known.columns) != (stream.every, stream.columns):
            signals = self._stream
            self._finish_file()
            self._stream = signals
        self._result_stream = stream
        if self._file is None:
            self._create_file()
        return True

    def _create_file(self) -> None:
        if self._stream is None:
            return
        if self._interrupted:
            # the folder may have been removed or renamed
            self._wanted.parent.mkdir(parents=True, exist_ok=True)
        self._file = SwmrFile(self._wanted, self._stream, self._result_stream, self._settings)
        self.path = self._file.path
        self._times, self._in_file = SampleTimes(), 0
        self._delay.succeeded()

    def _write(self) -> None:
        """Write and flush all pending items at once."""
        if self._file is None or not self._pending:
            return
        signals = [item for item in self._pending if isinstance(item, SignalBlock)]
        results = [item for item in self._pending if isinstance(item, ResultBlock)]
        events = [item for item in self._pending if not isinstance(item, SignalBlock | ResultBlock)]
        rows: dict[str, SeriesRows] = {}
        if signals:
            rows[layout.SIGNALS] = signal_columns(signals, self._times)
        if results:
            rows[layout.RESULTS] = result_columns(results)
        self._file.append(rows, events)
        written = sum(map(len, signals))
        self.recorded += written
        self._in_file += written
        self._backlog.remove(written, self._bytes)
        self._pending, self._bytes, self._events = [], 0, 0
        if self._interrupted:
            self._interrupted, self._reported_error = False, ""
            self._notes.add(f"the recording continues in {elide_left(str(self.path))}")

    def _finish_file(self, outcome: str | None = None) -> None:
        self._check_location()
        if self._file is None and self._has_samples:
            self._create_file()
        self._write()
        if self._file is not None:
            self._file.finish(outcome or (layout.LOSSY if self.lossy else layout.CLEAN))
        self._file = self._stream = self._result_stream = None
        self._was_lossy |= self.lossy
        self.lossy = False
        self._rows = 0

    def _check_location(self) -> None:
        """If the file no longer has its name, start another one; samples in a removed file are lost."""
        if self._file is None or (location := self._file.location()) is Location.UNCHANGED:
            return
        name = elide_left(self.path.name)
        if location is Location.REMOVED:
            self._notes.add(f"the run file {name} was removed: {self._in_file} samples that were in it are lost")
            self.lossy = True
            self.lost += self._in_file
            self.recorded -= self._in_file
        else:
            self._notes.add(f"the run file {name} was moved or renamed: it ends with {self._in_file} samples")
        self._interrupt()

    def _on_disk_error(self, problem: BaseException) -> None:
        """Close the file, and keep the pending items until another one can be created."""
        self.disk_error = error_text(problem)
        self._delay.failed()
        if self.disk_error != self._reported_error:
            self._reported_error = self.disk_error
            self._notes.add(f"cannot write {elide_left(str(self.path))}: {self.disk_error}; retrying")
            self._interrupt()
        elif self._file is not None:
            self._close_after_error()

    def _interrupt(self) -> None:
        self.breaks += 1
        self._interrupted = True
        self._close_after_error()

    def _close_after_error(self) -> None:
        file, self._file = self._file, None
        if file is None:
            return
        file.close_after_error(layout.TRUNCATED)
        if not self._in_file:
            file.remove()


def _differ(one: Stream, other: Stream) -> bool:
    return (one.rig, one.sample_rate, one.channels) != (other.rig, other.sample_rate, other.channels)
