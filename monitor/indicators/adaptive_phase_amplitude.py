"""PAEI over an adaptive window: the shortest that holds one turn of the loop.

A window must also show that the two signals are correlated by more than chance.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from monitor.catalogue import CATALOGUE
from monitor.indicators.base import PassIndicator, check_window
from monitor.indicators.parts.chords import N_SUMS, choose_lag, chord_lags
from monitor.indicators.parts.ellipse import N_SUMS as N_POWERS
from monitor.indicators.parts.ellipse import add_powers, fit_ellipse
from monitor.indicators.parts.loop_lag import N_WORK_ROWS, NO_LOOP, close_loop
from monitor.indicators.parts.memory import ADAPTIVE, Cube, IntMatrix, IntVector, Matrix, Vector, open_state
from monitor.indicators.parts.residual import UNRELATED
from monitor.indicators.parts.sample_loop import (
    gate_limits,
    is_good,
    new_gate,
    next_sample,
    next_slot,
    start_rows,
    store,
    update_gate,
    write_row,
)
from monitor.kernel import kernel, reduction
from monitor.messages.blocks import Samples

# samples that may search for a window, in a longest one
_SEARCHES = 32


class AdaptivePhaseAmplitudeValues(NamedTuple):
    """As `PhaseAmplitudeValues`; ``window`` is the length that was used, s."""

    ratio: float
    amplitude_error: float
    phase: float
    delay: float
    ratio_sd: float
    phase_sd: float
    delay_sd: float
    window: float


class AdaptivePhaseAmplitudeIndices(PassIndicator[AdaptivePhaseAmplitudeValues]):
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
    more than a line's is; the fitted centre lies within the data's bounding box. Four are ours altogether, or else
    the noise on a piece of the loop would pass for a loop: the phase is known to 0.1 rad, delay and gain leave at
    most 5 % of the power of measured in the command's band, measured follows the command by that delay over three
    such windows, and the command does not span more than four of the chords' amplitudes. A window has 32 samples or
    more.

    With two economies: a search begins at the length found by the last one, instead of at nothing, half of the
    surplus shorter if there was one; where the checks fail it grows by quarters, three lengths a search and at last
    the newest turn alone, and the next search goes on, with nothing valid until they hold. And there are 32 searches
    in a longest window, at every `hop`-th sample; between two the values are held. In steady motion that leads to the
    shortest length at which the angle is 2 pi, as the flowchart does.

    Delay, ratio and standard deviations are those of `PhaseAmplitudeIndices` (`closed_loop`). One turn in noise says
    less than several: the phase is three to four times as uncertain as over 2.5 turns.

    Attributes
    ----------
    fills_early : values come before the longest window is full.
    """

    outputs = CATALOGUE["paei_adaptive"].outputs
    value_type = AdaptivePhaseAmplitudeValues
    smallest_window = 32
    part = ADAPTIVE
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

    def new_arrays(self) -> AdaptiveState:
        """Return the arrays as they begin."""
        n, pairs = self.n_window, self.n_pairs
        settings = np.array([self.hop, self.sample_rate, self._noise_correction, *self._limits], dtype=np.float64)
        ring, counts = np.zeros((pairs, 2, 2 * n)), np.zeros((pairs, 2), dtype=np.int64)
        clock, held = np.zeros(1, dtype=np.int64), np.full((pairs, len(self.outputs)), np.nan)
        work = np.zeros((N_WORK_ROWS, n))
        return AdaptiveState(settings, ring, counts, clock, chord_lags(n), held, work, *new_gate(pairs))


# of the ellipse's half-width, which the data must span; of the chords' amplitude, which it may span
_SPANNED, _MOST = 1.5, 4.0


@reduction
def is_alike(c: Samples, m: Samples, lag: int) -> bool:
    """Whether measured follows the command by `lag` samples also over more than one turn, and not by chance."""
    first, n = max(lag, 0), c.shape[0] - abs(lag)
    if n < 2:
        return False
    earlier, later = c[first - lag : first - lag + n], m[first : first + n]
    # a line is taken out of both: what drifts is no part of the motion
    middle, sum_c, sum_m, tilt_c, tilt_m, cc, cm, mm = 0.5 * (n - 1), 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for t in range(n):
        x, y, at = earlier[t] - earlier[0], later[t] - later[0], t - middle
        sum_c, sum_m, tilt_c, tilt_m = sum_c + x, sum_m + y, tilt_c + at * x, tilt_m + at * y
        cc, cm, mm = cc + x * x, cm + x * y, mm + y * y
    per_sample, per_tilt = 1.0 / n, 12.0 / (n * (n * float(n) - 1.0))
    cc -= per_sample * sum_c * sum_c + per_tilt * tilt_c * tilt_c
    cm -= per_sample * sum_c * sum_m + per_tilt * tilt_c * tilt_m
    mm -= per_sample * sum_m * sum_m + per_tilt * tilt_m * tilt_m
    return bool(cm * cm >= (1.0 - UNRELATED) * cc * mm)


@reduction
def holds_ellipse(
    c: Samples, m: Samples, amplitude: float, noise_correction: bool, powers: Samples
) -> tuple[bool, float, float, float, float]:
    """Whether the points draw an ellipse, span enough of it and have its centre in their bounding box.

    Returns
    -------
    holds : that.
    slope, a, b, half_width : of the frame and of the conic in it, see `fit_ellipse`.
    """
    n = c.shape[0]
    low_c, high_c, low_m, high_m, mean_c, mean_m = c[0], c[0], m[0], m[0], 0.0, 0.0
    for t in range(n):
        low_c, high_c, low_m, high_m = min(c[t], low_c), max(c[t], high_c), min(m[t], low_m), max(m[t], high_m)
        mean_c, mean_m = mean_c + (c[t] - c[0]), mean_m + (m[t] - m[0])
    mean_c, mean_m = c[0] + mean_c / n, m[0] + mean_m / n
    square = common = 0.0
    for t in range(n):
        square += (c[t] - mean_c) * (c[t] - mean_c)
        common += (c[t] - mean_c) * (m[t] - mean_m)
    slope = common / square if square > 0.0 else 0.0
    for j in range(N_POWERS):
        powers[0, j] = 0.0
    for t in range(n):
        x = c[t] - mean_c
        add_powers(x, m[t] - mean_m - slope * x, powers, 0)
    ellipse = fit_ellipse(powers[0], float(n), slope, noise_correction)
    c_0, m_0 = mean_c + ellipse.x_0, mean_m + slope * ellipse.x_0 + ellipse.e_0
    holds = ellipse.found and _SPANNED * ellipse.half_width <= high_c - low_c <= _MOST * amplitude
    holds = bool(holds and low_c <= c_0 <= high_c and low_m <= m_0 <= high_m)
    return holds, slope, ellipse.a, ellipse.b, ellipse.half_width


# rad, of the phase's standard deviation
_CERTAIN = 0.1
# of the power of measured: in one turn two motions are alike by chance more often than in several
_UNRELATED = 0.05
# samples without which noise update_gate for a loop
_FEWEST = 32
# windows that one sample may try
_TRIES = 3
# windows over which the two are to be alike, where so many samples are known
_TURNS = 3
_GOOD, _LENGTH = range(2)


class AdaptiveState(NamedTuple):
    """The arrays of the adaptive PAEI.

    ``ring`` (n_pairs, 2, 2 n_window): command and measured, written twice so that any window lies in one piece;
    ``counts`` (n_pairs, 2): good samples in a row, and the window's length; ``clock`` (1,): slot of the sample that
    comes next; ``lags``: see `ChordSums`; ``held`` (n_pairs, 8): the newest values; ``work`` (n_rooms, n_window).
    """

    settings: Vector
    ring: Cube
    counts: IntMatrix
    clock: IntVector
    lags: IntVector
    held: Matrix
    work: Matrix
    gate_peak: Vector
    gate_lowest: Vector
    gate_start: IntVector


open_adaptive = open_state(AdaptiveState)


@kernel
def advance_adaptive(x_c: Samples, x_m: Samples, first: int, every: int, out: Samples, state: AdaptiveState) -> None:
    """Take samples, (n_samples, n_pairs), and write rows, (n_rows, n_pairs, 8)."""
    settings, ring, counts, clock, lags, held, work, gate_peak, gate_lowest, gate_start = state
    hop, sample_rate, noise_correction = int(settings[0]), settings[1], settings[2] > 0.0
    absolute, relative = settings[3], settings[4]
    n_window = ring.shape[2] // 2
    shortest = min(_FEWEST, n_window)
    sums, powers = np.empty(N_SUMS), np.empty((1, N_POWERS))
    # pair by pair: what belongs to one lies side by side in memory
    for pair in range(x_c.shape[1]):
        slot, rows_clock = clock[0], start_rows(first, every)
        for i in range(x_c.shape[0]):
            rows_clock = next_sample(rows_clock, every)
            give, row = rows_clock.due, rows_clock.row
            c, m = x_c[i, pair], x_m[i, pair]
            if is_good(c, m):
                counts[pair, _GOOD] += 1
            else:
                counts[pair, _GOOD] = counts[pair, _LENGTH] = 0
                for j in range(out.shape[2]):
                    held[pair, j] = np.nan
                c, m = ring[pair, 0, slot + n_window - 1], ring[pair, 1, slot + n_window - 1]
            store(ring, pair, 0, slot, c)
            store(ring, pair, 1, slot, m)
            due = (first + i + pair) % hop == 0
            longest = min(counts[pair, _GOOD], n_window)
            # forward in time while there is no window yet
            length = counts[pair, _LENGTH] if counts[pair, _LENGTH] > 0 else longest
            grown, tries, settled, surplus = length, 0, False, 0
            in_phase = quadrature = amplitude = turn_rate = lag = 0.0
            loop = NO_LOOP
            while due and tries <= _TRIES and not settled and shortest <= length <= longest:
                newest = slot + n_window + 1
                oldest = newest - length
                k, lag, chords = choose_lag(pair, ring, oldest, length, lags, sums)
                # a turn may be a whole number of samples, but for rounding
                spare = chords.turn_rate * (length - 1) - 2.0 * np.pi + 1e-9
                surplus = int(spare / chords.turn_rate) if spare > 0.0 else 0
                if k > 0 and spare >= 0.0:
                    piece_c, piece_m = ring[pair, 0, oldest:newest], ring[pair, 1, oldest:newest]
                    amplitude, turn_rate = chords.amplitude, chords.turn_rate
                    settled, slope, a, b, half_width = holds_ellipse(
                        piece_c, piece_m, amplitude, noise_correction, powers
                    )
                    if settled:
                        loop = close_loop(piece_c, piece_m, k, lag, turn_rate, _UNRELATED, work)
                        turn_rate = loop.turn_rate
                        settled = loop.found and loop.lag_sd * turn_rate <= _CERTAIN
                    if settled:
                        before = newest - min(longest, _TURNS * length)
                        piece_c, piece_m = ring[pair, 0, before:newest], ring[pair, 1, before:newest]
                        settled = is_alike(piece_c, piece_m, int(np.rint(loop.lag)))
                    if not noise_correction:
                        amplitude, in_phase = half_width, slope - 0.5 * b
                        quadrature = np.sqrt(max(a - 0.25 * b * b, 0.0)) * (-1.0 if loop.lag > 0.0 else 1.0)
                tries += 1
                if not settled and tries < _TRIES:
                    # what stops at the longest window begins again at the shortest
                    grown = min(grown + max(1, grown // 4), longest) if grown < longest else shortest
                    length = grown
                elif not settled:
                    # at last the newest turn alone: what is older may be what spoils it
                    length = length - surplus if surplus > 0 else 0
            if due:
                for j in range(out.shape[2]):
                    held[pair, j] = np.nan
            if settled:
                counts[pair, _LENGTH] = max(shortest, length - max(1, surplus // 2)) if surplus > 0 else length
            elif due and counts[pair, _LENGTH] > 0:
                counts[pair, _LENGTH] = min(grown + max(1, grown // 4), longest) if grown < longest else shortest
            if settled:
                gain, lag = loop.gain, loop.lag
                if not noise_correction:
                    gain, lag = np.hypot(in_phase, quadrature), -np.arctan2(quadrature, in_phase) / turn_rate
                is_open = update_gate(
                    gate_peak, gate_lowest, gate_start, absolute, relative, pair, amplitude,
                    counts[pair, _GOOD], n_window,
                )  # fmt: skip
                if is_open and gain > 1e-12 and np.isfinite(gain + lag + amplitude):
                    held[pair, 0], held[pair, 1] = 1.0 / gain, amplitude * (1.0 - gain)
                    held[pair, 2], held[pair, 3] = -turn_rate * lag, lag / sample_rate
                    held[pair, 4] = loop.gain_sd / gain
                    held[pair, 5] = np.hypot(loop.lag_sd * turn_rate, loop.rate_sd * lag)
                    held[pair, 6], held[pair, 7] = loop.lag_sd / sample_rate, length / sample_rate
            if give:
                write_row(out, row, pair, held)
            slot = next_slot(slot, n_window)
    clock[0] = (clock[0] + x_c.shape[0]) % n_window
