"""The largest value in a sliding window: a queue of candidates in falling order, with their sample counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from monitor.kernel import part
from monitor.messages.blocks import Samples


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
