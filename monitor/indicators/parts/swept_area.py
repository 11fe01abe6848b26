"""What a stored window says of one signal's loop against another's: the area it sweeps, and how they move together.

A window rarely holds whole cycles. Everything is averaged under a Hann window about averages of the same kind, so
that the part of a cycle counts for little: within half a percent from 2.5 cycles on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.kernel import part, reduction
from monitor.messages.blocks import Samples

# a loop is looked at so many times in a window
HOPS = 8
# with less the averages under a Hann window are those of a part of a cycle
_FEWEST_CYCLES = 1.95  # two, whose crossings noise may move
# share of the square that a straight line explains: more is a drift, which takes the motion's place in the averages
_DRIFT = 0.05


class Loop(NamedTuple):
    """Averages over a window, of two signals a and b about their means.

    ``swept`` : 1/2 (a db - b da), a sample; a tone sweeps ``1/2 A B sin(step) sin(phase of a - phase of b)``.
    ``common`` : a b. ``square_a``, ``square_b`` : a a and b b. ``drift`` : the share of b b that a straight line
    explains.
    """

    swept: float
    common: float
    square_a: float
    square_b: float
    drift: float


def new_stored_window(n_window: int, n_pairs: int, n_signals: int) -> tuple[Samples, NDArray[np.int64], Samples]:
    """Return (ring, clock, hann): the window, (n_pairs, n_signals, 2 n_window), the next slot, and its weights."""
    ring, clock = np.zeros((n_pairs, n_signals, 2 * n_window)), np.zeros(1, dtype=np.int64)
    return ring, clock, 1.0 - np.cos(2.0 * np.pi * (np.arange(n_window) + 0.5) / n_window)


@reduction
def loop_of(a: Samples, b: Samples, hann: Samples) -> Loop:
    """Return the averages over a window of two signals, (n_window,) each."""
    n = a.shape[0]
    # about the first sample, so that a signal that does not move is exactly zero
    mean_a = mean_b = 0.0
    for i in range(n):
        mean_a += hann[i] * (a[i] - a[0])
        mean_b += hann[i] * (b[i] - b[0])
    mean_a, mean_b = a[0] + mean_a / n, b[0] + mean_b / n
    common = square_a = square_b = line = times = 0.0
    for i in range(n):
        x, y, t = a[i] - mean_a, b[i] - mean_b, i - 0.5 * (n - 1)
        common += hann[i] * x * y
        square_a += hann[i] * x * x
        square_b += hann[i] * y * y
        line += hann[i] * t * y
        times += hann[i] * t * t
    swept = weight = 0.0
    for i in range(n - 1):
        x, y, between = a[i] - mean_a, b[i] - mean_b, hann[i] + hann[i + 1]
        swept += 0.5 * between * (x * (b[i + 1] - b[i]) - y * (a[i + 1] - a[i]))
        weight += between
    drift = line * line / (times * square_b) if square_b > 0.0 else 0.0
    return Loop(swept / weight, common / n, square_a / n, square_b / n, drift)


@part
def sine_of_step(signal: Samples, deviation: float, drift: float) -> float:
    """Return the sine of what the signal turns in a sample, by its level crossings; NaN for few or a drift."""
    n = signal.shape[0]
    low = high = signal[0]
    for i in range(1, n):
        low = min(low, signal[i])
        high = max(high, signal[i])
    frequency = _crossing_frequency(signal, low + 0.5 * (high - low), 0.3 * deviation)
    return float(np.sin(2.0 * np.pi * frequency)) if frequency * n > _FEWEST_CYCLES and drift < _DRIFT else np.nan


@part
def _crossing_frequency(signal: Samples, level: float, margin: float) -> float:
    """Return cycles a sample from the crossings of a level, with hysteresis; NaN when there are none of each kind.

    Downward and upward crossings are counted apart, so that a level that is not quite the signal's centre cancels.
    Where there are no two of a kind, half a cycle has to do.
    """
    n_down = n_up = 0
    first_down = first_up = last_down = last_up = 0.0
    before, crossing, side = 0.0, 0.0, 0
    for t in range(signal.shape[0]):
        height = signal[t] - level
        if (before < 0.0) != (height < 0.0):
            crossing = t - height / (height - before)
        before = height
        if height > margin and side != 1:
            if side != 0:
                first_up, last_up, n_up = first_up if n_up > 0 else crossing, crossing, n_up + 1
            side = 1
        elif height < -margin and side != -1:
            if side != 0:
                first_down, last_down, n_down = first_down if n_down > 0 else crossing, crossing, n_down + 1
            side = -1
    cycles, span = 0.0, 0.0
    if n_down > 1:
        cycles, span = cycles + (n_down - 1.0), span + (last_down - first_down)
    if n_up > 1:
        cycles, span = cycles + (n_up - 1.0), span + (last_up - first_up)
    if cycles == 0.0 and n_down > 0 and n_up > 0:
        cycles, span = 0.5, abs(first_down - first_up)
    return float(cycles / span) if span > 0.0 else np.nan
