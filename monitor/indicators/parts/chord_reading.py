"""What the sums of chord products say: the loop's shape, and the frequency at which it is drawn.

With y = k w, w the angle between samples, A the command's amplitude and p + i q the complex gain of the measured
signal, the sums over N groups of points are

    N 4 A^2 sin^3 y sin 2y,  2 cos 2y times that,  p times that,  -4 N A^2 q sin^3 y,

from which y, p, q and A follow in closed form. The choice and its derivation are ours.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.indicators.parts.chord_sums import CROSS, FAR, GROUPS, N_SUMS, NEAR, SPAN, SWEPT, loop_products
from monitor.kernel import part, reduction
from monitor.messages.blocks import Samples

_SMALLEST = 1e-280
# groups of points that are looked at to choose a lag
_ENOUGH = 128
# of the command's power, the noise that is reckoned with in choosing a lag
_NOISE = 1e-3
# of the square of a sum of products, over the sum of their squares: with less it may be that of noise
_SURE = 16.0
_UNSURE = 1e-9


class Chords(NamedTuple):
    """A reading: measured over command is ``in_phase + i quadrature``.

    ``amplitude`` of the command; ``turn_rate`` rad a sample. ``found`` is False where the points draw no loop.
    """

    found: bool
    in_phase: float
    quadrature: float
    amplitude: float
    turn_rate: float


@part
def read_chords(sums: Samples, k: int, n: float) -> Chords:
    """Return the reading of the sums over `n` groups of points of lag `k`."""
    near = sums[NEAR]
    if not (near > _SMALLEST and abs(sums[FAR]) < 2.0 * near):
        return Chords(False, np.nan, np.nan, np.nan, np.nan)
    cos_2y = 0.5 * sums[FAR] / near
    sin_2y = np.sqrt((1.0 - cos_2y) * (1.0 + cos_2y))
    # sin^2 y and cos y by the half angle, of whichever does not cancel
    sin_sq = 0.5 * (1.0 - cos_2y) if cos_2y < 0.0 else 0.5 * sin_2y * sin_2y / (1.0 + cos_2y)
    in_phase, quadrature = sums[CROSS] / near, -sums[SWEPT] / near * sin_2y
    square = near / (8.0 * n * sin_sq * sin_sq * np.sqrt(1.0 - sin_sq))
    return Chords(True, in_phase, quadrature, np.sqrt(square), 0.5 * np.arctan2(sin_2y, cos_2y) / k)


@reduction
def choose_lag(
    pair: int, ring: Samples, oldest: int, n: int, lags: NDArray[np.int64], sums: Samples
) -> tuple[int, float, Chords]:
    """Choose the lag of the chords for the `n` samples from `oldest` on.

    It is the one that would tell the measured signal's lag best in white noise. What a sample of measured is
    multiplied with in the area swept is the third difference of the command, and fewer of its terms in the first and
    last 3 k: squares of these tell the noise of the area.

    Parameters
    ----------
    sums : (N_SUMS,), overwritten.

    Returns
    -------
    k : the lag, samples; 0 where the points draw no loop with any.
    lag : of measured behind the command, as the chords of that lag have it, samples.
    chords : their reading, from 128 groups of points at least, or all.
    """
    best, chosen, lag, reading = 0.0, 0, np.nan, Chords(False, np.nan, np.nan, np.nan, np.nan)
    mean = power = 0.0
    for t in range(oldest, oldest + n):
        moved = ring[pair, 0, t] - ring[pair, 0, oldest]
        mean, power = mean + moved, power + moved * moved
    power = max(power / n - (mean / n) * (mean / n), 0.0)
    for level in range(lags.shape[0]):
        k = lags[level]
        if k * GROUPS > n and k > 1:
            continue
        groups = n - SPAN * k
        if groups < 1:
            continue
        stride = max(1, groups // _ENOUGH)
        inner, edge, products, count = 0.0, 0.0, 0.0, 0
        for j in range(N_SUMS):
            sums[j] = 0.0
        for base in range(oldest, oldest + groups, stride):
            near, far, cross, swept = loop_products(pair, ring, base, base, k)
            sums[NEAR], sums[FAR] = sums[NEAR] + near, sums[FAR] + far
            sums[CROSS], sums[SWEPT] = sums[CROSS] + cross, sums[SWEPT] + swept
            d_0 = ring[pair, 0, base + 2 * k] - ring[pair, 0, base]
            d_2 = ring[pair, 0, base + 4 * k] - ring[pair, 0, base + 2 * k]
            d_4 = ring[pair, 0, base + 6 * k] - ring[pair, 0, base + 4 * k]
            inner += (d_4 - 2.0 * d_2 + d_0) * (d_4 - 2.0 * d_2 + d_0)
            edge += d_4 * d_4 + (d_4 - d_2) * (d_4 - d_2) + (d_4 - 2.0 * d_2) * (d_4 - 2.0 * d_2)
            products += near * near
            count += 1
        found = read_chords(sums, k, float(count))
        if found.found:
            by_lag = sums[NEAR] / count * found.turn_rate / np.sin(2.0 * k * found.turn_rate)
            noise = (inner / count + _NOISE * power) * max(groups - 3 * k, 1) + edge / count * 2.0 * k
            merit = groups * by_lag * by_lag * groups / noise
            # of noise the reading is any, and its merit with it: it is taken for want of a better one
            if not sums[NEAR] * sums[NEAR] > _SURE * products:
                merit *= _UNSURE
            if merit > best:
                best, chosen, reading = merit, k, found
                lag = -np.arctan2(found.quadrature, found.in_phase) / found.turn_rate
    return chosen, lag, reading
