"""Recordings of evenly numbered samples: held in memory, read piece by piece, or computed as they are read."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from monitor.messages.blocks import Event, EventKind, Samples, SignalBlock, Stream
from replay.formats.base import Recording, sample_number
from replay.formats.signal_table import Changes

_PIECE = 1 << 16  # rows read at a time


class EvenRecording:
    """What recordings of evenly numbered rows share; a subclass has the attributes and `_rows`."""

    stream: Stream
    start_time: float
    index: NDArray[np.int64] | None
    states: Changes = ()

    @property
    def n_samples(self) -> int:
        """Samples that are there."""
        raise NotImplementedError

    def _rows(self, begin: int, end: int) -> Samples:
        """Return the rows from `begin` to before `end`."""
        raise NotImplementedError

    def _pieces(self, begin: int, end: int, step: int) -> Iterator[tuple[int, Samples]]:
        """Give the rows from `begin` to before `end`, `step` at a time, each with the number of its first row."""
        for row in range(begin, end, step):
            yield row, self._rows(row, min(row + step, end))

    def _check_index(self) -> None:
        if self.index is not None and (
            self.index.shape != (self.n_samples,) or self.index[0] != 0 or np.any(np.diff(self.index) < 1)
        ):
            raise ValueError("the sample numbers must increase from 0, one for each sample")

    @cached_property
    def _runs(self) -> tuple[tuple[int, int, int], ...]:
        """First row, end row and first sample number of each segment without a gap."""
        if self.index is None:
            return ((0, self.n_samples, 0),)
        begins = np.flatnonzero(np.diff(self.index, prepend=-2) > 1)
        ends = [*begins[1:].tolist(), self.n_samples]
        return tuple(zip(begins.tolist(), ends, self.index[begins].tolist(), strict=True))

    @property
    def duration(self) -> float:
        """Seconds from the first sample to the one that would follow the last, gaps included."""
        begin, end, number = self._runs[-1]
        return (number + end - begin) / self.stream.sample_rate

    def locate(self, start: float) -> float:
        """Return the first instant at or after `start` that has a sample, s; the duration when none has.

        Raises
        ------
        ValueError : the start is before the first sample.
        """
        first = sample_number(start, self.stream.sample_rate)
        there = (max(first, number) for begin, end, number in self._runs if first < number + end - begin)
        return min(next(there, first) / self.stream.sample_rate, self.duration)

    def timed_events(self) -> tuple[tuple[Event, float], ...]:
        """Return the changes of columns of text as notes, each with its time, s from the first sample."""
        rate, start = self.stream.sample_rate, self.start_time
        return tuple((Event(EventKind.NOTE, start + n / rate, n, 0, text), n / rate) for n, text, *_ in self.states)

    def blocks(self, block_length: int, start: float = 0.0) -> Iterator[SignalBlock]:
        """Give the samples as blocks; no block spans a gap.

        Raises
        ------
        ValueError : the length is below 1 or the start before the first sample.
        """
        if block_length < 1:
            raise ValueError(f"block length {block_length}: must be at least 1 sample")
        first = sample_number(start, self.stream.sample_rate)
        for begin, end, number in self._runs:
            for row, samples in self._pieces(begin + max(0, first - number), end, block_length):
                at = number + row - begin
                yield SignalBlock(self.stream, at, self.start_time + at / self.stream.sample_rate, samples)


@dataclass(frozen=True, eq=False)
class ArrayRecording(EvenRecording):
    """A recording held in memory.

    Parameters
    ----------
    stream : what the columns are.
    samples : (n_samples, n_channels); not copied if it is C-contiguous float64.
    start_time : time of the first sample, s.
    notes : as in `Recording`.
    index : (n_samples,), increasing, starting at 0: number of each sample; None when none is missing.
    outcome : ``truncated`` where the file ends before it was finished; empty for others.
    states : numbers of samples at which columns of text change, and what they change to.

    Raises
    ------
    ValueError : the shapes do not fit, or the numbers do not increase from 0.
    """

    stream: Stream
    samples: Samples
    start_time: float = 0.0
    notes: tuple[str, ...] = ()
    index: NDArray[np.int64] | None = None
    outcome: str = ""
    states: Changes = ()

    def __post_init__(self) -> None:
        samples = np.ascontiguousarray(self.samples, dtype=np.float64)
        if samples.ndim != 2 or samples.shape[1] != len(self.stream.channels):
            raise ValueError(f"samples of shape {samples.shape} for {len(self.stream.channels)} channels")
        object.__setattr__(self, "samples", samples)
        self._check_index()

    @property
    def n_samples(self) -> int:
        """Samples that are there."""
        return len(self.samples)

    def _rows(self, begin: int, end: int) -> Samples:
        return self.samples[begin:end]


@dataclass(frozen=True, eq=False)
class PiecewiseRecording(EvenRecording):
    """A recording too large for the memory: its rows are read from the file as they are needed.

    Parameters
    ----------
    read : first row, end row -> (n, n_channels).
    n_rows : of the file.
    stream, start_time, notes, index, outcome, states : as in `ArrayRecording`.
    """

    stream: Stream
    read: Callable[[int, int], Samples]
    n_rows: int
    start_time: float = 0.0
    notes: tuple[str, ...] = ()
    index: NDArray[np.int64] | None = None
    outcome: str = ""
    states: Changes = ()

    def __post_init__(self) -> None:
        self._check_index()

    @property
    def n_samples(self) -> int:
        """Samples that are there."""
        return self.n_rows

    def _pieces(self, begin: int, end: int, step: int) -> Iterator[tuple[int, Samples]]:
        # short blocks are cut from longer pieces: each reading opens the file
        length = max(1, _PIECE // step) * step
        for first in range(begin, end, length):
            piece = np.ascontiguousarray(self.read(first, min(first + length, end)))
            for row in range(0, len(piece), step):
                yield first + row, piece[row : row + step]


def with_notes(recording: Recording | None, notes: Sequence[str]) -> Recording | None:
    """Return a recording of this module with notes before its own; any other one as it is."""
    if notes and isinstance(recording, ArrayRecording | PiecewiseRecording):
        return replace(recording, notes=(*notes, *recording.notes))
    return recording


_KEPT_BYTES = 1 << 27


class ComputedRecording(EvenRecording):
    """A recording of a simulation that runs while it is read.

    Samples that were computed are kept up to a limit, beyond which the oldest are dropped. Where they are read again,
    as after a seek back, the simulation runs again from its start.

    Parameters
    ----------
    stream : what the columns are.
    n_samples : how many there will be.
    columns : of what is computed, in ascending order.
    pieces : starts the simulation and gives its samples in order, (rows, columns) at a time. An ArithmeticError, such
        as that of a test that leaves its stroke, is a ValueError of who reads.
    known : times (n,) [s] -> (n, other columns), what is known in advance, such as the injected truth.
    kept_bytes : the limit.
    """

    def __init__(
        self,
        stream: Stream,
        n_samples: int,
        columns: list[int],
        pieces: Callable[[], Iterator[Samples]],
        known: Callable[[Samples], Samples],
        kept_bytes: int = _KEPT_BYTES,
    ) -> None:
        self.stream, self.start_time, self.index = stream, 0.0, None
        self.notes: tuple[str, ...] = ()
        self._n_samples, self._kept_bytes = n_samples, kept_bytes
        self._columns = columns
        self._others = [column for column in range(len(stream.channels)) if column not in columns]
        self._start, self._known = pieces, known
        self._restart()

    @property
    def n_samples(self) -> int:
        """Samples that there will be."""
        return self._n_samples

    @property
    def computed(self) -> int:
        """Samples that the simulation, as it runs, has come to."""
        return self._ready

    @property
    def samples(self) -> Samples:
        """(n_samples, n_channels), computed to the end."""
        return self._rows(0, self.n_samples)

    def known_at(self, numbers: NDArray[np.int64]) -> Samples:
        """Return (n, n_channels) of the samples with these numbers; NaN in what has to be computed."""
        found = np.full((len(numbers), len(self.stream.channels)), np.nan)
        found[:, self._others] = self._known(numbers / self.stream.sample_rate)
        return found

    def _restart(self) -> None:
        self._running = self._start()
        self._kept: list[Samples] = []
        self._first_rows: list[int] = []
        self._ready = self._size = 0

    def _rows(self, begin: int, end: int) -> Samples:
        if begin < (self._first_rows[0] if self._kept else self._ready):
            self._restart()
        while self._ready < end:
            self._compute(begin)
        at = max(0, bisect_right(self._first_rows, begin) - 1)
        parts = []
        while begin < end:
            first = self._first_rows[at]
            parts.append(self._kept[at][begin - first : end - first])
            begin += len(parts[-1])
            at += 1
        return parts[0] if len(parts) == 1 else np.concatenate([np.empty((0, len(self.stream.channels))), *parts])

    def _compute(self, needed: int) -> None:
        """Compute the next piece, and drop the oldest before row `needed`."""
        try:
            piece = next(self._running)
        except ArithmeticError as problem:
            raise ValueError(f"the simulation ends early: {problem}") from problem
        except StopIteration:
            raise ValueError(f"the simulation ends early, after {self._ready} samples") from None
        rows = self.known_at(np.arange(self._ready, self._ready + len(piece)))
        rows[:, self._columns] = piece
        self._kept.append(rows)
        self._first_rows.append(self._ready)
        self._ready += len(rows)
        self._size += rows.nbytes
        while self._size > self._kept_bytes and len(self._kept) > 1 and self._first_rows[1] <= needed:
            self._size -= self._kept.pop(0).nbytes
            del self._first_rows[0]
