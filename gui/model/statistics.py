"""Statistics of curves between two instants."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from monitor.messages.blocks import Samples


@dataclass(frozen=True, slots=True)
class CurveStatistics:
    """Statistics of one curve; NaN where they are unknown.

    Parameters
    ----------
    minimum, maximum, mean, rms : in the unit of the values.
    slope : of the line of least squares, per second.
    """

    minimum: float = math.nan
    maximum: float = math.nan
    mean: float = math.nan
    rms: float = math.nan
    slope: float = math.nan

    @property
    def peak_to_peak(self) -> float:
        """Maximum less minimum."""
        return self.maximum - self.minimum


def statistics(x: Samples, values: Samples) -> list[CurveStatistics]:
    """Return the statistics of columns of values, (n, n_curves), at the instants `x`, (n,); NaN is left out."""
    return [_of_column(x, values[:, k]) for k in range(values.shape[1])]


def _of_column(x: Samples, column: Samples) -> CurveStatistics:
    known = np.isfinite(column)
    if not known.all():
        x, column = x[known], column[known]
    if not len(column):
        return CurveStatistics()
    mean = float(column.mean())
    from_middle = x - x.mean()
    spread = float(from_middle @ from_middle)
    slope = float(from_middle @ (column - mean)) / spread if spread > 0.0 else math.nan
    rms = math.sqrt(float(column @ column) / len(column))
    return CurveStatistics(float(column.min()), float(column.max()), mean, rms, slope)
