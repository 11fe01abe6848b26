"""NRMSE in four normalisations, and peak error, over the window.

In numpy: `reference.nrmse`, `reference.peak_error`. They have no settings; the kernels slide sums and extremes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.catalogue import CATALOGUE
from monitor.indicators.base import PassIndicator
from monitor.indicators.parts.memory import PEAK, RMS, Cube, IntCube, IntMatrix, IntVector, Matrix, Vector, open_state
from monitor.indicators.parts.sample_loop import advance_row_clock, is_good, start_row_clock
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
from monitor.kernel import kernel, part
from monitor.messages.blocks import Samples
from monitor.messages.reasons import Reason


class RmsErrorValues(NamedTuple):
    """Root mean square error over four scales.

    ``nrmse`` over the rms of the command; ``std`` over its standard deviation; ``range`` over the range of the
    measured signal; ``measured`` over the rms of the measured signal. ``reason``: `Reason` of a missing value.
    """

    nrmse: float
    std: float
    range: float
    measured: float
    reason: float


class RmsErrorIndicator(PassIndicator[RmsErrorValues]):
    """NRMSE: the rms error over the window, divided by each of four scales.

    An offset makes ``nrmse`` and ``nrmse_measured`` small. The mean of the error is not removed. A value is not valid
    where its scale is zero.
    """

    outputs = CATALOGUE["nrmse"].outputs
    value_type = RmsErrorValues
    smallest_window = 1
    part = RMS

    def new_arrays(self) -> RmsState:
        """Return the initial arrays."""
        n, pairs = self.n_window, self.n_pairs
        counts = np.zeros((pairs, 2), dtype=np.int64)
        sums, moments, extremes = new_sums(n, pairs, 3), new_moments(n, pairs), new_extremes(n, pairs, 2)
        return RmsState(*sums, *moments, *extremes, counts, np.zeros(3), np.zeros(4))


class PeakErrorValues(NamedTuple):
    """Largest |m - c| of the window, in the signal's unit and over the largest |c|; ``reason`` of none."""

    error: float
    relative: float
    reason: float


class PeakErrorIndicator(PassIndicator[PeakErrorValues]):
    """Peak error: ``max |m - c|`` over the window, also divided by ``max |c|``.

    The relative value is not valid where the command is zero throughout the window.
    """

    outputs = CATALOGUE["peak_error"].outputs
    value_type = PeakErrorValues
    smallest_window = 1
    part = PEAK

    def new_arrays(self) -> PeakState:
        """Return the initial arrays."""
        counts = np.zeros((self.n_pairs, 2), dtype=np.int64)
        return PeakState(*new_extremes(self.n_window, self.n_pairs, 2), counts)


@part
def _reason(counts: NDArray[np.int64], n_window: int) -> int:
    """Return whether the window is full of good samples; `counts` (2,): all samples, consecutive good ones."""
    if counts[1] >= n_window:
        return Reason.VALID.value
    return Reason.FILLING.value if counts[0] == counts[1] else Reason.BAD_SAMPLE.value


ERROR, COMMAND, MEASURED = 0, 1, 2
HIGHEST, LOWEST = 0, 1


class RmsState(NamedTuple):
    """The arrays of NRMSE: three sums, moments and two extremes (`sliding_statistics`), and counts.

    ``counts`` (n_pairs, 2): all samples, and consecutive good ones; ``squares`` (3,) and ``scales`` (4,) of a sample.
    """

    rows: Cube
    prefix: Matrix
    since: IntVector
    moments: Cube
    moment: Matrix
    moment_since: IntVector
    candidates: Cube
    stamps: IntCube
    ends: IntCube
    counts: IntMatrix
    squares: Vector
    scales: Vector


open_rms = open_state(RmsState)


@kernel
def advance_rms(
    x_c: Samples, x_m: Samples, columns: IntMatrix, first: int, every: int, out: Samples, memory: Samples, n: int
) -> None:
    """Process samples, (n_samples, n_channels), and write rows, (n_rows, n_pairs, 5)."""
    (
        rows, prefix, since, moments, moment, moment_since, candidates, stamps, ends, counts, squares, scales,
    ) = open_rms(memory, n)  # fmt: skip
    n_window = rows.shape[1]
    row_clock = start_row_clock(first, every)
    for i in range(x_c.shape[0]):
        row_clock = advance_row_clock(row_clock, every)
        row_due, row = row_clock.due, row_clock.row
        for pair in range(columns.shape[1]):
            c, m = x_c[i, columns[0, pair]], x_m[i, columns[1, pair]]
            usable = is_good(c, m)
            now = counts[pair, 0]
            counts[pair, 0] = now + 1
            counts[pair, 1] = counts[pair, 1] + 1 if usable else 0
            c, m = (c, m) if usable else (0.0, 0.0)
            squares[ERROR], squares[COMMAND], squares[MEASURED] = (m - c) * (m - c), c * c, m * m
            push_sums(rows, prefix, since, pair, squares)
            push_moment(moments, moment, moment_since, pair, c)
            push_largest(candidates, stamps, ends, pair, HIGHEST, now, m)
            push_largest(candidates, stamps, ends, pair, LOWEST, now, -m)
            if row_due:
                span = largest(candidates, ends, pair, HIGHEST) + largest(candidates, ends, pair, LOWEST)
                scales[0] = window_sum(rows, prefix, since, pair, COMMAND)
                scales[1] = squares_about_mean(moments, moment, moment_since, pair)
                scales[2] = n_window * span * span
                scales[3] = window_sum(rows, prefix, since, pair, MEASURED)
                error = window_sum(rows, prefix, since, pair, ERROR)
                out[row, pair, 4] = _reason(counts[pair], n_window)
                for j in range(4):
                    valid = counts[pair, 1] >= n_window and scales[j] > 0.0
                    value = np.sqrt(error / scales[j]) if valid else np.nan
                    out[row, pair, j] = value if value < np.inf else np.nan
                    if np.isnan(out[row, pair, j]) and out[row, pair, 4] == Reason.VALID.value:
                        out[row, pair, 4] = Reason.CONSTANT.value


class PeakState(NamedTuple):
    """The arrays of the peak error: two extremes (`sliding_statistics`), and counts as in `RmsState`."""

    candidates: Cube
    stamps: IntCube
    ends: IntCube
    counts: IntMatrix


open_peak = open_state(PeakState)


@kernel
def advance_peak(
    x_c: Samples, x_m: Samples, columns: IntMatrix, first: int, every: int, out: Samples, memory: Samples, n: int
) -> None:
    """Process samples, (n_samples, n_channels), and write rows, (n_rows, n_pairs, 3)."""
    candidates, stamps, ends, counts = open_peak(memory, n)
    n_window = candidates.shape[2]
    row_clock = start_row_clock(first, every)
    for i in range(x_c.shape[0]):
        row_clock = advance_row_clock(row_clock, every)
        row_due, row = row_clock.due, row_clock.row
        for pair in range(columns.shape[1]):
            c, m = x_c[i, columns[0, pair]], x_m[i, columns[1, pair]]
            usable = is_good(c, m)
            now = counts[pair, 0]
            counts[pair, 0] = now + 1
            counts[pair, 1] = counts[pair, 1] + 1 if usable else 0
            push_largest(candidates, stamps, ends, pair, ERROR, now, abs(m - c) if usable else 0.0)
            push_largest(candidates, stamps, ends, pair, COMMAND, now, abs(c) if usable else 0.0)
            if row_due:
                error = largest(candidates, ends, pair, ERROR)
                command = largest(candidates, ends, pair, COMMAND)
                valid = counts[pair, 1] >= n_window
                out[row, pair, 0] = error if valid else np.nan
                relative = error / command if valid and command > 0.0 else np.nan
                out[row, pair, 1] = relative if relative < np.inf else np.nan
                still = valid and np.isnan(out[row, pair, 1])
                out[row, pair, 2] = Reason.CONSTANT.value if still else _reason(counts[pair], n_window)
