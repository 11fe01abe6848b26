"""Reading a run file: finished, being written, or left by a kill; as a whole or a span of its samples."""

from __future__ import annotations

import os
import weakref
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import h5py
import numpy as np
from numpy.typing import NDArray

from monitor.messages.blocks import Event, ResultStream, Samples, SignalBlock, Stream
from monitor.recording import contents, layout, parts
from monitor.recording.columns import Integers, Numbering
from monitor.recording.event_table import EVENT_TYPE, events_of
from monitor.recording.parts import PartError
from monitor.recording.superblock import Superblock
from monitor.recording.verification import IntegrityReport, verify_run

Found = TypeVar("Found")

_SLICE_BYTES = 1 << 22
_SLICE_ROWS = 1 << 18
_ROUNDING = 3.0
_LOOKS = 10


class RunReader:
    """A look at a run file, as it is when opened; what is written later needs a new look.

    Parameters
    ----------
    path : the run file.
    doubts : what an earlier look at it has found with `check`.

    Raises
    ------
    RunFileError : it is not a run file, or its samples or channels are damaged.
    """

    def __init__(self, path: str | os.PathLike[str], doubts: IntegrityReport | None = None) -> None:
        self.path = Path(path)
        for more in reversed(range(_LOOKS)):
            stack = ExitStack()
            # closed at exit at the latest: HDF5 crashes there over a file read through a view
            self._close = weakref.finalize(self, stack.close)
            self._file, block = stack.enter_context(contents.open_run_file(self.path))
            if block.cut:
                self.close()
                raise contents.damaged(self.path, "was cut short")
            self._lost: list[str] = []
            self._damaged = False
            self._growing = block.writing
            self._doubts = doubts
            try:
                self._look(block)
            except parts.HDF5_ERRORS as problem:
                self.close()
                # of a file being written, one piece may have been read half old and half new
                if not (more and block.writing):
                    raise contents.damaged(self.path, f"is damaged{_why(problem)}") from problem
            else:
                if not (self._damaged and more and block.writing):
                    return
                self.close()

    def _look(self, block: Superblock) -> None:
        self.outcome = self._or_without("outcome", lambda: contents.read_outcome(self._file), layout.UNKNOWN)
        no_settings: dict[str, Any] = {}
        self.settings = self._or_without("settings", lambda: contents.read_settings(self._file), no_settings)
        unchecked = contents.no_checks()
        self._checks = self._or_without("checksums", lambda: contents.read_checks(self._file, block.size), unchecked)
        self.n_samples = self._written(layout.SIGNALS, block)
        # the last rows of one that is being written, or was, are not all there yet
        if block.writing:
            missing = contents.cut_rows(self._file, layout.SIGNALS, block.size)
        else:
            missing = contents.placed_rows(self._file, layout.SIGNALS) - self.n_samples
        if missing:
            self._lost.append(f"{missing} samples have a place in the file, but not all of their data")
        nobody = np.empty(0, EVENT_TYPE)
        self._events = self._or_without("events", lambda: contents.event_rows(self._file, block.size), nobody)
        self.stream: Stream = contents.read_stream(self._file, self._first_epoch())
        no_results: tuple[ResultStream | None, int] = None, 0
        self.result_stream, self._n_results = self._or_without("results", lambda: self._results(block), no_results)

    def _written(self, name: str, block: Superblock) -> int:
        return contents.written_rows(self._file, name, block.size, checked=self._checks.covered(name))

    def _results(self, block: Superblock) -> tuple[ResultStream | None, int]:
        stream = contents.read_result_stream(self._file, self.stream.epoch)
        return stream, self._written(layout.RESULTS, block) if stream is not None else 0

    def _or_without(self, what: str, read: Callable[[], Found], instead: Found) -> Found:
        """Return what `read` finds; where that is damaged, note it and go on with `instead`."""
        try:
            return read()
        except parts.HDF5_ERRORS as problem:
            self._damaged = True
            self._lost.append(f"the {what} of the run cannot be read and are left out{_why(problem)}")
            return instead

    def check(self) -> IntegrityReport:
        """Compare the whole file with its checksums, which takes a second for about a gigabyte.

        From then on doubtful samples whose numbers or times cannot be are counted on from those before.

        Raises
        ------
        RunFileError : the file is damaged.
        """
        if self._doubts is None:
            counts = self.n_samples, self._n_results, len(self._events)
            try:
                found = verify_run(self._file, self._checks, *counts, self.stream.sample_rate, self._growing)
            except parts.HDF5_ERRORS as problem:
                raise contents.damaged(self.path, f"is damaged{_why(problem)}") from problem
            self._doubts = replace(found, lines=(*self._lost, *found.lines))
        return self._doubts

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        self._close()

    def _first_epoch(self) -> int:
        return int(self._file[layout.SIGNALS]["epoch"][0]) if self.n_samples else 0

    def events(self) -> list[Event]:
        """Return what happened to the stream, in order."""
        return events_of(self._events)

    def results(self) -> tuple[Integers, Integers, NDArray[np.float64], Samples]:
        """Return epoch (m,), index (m,), time (m,) in s and values (m, n_columns); empty without results.

        Raises
        ------
        RunFileError : the file is damaged.
        """
        if self.result_stream is None:
            return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), np.empty((0, 0))
        names = layout.series_names(layout.RESULTS)
        values, time, epoch, index = self._columns(layout.RESULTS, names, 0, self._n_results)
        return epoch, index, time, values

    def signal_blocks(self, block_length: int, start: int = 0, jitter: float = 0.0) -> Iterator[SignalBlock]:
        """Return the samples from row `start` on in blocks of at most `block_length`.

        A block ends where an index is missing, where the epoch changes, and where a stored time is not
        that of the block's first sample plus k/rate: recording the blocks again makes the same file.
        `last` is set on the last block of a run with a clean end.

        Parameters
        ----------
        jitter : s by which a stored time may be off without ending the block, for a publisher that times
            every sample with its own clock; the times inside a block are then even.

        Raises
        ------
        RunFileError : the file is damaged.
        """
        if block_length < 1 or start < 0:
            raise ValueError(f"block length {block_length} and start {start}: at least 1 and 0 are needed")
        streams = {self.stream.epoch: self.stream}
        most = max(block_length, _SLICE_BYTES // (8 * max(1, len(self.stream.channels))))
        while start < self.n_samples:
            stop = min(self.n_samples, start + most)
            (samples,) = self._columns(layout.SIGNALS, [layout.DATA[layout.SIGNALS]], start, stop)
            rows = self._numbers(start, stop)
            time, epoch, index = rows.time, rows.epoch, rows.index
            whole = len(index)
            breaks = np.flatnonzero((np.diff(index) != 1) | (np.diff(epoch) != 0)) + 1
            at = 0
            while at < whole:
                end = min(at + block_length, whole, *breaks[np.searchsorted(breaks, at, "right") :][:1])
                end = at + _even(time[at:end], self.stream.sample_rate, jitter)
                if end == whole < at + block_length and at and start + whole < self.n_samples:
                    # the block goes on in the next slice
                    break
                number = int(epoch[at])
                stream = streams.setdefault(number, replace(self.stream, epoch=number))
                last = start + end == self.n_samples and self.outcome == layout.CLEAN
                yield SignalBlock(stream, int(index[at]), float(time[at]), samples[at:end], last)
                at = end
            start += at

    def numbering(self) -> Iterator[tuple[int, Numbering]]:
        """Return the times and numbers of all samples, piece by piece, each with its first row.

        Raises
        ------
        RunFileError : the file is damaged.
        """
        for start in range(0, self.n_samples, _SLICE_ROWS):
            yield start, self._numbers(start, min(self.n_samples, start + _SLICE_ROWS))

    def index_of(self, row: int) -> int:
        """Return the number of the sample in `row`, as the publisher gave it; raises as `numbering`."""
        return int(self._numbers(row, row + 1).index[0])

    def _numbers(self, start: int, stop: int) -> Numbering:
        rows = Numbering(*self._columns(layout.SIGNALS, ("time", "epoch", "index"), start, stop))
        for first, instead in self._doubts.numbers if self._doubts is not None else ():
            low, high = max(first, start), min(first + len(instead), stop)
            if low < high:
                rows.replace(low - start, instead.part(low - first, high - first))
        return rows

    def _columns(self, group: str, names: Sequence[str], start: int, stop: int) -> list[NDArray[Any]]:
        try:
            return [self._file[group][name][start:stop] for name in names]
        except parts.HDF5_ERRORS as problem:
            raise contents.damaged(self.path, f"is damaged{_why(problem)}") from problem


def _why(problem: BaseException) -> str:
    """Return what is wrong as a clause; what HDF5 says of it means nothing to whoever reads it."""
    return f": {problem}" if isinstance(problem, PartError) else ""


def _even(time: NDArray[np.float64], rate: float, jitter: float) -> int:
    """Return how many of `time` are those of the first plus k/rate."""
    since = np.arange(len(time)) / rate
    expected = time[0] + since
    rounding = _ROUNDING * np.spacing(np.maximum(np.abs(time[0]), np.maximum(since, np.abs(expected))))
    off = np.flatnonzero(~(np.abs(time - expected) <= np.maximum(jitter, rounding)))
    return max(1, int(off[0])) if off.size else len(time)


@dataclass(frozen=True, slots=True)
class SignalSpan:
    """Rows of one epoch as they were recorded.

    Parameters
    ----------
    sample_rate : Hz.
    index : (n_samples,), number of each since the publisher's start.
    samples : (n_samples, n_channels).
    """

    sample_rate: float
    index: Integers
    samples: Samples


def read_signals(
    path: str | os.PathLike[str], epoch: int, start: int, stop: int, most_bytes: int
) -> SignalSpan | None:
    """Return the samples of `epoch` numbered `start` to `stop` - 1; None where they are more than `most_bytes`.

    The file may be written meanwhile. Its rows are found by bisection; where epochs do not grow from row to row, some
    may be missed, and of an epoch that was there before those of the other time may be found.

    Raises
    ------
    RunFileError : it is not a run file, or it is damaged.
    """
    path = Path(path)
    with contents.open_run_file(path) as (file, block):
        if block.cut:
            raise contents.damaged(path, "was cut short")
        try:
            return _read(file, epoch, start, stop, most_bytes)
        except parts.HDF5_ERRORS as problem:
            raise contents.damaged(path, "is damaged") from problem


def _read(file: h5py.File, epoch: int, start: int, stop: int, most_bytes: int) -> SignalSpan | None:
    data, _, epochs, index = parts.series(file, layout.SIGNALS)
    rate = parts.sample_rate(file)
    n = min(len(data), len(epochs), len(index))
    n = bisect_left(range(n), 1, key=lambda row: int(index[row] == layout.UNWRITTEN))

    def place(row: int) -> tuple[int, int]:
        return int(epochs[row]), int(index[row])

    first = bisect_left(range(n), (epoch, start), key=place)
    last = bisect_left(range(n), (epoch, stop), lo=first, key=place)
    if (last - first) * data.shape[1] * data.dtype.itemsize > most_bytes:
        return None
    numbers, rows = index[first:last], data[first:last]
    # of a file whose epochs or numbers fall, only what was asked for
    inside = (epochs[first:last] == epoch) & (numbers >= start) & (numbers < stop)
    return SignalSpan(rate, numbers[inside], rows[inside])
