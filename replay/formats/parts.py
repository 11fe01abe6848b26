"""Parts of a recording: between two instants, and the longest segment without missing samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from monitor.indicators.parts.sample_loop import LARGEST_SAMPLE
from monitor.messages.blocks import Event, Pair, Samples, SignalBlock, Stream
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
        if not 0.0 <= self.start < self.whole.duration:
            raise ValueError(f"--start {self.start:g}: the record is {self.whole.duration:.4g} s long")
        if not self.start < self.stop:
            raise ValueError(f"--stop {self.stop:g}: must be after --start {self.start:g}")

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

    def timed_events(self) -> tuple[tuple[Event, float], ...]:
        """Return the events of the part, each with its time, s from the part's start."""
        found = self.whole.timed_events()
        return tuple((event, at - self.start) for event, at in found if self.start <= at < self.stop)

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
    """Return the longest segment without a gap or a bad sample, the first of equals; of no samples without any."""
    first = expected = -1
    n_rows = n_gaps = 0
    # of the segment at the end, and of the longest: its pieces, number and samples
    pieces, start, length = list[Samples](), 0, 0
    longest, longest_start, longest_length = pieces, 0, 0
    for block in recording.blocks(_BLOCK):
        if first < 0:
            first = block.index
        elif block.index != expected:
            # one sample is left out in the place of those that are missing
            n_gaps += 1
            length = 0
        used = block.samples[:, [pair.command, pair.measured]]
        good = np.abs(used).max(axis=1) < LARGEST_SAMPLE
        edges = np.flatnonzero(np.diff(good, prepend=False, append=False))
        for begin, end in edges.reshape(-1, 2).tolist():
            if begin or not length:
                pieces, start, length = [], block.index + begin - first, 0
            pieces.append(used[begin:end])
            length += end - begin
            if length > longest_length:
                longest, longest_start, longest_length = pieces, start, length
        if not good[-1:].all():
            length = 0
        n_rows += len(block)
        expected = block.index + len(block)
    samples = np.concatenate([np.empty((0, 2)), *longest])
    return GapFreeSegment(samples, longest_start, n_rows + n_gaps - longest_length)
