"""Kernel of FDB: readings at every sample, searches of the whole window at intervals."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monitor.indicators.parts.added_damping import add_damping
from monitor.indicators.parts.bin_reading import (
    copy_gains,
    delayed_tone,
    non_tonal_share,
    read_neighbours,
    read_tone,
    squared_magnitude,
    sum_bins,
    tone_gains,
)
from monitor.indicators.parts.dominant_tone import (
    BELOW,
    C_RE,
    M_RE,
    SPAN,
    STEP_C,
    STEP_M,
    drift_exceeded,
    set_bins,
    slide_bins,
    tapered,
    tapered_peak,
    tone_between_bins,
    transform_both,
    unpack_bins,
)
from monitor.indicators.parts.fourier import Transform
from monitor.indicators.parts.frequency_domain_look import (
    DRIFT_IM,
    DRIFT_RE,
    GAIN_SD,
    LAG,
    OWN,
    PHASE_RATE,
    PHASE_SD,
    REASON,
    look,
)
from monitor.indicators.parts.memory import Cube, IntMatrix, IntVector, Matrix, Vector, open_state
from monitor.indicators.parts.sample_loop import (
    advance_row_clock,
    clear_row,
    is_good,
    start_row_clock,
    update_gate,
    write_reason,
)
from monitor.indicators.parts.sample_ring import next_position
from monitor.kernel import kernel
from monitor.messages.blocks import Samples
from monitor.messages.reasons import Reason

_MIN_POWER_RATIO = 1e-12
# rad, of the phase: above it no value is valid
_LARGEST_SD = 0.3
# share of the command's power outside the tone, where the offset hides a neighbour of its bin
_MAX_NON_TONAL = 0.02
# Cramer-Rao bound of a frequency, in cycles a window, over that of a phase, as variances
_FREQUENCY_NOISE = 3.0 / np.pi**2
# columns of the results
_RATIO, _PHASE, _DELAY, _FREQUENCY, _AMPLITUDE, _RATIO_SD, _PHASE_SD, _DELAY_SD, _DAMPING, _REASON = range(10)


class FdbState(NamedTuple):
    """The arrays of FDB.

    ``half`` (2, n_bins) and ``circle`` (2, n_window): see `dominant_tone`; ``bins`` (n_pairs, 4, 8): the tracked
    bins; ``steps`` (n_pairs, 3): largest steps since the last transform; ``good`` (n_pairs,): consecutive good
    samples; ``found`` (n_pairs, 2): bin of the peak, and whether the gate is open; ``held`` (n_pairs, 8) between
    evaluations; ``work`` (5, n_window); ``bins_c``, ``bins_m`` (4, 5): see `read_neighbours`; ``radices`` ..
    ``buffers``: `Transform`.
    """

    settings: Vector
    half: Matrix
    circle: Matrix
    bins: Cube
    steps: Matrix
    good: IntVector
    found: IntMatrix
    held: Matrix
    work: Matrix
    bins_c: Matrix
    bins_m: Matrix
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
def advance_fdb(
    x_c: Samples, x_m: Samples, columns: IntMatrix, first: int, every: int, out: Samples, memory: Samples, n: int,
    ring: Samples, at: int,
) -> None:  # fmt: skip
    """Take samples, (n_samples, n_channels), the first at `at` in the ring; write rows, (n_rows, n_pairs, 10)."""
    (
        settings, half, circle, bins, steps, good, found, held, work, bins_c, bins_m,
        radices, table, chirp, chirp_spectrum, buffers, gate_peak, gate_lowest, gate_start,
    ) = open_fdb(memory, n)  # fmt: skip
    hop, sample_rate = int(settings[0]), settings[1]
    own_peaks, correct, of_motion = settings[2] > 0.0, settings[3] > 0.0, settings[4] > 0.0
    near, far, absolute, relative = settings[5], settings[6], settings[7], settings[8]
    first_bin, low_bin, high_bin, share = int(settings[9]), int(settings[10]), int(settings[11]), settings[12]
    plan = Transform(radices, table, chirp, chirp_spectrum, buffers)
    n_window, n_bins = circle.shape[1], half.shape[1]
    # the first bin whose neighbours under the taper do not include bin 0
    visible = 3 if far != 0.0 else 2 if near != 0.0 else 1
    row_clock = start_row_clock(first, every)
    for i in range(x_c.shape[0]):
        row_clock = advance_row_clock(row_clock, every)
        row_due, row = row_clock.due, row_clock.row
        begin, end = at + 1 - n_window, at + 1
        for pair in range(columns.shape[1]):
            c, m = x_c[i, columns[0, pair]], x_m[i, columns[1, pair]]
            if is_good(c, m):
                good[pair] += 1
                if good[pair] > n_window:
                    d_c, d_m = c - ring[pair, 0, begin - 1], m - ring[pair, 1, begin - 1]
                    slide_bins(bins[pair], found[pair, 0] - BELOW, circle, d_c, d_m)
                    steps[pair, STEP_C] = max(steps[pair, STEP_C], d_c * d_c)
                    steps[pair, STEP_M] = max(steps[pair, STEP_M], d_m * d_m)
                    steps[pair, SPAN] = max(steps[pair, SPAN], d_c * d_c)
            else:
                good[pair], held[pair, REASON] = 0, Reason.BAD_SAMPLE.value
            if row_due:
                clear_row(out, row, pair, held[pair, REASON])
            due = (first + i + pair) % hop == 0 or good[pair] == n_window
            if good[pair] < n_window or not (row_due or due):
                continue
            command, measured = ring[pair, 0, begin:end], ring[pair, 1, begin:end]
            if due:
                size_c, size_m, span = transform_both(command, measured, plan)
                unpack_bins(buffers, n_window, first_bin, n_bins, size_c, False)
                steps[pair, STEP_C], steps[pair, STEP_M], steps[pair, SPAN] = 0.0, 0.0, span
            # the lowest bin that may be read; where a motion other than a tone has its peak in a bin that the offset
            # hides, that is the first one without it
            low, hidden = low_bin, False
            k, frequency, sine, scale, pole, tone_c, tone_m, amplitude = 0, 0.0, 0.0, 0.0, 0.0, 0.0j, 0.0j, 0.0
            for _ in range(2):
                if due:
                    found[pair, 0] = first_bin + tapered_peak(
                        buffers[2], buffers[3], low - first_bin, high_bin - first_bin, near, far
                    )
                    set_bins(bins[pair], found[pair, 0] - BELOW, buffers, n_window, size_c, size_m)
                k = found[pair, 0]
                read_neighbours(bins[pair], C_RE, near, far, bins_c)
                read_neighbours(bins[pair], M_RE, near, far, bins_m)
                frequency, sine = tone_between_bins(bins[pair], k - BELOW, k, first_bin, half, circle)
                scale, pole = tone_gains(k - first_bin, first_bin, frequency, sine, half, near, far, n_window, bins_c)
                copy_gains(bins_c, bins_m)
                tone_c = read_tone(bins_c, k, pole, near, far)
                tone_m = read_tone(bins_m, k, pole, near, far)
                amplitude = 2.0 * np.sqrt(squared_magnitude(tone_c)) / abs(scale)
                hidden = due and (
                    k < visible and non_tonal_share(command, tone_c * (1.0 / scale), frequency) > _MAX_NON_TONAL
                )
                if not hidden or own_peaks or visible > high_bin:
                    break
                low = visible
            raw_c, raw_m = sum_bins(bins_c), sum_bins(bins_m)
            # no values until the next transform
            if drift_exceeded(steps[pair, STEP_C], squared_magnitude(raw_c)):
                write_reason(out, row_due, row, pair, Reason.UNCERTAIN.value)
                continue
            if not due:
                tone_m -= complex(held[pair, DRIFT_RE], held[pair, DRIFT_IM])
            if due:
                held[pair, LAG], held[pair, DRIFT_RE], held[pair, DRIFT_IM] = np.nan, 0.0, 0.0
                held[pair, REASON] = Reason.FEW_CYCLES.value
                found[pair, 1] = update_gate(
                    gate_peak, gate_lowest, gate_start, absolute, relative, pair, amplitude, good[pair], n_window
                )
            # less than one cycle is not a tone, nor are rounding and leakage of a motion outside the band
            if not (
                found[pair, 1] and frequency > 0.999 and amplitude * amplitude > _MIN_POWER_RATIO * steps[pair, SPAN]
            ):
                closed = found[pair, 1] == 0
                write_reason(out, row_due, row, pair, Reason.GATE.value if closed else Reason.FEW_CYCLES.value)
                continue
            if row_due:
                out[row, pair, _FREQUENCY], out[row, pair, _AMPLITUDE] = frequency * sample_rate / n_window, amplitude
            # below 1e-12 of the command a measured amplitude is rounding of a constant channel
            if squared_magnitude(tone_c) == 0.0 or squared_magnitude(tone_m) <= 1e-24 * squared_magnitude(tone_c):
                write_reason(out, row_due, row, pair, Reason.CONSTANT.value)
                continue
            if drift_exceeded(steps[pair, STEP_M], squared_magnitude(raw_m)):
                write_reason(out, row_due, row, pair, Reason.UNCERTAIN.value)
                continue
            product = tone_m * tone_c.conjugate()
            phase, omega = np.arctan2(product.imag, product.real), 2.0 * np.pi * frequency / n_window
            if due:
                tone_m = look(
                    command, measured, tone_c, tone_m, raw_m, bins_c, bins_m, k, frequency, scale, pole, near, far,
                    correct, of_motion, hidden, half, first_bin, circle, held[pair], work,
                )  # fmt: skip
            phase_sd = held[pair, PHASE_SD] / held[pair, PHASE_RATE]
            if not (row_due and np.isfinite(held[pair, LAG]) and phase_sd <= _LARGEST_SD):
                unknown = np.isnan(held[pair, LAG])
                write_reason(out, row_due, row, pair, held[pair, REASON] if unknown else Reason.UNCERTAIN.value)
                continue
            if of_motion:
                delayed = delayed_tone(bins_c, k, frequency, pole, near, far, held[pair, LAG], n_window)
                difference = tone_m * delayed.conjugate()
                phase_rate = held[pair, PHASE_RATE] * omega
                lag = held[pair, LAG] - np.arctan2(difference.imag, difference.real) / phase_rate
                phase = -omega * lag
                ratio = np.sqrt(squared_magnitude(tone_c) / squared_magnitude(tone_m)) / held[pair, OWN]
                delay_sd = phase_sd / omega
            else:
                if not correct:
                    if own_peaks:
                        _, size_m, _ = transform_both(command, measured, plan)
                        unpack_bins(buffers, n_window, first_bin, n_bins, size_m, True)
                        own = tapered_peak(
                            buffers[2], buffers[3], low_bin - first_bin, high_bin - first_bin, near, far
                        )
                        raw_m = tapered(buffers[2], buffers[3], own, near, far)
                    product = raw_m * raw_c.conjugate()
                    phase = np.arctan2(product.imag, product.real)
                    tone_c, tone_m = raw_c, raw_m
                if squared_magnitude(tone_m) == 0.0:
                    write_reason(out, row_due, row, pair, Reason.CONSTANT.value)
                    continue
                lag, ratio, turns_off = (
                    -phase / omega,
                    np.sqrt(squared_magnitude(tone_c) / squared_magnitude(tone_m)),
                    phase / frequency,
                )
                delay_sd = phase_sd / omega * np.sqrt(1.0 + _FREQUENCY_NOISE * turns_off * turns_off)
            out[row, pair, _RATIO], out[row, pair, _RATIO_SD] = ratio, ratio * held[pair, GAIN_SD]
            out[row, pair, _PHASE], out[row, pair, _PHASE_SD] = phase, phase_sd
            out[row, pair, _DELAY], out[row, pair, _DELAY_SD] = lag / sample_rate, delay_sd / sample_rate
            out[row, pair, _DAMPING] = add_damping(np.cos(phase) / ratio, np.sin(phase) / ratio, share)
            out[row, pair, _REASON] = Reason.VALID.value
        at = next_position(at, ring)
