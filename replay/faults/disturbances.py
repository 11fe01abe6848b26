"""Disturbances of a stream: a delay that changes, random faults, gaps and restarts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from math import ceil

import numpy as np

from monitor.messages.blocks import Role, Samples, SignalBlock, Stream

ROUNDING = 1e-6  # of a sample: 0.3 s at 10 Hz is sample 3, not 4


class Disturbance(ABC):
    """One fault."""

    @abstractmethod
    def apply(self, block: SignalBlock) -> Sequence[SignalBlock]:
        """Return what comes of `block`."""

    def flush(self) -> Sequence[SignalBlock]:
        """Return what was held back, at the end of the stream."""
        return ()


class RandomDisturbance(Disturbance):
    """One that happens to a block, or to a sample, with a probability."""

    def __init__(self, probability: float, rng: np.random.Generator) -> None:
        self._probability, self._rng = probability, rng


def sample_at(time: float, rate: float) -> int:
    """Return the number of the first sample at or after `time`."""
    return ceil(time * rate - ROUNDING)


def measured_columns(stream: Stream) -> list[int]:
    """Return the columns of the measured channels."""
    return [column for column, channel in enumerate(stream.channels) if channel.role is Role.MEASURED]


class SampleCount:
    """Counts samples from the first that comes, through gaps and restarts."""

    def __init__(self) -> None:
        self._epoch: int | None = None
        self._offset = 0
        self.end = 0  # the number of the sample that comes next, unless some are missing

    def start_of(self, block: SignalBlock) -> int:
        """Return the number of the block's first sample."""
        if block.stream.epoch != self._epoch:
            self._epoch = block.stream.epoch
            self._offset = self.end - block.index
        start = block.index + self._offset
        self.end = max(self.end, start + len(block))
        return start


class DelayStep(Disturbance):
    """Lets the measured channels lag by `delay` seconds from `time` seconds on.

    Samples between samples are interpolated linearly; before the first sample that is known, the first is held.
    """

    def __init__(self, time: float, delay: float) -> None:
        self._time, self._delay = time, delay
        self._count = SampleCount()
        self._zero = 0  # the sample from which `time` counts
        self._epoch: int | None = None
        self._history: Samples | None = None
        self._next = 0

    def retrigger(self, time: float, delay: float) -> None:
        """Lag by `delay` instead, from `time` seconds after the next sample that comes; what is known stays known."""
        self._time, self._delay, self._zero = time, delay, self._count.end

    def apply(self, block: SignalBlock) -> Sequence[SignalBlock]:
        """Return the block with the measured channels of an earlier moment."""
        if not len(block):
            return (block,)
        if block.stream.epoch != self._epoch:
            self._epoch, self._history = block.stream.epoch, None
        rate = block.stream.sample_rate
        lag = self._delay * rate
        whole = round(lag) if abs(lag - round(lag)) < ROUNDING else int(lag)
        part = max(lag - whole, 0.0)
        depth = whole + 1
        start = self._count.start_of(block)
        columns = measured_columns(block.stream)
        now = block.samples[:, columns]
        known = np.concatenate((self._remembered(now, start, depth), now))
        self._history, self._next = known[-depth:], start + len(block)
        late = known[depth - whole : len(known) - whole]
        if part > ROUNDING:
            late = (1.0 - part) * late + part * known[depth - whole - 1 : len(known) - whole - 1]
        step = max(self._zero + sample_at(self._time, rate) - start, 0)
        samples = block.samples.copy()
        samples[step:, columns] = late[step:]
        return (replace(block, samples=samples),)

    def _remembered(self, now: Samples, start: int, depth: int) -> Samples:
        """Return the `depth` samples before `start`, NaN where they were in a gap."""
        if self._history is None:
            return np.repeat(now[:1], depth, axis=0)
        unknown = max(depth - len(self._history), 0)  # of a lag that has grown
        history = np.concatenate((np.repeat(self._history[:1], unknown, axis=0), self._history))[-depth:]
        missing = min(start - self._next, depth)
        if missing <= 0:
            return history
        return np.concatenate((history[missing:], np.full((missing, now.shape[1]), np.nan)))


class Drop(RandomDisturbance):
    """Loses blocks."""

    def apply(self, block: SignalBlock) -> Sequence[SignalBlock]:
        """Return the block or nothing."""
        lost = self._rng.random() < self._probability
        return () if lost and not block.last else (block,)


class Duplicate(RandomDisturbance):
    """Sends blocks twice."""

    def apply(self, block: SignalBlock) -> Sequence[SignalBlock]:
        """Return the block once or twice."""
        doubled = self._rng.random() < self._probability
        return (block, block) if doubled and not block.last else (block,)


class Reorder(RandomDisturbance):
    """Lets a block change places with the next."""

    _held: SignalBlock | None = None

    def apply(self, block: SignalBlock) -> Sequence[SignalBlock]:
        """Return the block, with the one held back behind it, or hold it back."""
        late, self._held = self._held, None
        if late is not None:
            # a publisher that has started again sends nothing of before
            in_order = block.last or late.stream.epoch != block.stream.epoch
            return (late, block) if in_order else (block, late)
        if self._rng.random() < self._probability and not block.last:
            self._held = block
            return ()
        return (block,)

    def flush(self) -> Sequence[SignalBlock]:
        """Return the block held back."""
        held, self._held = self._held, None
        return () if held is None else (held,)


class Jitter(Disturbance):
    """Puts the times of blocks off by up to `width` seconds, either way."""

    def __init__(self, width: float, rng: np.random.Generator) -> None:
        self._width, self._rng = width, rng

    def apply(self, block: SignalBlock) -> Sequence[SignalBlock]:
        """Return the block with another time."""
        return (replace(block, time=block.time + self._rng.uniform(-self._width, self._width)),)


class MissingValues(RandomDisturbance):
    """Turns samples of the measured channels into NaN."""

    def apply(self, block: SignalBlock) -> Sequence[SignalBlock]:
        """Return the block with missing values."""
        columns = measured_columns(block.stream)
        samples = block.samples.copy()
        missing = self._rng.random((len(block), len(columns))) < self._probability
        samples[:, columns] = np.where(missing, np.nan, samples[:, columns])
        return (replace(block, samples=samples),)


class Gap(Disturbance):
    """Cuts out the samples of `length` seconds from `time` seconds on."""

    def __init__(self, time: float, length: float) -> None:
        self._time, self._length = time, length
        self._count = SampleCount()

    def apply(self, block: SignalBlock) -> Sequence[SignalBlock]:
        """Return the samples before and after the gap."""
        rate = block.stream.sample_rate
        start = self._count.start_of(block)
        begin = min(max(sample_at(self._time, rate) - start, 0), len(block))
        end = min(max(sample_at(self._time + self._length, rate) - start, 0), len(block))
        if begin == end:
            return (block,)
        before = replace(block, samples=block.samples[:begin], last=False)
        after = block.tail(end)
        return tuple(part for part in (before, after) if len(part) or part.last)


class Restart(Disturbance):
    """Restarts the publisher `time` seconds after the first sample, and after each `retrigger`.

    Epochs never decrease: blocks after a restart keep the larger epoch.
    """

    def __init__(self, time: float | None) -> None:
        self._time = time
        self._count = SampleCount()
        self.added = 0  # to the epochs of the source
        self._epoch: int | None = None  # as it comes in
        self._zero = 0  # the index of that epoch that is sent as 0
        self._renamed: Stream | None = None

    def retrigger(self, time: float | None) -> None:
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
