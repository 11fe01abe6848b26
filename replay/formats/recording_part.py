"""A part of a recording, between two instants, as a recording of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from monitor.messages.blocks import SignalBlock, Stream
from replay.formats.base import Recording, sample_number

_BLOCK = 1 << 16


@dataclass(frozen=True, eq=False)
class RecordingPart:
    """The samples of a recording from ``start`` to before ``stop``; times stay those of the whole.

    Parameters
    ----------
    whole : what it is a part of.
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
        """Samples that the part holds."""
        return sum(len(block) for block in self.blocks(_BLOCK))

    @property
    def notes(self) -> tuple[str, ...]:
        """Those of the whole, and which part this is."""
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
        """Give the part's samples, from `start` seconds after its own start."""
        rate = self.stream.sample_rate
        begin = self.whole.locate(self.start + start)
        number = sample_number(begin, rate)
        end = sample_number(self.stop, rate) if self.stop < self.whole.duration else None
        expected: tuple[int, int] | None = None
        for block in self.whole.blocks(block_length, begin):
            epoch = block.stream.epoch
            # numbers go on through gaps, as the time does, and through restarts
            if expected is not None and epoch == expected[0]:
                number += max(0, block.index - expected[1])
            expected = epoch, block.index + len(block)
            left = len(block) if end is None else min(len(block), end - number)
            if left <= 0:
                return
            number += len(block)
            yield block if left == len(block) else replace(block, samples=block.samples[:left])
