"""Parts of a recording: between two instants, and the longest segment without missing samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from monitor.indicators.parts.sample_loop import LARGEST_SAMPLE
from monitor.messages.blocks import Pair, Samples, SignalBlock, Stream
from replay.formats.base import Recording, sample_number

_BLOCK = 1 << 16


@dataclass(frozen=True, eq=False)
class RecordingPart:
    """The samples of a recording from ``start`` to before ``stop``, with the times of the whole.

    Parameters
    ----------
    whole : the recording.
    start, stop : s after the first sample of the whole.

    Raises
    ------
    ValueError : the part does not begin within the recording, or stops before it starts.
    """

    whole: Recording
    start: float = 0.0
    stop: float = float("inf")

    def __post_init__(self) -> None:
        if not self.start < self.stop:
            raise ValueError(f"--stop {self.stop:g}: must be after --start {self.start:g}")
        if not 0.0 <= self.start < self.whole.duration:
            raise ValueError(f"--start {self.start:g}: the record is {self.whole.duration:.4g} s long")

    @property
    def stream(self) -> Stream:
        """What the columns are."""
        return self.whole.stream

    @cached_property
    def n_samples(self) -> int:
        """Number of samples of the part."""
        return sum(len(block) for block in self.blocks(_BLOCK))

    @property
    def notes(self) -> tuple[str, ...]:
        """Those of the whole, and the limits of the part."""
        stop = min(self.stop, self.whole.duration)
        return (*self.whole.notes, f"from {self.start:g} to {stop:.6g} s of {self.whole.duration:.6g} s")

    @property
    def settings(self) -> dict[str, Any]:
        """Those of the service that recorded the whole; empty for other files."""
        return dict(getattr(self.whole, "settings", {}))

    @property
    def duration(self) -> float:
        """Seconds from the part's start to its end."""
        return min(self.stop, self.whole.duration) - self.start

    def locate(self, start: float) -> float:
        """Return the first instant at or after `start` that has a sample, s; the duration when none has."""
        return min(self.whole.locate(self.start + start) - self.start, self.duration)

    def blocks(self, block_length: int, start: float = 0.0) -> Iterator[SignalBlock]:
        """Yield the part's samples, from `start` seconds after its own start."""
        rate = self.stream.sample_rate
        begin = self.whole.locate(self.start + start)
        number = sample_number(begin, rate)
        end = sample_number(self.stop, rate) if self.stop < self.whole.duration else None
        expected: tuple[int, int] | None = None
        for block in self.whole.blocks(block_length, begin):
            epoch = block.stream.epoch
            # numbers count gaps, as the time does, and continue through restarts
            if expected is not None and epoch == expected[0]:
                number += max(0, block.index - expected[1])
            expected = epoch, block.index + len(block)
            left = len(block) if end is None else min(len(block), end - number)
            if left <= 0:
                return
            number += len(block)
            yield block if left == len(block) else replace(block, samples=block.samples[:left])


@dataclass(frozen=True, slots=True, eq=False)
class GapFreeSegment:
    """Command and measured signal, (n, 2), without a gap.

    Parameters
    ----------
    samples : (n, 2).
    start : number of its first sample in the recording, counting missing ones.
    left_out : samples outside it, not finite or beyond a gap.
    """

    samples: Samples
    start: int
    left_out: int


@dataclass(frozen=True, slots=True)
class SegmentPlace:
    """Where a segment without a gap is.

    Parameters
    ----------
    row, samples : its first row in the recording, and its length; 0 where there is none.
    start, left_out : as in `GapFreeSegment`.
    """

    row: int
    samples: int
    start: int
    left_out: int


class SegmentFinder:
    """The longest segment without a gap or a bad sample of an actuator, of blocks in their order."""

    def __init__(self, pair: Pair) -> None:
        self._columns = [pair.command, pair.measured]
        # rows so far, gaps so far, and the number that would follow the last one
        self._rows = self._gaps = 0
        self._first = self._expected = -1
        # row, number and samples of the segment at the end, and of the longest
        self._open = self._longest = (0, 0, 0)

    def add(self, block: SignalBlock) -> None:
        """Include the next block."""
        if self._first < 0:
            self._first = block.index
        elif block.index != self._expected:
            # one sample is left out in the place of those that are missing
            self._gaps += 1
            self._open = (0, 0, 0)
        good = np.abs(block.samples[:, self._columns]).max(axis=1) < LARGEST_SAMPLE
        edges = np.flatnonzero(np.diff(good, prepend=False, append=False))
        for begin, end in edges.reshape(-1, 2).tolist():
            row, number, before = self._open
            if begin or not before:
                row, number, before = self._rows + begin, block.index + begin, 0
            self._open = row, number, before + end - begin
            if self._open[2] > self._longest[2]:
                self._longest = self._open
        if not good[-1:].all():
            self._open = (0, 0, 0)
        self._rows += len(block)
        self._expected = block.index + len(block)

    @property
    def longest(self) -> SegmentPlace:
        """The longest segment so far, the first of equals."""
        row, number, samples = self._longest
        start = number - self._first if samples else 0
        return SegmentPlace(row, samples, start, self._rows + self._gaps - samples)


def longest_gap_free_segment(recording: Recording, pair: Pair) -> GapFreeSegment:
    """Return the longest segment without a gap; one of no samples where there is none."""
    finder = SegmentFinder(pair)
    for block in recording.blocks(_BLOCK):
        finder.add(block)
    place = finder.longest
    samples, row = np.empty((place.samples, 2)), -place.row
    for block in recording.blocks(_BLOCK):
        begin, end = (min(max(at - row, 0), len(block)) for at in (0, place.samples))
        samples[row + begin : row + end] = block.samples[begin:end, [pair.command, pair.measured]]
        row += len(block)
        if row >= place.samples:
            break
    return GapFreeSegment(samples, place.start, place.left_out)
