"""FDB: phase error and amplitude ratio at the command's dominant frequency."""

from __future__ import annotations

from typing import Literal, NamedTuple

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
from monitor.indicators.dominant_tone import tone_between_bins
from monitor.indicators.gate import Gate, gate_limits, new_gate, passes
from monitor.indicators.incoherent_power import N_BINS, incoherent_power
from monitor.indicators.sliding_spectrum import (
    COMMAND,
    MEASURED,
    Spectrum,
    add_sample,
    advance_clock,
    begin_pair,
    choose_bins,
    is_worn,
    new_spectrum,
    renew,
)
from monitor.indicators.tapers import TAPERS, from_start, gains_at, tapered, tapered_peak
from monitor.kernel import kernel, part

_TRACE = 1e-12
# rad, of the phase: beyond it nothing is known
_LARGEST_SD = 0.5
# looks at the whole band in a window
_LOOKS = 128
# variance of a frequency in cycles a window over that of a phase, where both are as small as they can be
_FREQUENCY_NOISE = 3.0 / np.pi**2


class FrequencyDomainError(NamedTuple):
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


class FrequencyDomainIndicator(WindowedIndicator[FrequencyDomainError]):
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

    The standard deviations are of the random error, from what the measured signal holds beside the tone that the
    command does not explain (`incoherent_power`); NaN where a short window leaves no bin to look at. Where that of
    the phase is over 0.5 rad, as it is of noise alone, nothing is valid but frequency and amplitude: they are the
    command's alone, and are given as long as it has a motion.

    The peak bin, the gate and what is unexplained are looked for 128 times a window, at every `hop`-th sample; the
    readings at that bin are made at every sample.

    Added damping (ours): a specimen of stiffness k that is moved by g A cos(wt + phase) instead of A cos(wt) takes
    E = integral of k x_m dx_c = pi k g A^2 sin(phase) a cycle; over 4 pi times its strain energy k g^2 A^2/2 that is
    ``sin(phase) / (2 g) = ratio sin(phase) / 2``. A lag feeds energy into the test.
    """

    outputs = (
        Output("fdb_ratio", RATIO_UNIT),
        Output("fdb_phase", "rad"),
        Output("fdb_delay", "s"),
        Output("fdb_frequency", "Hz"),
        Output("fdb_amplitude", SIGNAL_UNIT),
        Output("fdb_ratio_sd", RATIO_UNIT),
        Output("fdb_phase_sd", "rad"),
        Output("fdb_delay_sd", "s"),
        Output("fdb_added_damping", "1", compares=True),
    )
    value_type = FrequencyDomainError
    smallest_window = 16

    def __init__(
        self,
        sample_rate: float,
        window: float = 2.0,
        *,
        band: tuple[float, float] | None = None,
        peak: Literal["command", "own"] = "command",
        taper: Literal["hann", "hamming", "blackman", "rectangular"] = "hann",
        image_correction: bool = True,
        gate: float = 0.0,
        relative_gate: float = 0.02,
        n_pairs: int = 1,
        every: int = 1,
    ) -> None:
        if peak not in ("command", "own"):
            raise ValueError(f"peak = {peak!r}: must be 'command' or 'own'")
        if taper not in TAPERS:
            raise ValueError(f"taper = {taper!r}: must be one of {', '.join(TAPERS)}")
        own = peak == "own"
        self._reading = (own, bool(image_correction) and not own, *TAPERS[taper])
        self._limits = gate_limits(gate, relative_gate)
        n_window = check_window(sample_rate, window, self.smallest_window)
        self._bins = choose_bins(n_window, sample_rate, band)
        # samples from one look at the whole band to the next
        self.hop = max(1, n_window // _LOOKS)
        super().__init__(
            sample_rate,
            window,
            n_pairs=n_pairs,
            every=every,
            band=band,
            peak=peak,
            taper=taper,
            image_correction=image_correction,
            gate=gate,
            relative_gate=relative_gate,
        )

    def _new_state(self) -> tuple[Spectrum, NDArray[np.int64], NDArray[np.int64], Samples, Gate]:
        n = self.n_pairs
        # good samples in a row; bin of the peak and whether the gate is open; unexplained part of the power
        good, found = np.zeros(n, dtype=np.int64), np.zeros((n, 2), dtype=np.int64)
        return new_spectrum(self.n_window, n, self._bins), good, found, np.full(n, np.nan), new_gate(n)

    def _advance(self, signals: Signals, first: int, out: Samples) -> None:
        spectrum, good, found, doubt, gate = self._state
        settings = (self.hop, self.sample_rate, *self._reading, *self._limits, *self._bins)
        # taken apart for the call: handing over a tuple of arrays as one takes 2 us more
        state = (*spectrum, good, found, doubt, *gate)
        _advance_fdb(signals.x_c, signals.x_m, first, self.every, out, *settings, *state)


@kernel
def _advance_fdb(
    x_c: Samples,
    x_m: Samples,
    first: int,
    every: int,
    out: Samples,
    hop: int,
    sample_rate: float,
    own_peaks: bool,
    correct: bool,
    near: float,
    far: float,
    absolute: float,
    relative: float,
    first_bin: int,
    low_bin: int,
    high_bin: int,
    last_bin: int,
    steps: Samples,
    factors: Samples,
    turns: Samples,
    half: Samples,
    ring: Samples,
    sums: Samples,
    loudest: Samples,
    age: NDArray[np.int64],
    clock: NDArray[np.int64],
    good: NDArray[np.int64],
    found: NDArray[np.int64],
    doubt: Samples,
    gate_loudest: Samples,
    gate_quietest: Samples,
    gate_began: NDArray[np.int64],
) -> None:
    n_window = ring.shape[1]
    low, high = low_bin - first_bin, high_bin - first_bin
    power = np.zeros(last_bin - first_bin + 1)
    work = np.zeros((3, N_BINS))
    row = 0
    until = (-first) % every
    for i in range(x_c.shape[0]):
        give = until == 0
        until = every - 1 if give else until - 1
        turn = turns[0, clock[0]], turns[1, clock[0]]
        for pair in range(x_c.shape[1]):
            c, m = x_c[i, pair], x_m[i, pair]
            if abs(c) < LARGEST_SAMPLE and abs(m) < LARGEST_SAMPLE:
                good[pair] += 1
                if good[pair] == 1:
                    begin_pair(pair, c, m, ring, sums, loudest)
                add_sample(pair, clock[0], c, m, factors, ring, sums, loudest)
            else:
                good[pair] = 0
            age[pair] += 1
            if give:
                for j in range(out.shape[2]):
                    out[row, pair, j] = np.nan
            due = (first + i + pair) % hop == 0 or good[pair] == n_window
            if good[pair] < n_window or not (give or due):
                continue
            if due:
                found[pair, 0] = tapered_peak(sums, pair, COMMAND, low, high, turn, near, far, power)
                doubt[pair] = np.nan
            peak = found[pair, 0]
            raw_c = tapered(sums, pair, COMMAND, peak, turn, near, far)
            raw_m = tapered(sums, pair, MEASURED, peak, turn, near, far)
            if is_worn(pair, _square(raw_c), _square(raw_m), loudest, age, n_window):
                renew(pair, steps, ring, sums, loudest, age)
                if due:
                    peak = found[pair, 0] = tapered_peak(sums, pair, COMMAND, low, high, turn, near, far, power)
                raw_c = tapered(sums, pair, COMMAND, peak, turn, near, far)
                raw_m = tapered(sums, pair, MEASURED, peak, turn, near, far)
            frequency, sine = tone_between_bins(sums, pair, COMMAND, peak, first_bin, turn, half, factors, n_window)
            gains = gains_at(peak, first_bin, frequency, sine, half, near, far, n_window)
            bin_c = from_start(raw_c, peak, steps, factors)
            bin_m = from_start(raw_m, peak, steps, factors)
            tone_c = gains.tone.conjugate() * bin_c + gains.image * bin_c.conjugate()
            tone_m = gains.tone.conjugate() * bin_m + gains.image * bin_m.conjugate()
            of_tone, of_image = _square(gains.tone), _square(gains.image)
            scale = gains.kernel * (of_tone - of_image)
            amplitude = 2.0 * np.sqrt(_square(tone_c)) / abs(scale)
            if due:
                found[pair, 1] = passes(
                    gate_loudest, gate_quietest, gate_began, absolute, relative, pair, amplitude, good[pair], n_window
                )
            # less than one cycle is no tone, nor is what rounding and leakage leave of a motion outside the band
            if not (found[pair, 1] and frequency > 0.999 and amplitude * amplitude > _TRACE * loudest[pair, 2]):
                continue
            if give:
                out[row, pair, 3], out[row, pair, 4] = frequency * sample_rate / n_window, amplitude
            # below 1e-12 of the command a measured amplitude is the rounding of a dead channel
            square_c, square_m = _square(tone_c), _square(tone_m)
            if square_c == 0.0 or square_m <= 1e-24 * square_c:
                continue
            turned = tone_m * tone_c.conjugate()
            phase = np.arctan2(turned.imag, turned.real)
            tone = gains.beside / scale * tone_c
            if due:
                doubt[pair] = incoherent_power(
                    sums, pair, COMMAND, MEASURED, peak, first_bin, turn, half, factors, steps,
                    frequency, sine, tone, turned / square_c, phase, n_window, work,
                ) / square_m  # fmt: skip
            if not give:
                continue
            noise = gains.noise * doubt[pair] * square_m
            if correct:
                noise *= of_tone + of_image
            else:
                if own_peaks:
                    own = tapered_peak(sums, pair, MEASURED, low, high, turn, near, far, power)
                    bin_m = from_start(tapered(sums, pair, MEASURED, own, turn, near, far), own, steps, factors)
                square_c, square_m, turned = _square(bin_c), _square(bin_m), bin_m * bin_c.conjugate()
                phase = np.arctan2(turned.imag, turned.real)
            # a phase that is uncertain by so much is that of noise; where nothing tells how uncertain, it is given
            if square_m > 0.0 and not noise > 2.0 * _LARGEST_SD**2 * square_m:
                ratio, phase_sd = np.sqrt(square_c / square_m), np.sqrt(0.5 * noise / square_m)
                _write(ratio, phase, phase_sd, frequency, n_window / sample_rate, out, row, pair)
        advance_clock(steps, factors, clock, n_window)
        if give:
            row += 1


@part
def _square(z: complex) -> float:
    return z.real * z.real + z.imag * z.imag


@part
def _write(
    ratio: float,
    phase: float,
    phase_sd: float,
    cycles: float,
    window: float,
    out: Samples,
    row: int,
    pair: int,
) -> None:
    angular = 2.0 * np.pi * cycles / window
    turns = phase / cycles
    out[row, pair, 0] = ratio
    out[row, pair, 1] = phase
    out[row, pair, 2] = -phase / angular
    # a relative error is to a ratio what an angle is to a phase
    out[row, pair, 5] = ratio * phase_sd
    out[row, pair, 6] = phase_sd
    out[row, pair, 7] = phase_sd / angular * np.sqrt(1.0 + _FREQUENCY_NOISE * turns * turns)
    out[row, pair, 8] = 0.5 * ratio * np.sin(phase)
