"""The kernel of FDB: what it reads at every sample, and what it looks for in the whole window now and then."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monitor.indicators.parts.bin_reading import (
    N_ROWS,
    NEIGHBOURS,
    copy_gains,
    delayed_tone,
    impurity,
    present_tone,
    read_neighbours,
    square_of,
    tone_gains,
    tone_of_drift,
    weigh_samples,
    whole_reading,
)
from monitor.indicators.parts.dominant_tone import (
    BELOW,
    C_RE,
    M_RE,
    SPAN,
    STEP_C,
    STEP_M,
    drift_exceeded,
    slide,
    spread,
    tapered,
    tapered_peak,
    tone_between_bins,
    track,
    transform_both,
)
from monitor.indicators.parts.memory import Cube, IntMatrix, IntVector, Matrix, Vector, open_state
from monitor.indicators.parts.residual import UNRELATED, fit_delayed, scatter_of_sums, take_gain, with_chance
from monitor.indicators.parts.sample_loop import (
    clear_row,
    is_good,
    next_sample,
    next_slot,
    start_rows,
    store,
    update_gate,
)
from monitor.kernel import kernel
from monitor.messages.blocks import Samples

_TRACE = 1e-12
# rad, of the phase: beyond it nothing is known
_LARGEST_SD = 0.3
# of the command's power, what may be no tone where the offset hides a neighbour of its bin
_IMPURE = 0.02
# towards the motion's lag, from that of the tone
_STEPS = 3
# slowest and fastest turn of the phase with the delay, over the dominant tone's
_SLOWEST, _FASTEST = 0.3, 3.0
# variance of a frequency in cycles a window over that of a phase, where both are as small as they can be
_FREQUENCY_NOISE = 3.0 / np.pi**2
# what is held between evaluations: the motion's lag, samples; how fast it turns the phase, over the tone's frequency;
# standard deviations of the phase and of the logarithm of the gain; what a drift of measured adds to its
# reading
LAG, PACE, PHASE_SD, GAIN_SD, DRIFT_RE, DRIFT_IM = range(6)
N_HELD = 6
# rows of the work array, for what a fit makes of the signals
_LATER, _SLOPE, _REST, _BENT = range(4)
N_WORK_ROWS = 4
# columns of the results
_RATIO, _PHASE, _DELAY, _FREQUENCY, _AMPLITUDE, _RATIO_SD, _PHASE_SD, _DELAY_SD, _DAMPING = range(9)


class FdbState(NamedTuple):
    """The arrays of FDB.

    ``half`` (2, n_bins) and ``turns`` (2, n_window): see `tracked_bins`; ``ring`` (n_pairs, 2, 2 n_window): command
    and measured, written twice so that any window lies in one piece; ``bins`` (n_pairs, 4, 8): those that are
    tracked; ``steps`` (n_pairs, 3): what came since the last transform; ``clock`` (1,): slot of the sample that comes
    next; ``good`` (n_pairs,): good samples in a row; ``found`` (n_pairs, 2): bin of the peak, and whether the gate is
    open; ``held`` (n_pairs, 6) between evaluations; ``work`` (4, n_window); ``radices`` .. ``buffers``: `Transform`.
    """

    settings: Vector
    half: Matrix
    turns: Matrix
    ring: Cube
    bins: Cube
    steps: Matrix
    clock: IntVector
    good: IntVector
    found: IntMatrix
    held: Matrix
    work: Matrix
    radices: IntVector
    table: Matrix
    chirp: Matrix
    chirp_spectrum: Matrix
    buffers: Matrix
    gate_peak: Vector
    gate_lowest: Vector
    gate_start: IntVector


open_fdb = open_state(FdbState)


@kernel
def advance_fdb(x_c: Samples, x_m: Samples, first: int, every: int, out: Samples, state: FdbState) -> None:
    """Take samples, (n_samples, n_pairs), and write rows, (n_rows, n_pairs, 9)."""
    (
        settings, half, turns, ring, bins, steps, clock, good, found, held, work,
        radices, table, chirp, chirp_spectrum, buffers, gate_peak, gate_lowest, gate_start,
    ) = state  # fmt: skip
    hop, sample_rate = int(settings[0]), settings[1]
    own_peaks, correct, of_motion = settings[2] > 0.0, settings[3] > 0.0, settings[4] > 0.0
    near, far, absolute, relative = settings[5], settings[6], settings[7], settings[8]
    first_bin, low_bin, high_bin = int(settings[9]), int(settings[10]), int(settings[11])
    n_window, n_bins = turns.shape[1], half.shape[1]
    low, high = low_bin - first_bin, high_bin - first_bin
    bins_c, bins_m = np.empty((N_ROWS, NEIGHBOURS)), np.empty((N_ROWS, NEIGHBOURS))
    rows_clock = start_rows(first, every)
    for i in range(x_c.shape[0]):
        rows_clock = next_sample(rows_clock, every)
        give, row = rows_clock.due, rows_clock.row
        slot = clock[0]
        begin, end = slot + 1, slot + 1 + n_window
        for pair in range(x_c.shape[1]):
            c, m = x_c[i, pair], x_m[i, pair]
            if is_good(c, m):
                good[pair] += 1
                if good[pair] > n_window:
                    d_c, d_m = c - ring[pair, 0, slot], m - ring[pair, 1, slot]
                    slide(bins[pair], found[pair, 0] - BELOW, turns, d_c, d_m)
                    steps[pair, STEP_C] = max(steps[pair, STEP_C], d_c * d_c)
                    steps[pair, STEP_M] = max(steps[pair, STEP_M], d_m * d_m)
                    steps[pair, SPAN] = max(steps[pair, SPAN], d_c * d_c)
                store(ring, pair, 0, slot, c)
                store(ring, pair, 1, slot, m)
            else:
                good[pair] = 0
            if give:
                clear_row(out, row, pair)
            due = (first + i + pair) % hop == 0 or good[pair] == n_window
            if good[pair] < n_window or not (give or due):
                continue
            command, measured = ring[pair, 0, begin:end], ring[pair, 1, begin:end]
            if due:
                size_c, size_m, span = transform_both(
                    command, measured, radices, table, chirp, chirp_spectrum, buffers
                )
                spread(buffers, n_window, first_bin, n_bins, size_c, False)
                found[pair, 0] = first_bin + tapered_peak(buffers[2], buffers[3], low, high, near, far)
                track(bins[pair], found[pair, 0] - BELOW, buffers, n_window, size_c, size_m)
                steps[pair, STEP_C], steps[pair, STEP_M], steps[pair, SPAN] = 0.0, 0.0, span
            k = found[pair, 0]
            read_neighbours(bins[pair], C_RE, near, far, bins_c)
            read_neighbours(bins[pair], M_RE, near, far, bins_m)
            raw_c, raw_m = whole_reading(bins_c), whole_reading(bins_m)
            # until the next look
            if drift_exceeded(steps[pair, STEP_C], square_of(raw_c)):
                continue
            frequency, sine = tone_between_bins(bins[pair], k - BELOW, k, first_bin, half, turns)
            scale, pole = tone_gains(k - first_bin, first_bin, frequency, sine, half, near, far, n_window, bins_c)
            copy_gains(bins_c, bins_m)
            tone_c = present_tone(bins_c, k, pole, near, far)
            tone_m = present_tone(bins_m, k, pole, near, far)
            if not due:
                tone_m -= complex(held[pair, DRIFT_RE], held[pair, DRIFT_IM])
            amplitude = 2.0 * np.sqrt(square_of(tone_c)) / abs(scale)
            if due:
                held[pair, LAG], held[pair, DRIFT_RE], held[pair, DRIFT_IM] = np.nan, 0.0, 0.0
                found[pair, 1] = update_gate(
                    gate_peak, gate_lowest, gate_start, absolute, relative, pair, amplitude, good[pair], n_window
                )
            # less than one cycle is no tone, nor is what rounding and leakage leave of a motion outside the band
            if not (found[pair, 1] and frequency > 0.999 and amplitude * amplitude > _TRACE * steps[pair, SPAN]):
                continue
            if give:
                out[row, pair, _FREQUENCY], out[row, pair, _AMPLITUDE] = frequency * sample_rate / n_window, amplitude
            # below 1e-12 of the command a measured amplitude is the rounding of a dead channel
            if square_of(tone_c) == 0.0 or square_of(tone_m) <= 1e-24 * square_of(tone_c):
                continue
            if drift_exceeded(steps[pair, STEP_M], square_of(raw_m)):
                continue
            turned = tone_m * tone_c.conjugate()
            phase, angular = np.arctan2(turned.imag, turned.real), 2.0 * np.pi * frequency / n_window
            if due:
                lag, pace, start, stop, share, fitted = -phase / angular, 1.0, 0, 0, np.nan, np.nan
                for step in range(_STEPS):
                    last = step == _STEPS - 1
                    if last and abs(lag) < n_window and _SLOWEST <= pace <= _FASTEST:
                        start, stop, share, drift, fitted = fit_delayed(
                            command, measured, lag, work[_LATER], work[_SLOPE], work[_REST], work[_BENT]
                        )
                        if of_motion and np.isfinite(share):
                            # what drifts against the command is no part of the motion
                            drifts = drift * n_window * tone_of_drift(bins_c, k, pole, near, far, half, first_bin)
                            held[pair, DRIFT_RE], held[pair, DRIFT_IM] = drifts.real, drifts.imag
                            tone_m -= drifts
                    if of_motion:
                        before = delayed_tone(bins_c, k, frequency, pole, near, far, lag - 0.5, n_window)
                        after = delayed_tone(bins_c, k, frequency, pole, near, far, lag + 0.5, n_window)
                        delayed = delayed_tone(bins_c, k, frequency, pole, near, far, lag, n_window)
                        turned, away = before * after.conjugate(), tone_m * delayed.conjugate()
                        pace = np.arctan2(turned.imag, turned.real) / angular
                        lag -= np.arctan2(away.imag, away.real) / (min(max(pace, _SLOWEST), _FASTEST) * angular)
                hides_offset = (k == 1 and near != 0.0) or (k == 2 and far != 0.0)
                if (
                    share < UNRELATED
                    and _SLOWEST <= pace <= _FASTEST
                    and not (hides_offset and impurity(command, tone_c * (1.0 / scale), frequency) > _IMPURE)
                ):
                    held[pair, LAG], held[pair, PACE] = lag, pace
                    reading = tone_m if correct else raw_m
                    delayed = delayed_tone(bins_c, k, frequency, pole, near, far, lag, n_window)
                    gain = np.sqrt(square_of(tone_m) / square_of(delayed))
                    take_gain(work[_LATER, start:stop], work[_REST, start:stop], fitted, gain)
                    weigh_samples(
                        work[_LATER], work[_SLOPE], start, stop, reading, bins_m, k, pole, near, far, correct, turns
                    )
                    scatters = scatter_of_sums(work[_LATER], work[_SLOPE], work[_REST], work[_BENT], start, stop)
                    held[pair, PHASE_SD] = with_chance(scatters[0], share)
                    held[pair, GAIN_SD] = with_chance(scatters[1], share)
            phase_sd = held[pair, PHASE_SD] / held[pair, PACE]
            if not (give and np.isfinite(held[pair, LAG]) and phase_sd <= _LARGEST_SD):
                continue
            if of_motion:
                delayed = delayed_tone(bins_c, k, frequency, pole, near, far, held[pair, LAG], n_window)
                away = tone_m * delayed.conjugate()
                pace = held[pair, PACE] * angular
                lag = held[pair, LAG] - np.arctan2(away.imag, away.real) / pace
                ratio, phase = np.sqrt(square_of(delayed) / square_of(tone_m)), -angular * lag
                delay_sd = phase_sd / angular
            else:
                if not correct:
                    if own_peaks:
                        _, size_m, _ = transform_both(
                            command, measured, radices, table, chirp, chirp_spectrum, buffers
                        )
                        spread(buffers, n_window, first_bin, n_bins, size_m, True)
                        own = tapered_peak(buffers[2], buffers[3], low, high, near, far)
                        raw_m = tapered(buffers[2], buffers[3], own, near, far)
                    turned = raw_m * raw_c.conjugate()
                    phase = np.arctan2(turned.imag, turned.real)
                    tone_c, tone_m = raw_c, raw_m
                if square_of(tone_m) == 0.0:
                    continue
                lag, ratio, turns_off = (
                    -phase / angular,
                    np.sqrt(square_of(tone_c) / square_of(tone_m)),
                    phase / frequency,
                )
                delay_sd = phase_sd / angular * np.sqrt(1.0 + _FREQUENCY_NOISE * turns_off * turns_off)
            out[row, pair, _RATIO], out[row, pair, _RATIO_SD] = ratio, ratio * held[pair, GAIN_SD]
            out[row, pair, _PHASE], out[row, pair, _PHASE_SD] = phase, phase_sd
            out[row, pair, _DELAY], out[row, pair, _DELAY_SD] = lag / sample_rate, delay_sd / sample_rate
            out[row, pair, _DAMPING] = 0.5 * ratio * np.sin(phase)
        clock[0] = next_slot(slot, n_window)
