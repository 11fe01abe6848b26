"""PAEI: phase and amplitude error indices from the ellipse that measured against command draws.

Over a fixed window, and over one that is as long as the loop needs and no longer.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from monitor.catalogue import CATALOGUE
from monitor.indicators.base import check_window
from monitor.indicators.parts.adaptive_kernel import AdaptiveState
from monitor.indicators.parts.chords import chord_lags, new_chord_sums
from monitor.indicators.parts.closed_loop import N_WORK_ROWS
from monitor.indicators.parts.ellipse import new_ellipse_window
from monitor.indicators.parts.gate import gate_limits, new_gate
from monitor.indicators.parts.phase_amplitude_kernel import N_HELD, PaeiState
from monitor.indicators.tracking_pass import ADAPTIVE, PAEI, PassIndicator

# looks at the whole window while it slides by its length
_EVALUATIONS = 8


class PhaseAmplitudeValues(NamedTuple):
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


class PhaseAmplitudeIndices(PassIndicator[PhaseAmplitudeValues]):
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

    The chords (`chords`, ours) give the ellipse of a sine exactly, whatever part of the last cycle is in the
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

    Eq. 1 of the review by regression (`ellipse`) is exact for a sine, too. In noise its phase is right on
    average, its ratio too small, by 1 % where the noise is 7 % of the command's amplitude; a sine that decays it
    takes for noise, and reads 8 of 12 ms at 5 % damping. Its delay is its phase over the chords' angular frequency.
    The standard deviations beside it are those of the closed loop, and do not know of its bias.
    """

    outputs = CATALOGUE["paei"].outputs
    value_type = PhaseAmplitudeValues
    smallest_window = 32
    part = PAEI

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
        self.hop = max(1, check_window(sample_rate, window, self.smallest_window) // _EVALUATIONS)
        super().__init__(
            sample_rate,
            window,
            n_pairs=n_pairs,
            every=every,
            noise_correction=noise_correction,
            gate=gate,
            relative_gate=relative_gate,
        )

    def new_arrays(self) -> PaeiState:
        """Return the arrays as they begin."""
        n, pairs = self.n_window, self.n_pairs
        settings = np.array([self.hop, self.sample_rate, self._noise_correction, *self._limits], dtype=np.float64)
        # without eq. 1 its window stays empty
        points = new_ellipse_window(n, 0 if self._noise_correction else pairs)
        held, work = np.zeros((pairs, N_HELD)), np.zeros((N_WORK_ROWS, n))
        return PaeiState(settings, *new_chord_sums(n, pairs), *points, held, work, *new_gate(pairs))


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
