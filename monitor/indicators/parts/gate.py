"""The amplitude gate: no value is given while the command is too small to mean anything.

A test has a quiet lead-in and a quiet end, where a phase would be that of the noise. The gate closes below a
set amplitude, and below a fraction of the sustained maximum: the largest amplitude that has lasted two windows in a
row, so that a spike, which stays in the window for one, does not shut the gate for the rest of the test.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.kernel import part
from monitor.messages.blocks import Samples


class GateLimits(NamedTuple):
    """Smallest amplitude in the signal's unit, and as a fraction of the sustained maximum."""

    absolute: float
    relative: float


class Gate(NamedTuple):
    """Per pair: the largest sustained amplitude; the smallest since ``gate_start``, a count of good samples."""

    gate_peak: Samples
    gate_lowest: Samples
    gate_start: NDArray[np.int64]


def gate_limits(absolute: float, relative: float) -> GateLimits:
    """Return the limits; raises ValueError when they are out of range."""
    if not (absolute >= 0.0 and 0.0 <= relative < 1.0):
        raise ValueError(f"gate = {absolute}, relative_gate = {relative}: must be 0 or more, the latter below 1")
    return GateLimits(float(absolute), float(relative))


def new_gate(n_pairs: int) -> Gate:
    """Return a gate that has seen nothing, and so is open to everything above the absolute limit."""
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
    """Update the gate with a window's amplitude, `good` samples after the last bad one; return whether it is open."""
    if good <= gate_start[pair] or good - gate_start[pair] > 2 * n_window:
        if good > gate_start[pair] and gate_lowest[pair] < np.inf:
            gate_peak[pair] = max(gate_peak[pair], gate_lowest[pair])
        gate_start[pair] = good
        gate_lowest[pair] = np.inf
    if amplitude < gate_lowest[pair]:
        gate_lowest[pair] = amplitude
    return bool(amplitude > 0.0 and amplitude >= absolute and amplitude >= relative * gate_peak[pair])
