"""The samples that all parts of a pass look back at: one ring for each pair, and the columns that they come from.

A ring holds every sample twice, one length apart, so that any window is contiguous. It is longer than the longest
window by what is stored ahead of the parts, a piece of a block, or by what a window waits to be evaluated. Where
command or measured is bad, both repeat the last good sample: no window with it is valid, and sums stay finite.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.indicators.parts.memory import Cube, IntMatrix, IntVector, open_state
from monitor.indicators.parts.sample_loop import is_good
from monitor.kernel import inlined, part
from monitor.messages.blocks import Samples

PIECE = 64
"""Samples that are stored at once."""
STORED, HOLDS = range(2)


class SampleRing(NamedTuple):
    """The arrays of the samples.

    ``columns`` (3, n_pairs): of command, measured and force in the arrays of the samples, -1 for no force; ``ring``
    (n_pairs, 2 or 3, 2 n); ``clock`` (2,): number of samples stored, and whether it holds still for a sample of some
    parts alone; ``waiting`` (3 n_pairs,): overwritten.
    """

    columns: IntMatrix
    ring: Cube
    clock: IntVector
    waiting: IntVector


open_ring = open_state(SampleRing)


def new_ring(n_pairs: int, longest: int, *, with_force: bool) -> SampleRing:
    """Return an empty ring of the `longest` look back, for samples with one column for each pair."""
    columns = np.tile(np.arange(n_pairs), (3, 1))
    ring = np.zeros((n_pairs, 3 if with_force else 2, 2 * longest))
    return SampleRing(columns, ring, np.zeros(2, dtype=np.int64), np.zeros(3 * n_pairs, dtype=np.int64))


@part
def newest_position(clock: NDArray[np.int64], ring: Samples) -> int:
    """Return the position at which the next sample is stored, and from which its windows reach back."""
    size = ring.shape[2] // 2
    return int(size + clock[STORED] % size)


@part
def next_position(at: int, ring: Samples) -> int:
    """Return the position of the sample after that at `at`."""
    return at + 1 if at + 1 < ring.shape[2] else ring.shape[2] // 2


@inlined
def store_samples(
    x_c: Samples, x_m: Samples, f_m: Samples, columns: NDArray[np.int64], ring: Samples, clock: NDArray[np.int64]
) -> None:
    """Store samples, (n_samples, n_channels) each, at most `PIECE` of them."""
    size, first = ring.shape[2] // 2, newest_position(clock, ring)
    for pair in range(columns.shape[1]):
        at = first
        for i in range(x_c.shape[0]):
            c, m = x_c[i, columns[0, pair]], x_m[i, columns[1, pair]]
            if not is_good(c, m):
                c, m = ring[pair, 0, at - 1], ring[pair, 1, at - 1]
            ring[pair, 0, at] = ring[pair, 0, at - size] = c
            ring[pair, 1, at] = ring[pair, 1, at - size] = m
            if ring.shape[1] > 2:
                f = f_m[i, columns[2, pair]] if columns[2, pair] >= 0 else np.nan
                ring[pair, 2, at] = ring[pair, 2, at - size] = f
            at = next_position(at, ring)
    clock[STORED] += x_c.shape[0]
