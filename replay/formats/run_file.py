"""The run files that the monitor records."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from monitor.alarms.text import in_words
from monitor.blocks import Event, EventKind, SignalBlock, Stream
from replay.formats.base import Format, RecordingError, Selection, sample_number

if TYPE_CHECKING:
    from monitor.recording import RunReader

_MOST_NOTES = 10
_SIGNATURE = b"\x89HDF\r\n\x1a\n"


@dataclass(frozen=True, slots=True)
class Epoch:
    """The samples from one start of the publisher to the next.

    Parameters
    ----------
    row : of its first sample in the file.
    passed : number of that sample, counted from the run's first through gaps and restarts.
    index, time : of that sample, as the publisher gave them.
    """

    row: int
    passed: int
    index: int
    time: float


class RunRecording:
    """A run file; nothing is held in memory, and every pass over its blocks opens it anew.

    ``settings`` are those of the service that recorded it.

    Raises
    ------
    RecordingError : the file is not a run file, or too damaged to be read.
    """

    def __init__(self, path: Path) -> None:
        from monitor.recording import RunFileError, RunReader  # h5py is slow to import

        self._path = path
        try:
            with RunReader(path) as reader:
                self._stream: Stream = reader.stream
                self._n_samples = int(reader.n_samples)
                outcome = str(reader.outcome)
                written = _written(reader)
                self.settings: dict[str, Any] = dict(reader.settings)
        except RunFileError as problem:
            raise RecordingError(str(problem)) from problem
        self._notes = (*(() if outcome == "clean" else (f"the outcome of the run is {outcome!r}",)), *written)

    @property
    def stream(self) -> Stream:
        """What the columns are."""
        return self._stream

    @property
    def n_samples(self) -> int:
        """Samples that the run holds."""
        return self._n_samples

    @property
    def notes(self) -> tuple[str, ...]:
        """How the run ended, if not well."""
        return self._notes

    @property
    def duration(self) -> float:
        """Seconds from the first sample to the one that would follow the last, through gaps and restarts."""
        return self._numbers[1] / self._stream.sample_rate

    @property
    def epochs(self) -> tuple[Epoch, ...]:
        """The starts of the publisher, in the order of the file."""
        return self._numbers[0]

    def events(self) -> tuple[Event, ...]:
        """Return what happened to the stream, in order.

        Raises
        ------
        RecordingError : the file has become unreadable.
        """
        with self._opened() as reader:
            return tuple(reader.events())

    def locate(self, start: float) -> float:
        """Return the first instant at or after `start` that has a sample, s; the duration when none has.

        Raises
        ------
        ValueError : the start is before the first sample.
        RecordingError : the file has become unreadable.
        """
        number = sample_number(start, self._stream.sample_rate)
        with self._opened() as reader:
            row = self._row_of(reader, number)
            if row == self._n_samples:
                return self.duration
            return self._number_of(reader, row) / self._stream.sample_rate

    def blocks(self, block_length: int, start: float = 0.0) -> Iterator[SignalBlock]:
        """Give the run's signals, from `start` seconds after its first sample; gaps and restarts included.

        Raises
        ------
        ValueError : the length is below 1 or the start before the first sample.
        RecordingError : the file has become unreadable.
        """
        return self.coarse_blocks(block_length, start, 0.0)

    def coarse_blocks(self, block_length: int, start: float, jitter: float) -> Iterator[SignalBlock]:
        """Give the same in longer blocks, whose times may be off by `jitter` s."""
        number = sample_number(start, self._stream.sample_rate)
        with self._opened() as reader:
            yield from reader.signal_blocks(block_length, self._row_of(reader, number), jitter)

    @contextmanager
    def _opened(self) -> Iterator[RunReader]:
        from monitor.recording import RunFileError, RunReader

        try:
            with RunReader(self._path) as reader:
                yield reader
        except RunFileError as problem:
            raise RecordingError(str(problem)) from problem

    @cached_property
    def _numbers(self) -> tuple[tuple[Epoch, ...], int]:
        """The epochs, and the number of the sample that would follow the last."""
        if not self._n_samples:
            return (), 0
        with self._opened() as reader:
            found: list[Epoch] = []
            row = passed = 0
            while row < self._n_samples:
                first = _sample(reader, row)
                found.append(Epoch(row, passed, first.index, first.time))
                row = _end_of_epoch(reader, row, self._n_samples)
                passed += _sample(reader, row - 1).index + 1 - first.index
            return tuple(found), passed

    def _number_of(self, reader: RunReader, row: int) -> int:
        epoch = max((epoch for epoch in self.epochs if epoch.row <= row), key=lambda epoch: epoch.row)
        return epoch.passed + _sample(reader, row).index - epoch.index

    def _row_of(self, reader: RunReader, number: int) -> int:
        """Return the row of the first sample at or after `number`; numbers rise from row to row."""
        if number == 0 or not self.epochs:
            return 0
        epoch = max((epoch for epoch in self.epochs if epoch.passed <= number), key=lambda epoch: epoch.passed)
        most = min(epoch.row + number - epoch.passed, self._n_samples)
        # as a rule nothing is missing, and the sample is where it would be then
        if most < self._n_samples and self._number_of(reader, most) == number:
            return most
        rows = range(epoch.row, most)
        return epoch.row + bisect_left(rows, number, key=lambda row: self._number_of(reader, row))


def _written(reader: RunReader) -> list[str]:
    """Return the notes and alarms that are kept with a run, a line each; of very many the newest."""
    events = list(reader.events())
    notes = [f"note at {e.time:.7g} s: {e.detail}" for e in events if e.kind is EventKind.NOTE]
    alarms = [f"alarm at {e.time:.7g} s: {in_words(e)}" for e in events if e.kind is EventKind.ALARM]
    return [*_newest(notes, "notes"), *_newest(alarms, "steps of alarms")]


def _newest(lines: list[str], what: str) -> list[str]:
    left = len(lines) - _MOST_NOTES
    return [f"{left} older {what} are in the file", *lines[-_MOST_NOTES:]] if left > 0 else lines


def _sample(reader: RunReader, row: int) -> SignalBlock:
    return next(reader.signal_blocks(1, row))


def _end_of_epoch(reader: RunReader, row: int, end: int) -> int:
    """Return the row after the last of the epoch that `row` belongs to; indices rise within an epoch."""
    first = _sample(reader, row)

    def beyond(other: int) -> bool:
        there = _sample(reader, other)
        same = there.stream.epoch == first.stream.epoch
        return not same or there.index - first.index < other - row

    return bisect_left(range(row, end), True, key=beyond) + row


def is_run_file(path: Path, head: bytes, selection: Selection) -> bool:  # noqa: ARG001 the signature tells
    """Whether the first bytes are those of HDF5."""
    return head.startswith(_SIGNATURE)


def open_run_file(path: Path, selection: Selection) -> RunRecording:
    """Open a run file, whose channels have their roles already.

    Raises
    ------
    RecordingError : it is not a run file, or columns are named for it; one line.
    """
    if selection != Selection():
        raise RecordingError(f"{path}: a run file knows its channels and its rate: leave out --command and the like")
    return RunRecording(path)


FORMAT = Format("run file", ("*.h5", "*.hdf5"), is_run_file, open_run_file)
