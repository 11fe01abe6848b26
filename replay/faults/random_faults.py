"""Faults that come by chance: blocks lost, doubled or out of order, times that are off, samples that are missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from monitor.messages.blocks import SignalBlock
from replay.faults.disturbance import Passing, measured_columns

Generator = np.random.Generator


class Drop(Passing):
    """Loses blocks."""

    def __init__(self, probability: float, rng: Generator) -> None:
        self._probability, self._rng = probability, rng

    def apply(self, block: SignalBlock) -> Sequence[SignalBlock]:
        """Return the block or nothing."""
        lost = self._rng.random() < self._probability
        return () if lost and not block.last else (block,)


class Duplicate(Passing):
    """Sends blocks twice."""

    def __init__(self, probability: float, rng: Generator) -> None:
        self._probability, self._rng = probability, rng

    def apply(self, block: SignalBlock) -> Sequence[SignalBlock]:
        """Return the block once or twice."""
        doubled = self._rng.random() < self._probability
        return (block, block) if doubled and not block.last else (block,)


class Reorder:
    """Lets a block change places with the next."""

    def __init__(self, probability: float, rng: Generator) -> None:
        self._probability, self._rng = probability, rng
        self._held: SignalBlock | None = None

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


class Jitter(Passing):
    """Puts the times of blocks off by up to `width` seconds, either way."""

    def __init__(self, width: float, rng: Generator) -> None:
        self._width, self._rng = width, rng

    def apply(self, block: SignalBlock) -> Sequence[SignalBlock]:
        """Return the block with another time."""
        return (replace(block, time=block.time + self._rng.uniform(-self._width, self._width)),)


class MissingValues(Passing):
    """Turns samples of the measured channels into NaN."""

    def __init__(self, probability: float, rng: Generator) -> None:
        self._probability, self._rng = probability, rng

    def apply(self, block: SignalBlock) -> Sequence[SignalBlock]:
        """Return the block with holes."""
        columns = measured_columns(block.stream)
        samples = block.samples.copy()
        holes = self._rng.random((len(block), len(columns))) < self._probability
        samples[:, columns] = np.where(holes, np.nan, samples[:, columns])
        return (replace(block, samples=samples),)
