"""What every kernel does at a sample: is it good, is a row of results due, where in the ring is it stored.

A ring holds every sample twice, one window apart, so that any window lies in one piece.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monitor.kernel import part
from monitor.messages.blocks import Samples

LARGEST_SAMPLE = 1e50
"""Beyond it a sample is a broken sensor's, and its fourth power would leave the range of a double."""


class RowClock(NamedTuple):
    """Decimation: whether a row is due at this sample, its number in the block, and samples until the next one."""

    due: bool
    row: int
    wait: int


@part
def start_rows(first: int, every: int) -> RowClock:
    """Return the clock before sample number `first`; a row is due at every number that `every` divides."""
    return RowClock(False, -1, (-first) % every)


@part
def next_sample(clock: RowClock, every: int) -> RowClock:
    """Return the clock at the next sample."""
    due = clock.wait == 0
    return RowClock(due, clock.row + 1 if due else clock.row, every - 1 if due else clock.wait - 1)


@part
def is_good(c: float, m: float) -> bool:
    """Whether command and measured are numbers that may be computed with."""
    return abs(c) < LARGEST_SAMPLE and abs(m) < LARGEST_SAMPLE


@part
def store(ring: Samples, pair: int, signal: int, slot: int, value: float) -> None:
    """Write a sample to its slot of a ring (n_pairs, n_signals, 2 n_window)."""
    ring[pair, signal, slot] = ring[pair, signal, slot + ring.shape[2] // 2] = value


@part
def next_slot(slot: int, n_window: int) -> int:
    """Return the slot of the next sample."""
    return slot + 1 if slot + 1 < n_window else 0


@part
def clear_row(out: Samples, row: int, pair: int) -> None:
    """Make a row of results not valid for a pair."""
    for j in range(out.shape[2]):
        out[row, pair, j] = np.nan


@part
def write_row(out: Samples, row: int, pair: int, held: Samples) -> None:
    """Write the held values (n_pairs, n_outputs) of a pair to a row of results."""
    for j in range(out.shape[2]):
        out[row, pair, j] = held[pair, j]
