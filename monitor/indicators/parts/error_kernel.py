"""The kernels of NRMSE and peak error: squares, moments and extremes over the window."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monitor.indicators.parts.memory import Cube, IntCube, IntMatrix, IntVector, Matrix, open_state
from monitor.indicators.parts.sample_loop import is_good, next_sample, start_rows
from monitor.indicators.parts.sliding_statistics import (
    largest,
    push_largest,
    push_moment,
    push_sums,
    squares_about_mean,
    window_sum,
)
from monitor.kernel import kernel
from monitor.messages.blocks import Samples

ERROR, COMMAND, MEASURED = 0, 1, 2
HIGHEST, LOWEST = 0, 1


class RmsState(NamedTuple):
    """The arrays of NRMSE: three sums, moments and two extremes (`sliding_statistics`), and counts.

    ``counts`` (n_pairs, 2): samples in all, and good ones in a row.
    """

    rows: Cube
    prefix: Matrix
    since: IntVector
    moments: Cube
    moment: Matrix
    taken: IntVector
    candidates: Cube
    stamps: IntCube
    ends: IntCube
    counts: IntMatrix


open_rms = open_state(RmsState)


@kernel
def advance_rms(x_c: Samples, x_m: Samples, first: int, every: int, out: Samples, state: RmsState) -> None:
    """Take samples, (n_samples, n_pairs), and write rows, (n_rows, n_pairs, 4)."""
    rows, prefix, since, moments, moment, taken, candidates, stamps, ends, counts = state
    n_window = rows.shape[1]
    squares, scales = np.zeros(3), np.zeros(4)
    rows_clock = start_rows(first, every)
    for i in range(x_c.shape[0]):
        rows_clock = next_sample(rows_clock, every)
        give, row = rows_clock.due, rows_clock.row
        for pair in range(x_c.shape[1]):
            c, m = x_c[i, pair], x_m[i, pair]
            fine = is_good(c, m)
            now = counts[pair, 0]
            counts[pair, 0] = now + 1
            counts[pair, 1] = counts[pair, 1] + 1 if fine else 0
            c, m = (c, m) if fine else (0.0, 0.0)
            squares[ERROR], squares[COMMAND], squares[MEASURED] = (m - c) * (m - c), c * c, m * m
            push_sums(rows, prefix, since, pair, squares)
            push_moment(moments, moment, taken, pair, c)
            push_largest(candidates, stamps, ends, pair, HIGHEST, now, m)
            push_largest(candidates, stamps, ends, pair, LOWEST, now, -m)
            if give:
                span = largest(candidates, ends, pair, HIGHEST) + largest(candidates, ends, pair, LOWEST)
                scales[0] = window_sum(rows, prefix, since, pair, COMMAND)
                scales[1] = squares_about_mean(moments, moment, taken, pair)
                scales[2] = n_window * span * span
                scales[3] = window_sum(rows, prefix, since, pair, MEASURED)
                error = window_sum(rows, prefix, since, pair, ERROR)
                for j in range(4):
                    valid = counts[pair, 1] >= n_window and scales[j] > 0.0
                    value = np.sqrt(error / scales[j]) if valid else np.nan
                    out[row, pair, j] = value if value < np.inf else np.nan


class PeakState(NamedTuple):
    """The arrays of the peak error: two extremes (`sliding_statistics`), and counts as in `RmsState`."""

    candidates: Cube
    stamps: IntCube
    ends: IntCube
    counts: IntMatrix


open_peak = open_state(PeakState)


@kernel
def advance_peak(x_c: Samples, x_m: Samples, first: int, every: int, out: Samples, state: PeakState) -> None:
    """Take samples, (n_samples, n_pairs), and write rows, (n_rows, n_pairs, 2)."""
    candidates, stamps, ends, counts = state
    n_window = candidates.shape[2]
    rows_clock = start_rows(first, every)
    for i in range(x_c.shape[0]):
        rows_clock = next_sample(rows_clock, every)
        give, row = rows_clock.due, rows_clock.row
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
