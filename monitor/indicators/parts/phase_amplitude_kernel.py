"""The kernel of PAEI: what slides from sample to sample, and what is looked for in the whole window now and then."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monitor.indicators.parts.chords import (
    GOOD,
    LAG,
    N_SUMS,
    SHIFT,
    choose_lag,
    collect_chords,
    n_groups,
    push_chords,
    read_chords,
    turn_chords,
)
from monitor.indicators.parts.closed_loop import LARGEST_SD, close_loop
from monitor.indicators.parts.ellipse import N_SUMS as N_POWERS
from monitor.indicators.parts.ellipse import fit_ellipse, push_point, sum_points, turn_points
from monitor.indicators.parts.gate import update_gate
from monitor.indicators.parts.memory import Cube, IntMatrix, IntVector, Matrix, Vector, open_state
from monitor.indicators.parts.residual import UNRELATED
from monitor.indicators.parts.sample_loop import clear_row, is_good, next_sample, next_slot, start_rows
from monitor.kernel import kernel
from monitor.messages.blocks import Samples

# what is held between evaluations, see `ClosedLoop`
PACE, SLOPE, BEND, LAG_SD, GAIN_SD, RATE_SD, OPEN = range(7)
N_HELD = 7


class PaeiState(NamedTuple):
    """The arrays of PAEI: its settings, its chords and points (`ChordSums`, `EllipseWindow`), what is held, its gate.

    ``held`` (n_pairs, 7); ``work`` (n_rooms, n_window).
    """

    settings: Vector
    ring: Cube
    suffix: Cube
    prefix: Matrix
    counts: IntMatrix
    clock: IntVector
    lags: IntVector
    point_suffix: Cube
    point_prefix: Matrix
    frame: Matrix
    point_counts: IntMatrix
    held: Matrix
    work: Matrix
    gate_peak: Vector
    gate_lowest: Vector
    gate_start: IntVector


open_paei = open_state(PaeiState)


@kernel
def advance_paei(x_c: Samples, x_m: Samples, first: int, every: int, out: Samples, state: PaeiState) -> None:
    """Take samples, (n_samples, n_pairs), and write rows, (n_rows, n_pairs, 7)."""
    (
        settings, ring, suffix, prefix, counts, clock, lags, point_suffix, point_prefix, frame, point_counts, held,
        work, gate_peak, gate_lowest, gate_start,
    ) = state  # fmt: skip
    hop, sample_rate, noise_correction = int(settings[0]), settings[1], settings[2] > 0.0
    absolute, relative = settings[3], settings[4]
    n_window = ring.shape[2] // 2
    chord_sum, point_sum = np.empty(N_SUMS), np.empty(N_POWERS)
    # pair by pair: the sums of one lie side by side in memory
    for pair in range(x_c.shape[1]):
        slot, number, rows_clock = clock[0], clock[1], start_rows(first, every)
        for i in range(x_c.shape[0]):
            rows_clock = next_sample(rows_clock, every)
            give, row = rows_clock.due, rows_clock.row
            c, m = x_c[i, pair], x_m[i, pair]
            if is_good(c, m):
                counts[pair, GOOD] += 1
            else:
                counts[pair, GOOD] = 0
                c, m = ring[pair, 0, slot + n_window - 1], ring[pair, 1, slot + n_window - 1]
            if not noise_correction:
                push_point(pair, c, m, ring, point_prefix, frame, point_counts, slot, number)
            push_chords(pair, c, m, ring, suffix, prefix, counts, slot)
            if not noise_correction and point_counts[pair, 0] == 0:
                turn_points(pair, ring, point_suffix, point_prefix, frame, point_counts, slot, number)
            if give:
                clear_row(out, row, pair)
            full = counts[pair, GOOD] >= n_window
            due = full and ((first + i + pair) % hop == 0 or counts[pair, GOOD] == n_window)
            if due:
                newest = slot + 1 + n_window
                k, lag, rough = choose_lag(pair, ring, slot + 1, n_window, lags, chord_sum)
                piece_c, piece_m = ring[pair, 0, slot + 1 : newest], ring[pair, 1, slot + 1 : newest]
                loop = close_loop(piece_c, piece_m, max(k, 1), lag, rough.turn_rate, UNRELATED, work)
                held[pair, PACE], held[pair, SLOPE], held[pair, BEND] = loop.pace, loop.slope, loop.bend
                held[pair, LAG_SD], held[pair, GAIN_SD], held[pair, RATE_SD] = loop.lag_sd, loop.gain_sd, loop.rate_sd
                if k != counts[pair, LAG] or loop.shift != counts[pair, SHIFT]:
                    counts[pair, LAG], counts[pair, SHIFT] = k, loop.shift
                    if k > 0:
                        turn_chords(pair, ring, suffix, prefix, counts, slot)
            if (due or give) and full and counts[pair, LAG] > 0:
                k, shift = counts[pair, LAG], counts[pair, SHIFT]
                collect_chords(pair, suffix, prefix, counts, chord_sum)
                chords = read_chords(chord_sum, k, float(n_groups(n_window, k, shift)))
                amplitude, turn_rate = chords.amplitude, chords.turn_rate
                # the angle by which the lag is more than the shift
                more = -np.arctan2(chords.quadrature, chords.in_phase) / held[pair, PACE]
                gain = np.hypot(chords.in_phase, chords.quadrature)
                # the slope comes from the ends of the window, and is another one at the next look
                tilted = held[pair, SLOPE] * more
                gain /= 1.0 - tilted + 0.5 * held[pair, BEND] * more * more
                lag = shift + more / turn_rate
                if not noise_correction:
                    sum_points(pair, ring, point_suffix, point_prefix, frame, point_counts, slot, number, point_sum)
                    ellipse = fit_ellipse(point_sum, float(n_window), frame[pair, 2], False)
                    in_phase = frame[pair, 2] - 0.5 * ellipse.b
                    opening = np.sqrt(max(ellipse.a - 0.25 * ellipse.b * ellipse.b, 0.0))
                    amplitude, gain = ellipse.half_width, np.hypot(in_phase, opening)
                    # clockwise is a lead
                    lag = np.arctan2(opening if lag > 0.0 else -opening, in_phase) / turn_rate
                if due:
                    held[pair, OPEN] = update_gate(
                        gate_peak, gate_lowest, gate_start, absolute, relative, pair, amplitude,
                        counts[pair, GOOD], n_window,
                    )  # fmt: skip
                phase_sd = held[pair, LAG_SD] * turn_rate
                if (
                    give
                    and held[pair, OPEN] > 0.0
                    and phase_sd <= LARGEST_SD
                    and gain > 1e-12
                    and np.isfinite(gain + lag + amplitude)
                ):
                    out[row, pair, 0], out[row, pair, 1] = 1.0 / gain, amplitude * (1.0 - gain)
                    out[row, pair, 2], out[row, pair, 3] = -turn_rate * lag, lag / sample_rate
                    out[row, pair, 4] = np.hypot(held[pair, GAIN_SD], tilted) / gain
                    out[row, pair, 5] = np.hypot(phase_sd, held[pair, RATE_SD] * lag)
                    out[row, pair, 6] = held[pair, LAG_SD] / sample_rate
            slot = next_slot(slot, n_window)
            number += 1
    clock[0] = (clock[0] + x_c.shape[0]) % n_window
    clock[1] += x_c.shape[0]
