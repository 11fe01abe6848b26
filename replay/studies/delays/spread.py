"""How numbers lie that may be anywhere: quartiles and histograms that bear infinities, and values all alike."""

from __future__ import annotations

import numpy as np

from monitor.messages.blocks import Samples

_FARTHEST = 1e150
_ALIKE = 1e-12


def quartiles(values: Samples) -> tuple[float, float, float]:
    """Return the lower quartile, the median and the upper one; NaN counts as infinitely large."""
    if not len(values):
        return (np.nan,) * 3
    with np.errstate(all="ignore"):
        sort = np.sort(np.where(np.isnan(values), np.inf, values))
        low, middle, high = (_between(sort, 0.25 * i * (len(sort) - 1)) for i in (1, 2, 3))
    return low, middle, high


def _between(sort: Samples, place: float) -> float:
    below, share = int(place), place - int(place)
    return float(sort[below] if not share else (1.0 - share) * sort[below] + share * sort[below + 1])


def histogram(values: Samples, bins: int) -> tuple[Samples, Samples]:
    """Return counts, (bins,), and edges, (bins + 1,), of what is finite, also where all are alike."""
    values = values[np.abs(values) < _FARTHEST]
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)
    if high - low <= _ALIKE * max(abs(low), abs(high)):
        width = _ALIKE * max(abs(low), abs(high)) or 1.0
        low, high = low - bins * width, high + bins * width
    counts, edges = np.histogram(values, bins, (low, high))
    return counts.astype(np.float64), edges
