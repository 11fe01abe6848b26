"""The run files that the monitor records."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from monitor.blocks import SignalBlock, Stream
from replay.formats.base import Format, RecordingError, Selection

if TYPE_CHECKING:
    from monitor.recording import RunReader

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_STRIDE = 1 << 16  # samples looked at together on the way to a start


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
                self.settings: dict[str, Any] = dict(reader.settings)
        except RunFileError as problem:
            raise RecordingError(str(problem)) from problem
        self._notes = () if outcome == "clean" else (f"the outcome of the run is {outcome!r}",)

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

    def blocks(self, block_length: int, start: float = 0.0) -> Iterator[SignalBlock]:
        """Give the run's signals, from `start` seconds after its first sample; gaps and restarts included.

        Raises
        ------
        ValueError : the length is below 1 or the start before the first sample.
        RecordingError : the file has become unreadable.
        """
        from monitor.recording import RunFileError, RunReader

        if not 0.0 <= start < float("inf"):
            raise ValueError(f"start at {start:g} s: must not be before the first sample")
        try:
            with RunReader(self._path) as reader:
                row = _row_of(reader, ceil(start * self._stream.sample_rate - 1e-6))
                yield from reader.signal_blocks(block_length, row)
        except RunFileError as problem:
            raise RecordingError(str(problem)) from problem


def _row_of(reader: RunReader, number: int) -> int:
    """Return the row of the first sample at or after `number`, counted through gaps and across restarts."""
    if number == 0:
        return 0
    row = passed = 0
    stream, zero = None, 0
    for block in reader.signal_blocks(_STRIDE, jitter=float("inf")):
        if block.stream is not stream:
            stream, zero = block.stream, block.index - passed
        ahead = number - (block.index - zero)
        if ahead < len(block):
            return row + max(ahead, 0)
        row += len(block)
        passed = block.index - zero + len(block)
    return row


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


FORMAT = Format("run files (.h5)", is_run_file, open_run_file)
