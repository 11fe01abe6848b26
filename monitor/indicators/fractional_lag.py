"""A signal between its samples: the polynomial through nine samples, which is band-limited enough up to rate/10."""

from __future__ import annotations

import numpy as np

from monitor.blocks import Samples
from monitor.kernel import kernel

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


WEIGHTS = _weights()


def delayed(x: Samples, start: int, n: int, lag: float) -> tuple[Samples, Samples]:
    """Return (n,) what the signal was `lag` samples before each sample from `start` on, and its slope by the lag."""
    whole = round(lag)
    return _between(x, start - whole - REACH, n, float(lag - whole), WEIGHTS)


@kernel
def _between(x: Samples, first: int, n: int, lag: float, weights: Samples) -> tuple[Samples, Samples]:
    of_value, of_slope = np.zeros(POINTS), np.zeros(POINTS)
    for i in range(POINTS):
        for power in range(POINTS - 1, -1, -1):
            of_slope[i] = of_slope[i] * lag + of_value[i]
            of_value[i] = of_value[i] * lag + weights[i, power]
    value, slope = np.zeros(n), np.zeros(n)
    # the sample at the lowest lag is the newest
    for j in range(POINTS):
        weight, bend, begin = of_value[j], of_slope[j], first + POINTS - 1 - j
        piece = x[begin : begin + n]
        for i in range(n):
            value[i] += weight * piece[i]
            slope[i] += bend * piece[i]
    return value, slope
