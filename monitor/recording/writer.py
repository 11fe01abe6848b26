"""Recorder in this process: a bounded queue to the thread that writes the run files."""

from __future__ import annotations

import errno
import os
import threading
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import msgspec

from monitor.messages import Sink
from monitor.messages.blocks import Event, ResultBlock, ResultStream, SignalBlock
from monitor.recording import layout
from monitor.recording.queues import Backlog, Item, NoteQueue, QueueLimit, memory_size
from monitor.recording.run_files import RunFiles

_WAKE_BYTES = 1 << 26  # waiting bytes that wake the writer
_ABORT_TIMEOUT = 1.0  # s for closing the file after the timeout of `close`


def stored_settings(path: str | os.PathLike[str], settings: Mapping[str, Any]) -> bytes:
    """Return `settings` as JSON; raise RunFileError if that fails, or the folder of `path` is not writable."""
    try:
        # root may write to any folder, not to those of /proc
        TemporaryFile(dir=Path(path).parent).close()
    except OSError as problem:
        # a full disk may have room later
        if problem.errno not in (errno.ENOSPC, errno.EDQUOT):
            why = f"the folder does not exist or cannot be written to ({problem.strerror})"
            raise layout.RunFileError(f"{path}: {why}: record in another") from problem
    try:
        return msgspec.json.encode(dict(settings))
    except (TypeError, ValueError) as problem:
        raise layout.RunFileError(f"{path}: the settings cannot be stored as JSON: {problem}") from problem


def check_outcome(outcome: str | None) -> None:
    """Raise ValueError where `outcome` is too long for the run file."""
    if len((outcome or "").encode()) > layout.OUTCOME_BYTES:
        raise ValueError(f"outcome {outcome!r}: at most {layout.OUTCOME_BYTES} bytes")


class RunWriter(Sink):
    """A sink that records; only `close` waits for the disk.

    Results may come any time after their samples (see `RunFiles`), in order; the first block of a stream's results,
    without rows, comes soon after its first samples.

    After a disk error, or when the file is moved, removed, truncated or overwritten, the recording continues in a new
    file as soon as possible, and `notes` reports it. Meanwhile, and while the disk is slow, items wait in memory;
    items that exceed the limit are dropped and counted, and the outcome is then ``lossy``.

    Parameters
    ----------
    path : the run file; if it exists, ``name-2``, ``name-3`` ... is written instead. A stream with other
        channels or another rate goes to the next free name.
    settings : the settings of the run; values that JSON can represent.
    flush_interval : s that a kill may lose; a flush starts after half of it.
    queue_bytes : limit of the waiting bytes.

    Raises
    ------
    RunFileError : the folder is missing or not writable, or `settings` cannot be stored as JSON.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        settings: Mapping[str, Any],
        flush_interval: float = 0.5,
        queue_bytes: int = 1 << 28,
    ) -> None:
        self.notes = NoteQueue()
        self._backlog = Backlog()
        self._files = RunFiles(Path(path), stored_settings(path, settings), self._backlog, self.notes)
        self._interval = flush_interval
        self._limit = QueueLimit(queue_bytes)
        self._offered = self._dropped = 0
        self._lossy = self._full = False
        self._result_stream: ResultStream | None = None
        self._outcome: str | None = None
        self._stopping = threading.Event()
        self._wake = threading.Event()
        self._abort = False
        self._queue: deque[Item] = deque()
        self._thread = threading.Thread(target=self._run, name="run-writer", daemon=True)
        self._thread.start()

    @property
    def path(self) -> Path:
        """The current run file; before the first samples, the requested one."""
        return self._files.path

    @property
    def recorded(self) -> int:
        """Samples written and flushed, which survive a kill of this process."""
        return self._files.recorded

    @property
    def unrecorded(self) -> int:
        """Samples that are not and will not be in a file."""
        if self._stopping.is_set():
            return self._offered - self._files.recorded
        return self._dropped + self._files.lost

    @property
    def unwritten_age(self) -> float:
        """Time since the oldest waiting sample arrived, s; 0 when none is waiting."""
        return self._backlog.age

    @property
    def queue_filled(self) -> float:
        """Share of the memory for waiting items that is in use; at 1 they are dropped."""
        return self._backlog.n_bytes / self._limit.n_bytes

    @property
    def waiting(self) -> int:
        """Samples that are neither recorded nor dropped yet."""
        return 0 if self._stopping.is_set() else self._backlog.samples

    @property
    def idle(self) -> bool:
        """Whether nothing is waiting."""
        return self._backlog.n_bytes == 0

    @property
    def breaks(self) -> int:
        """Number of interruptions: disk errors, and files that were moved, removed, overwritten or damaged."""
        return self._files.breaks

    @property
    def failed(self) -> str:
        """The current disk error, or the last one after `close`; empty without."""
        return self._files.disk_error

    @property
    def disk_hangs(self) -> bool:
        """After `close`: the disk has not responded, and samples not yet recorded are lost."""
        return self._stopping.is_set() and self._thread.is_alive()

    @property
    def outcome(self) -> str:
        """The outcome word of the whole recording so far."""
        if self.failed or self.disk_hangs:
            return layout.TRUNCATED
        if self.unrecorded or self._lossy or self._files.ever_lossy:
            return layout.LOSSY
        return layout.TRUNCATED if self.breaks else layout.CLEAN

    def signals(self, block: SignalBlock, arrived: float | None = None) -> None:
        """Record samples in order of arrival, from one thread; `arrived`: when (s, monotonic), default now."""
        waiting = self._backlog.n_bytes
        self._full = waiting >= self._limit.n_bytes
        if note := self._limit.note(waiting):
            self.notes.add(note)
        if waiting >= min(self._limit.n_bytes / 4, _WAKE_BYTES):
            # faster than real time: the writer must not sleep while the queue is filling
            self._wake.set()
        self._offered += len(block)
        if self._enqueue(block, len(block), arrived):
            self._limit.count(0, len(block) / block.stream.sample_rate)
        else:
            self._dropped += len(block)

    def wait_until_ready(self, timeout: float) -> None:
        """Do nothing: it records in this process."""

    def count_unrecorded(self, samples: int) -> None:
        """Count samples that were received but not passed to `signals`; 0: an unknown number, the run is lossy."""
        self._offered += samples
        self._dropped += samples
        self._lossy = True

    def results(self, block: ResultBlock) -> None:
        """Record indicator values, in order; the first block of a stream defines the columns."""
        self._full = self._full and self._backlog.n_bytes >= self._limit.n_bytes
        if self._enqueue(block) and block.stream is not self._result_stream:
            # creating a file takes a while: start at once
            self._result_stream = block.stream
            self._wake.set()

    def event(self, event: Event) -> None:
        """Record an event."""
        self._enqueue(event)

    def _enqueue(self, item: Item, samples: int = 0, arrived: float | None = None) -> bool:
        # a block of samples that finds room brings its results with it
        full = self._backlog.n_bytes >= self._limit.n_bytes if isinstance(item, Event) else self._full
        if full or self._stopping.is_set():
            self._lossy = True
            return False
        size = memory_size(item)
        self._limit.count(size)
        self._backlog.add(samples, size, arrived)
        self._queue.append(item)
        return True

    def close(self, outcome: str | None = None, timeout: float | None = None) -> None:
        """Write the waiting items, set the outcome and close; a second call does nothing.

        Parameters
        ----------
        outcome : word for the run; default ``clean``, or ``lossy`` if anything was dropped.
        timeout : s after which waiting items are dropped, and a disk that hangs is no longer waited for.
        """
        self.finish(outcome)
        self._thread.join(timeout)
        if timeout is not None and not self._abort:
            self._abort = True
            self._thread.join(_ABORT_TIMEOUT)

    def finish(self, outcome: str | None = None, timeout: float = 0.0) -> bool:
        """Start closing, without dropping anything; return whether it is done within `timeout` s."""
        check_outcome(outcome)
        if not self._stopping.is_set():
            self._outcome = outcome
            self._stopping.set()
            self._wake.set()
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while not self._stopping.is_set():
            # the other half is left for writing on a busy machine
            self._wake.wait(self._interval / 2)
            self._wake.clear()
            if self._files.ready():
                self._drain()
        if self._files.ready(at_once=True):
            self._drain()
        self._files.lossy |= bool(self._queue)
        self._files.close(self._outcome)

    def _drain(self) -> None:
        if lossy := self._lossy:
            # cleared first: later drops are passed on the next time
            self._lossy = False
            self._files.lossy = True
        while self._queue and not self._abort and self._files.add(self._queue[0]):
            self._queue.popleft()
        if lossy:
            # the dropped items may belong to any file created meanwhile, or to the next one
            self._files.lossy = True
            if self._queue:
                self._lossy = True
        self._files.commit()
