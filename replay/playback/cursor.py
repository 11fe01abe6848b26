"""One way through a recording: blocks of any length, one after the other, under numbers of its own."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace
from math import ceil

from monitor.messages.blocks import SignalBlock
from replay.formats.base import Recording, RecordingError
from replay.formats.computed import ComputedRecording

LONGEST_BLOCK = 4096  # samples that a message should carry
_COMPUTED = 512  # samples of a simulation that are computed at a time, while those before are due
_ROUNDING = 1e-6  # of a sample


class PlaybackCursor:
    """One way through a recording, read next_position so that the last sample is known.

    Places within it are in s from its first sample. A restart within the recording is passed on as one.

    Parameters
    ----------
    recording : what to go through.
    length : samples that a block will have as a rule.
    start : s after the recording's first sample.
    epoch : number of the publisher's start.

    Raises
    ------
    ValueError : the start is before the first sample.
    RecordingError : nothing is there from `start` on.
    """

    def __init__(self, recording: Recording, length: int, start: float, epoch: int) -> None:
        self.epoch = epoch
        self.origin = recording.locate(start)  # s, of the first sample in the recording
        longest = _COMPUTED if isinstance(recording, ComputedRecording) else LONGEST_BLOCK
        self._chunks = recording.blocks(length * max(1, longest // length), start)
        chunk = self._next()
        if chunk is None:
            raise RecordingError(f"nothing to play from {start:g} s on: the recording ends before")
        self._chunk: SignalBlock | None = chunk
        self._row = 0  # of the chunk's, the next to be sent
        self._stream = replace(recording.stream, epoch=epoch)
        self._rate = recording.stream.sample_rate
        self._zero = chunk.index  # the recording's number that is sent as 0
        self._behind = 0  # samples before that one, in this pass
        self._sent = 0  # the number, in this pass, after the newest that was sent
        self._shift: float | None = None  # from the recording's times to the times sent

    @property
    def done(self) -> bool:
        """All samples are taken."""
        return self._chunk is None

    @property
    def available(self) -> int:
        """Samples that one block can take."""
        return 0 if self._chunk is None else len(self._chunk) - self._row

    @property
    def position(self) -> float:
        """The place after the newest sample that is taken."""
        return self._sent / self._rate

    @property
    def next_position(self) -> float:
        """The place of the next sample."""
        return self._number / self._rate

    def position_of(self, count: int) -> float:
        """Return the place of the last of the next `count` samples."""
        return (self._number + count - 1) / self._rate

    def count_before(self, place: float) -> int:
        """Return how many of the samples that one block can take are before `place`."""
        return ceil(min(max(place * self._rate - _ROUNDING - self._number, 0.0), self.available))

    def read(self, count: int, date: Callable[[], float] | None, *, mark_last: bool) -> SignalBlock:
        """Return the next `count` samples under this pass's epoch and numbers; with 0, the end of the stream here."""
        chunk, row, stream = self._chunk, self._row, self._stream
        assert chunk is not None
        index, time = chunk.index - self._zero + row, chunk.time + row / self._rate
        if self._shift is None:
            self._shift = 0.0 if date is None else date() - time
        if count:
            self._sent = self._number + count
            self._advance(chunk, row + count)
        last = mark_last and (self.done or not count)
        return SignalBlock(stream, index, time + self._shift, chunk.samples[row : row + count], last)

    def close(self) -> None:
        """Close the file behind the blocks."""
        if isinstance(self._chunks, Generator):
            self._chunks.close()

    @property
    def _number(self) -> int:
        """Of the next sample, in this pass; of the one that would follow the last."""
        return self._sent if self._chunk is None else self._behind + self._chunk.index - self._zero + self._row

    def _next(self) -> SignalBlock | None:
        return next((chunk for chunk in self._chunks if len(chunk)), None)

    def _advance(self, chunk: SignalBlock, row: int) -> None:
        self._row = row
        if row < len(chunk):
            return
        self._chunk, self._row = self._next(), 0
        if self._chunk is not None and self._chunk.stream.epoch != chunk.stream.epoch:
            self._behind, self._zero = self._sent, self._chunk.index
            self.epoch += 1
            self._stream = replace(self._stream, epoch=self.epoch)
