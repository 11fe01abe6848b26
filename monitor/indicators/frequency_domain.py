"""FDB: phase error, delay and amplitude ratio at the command's dominant frequency."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.catalogue import CATALOGUE
from monitor.indicators.base import PassIndicator, check_window
from monitor.indicators.parts.dominant_tone import N_TRACKED, TAPERS, choose_bins, half_angles, turns_of
from monitor.indicators.parts.fourier import new_transform
from monitor.indicators.parts.frequency_domain_kernel import N_HELD, N_WORK_ROWS, FdbState
from monitor.indicators.parts.memory import FDB
from monitor.indicators.parts.sample_loop import gate_limits, new_gate

# looks at the whole window while it slides by its length
_EVALUATIONS = 8


class FrequencyDomainValues(NamedTuple):
    """What FDB says of one actuator.

    ``ratio`` command/measured (> 1 undershoot); ``phase`` rad, positive: measured leads; ``delay`` s,
    positive: measured lags; ``frequency`` Hz, the command's dominant one; ``amplitude`` of the command there;
    ``ratio_sd``, ``phase_sd`` rad, ``delay_sd`` s: one standard deviation; ``added_damping``: damping ratio that
    the error adds to an elastic specimen, negative where the measured signal lags.
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


class FrequencyDomainIndicator(PassIndicator[FrequencyDomainValues]):
    """Frequency-domain-based error indicators (Mirza Hessabi and Mercan), made exact for a steady tone.

    Parameters
    ----------
    sample_rate : Hz.
    window : s; hold 2.5 cycles or more of the slowest motion of interest, never less than one.
    band : (low, high) Hz in which the dominant frequency is sought; by default up to a tenth of the sample rate.
    peak : ``"command"`` reads both signals at the command's peak bin; ``"own"`` reads each at its own peak,
        as the paper prints it: when the two peaks fall in neighbouring bins the phase is off by about pi.
    taper : under which the peak is sought and read. Hann's falls off fastest: keep it where other motions are near.
    image_correction : take the tone's image and the lost offset out, as the notes say; otherwise the bin is read as
        it stands, the textbook's form. Readings at own peaks are not corrected.
    delay_of : ``"motion"`` is the delay at which the command's bin would agree with the measured one; ``"tone"``
        divides the bin's phase by the tone's frequency, as the paper prints it: on an earthquake a tenth too small or
        too large. Readings that are not corrected are always of the tone.
    gate : smallest command amplitude, in the signal's unit, for which a value is given.
    relative_gate : the same as a fraction of the largest command amplitude that has lasted two windows.
    n_pairs, every : see `WindowedIndicator`.

    Notes
    -----
    Eqs. 4 and 5 of the review, with three corrections: both signals are read at the command's peak bin;
    the phase is measured minus command, so that a lead is positive; and the image of the tone at the negative
    frequency is taken out at the tone's own frequency, which lies between the bins. Without noise the result
    is then exact from one cycle in the window on, whatever the start phase, the offsets and the taper. Frequency and
    amplitude are exact in every form.

    A tapered bin of an earthquake holds many frequencies near its own, and the motion of the window's two ends. A
    delay turns it by the bin's own effective frequency, w_eff = Im(C'/C), C' being the same bin of the command's
    derivative, and to second order by something else. So the delay is found as the one by which the command must be
    delayed, under its taper, for its bin to have the phase of the measured one (`delayed_bin`, ours): exact for any
    motion, and of a steady tone the same as phase over frequency. The ratio is that of the command so delayed, which
    in a decay is not that at one instant, and the phase that of the delay at the dominant frequency.

    The standard deviations come from what no delay and gain of the command explains in the measured signal
    (`residual`), whatever its colour. Where more than 30 % of the power in its band is left, or the phase is
    uncertain by 0.3 rad, the two have nothing to do with each other and nothing is valid but frequency and
    amplitude: they are the command's alone, and are given as long as it has a motion. So it is with a motion of one
    cycle a window that is no tone: no bin is free of the offset.

    The peak bin, the gate, the standard deviations and the rate at which the phase follows the delay are looked for
    eight times a window, at every `hop`-th sample, in a transform of the whole window; from there on the bins around
    the peak are followed from sample to sample (`tracked_bins`) and read at each. Where a spike of a million times
    the motion goes, nothing is valid until the next look.

    Added damping (ours): a specimen of stiffness k that is moved by g A cos(wt + phase) instead of A cos(wt) takes
    E = integral of k x_m dx_c = pi k g A^2 sin(phase) a cycle; over 4 pi times its strain energy k g^2 A^2/2 that is
    ``sin(phase) / (2 g) = ratio sin(phase) / 2``. A lag feeds energy into the test.
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
        self._limits = gate_limits(gate, relative_gate)
        n_window = check_window(sample_rate, window, self.smallest_window)
        self._bins = choose_bins(n_window, sample_rate, band)
        # samples from one look at the whole band to the next
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
        )

    def new_arrays(self) -> FdbState:
        """Return the arrays as they begin."""
        n, pairs = self.n_window, self.n_pairs
        arrays: list[NDArray[Any]] = [
            np.array([self.hop, self.sample_rate, *self._reading, *self._limits, *self._bins], np.float64),
            *(half_angles(n, self._bins), turns_of(n), np.zeros((pairs, 2, 2 * n))),
            *(np.zeros((pairs, 4, N_TRACKED)), np.zeros((pairs, 3))),
            *(np.zeros(1, np.int64), np.zeros(pairs, np.int64), np.zeros((pairs, 2), np.int64)),
            *(np.zeros((pairs, N_HELD)), np.zeros((N_WORK_ROWS, n))),
            *new_transform(n),
            *new_gate(pairs),
        ]
        return FdbState(*arrays)
