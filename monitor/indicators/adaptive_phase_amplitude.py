"""PAEI over an adaptive window: the shortest that holds one cycle of the loop.

Eqs. 1 to 3 and Fig. 4 of the review (Mirza Hessabi and Mercan 2015). In numpy, for a window:
`reference.phase_amplitude`. Settings: `PhaseAmplitudeSettings`. The kernel searches the cycle 32 times in a longest
window (`_search_cycle`), and looks at it (`_look`); nothing slides.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from monitor.catalogue import CATALOGUE
from monitor.config.analysis import PhaseAmplitudeSettings
from monitor.indicators.base import PassIndicator
from monitor.indicators.parts import memory as kinds
from monitor.indicators.parts.chords import N_SUMS, choose_lag, chord_lags
from monitor.indicators.parts.ellipse import N_SUMS as N_POWERS
from monitor.indicators.parts.ellipse import add_powers, fit_ellipse
from monitor.indicators.parts.loop_lag import LARGEST_SD, N_WORK_ROWS, NO_LOOP, LoopLag, find_loop_lag, no_loop_reason
from monitor.indicators.parts.memory import ADAPTIVE, open_state
from monitor.indicators.parts.sample_loop import (
    advance_row_clock,
    is_good,
    new_gate,
    next_position,
    start_row_clock,
    update_gate,
    write_row,
)
from monitor.kernel import inlined, kernel, reduction
from monitor.messages.blocks import Samples
from monitor.messages.reasons import Reason


class AdaptivePhaseAmplitudeValues(NamedTuple):
    """As `PhaseAmplitudeValues`; ``window`` is the length of the window, s; it precedes ``reason``."""

    ratio: float
    amplitude_error: float
    phase: float
    delay: float
    ratio_sd: float
    phase_sd: float
    delay_sd: float
    window: float
    reason: float


class AdaptivePhaseAmplitudeIndices(PassIndicator[AdaptivePhaseAmplitudeValues]):
    """Phase and amplitude error indices over the adaptive window of a cycle, online.

    Parameters
    ----------
    sample_rate : Hz.
    window : s; the longest window.
    n_pairs, every : see `WindowedIndicator`.
    options : fields of `PhaseAmplitudeSettings`.

    Notes
    -----
    The first window grows forward until the criteria are met; every later one extends back as far as they require.
    The criteria are those of Fig. 4 of Mirza Hessabi and Mercan 2015, with our thresholds: the command spans three
    quarters of the fitted ellipse's width; the angle of the command, by the chords' frequency, is 2 pi or more (the
    loop's own angle is undefined where it is thin); 4ac - b^2 is positive, or negative within the margin of a line;
    the fitted centre lies within the data's bounding box. Three are ours, against noise on a part of the loop: the
    standard deviation of the phase is at most 0.3 rad, the two signals are related over three such windows, and the
    command does not span more than four of the chords' amplitudes. A window has 32 samples or more.

    Two economies: a search starts at the length found by the last one, less half of the surplus if there was one;
    where the criteria fail it grows by quarters, three lengths a search and finally the newest cycle alone, and the
    next search continues, with nothing valid until they are met. There are 32 searches in a longest window, at every
    `hop`-th sample; in between the values are held. In steady motion that finds the shortest length at which the
    angle is 2 pi, as the flowchart does.

    Delay and ratio are those of `PhaseAmplitudeIndices` (`loop_lag`). One cycle hides what it does not know: it fits
    noise of a long memory, another actuator's motion, a drift, and in a sweep a lag that is a whole cycle off. The
    standard deviations, and a drift, which is taken out, are therefore from the residual of three windows, where
    there are as many. The phase's standard deviation is three to four times that of 2.5 cycles in white noise, more
    while delay or gain change.

    Attributes
    ----------
    fills_early : values come before the longest window is full.
    """

    outputs = CATALOGUE["paei_adaptive"].outputs
    value_type = AdaptivePhaseAmplitudeValues
    settings: PhaseAmplitudeSettings = PhaseAmplitudeSettings()
    smallest_window = 32
    part = ADAPTIVE
    evaluations = 32
    fills_early: ClassVar[bool] = True

    def new_arrays(self) -> AdaptiveState:
        """Return the initial arrays."""
        n, pairs, settings = self.n_window, self.n_pairs, self.settings
        held = np.tile(self.no_values(Reason.FILLING), (pairs, 1))
        return AdaptiveState(
            self.hop, self.sample_rate, settings.noise_correction, settings.gate, settings.relative_gate,
            np.zeros((pairs, 2), np.int64), chord_lags(n), held,
            np.zeros((N_WORK_ROWS, n)), np.zeros(N_SUMS), np.zeros((1, N_POWERS)), *new_gate(pairs),
        )  # fmt: skip


# least span of the data over the ellipse's half-width; largest over the chords' amplitude
_MIN_SPAN, _MAX_SPAN = 1.5, 4.0


@reduction
def fits_ellipse(
    c: Samples, m: Samples, amplitude: float, noise_correction: bool, powers: Samples
) -> tuple[bool, float, float, float, float]:
    """Whether the points form an ellipse, span enough of it and have its centre in their bounding box.

    Returns
    -------
    fits : whether they do.
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
    fits = ellipse.found and _MIN_SPAN * ellipse.half_width <= high_c - low_c <= _MAX_SPAN * amplitude
    fits = bool(fits and low_c <= c_0 <= high_c and low_m <= m_0 <= high_m)
    return fits, slope, ellipse.a, ellipse.b, ellipse.half_width


# fewer samples of noise may form a loop by chance
_MIN_SAMPLES = 32
# lengths tried by one search
_MAX_TRIES = 3
# windows, where available, from which the standard deviations are
_TURNS = 3
_GOOD, _LENGTH = range(2)
# column of the results
_REASON = 8


class AdaptiveState(NamedTuple):
    """Settings and arrays of the adaptive PAEI.

    ``hop`` samples; ``absolute``, ``relative``: gate; ``counts`` (n_pairs, 2): consecutive good samples, and the
    window's length; ``lags``: see `ChordSums`; ``held`` (n_pairs, 9): the newest values; ``work`` (N_WORK_ROWS,
    n_window), ``sums`` and ``powers``: overwritten.
    """

    hop: kinds.Count
    sample_rate: kinds.Number
    noise_correction: kinds.Flag
    absolute: kinds.Number
    relative: kinds.Number
    counts: kinds.IntMatrix
    lags: kinds.IntVector
    held: kinds.Matrix
    work: kinds.Matrix
    sums: kinds.Vector
    powers: kinds.Matrix
    gate_peak: kinds.Vector
    gate_lowest: kinds.Vector
    gate_start: kinds.IntVector


open_adaptive = open_state(AdaptiveState)


@kernel
def advance_adaptive(
    x_c: Samples, x_m: Samples, columns: kinds.IntMatrix, first: int, every: int, out: Samples, memory: Samples,
    n: int, ring: Samples, at: int,
) -> None:  # fmt: skip
    """Process samples, (n_samples, n_channels), the first at `at` in the ring; write rows, (n_rows, n_pairs, 9)."""
    state = open_adaptive(memory, n)
    hop, counts, begin = state.hop, state.counts, at
    # pair by pair, because the data of one are contiguous
    for pair in range(columns.shape[1]):
        at, row_clock = begin, start_row_clock(first, every)
        for i in range(x_c.shape[0]):
            row_clock = advance_row_clock(row_clock, every)
            if is_good(x_c[i, columns[0, pair]], x_m[i, columns[1, pair]]):
                counts[pair, _GOOD] += 1
            else:
                counts[pair, _GOOD] = counts[pair, _LENGTH] = 0
                state.held[pair, :] = np.nan
                state.held[pair, _REASON] = Reason.BAD_SAMPLE.value
            if (first + i + pair) % hop == 0:
                _look(state, pair, ring, at)
            if row_clock.due:
                write_row(out, row_clock.row, pair, state.held)
            at = next_position(at, ring)


@inlined
def _look(state: AdaptiveState, pair: int, ring: Samples, at: int) -> None:
    """Search the newest cycle, and hold its values, or the reason of none."""
    held, newest, n_window = state.held[pair], at + 1, state.work.shape[1]
    longest = min(state.counts[pair, _GOOD], n_window)
    found = _search_cycle(state, pair, ring, newest, longest)
    absolute, relative, gate_peak = state.absolute, state.relative, state.gate_peak
    whole_c, whole_m = ring[pair, 0, newest - longest : newest], ring[pair, 1, newest - longest : newest]
    _decline(held, found.reason, n_window, whole_c, whole_m, max(absolute, relative * gate_peak[pair]))
    if not found.accepted:
        return
    loop, omega = found.loop, found.omega
    is_open = update_gate(
        gate_peak, state.gate_lowest, state.gate_start, absolute, relative, pair, found.amplitude,
        state.counts[pair, _GOOD], n_window,
    )  # fmt: skip
    if not (is_open and found.gain > 1e-12 and np.isfinite(found.gain + found.lag + found.amplitude)):
        held[_REASON] = Reason.CONSTANT.value if is_open else Reason.GATE.value
        return
    sample_rate = state.sample_rate
    held[0], held[1] = 1.0 / found.gain, found.amplitude * (1.0 - found.gain)
    held[2], held[3] = -omega * found.lag, found.lag / sample_rate
    held[4] = loop.gain_sd / found.gain
    held[5] = np.hypot(loop.lag_sd * omega, loop.rate_sd * found.lag)
    held[6], held[7] = loop.lag_sd / sample_rate, found.length / sample_rate
    held[_REASON] = Reason.VALID.value


class _Cycle(NamedTuple):
    """The newest cycle, where one is accepted; else the reason.

    ``loop``: its lag; ``amplitude`` of the command; ``gain`` measured over command, ``lag`` in samples: the ellipse's
    without noise correction; ``omega`` rad a sample; ``length`` samples.
    """

    accepted: bool
    reason: int
    loop: LoopLag
    amplitude: float
    gain: float
    lag: float
    omega: float
    length: int


@inlined
def _search_cycle(state: AdaptiveState, pair: int, ring: Samples, newest: int, longest: int) -> _Cycle:
    """Search the newest cycle at the length of the last one and at others; keep the length for the next search."""
    noise_correction, shortest = state.noise_correction, min(_MIN_SAMPLES, state.work.shape[1])
    kept = state.counts[pair, _LENGTH]
    # grows forward in time while there is no window
    length = kept if kept > 0 else longest
    grown, tries, accepted, surplus = length, 0, False, 0
    amplitude = omega = gain = lag = 0.0
    loop, reason = NO_LOOP, Reason.FEW_CYCLES.value
    while tries <= _MAX_TRIES and not accepted and shortest <= length <= longest:
        oldest = newest - length
        k, lag, chords = choose_lag(pair, ring, oldest, length, state.lags, state.sums)
        # a cycle may be a whole number of samples, up to rounding
        spare = chords.omega * (length - 1) - 2.0 * np.pi + 1e-9
        surplus = int(spare / chords.omega) if spare > 0.0 else 0
        if k > 0 and spare >= 0.0:
            piece_c, piece_m = ring[pair, 0, oldest:newest], ring[pair, 1, oldest:newest]
            amplitude, omega = chords.amplitude, chords.omega
            accepted, slope, a, b, half_width = fits_ellipse(
                piece_c, piece_m, amplitude, noise_correction, state.powers
            )
            reason = Reason.NO_TONE.value
            if accepted:
                known = min(longest, _TURNS * length)
                piece_c, piece_m = ring[pair, 0, newest - known : newest], ring[pair, 1, newest - known : newest]
                loop = find_loop_lag(piece_c, piece_m, known - length, k, lag, omega, state.work)
                omega, gain, lag = loop.omega, loop.gain, loop.lag
                accepted = loop.found and loop.lag_sd * omega <= LARGEST_SD
                reason = Reason.UNCERTAIN.value if loop.found else loop.reason
            if not noise_correction:
                in_phase, opening = slope - 0.5 * b, np.sqrt(max(a - 0.25 * b * b, 0.0))
                amplitude, gain = half_width, np.hypot(in_phase, opening)
                lag = np.arctan2(opening if loop.lag > 0.0 else -opening, in_phase) / omega
        tries += 1
        if not accepted and tries < _MAX_TRIES:
            # after the longest window the search restarts at the shortest
            grown = min(grown + max(1, grown // 4), longest) if grown < longest else shortest
            length = grown
        elif not accepted:
            # finally the newest cycle alone, in case older samples are the cause
            length = length - surplus if surplus > 0 else 0
    if accepted:
        state.counts[pair, _LENGTH] = max(shortest, length - max(1, surplus // 2)) if surplus > 0 else length
    elif kept > 0:
        state.counts[pair, _LENGTH] = min(grown + max(1, grown // 4), longest) if grown < longest else shortest
    return _Cycle(accepted, reason, loop, amplitude, gain, lag, omega, length)


@inlined
def _decline(held: Samples, reason: int, n_window: int, c: Samples, m: Samples, least: float) -> None:
    """Clear the values of a pair, (9,), for a reason: while the window fills, the one before."""
    held[:_REASON] = np.nan
    waiting = held[_REASON] == Reason.FILLING.value or held[_REASON] == Reason.BAD_SAMPLE.value
    if reason != Reason.FEW_CYCLES.value:
        held[_REASON] = reason
    elif not (waiting and c.shape[0] < n_window):
        held[_REASON] = no_loop_reason(c, m, least)
