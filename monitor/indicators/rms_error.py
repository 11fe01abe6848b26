"""NRMSE: the root mean square of the tracking error over that of the command."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.blocks import Samples
from monitor.indicators.base import LARGEST_SAMPLE, Output, Signals, WindowedIndicator
from monitor.indicators.kernel import kernel
from monitor.indicators.windowed_sums import new_sums, push, total


class RmsError(NamedTuple):
    """NRMSE over the window, a ratio."""

    nrmse: float


class RootMeanSquareError(WindowedIndicator[RmsError]):
    """``sqrt( sum (m - c)^2 / sum c^2 )`` over the window.

    Of the four normalisers in use this is the command's own sum of squares, offset included
    (Phillips and Spencer 2011); a signal that stands on an offset reads small. Not valid where the
    command is zero throughout the window.
    """

    outputs = (Output("nrmse", "1", compares=True),)
    value_type = RmsError
    smallest_window = 1

    def __init__(self, sample_rate: float, window: float = 2.0, *, n_pairs: int = 1, every: int = 1) -> None:
        super().__init__(sample_rate, window, n_pairs=n_pairs, every=every)

    def _new_state(self) -> tuple[NDArray[Any], ...]:
        return (*new_sums(self.n_window, self.n_pairs, 2), np.zeros(self.n_pairs, dtype=np.int64))

    def _advance(self, signals: Signals, first: int, out: Samples) -> None:
        _advance_nrmse(signals.x_c, signals.x_m, first, self.every, out, self.n_window, *self._state)


@kernel
def _advance_nrmse(
    x_c: Samples,
    x_m: Samples,
    first: int,
    every: int,
    out: Samples,
    n_window: int,
    rows: Samples,
    prefix: Samples,
    since: NDArray[np.int64],
    good: NDArray[np.int64],
) -> None:
    squares = np.zeros(2)
    row = 0
    until = (-first) % every
    for i in range(x_c.shape[0]):
        give = until == 0
        until = every - 1 if give else until - 1
        for pair in range(x_c.shape[1]):
            c, m = x_c[i, pair], x_m[i, pair]
            fine = abs(c) < LARGEST_SAMPLE and abs(m) < LARGEST_SAMPLE
            good[pair] = good[pair] + 1 if fine else 0
            squares[0] = (m - c) * (m - c) if fine else 0.0
            squares[1] = c * c if fine else 0.0
            push(rows, prefix, since, pair, squares)
            if give:
                command = total(rows, prefix, since, pair, 1)
                valid = good[pair] >= n_window and command > 0.0
                error = total(rows, prefix, since, pair, 0)
                value = np.sqrt(error / command) if valid else np.nan
                out[row, pair, 0] = value if value < np.inf else np.nan
        if give:
            row += 1
