"""Reader of a run file: finished, being written, or left by a kill; as a whole or a span of its samples."""

from __future__ import annotations

import os
import weakref
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import h5py
import numpy as np
from numpy.typing import NDArray

from monitor.messages.blocks import Event, ResultStream, Samples, SignalBlock, Stream
from monitor.recording import contents, layout
from monitor.recording.contents import HDF5_ERRORS, PartError
from monitor.recording.layout import EVENT_TYPE, events_of, stored_text
from monitor.recording.opening import Superblock, damaged, open_run_file
from monitor.recording.verification import ChecksumTable, Integers, IntegrityReport, Numbering, verify_run

Found = TypeVar("Found")

_SLICE_BYTES = 1 << 22
_SLICE_ROWS = 1 << 18
_ROUNDING = 3.0
_MAX_TRIES = 10
_RESULTS_DELAY = 0.5  # s by which results may lag behind at a kill


class RunReader:
    """A run file as it was when opened; for rows written later, open it again. ``warnings``: parts that are damaged.

    Parameters
    ----------
    path : the run file.
    integrity : the result of an earlier `check` of the same file.

    Raises
    ------
    RunFileError : it is not a run file, or its samples or channels are damaged.
    """

    def __init__(self, path: str | os.PathLike[str], integrity: IntegrityReport | None = None) -> None:
        self.path = Path(path)
        for tries_left in reversed(range(_MAX_TRIES)):
            stack = ExitStack()
            # closed at exit at the latest, where HDF5 would crash with an open FileImage
            self._close = weakref.finalize(self, stack.close)
            self._file, block = stack.enter_context(open_run_file(self.path))
            if block.cut:
                self.close()
                raise damaged(self.path, "was cut short")
            self.warnings = ["its superblock is damaged and not used"] if block.damaged else []
            self._damaged = False
            self._growing = block.writing
            self._integrity = integrity
            try:
                self._read(block)
            except HDF5_ERRORS as problem:
                self.close()
                # a part of a file being written may have been read half old and half new
                if not (tries_left and block.writing):
                    raise damaged(self.path, f"is damaged{_cause(problem)}") from problem
            else:
                if not (self._damaged and tries_left and block.writing):
                    return
                self.close()

    def _read(self, block: Superblock) -> None:
        self.outcome = self._read_or("outcome", lambda: contents.read_outcome(self._file), layout.UNKNOWN)
        no_settings: dict[str, Any] = {}
        self.settings = self._read_or("settings", lambda: contents.read_settings(self._file), no_settings)
        no_checks = ChecksumTable(None)
        self._checks = self._read_or("checksums", lambda: ChecksumTable.read(self._file, block.size), no_checks)
        self.n_samples = self._written(layout.SIGNALS, block)
        # of an unfinished file, the last rows may be incomplete
        if block.writing:
            missing = contents.cut_rows(self._file, layout.SIGNALS, block.size)
        else:
            missing = contents.allocated_rows(self._file, layout.SIGNALS) - self.n_samples
        if missing:
            self.warnings.append(f"{missing} samples are incomplete")
        no_events = np.empty(0, EVENT_TYPE)
        self._events = self._read_or("events", lambda: contents.event_table(self._file, block.size), no_events)
        self.stream: Stream = contents.read_stream(self._file, self._first_epoch())
        no_results: tuple[ResultStream | None, int] = None, 0
        self.result_stream, self.n_results = self._read_or("results", lambda: self._results(block), no_results)

    def _written(self, name: str, block: Superblock) -> int:
        return contents.written_rows(self._file, name, block.size, checked=self._checks.covered(name))

    def _results(self, block: Superblock) -> tuple[ResultStream | None, int]:
        stream = contents.read_result_stream(self._file, self.stream.epoch)
        return stream, self._written(layout.RESULTS, block) if stream is not None else 0

    def _read_or(self, what: str, read: Callable[[], Found], default: Found) -> Found:
        """Return what `read` returns; where it is damaged, add a warning and return `default`."""
        try:
            return read()
        except HDF5_ERRORS as problem:
            self._damaged = True
            self.warnings.append(f"the {what} of the run cannot be read and are left out{_cause(problem)}")
            return default

    def check(self) -> IntegrityReport:
        """Compare the whole file with its checksums, which takes about a second per gigabyte.

        From then on, doubtful samples with impossible numbers or times are numbered from their neighbours.

        Raises
        ------
        RunFileError : the file is damaged.
        """
        if self._integrity is None:
            counts = self.n_samples, self.n_results, len(self._events)
            try:
                found = verify_run(self._file, self._checks, *counts, self.stream.sample_rate, self._growing)
            except HDF5_ERRORS as problem:
                raise damaged(self.path, f"is damaged{_cause(problem)}") from problem
            self._integrity = replace(found, lines=(*self.warnings, *found.lines))
        return self._integrity

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

    @property
    def created(self) -> str:
        """When the file was created, ISO 8601; empty where it is not known."""
        text = stored_text(self._file.attrs.get("created", ""))
        try:
            datetime.fromisoformat(text).astimezone()
        except (ValueError, OverflowError):
            return ""
        return text

    def events(self) -> list[Event]:
        """Return the events of the run, in order."""
        return events_of(self._events)

    def results(self) -> tuple[Integers, Integers, NDArray[np.float64], Samples]:
        """Return epoch (m,), index (m,), time (m,) in s and values (m, n_columns); empty without results.

        Raises
        ------
        RunFileError : the file is damaged.
        """
        return self.result_rows(0, self.n_results)

    def result_rows(self, start: int, stop: int) -> tuple[Integers, Integers, NDArray[np.float64], Samples]:
        """Return what `results` does, of the rows `start` to `stop` - 1; raises as `results`."""
        if self.result_stream is None:
            return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), np.empty((0, 0))
        names = layout.series_names(layout.RESULTS)
        values, time, epoch, index = self._columns(layout.RESULTS, names, start, min(stop, self.n_results))
        return epoch, index, time, values

    def signal_rows(self, start: int, stop: int) -> tuple[Integers, Integers, NDArray[np.float64], Samples]:
        """Return epoch, index, time in s, (n,) each, and samples (n, n_channels) of the rows `start` to `stop` - 1.

        Raises
        ------
        RunFileError : the file is damaged.
        """
        stop = min(stop, self.n_samples)
        (samples,) = self._columns(layout.SIGNALS, [layout.DATA[layout.SIGNALS]], start, stop)
        rows = self._numbers(start, stop)
        return rows.epoch, rows.index, rows.time, samples

    def some_rows(self, starts: Iterable[int], n: int) -> tuple[Integers, Integers, NDArray[np.float64], Samples]:
        """Return what `signal_rows` does, of `n` rows from each of `starts` on, as they are written."""
        names = "epoch", "index", "time", layout.DATA[layout.SIGNALS]
        try:
            columns = [self._file[layout.SIGNALS][name] for name in names]
            epoch, index, time, samples = (np.concatenate([each[at : at + n] for at in starts]) for each in columns)
        except HDF5_ERRORS as problem:
            raise damaged(self.path, f"is damaged{_cause(problem)}") from problem
        return epoch, index, time, samples

    def signal_blocks(self, block_length: int, start: int = 0, jitter: float = 0.0) -> Iterator[SignalBlock]:
        """Return the samples from row `start` on in blocks of at most `block_length`.

        A block ends where an index is missing, where the epoch changes, and where a stored time is not
        that of the block's first sample plus k/rate, so that recording the blocks again gives the same file.
        `last` is set on the last block of a run with a clean end.

        Parameters
        ----------
        jitter : s by which a stored time may deviate without ending the block, for rigs that time every
            sample with their own clock; the times inside a block are then evenly spaced.

        Raises
        ------
        RunFileError : the file is damaged.
        """
        if block_length < 1 or start < 0:
            raise ValueError(f"block length {block_length} and start {start}: must be at least 1 and 0")
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
                end = at + _n_evenly_timed(time[at:end], self.stream.sample_rate, jitter)
                if end == whole < at + block_length and at and start + whole < self.n_samples:
                    # the block continues in the next slice
                    break
                number = int(epoch[at])
                stream = streams.setdefault(number, replace(self.stream, epoch=number))
                last = start + end == self.n_samples and self.outcome == layout.CLEAN
                yield SignalBlock(stream, int(index[at]), float(time[at]), samples[at:end], last)
                at = end
            start += at

    def numbering(self) -> Iterator[tuple[int, Numbering]]:
        """Yield the times and numbers of all samples in pieces, each with its first row.

        Raises
        ------
        RunFileError : the file is damaged.
        """
        for start in range(0, self.n_samples, _SLICE_ROWS):
            yield start, self._numbers(start, min(self.n_samples, start + _SLICE_ROWS))

    def first_without_results(self) -> int | None:
        """Return the row of the first sample after the last results; None where these go on to the end, or for a run
        without results. Half a second at the end does not count; raises as `numbering`.
        """
        if self.result_stream is None or not self.n_samples:
            return None
        first = 0
        if self.n_results:
            epoch, index, _, _ = self.result_rows(self.n_results - 1, self.n_results)

            def position(row: int) -> tuple[int, int]:
                at = self._numbers(row, row + 1)
                return int(at.epoch[0]), int(at.index[0])

            last = int(epoch[0]), int(index[0]) + self.result_stream.every - 1
            first = bisect_right(range(self.n_samples), last, key=position)
        return first if self.n_samples - first > _RESULTS_DELAY * self.stream.sample_rate else None

    def results_message(self) -> str:
        """Return one line about the results that are missing at the end; empty if none are; raises as `numbering`."""
        row = self.first_without_results()
        if row is None:
            return ""
        begin, at = self._numbers(0, 1), self._numbers(row, row + 1)
        passed = int(at.index[0] - begin.index[0]) if at.epoch[0] == begin.epoch[0] else row
        return (
            f"results are missing from {passed / self.stream.sample_rate:.3f} s on: "
            "synchroscope assess computes them from the samples"
        )

    def index_of(self, row: int) -> int:
        """Return the index, from the publisher, of the sample in `row`; raises as `numbering`."""
        return int(self._numbers(row, row + 1).index[0])

    def _numbers(self, start: int, stop: int) -> Numbering:
        rows = Numbering(*self._columns(layout.SIGNALS, ("time", "epoch", "index"), start, stop))
        for first, other in self._integrity.numbers if self._integrity is not None else ():
            low, high = max(first, start), min(first + len(other), stop)
            if low < high:
                rows.replace(low - start, other.part(low - first, high - first))
        return rows

    def _columns(self, group: str, names: Sequence[str], start: int, stop: int) -> list[NDArray[Any]]:
        try:
            return [self._file[group][name][start:stop] for name in names]
        except HDF5_ERRORS as problem:
            raise damaged(self.path, f"is damaged{_cause(problem)}") from problem


def _cause(problem: BaseException) -> str:
    """Return the cause as a clause; HDF5's own messages are omitted, as they do not help the user."""
    return f": {problem}" if isinstance(problem, PartError) else ""


def _n_evenly_timed(time: NDArray[np.float64], rate: float, jitter: float) -> int:
    """Return how many of `time` agree with the first plus k/rate."""
    since = np.arange(len(time)) / rate
    expected = time[0] + since
    rounding = _ROUNDING * np.spacing(np.maximum(np.abs(time[0]), np.maximum(since, np.abs(expected))))
    off = np.flatnonzero(~(np.abs(time - expected) <= np.maximum(jitter, rounding)))
    return max(1, int(off[0])) if off.size else len(time)


@dataclass(frozen=True, slots=True)
class SignalSpan:
    """Recorded samples of one epoch.

    Parameters
    ----------
    sample_rate : Hz.
    index : (n_samples,), number of each sample since the publisher's start.
    samples : (n_samples, n_channels).
    """

    sample_rate: float
    index: Integers
    samples: Samples


def read_signals(
    path: str | os.PathLike[str], epoch: int, start: int, stop: int, max_bytes: int
) -> SignalSpan | None:
    """Return the samples of `epoch` numbered `start` to `stop` - 1; None where they exceed `max_bytes`.

    The file may be written at the same time. Rows are found by bisection; where epochs do not increase from row to
    row, some samples may be missed.

    Raises
    ------
    RunFileError : it is not a run file, or it is damaged.
    """
    path = Path(path)
    with open_run_file(path) as (file, block):
        if block.cut:
            raise damaged(path, "was cut short")
        try:
            return _read_span(file, epoch, start, stop, max_bytes)
        except HDF5_ERRORS as problem:
            raise damaged(path, "is damaged") from problem


def _read_span(file: h5py.File, epoch: int, start: int, stop: int, max_bytes: int) -> SignalSpan | None:
    data, _, epochs, index = contents.series(file, layout.SIGNALS)
    rate = contents.sample_rate(file)
    n = min(len(data), len(epochs), len(index))
    n = bisect_left(range(n), 1, key=lambda row: int(index[row] == layout.UNWRITTEN))

    def position(row: int) -> tuple[int, int]:
        return int(epochs[row]), int(index[row])

    first = bisect_left(range(n), (epoch, start), key=position)
    last = bisect_left(range(n), (epoch, stop), lo=first, key=position)
    if (last - first) * data.shape[1] * data.dtype.itemsize > max_bytes:
        return None
    numbers, rows = index[first:last], data[first:last]
    # epochs or numbers may decrease: keep only what was asked for
    inside = (epochs[first:last] == epoch) & (numbers >= start) & (numbers < stop)
    return SignalSpan(rate, numbers[inside], rows[inside])
