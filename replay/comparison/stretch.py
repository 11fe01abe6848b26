"""Figures of an actuator over the stretch that two runs have in common, and how far chance alone moves them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monitor.messages.blocks import Samples
from monitor.messages.headline import HEADLINE
from replay.assessment.statistics import is_moving, spread

# key of a figure that is the median of a column over the windows, the column, and its factor from SI
MEDIANS = {
    "delay_ms": (f"{HEADLINE}_delay", 1e3),
    "ratio": (f"{HEADLINE}_ratio", 1.0),
    "fdb_delay_ms": ("fdb_delay", 1e3),
    "fdb_ratio": ("fdb_ratio", 1.0),
    "paei_delay_ms": ("paei_delay", 1e3),
    "paei_ratio": ("paei_ratio", 1.0),
}
ERRORS = "rms_error_percent", "peak_error_percent"

_DRAWS = 400
# blocks are at least so many windows long, and at most so many fill the stretch
_WINDOWS, _MOST_BLOCKS = 2.0, 30
_FEWEST_BLOCKS = 3.0
FEWEST_WINDOWS = _FEWEST_BLOCKS * _WINDOWS + 1.0
"""Windows that the common stretch must have for standard deviations."""
# degrees of freedom of blocks that overlap, of those of blocks beside each other (Meketon and Schmeiser 1984)
_OVERLAPPING = 1.5
# cells: at most a window divided by this, and at most so many
_CELLS_OF_WINDOW, _MOST_CELLS = 8, 1000


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure in two runs.

    Parameters
    ----------
    reference, value : in the unit of the figure; NaN where there is none.
    reference_sd, sd, difference_sd : standard deviations of both and of ``value - reference``; NaN where unknown.
    freedom : degrees of freedom of the standard deviations.
    """

    reference: float
    value: float
    reference_sd: float = math.nan
    sd: float = math.nan
    difference_sd: float = math.nan
    freedom: float = math.nan


@dataclass(frozen=True, slots=True, eq=False)
class TrackedPart:
    """An actuator of a run within the common stretch; times are s after its beginning.

    Parameters
    ----------
    time : (n,) of the results, the ends of their windows.
    values : (n,) by the name of the column.
    relative_gate : fraction of the command's largest amplitude above which it counts as moving.
    signal_time : (k,) of the samples.
    command, measured : (k,); ``measured`` is NaN where the units differ.
    """

    time: NDArray[np.float64]
    values: Mapping[str, NDArray[np.float64]]
    relative_gate: float
    signal_time: NDArray[np.float64]
    command: Samples
    measured: Samples


def compare_parts(reference: TrackedPart, other: TrackedPart, duration: float, window: float) -> dict[str, Estimate]:
    """Return the figures of an actuator in two runs, with standard deviations by a block bootstrap.

    Blocks of the common time, of two windows or more, are drawn with replacement, the same for both runs: what the
    motion of both does to a figure is then in both, and cancels in the difference. Noise of the sensors, and slow
    changes within a run, do not.

    Parameters
    ----------
    duration : of the common stretch, s.
    window : s, of the indicators.
    """
    found = _medians(reference, other, duration, window)
    return found | _errors(reference, other, duration, window)


def _medians(one: TrackedPart, two: TrackedPart, duration: float, window: float) -> dict[str, Estimate]:
    masks = [is_moving(part.values, len(part.time), part.relative_gate) for part in (one, two)]
    step = _cell(duration, window)
    centres = (np.arange(int(duration / step)) + 0.5) * step
    rows = [np.clip(np.searchsorted(part.time, centres), 0, max(0, len(part.time) - 1)) for part in (one, two)]
    either = np.zeros(len(centres), dtype=bool)
    for part, mask, row in zip((one, two), masks, rows, strict=True):
        if len(part.time):
            either |= mask[row] & (centres >= part.time[0])
    blocks = _Blocks(int(either.sum()), step, window)
    found = {}
    for key, (column, factor) in MEDIANS.items():
        figures, drawn = [], []
        for part, mask, row in zip((one, two), masks, rows, strict=True):
            values = part.values.get(column)
            if values is None or not len(part.time):
                figures.append(math.nan)
                drawn.append(np.full(_DRAWS, np.nan))
                continue
            values = np.where(mask, factor * values, np.nan)
            figures.append(spread(values, angle=False).median)
            drawn.append(blocks.medians(values[row][either]))
        found[key] = blocks.estimate(figures, drawn)
    return found


def _errors(one: TrackedPart, two: TrackedPart, duration: float, window: float) -> dict[str, Estimate]:
    """Return J2 with standard deviations, and J3 without: that of an extreme is not known from one record."""
    step = _cell(duration, window)
    cells = max(1, int(duration / step))
    blocks = _Blocks(cells, step, window)
    rms, peaks, drawn = [], [], []
    for part in (one, two):
        error = part.measured - part.command
        known = np.isfinite(error)
        command, error, cell = part.command[known], error[known], (part.signal_time[known] / step).astype(np.intp)
        if not len(error):
            rms.append(math.nan)
            peaks.append(math.nan)
            drawn.append(np.full(_DRAWS, np.nan))
            continue
        peak, varies = float(np.abs(command).max()), np.ptp(command) > 0.0
        rms.append(100.0 * float(np.std(error) / np.std(command)) if varies else math.nan)
        peaks.append(100.0 * float(np.abs(error).max()) / peak if peak > 0.0 else math.nan)
        cell = np.clip(cell, 0, cells - 1)
        moments = [np.ones(len(error))]
        for each in (command - command.mean(), error - error.mean()):
            moments += [each, each**2]
        sums = np.column_stack([np.bincount(cell, each, cells) for each in moments]).astype(np.float64)
        drawn.append(blocks.rms_ratios(sums))
    return {ERRORS[0]: blocks.estimate(rms, drawn), ERRORS[1]: Estimate(peaks[0], peaks[1])}


def _cell(duration: float, window: float) -> float:
    return max(window / _CELLS_OF_WINDOW, duration / _MOST_CELLS)


class _Blocks:
    """Draws of blocks of cells: circular, so that every cell is drawn equally often.

    Parameters
    ----------
    cells : their number.
    step : length of a cell, s.
    window : s, of the indicators.
    """

    def __init__(self, cells: int, step: float, window: float) -> None:
        length = max(_WINDOWS * window, cells * step / _MOST_BLOCKS)
        self._number = cells * step / length
        self._known = self._number >= _FEWEST_BLOCKS
        size = max(1, round(length / step))
        starts = np.random.default_rng(0).integers(0, max(1, cells), (_DRAWS, -(-cells // size)))
        drawn = (starts[:, :, None] + np.arange(size)).reshape(_DRAWS, -1)[:, :cells]
        self._drawn = drawn % max(1, cells)
        # windows across two blocks lose their covariance, and deviations are from the mean of few blocks
        lost, few = 1.0 - window / (3.0 * length), 1.0 - 1.0 / max(self._number, _FEWEST_BLOCKS)
        self._correction = 1.0 / math.sqrt(lost * few)

    def medians(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the medians, (_DRAWS,), of values (cells,) in each draw."""
        if not self._known or not np.isfinite(values).any():
            return np.full(_DRAWS, np.nan)
        drawn = np.sort(values[self._drawn], axis=1)  # NaN last
        count = np.isfinite(drawn).sum(axis=1)
        rows = np.arange(_DRAWS)
        middle = 0.5 * (drawn[rows, (count - 1) // 2] + drawn[rows, count // 2])
        return np.where(count > 0, middle, np.nan)

    def rms_ratios(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return J2, (_DRAWS,), of the sums (cells, 5): number, command, its square, error, its square."""
        if not self._known:
            return np.full(_DRAWS, np.nan)
        times = np.stack([np.bincount(row, minlength=len(sums)) for row in self._drawn])
        n, c, cc, e, ee = (times @ sums).T
        n = np.maximum(n, 1.0)
        of_command = np.maximum(cc / n - (c / n) ** 2, 0.0)
        of_error = np.maximum(ee / n - (e / n) ** 2, 0.0)
        ratios: NDArray[np.float64] = np.full(_DRAWS, np.nan)
        np.divide(of_error, of_command, ratios, where=of_command > 0.0)
        return np.asarray(100.0 * np.sqrt(ratios))

    def estimate(self, figures: list[float], drawn: list[NDArray[np.float64]]) -> Estimate:
        """Return the figures of both runs with the standard deviations of their draws."""
        one, two = drawn
        if not self._known:
            return Estimate(figures[0], figures[1])
        reference_sd, sd, difference_sd = (self._correction * _sd(each) for each in (one, two, two - one))
        freedom = _OVERLAPPING * (self._number - 1.0)
        return Estimate(figures[0], figures[1], reference_sd, sd, difference_sd, freedom)


def _sd(drawn: NDArray[np.float64]) -> float:
    known = drawn[np.isfinite(drawn)]
    # a figure that many draws lack is not one of the stretch
    return float(np.std(known)) if len(known) > 0.9 * len(drawn) else math.nan
