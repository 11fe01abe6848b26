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

from monitor.kernel import part
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
