"""PAEI: phase and amplitude error indices from the ellipse of measured against command, over a fixed window.

Eqs. 1 to 3 of the review (Mirza Hessabi and Mercan 2015). In numpy: `reference.phase_amplitude`. Settings:
`PhaseAmplitudeSettings`. The kernel slides the sums over chords, or points, at every sample (`_slide`); searches the
loop's lag in the whole window eight times a window (`_look`); reads the sums where a row is due (`_read`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monitor.catalogue import CATALOGUE
from monitor.config.analysis import PhaseAmplitudeSettings
from monitor.indicators.base import PassIndicator
from monitor.indicators.parts import memory as kinds
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
from monitor.indicators.parts.memory import PAEI, open_state
from monitor.indicators.parts.sample_loop import (
    advance_row_clock,
    clear_row,
    is_good,
    new_gate,
    new_held,
    next_position,
    start_row_clock,
    update_gate,
    write_reason,
)
from monitor.kernel import inlined, kernel
from monitor.messages.blocks import Samples
from monitor.messages.reasons import Reason


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
    n_pairs, every : see `WindowedIndicator`.
    options : fields of `PhaseAmplitudeSettings`.

    Notes
    -----
    Eq. 2 of Mirza Hessabi and Mercan 2015 with the minus sign missing in print, without cancellation at small phases;
    eq. 3's difference of amplitudes, and their ratio. The sign is that of the area of the loop: clockwise is a lead.

    The chords (`chords`, ours) give the ellipse of a sine exactly, whatever part of the last cycle is in the window,
    also while its amplitude grows or decays; they give the angular frequency as well. For several frequencies their
    weights in phase and in frequency differ, and the delay is wrong by a tenth and more. Eight times a window, at
    every `hop`-th sample, the command is therefore delayed until the loop closes (`loop_lag`, ours), which is exact
    for any motion; in between delay and ratio are updated from the chords of measured against the command delayed by
    the nearest whole sample. The phase is that of the delay at the chords' angular frequency. The ratio refers to the
    delayed command, so that in a decay it is not that at one instant.

    Chords of about half a cycle would give the delay best, but of a motion that is not one tone neither gain nor
    frequency: they are taken only where no shorter ones are read. A drift of measured against the command is taken
    out where it matters, from two cycles in the window on. The phase's standard deviation includes that of the
    chords' frequency.

    Without `noise_correction` it is their eq. 1 with a = 1, by regression (`ellipse`), which is exact for a
    sine, too. Its delay is its phase over the chords' angular frequency. Its standard deviations are those of the
    loop lag, without its bias: in noise its ratio is too small, and it reads a decaying sine as noise.
    """

    outputs = CATALOGUE["paei"].outputs
    value_type = PhaseAmplitudeValues
    settings: PhaseAmplitudeSettings = PhaseAmplitudeSettings()
    smallest_window = 32
    part = PAEI
    evaluations = 8

    def new_arrays(self) -> PaeiState:
        """Return the initial arrays."""
        n, pairs, settings = self.n_window, self.n_pairs, self.settings
        # the window of eq. 1 is empty where it is not used
        points = new_ellipse_window(n, 0 if settings.noise_correction else pairs)
        return PaeiState(
            self.hop, self.sample_rate, not settings.noise_correction, settings.gate, settings.relative_gate,
            *new_chord_sums(n, pairs), *points, new_held(pairs, N_HELD, REASON), np.zeros((N_WORK_ROWS, n)),
            np.zeros(N_SUMS), np.zeros(N_POWERS), *new_gate(pairs),
        )  # fmt: skip


# what is held between evaluations, see `LoopLag`
PHASE_RATE, SLOPE, CURVATURE, LAG_SD, GAIN_SD, RATE_SD, DRIFT, OPEN, REASON = range(9)
N_HELD = 9
# a drift that would change the phase by less than this many of its standard deviations is left in
_LEAST_DRIFT = 0.5


class PaeiState(NamedTuple):
    """Settings and arrays of PAEI: chords and points (`ChordSums`, `EllipseWindow`), held values, gate.

    ``hop`` samples; ``by_regression``: of eq. 1; ``absolute``, ``relative``: gate; ``held`` (n_pairs, 9); ``work``
    (N_WORK_ROWS, n_window); ``chord_sum`` and ``point_sum``: sums over a window.
    """

    hop: kinds.Count
    sample_rate: kinds.Number
    by_regression: kinds.Flag
    absolute: kinds.Number
    relative: kinds.Number
    suffix: kinds.Cube
    prefix: kinds.Matrix
    counts: kinds.IntMatrix
    clock: kinds.IntVector
    lags: kinds.IntVector
    point_suffix: kinds.Cube
    point_prefix: kinds.Matrix
    frame: kinds.Matrix
    point_counts: kinds.IntMatrix
    held: kinds.Matrix
    work: kinds.Matrix
    chord_sum: kinds.Vector
    point_sum: kinds.Vector
    gate_peak: kinds.Vector
    gate_lowest: kinds.Vector
    gate_start: kinds.IntVector


open_paei = open_state(PaeiState)


@kernel
def advance_paei(
    x_c: Samples, x_m: Samples, columns: kinds.IntMatrix, first: int, every: int, out: Samples, memory: Samples,
    n: int, ring: Samples, at: int,
) -> None:  # fmt: skip
    """Process samples, (n_samples, n_channels), the first at `at` in the ring; write rows, (n_rows, n_pairs, 8)."""
    state = open_paei(memory, n)
    hop, n_window, begin, counts = state.hop, state.suffix.shape[1], at, state.counts
    # pair by pair, because the sums of one are contiguous
    for pair in range(columns.shape[1]):
        at, number, row_clock, held = begin, state.clock[0], start_row_clock(first, every), state.held[pair]
        for i in range(x_c.shape[0]):
            row_clock = advance_row_clock(row_clock, every)
            row_due, row = row_clock.due, row_clock.row
            if is_good(x_c[i, columns[0, pair]], x_m[i, columns[1, pair]]):
                counts[pair, GOOD] += 1
            else:
                counts[pair, GOOD], held[REASON] = 0, Reason.BAD_SAMPLE.value
            _slide(state, pair, ring, at, number)
            full = counts[pair, GOOD] >= n_window
            due = full and ((first + i + pair) % hop == 0 or counts[pair, GOOD] == n_window)
            if row_due:
                clear_row(out, row, pair, held[REASON])
            if due:
                _look(state, pair, ring, at)
                write_reason(out, row_due, row, pair, held[REASON])
            if (due or row_due) and full and counts[pair, LAG] > 0:
                reading = _read(state, pair, ring, at, number)
                if due:
                    held[OPEN] = update_gate(
                        state.gate_peak, state.gate_lowest, state.gate_start, state.absolute, state.relative,
                        pair, reading.amplitude, counts[pair, GOOD], n_window,
                    )  # fmt: skip
                reason = _reason(held, reading)
                write_reason(out, row_due, row, pair, reason)
                if row_due and reason == Reason.VALID.value:
                    _write_values(out[row, pair], held, reading, state.sample_rate)
            at = next_position(at, ring)
            number += 1
    state.clock[0] += x_c.shape[0]


@inlined
def _slide(state: PaeiState, pair: int, ring: Samples, at: int, number: int) -> None:
    """Add the sample at `at`; the oldest leaves. Points are summed for the regression of eq. 1 alone."""
    if state.by_regression:
        c, m, oldest = ring[pair, 0, at], ring[pair, 1, at], at - state.suffix.shape[1]
        push_point(pair, c, m, ring, state.point_prefix, state.frame, state.point_counts, oldest, number)
    push_chords(pair, ring, state.suffix, state.prefix, state.counts, at, state.held[pair, DRIFT])
    if state.by_regression and state.point_counts[pair, 0] == 0:
        rebuild_points(
            pair, ring, state.point_suffix, state.point_prefix, state.frame, state.point_counts, at, number
        )


@inlined
def _look(state: PaeiState, pair: int, ring: Samples, at: int) -> None:
    """Find the loop's lag in the whole window, and hold it; where it differs, the chords are summed again."""
    held, counts, oldest, newest = state.held[pair], state.counts, at + 1 - state.suffix.shape[1], at + 1
    k, lag, rough = choose_lag(pair, ring, oldest, newest - oldest, state.lags, state.chord_sum)
    command, measured = ring[pair, 0, oldest:newest], ring[pair, 1, oldest:newest]
    loop = find_loop_lag(command, measured, 0, max(k, 1), lag, rough.omega, state.work)
    held[PHASE_RATE], held[SLOPE], held[CURVATURE] = loop.phase_rate, loop.slope, loop.curvature
    held[LAG_SD], held[GAIN_SD], held[RATE_SD] = loop.lag_sd, loop.gain_sd, loop.rate_sd
    held[REASON] = loop.reason
    if k == 0:
        least = max(state.absolute, state.relative * state.gate_peak[pair])
        held[REASON] = no_loop_reason(command, measured, least)
    drift = loop.drift if abs(loop.drift) * loop.by_drift > _LEAST_DRIFT * loop.lag_sd * loop.omega else 0.0
    if k != counts[pair, LAG] or loop.shift != counts[pair, SHIFT] or drift != held[DRIFT]:
        counts[pair, LAG], counts[pair, SHIFT], held[DRIFT] = k, loop.shift, drift
        if k > 0:
            rebuild_chords(pair, ring, state.suffix, state.prefix, counts, at, drift)


class _Reading(NamedTuple):
    """The command's amplitude, gain measured over command, lag in samples, angular frequency in rad a sample.

    ``gain_change``: what the gain was corrected by, relative.
    """

    amplitude: float
    gain: float
    lag: float
    omega: float
    gain_change: float


@inlined
def _read(state: PaeiState, pair: int, ring: Samples, at: int, number: int) -> _Reading:
    """Read the window's sums."""
    held, counts, n_window, chord_sum = state.held[pair], state.counts, state.suffix.shape[1], state.chord_sum
    k, shift = counts[pair, LAG], counts[pair, SHIFT]
    collect_chords(pair, state.suffix, state.prefix, counts, chord_sum)
    chords = read_chords(chord_sum, k, float(n_groups(n_window, k, shift)))
    # the angle of the lag beyond the shift
    excess = -np.arctan2(chords.quadrature, chords.in_phase) / held[PHASE_RATE]
    # the slope depends on the ends of the window and changes between evaluations
    gain_change = held[SLOPE] * excess
    gain = np.hypot(chords.in_phase, chords.quadrature)
    gain /= 1.0 - gain_change + 0.5 * held[CURVATURE] * excess * excess
    amplitude, lag = chords.amplitude, shift + excess / chords.omega
    if state.by_regression:
        point_sum = state.point_sum
        sum_points(
            pair, ring, state.point_suffix, state.point_prefix, state.frame, state.point_counts, at, number, point_sum
        )
        # the frame may be a new one
        slope = state.frame[pair, 2]
        ellipse = fit_ellipse(point_sum, float(n_window), slope, False)
        in_phase, opening = slope - 0.5 * ellipse.b, np.sqrt(max(ellipse.a - 0.25 * ellipse.b * ellipse.b, 0.0))
        amplitude, gain = ellipse.half_width, np.hypot(in_phase, opening)
        # clockwise is a lead
        lag = np.arctan2(opening if lag > 0.0 else -opening, in_phase) / chords.omega
    return _Reading(amplitude, gain, lag, chords.omega, gain_change)


@inlined
def _reason(held: Samples, reading: _Reading) -> int:
    """Return why there are no values, or that there are."""
    if held[OPEN] == 0.0:
        return Reason.GATE.value
    if held[LAG_SD] >= 0.0:
        # the chords are renewed with every sample
        if reading.gain <= 1e-12:
            return Reason.CONSTANT.value
        if not np.isfinite(reading.gain + reading.lag + reading.amplitude):
            return Reason.FEW_CYCLES.value
        if held[LAG_SD] * reading.omega > LARGEST_SD:
            return Reason.UNCERTAIN.value
    return int(held[REASON])


@inlined
def _write_values(values: Samples, held: Samples, reading: _Reading, sample_rate: float) -> None:
    gain, lag, omega = reading.gain, reading.lag, reading.omega
    values[0], values[1] = 1.0 / gain, reading.amplitude * (1.0 - gain)
    values[2], values[3] = -omega * lag, lag / sample_rate
    values[4] = np.hypot(held[GAIN_SD], reading.gain_change) / gain
    values[5] = np.hypot(held[LAG_SD] * omega, held[RATE_SD] * lag)
    values[6] = held[LAG_SD] / sample_rate
