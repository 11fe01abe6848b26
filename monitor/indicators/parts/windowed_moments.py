"""Mean and sum of squares about it over a sliding window, free of cancelling on any offset, that forget.

The window is cut at the last turn, as in `windowed_sums`. Both sides hold a mean and the squares about it, updated by
Welford's rule and joined by Chan's. A row of the older side knows only of what came with it or later, so that a
spike is gone when it leaves.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from monitor.indicators.parts.windowed_sums import spread_turns
from monitor.kernel import part
from monitor.messages.blocks import Samples


def new_moments(n_window: int, n_pairs: int) -> tuple[Samples, Samples, NDArray[np.int64]]:
    """Return (rows, prefix, taken): the state of a window of `n_window` values for every pair.

    ``rows`` (n_pairs, n_window, 2) and ``prefix`` (n_pairs, 2): mean and squares about it, where a row that came in
    since the turn is a value by itself; ``taken`` (n_pairs,): values since the turn.
    """
    # where the sums turn, the moments are half a window from it
    taken = (spread_turns(n_window, n_pairs) + n_window // 2) % n_window
    return np.zeros((n_pairs, n_window, 2)), np.zeros((n_pairs, 2)), taken


@part
def push_moment(rows: Samples, prefix: Samples, taken: NDArray[np.int64], pair: int, value: float) -> None:
    """Let a value in; the oldest leaves."""
    n_window = rows.shape[1]
    rows[pair, taken[pair], 0], rows[pair, taken[pair], 1] = value, 0.0
    taken[pair] += 1
    away = value - prefix[pair, 0]
    prefix[pair, 0] += away / taken[pair]
    prefix[pair, 1] += away * (value - prefix[pair, 0])
    if taken[pair] == n_window:
        mean = square = 0.0
        for i in range(n_window - 1, -1, -1):
            away = rows[pair, i, 0] - mean
            mean += away / (n_window - i)
            square += away * (rows[pair, i, 0] - mean)
            rows[pair, i, 0], rows[pair, i, 1] = mean, square
        prefix[pair, 0] = prefix[pair, 1] = 0.0
        taken[pair] = 0


@part
def squares_about_mean(rows: Samples, prefix: Samples, taken: NDArray[np.int64], pair: int) -> float:
    """Return n times the variance over the window; values before the first count as zero."""
    n_window, newer = rows.shape[1], taken[pair]
    apart = rows[pair, newer, 0] - prefix[pair, 0]
    between = apart * apart * newer * (n_window - newer) / n_window
    return float(rows[pair, newer, 1] + prefix[pair, 1] + between)
