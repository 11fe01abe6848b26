"""Products of chords of the loop of measured against command, summed over a sliding window.

A chord joins two points of the loop that are 2k samples apart. Eight points, k samples apart, give six chords
d_0 .. d_5 of the command and D_0 .. D_5 of the measured signal; an offset is not in them. For a lag k we need

    d_2 d_3 - d_1 d_4,   d_1 d_4 - d_0 d_5,   (d_2 D_3 + d_3 D_2 - d_1 D_4 - d_4 D_1) / 2,   d_2 D_3 - d_3 D_2,

each a difference of products whose indices have the same sum, so that for a sine, even one that grows or decays
exponentially, no oscillating term remains: the sums are exact whatever part of a cycle is in the window. Chords in
a product are an odd number of k apart and share no sample, so that white noise adds nothing to the mean.

The command may be delayed against measured by a whole number of samples, its shift. The sums of one lag and one
shift slide as in `sliding_statistics`: suffix sums up to the last rebuild, prefix sums after it.

With y = k w, w the angle between samples, A the command's amplitude and p + i q the complex gain of the measured
signal, the sums over N groups of points are

    N 4 A^2 sin^3 y sin 2y,  2 cos 2y times that,  p times that,  -4 N A^2 q sin^3 y,

from which y, p, q and A follow in closed form. The choice and its derivation are ours.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.kernel import inlined, part, reduction
from monitor.messages.blocks import Samples

# lags from the first to the last point of a group
SPAN = 7
# for every lag but the shortest
MIN_LAGS_PER_WINDOW = 12
# columns of the sums
NEAR, FAR, CROSS, SWEPT = range(4)
N_SUMS = 4
# counters of a pair: consecutive good samples, samples since the last rebuild and until the next, lag and shift
GOOD, SINCE, UNTIL, LAG, SHIFT = range(5)


class ChordSums(NamedTuple):
    """The arrays of the window.

    ``suffix`` (n_pairs, n_window, N_SUMS); ``prefix`` (n_pairs, N_SUMS); ``counts`` (n_pairs, 5); ``clock`` (1,):
    number of the current sample; ``lags`` (n_lags,): candidates, samples, longest first.
    """

    suffix: Samples
    prefix: Samples
    counts: NDArray[np.int64]
    clock: NDArray[np.int64]
    lags: NDArray[np.int64]


def chord_lags(n_window: int) -> NDArray[np.int64]:
    """Return the candidate lags of a window, down to one sample."""
    lags = [max(1, n_window // 20)]
    while lags[-1] > 1:
        lags.append(max(1, 2 * lags[-1] // 5))
    return np.array(lags)


def new_chord_sums(n_window: int, n_pairs: int) -> ChordSums:
    """Return an empty window."""
    return ChordSums(
        suffix=np.zeros((n_pairs, n_window, N_SUMS)),
        prefix=np.zeros((n_pairs, N_SUMS)),
        counts=np.zeros((n_pairs, 5), dtype=np.int64),
        clock=np.zeros(1, dtype=np.int64),
        lags=chord_lags(n_window),
    )


@inlined
def push_chords(
    pair: int, ring: Samples, suffix: Samples, prefix: Samples, counts: NDArray[np.int64], at: int, drift: float
) -> None:
    """Add the sample at `at` in the ring; the oldest leaves. `drift` as at the last rebuild."""
    k = counts[pair, LAG]
    if k == 0:
        return
    counts[pair, SINCE] += 1
    counts[pair, UNTIL] -= 1
    if counts[pair, UNTIL] == 0:
        rebuild_chords(pair, ring, suffix, prefix, counts, at, drift)
    else:
        shift = counts[pair, SHIFT]
        base = at - SPAN * k - max(shift, 0)
        near, far, cross, swept = loop_products(pair, ring, base, base + shift, k, drift)
        prefix[pair, NEAR] += near
        prefix[pair, FAR] += far
        prefix[pair, CROSS] += cross
        prefix[pair, SWEPT] += swept


@part
def rebuild_chords(
    pair: int, ring: Samples, suffix: Samples, prefix: Samples, counts: NDArray[np.int64], at: int, drift: float
) -> None:
    """Recompute the suffix sums of the full window, whose newest sample is at `at`, from its newest group back.

    `drift` of measured, a sample, is taken out.
    """
    n_window, k, shift = suffix.shape[1], counts[pair, LAG], counts[pair, SHIFT]
    last, oldest = n_groups(n_window, k, shift), at + 1 - n_window + max(-shift, 0)
    # accumulated in registers: through the arrays it would take three times as long
    near = far = cross = swept = 0.0
    suffix[pair, last, NEAR] = suffix[pair, last, FAR] = suffix[pair, last, CROSS] = suffix[pair, last, SWEPT] = 0.0
    for base in range(last - 1, -1, -1):
        new = loop_products(pair, ring, oldest + base, oldest + base + shift, k, drift)
        near, far, cross, swept = near + new[0], far + new[1], cross + new[2], swept + new[3]
        suffix[pair, base, NEAR], suffix[pair, base, FAR] = near, far
        suffix[pair, base, CROSS], suffix[pair, base, SWEPT] = cross, swept
    for j in range(N_SUMS):
        prefix[pair, j] = 0.0
    counts[pair, SINCE], counts[pair, UNTIL] = 0, last


@part
def n_groups(n: int, k: int, shift: int) -> int:
    """Return the number of groups of points in `n` samples."""
    return n - SPAN * k - abs(shift)


@part
def loop_products(
    pair: int, ring: Samples, base: int, base_m: int, k: int, drift: float
) -> tuple[float, float, float, float]:
    """Return the products of the group that begins at `base` in the command and at `base_m` in measured."""
    c_2, c_3 = ring[pair, 0, base + 2 * k], ring[pair, 0, base + 3 * k]
    c_4, c_5 = ring[pair, 0, base + 4 * k], ring[pair, 0, base + 5 * k]
    d_0, d_1, d_2, d_3 = c_2 - ring[pair, 0, base], c_3 - ring[pair, 0, base + k], c_4 - c_2, c_5 - c_3
    d_4, d_5 = ring[pair, 0, base + 6 * k] - c_4, ring[pair, 0, base + 7 * k] - c_5
    m_3, m_4 = ring[pair, 1, base_m + 3 * k], ring[pair, 1, base_m + 4 * k]
    rise = 2.0 * k * drift
    e_1, e_2 = m_3 - ring[pair, 1, base_m + k] - rise, m_4 - ring[pair, 1, base_m + 2 * k] - rise
    e_3, e_4 = ring[pair, 1, base_m + 5 * k] - m_3 - rise, ring[pair, 1, base_m + 6 * k] - m_4 - rise
    inner, ahead, behind = d_1 * d_4, d_2 * e_3, d_3 * e_2
    return (
        d_2 * d_3 - inner,
        inner - d_0 * d_5,
        0.5 * (ahead + behind - d_1 * e_4 - d_4 * e_1),
        ahead - behind,
    )


@inlined
def collect_chords(pair: int, suffix: Samples, prefix: Samples, counts: NDArray[np.int64], sums: Samples) -> None:
    """Write the sums over the window to `sums`."""
    for j in range(N_SUMS):
        sums[j] = suffix[pair, counts[pair, SINCE], j] + prefix[pair, j]


_SMALLEST = 1e-280
# groups of points evaluated to choose a lag
_SAMPLED_GROUPS = 128
# noise assumed in choosing a lag, as a share of the command's power
_NOISE = 1e-3
# squared sum of products over the sum of their squares: below it the sum may be noise
_SIGNIFICANT = 16.0
# of 2y: below it the lag is about half a cycle, and sin 2y, which divides gain and frequency, near zero
_LEAST_COSINE = -0.8
# weight of the merit of lags that are taken only where there is no other
_LAST_RESORT = 1e-9


class Chords(NamedTuple):
    """A reading: measured over command is ``in_phase + i quadrature``.

    ``amplitude`` of the command; ``omega`` rad a sample. ``found`` is False where the points form no loop.
    """

    found: bool
    in_phase: float
    quadrature: float
    amplitude: float
    omega: float


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

    It is the one with the smallest variance of the measured signal's lag in white noise, of those that determine gain
    and frequency too: not of about half a cycle. The factor of a sample of measured in the swept area is the third
    difference of the command, with fewer terms in the first and last 3 k samples: the squares of these factors give
    the variance of the area.

    Parameters
    ----------
    sums : (N_SUMS,), overwritten.

    Returns
    -------
    k : the lag, samples; 0 where the points form no loop with any.
    lag : of measured behind the command by the chords of that lag, samples.
    chords : their reading, from 128 groups of points at least, or all.
    """
    best, chosen, lag, reading = 0.0, 0, np.nan, Chords(False, np.nan, np.nan, np.nan, np.nan)
    mean = power = 0.0
    for t in range(oldest, oldest + n):
        shifted = ring[pair, 0, t] - ring[pair, 0, oldest]
        mean, power = mean + shifted, power + shifted * shifted
    power = max(power / n - (mean / n) * (mean / n), 0.0)
    for level in range(lags.shape[0]):
        k = lags[level]
        if k * MIN_LAGS_PER_WINDOW > n and k > 1:
            continue
        groups = n - SPAN * k
        if groups < 1:
            continue
        stride = max(1, groups // _SAMPLED_GROUPS)
        inner, edge, products, count = 0.0, 0.0, 0.0, 0
        for j in range(N_SUMS):
            sums[j] = 0.0
        for base in range(oldest, oldest + groups, stride):
            near, far, cross, swept = loop_products(pair, ring, base, base, k, 0.0)
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
            by_lag = sums[NEAR] / count * found.omega / np.sin(2.0 * k * found.omega)
            noise = (inner / count + _NOISE * power) * max(groups - 3 * k, 1) + edge / count * 2.0 * k
            merit = groups * by_lag * by_lag * groups / noise
            # the reading of noise is arbitrary, and so is its merit: chosen only where there is no other
            significant = sums[NEAR] * sums[NEAR] > _SIGNIFICANT * products
            if not significant or np.cos(2.0 * k * found.omega) < _LEAST_COSINE:
                merit *= _LAST_RESORT
            if merit > best:
                best, chosen, reading = merit, k, found
                lag = -np.arctan2(found.quadrature, found.in_phase) / found.omega
    return chosen, lag, reading
