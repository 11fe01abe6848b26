"""Sums, variance and extremes over a sliding window, in O(1) a sample, without accumulated rounding errors.

Sums use the two-stack method and are never subtracted, so that a spike leaves no error. The window is split at the
last *rebuild*: older samples are held as suffix sums (row j: samples j .. rebuild), newer ones as one prefix sum; the
sum over the window is one suffix row plus the prefix. When the suffix is used up, the newer rows become the next
suffix: on average one addition a sample.

Mean and squares about it are split likewise, updated by Welford's method and combined by Chan's.
An extreme is the head of a monotonic queue of candidates in descending order, with their sample numbers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from monitor.kernel import inlined, part
from monitor.messages.blocks import Samples

_GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)


def new_sums(n_window: int, n_pairs: int, n_sums: int) -> tuple[Samples, Samples, NDArray[np.int64]]:
    """Return (rows, prefix, since): the state of `n_sums` sums over `n_window` rows for every pair."""
    return np.zeros((n_pairs, n_window, n_sums)), np.zeros((n_pairs, n_sums)), stagger(n_window, n_pairs)


def stagger(n_window: int, n_pairs: int) -> NDArray[np.int64]:
    """Return (n_pairs,) initial rows since the rebuild, spread so that no sample waits for the rebuilds of all pairs.

    Multiples of the golden section are spread evenly for any number of pairs.
    """
    rows: NDArray[np.int64] = (n_window * (_GOLDEN * np.arange(n_pairs) % 1.0)).astype(np.int64)
    return rows


@part
def push_sums(rows: Samples, prefix: Samples, since: NDArray[np.int64], pair: int, new: Samples) -> None:
    """Add a row of summands; the oldest leaves."""
    n_window, n_sums = rows.shape[1], rows.shape[2]
    at = since[pair]
    for j in range(n_sums):
        prefix[pair, j] += new[j]
        rows[pair, at, j] = new[j]
    at += 1
    if at == n_window:
        for i in range(n_window - 2, -1, -1):
            for j in range(n_sums):
                rows[pair, i, j] += rows[pair, i + 1, j]
        for j in range(n_sums):
            prefix[pair, j] = 0.0
        at = 0
    since[pair] = at


@part
def window_sum(rows: Samples, prefix: Samples, since: NDArray[np.int64], pair: int, j: int) -> float:
    """Return sum number `j` over the window; rows before the first count as zero."""
    return float(rows[pair, since[pair], j] + prefix[pair, j])


def new_moments(n_window: int, n_pairs: int) -> tuple[Samples, Samples, NDArray[np.int64]]:
    """Return (rows, prefix, since): the state of a window of `n_window` values for every pair.

    ``rows`` (n_pairs, n_window, 2) and ``prefix`` (n_pairs, 2): mean and squares about it; a row newer than the
    rebuild is a single value. ``since`` (n_pairs,): values since the rebuild.
    """
    # half a window deviation from the rebuilds of the sums
    since = (stagger(n_window, n_pairs) + n_window // 2) % n_window
    return np.zeros((n_pairs, n_window, 2)), np.zeros((n_pairs, 2)), since


@inlined
def push_moment(rows: Samples, prefix: Samples, since: NDArray[np.int64], pair: int, value: float) -> None:
    """Add a value; the oldest leaves."""
    n_window = rows.shape[1]
    rows[pair, since[pair], 0], rows[pair, since[pair], 1] = value, 0.0
    since[pair] += 1
    deviation = value - prefix[pair, 0]
    prefix[pair, 0] += deviation / since[pair]
    prefix[pair, 1] += deviation * (value - prefix[pair, 0])
    if since[pair] == n_window:
        mean = square = 0.0
        for i in range(n_window - 1, -1, -1):
            deviation = rows[pair, i, 0] - mean
            mean += deviation / (n_window - i)
            square += deviation * (rows[pair, i, 0] - mean)
            rows[pair, i, 0], rows[pair, i, 1] = mean, square
        prefix[pair, 0] = prefix[pair, 1] = 0.0
        since[pair] = 0


@part
def squares_about_mean(rows: Samples, prefix: Samples, since: NDArray[np.int64], pair: int) -> float:
    """Return n times the variance over the window; values before the first count as zero."""
    n_window, newer = rows.shape[1], since[pair]
    difference = rows[pair, newer, 0] - prefix[pair, 0]
    between = difference * difference * newer * (n_window - newer) / n_window
    return float(rows[pair, newer, 1] + prefix[pair, 1] + between)


def new_extremes(n_window: int, n_pairs: int, n_queues: int) -> tuple[Samples, NDArray[np.int64], NDArray[np.int64]]:
    """Return (candidates, stamps, ends): the state of `n_queues` queues for every pair."""
    candidates = np.zeros((n_pairs, n_queues, n_window))
    stamps = np.zeros((n_pairs, n_queues, n_window), dtype=np.int64)
    # first slot and number of entries
    ends = np.zeros((n_pairs, n_queues, 2), dtype=np.int64)
    return candidates, stamps, ends


@part
def push_largest(
    candidates: Samples,
    stamps: NDArray[np.int64],
    ends: NDArray[np.int64],
    pair: int,
    queue: int,
    now: int,
    value: float,
) -> None:
    """Add the value of sample number `now`; the oldest leaves."""
    n = candidates.shape[2]
    head, length = ends[pair, queue, 0], ends[pair, queue, 1]
    if length > 0 and stamps[pair, queue, head] <= now - n:
        head = head + 1 if head + 1 < n else 0
        length -= 1
    tail = head + length if head + length < n else head + length - n
    while length > 0:
        last = tail - 1 if tail > 0 else n - 1
        if candidates[pair, queue, last] > value:
            break
        tail = last
        length -= 1
    candidates[pair, queue, tail] = value
    stamps[pair, queue, tail] = now
    ends[pair, queue, 0], ends[pair, queue, 1] = head, length + 1


@part
def largest(candidates: Samples, ends: NDArray[np.int64], pair: int, queue: int) -> float:
    """Return the largest value in the window; of negated values, minus the smallest."""
    return float(candidates[pair, queue, ends[pair, queue, 0]])
