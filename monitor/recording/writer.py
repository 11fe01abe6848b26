"""Recording while it happens: a bounded queue to the one thread that owns the run file."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from monitor.messages.alarms import AlarmReport
from monitor.messages.blocks import Event, ResultBlock, SignalBlock
from monitor.messages.health import Health
from monitor.messages.transfer import TransferBlock
from monitor.recording import layout
from monitor.recording.backlog import Backlog, Item, size
from monitor.recording.notes import Notes
from monitor.recording.run_files import RunFiles

_MUCH = 1 << 26  # bytes that wait: the writer must not sleep
_CLOSE_TIMEOUT = 1.0  # s for closing the file once the disk has used up the patience of `close`


def stored_settings(path: str | os.PathLike[str], settings: Mapping[str, Any]) -> bytes:
    """Return `settings` as JSON; raise RunFileError where that cannot be done, or no file can be made at `path`."""
    folder = Path(path).parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise layout.RunFileError(f"{path}: the folder does not exist or cannot be written to")
    try:
        return msgspec.json.encode(dict(settings))
    except (TypeError, ValueError) as problem:
        raise layout.RunFileError(f"{path}: the settings cannot be stored as JSON: {problem}") from problem


def check_outcome(outcome: str | None) -> None:
    """Raise ValueError where `outcome` is too long for the run file."""
    if len((outcome or "").encode()) > layout.OUTCOME_BYTES:
        raise ValueError(f"outcome {outcome!r}: at most {layout.OUTCOME_BYTES} bytes")


class RunWriter:
    """A sink that records; none of its calls waits for the disk but `close`.

    Where the disk refuses, or the file or its folder is moved or removed, the recording goes on in a new file as soon
    as that can be done; the inlet `notes` says so. What waits meanwhile, or while the disk is slow, stays in memory;
    what there is no room for is dropped and counted, and the outcome is then ``lossy``.

    Parameters
    ----------
    path : the run file; where it exists, ``name-2``, ``name-3`` ... is written instead. A stream with other
        channels or another rate goes to the next free name.
    settings : what the run was computed with; anything that JSON can say.
    flush_interval : s that a kill may lose; a flush begins when half of them have passed.
    queue_seconds, queue_bytes : for how long the oldest sample may wait in memory, and how much may.

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
        queue_bytes: int = 1 << 28,
    ) -> None:
        self.notes = Notes()
        self._backlog = Backlog()
        self._files = RunFiles(Path(path), stored_settings(path, settings), self._backlog, self.notes)
        self._interval = flush_interval
        self._queue_seconds = queue_seconds
        self._queue_bytes = queue_bytes
        self._offered = self._dropped = 0
        self._lossy = self._full = self._begun = False
        self._outcome: str | None = None
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._cut = False
        self._queue: deque[Item] = deque()
        self._thread = threading.Thread(target=self._run, name="run-writer", daemon=True)
        self._thread.start()

    @property
    def path(self) -> Path:
        """The file being written; before the first samples, the one wanted."""
        return self._files.path

    @property
    def recorded(self) -> int:
        """Samples acknowledged: written and flushed, safe from a kill of this process."""
        return self._files.recorded

    @property
    def unrecorded(self) -> int:
        """Samples that are not, and will not be, in a file."""
        if self._stop.is_set():
            return self._offered - self._files.recorded
        return self._dropped + self._files.lost

    @property
    def unwritten_age(self) -> float:
        """Since when the oldest sample waits that is neither recorded nor given up, s; 0 when none does."""
        return self._backlog.age

    @property
    def waiting(self) -> int:
        """Samples that are neither recorded nor given up."""
        return 0 if self._stop.is_set() else self._backlog.samples

    @property
    def idle(self) -> bool:
        """Nothing that was taken waits."""
        return self._backlog.n_bytes == 0

    @property
    def breaks(self) -> int:
        """How often the recording broke: the disk refused, or the file was moved or removed."""
        return self._files.breaks

    @property
    def failed(self) -> str:
        """Why the disk refuses now, or did at the end; empty while it does not."""
        return self._files.refusal

    @property
    def hangs(self) -> bool:
        """After `close`: the disk has not answered, and what was not recorded is lost."""
        return self._stop.is_set() and self._thread.is_alive()

    @property
    def outcome(self) -> str:
        """The word for all that was recorded, from now on."""
        if self.failed or self.hangs:
            return layout.TRUNCATED
        if self.unrecorded or self._lossy or self._files.ever_lossy:
            return layout.LOSSY
        return layout.TRUNCATED if self.breaks else layout.CLEAN

    def signals(self, block: SignalBlock) -> None:
        """Take samples; blocks come from one thread, in the order of the stream."""
        waiting = self._backlog.n_bytes
        self._full = waiting >= self._queue_bytes or self._backlog.age >= self._queue_seconds
        if waiting >= min(self._queue_bytes / 4, _MUCH):
            # faster than real time: the writer must not sleep while the queue fills
            self._wake.set()
        self._offered += len(block)
        if not self._put(block, len(block)):
            self._dropped += len(block)

    def leave_out(self, samples: int) -> None:
        """Count samples that came but were not given to `signals`."""
        self._offered += samples
        self._dropped += samples
        self._lossy = True

    def results(self, block: ResultBlock) -> None:
        """Take indicator values; the first ones tell what the columns are."""
        if self._put(block) and not self._begun:
            # a file takes a while to be made: it is begun at once
            self._begun = True
            self._wake.set()

    def transfer(self, block: TransferBlock) -> None:
        """Do nothing: it can be made again from the signals."""

    def event(self, event: Event) -> None:
        """Take an event."""
        self._put(event)

    def alarms(self, report: AlarmReport) -> None:
        """Do nothing: every transition is an event."""

    def health(self, health: Health) -> None:
        """Do nothing: how the service was doing is in the events."""

    def _put(self, item: Item, samples: int = 0) -> bool:
        # samples and their results are dropped together, events only where there is no room for them
        full = self._backlog.n_bytes >= self._queue_bytes if isinstance(item, Event) else self._full
        if full or self._stop.is_set():
            self._lossy = True
            return False
        self._backlog.put(samples, size(item))
        self._queue.append(item)
        return True

    def close(self, outcome: str | None = None, patience: float | None = None) -> None:
        """Write what waits, set the outcome and close; a second call does nothing.

        `outcome` is the word for the run; left out, it is ``clean``, or ``lossy`` when anything was dropped. After
        `patience` s, where it is given, what still waits is dropped, and a disk that hangs is waited for no longer.
        """
        self.end(outcome)
        self._thread.join(patience)
        if patience is not None and not self._cut:
            self._cut = True
            self._thread.join(_CLOSE_TIMEOUT)

    def end(self, outcome: str | None = None, timeout: float = 0.0) -> bool:
        """Begin what `close` does, give up nothing, and tell whether it is done within `timeout` s."""
        check_outcome(outcome)
        if not self._stop.is_set():
            self._outcome = outcome
            self._stop.set()
            self._wake.set()
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while not self._stop.is_set():
            # the other half is for the writing itself, on a machine that is busy
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
            # first cleared: what is dropped from now on is handed over the next time
            self._lossy = False
            self._files.lossy = True
        while self._queue and not self._cut and self._files.take(self._queue[0]):
            self._queue.popleft()
        if lossy:
            # it may lack in any of the files that were begun meanwhile, or are yet to be
            self._files.lossy = True
            if self._queue:
                self._lossy = True
        self._files.commit()
