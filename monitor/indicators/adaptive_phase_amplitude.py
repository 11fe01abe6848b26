"""PAEI over a window that is as long as the loop needs and no longer."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.blocks import Samples
from monitor.indicators.adaptive_window import (
    HIGH_C,
    HIGH_M,
    LOW_C,
    LOW_M,
    AdaptiveWindow,
    new_adaptive_window,
    push_sample,
    sum_newest,
    turn_back,
    turn_is_due,
)
from monitor.indicators.base import (
    LARGEST_SAMPLE,
    RATIO_UNIT,
    SIGNAL_UNIT,
    Output,
    Signals,
    WindowedIndicator,
    check_window,
)
from monitor.indicators.chord_reading import read_chords
from monitor.indicators.ellipse_fit import N_SUMS, fit_ellipse
from monitor.indicators.gate import Gate, gate_limits, new_gate, passes
from monitor.indicators.phase_amplitude import write_deviations, write_errors
from monitor.kernel import kernel, part

# of the ellipse's half-width, which the data must span; of the chords' amplitude, which it may span
_SPANNED, _MOST = 1.5, 4.0
# rad, of the phase's standard deviation
_CERTAIN = 0.1
# of the amplitude squared, the command's noise; samples without which noise passes for a loop
_NOISY = 0.05
_FEWEST = 32
# windows that one sample may try; samples that may, in a longest window
_TRIES = 3
_SEARCHES = 128


class AdaptivePhaseAmplitudeError(NamedTuple):
    """As `PhaseAmplitudeError`; ``window`` is the length that was used, s."""

    ratio: float
    amplitude_error: float
    phase: float
    delay: float
    ratio_sd: float
    phase_sd: float
    delay_sd: float
    window: float


class AdaptivePhaseAmplitudeIndices(WindowedIndicator[AdaptivePhaseAmplitudeError]):
    """Phase and amplitude error indices over the adaptive window of the review's Fig. 4, online.

    Parameters
    ----------
    sample_rate : Hz.
    window : s; the longest window that is allowed.
    noise_correction, gate, relative_gate : as in `PhaseAmplitudeIndices`.
    n_pairs, every : see `WindowedIndicator`.

    Notes
    -----
    The first window grows forward in time until the checks hold; every later one ends at the newest sample and
    reaches as far back as they need. The checks are the review's, their thresholds ours: the command spans three
    quarters of the fitted ellipse's width; the angle that the command has turned through, by the chords' frequency,
    is 2 pi or more (the loop's own angle means nothing where it is thin); 4ac - b^2 is positive, or negative by no
    more than a line's is; the fitted centre lies within the data's bounding box. Three are ours altogether, or else
    the noise on a piece of the loop would pass for a loop: in white noise as strong as the window's the phase is
    known to 0.1 rad, the command's noise is less than 22 % of the chords' amplitude, and the command does not span
    more than four of those amplitudes. A window has 32 samples or more.

    With two economies: a search begins at the length found by the last one, instead of at nothing, a quarter of the
    surplus shorter if there was one; where the checks fail it grows by eighths, three lengths a search, and the next
    search goes on, with nothing valid until they hold. And there are 128 searches in a longest window, at every
    `hop`-th sample; between two the values stand. In steady motion that leads to the shortest length at which the
    angle is 2 pi, as the flowchart does.

    One turn in noise says less than several: the phase is three to four times as uncertain as over 2.5 turns. The
    standard deviations are right within a factor of two or so, and mostly too large.
    It costs about 400 bytes a sample of the longest window.

    Attributes
    ----------
    fills_early : values come before the longest window is full.
    """

    outputs = (
        Output("paei_adaptive_ratio", RATIO_UNIT),
        Output("paei_adaptive_amplitude_error", SIGNAL_UNIT, compares=True),
        Output("paei_adaptive_phase", "rad"),
        Output("paei_adaptive_delay", "s"),
        Output("paei_adaptive_ratio_sd", RATIO_UNIT),
        Output("paei_adaptive_phase_sd", "rad"),
        Output("paei_adaptive_delay_sd", "s"),
        Output("paei_adaptive_window", "s"),
    )
    value_type = AdaptivePhaseAmplitudeError
    smallest_window = 8
    fills_early: ClassVar[bool] = True

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
        # samples from one search for a window to the next
        self.hop = max(1, check_window(sample_rate, window, self.smallest_window) // _SEARCHES)
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

    def _new_state(self) -> tuple[AdaptiveWindow, Gate, Samples]:
        n = self.n_pairs
        # what was found at the last search
        standing = np.full((1, n, len(self.outputs)), np.nan)
        return new_adaptive_window(self.n_window, n), new_gate(n), standing

    def _advance(self, signals: Signals, first: int, out: Samples) -> None:
        window, gate, standing = self._state
        settings = (self.hop, self.sample_rate, self._noise_correction, *self._limits)
        # taken apart for the call: handing over a tuple of arrays as one takes 2 us more
        state = (*window, *gate, standing)
        _advance_adaptive(signals.x_c, signals.x_m, first, self.every, out, *settings, *state)


@kernel
def _advance_adaptive(
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
    chord_suffix: Samples,
    chord_prefix: Samples,
    point_suffix: Samples,
    point_prefix: Samples,
    box_suffix: Samples,
    box_prefix: Samples,
    frame: Samples,
    counts: NDArray[np.int64],
    clock: NDArray[np.int64],
    lags: NDArray[np.int64],
    gate_loudest: Samples,
    gate_quietest: Samples,
    gate_began: NDArray[np.int64],
    standing: Samples,
) -> None:
    n_window = ring.shape[2] // 2
    shortest = min(_FEWEST, n_window)
    chord_sum, point_sum, box = np.empty(chord_prefix.shape[1]), np.empty(N_SUMS), np.empty(4)
    # pair by pair: the sums of one lie side by side in memory
    for pair in range(x_c.shape[1]):
        slot, row = clock[0], 0
        until = (-first) % every
        for i in range(x_c.shape[0]):
            give = until == 0
            until = every - 1 if give else until - 1
            c, m = x_c[i, pair], x_m[i, pair]
            if abs(c) < LARGEST_SAMPLE and abs(m) < LARGEST_SAMPLE:
                counts[pair, 0] += 1
            else:
                counts[pair, 0] = counts[pair, 3] = 0
                for j in range(out.shape[2]):
                    standing[0, pair, j] = np.nan
                c, m = ring[pair, 0, slot + n_window - 1], ring[pair, 1, slot + n_window - 1]
            push_sample(
                pair,
                c,
                m,
                ring,
                chord_prefix,
                point_prefix,
                box_prefix,
                frame,
                counts,
                lags,
                slot,
            )
            due = (first + i + pair) % hop == 0
            longest = min(counts[pair, 0], n_window)
            # forward in time while there is no window yet
            length = counts[pair, 3] if counts[pair, 3] > 0 else longest
            tries, settled = 0, False
            while due and tries < _TRIES and not settled and shortest <= length <= longest:
                if turn_is_due(pair, length, counts, lags):
                    turn_back(
                        pair,
                        length,
                        ring,
                        chord_suffix,
                        chord_prefix,
                        point_suffix,
                        point_prefix,
                        box_suffix,
                        box_prefix,
                        frame,
                        counts,
                        lags,
                        slot,
                    )
                sum_newest(
                    pair,
                    length,
                    chord_suffix,
                    chord_prefix,
                    point_suffix,
                    point_prefix,
                    box_suffix,
                    box_prefix,
                    counts,
                    chord_sum,
                    point_sum,
                    box,
                )
                chords = read_chords(chord_sum, lags, lags[-1], length)
                ellipse = fit_ellipse(point_sum, float(length), frame[pair, 2], noise_correction)
                # a turn may be a whole number of samples, but for rounding
                spare = chords.turn_rate * (length - 1) - 2.0 * np.pi + 1e-9
                settled = chords.found and ellipse.found and spare >= 0.0
                gain = np.hypot(chords.in_phase, chords.quadrature)
                settled = settled and chords.sd <= _CERTAIN * gain and chords.noise <= _NOISY
                settled = settled and box[HIGH_C] - box[LOW_C] <= _MOST * chords.amplitude
                settled = settled and holds_ellipse(pair, ellipse.x_0, ellipse.e_0, ellipse.half_width, frame, box)
                tries += 1
                if not settled:
                    # what stops at the longest window begins again at the shortest
                    length = min(length + max(1, length // 8), longest) if length < longest else shortest
            if due:
                for j in range(out.shape[2]):
                    standing[0, pair, j] = np.nan
            if due and (counts[pair, 3] > 0 or settled):
                counts[pair, 3] = length
            if settled:
                surplus = int(spare / chords.turn_rate)
                if surplus > 0:
                    counts[pair, 3] = max(shortest, length - max(1, surplus // 4))
                in_phase, quadrature, amplitude = chords.in_phase, chords.quadrature, chords.amplitude
                if not noise_correction:
                    in_phase = frame[pair, 2] - 0.5 * ellipse.b
                    opening = np.sqrt(max(ellipse.a - 0.25 * ellipse.b * ellipse.b, 0.0))
                    quadrature = opening if quadrature > 0.0 else -opening
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
                if is_open:
                    angular_frequency = chords.turn_rate * sample_rate
                    gain = write_errors(in_phase, quadrature, amplitude, angular_frequency, standing, 0, pair)
                    write_deviations(chords.sd, gain, angular_frequency, standing, 0, pair)
                    standing[0, pair, 7] = length / sample_rate if gain > 0.0 else np.nan
            if give:
                for j in range(out.shape[2]):
                    out[row, pair, j] = standing[0, pair, j]
                row += 1
            slot = slot + 1 if slot + 1 < n_window else 0
    clock[0] = (clock[0] + x_c.shape[0]) % n_window


@part
def holds_ellipse(pair: int, x_0: float, e_0: float, half_width: float, frame: Samples, box: Samples) -> bool:
    """Whether the data spans enough of the ellipse and has its centre, given in the frame, in its bounding box."""
    c_0 = frame[pair, 0] + x_0
    m_0 = frame[pair, 1] + frame[pair, 2] * x_0 + e_0
    spans = box[HIGH_C] - box[LOW_C] >= _SPANNED * half_width
    return bool(spans and box[LOW_C] <= c_0 <= box[HIGH_C] and box[LOW_M] <= m_0 <= box[HIGH_M])
