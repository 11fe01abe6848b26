"""A signal between its samples: the polynomial through nine samples, which is band-limited enough up to rate/10."""

from __future__ import annotations

import numpy as np

from monitor.blocks import Samples

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
_POWERS = np.arange(POINTS)


def delayed(x: Samples, start: int, n: int, lag: float) -> tuple[Samples, Samples]:
    """Return (n,) what the signal was `lag` samples before each sample from `start` on, and its slope by the lag."""
    whole = round(lag)
    first = start - whole - REACH
    history = x[first : first + n + POINTS - 1]
    powers = (lag - whole) ** _POWERS
    value: Samples = np.convolve(history, WEIGHTS @ powers, mode="valid")
    slope: Samples = np.convolve(history, WEIGHTS[:, 1:] @ (_POWERS[1:] * powers[:-1]), mode="valid")
    return value, slope
