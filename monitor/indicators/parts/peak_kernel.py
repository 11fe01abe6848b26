"""The kernel of the peak error: the largest error and command of the window."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.indicators.parts.good_samples import is_good
from monitor.indicators.parts.memory import cube, matrix
from monitor.indicators.parts.sliding_extremes import largest, push_largest
from monitor.kernel import kernel, part
from monitor.messages.blocks import Samples

ERROR, COMMAND = 0, 1


class PeakState(NamedTuple):
    """The arrays of the peak error: two extremes (`sliding_extremes`), and counts as in `RmsState`."""

    candidates: Samples
    stamps: NDArray[np.int64]
    ends: NDArray[np.int64]
    counts: NDArray[np.int64]


@part
def open_peak(memory: Samples, words: NDArray[np.int64], n: int) -> PeakState:
    """Return the arrays from number `n` on."""
    return PeakState(
        cube(memory, words, n), cube(words, words, n + 1), cube(words, words, n + 2), matrix(words, words, n + 3)
    )


@kernel
def advance_peak(x_c: Samples, x_m: Samples, first: int, every: int, out: Samples, state: PeakState) -> None:
    """Take samples, (n_samples, n_pairs), and write rows, (n_rows, n_pairs, 2)."""
    candidates, stamps, ends, counts = state
    n_window = candidates.shape[2]
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
