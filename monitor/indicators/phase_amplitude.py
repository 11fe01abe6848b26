"""PAEI: phase and amplitude error indices from the ellipse that measured against command draws."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.blocks import Samples
from monitor.indicators.base import (
    LARGEST_SAMPLE,
    RATIO_UNIT,
    SIGNAL_UNIT,
    Output,
    Signals,
    WindowedIndicator,
    check_window,
)
from monitor.indicators.chord_reading import choose_lag, read_chords
from monitor.indicators.chord_sums import (
    GOOD,
    LAG,
    N_SUMS,
    SHIFT,
    ChordSums,
    collect_chords,
    n_groups,
    new_chord_sums,
    push_chords,
    turn_chords,
)
from monitor.indicators.closed_loop import LARGEST_SD, N_ROOMS, close_loop
from monitor.indicators.ellipse_fit import N_SUMS as N_POWERS
from monitor.indicators.ellipse_fit import fit_ellipse
from monitor.indicators.ellipse_window import (
    EllipseWindow,
    new_ellipse_window,
    push_point,
    sum_points,
    turn_points,
)
from monitor.indicators.gate import Gate, gate_limits, new_gate, passes
from monitor.indicators.residual import UNRELATED
from monitor.kernel import kernel

# looks at the whole window while it slides by its length
_LOOKS = 8
# what is held from look to look, see `ClosedLoop`
PACE, SLOPE, BEND, LAG_SD, GAIN_SD, RATE_SD, OPEN = range(7)
N_HELD = 7


class PhaseAmplitudeError(NamedTuple):
    """What PAEI says of one actuator.

    ``ratio`` command/measured (> 1 undershoot); ``amplitude_error`` command - measured amplitude, in the
    signal's unit; ``phase`` rad, positive: measured leads; ``delay`` s, positive: measured lags; ``ratio_sd``,
    ``phase_sd``, ``delay_sd`` their standard deviations.
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
    window, also while its amplitude grows or decays; they give the angular frequency as well. Of a motion of several
    frequencies they weigh each differently in phase and in frequency, and the delay is wrong by a tenth and more.
    So eight times a window, at every `hop`-th sample, the command is delayed until the loop closes (`closed_loop`,
    ours), which is exact for any motion; in between the chords of measured against the command so delayed, to the
    nearest sample, say how delay and ratio go on. The phase is that of the delay at the chords' angular frequency.
    The ratio is that of the command so delayed, which in a decay is not that at one instant.

    The standard deviations come from what no delay and gain of the command explains in the measured signal
    (`residual`), whatever its colour; the phase's holds that of the chords' frequency, too. Where more than 30 % of
    the power in the command's band is left, or the phase is uncertain by 0.3 rad, the two have nothing to do with
    each other and nothing is valid.

    Eq. 1 of the review by regression (`ellipse_fit`) is exact for a sine, too. In noise its phase is right on
    average, its ratio too small, by 1 % where the noise is 7 % of the command's amplitude; a sine that decays it
    takes for noise, and reads 8 of 12 ms at 5 % damping. Its delay is its phase over the chords' angular frequency.
    The standard deviations beside it are those of the closed loop, and do not know of its bias.
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
    smallest_window = 32

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
        self.hop = max(1, check_window(sample_rate, window, self.smallest_window) // _LOOKS)
        super().__init__(
            sample_rate,
            window,
            n_pairs=n_pairs,
            every=every,
            noise_correction=noise_correction,
            gate=gate,
            relative_gate=relative_gate,
        )

    def _new_state(self) -> tuple[ChordSums, EllipseWindow, Samples, Samples, Gate]:
        n, pairs = self.n_window, self.n_pairs
        # without eq. 1 its window stays empty
        points = new_ellipse_window(n, 0 if self._noise_correction else pairs)
        return new_chord_sums(n, pairs), points, np.zeros((pairs, N_HELD)), np.zeros((N_ROOMS, n)), new_gate(pairs)

    def _advance(self, signals: Signals, first: int, out: Samples) -> None:
        chords, points, held, work, gate = self._state
        settings = (self.hop, self.sample_rate, self._noise_correction, *self._limits)
        # taken apart for the call: handing over a tuple of arrays as one takes 2 us more
        state = (*chords, *points, held, work, *gate)
        _advance_paei(signals.x_c, signals.x_m, first, self.every, out, *settings, *state)


@kernel
def _advance_paei(
    x_c: Samples,
    x_m: Samples,
    first: int,
    every: int,
    out: Samples,
    hop: int,
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
    held: Samples,
    work: Samples,
    gate_loudest: Samples,
    gate_quietest: Samples,
    gate_began: NDArray[np.int64],
) -> None:
    n_window = ring.shape[2] // 2
    chord_sum, point_sum = np.empty(N_SUMS), np.empty(N_POWERS)
    # pair by pair: the sums of one lie side by side in memory
    for pair in range(x_c.shape[1]):
        slot, number, row = clock[0], clock[1], 0
        until = (-first) % every
        for i in range(x_c.shape[0]):
            give = until == 0
            until = every - 1 if give else until - 1
            c, m = x_c[i, pair], x_m[i, pair]
            if abs(c) < LARGEST_SAMPLE and abs(m) < LARGEST_SAMPLE:
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
                for j in range(out.shape[2]):
                    out[row, pair, j] = np.nan
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
                    held[pair, OPEN] = passes(
                        gate_loudest, gate_quietest, gate_began, absolute, relative, pair, amplitude,
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
            row += give
            slot = slot + 1 if slot + 1 < n_window else 0
            number += 1
    clock[0] = (clock[0] + x_c.shape[0]) % n_window
    clock[1] += x_c.shape[0]
