"""A signal between its samples: the polynomial through nine samples, which is band-limited enough up to rate/10."""

from __future__ import annotations

import numpy as np

from monitor.kernel import reduction
from monitor.messages.blocks import Samples

# samples on either side of the nearest one
REACH = 4
POINTS = 2 * REACH + 1


def _weights() -> Samples:
    """Return (9, 9): coefficients of s^0 .. s^8 in Lagrange's weight, at a lag of s, of the sample at lag -4 .. 4."""
    lags = np.arange(-REACH, REACH + 1)
    lines = []
    for lag in lags:
        others = lags[lags != lag]
        lines.append(np.poly(others)[::-1] / np.prod((lag - others).astype(np.float64)))
    return np.array(lines)


_WEIGHTS = _weights()


def delayed(x: Samples, start: int, n: int, lag: float) -> tuple[Samples, Samples]:
    """Return (n,) what the signal was `lag` samples before each sample from `start` on, and its slope by the lag."""
    value, slope = np.empty(n), np.empty(n)
    put_delayed(x, start, float(lag), value, slope)
    return value, slope


@reduction
def put_delayed(x: Samples, start: int, lag: float, value: Samples, slope: Samples) -> None:
    """Fill in what `delayed` returns."""
    whole = int(np.rint(lag))
    of_value, of_slope = np.zeros(POINTS), np.zeros(POINTS)
    for i in range(POINTS):
        # the weight of the sample at the lowest lag comes first, and that sample is the newest
        at = POINTS - 1 - i
        for power in range(POINTS - 1, -1, -1):
            of_slope[at] = of_slope[at] * (lag - whole) + of_value[at]
            of_value[at] = of_value[at] * (lag - whole) + _WEIGHTS[i, power]
    n, first = value.shape[0], start - whole - REACH
    piece = x[first : first + n + POINTS - 1]
    for t in range(n):
        between = bend = 0.0
        for i in range(POINTS):
            between += of_value[i] * piece[t + i]
            bend += of_slope[i] * piece[t + i]
        value[t], slope[t] = between, bend
