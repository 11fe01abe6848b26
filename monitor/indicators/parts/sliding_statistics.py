"""Sums, variance and extremes over a sliding window, in O(1) a sample, that forget to the last bit.

Sums are two stacks, only ever added to. The window is cut at the last *turn*: older samples are held as suffix sums
(row j: samples j .. turn), newer ones as one prefix sum; the sum over the window is one suffix row plus the prefix.
Nothing is ever subtracted, so a spike is gone when it leaves. When the suffix is used up, the rows that came in
meanwhile are turned into the next suffix: one addition a sample, averaged.

The mean and the squares about it are cut alike; each side is updated by Welford's rule; Chan's joins them.
An extreme is the head of a queue of candidates in falling order, with their sample counts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from monitor.kernel import part
from monitor.messages.blocks import Samples

_GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)


def new_sums(n_window: int, n_pairs: int, n_sums: int) -> tuple[Samples, Samples, NDArray[np.int64]]:
    """Return (rows, prefix, since): the state of `n_sums` sums over `n_window` rows for every pair."""
    return np.zeros((n_pairs, n_window, n_sums)), np.zeros((n_pairs, n_sums)), spread_turns(n_window, n_pairs)


def spread_turns(n_window: int, n_pairs: int) -> NDArray[np.int64]:
    """Return (n_pairs,) how many rows, of zero, each pair has seen: so no sample waits for the turns of all.

    Multiples of the golden section are spread evenly for any number of pairs.
    """
    turns: NDArray[np.int64] = (n_window * (_GOLDEN * np.arange(n_pairs) % 1.0)).astype(np.int64)
    return turns


@part
def push_sums(rows: Samples, prefix: Samples, since: NDArray[np.int64], pair: int, new: Samples) -> None:
    """Let a row of summands in; the oldest leaves."""
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
    """Return (rows, prefix, taken): the state of a window of `n_window` values for every pair.

    ``rows`` (n_pairs, n_window, 2) and ``prefix`` (n_pairs, 2): mean and squares about it, where a row that came in
    since the turn is a value by itself; ``taken`` (n_pairs,): values since the turn.
    """
    # where the sums turn, the moments are half a window from it
    taken = (spread_turns(n_window, n_pairs) + n_window // 2) % n_window
    return np.zeros((n_pairs, n_window, 2)), np.zeros((n_pairs, 2)), taken


@part
def push_moment(rows: Samples, prefix: Samples, taken: NDArray[np.int64], pair: int, value: float) -> None:
    """Let a value in; the oldest leaves."""
    n_window = rows.shape[1]
    rows[pair, taken[pair], 0], rows[pair, taken[pair], 1] = value, 0.0
    taken[pair] += 1
    away = value - prefix[pair, 0]
    prefix[pair, 0] += away / taken[pair]
    prefix[pair, 1] += away * (value - prefix[pair, 0])
    if taken[pair] == n_window:
        mean = square = 0.0
        for i in range(n_window - 1, -1, -1):
            away = rows[pair, i, 0] - mean
            mean += away / (n_window - i)
            square += away * (rows[pair, i, 0] - mean)
            rows[pair, i, 0], rows[pair, i, 1] = mean, square
        prefix[pair, 0] = prefix[pair, 1] = 0.0
        taken[pair] = 0


@part
def squares_about_mean(rows: Samples, prefix: Samples, taken: NDArray[np.int64], pair: int) -> float:
    """Return n times the variance over the window; values before the first count as zero."""
    n_window, newer = rows.shape[1], taken[pair]
    apart = rows[pair, newer, 0] - prefix[pair, 0]
    between = apart * apart * newer * (n_window - newer) / n_window
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
    """Let the value of sample number `now` in; the oldest leaves."""
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
