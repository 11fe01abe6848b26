"""NRMSE: the root mean square of the tracking error, in four normalisations."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.blocks import Samples
from monitor.indicators.base import LARGEST_SAMPLE, Output, Signals, WindowedIndicator
from monitor.indicators.sliding_extremes import largest, new_extremes, push_largest
from monitor.indicators.windowed_moments import new_moments, push_moment, squares_about_mean
from monitor.indicators.windowed_sums import new_sums, push, total
from monitor.kernel import kernel

ERROR, COMMAND, MEASURED = 0, 1, 2
HIGHEST, LOWEST = 0, 1


class RmsError(NamedTuple):
    """The root mean square error over four scales: all ratios.

    ``nrmse`` over the rms of the command; ``std`` over its standard deviation; ``range`` over the range of the
    measured signal; ``measured`` over the rms of the measured signal.
    """

    nrmse: float
    std: float
    range: float
    measured: float


class RootMeanSquareError(WindowedIndicator[RmsError]):
    """``e = sqrt( 1/n sum (m - c)^2 )`` over the window, divided by each of the four scales in use.

    ``nrmse`` : by ``sqrt( 1/n sum c^2 )``, offset included (Phillips and Spencer 2011); a signal that stands on an
    offset reads small. ``nrmse_std`` : by ``sqrt( 1/n sum (c - mean c)^2 )``, free of the command's offset.
    ``nrmse_range`` : by ``max m - min m``, as OpenFresco's plots have it, but of the window and no percentage.
    ``nrmse_measured`` : by ``sqrt( 1/n sum m^2 )``, offset included.

    The error is never freed of its mean. Each is not valid where its scale is zero.
    """

    outputs = (
        Output("nrmse", "1", compares=True),
        Output("nrmse_std", "1", compares=True),
        Output("nrmse_range", "1", compares=True),
        Output("nrmse_measured", "1", compares=True),
    )
    value_type = RmsError
    smallest_window = 1

    def __init__(self, sample_rate: float, window: float = 2.0, *, n_pairs: int = 1, every: int = 1) -> None:
        super().__init__(sample_rate, window, n_pairs=n_pairs, every=every)

    def _new_state(self) -> tuple[NDArray[Any], ...]:
        n, pairs = self.n_window, self.n_pairs
        # samples in all, and good ones in a row
        counts = np.zeros((pairs, 2), dtype=np.int64)
        return (*new_sums(n, pairs, 3), *new_moments(n, pairs), *new_extremes(n, pairs, 2), counts)

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
    moments: Samples,
    moment: Samples,
    taken: NDArray[np.int64],
    candidates: Samples,
    stamps: NDArray[np.int64],
    ends: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    squares, scales = np.zeros(3), np.zeros(4)
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
            c, m = (c, m) if fine else (0.0, 0.0)
            squares[ERROR], squares[COMMAND], squares[MEASURED] = (m - c) * (m - c), c * c, m * m
            push(rows, prefix, since, pair, squares)
            push_moment(moments, moment, taken, pair, c)
            push_largest(candidates, stamps, ends, pair, HIGHEST, now, m)
            push_largest(candidates, stamps, ends, pair, LOWEST, now, -m)
            if give:
                span = largest(candidates, ends, pair, HIGHEST) + largest(candidates, ends, pair, LOWEST)
                scales[0] = total(rows, prefix, since, pair, COMMAND)
                scales[1] = squares_about_mean(moments, moment, taken, pair)
                scales[2] = n_window * span * span
                scales[3] = total(rows, prefix, since, pair, MEASURED)
                error = total(rows, prefix, since, pair, ERROR)
                for j in range(4):
                    valid = counts[pair, 1] >= n_window and scales[j] > 0.0
                    value = np.sqrt(error / scales[j]) if valid else np.nan
                    out[row, pair, j] = value if value < np.inf else np.nan
        if give:
            row += 1
