"""Parts of a recording: between two instants, and the longest segment without missing samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

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


def longest_gap_free_segment(recording: Recording, pair: Pair) -> GapFreeSegment:
    """Return the longest segment without a gap; one of no samples where there is none."""
    pieces = list(_pieces(recording, pair))
    both = np.concatenate([np.empty((0, 2)), *(samples for _, samples in pieces)])
    good = _longest((np.abs(both) < LARGEST_SAMPLE).all(axis=1))
    samples = both[good]
    if not len(samples):
        return GapFreeSegment(samples, 0, len(both))
    # the piece in which it begins, and the number of samples in the pieces before
    before = np.cumsum([0, *(len(each) for _, each in pieces)])
    piece = int(np.searchsorted(before, good.start, side="right")) - 1
    start = pieces[piece][0] - pieces[0][0] + good.start - int(before[piece])
    return GapFreeSegment(samples, start, len(both) - len(samples))


def _pieces(recording: Recording, pair: Pair) -> Iterator[tuple[int, Samples]]:
    expected: int | None = None
    for block in recording.blocks(_BLOCK):
        if expected is not None and block.index != expected:
            # a NaN takes the place of missing samples
            yield expected, np.full((1, 2), np.nan)
        yield block.index, block.samples[:, [pair.command, pair.measured]]
        expected = block.index + len(block)


def _longest(good: NDArray[np.bool_]) -> slice:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], good, [False]]).astype(np.int8)))
    starts, stops = edges[::2], edges[1::2]
    if not len(starts):
        return slice(0, 0)
    longest = int(np.argmax(stops - starts))
    return slice(int(starts[longest]), int(stops[longest]))
