"""Scales of plots of one quantity against another: units and numbers that read well, few points."""

from __future__ import annotations

from math import ceil, floor, inf, isfinite, log10, nan

import numpy as np
from numpy.typing import NDArray

from gui.plots.time_ticks import value_text
from monitor.messages.blocks import Samples

Limits = tuple[float, float]

# units that take prefixes as they are; of others (in, kip, mm, °) a number is written out
_PLAIN = frozenset({"m", "N", "V", "A", "Pa", "J", "W", "Nm", "N·m", "m/s", "m/s2", "m/s^2", "m/s²"})
_PREFIXES = {-9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G"}


def extent(values: Samples) -> Limits:
    """Return the least and the largest number, both NaN where there is none."""
    good = values[np.isfinite(values)]
    return (float(good.min()), float(good.max())) if len(good) else (nan, nan)


def readable(unit: str, limits: Limits) -> tuple[float, str]:
    """Return the factor and the unit in which numbers within `limits` have few digits: (1000, "mm") for 0.05 m."""
    largest = max(abs(limits[0]), abs(limits[1]))
    if unit not in _PLAIN or not 0.0 < largest < inf:
        return 1.0, unit
    # 0.9 m is 900 mm, 1.1 m is that
    power = min(9, max(-9, 3 * floor(log10(largest) / 3.0)))
    return 10.0**-power, _PREFIXES[power] + unit


def doubt_text(deviation: float, decimals: int) -> str:
    """Return a standard deviation as it stands behind its value; nothing where there is none."""
    if not isfinite(deviation):
        return ""
    least = 10.0**-decimals
    # what is not known to be without doubt is never shown so
    small = 0.0 < deviation < 0.5 * least
    return f" ± <{value_text(least, decimals)}" if small else f" ± {value_text(deviation, decimals)}"


def corners(first: int, x: Samples, y: Samples, most: int = 4000) -> NDArray[np.intp]:
    """Choose at most about `most` points of a long loop so that none of its corners is lost.

    Of every stretch of rows the points with the least and largest x and y are taken. Stretches begin at multiples
    of their length in absolute row numbers, so that a point that was chosen stays so while the window moves on.

    Parameters
    ----------
    first : row number of the first point.
    x, y : (n_points,); a point with a NaN is never chosen, but one is kept in its stretch to break the line.
    most : points; the two ends may have some more.

    Returns
    -------
    chosen : positions, rising.
    """
    n = len(x)
    if n <= most:
        return np.arange(n)
    # a power of two: a window of about the same length has the same stretches
    width = 1 << ceil(np.log2(4.0 * n / most))
    lead = first % width
    n_stretches = -(-(lead + n) // width)
    chosen: list[NDArray[np.intp]] = []
    broken = np.isnan(x) | np.isnan(y)
    for values in (x, y):
        padded = np.full(n_stretches * width, np.nan)
        padded[lead : lead + n] = np.where(broken, np.nan, values)
        stretches = padded.reshape(n_stretches, width)
        missing, begin = np.isnan(stretches), np.arange(n_stretches) * width
        some = ~missing.all(axis=1)
        for fill, pick in ((np.inf, np.argmin), (-np.inf, np.argmax)):
            at = pick(np.where(missing, fill, stretches), axis=1)
            chosen.append((begin + at)[some] - lead)
    breaks = np.flatnonzero(broken)
    if len(breaks):
        _, one = np.unique((breaks + lead) // width, return_index=True)
        chosen.append(breaks[one])
    return np.unique(np.concatenate(chosen))
