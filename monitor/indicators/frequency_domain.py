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
from monitor.indicators.hann_bins import from_start, hann, hann_peak
from monitor.indicators.kernel import kernel, part
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

_TRACE = 1e-12


class FrequencyDomainError(NamedTuple):
    """What FDB says of one actuator.

    ``ratio`` command/measured (> 1 undershoot); ``phase`` rad, positive: measured leads; ``delay`` s,
    positive: measured lags; ``frequency`` Hz, the command's dominant one; ``amplitude`` of the command there.
    """

    ratio: float
    phase: float
    delay: float
    frequency: float
    amplitude: float


class FrequencyDomainIndicator(WindowedIndicator[FrequencyDomainError]):
    """Frequency-domain-based error indicators (Mirza Hessabi and Mercan), made exact for a steady tone.

    Parameters
    ----------
    sample_rate : Hz.
    window : s; hold 2.5 cycles or more of the slowest motion of interest, never less than one.
    band : (low, high) Hz in which the dominant frequency is sought; by default up to a tenth of the sample rate.
    peak : ``"command"`` reads both signals at the command's peak bin; ``"own"`` reads each at its own peak,
        as the paper prints it: when the two peaks fall in neighbouring bins the phase is off by about pi.
    gate : smallest command amplitude, in the signal's unit, for which a value is given.
    relative_gate : the same as a fraction of the largest command amplitude that has lasted two windows.
    n_pairs, every : see `WindowedIndicator`.

    Notes
    -----
    Eqs. 4 and 5 of the review, with three corrections: both signals are read at the command's peak bin;
    the phase is measured minus command, so that a lead is positive; and the image of the tone at the negative
    frequency is taken out at the tone's own frequency, which lies between the bins. Without noise the result
    is then exact from one cycle in the window on, whatever the start phase and the offsets.
    """

    outputs = (
        Output("fdb_ratio", RATIO_UNIT),
        Output("fdb_phase", "rad"),
        Output("fdb_delay", "s"),
        Output("fdb_frequency", "Hz"),
        Output("fdb_amplitude", SIGNAL_UNIT),
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
        gate: float = 0.0,
        relative_gate: float = 0.02,
        n_pairs: int = 1,
        every: int = 1,
    ) -> None:
        if peak not in ("command", "own"):
            raise ValueError(f"peak = {peak!r}: must be 'command' or 'own'")
        self._limits = gate_limits(gate, relative_gate)
        self._own_peaks = peak == "own"
        n_window = check_window(sample_rate, window, self.smallest_window)
        self._bins = choose_bins(n_window, sample_rate, band)
        super().__init__(
            sample_rate,
            window,
            n_pairs=n_pairs,
            every=every,
            band=band,
            peak=peak,
            gate=gate,
            relative_gate=relative_gate,
        )

    def _new_state(self) -> tuple[Spectrum, NDArray[np.int64], Gate]:
        n = self.n_pairs
        # good samples in a row
        good = np.zeros(n, dtype=np.int64)
        return new_spectrum(self.n_window, n, self._bins), good, new_gate(n)

    def _advance(self, signals: Signals, first: int, out: Samples) -> None:
        spectrum, good, gate = self._state
        settings = (self.sample_rate, self._own_peaks, *self._limits, *self._bins)
        # taken apart for the call: handing over a tuple of arrays as one takes 2 us more
        _advance_fdb(signals.x_c, signals.x_m, first, self.every, out, *settings, *(*spectrum, good, *gate))


@kernel
def _advance_fdb(
    x_c: Samples,
    x_m: Samples,
    first: int,
    every: int,
    out: Samples,
    sample_rate: float,
    own_peaks: bool,
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
    gate_loudest: Samples,
    gate_quietest: Samples,
    gate_began: NDArray[np.int64],
) -> None:
    n_window = ring.shape[1]
    low, high = low_bin - first_bin, high_bin - first_bin
    power = np.zeros(last_bin - first_bin + 1)
    bin_square = np.sin(np.pi / n_window) ** 2
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
            if not give:
                continue
            for j in range(out.shape[2]):
                out[row, pair, j] = np.nan
            if good[pair] < n_window:
                continue
            peak = hann_peak(sums, pair, COMMAND, low, high, turn, power)
            measured = hann(sums, pair, MEASURED, peak, turn)
            if is_worn(pair, power[peak - low], measured.real**2 + measured.imag**2, loudest, age, n_window):
                renew(pair, steps, ring, sums, loudest, age)
                peak = hann_peak(sums, pair, COMMAND, low, high, turn, power)
            tone = tone_between_bins(sums, pair, COMMAND, peak, first_bin, turn, half, factors, n_window, bin_square)
            b_c = from_start(hann(sums, pair, COMMAND, tone.at, turn), tone.at, steps, factors)
            b_m = from_start(hann(sums, pair, MEASURED, tone.at, turn), tone.at, steps, factors)
            b_c -= tone.image * b_c.conjugate()
            b_m -= tone.image * b_m.conjugate()
            amplitude = 2.0 * np.sqrt(b_c.real**2 + b_c.imag**2) / (tone.gain * (1.0 - tone.image * tone.image))
            is_open = passes(
                gate_loudest, gate_quietest, gate_began, absolute, relative, pair, amplitude, good[pair], n_window
            )
            if own_peaks:
                own = hann_peak(sums, pair, MEASURED, low, high, turn, power)
                b_c = from_start(hann(sums, pair, COMMAND, peak, turn), peak, steps, factors)
                b_m = from_start(hann(sums, pair, MEASURED, own, turn), own, steps, factors)
            # less than one cycle is no tone, nor is what rounding and leakage leave of a motion outside the band
            if is_open and tone.frequency > 0.999 and amplitude * amplitude > _TRACE * loudest[pair, 2]:
                _write(b_c, b_m, tone.frequency * sample_rate / n_window, amplitude, out, row, pair)
        advance_clock(steps, factors, clock, n_window)
        if give:
            row += 1


@part
def _write(b_c: complex, b_m: complex, frequency: float, amplitude: float, out: Samples, row: int, pair: int) -> None:
    square_c, square_m = b_c.real**2 + b_c.imag**2, b_m.real**2 + b_m.imag**2
    # below 1e-12 of the command a measured amplitude is the rounding of a dead channel
    if square_c == 0.0 or square_m <= 1e-24 * square_c:
        return
    turned = b_m * b_c.conjugate()
    phase = np.arctan2(turned.imag, turned.real)
    out[row, pair, 0] = np.sqrt(square_c / square_m)
    out[row, pair, 1] = phase
    out[row, pair, 2] = -phase / (2.0 * np.pi * frequency)
    out[row, pair, 3] = frequency
    out[row, pair, 4] = amplitude
