"""NRMSE in four normalisations, and peak error, over the window."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monitor.catalogue import CATALOGUE
from monitor.indicators.base import PassIndicator
from monitor.indicators.parts.memory import PEAK, RMS, Cube, IntCube, IntMatrix, IntVector, Matrix, open_state
from monitor.indicators.parts.sample_loop import is_good, next_sample, start_rows
from monitor.indicators.parts.sliding_statistics import (
    largest,
    new_extremes,
    new_moments,
    new_sums,
    push_largest,
    push_moment,
    push_sums,
    squares_about_mean,
    window_sum,
)
from monitor.kernel import kernel
from monitor.messages.blocks import Samples


class RmsErrorValues(NamedTuple):
    """The root mean square error over four scales: all ratios.

    ``nrmse`` over the rms of the command; ``std`` over its standard deviation; ``range`` over the range of the
    measured signal; ``measured`` over the rms of the measured signal.
    """

    nrmse: float
    std: float
    range: float
    measured: float


class RmsErrorIndicator(PassIndicator[RmsErrorValues]):
    """``e = sqrt( 1/n sum (m - c)^2 )`` over the window, divided by each of the four scales in use.

    ``nrmse`` : by ``sqrt( 1/n sum c^2 )``, offset included (Phillips and Spencer 2011); a signal that stands on an
    offset reads small. ``nrmse_std`` : by ``sqrt( 1/n sum (c - mean c)^2 )``, free of the command's offset.
    ``nrmse_range`` : by ``max m - min m``, as OpenFresco's plots have it, but of the window and no percentage.
    ``nrmse_measured`` : by ``sqrt( 1/n sum m^2 )``, offset included.

    The error is never freed of its mean. Each is not valid where its scale is zero.
    """

    outputs = CATALOGUE["nrmse"].outputs
    value_type = RmsErrorValues
    smallest_window = 1
    part = RMS

    def __init__(self, sample_rate: float, window: float = 2.0, *, n_pairs: int = 1, every: int = 1) -> None:
        super().__init__(sample_rate, window, n_pairs=n_pairs, every=every)

    def new_arrays(self) -> RmsState:
        """Return the arrays as they begin."""
        n, pairs = self.n_window, self.n_pairs
        counts = np.zeros((pairs, 2), dtype=np.int64)
        return RmsState(*new_sums(n, pairs, 3), *new_moments(n, pairs), *new_extremes(n, pairs, 2), counts)


class PeakErrorValues(NamedTuple):
    """The largest |m - c| in the signal's unit, and over the largest |c| of the window."""

    error: float
    relative: float


class PeakErrorIndicator(PassIndicator[PeakErrorValues]):
    """``max |m - c|`` over the window, and the same divided by ``max |c|``.

    The relative form is not valid where the command is zero throughout the window.
    """

    outputs = CATALOGUE["peak_error"].outputs
    value_type = PeakErrorValues
    smallest_window = 1
    part = PEAK

    def __init__(self, sample_rate: float, window: float = 2.0, *, n_pairs: int = 1, every: int = 1) -> None:
        super().__init__(sample_rate, window, n_pairs=n_pairs, every=every)

    def new_arrays(self) -> PeakState:
        """Return the arrays as they begin."""
        counts = np.zeros((self.n_pairs, 2), dtype=np.int64)
        return PeakState(*new_extremes(self.n_window, self.n_pairs, 2), counts)


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
