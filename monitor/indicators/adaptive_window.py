"""Sums over the newest samples, of any number up to the longest window: what the adaptive PAEI looks at.

Suffix sums that begin at any sample before the last turn are at hand, so that the sums over the newest n samples
are one of them plus the prefix, if the turn lies well inside those n. A turn covers a quarter more than
the samples it is made for and is due when five twelfths of them are new: about three rows for every sample.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.blocks import Samples
from monitor.indicators.chord_sums import (
    CROSS,
    FAR,
    FOR_NOISE,
    GROUPS,
    NEAR,
    PER_LAG,
    SPAN,
    SWEPT,
    loop_products,
    noise_products,
)
from monitor.indicators.ellipse_fit import N_SUMS, add_powers
from monitor.kernel import part

# lowest and highest command and measured signal
LOW_C, HIGH_C, LOW_M, HIGH_M = range(4)


class AdaptiveWindow(NamedTuple):
    """The arrays of the window; row a of a suffix is over the samples up to a before the last turn, and its own.

    ``ring`` (n_pairs, 2, 2 n_window) as in `chord_sums`; ``chord_suffix``, ``point_suffix``, ``box_suffix``
    (n_pairs, n_window, ...) and their prefixes: products of chords, powers of points, extremes; ``frame`` (n_pairs,
    3): origin of c and m, slope; ``counts`` (n_pairs, 4): good samples in a row, samples since the last turn, rows
    that it covers, length of the window; ``clock`` (1,): slot of the sample that is being taken; ``lags`` (n_lags,).
    """

    ring: Samples
    chord_suffix: Samples
    chord_prefix: Samples
    point_suffix: Samples
    point_prefix: Samples
    box_suffix: Samples
    box_prefix: Samples
    frame: Samples
    counts: NDArray[np.int64]
    clock: NDArray[np.int64]
    lags: NDArray[np.int64]


def new_adaptive_window(n_window: int, n_pairs: int) -> AdaptiveWindow:
    """Return an empty window; every lag is half the one before, so that one suits every length."""
    lags = [max(1, n_window // GROUPS)]
    while lags[-1] > 2:
        lags.append(lags[-1] // 2)
    n_chords = PER_LAG * len(lags) + FOR_NOISE
    return AdaptiveWindow(
        ring=np.zeros((n_pairs, 2, 2 * n_window)),
        chord_suffix=np.zeros((n_pairs, n_window, n_chords)),
        chord_prefix=np.zeros((n_pairs, n_chords)),
        point_suffix=np.zeros((n_pairs, n_window, N_SUMS)),
        point_prefix=np.zeros((n_pairs, N_SUMS)),
        box_suffix=np.zeros((n_pairs, n_window, 4)),
        box_prefix=np.zeros((n_pairs, 4)),
        frame=np.zeros((n_pairs, 3)),
        counts=np.zeros((n_pairs, 4), dtype=np.int64),
        clock=np.zeros(1, dtype=np.int64),
        lags=np.array(lags),
    )


@part
def push_sample(
    pair: int,
    c: float,
    m: float,
    ring: Samples,
    chord_prefix: Samples,
    point_prefix: Samples,
    box_prefix: Samples,
    frame: Samples,
    counts: NDArray[np.int64],
    lags: NDArray[np.int64],
    slot: int,
) -> None:
    """Let a sample in at its slot of the ring."""
    n_window, newest = ring.shape[2] // 2, slot + ring.shape[2] // 2
    ring[pair, 0, slot] = ring[pair, 0, newest] = c
    ring[pair, 1, slot] = ring[pair, 1, newest] = m
    counts[pair, 1] += 1
    for level in range(lags.shape[0]):
        k, at = lags[level], PER_LAG * level
        if SPAN * k < n_window:
            near, far, cross, swept = loop_products(pair, ring, newest - SPAN * k, k)
            chord_prefix[pair, at + NEAR] += near
            chord_prefix[pair, at + FAR] += far
            chord_prefix[pair, at + CROSS] += cross
            chord_prefix[pair, at + SWEPT] += swept
    at = chord_prefix.shape[1] - FOR_NOISE
    products = noise_products(pair, ring, newest - SPAN * lags[-1], lags[-1])
    for j in range(FOR_NOISE):
        chord_prefix[pair, at + j] += products[j]
    x = c - frame[pair, 0]
    add_powers(x, m - frame[pair, 1] - frame[pair, 2] * x, point_prefix, pair)
    box_prefix[pair, LOW_C], box_prefix[pair, HIGH_C] = min(c, box_prefix[pair, 0]), max(c, box_prefix[pair, 1])
    box_prefix[pair, LOW_M], box_prefix[pair, HIGH_M] = min(m, box_prefix[pair, 2]), max(m, box_prefix[pair, 3])


@part
def turn_back(
    pair: int,
    length: int,
    ring: Samples,
    chord_suffix: Samples,
    chord_prefix: Samples,
    point_suffix: Samples,
    point_prefix: Samples,
    box_suffix: Samples,
    box_prefix: Samples,
    frame: Samples,
    counts: NDArray[np.int64],
    lags: NDArray[np.int64],
    slot: int,
) -> None:
    """Lay a frame through the newest `length` samples and sum them, and a quarter more, up from the newest back."""
    n_window, newest = ring.shape[2] // 2, slot + ring.shape[2] // 2
    rows = min(n_window, length + length // 4)
    _lay_frame(pair, length, ring, frame, newest)
    for j in range(chord_prefix.shape[1]):
        chord_prefix[pair, j] = 0.0
    for level in range(lags.shape[0]):
        k, at = lags[level], PER_LAG * level
        for age in range(min(SPAN * k, rows)):
            for j in range(at, at + PER_LAG):
                chord_suffix[pair, age, j] = 0.0
        # kept in registers: going through the arrays would take three times as long
        near = far = cross = swept = 0.0
        for age in range(SPAN * k, rows):
            new = loop_products(pair, ring, newest - age, k)
            near, far, cross, swept = near + new[0], far + new[1], cross + new[2], swept + new[3]
            chord_suffix[pair, age, at + NEAR], chord_suffix[pair, age, at + FAR] = near, far
            chord_suffix[pair, age, at + CROSS], chord_suffix[pair, age, at + SWEPT] = cross, swept
    at, span = chord_prefix.shape[1] - FOR_NOISE, SPAN * lags[-1]
    low_c = high_c = ring[pair, 0, newest]
    low_m = high_m = ring[pair, 1, newest]
    for j in range(N_SUMS):
        point_prefix[pair, j] = 0.0
    for age in range(rows):
        if age >= span:
            products = noise_products(pair, ring, newest - age, lags[-1])
            for j in range(FOR_NOISE):
                chord_prefix[pair, at + j] += products[j]
        for j in range(FOR_NOISE):
            chord_suffix[pair, age, at + j] = chord_prefix[pair, at + j]
        c, m = ring[pair, 0, newest - age], ring[pair, 1, newest - age]
        x = c - frame[pair, 0]
        add_powers(x, m - frame[pair, 1] - frame[pair, 2] * x, point_prefix, pair)
        for j in range(N_SUMS):
            point_suffix[pair, age, j] = point_prefix[pair, j]
        low_c, high_c, low_m, high_m = min(c, low_c), max(c, high_c), min(m, low_m), max(m, high_m)
        box_suffix[pair, age, LOW_C], box_suffix[pair, age, HIGH_C] = low_c, high_c
        box_suffix[pair, age, LOW_M], box_suffix[pair, age, HIGH_M] = low_m, high_m
    for j in range(FOR_NOISE):
        chord_prefix[pair, at + j] = 0.0
    for j in range(N_SUMS):
        point_prefix[pair, j] = 0.0
    box_prefix[pair, LOW_C] = box_prefix[pair, HIGH_C] = ring[pair, 0, newest]
    box_prefix[pair, LOW_M] = box_prefix[pair, HIGH_M] = ring[pair, 1, newest]
    counts[pair, 1], counts[pair, 2] = 0, rows


@part
def _lay_frame(pair: int, length: int, ring: Samples, frame: Samples, newest: int) -> None:
    sum_c = sum_m = 0.0
    for k in range(newest - length + 1, newest + 1):
        sum_c += ring[pair, 0, k]
        sum_m += ring[pair, 1, k]
    mean_c, mean_m = sum_c / length, sum_m / length
    var_c = cov = 0.0
    for k in range(newest - length + 1, newest + 1):
        d = ring[pair, 0, k] - mean_c
        var_c += d * d
        cov += d * (ring[pair, 1, k] - mean_m)
    slope = cov / var_c if var_c > 0.0 else 0.0
    frame[pair, 0], frame[pair, 1], frame[pair, 2] = mean_c, mean_m, slope


@part
def turn_is_due(pair: int, length: int, counts: NDArray[np.int64], lags: NDArray[np.int64]) -> bool:
    """Whether the sums over the newest `length` samples need another turn."""
    age = length - 1 - counts[pair, 1]
    # the oldest sample lies a whole group of points before the turn, whose groups are all in the suffix
    return bool(age < SPAN * max(length // GROUPS, lags[-1]) or age >= counts[pair, 2])


@part
def sum_newest(
    pair: int,
    length: int,
    chord_suffix: Samples,
    chord_prefix: Samples,
    point_suffix: Samples,
    point_prefix: Samples,
    box_suffix: Samples,
    box_prefix: Samples,
    counts: NDArray[np.int64],
    chord_sum: Samples,
    point_sum: Samples,
    box: Samples,
) -> None:
    """Fill in the sums and extremes over the newest `length` samples."""
    age = length - 1 - counts[pair, 1]
    for j in range(chord_sum.shape[0]):
        chord_sum[j] = chord_suffix[pair, age, j] + chord_prefix[pair, j]
    for j in range(N_SUMS):
        point_sum[j] = point_suffix[pair, age, j] + point_prefix[pair, j]
    for j in (LOW_C, LOW_M):
        box[j] = min(box_suffix[pair, age, j], box_prefix[pair, j])
        box[j + 1] = max(box_suffix[pair, age, j + 1], box_prefix[pair, j + 1])
