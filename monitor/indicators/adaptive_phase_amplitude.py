"""PAEI over a window that is as long as the loop needs and no longer."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from monitor.indicators.base import RATIO_UNIT, SIGNAL_UNIT, Output, check_window
from monitor.indicators.parts.adaptive_kernel import AdaptiveState
from monitor.indicators.parts.chord_sums import chord_lags
from monitor.indicators.parts.closed_loop import N_ROOMS
from monitor.indicators.parts.gate import gate_limits, new_gate
from monitor.indicators.tracking_pass import ADAPTIVE, PassIndicator

# samples that may search for a window, in a longest one
_SEARCHES = 32


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


class AdaptivePhaseAmplitudeIndices(PassIndicator[AdaptivePhaseAmplitudeError]):
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
        clock, standing = np.zeros(1, dtype=np.int64), np.full((pairs, len(self.outputs)), np.nan)
        work = np.zeros((N_ROOMS, n))
        return AdaptiveState(settings, ring, counts, clock, chord_lags(n), standing, work, *new_gate(pairs))
