"""The kernel of HSEM: the work of the force along the error, and the damping that it amounts to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.indicators.parts.gate import passes
from monitor.indicators.parts.good_samples import LARGEST_SAMPLE, is_good
from monitor.indicators.parts.memory import cube, matrix, vector
from monitor.indicators.parts.swept_area import loop_of, sine_of_step, tick
from monitor.indicators.parts.windowed_sums import push, total
from monitor.kernel import kernel, part
from monitor.messages.blocks import Samples

# a force that has less in common with the displacement stores too little energy to compare with, squared
_FEEBLE = 0.1**2
# columns of the work that is counted from the start
ERROR, COMMAND, HIGHEST, LOWEST = 0, 1, 2, 3


class EnergyState(NamedTuple):
    """The arrays of HSEM.

    ``rows``, ``prefix``, ``since``: sums of the energy, see `windowed_sums`; ``work`` (n_pairs, 4): what is counted
    from the start; ``damping`` (n_pairs,): the newest; ``counts`` (n_pairs, 2): good samples in a row, and segments
    since the start; ``ring`` .. ``last``: see `new_stored_window`.
    """

    settings: Samples
    rows: Samples
    prefix: Samples
    since: NDArray[np.int64]
    work: Samples
    damping: Samples
    counts: NDArray[np.int64]
    ring: Samples
    clock: NDArray[np.int64]
    hann: Samples
    times: Samples
    ends: NDArray[np.int64]
    side: NDArray[np.int64]
    last: Samples
    loudest: Samples
    quietest: Samples
    began: NDArray[np.int64]


@part
def open_hsem(memory: Samples, words: NDArray[np.int64], n: int) -> EnergyState:
    """Return the arrays from number `n` on."""
    return EnergyState(
        vector(memory, words, n),
        cube(memory, words, n + 1),
        matrix(memory, words, n + 2),
        vector(words, words, n + 3),
        matrix(memory, words, n + 4),
        vector(memory, words, n + 5),
        matrix(words, words, n + 6),
        cube(memory, words, n + 7),
        vector(words, words, n + 8),
        vector(memory, words, n + 9),
        cube(memory, words, n + 10),
        cube(words, words, n + 11),
        vector(words, words, n + 12),
        matrix(memory, words, n + 13),
        vector(memory, words, n + 14),
        vector(memory, words, n + 15),
        vector(words, words, n + 16),
    )


@kernel
def advance_hsem(
    x_c: Samples, x_m: Samples, f_m: Samples, first: int, every: int, out: Samples, state: EnergyState
) -> None:
    """Take samples, (n_samples, n_pairs), and write rows, (n_rows, n_pairs, 4)."""
    (
        settings, rows, prefix, since, work, damping, counts, ring, clock, hann, times, ends, side, last,
        loudest, quietest, began,
    ) = state  # fmt: skip
    hop, absolute, relative = int(settings[0]), settings[1], settings[2]
    n_window = ring.shape[2] // 2
    segment = np.empty(1)
    row = 0
    until = (-first) % every
    for i in range(x_c.shape[0]):
        give = until == 0
        until = every - 1 if give else until - 1
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
            push(rows, prefix, since, pair, segment)
            ring[pair, 0, at] = ring[pair, 0, at + n_window] = c
            ring[pair, 1, at] = ring[pair, 1, at + n_window] = m
            ring[pair, 2, at] = ring[pair, 2, at + n_window] = f
            if not full:
                damping[pair] = np.nan
            elif (first + i + pair) % hop == 0:
                damping[pair] = np.nan
                own = loop_of(ring[pair, 2, begin:end], ring[pair, 1, begin:end], hann)
                commanded = loop_of(ring[pair, 2, begin:end], ring[pair, 0, begin:end], hann)
                amplitude = np.sqrt(2.0 * commanded.square_b)
                is_open = passes(
                    loudest, quietest, began, absolute, relative, pair, amplitude, counts[pair, 0], n_window
                )
                if is_open and own.common * own.common > _FEEBLE * own.square_a * own.square_b:
                    deviation = np.sqrt(commanded.square_b)
                    step = sine_of_step(ring[pair, 0, begin:end], deviation, commanded.drift, times, ends, side, last)
                    added = -0.5 * (own.swept - commanded.swept) / (step * own.common)
                    damping[pair] = added if abs(added) < np.inf else np.nan
            if give:
                span = work[pair, HIGHEST] - work[pair, LOWEST]
                ratio = work[pair, ERROR] / span if full and span > 0.0 else np.nan
                out[row, pair, 0] = total(rows, prefix, since, pair, 0) if full else np.nan
                out[row, pair, 1] = work[pair, ERROR] if counts[pair, 1] > 0 else np.nan
                out[row, pair, 2] = ratio if abs(ratio) < np.inf else np.nan
                out[row, pair, 3] = damping[pair]
        tick(clock, n_window)
        if give:
            row += 1
