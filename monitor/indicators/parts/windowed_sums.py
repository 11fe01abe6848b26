"""Sums over a sliding window that forget: two stacks, only ever added to.

The window is cut at the last *turn*. Older samples are held as suffix sums (row j: samples j .. turn),
newer ones as one prefix sum; the sum over the window is one suffix row plus the prefix. Nothing is ever
subtracted, so a spike is gone, to the last bit, when it leaves. When the suffix is used up the rows that
came in meanwhile are turned into the next suffix: one addition a sample, averaged.
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
def push(rows: Samples, prefix: Samples, since: NDArray[np.int64], pair: int, new: Samples) -> None:
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
def total(rows: Samples, prefix: Samples, since: NDArray[np.int64], pair: int, j: int) -> float:
    """Return sum number `j` over the window; rows before the first count as zero."""
    return float(rows[pair, since[pair], j] + prefix[pair, j])
