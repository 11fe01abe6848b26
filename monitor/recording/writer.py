"""Recording while it happens: a bounded queue to the one thread that owns the run file."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from monitor.alarm_report import AlarmReport
from monitor.blocks import Event, ResultBlock, SignalBlock
from monitor.health import Health
from monitor.recording import layout
from monitor.recording.growing import TROUBLE, reason
from monitor.recording.run_files import RunFiles
from monitor.transfer import TransferBlock

_QUEUE_ITEMS = 1 << 20
_QUEUE_BYTES = 1 << 30  # whatever a rig says of its rate


class RunWriter:
    """A sink that records; none of its calls waits for the disk but `close`.

    Parameters
    ----------
    path : the run file; where it exists, ``name-2``, ``name-3`` ... is written instead. A stream with other
        channels or another rate goes to the next free name.
    settings : what the run was computed with; anything that JSON can say.
    flush_interval : s from one flush to the next; a kill loses no more than that.
    queue_seconds, queue_bytes : how much of the stream may wait in memory while the disk is slow, the larger of
        the two; what comes after is dropped and counted, and the outcome is then ``lossy``.

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
        queue_bytes: int = 1 << 26,
    ) -> None:
        folder = Path(path).parent
        if not folder.is_dir() or not os.access(folder, os.W_OK):
            raise layout.RunFileError(f"{path}: the folder does not exist or cannot be written to")
        try:
            self._files = RunFiles(Path(path), msgspec.json.encode(dict(settings)))
        except (TypeError, ValueError) as problem:
            raise layout.RunFileError(f"{path}: the settings cannot be stored as JSON: {problem}") from problem
        self._interval = flush_interval
        self._queue_seconds = queue_seconds
        self._queue_bytes = queue_bytes
        self._offered = self._dropped = 0
        self._beside = 0.0  # bytes of results that come with a sample
        self._lossy = self._full = False
        self._failed = ""
        self._outcome: str | None = None
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._queue: deque[SignalBlock | ResultBlock | Event] = deque()
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
        return self._offered - self._files.recorded if self._failed else self._dropped

    @property
    def failed(self) -> str:
        """Why the disk refused; empty while it does not."""
        return self._failed

    def signals(self, block: SignalBlock) -> None:
        """Take samples; blocks come from one thread, in the order of the stream."""
        rows = len(block)
        waiting = self._offered - self._dropped - self._files.fetched
        width = 8 * len(block.stream.channels)
        room = max(self._queue_seconds * block.stream.sample_rate, self._queue_bytes / width)
        room = min(room, _QUEUE_BYTES / (width + self._beside))
        self._full = waiting >= room
        if waiting >= room / 4:
            # faster than real time: the writer must not sleep while the queue fills
            self._wake.set()
        self._offered += rows
        if not self._put(block):
            self._dropped += rows

    def results(self, block: ResultBlock) -> None:
        """Take indicator values; the first ones tell what the columns are."""
        self._beside = 8 * len(block.stream.columns) / block.stream.every
        self._put(block)

    def transfer(self, block: TransferBlock) -> None:
        """Do nothing: it can be made again from the signals."""

    def event(self, event: Event) -> None:
        """Take an event."""
        self._put(event)

    def alarms(self, report: AlarmReport) -> None:
        """Do nothing: every transition is an event."""

    def health(self, health: Health) -> None:
        """Do nothing: how the service was doing is in the events."""

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
            self._wake.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                self._wake.wait(self._interval)
                self._wake.clear()
                self._drain()
            self._drain()
            self._files.end(self._outcome)
        except TROUBLE as problem:
            self._failed = reason(problem)
            self._files.give_up()
            self._queue.clear()

    def _drain(self) -> None:
        self._files.lossy |= self._lossy
        while self._queue:
            self._files.take(self._queue.popleft())
        self._files.commit()
