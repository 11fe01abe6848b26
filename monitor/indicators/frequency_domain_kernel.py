"""The kernel of FDB: what it reads at every sample, and what it looks for in the whole window now and then."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from monitor.blocks import Samples
from monitor.indicators.base import LARGEST_SAMPLE
from monitor.indicators.bin_reading import impurity, square_of, weigh_samples
from monitor.indicators.delayed_bin import (
    N_ROWS,
    NEIGHBOURS,
    copy_gains,
    delayed_tone,
    present_tone,
    read_neighbours,
    tone_gains,
    tone_of_drift,
    whole_reading,
)
from monitor.indicators.dominant_tone import tone_between_bins
from monitor.indicators.fractional_lag import WEIGHTS
from monitor.indicators.gate import passes
from monitor.indicators.residual import UNRELATED, fit_delayed, scatter_of_sums, take_gain, with_chance
from monitor.indicators.sliding_spectrum import (
    COMMAND,
    MEASURED,
    add_sample,
    advance_clock,
    begin_pair,
    is_worn,
    renew,
)
from monitor.indicators.tapers import tapered_peak
from monitor.kernel import kernel

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
# what is held from look to look: the motion's lag, samples; how fast it turns the phase, over the tone's frequency;
# standard deviations of the phase and of the logarithm of the gain; what a drift of measured adds to its
# reading
LAG, PACE, PHASE_SD, GAIN_SD, DRIFT_RE, DRIFT_IM = range(6)
N_HELD = 6
# rows of the work array: the window of both signals, and what a fit makes of them
_C, _M, _LATER, _SLOPE, _REST, _BENT = range(6)
N_ROOMS = 6
# columns of the results
_RATIO, _PHASE, _DELAY, _FREQUENCY, _AMPLITUDE, _RATIO_SD, _PHASE_SD, _DELAY_SD, _DAMPING = range(9)


@kernel
def advance_fdb(
    x_c: Samples,
    x_m: Samples,
    first: int,
    every: int,
    out: Samples,
    hop: int,
    sample_rate: float,
    own_peaks: bool,
    correct: bool,
    of_motion: bool,
    near: float,
    far: float,
    absolute: float,
    relative: float,
    first_bin: int,
    low_bin: int,
    high_bin: int,
    last_bin: int,
    steps: Samples,
    factors: Samples,
    turns: Samples,
    half: Samples,
    ring: Samples,
    sums: Samples,
    loudest: Samples,
    age: NDArray[np.int64],
    clock: NDArray[np.int64],
    good: NDArray[np.int64],
    found: NDArray[np.int64],
    held: Samples,
    work: Samples,
    gate_loudest: Samples,
    gate_quietest: Samples,
    gate_began: NDArray[np.int64],
) -> None:
    """Take samples, write rows; the arguments are those of `FrequencyDomainIndicator` and its state."""
    n_window = ring.shape[1]
    low, high = low_bin - first_bin, high_bin - first_bin
    power = np.zeros(last_bin - first_bin + 1)
    bins_c, bins_m = np.empty((N_ROWS, NEIGHBOURS)), np.empty((N_ROWS, NEIGHBOURS))
    row = 0
    until = (-first) % every
    for i in range(x_c.shape[0]):
        give = until == 0
        until = every - 1 if give else until - 1
        turn = turns[0, clock[0]], turns[1, clock[0]]
        for pair in range(x_c.shape[1]):
            c, m = x_c[i, pair], x_m[i, pair]
            if abs(c) < LARGEST_SAMPLE and abs(m) < LARGEST_SAMPLE:
                good[pair] += 1
                if good[pair] == 1:
                    begin_pair(pair, c, m, ring, sums, loudest)
                add_sample(pair, clock[0], c, m, factors, ring, sums, loudest)
            else:
                good[pair] = 0
            age[pair] += 1
            if give:
                for j in range(out.shape[2]):
                    out[row, pair, j] = np.nan
            due = (first + i + pair) % hop == 0 or good[pair] == n_window
            if good[pair] < n_window or not (give or due):
                continue
            if due:
                found[pair, 0] = tapered_peak(sums, pair, COMMAND, low, high, turn, near, far, power)
            peak = found[pair, 0]
            read_neighbours(sums, pair, COMMAND, peak, steps, factors, near, far, bins_c)
            read_neighbours(sums, pair, MEASURED, peak, steps, factors, near, far, bins_m)
            raw_c, raw_m = whole_reading(bins_c), whole_reading(bins_m)
            if is_worn(pair, square_of(raw_c), square_of(raw_m), loudest, age, n_window):
                renew(pair, steps, ring, sums, loudest, age)
                if due:
                    peak = found[pair, 0] = tapered_peak(sums, pair, COMMAND, low, high, turn, near, far, power)
                read_neighbours(sums, pair, COMMAND, peak, steps, factors, near, far, bins_c)
                read_neighbours(sums, pair, MEASURED, peak, steps, factors, near, far, bins_m)
                raw_c, raw_m = whole_reading(bins_c), whole_reading(bins_m)
            frequency, sine = tone_between_bins(sums, pair, COMMAND, peak, first_bin, turn, half, factors, n_window)
            scale, pole = tone_gains(peak, first_bin, frequency, sine, half, near, far, n_window, bins_c)
            copy_gains(bins_c, bins_m)
            k = first_bin + peak
            tone_c = present_tone(bins_c, k, pole, near, far)
            tone_m = present_tone(bins_m, k, pole, near, far)
            if not due:
                tone_m -= complex(held[pair, DRIFT_RE], held[pair, DRIFT_IM])
            amplitude = 2.0 * np.sqrt(square_of(tone_c)) / abs(scale)
            if due:
                held[pair, LAG], held[pair, DRIFT_RE], held[pair, DRIFT_IM] = np.nan, 0.0, 0.0
                found[pair, 1] = passes(
                    gate_loudest, gate_quietest, gate_began, absolute, relative, pair, amplitude, good[pair], n_window
                )
            # less than one cycle is no tone, nor is what rounding and leakage leave of a motion outside the band
            if not (found[pair, 1] and frequency > 0.999 and amplitude * amplitude > _TRACE * loudest[pair, 2]):
                continue
            if give:
                out[row, pair, _FREQUENCY], out[row, pair, _AMPLITUDE] = frequency * sample_rate / n_window, amplitude
            # below 1e-12 of the command a measured amplitude is the rounding of a dead channel
            if square_of(tone_c) == 0.0 or square_of(tone_m) <= 1e-24 * square_of(tone_c):
                continue
            turned = tone_m * tone_c.conjugate()
            phase, angular = np.arctan2(turned.imag, turned.real), 2.0 * np.pi * frequency / n_window
            if due:
                lag, pace, start, stop, share, fitted = -phase / angular, 1.0, 0, 0, np.nan, np.nan
                for step in range(_STEPS):
                    last = step == _STEPS - 1
                    if last and abs(lag) < n_window and _SLOWEST <= pace <= _FASTEST:
                        _lay_out(ring, pair, clock[0], work)
                        start, stop, share, drift, fitted = fit_delayed(
                            work[_C], work[_M], lag, WEIGHTS, work[_LATER], work[_SLOPE], work[_REST], work[_BENT]
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
                    and not (hides_offset and impurity(work[_C], tone_c * (1.0 / scale), frequency) > _IMPURE)
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
                        own = tapered_peak(sums, pair, MEASURED, low, high, turn, near, far, power)
                        read_neighbours(sums, pair, MEASURED, own, steps, factors, near, far, bins_m)
                        raw_m = whole_reading(bins_m)
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
        advance_clock(steps, factors, clock, n_window)
        if give:
            row += 1


@kernel
def _lay_out(ring: Samples, pair: int, newest: int, work: Samples) -> None:
    """Copy the window of both signals in one piece, oldest first."""
    n = ring.shape[1]
    older = n - 1 - newest
    for t in range(older):
        work[_C, t], work[_M, t] = ring[pair, newest + 1 + t, 0], ring[pair, newest + 1 + t, 1]
    for t in range(newest + 1):
        work[_C, older + t], work[_M, older + t] = ring[pair, t, 0], ring[pair, t, 1]
