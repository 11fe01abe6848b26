"""Where a delay that changes in steps stands, and at which value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# windows half overlapping: a shorter stand may be one window that saw the step
_FEWEST = 3


@dataclass(frozen=True, slots=True)
class Plateau:
    """A delay [s] that stands from ``start`` to ``stop`` [s]."""

    start: float
    stop: float
    delay: float


def plateaus(
    time: NDArray[np.float64], delay: NDArray[np.float64], window: float, tolerance: float
) -> tuple[tuple[Plateau, ...], float]:
    """Return where a delay stands within a tolerance, and in which part of the windows it does.

    Parameters
    ----------
    time, delay : (n,) s; each delay is of the window that ends at its time; NaN where there is none.
    window : s; one delay is taken every half window.
    tolerance : s from the median of a stand.
    """
    step = float(np.median(np.diff(time))) if len(time) > 1 else window
    every = slice(None, None, max(1, round(0.5 * window / step)))
    if not len(time):
        return (), 0.0
    good, begin, end = ~np.isnan(delay[every]), float(time[0]), float(time[-1])
    time, delay = time[every][good], delay[every][good]
    stands: list[list[int]] = []
    for i, value in enumerate(delay):
        if stands and abs(value - np.median(delay[stands[-1]])) <= tolerance:
            stands[-1].append(i)
        else:
            stands.append([i])
    merged: list[list[int]] = []
    for stand in (stand for stand in stands if len(stand) >= _FEWEST):
        if merged and abs(np.median(delay[stand]) - np.median(delay[merged[-1]])) <= tolerance:
            merged[-1] += stand
        else:
            merged.append(stand)
    # the last delay of all is that of the end
    stops = [end if s[-1] == len(delay) - 1 else float(time[s[-1]]) for s in merged]
    found = tuple(
        Plateau(max(begin, float(time[s[0]]) - window), stop, float(np.median(delay[s])))
        for s, stop in zip(merged, stops, strict=True)
    )
    return found, sum(map(len, merged)) / max(len(delay), 1)
