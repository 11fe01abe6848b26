"""What a stored window says of one signal's loop against another's: the area it sweeps, and how they move together.

A window rarely holds whole cycles. Everything is averaged under a Hann window about averages of the same kind, so
that the part of a cycle counts for little: within half a percent from 2.5 cycles on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.indicators.parts.level_crossings import crossing_frequency, find_crossings, new_crossings
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


def new_stored_window(
    n_window: int, n_pairs: int, n_signals: int
) -> tuple[Samples, NDArray[np.int64], Samples, Samples, NDArray[np.int64], NDArray[np.int64], Samples]:
    """Return (ring, clock, hann, times, ends, side, last): the window, its weights, and room to look for crossings.

    ``ring`` (n_pairs, n_signals, 2 n_window) holds every sample twice, so that any window lies in one piece: from
    ``clock[0]`` on.
    """
    ring, clock = np.zeros((n_pairs, n_signals, 2 * n_window)), np.zeros(1, dtype=np.int64)
    hann = 1.0 - np.cos(2.0 * np.pi * (np.arange(n_window) + 0.5) / n_window)
    return (ring, clock, hann, *new_crossings(n_window, 1))


@part
def tick(clock: NDArray[np.int64], n_window: int) -> None:
    """Go on to the next sample, when all pairs have stored theirs at ``clock[0]`` and a window further."""
    clock[0] = clock[0] + 1 if clock[0] + 1 < n_window else 0


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
def sine_of_step(
    signal: Samples,
    deviation: float,
    drift: float,
    times: Samples,
    ends: NDArray[np.int64],
    side: NDArray[np.int64],
    last: Samples,
) -> float:
    """Return the sine of what the signal turns in a sample, by its level crossings; NaN for few or a drift."""
    n = signal.shape[0]
    low = high = signal[0]
    for i in range(1, n):
        low = min(low, signal[i])
        high = max(high, signal[i])
    level = low + 0.5 * (high - low)
    find_crossings(times, ends, side, last, 0, float(n - 1), signal, n - 1, level, 0.3 * deviation)
    frequency = crossing_frequency(times, ends, 0, -1.0)
    return float(np.sin(2.0 * np.pi * frequency)) if frequency * n > _FEWEST_CYCLES and drift < _DRIFT else np.nan
