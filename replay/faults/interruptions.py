"""Faults at a time: samples that are missing for a while, and a publisher that starts again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from monitor.messages.blocks import SignalBlock, Stream
from replay.faults.disturbances import Passing, SampleCount, sample_at


class Gap(Passing):
    """Cuts out the samples of `length` seconds from `time` seconds on."""

    def __init__(self, time: float, length: float) -> None:
        self._time, self._length = time, length
        self._count = SampleCount()

    def apply(self, block: SignalBlock) -> Sequence[SignalBlock]:
        """Return what stands before and after the gap."""
        rate = block.stream.sample_rate
        start = self._count.start_of(block)
        begin = min(max(sample_at(self._time, rate) - start, 0), len(block))
        end = min(max(sample_at(self._time + self._length, rate) - start, 0), len(block))
        if begin == end:
            return (block,)
        before = replace(block, samples=block.samples[:begin], last=False)
        after = block.tail(end)
        return tuple(part for part in (before, after) if len(part) or part.last)


class Restart(Passing):
    """Restarts the publisher `time` seconds after the first sample, and again as often as it is told to.

    What it has restarted stays so: epochs never fall again.
    """

    def __init__(self, time: float | None) -> None:
        self._time = time
        self._count = SampleCount()
        self.added = 0  # epochs beside those of the source
        self._epoch: int | None = None  # as it comes in
        self._zero = 0  # the index of that epoch that is sent as 0
        self._renamed: Stream | None = None

    def again(self, time: float | None) -> None:
        """Restart once more, `time` seconds after the next sample that comes; not again when None."""
        self._time, self._count = time, SampleCount()

    def apply(self, block: SignalBlock) -> Sequence[SignalBlock]:
        """Return the block, cut in two and renumbered where that is due."""
        if block.stream.epoch != self._epoch:
            self._epoch, self._zero = block.stream.epoch, 0  # a restart of the source itself: its numbers are right
        if self._time is None:
            return (self._rename(block),)
        before = max(sample_at(self._time, block.stream.sample_rate) - self._count.start_of(block), 0)
        if before >= len(block):
            return (self._rename(block),)
        head = replace(self._rename(block), samples=block.samples[:before], last=False)
        self._time, self._zero = None, block.index + before
        self.added += 1
        tail = self._rename(block.tail(before))
        return (head, tail) if before else (tail,)

    def _rename(self, block: SignalBlock) -> SignalBlock:
        if not self.added:
            return block
        epoch = block.stream.epoch + self.added
        if self._renamed is None or self._renamed.epoch != epoch:
            self._renamed = replace(block.stream, epoch=epoch)
        return replace(block, stream=self._renamed, index=block.index - self._zero)
