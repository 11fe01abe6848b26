"""Run files of a recording: a new file for each stream, and after disk errors. Used by a single thread."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from monitor.messages.blocks import EventKind, ResultBlock, ResultStream, SignalBlock, Stream
from monitor.recording import layout
from monitor.recording.layout import SampleTimes, SeriesRows, result_columns, signal_columns
from monitor.recording.queues import Backlog, Item, NoteQueue, memory_size
from monitor.recording.swmr_file import DISK_ERRORS, Location, SwmrFile, error_text
from monitor.recording.verification import readable_samples
from monitor.system.safe_text import elide_left


@dataclass(slots=True, eq=False)
class StreamFile:
    """A stream, its results, what is not written yet, and the run file that has or will have them.

    Parameters
    ----------
    stream : of the samples; None before the first.
    results : columns of the results; None as long as they are not known.
    file : None until it is created, and after an error.
    starts : epoch -> index of its first sample in this file; results before it belong to another.
    end, results_end : epoch of the last sample, and of the last row of results, and the index after it.
    in_file : samples that are written.
    rows : samples that came.
    since : when the first block came, s, monotonic.
    lossy : something is missing in the file.
    """

    stream: Stream | None = None
    results: ResultStream | None = None
    file: SwmrFile | None = None
    starts: dict[int, int] = field(default_factory=dict)
    end: tuple[int, int] = (-1, 0)
    results_end: tuple[int, int] = (-1, 0)
    in_file: int = 0
    rows: int = 0
    since: float = 0.0
    lossy: bool = False
    times: SampleTimes = field(default_factory=SampleTimes)
    pending: list[Item] = field(default_factory=list)
    n_bytes: int = 0
    events: int = 0

    @property
    def has_samples(self) -> bool:
        """Whether samples are pending."""
        return any(isinstance(item, SignalBlock) for item in self.pending)

    def count(self, block: SignalBlock) -> None:
        """Note where the samples of `block` are."""
        epoch, end = block.stream.epoch, block.index + len(block)
        self.starts[epoch] = min(block.index, self.starts.get(epoch, block.index))
        self.end = (epoch, end)
        self.rows += len(block)

    def has_samples_of(self, results: ResultStream, index: int | None = None) -> bool:
        """Whether the file has the sample `index`, or any of its epoch, that results are of."""
        if self.stream is None or (self.stream.rig, self.stream.sample_rate) != (results.rig, results.sample_rate):
            return False
        start = self.starts.get(results.epoch)
        return start is not None and (index is None or index >= start)

    def has_columns_of(self, results: ResultStream) -> bool:
        """Whether the results have the columns of the file."""
        own = self.results
        return own is not None and (own.every, own.columns) == (results.every, results.columns)

    @property
    def complete(self) -> bool:
        """Whether no more results are to come."""
        return self.results is None or (self.results_end[0] == self.end[0] and self.results_end[1] >= self.end[1])

    def add(self, item: Item) -> None:
        """Append to what is pending."""
        self.pending.append(item)
        self.n_bytes += memory_size(item)
        if isinstance(item, ResultBlock):
            self.results_end = item.stream.epoch, item.index + len(item) * item.stream.every

    def restart(self) -> None:
        """Go on without the file: the first samples of the next one are those that are pending."""
        self.file, self.times, self.in_file = None, SampleTimes(), 0
        self.starts.clear()
        for item in self.pending:
            if isinstance(item, SignalBlock):
                self.starts.setdefault(item.stream.epoch, item.index)


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
_MAX_WAITING_FILES = 4  # that are open only for results to come
_MAX_KNOWN_COLUMNS = 16


class RunFiles:
    """Collects blocks and writes them; starts a file when the stream is known, and another when its channels change.

    Results may come long after their samples: the file of a stream that has ended stays open until they are complete,
    until results of a later one come, or until four such files are open. Results whose file has ended are not
    recorded, since they can be computed from the samples, and a note says so.

    Disk errors are not raised: pending blocks are kept for a new file, and until that is created it is not `ready`.

    Parameters
    ----------
    wanted : the preferred file name.
    settings : JSON.
    backlog : recorded and dropped items are removed from it.
    notes : reports errors, and new, moved, removed and overwritten files.
    """

    def __init__(self, wanted: Path, settings: bytes, backlog: Backlog, notes: NoteQueue) -> None:
        self.path = wanted
        self.recorded = self.lost = self.breaks = 0
        self._was_lossy = False
        self.disk_error = ""
        self._wanted = wanted
        self._settings = settings
        self._backlog = backlog
        self._notes = notes
        self._delay = RetryDelay()
        self._reported_error = ""
        self._interrupted = False  # the stream continues without its file
        self._current = StreamFile()
        self._waiting: list[StreamFile] = []  # for results, oldest first
        self._latest = self._current  # of which the last results were
        self._known_columns: deque[ResultStream] = deque(maxlen=_MAX_KNOWN_COLUMNS)
        self._told_late = False

    @property
    def lossy(self) -> bool:
        """Whether samples, results or events are missing in the file of the current stream."""
        return self._current.lossy

    @lossy.setter
    def lossy(self, lossy: bool) -> None:
        self._current.lossy = lossy

    @property
    def ever_lossy(self) -> bool:
        """Whether samples, results or events are missing in any of the files."""
        return self._was_lossy or any(part.lossy for part in (self._current, *self._waiting))

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
            part = self._part_for(item)
        except DISK_ERRORS as problem:
            self._on_disk_error(problem)
            return False
        if part is not None:
            part.add(item)
            if part is not self._current and part.complete:
                self._end_waiting(part)
        else:
            self._backlog.remove(0, memory_size(item))
        if sum(part.n_bytes for part in (self._current, *self._waiting)) >= _WRITE_BYTES:
            self.commit()
        return True

    def commit(self) -> None:
        """Write and flush the pending items, after a look at the files on the disk."""
        # results have no acknowledgement of their own: written before the samples that came after them
        for part in self._waiting.copy():
            self._write_waiting(part)
        try:
            self._look_at(self._current)
            overdue = time.monotonic() - self._current.since >= _RESULTS_TIMEOUT
            if self._current.file is None and self._current.has_samples and (self._interrupted or overdue):
                self._create_file(self._current)
            self._write(self._current)
            self.disk_error = ""
        except DISK_ERRORS as problem:
            self._on_disk_error(problem)

    def close(self, outcome: str | None = None) -> None:
        """Finish the files, with `outcome` or else ``clean`` or ``lossy``; what cannot be written is dropped."""
        for part in self._waiting.copy():
            self._end_waiting(part, outcome)
        try:
            self._write_all(self._current)
            self._finish(self._current, outcome)
            self._current = StreamFile()
        except DISK_ERRORS as problem:
            self._on_disk_error(problem)

    def _part_for(self, item: Item) -> StreamFile | None:
        """Return where `item` belongs, None for an item without rows or without a place; may start a new file."""
        if isinstance(item, SignalBlock):
            self._prepare_for_signals(item)
            return self._current if len(item) else None
        if isinstance(item, ResultBlock):
            part = self._prepare_for_results(item)
            return part if len(item) else None
        # alarms follow from results, all other events from what has arrived
        part = self._latest if item.kind is EventKind.ALARM and self._latest in self._waiting else self._current
        accepted = part.events < _MAX_PENDING_EVENTS
        part.events += accepted
        part.lossy |= not accepted
        return part if accepted else None

    def _prepare_for_signals(self, block: SignalBlock) -> None:
        part, stream = self._current, block.stream
        if part.stream is not None and stream is not part.stream and _differ(stream, part.stream):
            self._start_part()
            part = self._current
        if part.stream is None:
            part.since = time.monotonic()
        # this block's results may follow: only those of earlier blocks are overdue
        if part.file is None and part.rows >= _RESULTS_TIMEOUT * stream.sample_rate:
            self._create_file(part)
        part.stream = stream
        part.count(block)

    def _start_part(self) -> None:
        """Begin another file; that of the current part is finished, or stays open for its results."""
        part = self._current
        self._write_all(part)
        if part.file is None or part.complete:
            self._finish(part)
        else:
            self._waiting.append(part)
        self._current = StreamFile()
        if len(self._waiting) > _MAX_WAITING_FILES:
            self._end_waiting(self._waiting[0])

    def _prepare_for_results(self, block: ResultBlock) -> StreamFile | None:
        stream, index = block.stream, block.index if len(block) else None
        if not any(stream is known for known in self._known_columns):
            self._known_columns.append(stream)
        newest_first = (self._current, *reversed(self._waiting))
        part = next((part for part in newest_first if part.has_samples_of(stream, index)), None)
        if part is None:
            self._tell_late(block)
            return None
        if part is self._current and part.results is not None and not part.has_columns_of(stream):
            self._write_all(part)
            self._finish(part)
            part = self._current = StreamFile(part.stream, starts=part.starts, end=part.end)
        if part.file is None:
            part.results = stream
            self._create_file(part)
        if not part.has_columns_of(stream):
            # a file without a results group, or with other columns
            part.lossy |= len(block) > 0
            return None
        if len(block):
            self._latest = part
            for older in self._waiting[: self._waiting.index(part) if part in self._waiting else None]:
                self._end_waiting(older)
        return part

    def _tell_late(self, block: ResultBlock) -> None:
        if len(block) and not self._told_late:
            self._told_late = True
            self._notes.add(
                f"results from sample {block.index} on came after their file had ended and are not recorded: "
                "synchroscope assess computes them from the samples"
            )

    def _create_file(self, part: StreamFile) -> None:
        if part.stream is None:
            return
        if self._interrupted:
            # the folder may have been removed or renamed
            self._wanted.parent.mkdir(parents=True, exist_ok=True)
        if part.results is None:
            # announced before the file, or to a recorder that has died
            known = reversed(self._known_columns)
            part.results = next((columns for columns in known if part.has_samples_of(columns)), None)
        part.file = SwmrFile(self._wanted, part.stream, part.results, self._settings)
        self.path = part.file.path
        part.times, part.in_file = SampleTimes(), 0
        self._delay.succeeded()

    def _write_all(self, part: StreamFile) -> None:
        """Write what is pending, to a file that is created if need be."""
        self._look_at(part)
        if part.file is None and part.has_samples:
            self._create_file(part)
        self._write(part)

    def _write(self, part: StreamFile) -> None:
        """Write and flush all pending items at once."""
        if part.file is None or not part.pending:
            return
        signals = [item for item in part.pending if isinstance(item, SignalBlock)]
        results = [item for item in part.pending if isinstance(item, ResultBlock)]
        events = [item for item in part.pending if not isinstance(item, SignalBlock | ResultBlock)]
        rows: dict[str, SeriesRows] = {}
        if signals:
            rows[layout.SIGNALS] = signal_columns(signals, part.times)
        if results:
            rows[layout.RESULTS] = result_columns(results)
        part.file.append(rows, events)
        written = sum(map(len, signals))
        self.recorded += written
        part.in_file += written
        self._backlog.remove(written, part.n_bytes)
        part.pending, part.n_bytes, part.events = [], 0, 0
        if self._interrupted and part is self._current:
            self._interrupted, self._reported_error = False, ""
            self._notes.add(f"the recording continues in {elide_left(str(self.path))}")

    def _write_waiting(self, part: StreamFile) -> None:
        """Write results of a stream that has ended; without its file they are left out."""
        try:
            self._look_at(part)
            self._write(part)
        except DISK_ERRORS as problem:
            self._end_after_error(part, problem)
        if part.file is None:
            self._backlog.remove(0, part.n_bytes)
            self._waiting.remove(part)
            self._was_lossy |= part.lossy

    def _end_waiting(self, part: StreamFile, outcome: str | None = None) -> None:
        self._write_waiting(part)
        if part.file is None:
            return
        self._waiting.remove(part)
        try:
            self._finish(part, outcome)
        except DISK_ERRORS as problem:
            self._end_after_error(part, problem)

    def _finish(self, part: StreamFile, outcome: str | None = None) -> None:
        """Close the file of `part`, and compare what can be read of it with what was written."""
        if part.file is not None:
            part.file.finish(outcome or (layout.LOSSY if part.lossy else layout.CLEAN))
            file, part.file = part.file, None
            missing = part.in_file - readable_samples(file.path, file.created)
            if missing > 0:
                name = elide_left(file.path.name)
                self._count_lost(part, missing, f"{name} is damaged: {missing} of {part.in_file} samples are lost")
                self.breaks += 1
        self._was_lossy |= part.lossy

    def _end_after_error(self, part: StreamFile, problem: BaseException) -> None:
        self._notes.add(f"the last results are not recorded: {error_text(problem)}")
        self._was_lossy = True
        self._close_after_error(part)

    def _look_at(self, part: StreamFile) -> None:
        """If the file no longer has its name or its bytes, end it; what is no longer in it is lost."""
        if part.file is None or (location := part.file.location()) is Location.UNCHANGED:
            return
        name = elide_left(part.file.path.name)
        if location is Location.REMOVED:
            self._count_lost(
                part, part.in_file, f"{name} was removed: {part.in_file} samples that were in it are lost"
            )
        elif location is Location.MOVED:
            self._notes.add(f"the run file {name} was moved or renamed: it ends with {part.in_file} samples")
        self._interrupt(part)

    def _count_lost(self, part: StreamFile, samples: int, text: str) -> None:
        self._notes.add(f"the run file {text}")
        part.lossy = True
        self.lost += samples
        self.recorded -= samples

    def _on_disk_error(self, problem: BaseException) -> None:
        """Close the file, and keep the pending items until another one can be created."""
        self.disk_error = error_text(problem)
        self._delay.failed()
        if self.disk_error != self._reported_error:
            self._reported_error = self.disk_error
            self._notes.add(f"cannot write {elide_left(str(self.path))}: {self.disk_error}; retrying")
            self._interrupt(self._current)
        else:
            self._close_after_error(self._current)

    def _interrupt(self, part: StreamFile) -> None:
        self._interrupted |= part is self._current
        self._close_after_error(part)
        self.breaks += 1

    def _close_after_error(self, part: StreamFile) -> None:
        file = part.file
        if file is None:
            return
        overwritten = file.location() is Location.OVERWRITTEN
        file.close_after_error(layout.TRUNCATED)
        if overwritten:
            left = readable_samples(file.path, file.created)
            self._count_lost(
                part,
                part.in_file - left,
                f"{elide_left(file.path.name)} was truncated or overwritten by another program: "
                f"{part.in_file - left} of {part.in_file} samples in it are lost",
            )
        elif not part.in_file:
            file.remove()
        part.restart()


def _differ(one: Stream, other: Stream) -> bool:
    return (one.rig, one.sample_rate, one.channels) != (other.rig, other.sample_rate, other.channels)
