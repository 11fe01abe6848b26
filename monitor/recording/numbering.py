"""What numbers and times doubtful samples have: their own where these fit in between, else counted on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monitor.messages.blocks import Samples
from monitor.recording.columns import Integers


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
