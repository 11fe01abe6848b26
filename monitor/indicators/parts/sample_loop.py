"""What every kernel does at a sample: validity, decimation, amplitude gate.

The amplitude gate suppresses values while the command is too small to mean anything. A test has a quiet lead-in and
a quiet end, where a phase would be that of the noise. The gate closes below an absolute amplitude, and below a
fraction of the sustained maximum: the largest amplitude held for two windows in a row, so that a spike, which stays
in the window for one, does not close the gate for the rest of the test.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.indicators.parts.memory import Cube, IntMatrix, IntVector, open_state
from monitor.kernel import inlined, part
from monitor.messages.blocks import Samples
from monitor.messages.reasons import Reason

LARGEST_SAMPLE = 1e50
"""A larger sample comes from a faulty sensor, and its fourth power would overflow."""


class RowClock(NamedTuple):
    """Decimation: whether a row is due at this sample, its number in the block, samples until the next row."""

    due: bool
    row: int
    wait: int


@part
def start_row_clock(first: int, every: int) -> RowClock:
    """Return the clock before sample number `first`; a row is due at every number that `every` divides."""
    return RowClock(False, -1, (-first) % every)


@part
def advance_row_clock(clock: RowClock, every: int) -> RowClock:
    """Return the clock at the next sample."""
    due = clock.wait == 0
    return RowClock(due, clock.row + 1 if due else clock.row, every - 1 if due else clock.wait - 1)


@part
def is_good(c: float, m: float) -> bool:
    """Whether command and measured are finite and in range."""
    return abs(c) < LARGEST_SAMPLE and abs(m) < LARGEST_SAMPLE


@part
def clear_row(out: Samples, row: int, pair: int, reason: float) -> None:
    """Set a row of results of a pair to NaN, and its last column to the reason."""
    for j in range(out.shape[2] - 1):
        out[row, pair, j] = np.nan
    out[row, pair, out.shape[2] - 1] = reason


@part
def write_reason(out: Samples, due: bool, row: int, pair: int, reason: float) -> None:
    """Write the reason of a missing value to the last column of a row of results, where one is due."""
    if due:
        out[row, pair, out.shape[2] - 1] = reason


@part
def write_row(out: Samples, row: int, pair: int, held: Samples) -> None:
    """Write the held values (n_pairs, n_outputs) of a pair to a row of results."""
    for j in range(out.shape[2]):
        out[row, pair, j] = held[pair, j]


def new_held(n_pairs: int, n_values: int, reason: int) -> Samples:
    """Return (n_pairs, n_values) zeros; the window is filling, says column `reason`."""
    held: Samples = np.zeros((n_pairs, n_values))
    held[:, reason] = Reason.FILLING
    return held


class Gate(NamedTuple):
    """Per pair: the largest sustained amplitude; the smallest since ``gate_start``, a count of good samples."""

    gate_peak: Samples
    gate_lowest: Samples
    gate_start: NDArray[np.int64]


def new_gate(n_pairs: int) -> Gate:
    """Return the initial gate, open to all amplitudes above the absolute limit."""
    return Gate(np.zeros(n_pairs), np.full(n_pairs, np.inf), np.zeros(n_pairs, dtype=np.int64))


@part
def update_gate(
    gate_peak: Samples,
    gate_lowest: Samples,
    gate_start: NDArray[np.int64],
    absolute: float,
    relative: float,
    pair: int,
    amplitude: float,
    good: int,
    n_window: int,
) -> bool:
    """Update the gate with a window's amplitude, after `good` consecutive good samples; return whether it is open."""
    if good <= gate_start[pair] or good - gate_start[pair] > 2 * n_window:
        if good > gate_start[pair] and gate_lowest[pair] < np.inf:
            gate_peak[pair] = max(gate_peak[pair], gate_lowest[pair])
        gate_start[pair] = good
        gate_lowest[pair] = np.inf
    if amplitude < gate_lowest[pair]:
        gate_lowest[pair] = amplitude
    return bool(amplitude > 0.0 and amplitude >= absolute and amplitude >= relative * gate_peak[pair])


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
