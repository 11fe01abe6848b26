"""A recording whose samples are computed as they are read, so that a long simulation starts at once."""

from __future__ import annotations

from collections.abc import Iterator

from monitor.messages.blocks import Samples, SignalBlock, Stream
from replay.formats.base import sample_number
from replay.formats.recordings import ArrayRecording


class ComputedRecording:
    """A recording of a simulation that runs while it is read.

    Parameters
    ----------
    stream : what the columns are.
    known : (n_samples, n_channels), with what is known in advance, such as the injected truth; the rest is written
        into it as it is computed.
    columns : of what is computed.
    pieces : gives it in order, (rows, columns) at a time. An ArithmeticError, such as that of a test that leaves its
        stroke, is a ValueError of who reads.
    """

    def __init__(self, stream: Stream, known: Samples, columns: list[int], pieces: Iterator[Samples]) -> None:
        self._recording = ArrayRecording(stream, known)
        self._columns, self._pieces, self._ready = columns, pieces, 0

    @property
    def stream(self) -> Stream:
        """What the columns are."""
        return self._recording.stream

    @property
    def n_samples(self) -> int:
        """Samples that there will be."""
        return self._recording.n_samples

    @property
    def notes(self) -> tuple[str, ...]:
        """There are none."""
        return ()

    @property
    def duration(self) -> float:
        """Seconds from the first sample to the one that would follow the last."""
        return self._recording.duration

    @property
    def known(self) -> Samples:
        """(n_samples, n_channels): what is known in advance, and what has been computed so far."""
        return self._recording.samples

    @property
    def samples(self) -> Samples:
        """(n_samples, n_channels), computed to the end."""
        self._compute(self.n_samples)
        return self.known

    def locate(self, start: float) -> float:
        """Return the first instant at or after `start` that has a sample, s; the duration when none has."""
        return self._recording.locate(start)

    def blocks(self, block_length: int, start: float = 0.0) -> Iterator[SignalBlock]:
        """Give views of the samples as blocks, each computed when it is asked for."""
        blocks = self._recording.blocks(block_length, start)
        row = sample_number(start, self.stream.sample_rate)
        while row < self.n_samples:
            row = min(row + block_length, self.n_samples)
            self._compute(row)
            yield next(blocks)

    def _compute(self, rows: int) -> None:
        while self._ready < rows:
            try:
                piece = next(self._pieces)
            except ArithmeticError as problem:
                raise ValueError(f"the simulation ends early: {problem}") from problem
            self.known[self._ready : self._ready + len(piece), self._columns] = piece
            self._ready += len(piece)
