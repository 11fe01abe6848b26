"""Blocks -> the columns of the run file, with one time a sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monitor.messages.blocks import ResultBlock, Samples, SignalBlock

Integers = NDArray[np.int64]

_ROUNDING = 8.0


@dataclass(frozen=True, slots=True)
class Columns:
    """Rows as they are stored: data (n, width), and time [s], epoch and index (n,) each."""

    data: Samples
    time: Samples
    epoch: Integers
    index: Integers

    def __len__(self) -> int:
        return len(self.index)


class Clock:
    """Tells the time of every sample so that storing, reading and storing again changes nothing.

    A block that comes when the first one and the rate say it must, but for rounding, is timed from the
    first one; any other block starts anew with its own time.
    """

    def __init__(self) -> None:
        self._epoch, self._index, self._time = -1, 0, 0.0

    def anchor(self, block: SignalBlock) -> tuple[int, float]:
        """Return the index and time [s] from which the samples of `block` are timed."""
        span = (block.index - self._index) / block.stream.sample_rate
        away = abs(self._time + span - block.time)
        if block.stream.epoch != self._epoch or not away <= _ROUNDING * np.spacing(abs(self._time) + abs(span)):
            self._epoch, self._index, self._time = block.stream.epoch, block.index, block.time
        return self._index, self._time


def signal_columns(blocks: Sequence[SignalBlock], clock: Clock) -> Columns:
    """Return the samples of `blocks` (at least one, all of one sample rate and width) row after row."""
    lengths = [len(block) for block in blocks]
    anchors = [clock.anchor(block) for block in blocks]
    index = np.repeat(np.array([block.index for block in blocks], np.int64), lengths) + _within(lengths)
    since = index - np.repeat(np.array([first for first, _ in anchors], np.int64), lengths)
    start = np.repeat(np.array([time for _, time in anchors]), lengths)
    epoch = np.repeat(np.array([block.stream.epoch for block in blocks], np.int64), lengths)
    data = np.concatenate([block.samples for block in blocks])
    return Columns(data, start + since / blocks[0].stream.sample_rate, epoch, index)


def result_columns(blocks: Sequence[ResultBlock]) -> Columns:
    """Return the rows of `blocks` (at least one, all of one result stream but for the epoch)."""
    lengths = [len(block) for block in blocks]
    stream = blocks[0].stream
    step = _within(lengths) * stream.every
    index = np.repeat(np.array([block.index for block in blocks], np.int64), lengths) + step
    start = np.repeat(np.array([block.time for block in blocks]), lengths)
    epoch = np.repeat(np.array([block.stream.epoch for block in blocks], np.int64), lengths)
    data = np.concatenate([block.values for block in blocks])
    return Columns(data, start + step / stream.sample_rate, epoch, index)


def _within(lengths: list[int]) -> Integers:
    """Return 0, 1, 2 ... from the start of every block."""
    ends = np.cumsum(lengths)
    steps: Integers = np.arange(sum(lengths)) - np.repeat(ends - lengths, lengths)
    return steps
