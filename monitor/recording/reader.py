"""Reading a run file: finished, being written, or left by a kill."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from monitor.blocks import Event, ResultStream, Samples, SignalBlock, Stream
from monitor.recording import contents, layout
from monitor.recording.columns import Integers
from monitor.recording.superblock import Superblock

_SLICE_BYTES = 1 << 22
_ROUNDING = 3.0
_LOOKS = 10


class RunReader:
    """A look at a run file, as it is when opened; what is written later needs a new look.

    Parameters
    ----------
    path : the run file.

    Raises
    ------
    RunFileError : it is not a run file, or it is damaged.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        for more in reversed(range(_LOOKS)):
            stack = ExitStack()
            # closed at exit at the latest: HDF5 crashes there over a file read through a view
            self._close = weakref.finalize(self, stack.close)
            self._file, block = stack.enter_context(contents.opened(self.path))
            if block.cut:
                self.close()
                raise contents.damaged(self.path, "was cut short")
            try:
                self._look(block)
                return
            except contents.DAMAGE as problem:
                self.close()
                # of a file being written, one piece may have been read half old and half new
                if not (more and block.writing):
                    raise contents.damaged(self.path, "is damaged") from problem

    def _look(self, block: Superblock) -> None:
        self.outcome = contents.read_outcome(self._file)
        self.settings: dict[str, Any] = contents.read_settings(self._file)
        self.n_samples = contents.written_rows(self._file, layout.SIGNALS, block.size)
        self._n_results = contents.written_rows(self._file, layout.RESULTS, block.size)
        self._events = contents.read_events(self._file, block.size)
        self.stream: Stream = contents.read_stream(self._file, self._first_epoch())
        self.result_stream: ResultStream | None = contents.read_result_stream(self._file, self.stream.epoch)

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
        for name, rows in ((layout.SIGNALS, self.n_samples), (layout.RESULTS, self._n_results)):
            if rows:
                return int(self._file[name]["epoch"][0])
        return 0

    def events(self) -> list[Event]:
        """Return what happened to the stream, in order."""
        return list(self._events)

    def results(self) -> tuple[Integers, Integers, NDArray[np.float64], Samples]:
        """Return epoch (m,), index (m,), time (m,) in s and values (m, n_columns); empty without results.

        Raises
        ------
        RunFileError : the file is damaged.
        """
        if self.result_stream is None:
            return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), np.empty((0, 0))
        values, time, epoch, index = self._read(layout.RESULTS, 0, self._n_results)
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
            samples, time, epoch, index = self._read(layout.SIGNALS, start, min(self.n_samples, start + most))
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

    def _read(self, name: str, start: int, stop: int) -> tuple[Samples, NDArray[np.float64], Integers, Integers]:
        group = self._file[name]
        try:
            data, time, epoch, index = (group[column][start:stop] for column in layout.series_names(name))
        except contents.DAMAGE as problem:
            raise contents.damaged(self.path, "is damaged") from problem
        return data, time, epoch, index


def _even(time: NDArray[np.float64], rate: float, jitter: float) -> int:
    """Return how many of `time` are those of the first plus k/rate."""
    since = np.arange(len(time)) / rate
    expected = time[0] + since
    rounding = _ROUNDING * np.spacing(np.maximum(np.abs(time[0]), np.maximum(since, np.abs(expected))))
    off = np.flatnonzero(~(np.abs(time - expected) <= np.maximum(jitter, rounding)))
    return max(1, int(off[0])) if off.size else len(time)
