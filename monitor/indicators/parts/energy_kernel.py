"""The kernel of HSEM: the work of the force along the error, and the damping that it amounts to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monitor.indicators.parts.gate import update_gate
from monitor.indicators.parts.memory import Cube, IntMatrix, IntVector, Matrix, Vector, open_state
from monitor.indicators.parts.sample_loop import LARGEST_SAMPLE, is_good, next_sample, next_slot, start_rows, store
from monitor.indicators.parts.sliding_statistics import push_sums, window_sum
from monitor.indicators.parts.swept_area import loop_of, sine_of_step
from monitor.kernel import kernel
from monitor.messages.blocks import Samples

# a force that has less in common with the displacement stores too little energy to compare with, squared
_MIN_CORRELATION_SQUARED = 0.1**2
# columns of the work that is counted from the start
ERROR, COMMAND, HIGHEST, LOWEST = 0, 1, 2, 3


class EnergyState(NamedTuple):
    """The arrays of HSEM.

    ``rows``, ``prefix``, ``since``: sums of the energy, see `sliding_statistics`; ``work`` (n_pairs, 4): sums
    from the start; ``damping`` (n_pairs,): the newest; ``counts`` (n_pairs, 2): good samples in a row, and segments
    since the start; ``ring``, ``clock``, ``hann``: see `new_stored_window`.
    """

    settings: Vector
    rows: Cube
    prefix: Matrix
    since: IntVector
    work: Matrix
    damping: Vector
    counts: IntMatrix
    ring: Cube
    clock: IntVector
    hann: Vector
    gate_peak: Vector
    gate_lowest: Vector
    gate_start: IntVector


open_hsem = open_state(EnergyState)


@kernel
def advance_hsem(
    x_c: Samples, x_m: Samples, f_m: Samples, first: int, every: int, out: Samples, state: EnergyState
) -> None:
    """Take samples, (n_samples, n_pairs), and write rows, (n_rows, n_pairs, 4)."""
    (
        settings, rows, prefix, since, work, damping, counts, ring, clock, hann,
        gate_peak, gate_lowest, gate_start,
    ) = state  # fmt: skip
    hop, absolute, relative = int(settings[0]), settings[1], settings[2]
    n_window = ring.shape[2] // 2
    segment = np.empty(1)
    rows_clock = start_rows(first, every)
    for i in range(x_c.shape[0]):
        rows_clock = next_sample(rows_clock, every)
        give, row = rows_clock.due, rows_clock.row
        at = clock[0]
        begin, end = at + 1, at + 1 + n_window
        for pair in range(x_c.shape[1]):
            c, m, f = x_c[i, pair], x_m[i, pair], f_m[i, pair]
            fine = is_good(c, m) and abs(f) < LARGEST_SAMPLE
            counts[pair, 0] = counts[pair, 0] + 1 if fine else 0
            full = counts[pair, 0] >= n_window
            segment[0] = 0.0
            if counts[pair, 0] > 1:
                force = 0.5 * (f + ring[pair, 2, end - 2])
                along = c - ring[pair, 0, end - 2]
                segment[0] = force * (m - ring[pair, 1, end - 2] - along)
                counts[pair, 1] += 1
                work[pair, ERROR] += segment[0]
                work[pair, COMMAND] += force * along
                work[pair, HIGHEST] = max(work[pair, HIGHEST], work[pair, COMMAND])
                work[pair, LOWEST] = min(work[pair, LOWEST], work[pair, COMMAND])
            push_sums(rows, prefix, since, pair, segment)
            store(ring, pair, 0, at, c)
            store(ring, pair, 1, at, m)
            store(ring, pair, 2, at, f)
            if not full:
                damping[pair] = np.nan
            elif (first + i + pair) % hop == 0:
                damping[pair] = np.nan
                own = loop_of(ring[pair, 2, begin:end], ring[pair, 1, begin:end], hann)
                commanded = loop_of(ring[pair, 2, begin:end], ring[pair, 0, begin:end], hann)
                amplitude = np.sqrt(2.0 * commanded.square_b)
                is_open = update_gate(
                    gate_peak, gate_lowest, gate_start, absolute, relative, pair, amplitude, counts[pair, 0], n_window
                )
                if is_open and own.common * own.common > _MIN_CORRELATION_SQUARED * own.square_a * own.square_b:
                    deviation = np.sqrt(commanded.square_b)
                    step = sine_of_step(ring[pair, 0, begin:end], deviation, commanded.drift)
                    added = -0.5 * (own.swept - commanded.swept) / (step * own.common)
                    damping[pair] = added if abs(added) < np.inf else np.nan
            if give:
                span = work[pair, HIGHEST] - work[pair, LOWEST]
                ratio = work[pair, ERROR] / span if full and span > 0.0 else np.nan
                out[row, pair, 0] = window_sum(rows, prefix, since, pair, 0) if full else np.nan
                out[row, pair, 1] = work[pair, ERROR] if counts[pair, 1] > 0 else np.nan
                out[row, pair, 2] = ratio if abs(ratio) < np.inf else np.nan
                out[row, pair, 3] = damping[pair]
        clock[0] = next_slot(at, n_window)
