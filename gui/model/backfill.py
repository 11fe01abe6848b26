"""Backfill: what a service had recorded before this window connected, read from its run file in a thread."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event as Signal
from threading import Thread

import numpy as np

from gui.model.history import History
from gui.model.receiver import Message, ReceivedMessages
from monitor.messages.blocks import Event, EventKind, ResultBlock, SignalBlock
from monitor.recording.reader import RunReader

_MAX_BYTES = 1 << 29  # of samples that are read, and of results
_BLOCK_BYTES = 1 << 22
_WAIT, _RETRY_INTERVAL = 5.0, 0.2  # s for the file to reach the first sample that was received


@dataclass(frozen=True, slots=True)
class FirstBlocks:
    """The first blocks that were received of a rig: what is read ends before them.

    Where one is None, nothing of its kind is published; where both are, nothing has been received: all is read.
    """

    rig: str
    signals: SignalBlock | None = None
    results: ResultBlock | None = None

    @property
    def any_received(self) -> bool:
        """Whether there is a block."""
        return self.signals is not None or self.results is not None


class Backfill:
    """A history of what a run file has from before the first blocks that were received.

    Parameters
    ----------
    path : of the run file that the service writes, if it is on this machine.
    first : the first blocks that were received.
    history : empty; filled by a thread, and of use to others only when it is `done`.

    Attributes
    ----------
    failed : why nothing could be read, one line.
    progress : share of the samples that are read, 0 .. 1.
    """

    def __init__(self, path: str, first: FirstBlocks, history: History) -> None:
        self.history, self.failed, self.progress = history, "", 0.0
        self._path, self.first = Path(path), first
        self._cancelled = Signal()
        self._thread = Thread(target=self._run, name="backfill", daemon=True)
        self._thread.start()

    @property
    def done(self) -> bool:
        """Whether it has finished or failed."""
        return not self._thread.is_alive()

    def cancel(self) -> None:
        """End the thread; a second call does nothing."""
        self._cancelled.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            # here, because a remote disk may block
            if not self._path.is_absolute() or not self._path.is_file():
                self.failed = "is not on this computer"
                return
            self._read()
        except Exception as problem:  # noqa: BLE001  any failure must reach the window
            self.failed = " ".join(f"{problem}".split()) or type(problem).__name__

    def _read(self) -> None:
        deadline = time.monotonic() + _WAIT
        while not self._cancelled.is_set():
            with RunReader(self._path) as run:
                self._check(run)
                end = self._end_row(run)
                if end is not None or time.monotonic() > deadline:
                    self._load(run, run.n_samples if end is None else end)
                    return
            # a recorder writes twice a second
            self._cancelled.wait(_RETRY_INTERVAL)

    def _check(self, run: RunReader) -> None:
        signals = self.first.signals
        if run.stream.rig != self.first.rig:
            raise ValueError("is of another rig")
        if signals is not None and run.stream.channels != signals.stream.channels:
            raise ValueError("has other channels")

    def _end_row(self, run: RunReader) -> int | None:
        """Return the row of the first sample that was received; None where it is not written yet."""
        first = self.first.signals or self.first.results
        if first is None:
            return run.n_samples
        epoch, index = first.stream.epoch, first.index
        for start, rows in run.numbering():
            found = np.flatnonzero((rows.epoch == epoch) & (rows.index >= index))
            if len(found):
                return start + int(found[0])
        return None

    def _load(self, run: RunReader, end: int) -> None:
        row_bytes = 8 * max(1, len(run.stream.channels))
        at = begin = max(0, end - _MAX_BYTES // row_bytes)
        results, events = _Results(run, self.first), _Events(run.events())
        for whole in run.signal_blocks(max(1, _BLOCK_BYTES // row_bytes), begin):
            if self._cancelled.is_set() or at >= end:
                break
            # the end of the file is not that of the stream, which continues
            block = replace(whole, samples=whole.samples[: end - at], last=False)
            at += len(block)
            messages: list[Message] = [] if self.first.signals is None and self.first.any_received else [block]
            messages += [*results.until(block), *events.until(block)]
            self.history.update(ReceivedMessages.sort(messages))
            self.progress = (at - begin) / max(1, end - begin)


class _Results:
    """Results of a run file, in blocks, up to the first that were received."""

    def __init__(self, run: RunReader, blocks: FirstBlocks) -> None:
        first = self._first = blocks.results
        self._run, self._stream, self._at = run, run.result_stream, 0
        if first is None and blocks.any_received:
            self._stream = None
        elif first is not None and self._stream is not None:
            # other columns cannot be continued
            same = replace(self._stream, epoch=first.stream.epoch) == first.stream
            self._stream = self._stream if same else None
        if self._stream is not None:
            self._at = max(0, run.n_results - _MAX_BYTES // (8 * max(1, len(self._stream.columns))))

    def until(self, signals: SignalBlock) -> Iterator[ResultBlock]:
        """Yield the results of these samples."""
        if self._stream is None:
            return
        epoch, begin, stop = signals.stream.epoch, signals.index, signals.index + len(signals)
        if self._first is not None and epoch == self._first.stream.epoch:
            stop = min(stop, self._first.index)
        most = len(signals) // self._stream.every + 2
        while self._at < self._run.n_results:
            epochs, index, times, values = self._run.result_rows(self._at, self._at + most)
            # of samples that are not read
            earlier = (epochs < epoch) | ((epochs == epoch) & (index < begin))
            if earlier.all():
                self._at += len(index)
                continue
            before = int(np.argmin(earlier))
            rows = before + np.flatnonzero((epochs[before:] == epoch) & (index[before:] < stop))
            self._at += int(rows[-1]) + 1 if len(rows) else before
            for part in np.split(rows, np.flatnonzero(np.diff(index[rows]) != self._stream.every) + 1):
                if len(part):
                    stream = replace(self._stream, epoch=epoch)
                    yield ResultBlock(stream, int(index[part[0]]), float(times[part[0]]), values[part])
            return


class _Events:
    """Events of a run file, in order."""

    def __init__(self, events: list[Event]) -> None:
        self._events, self._at = events, 0
        self._epoch: int | None = None

    def until(self, signals: SignalBlock) -> Iterator[Event]:
        """Yield the events up to the end of these samples; a restart when its first samples have come."""
        entered, self._epoch = self._epoch not in (None, signals.stream.epoch), signals.stream.epoch
        end = signals.time + len(signals) / signals.stream.sample_rate
        while self._at < len(self._events):
            event = self._events[self._at]
            if event.kind is EventKind.RESTART:
                if not entered:
                    return
                entered = False
            elif not entered and event.time > end:
                return
            self._at += 1
            yield event
