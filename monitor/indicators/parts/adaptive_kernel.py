"""The kernel of the adaptive PAEI: the search for the shortest window that holds a turn of the loop."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.indicators.parts.chord_reading import choose_lag
from monitor.indicators.parts.chord_sums import N_SUMS
from monitor.indicators.parts.closed_loop import NO_LOOP, close_loop
from monitor.indicators.parts.ellipse_fit import N_SUMS as N_POWERS
from monitor.indicators.parts.gate import passes
from monitor.indicators.parts.good_samples import is_good
from monitor.indicators.parts.memory import cube, matrix, vector
from monitor.indicators.parts.one_turn import holds_ellipse, is_alike
from monitor.kernel import kernel, part
from monitor.messages.blocks import Samples

# rad, of the phase's standard deviation
_CERTAIN = 0.1
# of the power of measured: in one turn two motions are alike by chance more often than in several
_UNRELATED = 0.05
# samples without which noise passes for a loop
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
    comes next; ``lags``: see `ChordSums`; ``standing`` (n_pairs, 8): the newest values; ``work`` (n_rooms, n_window).
    """

    settings: Samples
    ring: Samples
    counts: NDArray[np.int64]
    clock: NDArray[np.int64]
    lags: NDArray[np.int64]
    standing: Samples
    work: Samples
    gate_loudest: Samples
    gate_quietest: Samples
    gate_began: NDArray[np.int64]


@part
def open_adaptive(memory: Samples, words: NDArray[np.int64], n: int) -> AdaptiveState:
    """Return the arrays from number `n` on."""
    return AdaptiveState(
        vector(memory, words, n),
        cube(memory, words, n + 1),
        matrix(words, words, n + 2),
        vector(words, words, n + 3),
        vector(words, words, n + 4),
        matrix(memory, words, n + 5),
        matrix(memory, words, n + 6),
        vector(memory, words, n + 7),
        vector(memory, words, n + 8),
        vector(words, words, n + 9),
    )


@kernel
def advance_adaptive(x_c: Samples, x_m: Samples, first: int, every: int, out: Samples, state: AdaptiveState) -> None:
    """Take samples, (n_samples, n_pairs), and write rows, (n_rows, n_pairs, 8)."""
    settings, ring, counts, clock, lags, standing, work, gate_loudest, gate_quietest, gate_began = state
    hop, sample_rate, noise_correction = int(settings[0]), settings[1], settings[2] > 0.0
    absolute, relative = settings[3], settings[4]
    n_window = ring.shape[2] // 2
    shortest = min(_FEWEST, n_window)
    sums, powers = np.empty(N_SUMS), np.empty((1, N_POWERS))
    # pair by pair: what belongs to one lies side by side in memory
    for pair in range(x_c.shape[1]):
        slot, row = clock[0], 0
        until = (-first) % every
        for i in range(x_c.shape[0]):
            give = until == 0
            until = every - 1 if give else until - 1
            c, m = x_c[i, pair], x_m[i, pair]
            if is_good(c, m):
                counts[pair, _GOOD] += 1
            else:
                counts[pair, _GOOD] = counts[pair, _LENGTH] = 0
                for j in range(out.shape[2]):
                    standing[pair, j] = np.nan
                c, m = ring[pair, 0, slot + n_window - 1], ring[pair, 1, slot + n_window - 1]
            ring[pair, 0, slot] = ring[pair, 0, slot + n_window] = c
            ring[pair, 1, slot] = ring[pair, 1, slot + n_window] = m
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
                    standing[pair, j] = np.nan
            if settled:
                counts[pair, _LENGTH] = max(shortest, length - max(1, surplus // 2)) if surplus > 0 else length
            elif due and counts[pair, _LENGTH] > 0:
                counts[pair, _LENGTH] = min(grown + max(1, grown // 4), longest) if grown < longest else shortest
            if settled:
                gain, lag = loop.gain, loop.lag
                if not noise_correction:
                    gain, lag = np.hypot(in_phase, quadrature), -np.arctan2(quadrature, in_phase) / turn_rate
                is_open = passes(
                    gate_loudest, gate_quietest, gate_began, absolute, relative, pair, amplitude,
                    counts[pair, _GOOD], n_window,
                )  # fmt: skip
                if is_open and gain > 1e-12 and np.isfinite(gain + lag + amplitude):
                    standing[pair, 0], standing[pair, 1] = 1.0 / gain, amplitude * (1.0 - gain)
                    standing[pair, 2], standing[pair, 3] = -turn_rate * lag, lag / sample_rate
                    standing[pair, 4] = loop.gain_sd / gain
                    standing[pair, 5] = np.hypot(loop.lag_sd * turn_rate, loop.rate_sd * lag)
                    standing[pair, 6], standing[pair, 7] = loop.lag_sd / sample_rate, length / sample_rate
            if give:
                for j in range(out.shape[2]):
                    out[row, pair, j] = standing[pair, j]
                row += 1
            slot = slot + 1 if slot + 1 < n_window else 0
    clock[0] = (clock[0] + x_c.shape[0]) % n_window
