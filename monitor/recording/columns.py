"""Columns of the run file: blocks -> rows with time, epoch and index, and whether such numbers fit together."""

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


@dataclass(frozen=True, slots=True, eq=False)
class Numbering:
    """Time [s], epoch and index of consecutive rows, (n,) each."""

    time: Samples
    epoch: Integers
    index: Integers

    def __len__(self) -> int:
        return len(self.index)

    def part(self, begin: int, end: int) -> Numbering:
        """Return the rows from `begin` to before `end`."""
        return Numbering(self.time[begin:end], self.epoch[begin:end], self.index[begin:end])

    def replace(self, begin: int, instead: Numbering) -> None:
        """Put other numbers in the place of those from row `begin` on."""
        end = begin + len(instead)
        self.time[begin:end], self.epoch[begin:end], self.index[begin:end] = (
            instead.time,
            instead.epoch,
            instead.index,
        )


def fits(rows: Numbering, rate: float) -> bool:
    """Whether numbers rise, as the times do, through at most one restart; `rate` is in Hz."""
    if not (np.isfinite(rows.time).all() and (rows.index >= 0).all() and (rows.epoch >= 0).all()):
        return False
    same = rows.epoch[1:] == rows.epoch[:-1]
    if np.count_nonzero(~same) > 1:
        return False
    # in floating point, where what is far too large does not turn round
    steps: NDArray[np.float64] = np.diff(rows.index.astype(np.float64))[same]
    with np.errstate(over="ignore"):
        elapsed: NDArray[np.float64] = rate * np.diff(rows.time)[same]
    return bool((steps >= 1.0).all() and (np.abs(elapsed - steps) <= 1.0 + 0.1 * steps).all())


def counted_on(before: Numbering, after: Numbering, n_rows: int, rate: float) -> Numbering:
    """Return `n_rows` numbers after the last row of `before`, or before the first of `after`; both may be empty."""
    count = np.arange(n_rows)
    if len(before):
        first, time, epoch = int(before.index[-1]) + 1, float(before.time[-1]) + 1.0 / rate, int(before.epoch[-1])
    elif len(after) and after.index[0] >= n_rows:
        first, time, epoch = int(after.index[0]) - n_rows, float(after.time[0]) - n_rows / rate, int(after.epoch[0])
    else:
        first, time, epoch = 0, 0.0, 0
    return Numbering(time + count / rate, np.full(n_rows, epoch), first + count)
