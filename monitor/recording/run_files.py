"""One stream after the other into one run file after the other. One thread owns it."""

from __future__ import annotations

import time
from pathlib import Path

from monitor.blocks import Event, ResultBlock, ResultStream, SignalBlock, Stream
from monitor.recording import layout
from monitor.recording.columns import Clock, Columns, result_columns, signal_columns
from monitor.recording.growing import GrowingFile

_WRITE_BYTES = 1 << 20
_WAITING_EVENTS = 10_000
_PATIENCE = 2.0


class RunFiles:
    """Gathers blocks, begins a file when the stream is known, another one when its channels change.

    All of it but `path` raises what h5py raises when the disk refuses; call `give_up` then.
    """

    def __init__(self, wanted: Path, settings: bytes) -> None:
        self.path = wanted
        self.recorded = 0
        self.fetched = 0
        self.lossy = False
        self._wanted = wanted
        self._settings = settings
        self._file: GrowingFile | None = None
        self._stream: Stream | None = None
        self._result_stream: ResultStream | None = None
        self._clock = Clock()
        self._rows, self._since = 0, 0.0
        self._signals: list[SignalBlock] = []
        self._results: list[ResultBlock] = []
        self._events: list[Event] = []
        self._bytes = 0

    def take(self, item: SignalBlock | ResultBlock | Event) -> None:
        """Gather a block or an event; write when a megabyte has come together."""
        if isinstance(item, SignalBlock):
            self._take_signals(item)
        elif isinstance(item, ResultBlock):
            self._take_results(item)
        elif len(self._events) < _WAITING_EVENTS:
            self._events.append(item)
        else:
            self.lossy = True
        if self._bytes >= _WRITE_BYTES:
            self._write()

    def commit(self) -> None:
        """Write and flush what was gathered; a stream whose results do not come is waited for no longer."""
        if self._file is None and self._signals and time.monotonic() - self._since >= _PATIENCE:
            self._begin()
        self._write()

    def end(self, outcome: str | None = None) -> None:
        """Finish the file; without `outcome`, with the word that fits."""
        if self._file is None and self._signals:
            self._begin()
        self._write()
        if self._file is not None:
            self._file.finish(outcome or (layout.LOSSY if self.lossy else layout.CLEAN))
        self._file = self._stream = self._result_stream = None
        self.lossy = False
        self._clock, self._rows = Clock(), 0

    def give_up(self) -> None:
        """Leave the file as well as the disk lets."""
        if self._file is not None:
            self._file.give_up(layout.TRUNCATED)

    def _take_signals(self, block: SignalBlock) -> None:
        self.fetched += len(block)
        stream = block.stream
        if self._stream is not None and stream is not self._stream and _differ(stream, self._stream):
            self.end()
        if self._stream is None:
            self._since = time.monotonic()
        self._stream = stream
        if len(block):
            self._signals.append(block)
            self._bytes += block.samples.nbytes
        if self._file is None:
            # the results of this block may come next: only an earlier one's have failed to come
            if self._rows >= _PATIENCE * stream.sample_rate:
                self._begin()
            self._rows += len(block)

    def _take_results(self, block: ResultBlock) -> None:
        stream, known = block.stream, self._result_stream
        if self._stream is None or (self._file is not None and known is None):
            # no stream yet, or its file was begun without results: there is no place for them
            self.lossy |= len(block) > 0
            return
        if known is not None and (known.every, known.columns) != (stream.every, stream.columns):
            signals = self._stream
            self.end()
            self._stream = signals
        self._result_stream = stream
        if self._file is None:
            self._begin()
        if len(block):
            self._results.append(block)
            self._bytes += block.values.nbytes

    def _begin(self) -> None:
        if self._stream is not None:
            self._file = GrowingFile(self._wanted, self._stream, self._result_stream, self._settings)
            self.path = self._file.path

    def _write(self) -> None:
        """Write and flush: many blocks in one go."""
        if self._file is None or not (self._signals or self._results or self._events):
            return
        rows: dict[str, Columns] = {}
        if self._signals:
            rows[layout.SIGNALS] = signal_columns(self._signals, self._clock)
        if self._results:
            rows[layout.RESULTS] = result_columns(self._results)
        self._file.append(rows, self._events)
        if self._signals:
            self.recorded += len(rows[layout.SIGNALS])
        self._signals, self._results, self._events, self._bytes = [], [], [], 0


def _differ(one: Stream, other: Stream) -> bool:
    return (one.rig, one.sample_rate, one.channels) != (other.rig, other.sample_rate, other.channels)
