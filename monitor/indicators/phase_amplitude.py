"""PAEI: phase and amplitude error indices from the ellipse that measured against command draws."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.blocks import Samples
from monitor.indicators.base import LARGEST_SAMPLE, RATIO_UNIT, SIGNAL_UNIT, Output, Signals, WindowedIndicator
from monitor.indicators.ellipse_fit import EE, N_SUMS, XX, E, X, fit_ellipse
from monitor.indicators.ellipse_window import (
    EllipseWindow,
    centred_sweep,
    collect,
    misplaced,
    new_ellipse_window,
    push,
    turn,
)
from monitor.indicators.gate import Gate, gate_limits, new_gate, passes
from monitor.indicators.kernel import kernel
from monitor.indicators.level_crossings import Crossings, crossing_frequency, forget_crossings, new_crossings


class PhaseAmplitudeError(NamedTuple):
    """What PAEI says of one actuator.

    ``ratio`` command/measured (> 1 undershoot); ``amplitude_error`` command - measured amplitude, in the
    signal's unit; ``phase`` rad, positive: measured leads; ``delay`` s, positive: measured lags.
    """

    ratio: float
    amplitude_error: float
    phase: float
    delay: float


class PhaseAmplitudeIndices(WindowedIndicator[PhaseAmplitudeError]):
    """Phase and amplitude error indices (Mirza Hessabi and Mercan 2012), online.

    Parameters
    ----------
    sample_rate : Hz.
    window : s; one cycle or more, 2.5 or more in noise.
    noise_correction : fit so that white noise does not bias phase and ratio; False is the ordinary fit.
    gate, relative_gate : as in `FrequencyDomainIndicator`, for the command's amplitude.
    n_pairs, every : see `WindowedIndicator`.

    Notes
    -----
    Eq. 1 of the review fitted by least squares to the whole window; eq. 2 with the minus that the print
    lost, written so that small phases do not cancel; eq. 3's difference of amplitudes, and their ratio
    beside it. The sign comes from the area that the loop sweeps: clockwise is a lead. A fit costs the same
    however long the window: it needs 15 sums, which slide. Exact without noise, whatever part of the
    last cycle is in the window; delay uses the mean frequency of the command's level crossings.

    An ellipse is what a steady sine draws. While the amplitude changes by more than a few percent a cycle, or where
    a second motion of some size is in the signal, the correction takes the change for noise and reads small
    phases too low: by a third in a free decay with 5 % damping. Trust FDB there.
    """

    outputs = (
        Output("paei_ratio", RATIO_UNIT),
        Output("paei_amplitude_error", SIGNAL_UNIT, compares=True),
        Output("paei_phase", "rad"),
        Output("paei_delay", "s"),
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

    def _new_state(self) -> tuple[EllipseWindow, Crossings, Gate]:
        n, pairs = self.n_window, self.n_pairs
        return new_ellipse_window(n, pairs), new_crossings(n, pairs), new_gate(pairs)

    def _advance(self, signals: Signals, first: int, out: Samples) -> None:
        window, crossings, gate = self._state
        settings = (self.sample_rate, self._noise_correction, *self._limits)
        # taken apart for the call: handing over a tuple of arrays as one takes 2 us more
        _advance_paei(signals.x_c, signals.x_m, first, self.every, out, *settings, *window, *crossings, *gate)


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
    frame: Samples,
    counts: NDArray[np.int64],
    clock: NDArray[np.int64],
    times: Samples,
    ends: NDArray[np.int64],
    side: NDArray[np.int64],
    last: Samples,
    gate_loudest: Samples,
    gate_quietest: Samples,
    gate_began: NDArray[np.int64],
) -> None:
    n_window = ring.shape[1]
    sums = np.empty(N_SUMS)
    row = 0
    until = (-first) % every
    for i in range(x_c.shape[0]):
        give = until == 0
        until = every - 1 if give else until - 1
        for pair in range(x_c.shape[1]):
            c, m = x_c[i, pair], x_m[i, pair]
            if abs(c) < LARGEST_SAMPLE and abs(m) < LARGEST_SAMPLE:
                counts[pair, 0] += 1
            else:
                counts[pair, 0] = 0
                c, m = ring[pair, clock[0] - 1, 0], ring[pair, clock[0] - 1, 1]
                forget_crossings(ends, side, pair)
            push(pair, c, m, ring, suffix, prefix, frame, counts, clock, times, ends, side, last)
            if not give:
                continue
            for j in range(out.shape[2]):
                out[row, pair, j] = np.nan
            if counts[pair, 0] < n_window:
                continue
            collect(pair, suffix, prefix, counts, sums)
            # what leaves and stood far out has bent the frame that the others are seen in
            var_x = sums[XX] / n_window - (sums[X] / n_window) ** 2
            var_e = sums[EE] / n_window - (sums[E] / n_window) ** 2
            outlier = frame[pair, 4] > 16.0 * var_x or frame[pair, 5] > 16.0 * var_e
            frame[pair, 4] = frame[pair, 5] = 0.0
            if (outlier or counts[pair, 2] >= n_window // 8) and misplaced(sums, n_window, frame[pair, 3]):
                turn(pair, ring, suffix, prefix, frame, counts, clock, times, ends, side, last)
                counts[pair, 2] = 0
                collect(pair, suffix, prefix, counts, sums)
            ellipse = fit_ellipse(sums, float(n_window), noise_correction)
            amplitude = ellipse.half_width
            is_open = passes(
                gate_loudest,
                gate_quietest,
                gate_began,
                absolute,
                relative,
                pair,
                amplitude,
                counts[pair, 0],
                n_window,
            )
            if not is_open or not ellipse.found:
                continue
            in_phase = frame[pair, 2] - 0.5 * ellipse.b
            swept = centred_sweep(pair, sums, ring, frame, clock[0])
            turn_rate = 2.0 * np.pi * crossing_frequency(times, ends, pair, float(clock[1] - n_window))
            # half a cycle between two crossings of an arc that is no whole cycle tells no frequency
            turn_rate = turn_rate if turn_rate * n_window > 0.9 * 2.0 * np.pi else np.nan
            if ellipse.resolved:
                quadrature = np.sqrt(max(ellipse.a - 0.25 * ellipse.b * ellipse.b, 0.0))
                quadrature = quadrature if swept < 0.0 else -quadrature
            else:
                # too thin for a fit: the area it sweeps has no bias, but needs frequency and amplitude
                quadrature = -swept / ((n_window - 1) * amplitude * amplitude * np.sin(turn_rate))
                if not np.isfinite(quadrature):
                    continue
            gain = np.sqrt(in_phase * in_phase + quadrature * quadrature)
            if gain <= 1e-12:
                continue
            phase = np.arctan2(quadrature, in_phase)
            out[row, pair, 0] = 1.0 / gain
            out[row, pair, 1] = amplitude * (1.0 - gain)
            out[row, pair, 2] = phase
            out[row, pair, 3] = -phase / (turn_rate * sample_rate)
        clock[0] = clock[0] + 1 if clock[0] + 1 < n_window else 0
        clock[1] += 1
        if give:
            row += 1
