"""PAEI: phase and amplitude error indices from the ellipse of measured against command, over a fixed window."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monitor.catalogue import CATALOGUE
from monitor.indicators.base import PassIndicator, check_window
from monitor.indicators.parts.chords import (
    GOOD,
    LAG,
    N_SUMS,
    SHIFT,
    choose_lag,
    collect_chords,
    n_groups,
    new_chord_sums,
    push_chords,
    read_chords,
    rebuild_chords,
)
from monitor.indicators.parts.ellipse import N_SUMS as N_POWERS
from monitor.indicators.parts.ellipse import fit_ellipse, new_ellipse_window, push_point, rebuild_points, sum_points
from monitor.indicators.parts.loop_lag import LARGEST_SD, N_WORK_ROWS, find_loop_lag, no_loop_reason
from monitor.indicators.parts.memory import PAEI, Cube, IntMatrix, IntVector, Matrix, Vector, open_state
from monitor.indicators.parts.sample_loop import (
    advance_row_clock,
    clear_row,
    gate_limits,
    is_good,
    new_gate,
    new_held,
    start_row_clock,
    update_gate,
    write_reason,
)
from monitor.indicators.parts.sample_ring import next_position
from monitor.kernel import kernel
from monitor.messages.blocks import Samples
from monitor.messages.reasons import Reason

# evaluations of the whole window while it slides by its length
_EVALUATIONS = 8


class PhaseAmplitudeValues(NamedTuple):
    """Values of PAEI for one actuator.

    ``ratio`` command/measured (> 1 undershoot); ``amplitude_error`` command - measured amplitude, in the
    signal's unit; ``phase`` rad, positive: measured leads; ``delay`` s, positive: measured lags; ``ratio_sd``,
    ``phase_sd``, ``delay_sd`` their standard deviations; ``reason``: `Reason` of no value.
    """

    ratio: float
    amplitude_error: float
    phase: float
    delay: float
    ratio_sd: float
    phase_sd: float
    delay_sd: float
    reason: float


class PhaseAmplitudeIndices(PassIndicator[PhaseAmplitudeValues]):
    """Phase and amplitude error indices (Mirza Hessabi and Mercan 2012), online.

    Parameters
    ----------
    sample_rate : Hz.
    window : s; one cycle or more, 2.5 or more in noise.
    noise_correction : use products of the ellipse's chords, which white noise does not bias; False uses eq. 1 of the
        review with a = 1, by least squares.
    gate, relative_gate : as in `FrequencyDomainIndicator`, for the command's amplitude.
    n_pairs, every : see `WindowedIndicator`.

    Notes
    -----
    Eq. 2 of the review with the minus sign missing in print, in a form without cancellation at small phases; eq. 3's
    difference of amplitudes, and their ratio. The sign comes from the area swept by the loop: clockwise is a lead.

    The chords (`chords`, ours) give the ellipse of a sine exactly, whatever part of the last cycle is in the window,
    also while its amplitude grows or decays; they give the angular frequency as well. For several frequencies their
    weights in phase and in frequency differ, and the delay is wrong by a tenth and more. Eight times a window, at
    every `hop`-th sample, the command is therefore delayed until the loop closes (`loop_lag`, ours), which is exact
    for any motion; in between delay and ratio are updated from the chords of measured against the command delayed by
    the nearest whole sample. The phase is that of the delay at the chords' angular frequency. The ratio refers to the
    delayed command, so that in a decay it is not that at one instant.

    Chords of about half a cycle would give the delay best, but of a motion that is not one tone neither gain nor
    frequency: they are taken only where no shorter ones are read. A drift of measured against the command is taken
    out where it matters, from two cycles in the window on.

    The standard deviations come from the residual of the fit of measured by the delayed command (`residual`),
    whatever its colour; the phase's includes that of the chords' frequency. Where the unexplained share of the
    measured power in the command's band exceeds 30 %, or the standard deviation of the phase 0.3 rad, the signals are
    unrelated and nothing is valid.

    Eq. 1 of the review by regression (`ellipse`) is exact for a sine, too. In noise its phase is right on average;
    its ratio is too small, by 1 % where the noise is 7 % of the command's amplitude. It reads a decaying sine as
    noise, 8 instead of 12 ms at 5 % damping. Its delay is its phase over the chords' angular frequency. Its standard
    deviations are those of the loop lag, without its bias.
    """

    outputs = CATALOGUE["paei"].outputs
    value_type = PhaseAmplitudeValues
    smallest_window = 32
    part = PAEI

    def __init__(
        self,
        sample_rate: float,
        window: float = 2.0,
        *,
        noise_correction: bool = True,
        gate: float = 0.0,
        relative_gate: float = 0.02,
        n_pairs: int = 1,
        every: int = 1,
    ) -> None:
        self._limits = gate_limits(gate, relative_gate)
        self._noise_correction = bool(noise_correction)
        self.hop = max(1, check_window(sample_rate, window, self.smallest_window) // _EVALUATIONS)
        super().__init__(
            sample_rate,
            window,
            n_pairs=n_pairs,
            every=every,
            noise_correction=noise_correction,
            gate=gate,
            relative_gate=relative_gate,
        )

    def new_arrays(self) -> PaeiState:
        """Return the initial arrays."""
        n, pairs = self.n_window, self.n_pairs
        settings = np.array([self.hop, self.sample_rate, self._noise_correction, *self._limits], dtype=np.float64)
        # the window of eq. 1 is empty where it is not used
        points = new_ellipse_window(n, 0 if self._noise_correction else pairs)
        held, work = new_held(pairs, N_HELD, REASON), np.zeros((N_WORK_ROWS, n))
        chord_sum, point_sum = np.zeros(N_SUMS), np.zeros(N_POWERS)
        window = new_chord_sums(n, pairs)
        return PaeiState(settings, *window, *points, held, work, chord_sum, point_sum, *new_gate(pairs))


# what is held between evaluations, see `LoopLag`
PHASE_RATE, SLOPE, CURVATURE, LAG_SD, GAIN_SD, RATE_SD, DRIFT, OPEN, REASON = range(9)
N_HELD = 9
# a drift that would change the phase by less than this many of its standard deviations is left in
_LEAST_DRIFT = 0.5


class PaeiState(NamedTuple):
    """The arrays of PAEI: its settings, its chords and points (`ChordSums`, `EllipseWindow`), held values, gate.

    ``held`` (n_pairs, 9); ``work`` (N_WORK_ROWS, n_window); ``chord_sum`` and ``point_sum``: sums over a window.
    """

    settings: Vector
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
    chord_sum: Vector
    point_sum: Vector
    gate_peak: Vector
    gate_lowest: Vector
    gate_start: IntVector


open_paei = open_state(PaeiState)


@kernel
def advance_paei(
    x_c: Samples, x_m: Samples, columns: IntMatrix, first: int, every: int, out: Samples, memory: Samples, n: int,
    ring: Samples, at: int,
) -> None:  # fmt: skip
    """Process samples, (n_samples, n_channels), the first at `at` in the ring; write rows, (n_rows, n_pairs, 8)."""
    (
        settings, suffix, prefix, counts, clock, lags, point_suffix, point_prefix, frame, point_counts, held,
        work, chord_sum, point_sum, gate_peak, gate_lowest, gate_start,
    ) = open_paei(memory, n)  # fmt: skip
    hop, sample_rate, noise_correction = int(settings[0]), settings[1], settings[2] > 0.0
    absolute, relative = settings[3], settings[4]
    n_window, begin = suffix.shape[1], at
    # pair by pair, because the sums of one are contiguous
    for pair in range(columns.shape[1]):
        at, number, row_clock = begin, clock[0], start_row_clock(first, every)
        for i in range(x_c.shape[0]):
            row_clock = advance_row_clock(row_clock, every)
            row_due, row = row_clock.due, row_clock.row
            if is_good(x_c[i, columns[0, pair]], x_m[i, columns[1, pair]]):
                counts[pair, GOOD] += 1
            else:
                counts[pair, GOOD], held[pair, REASON] = 0, Reason.BAD_SAMPLE.value
            if not noise_correction:
                c, m = ring[pair, 0, at], ring[pair, 1, at]
                push_point(pair, c, m, ring, point_prefix, frame, point_counts, at - n_window, number)
            push_chords(pair, ring, suffix, prefix, counts, at, held[pair, DRIFT])
            if not noise_correction and point_counts[pair, 0] == 0:
                rebuild_points(pair, ring, point_suffix, point_prefix, frame, point_counts, at, number)
            if row_due:
                clear_row(out, row, pair, held[pair, REASON])
            full = counts[pair, GOOD] >= n_window
            due = full and ((first + i + pair) % hop == 0 or counts[pair, GOOD] == n_window)
            if due:
                oldest, newest = at + 1 - n_window, at + 1
                k, lag, rough = choose_lag(pair, ring, oldest, n_window, lags, chord_sum)
                piece_c, piece_m = ring[pair, 0, oldest:newest], ring[pair, 1, oldest:newest]
                loop = find_loop_lag(piece_c, piece_m, 0, max(k, 1), lag, rough.omega, work)
                held[pair, PHASE_RATE], held[pair, SLOPE], held[pair, CURVATURE] = (
                    loop.phase_rate,
                    loop.slope,
                    loop.curvature,
                )
                held[pair, LAG_SD], held[pair, GAIN_SD], held[pair, RATE_SD] = loop.lag_sd, loop.gain_sd, loop.rate_sd
                held[pair, REASON] = loop.reason
                if k == 0:
                    least = max(absolute, relative * gate_peak[pair])
                    held[pair, REASON] = no_loop_reason(piece_c, piece_m, least)
                write_reason(out, row_due, row, pair, held[pair, REASON])
                drift = loop.drift
                if not abs(drift) * loop.by_drift > _LEAST_DRIFT * loop.lag_sd * loop.omega:
                    drift = 0.0
                if k != counts[pair, LAG] or loop.shift != counts[pair, SHIFT] or drift != held[pair, DRIFT]:
                    counts[pair, LAG], counts[pair, SHIFT], held[pair, DRIFT] = k, loop.shift, drift
                    if k > 0:
                        rebuild_chords(pair, ring, suffix, prefix, counts, at, drift)
            if (due or row_due) and full and counts[pair, LAG] > 0:
                k, shift = counts[pair, LAG], counts[pair, SHIFT]
                collect_chords(pair, suffix, prefix, counts, chord_sum)
                chords = read_chords(chord_sum, k, float(n_groups(n_window, k, shift)))
                amplitude, omega = chords.amplitude, chords.omega
                # the angle of the lag beyond the shift
                excess = -np.arctan2(chords.quadrature, chords.in_phase) / held[pair, PHASE_RATE]
                gain = np.hypot(chords.in_phase, chords.quadrature)
                # the slope depends on the ends of the window and changes between evaluations
                gain_change = held[pair, SLOPE] * excess
                gain /= 1.0 - gain_change + 0.5 * held[pair, CURVATURE] * excess * excess
                lag = shift + excess / omega
                if not noise_correction:
                    sum_points(pair, ring, point_suffix, point_prefix, frame, point_counts, at, number, point_sum)
                    ellipse = fit_ellipse(point_sum, float(n_window), frame[pair, 2], False)
                    in_phase = frame[pair, 2] - 0.5 * ellipse.b
                    opening = np.sqrt(max(ellipse.a - 0.25 * ellipse.b * ellipse.b, 0.0))
                    amplitude, gain = ellipse.half_width, np.hypot(in_phase, opening)
                    # clockwise is a lead
                    lag = np.arctan2(opening if lag > 0.0 else -opening, in_phase) / omega
                if due:
                    held[pair, OPEN] = update_gate(
                        gate_peak, gate_lowest, gate_start, absolute, relative, pair, amplitude,
                        counts[pair, GOOD], n_window,
                    )  # fmt: skip
                phase_sd = held[pair, LAG_SD] * omega
                usable = gain > 1e-12 and np.isfinite(gain + lag + amplitude)
                if held[pair, OPEN] == 0.0:
                    write_reason(out, row_due, row, pair, Reason.GATE.value)
                elif held[pair, LAG_SD] >= 0.0 and not usable:
                    # else the chords, which are renewed with every sample, form no loop
                    why = Reason.CONSTANT.value if gain <= 1e-12 else Reason.FEW_CYCLES.value
                    write_reason(out, row_due, row, pair, why)
                elif phase_sd > LARGEST_SD:
                    write_reason(out, row_due, row, pair, Reason.UNCERTAIN.value)
                elif row_due and phase_sd <= LARGEST_SD:
                    out[row, pair, 7] = Reason.VALID.value
                    out[row, pair, 0], out[row, pair, 1] = 1.0 / gain, amplitude * (1.0 - gain)
                    out[row, pair, 2], out[row, pair, 3] = -omega * lag, lag / sample_rate
                    out[row, pair, 4] = np.hypot(held[pair, GAIN_SD], gain_change) / gain
                    out[row, pair, 5] = np.hypot(phase_sd, held[pair, RATE_SD] * lag)
                    out[row, pair, 6] = held[pair, LAG_SD] / sample_rate
            at = next_position(at, ring)
            number += 1
    clock[0] += x_c.shape[0]
