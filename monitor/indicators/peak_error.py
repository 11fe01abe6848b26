"""Peak error: the largest tracking error in the window."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.blocks import Samples
from monitor.indicators.base import LARGEST_SAMPLE, SIGNAL_UNIT, Output, Signals, WindowedIndicator
from monitor.indicators.sliding_extremes import largest, new_extremes, push_largest
from monitor.kernel import kernel

ERROR, COMMAND = 0, 1


class LargestError(NamedTuple):
    """The largest |m - c| in the signal's unit, and over the largest |c| of the window."""

    error: float
    relative: float


class PeakError(WindowedIndicator[LargestError]):
    """``max |m - c|`` over the window, and the same divided by ``max |c|``.

    The relative form is not valid where the command is zero throughout the window.
    """

    outputs = (
        Output("peak_error", SIGNAL_UNIT, compares=True),
        Output("peak_error_relative", "1", compares=True),
    )
    value_type = LargestError
    smallest_window = 1

    def __init__(self, sample_rate: float, window: float = 2.0, *, n_pairs: int = 1, every: int = 1) -> None:
        super().__init__(sample_rate, window, n_pairs=n_pairs, every=every)

    def _new_state(self) -> tuple[NDArray[Any], ...]:
        # samples in all, and good ones in a row
        counts = np.zeros((self.n_pairs, 2), dtype=np.int64)
        return (*new_extremes(self.n_window, self.n_pairs, 2), counts)

    def _advance(self, signals: Signals, first: int, out: Samples) -> None:
        _advance_peak(signals.x_c, signals.x_m, first, self.every, out, self.n_window, *self._state)


@kernel
def _advance_peak(
    x_c: Samples,
    x_m: Samples,
    first: int,
    every: int,
    out: Samples,
    n_window: int,
    candidates: Samples,
    stamps: NDArray[np.int64],
    ends: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    row = 0
    until = (-first) % every
    for i in range(x_c.shape[0]):
        give = until == 0
        until = every - 1 if give else until - 1
        for pair in range(x_c.shape[1]):
            c, m = x_c[i, pair], x_m[i, pair]
            fine = abs(c) < LARGEST_SAMPLE and abs(m) < LARGEST_SAMPLE
            now = counts[pair, 0]
            counts[pair, 0] = now + 1
            counts[pair, 1] = counts[pair, 1] + 1 if fine else 0
            push_largest(candidates, stamps, ends, pair, ERROR, now, abs(m - c) if fine else 0.0)
            push_largest(candidates, stamps, ends, pair, COMMAND, now, abs(c) if fine else 0.0)
            if give:
                error = largest(candidates, ends, pair, ERROR)
                command = largest(candidates, ends, pair, COMMAND)
                valid = counts[pair, 1] >= n_window
                out[row, pair, 0] = error if valid else np.nan
                relative = error / command if valid and command > 0.0 else np.nan
                out[row, pair, 1] = relative if relative < np.inf else np.nan
        if give:
            row += 1
