"""A new indicator as docs/contributing.md shows it: this file, the entry of that page, and no other place."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.catalogue import CATALOGUE
from monitor.indicators.base import Signals, WindowedIndicator
from monitor.indicators.parts.sample_loop import advance_row_clock, is_good, start_row_clock
from monitor.indicators.parts.sliding_statistics import new_sums, push_sums, window_sum
from monitor.kernel import kernel
from monitor.messages.blocks import Samples
from monitor.messages.reasons import Reason


class WindowedRms(NamedTuple):
    """The root mean square of the tracking error, in the signal's unit; ``reason`` of none."""

    error: float
    reason: float


class WindowedRmsIndicator(WindowedIndicator[WindowedRms]):
    """``sqrt( 1/n sum (m - c)^2 )`` over the window."""

    outputs = CATALOGUE["rms_error"].outputs
    value_type = WindowedRms
    smallest_window = 1

    def _new_state(self) -> tuple[Any, ...]:
        return (*new_sums(self.n_window, self.n_pairs, 1), np.zeros((self.n_pairs, 2), dtype=np.int64))

    def _advance(self, signals: Signals, first: int, out: Samples) -> None:
        _advance_rms_error(signals.x_c, signals.x_m, first, self.every, out, *self._state)


@kernel
def _advance_rms_error(
    x_c: Samples,
    x_m: Samples,
    first: int,
    every: int,
    out: Samples,
    rows: Samples,
    prefix: Samples,
    since: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    n_window, square, row_clock = rows.shape[1], np.empty(1), start_row_clock(first, every)
    for i in range(x_c.shape[0]):
        row_clock = advance_row_clock(row_clock, every)
        for pair in range(x_c.shape[1]):
            fine = is_good(x_c[i, pair], x_m[i, pair])
            # all samples, and consecutive good ones
            counts[pair, 0] += 1
            counts[pair, 1] = counts[pair, 1] + 1 if fine else 0
            square[0] = (x_m[i, pair] - x_c[i, pair]) ** 2 if fine else 0.0
            push_sums(rows, prefix, since, pair, square)
            if row_clock.due:
                mean = window_sum(rows, prefix, since, pair, 0) / n_window
                out[row_clock.row, pair, 0], reason = np.sqrt(mean), Reason.VALID
                if counts[pair, 1] < n_window:
                    out[row_clock.row, pair, 0] = np.nan
                    reason = Reason.FILLING if counts[pair, 0] == counts[pair, 1] else Reason.BAD_SAMPLE
                out[row_clock.row, pair, 1] = reason.value
