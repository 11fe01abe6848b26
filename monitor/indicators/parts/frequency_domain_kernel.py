"""Kernel of FDB: readings at every sample, searches of the whole window at intervals."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monitor.indicators.parts.bin_reading import (
    copy_gains,
    delayed_tone,
    drift_tone,
    non_tonal_share,
    read_neighbours,
    read_tone,
    sample_weights,
    squared_magnitude,
    sum_bins,
    tone_gains,
)
from monitor.indicators.parts.deviation import add_chance_agreement, weighted_sum_deviations
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
from monitor.indicators.parts.memory import Cube, IntMatrix, IntVector, Matrix, Vector, open_state
from monitor.indicators.parts.residual import UNRELATED, apply_gain, fit_delayed
from monitor.indicators.parts.sample_loop import (
    advance_row_clock,
    clear_row,
    is_good,
    next_slot,
    start_row_clock,
    store,
    update_gate,
)
from monitor.kernel import kernel
from monitor.messages.blocks import Samples

_MIN_POWER_RATIO = 1e-12
# rad, of the phase: above it no value is valid
_LARGEST_SD = 0.3
# share of the command's power outside the tone, where the offset hides a neighbour of its bin
_MAX_NON_TONAL = 0.02
# Newton steps from the tone's lag to the motion's
_STEPS = 3
# slowest and fastest change of the phase with the delay, relative to the dominant tone's
_SLOWEST, _FASTEST = 0.3, 3.0
# Cramer-Rao bound of a frequency, in cycles a window, over that of a phase, as variances
_FREQUENCY_NOISE = 3.0 / np.pi**2
# held between evaluations: the motion's lag, samples; change of the phase with the lag, relative to the tone's;
# standard deviations of the phase and of the logarithm of the gain; the reading of a drift of measured
LAG, PHASE_RATE, PHASE_SD, GAIN_SD, DRIFT_RE, DRIFT_IM = range(6)
N_HELD = 6
# rows of the work array, see `fit_delayed`
_DELAYED, _SLOPE, _RESIDUAL, _BACKLASH = range(4)
N_WORK_ROWS = 4
# columns of the results
_RATIO, _PHASE, _DELAY, _FREQUENCY, _AMPLITUDE, _RATIO_SD, _PHASE_SD, _DELAY_SD, _DAMPING = range(9)


class FdbState(NamedTuple):
    """The arrays of FDB.

    ``half`` (2, n_bins) and ``circle`` (2, n_window): see `dominant_tone`; ``ring`` (n_pairs, 2, 2 n_window): command
    and measured, written twice so that any window is contiguous; ``bins`` (n_pairs, 4, 8): the tracked bins;
    ``steps`` (n_pairs, 3): largest steps since the last transform; ``clock`` (1,): slot of the next sample; ``good``
    (n_pairs,): consecutive good samples; ``found`` (n_pairs, 2): bin of the peak, and whether the gate is open;
    ``held`` (n_pairs, 6) between evaluations; ``work`` (4, n_window); ``bins_c``, ``bins_m`` (4, 5): see
    `read_neighbours`; ``radices`` .. ``buffers``: `Transform`.
    """

    settings: Vector
    half: Matrix
    circle: Matrix
    ring: Cube
    bins: Cube
    steps: Matrix
    clock: IntVector
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
def advance_fdb(x_c: Samples, x_m: Samples, first: int, every: int, out: Samples, memory: Samples, n: int) -> None:
    """Take samples, (n_samples, n_pairs), and write rows, (n_rows, n_pairs, 9)."""
    (
        settings, half, circle, ring, bins, steps, clock, good, found, held, work, bins_c, bins_m,
        radices, table, chirp, chirp_spectrum, buffers, gate_peak, gate_lowest, gate_start,
    ) = open_fdb(memory, n)  # fmt: skip
    hop, sample_rate = int(settings[0]), settings[1]
    own_peaks, correct, of_motion = settings[2] > 0.0, settings[3] > 0.0, settings[4] > 0.0
    near, far, absolute, relative = settings[5], settings[6], settings[7], settings[8]
    first_bin, low_bin, high_bin = int(settings[9]), int(settings[10]), int(settings[11])
    n_window, n_bins = circle.shape[1], half.shape[1]
    low, high = low_bin - first_bin, high_bin - first_bin
    row_clock = start_row_clock(first, every)
    for i in range(x_c.shape[0]):
        row_clock = advance_row_clock(row_clock, every)
        row_due, row = row_clock.due, row_clock.row
        slot = clock[0]
        begin, end = slot + 1, slot + 1 + n_window
        for pair in range(x_c.shape[1]):
            c, m = x_c[i, pair], x_m[i, pair]
            if is_good(c, m):
                good[pair] += 1
                if good[pair] > n_window:
                    d_c, d_m = c - ring[pair, 0, slot], m - ring[pair, 1, slot]
                    slide_bins(bins[pair], found[pair, 0] - BELOW, circle, d_c, d_m)
                    steps[pair, STEP_C] = max(steps[pair, STEP_C], d_c * d_c)
                    steps[pair, STEP_M] = max(steps[pair, STEP_M], d_m * d_m)
                    steps[pair, SPAN] = max(steps[pair, SPAN], d_c * d_c)
                store(ring, pair, 0, slot, c)
                store(ring, pair, 1, slot, m)
            else:
                good[pair] = 0
            if row_due:
                clear_row(out, row, pair)
            due = (first + i + pair) % hop == 0 or good[pair] == n_window
            if good[pair] < n_window or not (row_due or due):
                continue
            command, measured = ring[pair, 0, begin:end], ring[pair, 1, begin:end]
            if due:
                size_c, size_m, span = transform_both(
                    command, measured, radices, table, chirp, chirp_spectrum, buffers
                )
                unpack_bins(buffers, n_window, first_bin, n_bins, size_c, False)
                found[pair, 0] = first_bin + tapered_peak(buffers[2], buffers[3], low, high, near, far)
                set_bins(bins[pair], found[pair, 0] - BELOW, buffers, n_window, size_c, size_m)
                steps[pair, STEP_C], steps[pair, STEP_M], steps[pair, SPAN] = 0.0, 0.0, span
            k = found[pair, 0]
            read_neighbours(bins[pair], C_RE, near, far, bins_c)
            read_neighbours(bins[pair], M_RE, near, far, bins_m)
            raw_c, raw_m = sum_bins(bins_c), sum_bins(bins_m)
            # no values until the next transform
            if drift_exceeded(steps[pair, STEP_C], squared_magnitude(raw_c)):
                continue
            frequency, sine = tone_between_bins(bins[pair], k - BELOW, k, first_bin, half, circle)
            scale, pole = tone_gains(k - first_bin, first_bin, frequency, sine, half, near, far, n_window, bins_c)
            copy_gains(bins_c, bins_m)
            tone_c = read_tone(bins_c, k, pole, near, far)
            tone_m = read_tone(bins_m, k, pole, near, far)
            if not due:
                tone_m -= complex(held[pair, DRIFT_RE], held[pair, DRIFT_IM])
            amplitude = 2.0 * np.sqrt(squared_magnitude(tone_c)) / abs(scale)
            if due:
                held[pair, LAG], held[pair, DRIFT_RE], held[pair, DRIFT_IM] = np.nan, 0.0, 0.0
                found[pair, 1] = update_gate(
                    gate_peak, gate_lowest, gate_start, absolute, relative, pair, amplitude, good[pair], n_window
                )
            # less than one cycle is not a tone, nor are rounding and leakage of a motion outside the band
            if not (
                found[pair, 1] and frequency > 0.999 and amplitude * amplitude > _MIN_POWER_RATIO * steps[pair, SPAN]
            ):
                continue
            if row_due:
                out[row, pair, _FREQUENCY], out[row, pair, _AMPLITUDE] = frequency * sample_rate / n_window, amplitude
            # below 1e-12 of the command a measured amplitude is rounding of a constant channel
            if squared_magnitude(tone_c) == 0.0 or squared_magnitude(tone_m) <= 1e-24 * squared_magnitude(tone_c):
                continue
            if drift_exceeded(steps[pair, STEP_M], squared_magnitude(raw_m)):
                continue
            product = tone_m * tone_c.conjugate()
            phase, omega = np.arctan2(product.imag, product.real), 2.0 * np.pi * frequency / n_window
            if due:
                lag, phase_rate, start, stop, unexplained, fitted = -phase / omega, 1.0, 0, 0, np.nan, np.nan
                for step in range(_STEPS):
                    last = step == _STEPS - 1
                    if last and abs(lag) < n_window and _SLOWEST <= phase_rate <= _FASTEST:
                        start, stop, unexplained, drift, fitted = fit_delayed(
                            command, measured, lag, work[_DELAYED], work[_SLOPE], work[_RESIDUAL], work[_BACKLASH]
                        )
                        if of_motion and np.isfinite(unexplained):
                            # a drift against the command is not part of the motion
                            drift_reading = drift * n_window * drift_tone(bins_c, k, pole, near, far, half, first_bin)
                            held[pair, DRIFT_RE], held[pair, DRIFT_IM] = drift_reading.real, drift_reading.imag
                            tone_m -= drift_reading
                    if of_motion:
                        before = delayed_tone(bins_c, k, frequency, pole, near, far, lag - 0.5, n_window)
                        after = delayed_tone(bins_c, k, frequency, pole, near, far, lag + 0.5, n_window)
                        delayed = delayed_tone(bins_c, k, frequency, pole, near, far, lag, n_window)
                        product, difference = before * after.conjugate(), tone_m * delayed.conjugate()
                        phase_rate = np.arctan2(product.imag, product.real) / omega
                        lag -= np.arctan2(difference.imag, difference.real) / (
                            min(max(phase_rate, _SLOWEST), _FASTEST) * omega
                        )
                hides_offset = (k == 1 and near != 0.0) or (k == 2 and far != 0.0)
                if (
                    unexplained < UNRELATED
                    and _SLOWEST <= phase_rate <= _FASTEST
                    and not (
                        hides_offset and non_tonal_share(command, tone_c * (1.0 / scale), frequency) > _MAX_NON_TONAL
                    )
                ):
                    held[pair, LAG], held[pair, PHASE_RATE] = lag, phase_rate
                    reading = tone_m if correct else raw_m
                    delayed = delayed_tone(bins_c, k, frequency, pole, near, far, lag, n_window)
                    gain = np.sqrt(squared_magnitude(tone_m) / squared_magnitude(delayed))
                    apply_gain(work[_DELAYED, start:stop], work[_RESIDUAL, start:stop], fitted, gain)
                    sample_weights(
                        work[_DELAYED],
                        work[_SLOPE],
                        start,
                        stop,
                        reading,
                        bins_m,
                        k,
                        pole,
                        near,
                        far,
                        correct,
                        circle,
                    )
                    scatters = weighted_sum_deviations(
                        work[_DELAYED], work[_SLOPE], work[_RESIDUAL], work[_BACKLASH], start, stop
                    )
                    held[pair, PHASE_SD] = add_chance_agreement(scatters[0], unexplained)
                    held[pair, GAIN_SD] = add_chance_agreement(scatters[1], unexplained)
            phase_sd = held[pair, PHASE_SD] / held[pair, PHASE_RATE]
            if not (row_due and np.isfinite(held[pair, LAG]) and phase_sd <= _LARGEST_SD):
                continue
            if of_motion:
                delayed = delayed_tone(bins_c, k, frequency, pole, near, far, held[pair, LAG], n_window)
                difference = tone_m * delayed.conjugate()
                phase_rate = held[pair, PHASE_RATE] * omega
                lag = held[pair, LAG] - np.arctan2(difference.imag, difference.real) / phase_rate
                ratio, phase = np.sqrt(squared_magnitude(delayed) / squared_magnitude(tone_m)), -omega * lag
                delay_sd = phase_sd / omega
            else:
                if not correct:
                    if own_peaks:
                        _, size_m, _ = transform_both(
                            command, measured, radices, table, chirp, chirp_spectrum, buffers
                        )
                        unpack_bins(buffers, n_window, first_bin, n_bins, size_m, True)
                        own = tapered_peak(buffers[2], buffers[3], low, high, near, far)
                        raw_m = tapered(buffers[2], buffers[3], own, near, far)
                    product = raw_m * raw_c.conjugate()
                    phase = np.arctan2(product.imag, product.real)
                    tone_c, tone_m = raw_c, raw_m
                if squared_magnitude(tone_m) == 0.0:
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
            out[row, pair, _DAMPING] = 0.5 * ratio * np.sin(phase)
        clock[0] = next_slot(slot, n_window)
