"""The run files that the monitor records."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from pathlib import Path

from monitor.blocks import SignalBlock, Stream
from replay.formats.base import Format, RecordingError, Selection

_SIGNATURE = b"\x89HDF\r\n\x1a\n"


class RunRecording:
    """A run file; nothing is held in memory, and every pass over its blocks opens it anew.

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
        except RunFileError as problem:
            raise RecordingError(str(problem)) from problem
        self._notes = () if outcome == "clean" else (f"the run ended {outcome}",)

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
        """Give the run's signals, from `start` seconds after its first sample.

        Raises
        ------
        RecordingError : the file has become unreadable.
        """
        from monitor.recording import RunFileError, RunReader

        first = ceil(start * self._stream.sample_rate - 1e-6)
        try:
            with RunReader(self._path) as reader:
                yield from reader.signal_blocks(block_length, first)
        except RunFileError as problem:
            raise RecordingError(str(problem)) from problem


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
        raise RecordingError(
            f"{path}: a run file knows its channels and its rate: leave out --command and the like"
        )
    return RunRecording(path)


FORMAT = Format("run files (.h5)", is_run_file, open_run_file)
