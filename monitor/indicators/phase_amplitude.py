"""PAEI: phase and amplitude error indices from the ellipse that measured against command draws."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.blocks import Samples
from monitor.indicators.base import LARGEST_SAMPLE, RATIO_UNIT, SIGNAL_UNIT, Output, Signals, WindowedIndicator
from monitor.indicators.chord_reading import read_chords
from monitor.indicators.chord_sums import ChordSums, collect_chords, new_chord_sums, push_chords
from monitor.indicators.ellipse_fit import N_SUMS, fit_ellipse
from monitor.indicators.ellipse_window import (
    EllipseWindow,
    new_ellipse_window,
    push_point,
    sum_points,
    turn_points,
)
from monitor.indicators.gate import Gate, gate_limits, new_gate, passes
from monitor.kernel import kernel, part


class PhaseAmplitudeError(NamedTuple):
    """What PAEI says of one actuator.

    ``ratio`` command/measured (> 1 undershoot); ``amplitude_error`` command - measured amplitude, in the
    signal's unit; ``phase`` rad, positive: measured leads; ``delay`` s, positive: measured lags; ``ratio_sd``,
    ``phase_sd``, ``delay_sd`` their standard deviations in white noise as strong as the window's.
    """

    ratio: float
    amplitude_error: float
    phase: float
    delay: float
    ratio_sd: float
    phase_sd: float
    delay_sd: float


class PhaseAmplitudeIndices(WindowedIndicator[PhaseAmplitudeError]):
    """Phase and amplitude error indices (Mirza Hessabi and Mercan 2012), online.

    Parameters
    ----------
    sample_rate : Hz.
    window : s; one cycle or more, 2.5 or more in noise.
    noise_correction : read the ellipse from products of its chords, which white noise does not bias; False is eq. 1
        of the review with a = 1, by least squares.
    gate, relative_gate : as in `FrequencyDomainIndicator`, for the command's amplitude.
    n_pairs, every : see `WindowedIndicator`.

    Notes
    -----
    Eq. 2 of the review with the minus that the print lost, written so that small phases do not cancel; eq. 3's
    difference of amplitudes, and their ratio beside it. The sign comes from the area that the loop sweeps: clockwise
    is a lead.

    The chords (`chord_sums`, ours) give the ellipse of a sine exactly, whatever part of the last cycle is in the
    window, also while its amplitude grows or decays; they give the frequency of the delay as well. Eq. 1
    of the review by regression (`ellipse_fit`) is exact for a sine, too. In noise its phase is right on average, its
    ratio too small, by 1 % where the noise is 7 % of the command's amplitude; a sine that decays it takes for noise,
    and reads 8 of 12 ms at 5 % damping.

    The standard deviations come from how far the chords are from those of one sine. In white noise they are right
    within a quarter from 2 cycles on; for less they are rough, and mostly too large. In a motion of many frequencies,
    or one that sweeps through many in a window, they are far too small: read the broadband delay there. They are
    the chords', and do not know of the bias of eq. 1.
    """

    outputs = (
        Output("paei_ratio", RATIO_UNIT),
        Output("paei_amplitude_error", SIGNAL_UNIT, compares=True),
        Output("paei_phase", "rad"),
        Output("paei_delay", "s"),
        Output("paei_ratio_sd", RATIO_UNIT),
        Output("paei_phase_sd", "rad"),
        Output("paei_delay_sd", "s"),
    )
    value_type = PhaseAmplitudeError
    smallest_window = 8

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
        super().__init__(
            sample_rate,
            window,
            n_pairs=n_pairs,
            every=every,
            noise_correction=noise_correction,
            gate=gate,
            relative_gate=relative_gate,
        )

    def _new_state(self) -> tuple[ChordSums, EllipseWindow, Gate]:
        n, pairs = self.n_window, self.n_pairs
        # without the ordinary fit its window stays empty
        points = new_ellipse_window(n, 0 if self._noise_correction else pairs)
        return new_chord_sums(n, pairs), points, new_gate(pairs)

    def _advance(self, signals: Signals, first: int, out: Samples) -> None:
        chords, points, gate = self._state
        settings = (self.sample_rate, self._noise_correction, *self._limits)
        # taken apart for the call: handing over a tuple of arrays as one takes 2 us more
        _advance_paei(signals.x_c, signals.x_m, first, self.every, out, *settings, *chords, *points, *gate)


@kernel
def _advance_paei(
    x_c: Samples,
    x_m: Samples,
    first: int,
    every: int,
    out: Samples,
    sample_rate: float,
    noise_correction: bool,
    absolute: float,
    relative: float,
    ring: Samples,
    suffix: Samples,
    prefix: Samples,
    counts: NDArray[np.int64],
    clock: NDArray[np.int64],
    lags: NDArray[np.int64],
    point_suffix: Samples,
    point_prefix: Samples,
    frame: Samples,
    point_counts: NDArray[np.int64],
    gate_loudest: Samples,
    gate_quietest: Samples,
    gate_began: NDArray[np.int64],
) -> None:
    n_window = ring.shape[2] // 2
    chord_sum, point_sum = np.empty(prefix.shape[1]), np.empty(N_SUMS)
    # pair by pair: the sums of one lie side by side in memory
    for pair in range(x_c.shape[1]):
        slot, number, row = clock[0], clock[1], 0
        until = (-first) % every
        for i in range(x_c.shape[0]):
            give = until == 0
            until = every - 1 if give else until - 1
            c, m = x_c[i, pair], x_m[i, pair]
            if abs(c) < LARGEST_SAMPLE and abs(m) < LARGEST_SAMPLE:
                counts[pair, 0] += 1
            else:
                counts[pair, 0] = 0
                c, m = ring[pair, 0, slot + n_window - 1], ring[pair, 1, slot + n_window - 1]
            if not noise_correction:
                push_point(pair, c, m, ring, point_prefix, frame, point_counts, slot, number)
            push_chords(pair, c, m, ring, suffix, prefix, counts, lags, slot, number)
            if not noise_correction and point_counts[pair, 0] == 0:
                turn_points(pair, ring, point_suffix, point_prefix, frame, point_counts, slot, number)
            if give:
                for j in range(out.shape[2]):
                    out[row, pair, j] = np.nan
            if give and counts[pair, 0] >= n_window:
                collect_chords(pair, suffix, prefix, counts[pair, 1], chord_sum)
                chords = read_chords(chord_sum, lags, lags[0], n_window)
                in_phase, quadrature, amplitude = chords.in_phase, chords.quadrature, chords.amplitude
                if not noise_correction:
                    sum_points(pair, ring, point_suffix, point_prefix, frame, point_counts, slot, number, point_sum)
                    ellipse = fit_ellipse(point_sum, float(n_window), frame[pair, 2], False)
                    in_phase = frame[pair, 2] - 0.5 * ellipse.b
                    opening = np.sqrt(max(ellipse.a - 0.25 * ellipse.b * ellipse.b, 0.0))
                    quadrature = opening if quadrature > 0.0 else -opening
                    amplitude = ellipse.half_width
                known = chords.found and np.isfinite(in_phase + quadrature + amplitude)
                if known and passes(
                    gate_loudest,
                    gate_quietest,
                    gate_began,
                    absolute,
                    relative,
                    pair,
                    amplitude,
                    counts[pair, 0],
                    n_window,
                ):
                    angular_frequency = chords.turn_rate * sample_rate
                    gain = write_errors(in_phase, quadrature, amplitude, angular_frequency, out, row, pair)
                    write_deviations(chords.sd, gain, angular_frequency, out, row, pair)
            row += give
            slot = slot + 1 if slot + 1 < n_window else 0
            number += 1
    clock[0] = (clock[0] + x_c.shape[0]) % n_window
    clock[1] += x_c.shape[0]


@part
def write_errors(
    in_phase: float,
    quadrature: float,
    amplitude: float,
    angular_frequency: float,
    out: Samples,
    row: int,
    pair: int,
) -> float:
    """Write ratio, amplitude error, phase and delay; return measured over command, NaN when there is no measured."""
    gain = np.hypot(in_phase, quadrature)
    if not gain > 1e-12:
        return np.nan
    phase = np.arctan2(quadrature, in_phase)
    out[row, pair, 0] = 1.0 / gain
    out[row, pair, 1] = amplitude * (1.0 - gain)
    out[row, pair, 2] = phase
    out[row, pair, 3] = -phase / angular_frequency
    return float(gain)


@part
def write_deviations(sd: float, gain: float, angular_frequency: float, out: Samples, row: int, pair: int) -> None:
    """Write the standard deviations of ratio, phase and delay, of a gain with `sd` in both its parts."""
    out[row, pair, 4] = sd / gain / gain
    out[row, pair, 5] = sd / gain
    out[row, pair, 6] = sd / gain / angular_frequency
