"""Products of chords of the loop that measured against command draws, summed over a sliding window.

A chord joins two points of the loop that are 2k samples apart. Eight points, k samples apart, give six chords
d_0 .. d_5 of the command and D_0 .. D_5 of the measured signal; an offset is not in them. For a lag k we need

    d_2 d_3 - d_1 d_4,   d_1 d_4 - d_0 d_5,   (d_2 D_3 + d_3 D_2 - d_1 D_4 - d_4 D_1) / 2,   d_2 D_3 - d_3 D_2,

each a difference of products whose indices have the same sum, so that of a sine, even of one that grows or decays
exponentially, nothing that swings is left: the sums are exact whatever part of a cycle is in the window. Chords in
a product are an odd number of k apart and share no sample, so that white noise adds nothing to the mean.

The lags are a twentieth of the window, a third of that and so on; one of them suits every frequency. The sums slide
as in `windowed_sums`: suffix sums up to the last turn, prefix sums after it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.blocks import Samples
from monitor.kernel import part

# points of a group are so many lags apart, first to last
SPAN = 7
# a window holds so many lags at least, unless the lag is the shortest
GROUPS = 12
# sums for every lag
NEAR, FAR, CROSS, SWEPT = range(4)
PER_LAG = 4
# sums for the longest lag alone, of u = d_2 and v = d_1 + d_3, from which the noise is known
X_UU, X_UV, X_VV, M_UU, M_UV, M_VV, XM_UU, XM_UV, XM_VV = range(9)
FOR_NOISE = 9


class ChordSums(NamedTuple):
    """The arrays of the window.

    ``ring`` (n_pairs, 2, 2 n_window): command and measured, written twice so that any window lies in one piece;
    ``suffix`` (n_pairs, n_window - SPAN lags[0] + 1, n_sums); ``prefix`` (n_pairs, n_sums); ``counts``
    (n_pairs, 3): good samples in a row, samples since the last turn, samples until the next; ``clock`` (2,): slot and
    number of the sample that is being taken; ``lags`` (n_lags,), samples, longest first.
    """

    ring: Samples
    suffix: Samples
    prefix: Samples
    counts: NDArray[np.int64]
    clock: NDArray[np.int64]
    lags: NDArray[np.int64]


def chord_lags(n_window: int) -> NDArray[np.int64]:
    """Return the lags that serve a window: down to two samples or one, at which ten samples a cycle are enough."""
    lags = [max(1, n_window // 20)]
    while lags[-1] > 2:
        lags.append(max(1, lags[-1] // 3))
    return np.array(lags)


def new_chord_sums(n_window: int, n_pairs: int) -> ChordSums:
    """Return an empty window."""
    lags = chord_lags(n_window)
    n_sums = PER_LAG * len(lags) + FOR_NOISE
    return ChordSums(
        ring=np.zeros((n_pairs, 2, 2 * n_window)),
        suffix=np.zeros((n_pairs, n_window - SPAN * int(lags[0]) + 1, n_sums)),
        prefix=np.zeros((n_pairs, n_sums)),
        counts=np.tile(np.array([0, 0, n_window]), (n_pairs, 1)),
        clock=np.zeros(2, dtype=np.int64),
        lags=lags,
    )


@part
def push_chords(
    pair: int,
    c: float,
    m: float,
    ring: Samples,
    suffix: Samples,
    prefix: Samples,
    counts: NDArray[np.int64],
    lags: NDArray[np.int64],
    slot: int,
    number: int,
) -> None:
    """Let a sample in, number `number`, at its slot of the ring; the oldest leaves."""
    n_window = ring.shape[2] // 2
    ring[pair, 0, slot] = ring[pair, 0, slot + n_window] = c
    ring[pair, 1, slot] = ring[pair, 1, slot + n_window] = m
    counts[pair, 1] += 1
    counts[pair, 2] -= 1
    if counts[pair, 2] == 0:
        turn_chords(pair, ring, suffix, prefix, slot + 1, lags)
        counts[pair, 1] = 0
        period = n_window - SPAN * lags[0]
        # after the first window the pairs turn at times of their own, so that no one sample waits for all of them
        counts[pair, 2] = period - (pair * 40503 % 65536 * period // 131072 if number + 1 == n_window else 0)
    else:
        for level in range(lags.shape[0]):
            k = lags[level]
            if number >= SPAN * k:
                at, base = PER_LAG * level, slot + n_window - SPAN * k
                near, far, cross, swept = loop_products(pair, ring, base, k)
                prefix[pair, at + NEAR] += near
                prefix[pair, at + FAR] += far
                prefix[pair, at + CROSS] += cross
                prefix[pair, at + SWEPT] += swept
        if number >= SPAN * lags[0]:
            at = prefix.shape[1] - FOR_NOISE
            products = noise_products(pair, ring, slot + n_window - SPAN * lags[0], lags[0])
            for j in range(FOR_NOISE):
                prefix[pair, at + j] += products[j]


@part
def turn_chords(
    pair: int, ring: Samples, suffix: Samples, prefix: Samples, oldest: int, lags: NDArray[np.int64]
) -> None:
    """Sum the full window up from its newest group of points back."""
    n_window, last = ring.shape[2] // 2, suffix.shape[1] - 1
    for level in range(lags.shape[0]):
        k, at = lags[level], PER_LAG * level
        # kept in registers: going through the arrays would take three times as long
        near = far = cross = swept = 0.0
        for base in range(n_window - SPAN * k - 1, -1, -1):
            new = loop_products(pair, ring, oldest + base, k)
            near, far, cross, swept = near + new[0], far + new[1], cross + new[2], swept + new[3]
            if base <= last:
                suffix[pair, base, at + NEAR], suffix[pair, base, at + FAR] = near, far
                suffix[pair, base, at + CROSS], suffix[pair, base, at + SWEPT] = cross, swept
    at = prefix.shape[1] - FOR_NOISE
    sums = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for base in range(last - 1, -1, -1):
        more = noise_products(pair, ring, oldest + base, lags[0])
        sums = (
            sums[0] + more[0],
            sums[1] + more[1],
            sums[2] + more[2],
            sums[3] + more[3],
            sums[4] + more[4],
            sums[5] + more[5],
            sums[6] + more[6],
            sums[7] + more[7],
            sums[8] + more[8],
        )
        for j in range(FOR_NOISE):
            suffix[pair, base, at + j] = sums[j]
    for j in range(prefix.shape[1]):
        prefix[pair, j] = 0.0


@part
def loop_products(pair: int, ring: Samples, base: int, k: int) -> tuple[float, float, float, float]:
    """Return what the group of points that begins at `base` adds to the sums of a lag."""
    c_2, c_3 = ring[pair, 0, base + 2 * k], ring[pair, 0, base + 3 * k]
    c_4, c_5 = ring[pair, 0, base + 4 * k], ring[pair, 0, base + 5 * k]
    d_0, d_1, d_2, d_3 = c_2 - ring[pair, 0, base], c_3 - ring[pair, 0, base + k], c_4 - c_2, c_5 - c_3
    d_4, d_5 = ring[pair, 0, base + 6 * k] - c_4, ring[pair, 0, base + 7 * k] - c_5
    m_3, m_4 = ring[pair, 1, base + 3 * k], ring[pair, 1, base + 4 * k]
    e_1, e_2 = m_3 - ring[pair, 1, base + k], m_4 - ring[pair, 1, base + 2 * k]
    e_3, e_4 = ring[pair, 1, base + 5 * k] - m_3, ring[pair, 1, base + 6 * k] - m_4
    inner, ahead, behind = d_1 * d_4, d_2 * e_3, d_3 * e_2
    return (
        d_2 * d_3 - inner,
        inner - d_0 * d_5,
        0.5 * (ahead + behind - d_1 * e_4 - d_4 * e_1),
        ahead - behind,
    )


@part
def noise_products(
    pair: int, ring: Samples, base: int, k: int
) -> tuple[float, float, float, float, float, float, float, float, float]:
    """Return what the group of points that begins at `base` adds to the sums for the noise."""
    u = ring[pair, 0, base + 4 * k] - ring[pair, 0, base + 2 * k]
    e = ring[pair, 1, base + 4 * k] - ring[pair, 1, base + 2 * k]
    # d_1 + d_3: the middle point is in both and cancels
    v = ring[pair, 0, base + 5 * k] - ring[pair, 0, base + k]
    w = ring[pair, 1, base + 5 * k] - ring[pair, 1, base + k]
    return u * u, u * v, v * v, e * e, e * w, w * w, u * e, 0.5 * (u * w + e * v), v * w


@part
def collect_chords(pair: int, suffix: Samples, prefix: Samples, since: int, sums: Samples) -> None:
    """Fill `sums` with those over the window."""
    for j in range(prefix.shape[1]):
        sums[j] = suffix[pair, since, j] + prefix[pair, j]
