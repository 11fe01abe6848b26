"""PAEI over a window that is as long as the loop needs and no longer."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

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
from monitor.indicators.chord_reading import choose_lag
from monitor.indicators.chord_sums import N_SUMS, chord_lags
from monitor.indicators.closed_loop import N_ROOMS, NO_LOOP, close_loop
from monitor.indicators.ellipse_fit import N_SUMS as N_POWERS
from monitor.indicators.gate import gate_limits, new_gate, passes
from monitor.indicators.one_turn import holds_ellipse, is_alike
from monitor.kernel import kernel

# rad, of the phase's standard deviation
_CERTAIN = 0.1
# of the power of measured: in one turn two motions are alike by chance more often than in several
_UNRELATED = 0.05
# samples without which noise passes for a loop
_FEWEST = 32
# windows that one sample may try; samples that may, in a longest window
_TRIES, _SEARCHES = 3, 32
# windows over which the two are to be alike, where so many samples are known
_TURNS = 3
_GOOD, _LENGTH = range(2)


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
    more than a line's is; the fitted centre lies within the data's bounding box. Four are ours altogether, or else
    the noise on a piece of the loop would pass for a loop: the phase is known to 0.1 rad, delay and gain leave at
    most 5 % of the power of measured in the command's band, measured follows the command by that delay over three
    such windows, and the command does not span more than four of the chords' amplitudes. A window has 32 samples or
    more.

    With two economies: a search begins at the length found by the last one, instead of at nothing, half of the
    surplus shorter if there was one; where the checks fail it grows by quarters, three lengths a search and at last
    the newest turn alone, and the next search goes on, with nothing valid until they hold. And there are 32 searches
    in a longest window, at every `hop`-th sample; between two the values stand. In steady motion that leads to the
    shortest length at which the angle is 2 pi, as the flowchart does.

    Delay, ratio and standard deviations are those of `PhaseAmplitudeIndices` (`closed_loop`). One turn in noise says
    less than several: the phase is three to four times as uncertain as over 2.5 turns.

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
    smallest_window = 32
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

    def _new_state(self) -> tuple[Any, ...]:
        n, pairs = self.n_window, self.n_pairs
        # every sample is written twice, so that any window lies in one piece; good samples in a row, and the length
        ring, counts = np.zeros((pairs, 2, 2 * n)), np.zeros((pairs, 2), dtype=np.int64)
        clock, standing = np.zeros(1, dtype=np.int64), np.full((pairs, len(self.outputs)), np.nan)
        return (ring, counts, clock, chord_lags(n), standing, np.zeros((N_ROOMS, n)), *new_gate(pairs))

    def _advance(self, signals: Signals, first: int, out: Samples) -> None:
        settings = (self.hop, self.sample_rate, self._noise_correction, *self._limits)
        _advance_adaptive(signals.x_c, signals.x_m, first, self.every, out, *settings, *self._state)


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
    counts: NDArray[np.int64],
    clock: NDArray[np.int64],
    lags: NDArray[np.int64],
    standing: Samples,
    work: Samples,
    gate_loudest: Samples,
    gate_quietest: Samples,
    gate_began: NDArray[np.int64],
) -> None:
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
            if abs(c) < LARGEST_SAMPLE and abs(m) < LARGEST_SAMPLE:
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
