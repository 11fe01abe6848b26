"""FDB: phase error, delay and amplitude ratio at the command's dominant frequency."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.catalogue import CATALOGUE
from monitor.indicators.base import PassIndicator, check_window
from monitor.indicators.parts.added_damping import check_share
from monitor.indicators.parts.bin_reading import N_ROWS, NEIGHBOURS
from monitor.indicators.parts.dominant_tone import N_TRACKED, TAPERS, choose_bins, half_angles, unit_circle
from monitor.indicators.parts.fourier import new_transform
from monitor.indicators.parts.frequency_domain_kernel import FdbState
from monitor.indicators.parts.frequency_domain_look import N_HELD, N_WORK_ROWS, REASON
from monitor.indicators.parts.memory import FDB
from monitor.indicators.parts.sample_loop import gate_limits, new_gate, new_held

# transforms of the whole window while it slides by its length
_EVALUATIONS = 8


class FrequencyDomainValues(NamedTuple):
    """Values of FDB for one actuator.

    ``ratio`` command/measured (> 1 undershoot); ``phase`` rad, positive: measured leads; ``delay`` s,
    positive: measured lags; ``frequency`` Hz, the command's dominant one; ``amplitude`` of the command there;
    ``ratio_sd``, ``phase_sd`` rad, ``delay_sd`` s: one standard deviation; ``added_damping``: damping ratio that
    the error of an elastic specimen adds to the structure, per unit of the specimen's share of the stiffness unless
    that is given; negative where the measured signal lags; ``reason``: `Reason` of no value.
    """

    ratio: float
    phase: float
    delay: float
    frequency: float
    amplitude: float
    ratio_sd: float
    phase_sd: float
    delay_sd: float
    added_damping: float
    reason: float


class FrequencyDomainIndicator(PassIndicator[FrequencyDomainValues]):
    """Frequency-domain-based error indicators (Mirza Hessabi and Mercan), exact for a steady tone.

    Parameters
    ----------
    sample_rate : Hz.
    window : s; 2.5 cycles or more of the slowest motion of interest, and never less than one.
    band : (low, high) Hz that is searched for the dominant frequency; by default up to a tenth of the sample rate.
    peak : ``"command"`` reads both signals at the command's peak bin; ``"own"`` reads each at its own peak,
        as printed in the paper: when the two peaks are in neighbouring bins the phase is wrong by about pi.
    taper : window function of the spectrum. The side lobes of Hann's fall off fastest: the best choice where other
        motions are near.
    image_correction : remove the tone's negative-frequency image and the offset, as described below; otherwise the
        bin is read directly, as in textbooks. Readings at own peaks are not corrected.
    delay_of : ``"motion"`` is the delay of the command at which its bin agrees with the measured one; ``"tone"``
        divides the bin's phase by the tone's frequency, as printed in the paper: in an earthquake a tenth too small
        or too large. Uncorrected readings are always of the tone.
    gate : smallest command amplitude, in the signal's unit, with a valid value.
    relative_gate : likewise, as a fraction of the largest command amplitude sustained for two windows.
    share : the specimen's share of the structure's stiffness, for the added damping; None: it is per unit of share.
    n_pairs, every : see `WindowedIndicator`.

    Notes
    -----
    Eqs. 4 and 5 of the review, with three corrections: both signals are read at the command's peak bin; the phase is
    measured minus command, so that a lead is positive; and the tone's image at the negative frequency is removed at
    the tone's own frequency, which lies between the bins. Without noise the result is then exact from one cycle in
    the window on, whatever the start phase, the offsets and the taper. Frequency and amplitude are exact in all
    variants.

    A tapered bin of an earthquake contains many frequencies, and the motion at the window's two ends. A delay rotates
    it by the bin's effective frequency, w_eff = Im(C'/C), with C' the same bin of the command's derivative, and to
    second order by more than that. The delay is therefore the one of the command, under its taper, at which its bin
    has the phase of the measured one (`bin_reading`, ours): exact for any motion, and for a steady tone equal to
    phase over frequency. The phase is that of the delay at the dominant frequency. The ratio is the paper's, |C|/|M|
    at one instant: in a motion of delay tau that decays or grows as exp(s t) it is exp(s tau) times the actuator's,
    which `broadband_ratio` is. While the delay drifts by r a second, measured is a tone of the frequency f (1 - r):
    its bin is read at that.

    The standard deviations come from the residual of the fit of measured by the delayed command (`residual`),
    whatever its colour. Where the unexplained share of the measured power in the command's band exceeds 30 %, or the
    standard deviation of the phase 0.3 rad, the signals are unrelated and only frequency and amplitude, which are the
    command's alone, are valid. So it is for a motion of one cycle a window that is not a tone: no bin is free of the
    offset.

    The peak bin, the gate, the standard deviations and the change of the phase with the delay are updated eight times
    a window, at every `hop`-th sample, from a transform of the whole window; in between the bins around the peak are
    tracked (`dominant_tone`) and read at each sample. When a spike of a million times the motion leaves the window,
    nothing is valid until the next transform.

    Added damping (ours, `loop_damping`): ``sin(phase) / (2 ratio)`` per unit of `share`, to first order; with it
    ``share sin(phase) / ratio / (2 (1 - share + share cos(phase) / ratio))``. A lag takes damping away.
    """

    outputs = CATALOGUE["fdb"].outputs
    value_type = FrequencyDomainValues
    smallest_window = 32
    part = FDB

    def __init__(
        self,
        sample_rate: float,
        window: float = 2.0,
        *,
        band: tuple[float, float] | None = None,
        peak: Literal["command", "own"] = "command",
        taper: Literal["hann", "hamming", "blackman", "rectangular"] = "hann",
        image_correction: bool = True,
        delay_of: Literal["motion", "tone"] = "motion",
        gate: float = 0.0,
        relative_gate: float = 0.02,
        share: float | None = None,
        n_pairs: int = 1,
        every: int = 1,
    ) -> None:
        if peak not in ("command", "own"):
            raise ValueError(f"peak = {peak!r}: must be 'command' or 'own'")
        if taper not in TAPERS:
            raise ValueError(f"taper = {taper!r}: must be one of {', '.join(TAPERS)}")
        if delay_of not in ("motion", "tone"):
            raise ValueError(f"delay_of = {delay_of!r}: must be 'motion' or 'tone'")
        own = peak == "own"
        correct = bool(image_correction) and not own
        self._reading = (own, correct, correct and delay_of == "motion", *TAPERS[taper])
        self._limits, self._share = gate_limits(gate, relative_gate), check_share(share)
        n_window = check_window(sample_rate, window, self.smallest_window)
        self._bins = choose_bins(n_window, sample_rate, band)
        # samples between transforms
        self.hop = max(1, n_window // _EVALUATIONS)
        super().__init__(
            sample_rate,
            window,
            n_pairs=n_pairs,
            every=every,
            band=band,
            peak=peak,
            taper=taper,
            image_correction=image_correction,
            delay_of=delay_of,
            gate=gate,
            relative_gate=relative_gate,
            share=share,
        )

    def new_arrays(self) -> FdbState:
        """Return the initial arrays."""
        n, pairs = self.n_window, self.n_pairs
        arrays: list[NDArray[Any]] = [
            np.array(
                [self.hop, self.sample_rate, *self._reading, *self._limits, *self._bins[:3], self._share], float
            ),
            *(half_angles(n, self._bins), unit_circle(n)),
            *(np.zeros((pairs, 4, N_TRACKED)), np.zeros((pairs, 3))),
            *(np.zeros(pairs, np.int64), np.zeros((pairs, 2), np.int64)),
            *(new_held(pairs, N_HELD, REASON), np.zeros((N_WORK_ROWS, n))),
            *np.zeros((2, N_ROWS, NEIGHBOURS)),
            *new_transform(n),
            *new_gate(pairs),
        ]
        return FdbState(*arrays)
