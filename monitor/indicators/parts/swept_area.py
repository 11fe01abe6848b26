"""Averages over a stored window of one signal against another, and the damping that an error adds to a structure.

Area swept by their loop, covariance, powers. A window rarely holds whole cycles: all averages use Hann weights, also
the means that are subtracted, so that an incomplete cycle has little influence: within half a percent from 2.5 on.

A specimen of stiffness k = share K that is moved by m instead of c pushes back with k m. Where m/c is ``in_phase +
i quadrature`` at the loop's frequency, the loop M s^2 + C s + K (1 - share) + k m/c = 0 has the damping ratio of C
plus ``share quadrature / (2 (1 - share + share in_phase))`` (docs/indicators.md).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from monitor.kernel import inlined, part, reduction
from monitor.messages.blocks import Samples

# evaluations of a loop in a window
LOOPS_PER_WINDOW = 8
# fewer are not averaged well by Hann weights; two, whose crossings noise may shift
_MIN_CYCLES = 1.95
# share of the power explained by a straight line, above which a drift dominates the averages
_MAX_DRIFT = 0.05


class Loop(NamedTuple):
    """Averages over a window, of two signals a and b about their means.

    ``swept`` : 1/2 (a db - b da) per sample; for a tone ``1/2 A B sin(step) sin(phase of a - phase of b)``.
    ``common`` : a b. ``square_a``, ``square_b`` : a a and b b. ``drift`` : the share of b b explained by a straight
    line.
    """

    swept: float
    common: float
    square_a: float
    square_b: float
    drift: float


def hann_weights(n_window: int) -> Samples:
    """Return the Hann weights, (n_window,), of mean one."""
    return np.asarray(1.0 - np.cos(2.0 * np.pi * (np.arange(n_window) + 0.5) / n_window))


@reduction
def loop_averages(a: Samples, b: Samples, hann: Samples) -> Loop:
    """Return the averages over a window of two signals, (n_window,) each."""
    n = a.shape[0]
    # about the first sample, so that a constant signal is exactly zero
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
def step_sine(signal: Samples, deviation: float, drift: float) -> float:
    """Return the sine of the phase step of a sample, from level crossings; NaN for too few cycles or a drift."""
    n = signal.shape[0]
    low = high = signal[0]
    for i in range(1, n):
        low = min(low, signal[i])
        high = max(high, signal[i])
    frequency = _crossing_frequency(signal, low + 0.5 * (high - low), 0.3 * deviation)
    return float(np.sin(2.0 * np.pi * frequency)) if frequency * n > _MIN_CYCLES and drift < _MAX_DRIFT else np.nan


@inlined
def _crossing_frequency(signal: Samples, level: float, margin: float) -> float:
    """Return cycles a sample from the crossings of a level, with hysteresis; NaN when one direction has none.

    Downward and upward crossings are counted separately, so that a level off the signal's centre cancels. Where
    neither direction has two, the half cycle between them is used.
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


def loop_damping(in_phase: float, quadrature: float, share: float) -> float:
    """Return the added damping ratio, negative for a lag.

    Parameters
    ----------
    in_phase, quadrature : measured over command: cos(phase) / ratio and sin(phase) / ratio.
    share : the specimen's share of the structure's stiffness; 0: unknown, and the result is per unit of share, to
        first order. Where stiffness and error together are below zero the result is NaN.
    """
    if share == 0.0:
        return 0.5 * quadrature
    stiffness = 1.0 - share + share * in_phase
    return 0.5 * share * quadrature / stiffness if stiffness > 0.0 else math.nan


add_damping = part(loop_damping)
"""`loop_damping` within a kernel."""
