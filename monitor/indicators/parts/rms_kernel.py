"""The kernel of NRMSE: squares, moments and extremes over the window."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.indicators.parts.good_samples import is_good
from monitor.indicators.parts.memory import cube, matrix, vector
from monitor.indicators.parts.sliding_extremes import largest, push_largest
from monitor.indicators.parts.windowed_moments import push_moment, squares_about_mean
from monitor.indicators.parts.windowed_sums import push, total
from monitor.kernel import kernel, part
from monitor.messages.blocks import Samples

ERROR, COMMAND, MEASURED = 0, 1, 2
HIGHEST, LOWEST = 0, 1


class RmsState(NamedTuple):
    """The arrays of NRMSE: three sums (`windowed_sums`), moments (`windowed_moments`), two extremes, and counts.

    ``counts`` (n_pairs, 2): samples in all, and good ones in a row.
    """

    rows: Samples
    prefix: Samples
    since: NDArray[np.int64]
    moments: Samples
    moment: Samples
    taken: NDArray[np.int64]
    candidates: Samples
    stamps: NDArray[np.int64]
    ends: NDArray[np.int64]
    counts: NDArray[np.int64]


@part
def open_rms(memory: Samples, words: NDArray[np.int64], n: int) -> RmsState:
    """Return the arrays from number `n` on."""
    return RmsState(
        cube(memory, words, n),
        matrix(memory, words, n + 1),
        vector(words, words, n + 2),
        cube(memory, words, n + 3),
        matrix(memory, words, n + 4),
        vector(words, words, n + 5),
        cube(memory, words, n + 6),
        cube(words, words, n + 7),
        cube(words, words, n + 8),
        matrix(words, words, n + 9),
    )


@kernel
def advance_rms(x_c: Samples, x_m: Samples, first: int, every: int, out: Samples, state: RmsState) -> None:
    """Take samples, (n_samples, n_pairs), and write rows, (n_rows, n_pairs, 4)."""
    rows, prefix, since, moments, moment, taken, candidates, stamps, ends, counts = state
    n_window = rows.shape[1]
    squares, scales = np.zeros(3), np.zeros(4)
    row = 0
    until = (-first) % every
    for i in range(x_c.shape[0]):
        give = until == 0
        until = every - 1 if give else until - 1
        for pair in range(x_c.shape[1]):
            c, m = x_c[i, pair], x_m[i, pair]
            fine = is_good(c, m)
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
