"""FEI, the frequency evaluation index: one amplitude ratio and one phase for a whole test."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from monitor.catalogue import CATALOGUE
from monitor.indicators.base import check_window
from monitor.indicators.hopped import Centred, HoppedIndicator
from monitor.indicators.parts.cross_spectra import Spectrum, bins_of_band, centred, periodic_hann, segment_spectrum
from monitor.indicators.parts.residual import SMALLEST_FIT, UNRELATED, residual_of, scatter, with_chance
from monitor.kernel import reduction
from monitor.messages.blocks import Samples

# below this of the command, what is in common is the rounding of a dead channel
_TRACE = 1e-24
# rad, of the phase: beyond it nothing is known
_LARGEST_SD = 0.5


class FrequencyEvaluation(NamedTuple):
    """What FEI says of one actuator; NaN where there is nothing to compare.

    ``ratio`` command/measured (> 1 undershoot); ``phase`` rad, positive: measured leads; ``delay`` s, positive:
    measured lags; ``frequency`` Hz, the equivalent one of the command.
    """

    ratio: float
    phase: float
    delay: float
    frequency: float


class FrequencyEvaluationSoFar(NamedTuple):
    """What FEI says of the test so far: as `FrequencyEvaluation`, and standard deviations."""

    ratio: float
    phase: float
    delay: float
    frequency: float
    ratio_sd: float
    phase_sd: float
    delay_sd: float


_NOTHING = FrequencyEvaluationSoFar(*[np.nan] * 7)


def frequency_evaluation_index(
    x_c: ArrayLike, x_m: ArrayLike, sample_rate: float, *, taper: Literal["rectangular", "hann"] = "rectangular"
) -> FrequencyEvaluation:
    """Return FEI of a whole record, by its definition (Guo, Chen, Xu and Sanchez 2014).

    With I and O the one-sided spectra of command and measured, without the bin at zero frequency,

        ``FEI = sum (O / I) |I|^2 / sum |I|^2``    and    ``f_eq = sum |I|^2 f / sum |I|^2``.

    The amplitude there is ``|FEI|``, measured/command; here it is the other way round, as everywhere in this package.
    The phase is found in the right quadrant, and ``delay = -phase / (2 pi f_eq)``.

    Parameters
    ----------
    x_c, x_m : (n_samples,), command and measured.
    sample_rate : Hz.
    taper : ``"rectangular"`` as defined; a record that breaks off in mid-motion then leaks, and reads 1.256 where the
        review prints 1.250. ``"hann"`` does not, but the middle of the record counts for most.

    Raises
    ------
    ValueError : the taper is another; the signals are not of one length, or hold a sample that is no number.
    """
    c, m = (np.array(x, dtype=np.float64, order="C") for x in (x_c, x_m))
    if c.ndim != 1 or c.shape != m.shape or not len(c):
        raise ValueError(f"command {c.shape} and measured {m.shape}: both must be (n_samples,)")
    if not (np.isfinite(c).all() and np.isfinite(m).all()):
        raise ValueError("command and measured must be finite")
    if not 0.0 < sample_rate < np.inf:
        raise ValueError(f"sample_rate = {sample_rate} Hz: must be a positive number")
    if taper not in ("rectangular", "hann"):
        raise ValueError(f"taper = {taper!r}: must be 'rectangular' or 'hann'")
    (c, size_c), (m, size_m) = centred(c), centred(m)
    weights = periodic_hann(len(c)) if taper == "hann" else np.ones(len(c))
    command, measured = (segment_spectrum(x, weights, 1, len(c) // 2) for x in (c, m))
    frequencies = np.arange(1, len(command) + 1) * sample_rate / len(c)
    if size_c == 0.0:
        return _evaluation(0.0, 0.0, 0.0j)
    power, power_by_frequency, common = _sums(command, measured, frequencies)
    return _evaluation(power, power_by_frequency, common * (size_m / size_c))


class FrequencyEvaluationIndex(HoppedIndicator[FrequencyEvaluationSoFar]):
    """FEI of everything since the start, online.

    Parameters
    ----------
    sample_rate : Hz.
    window : s, the length of a segment.
    latency : see `HoppedIndicator`.
    n_pairs, every : see `WindowedIndicator`.

    Notes
    -----
    The definition (`frequency_evaluation_index`) takes one transform of the whole record, which grows without bound.
    Here the sums are taken over Hann segments of one window with half overlap, all since the start (ours): a segment
    does not resolve what is slower than about two cycles in a window, and its own mean is left out instead of the
    record's; the first and last half window count less. It is exact for a steady tone of many cycles, and within
    0.5 % on the paper's growing one.

    Loud parts of a test count for more than quiet ones, in the square, and nothing is forgotten: a burst stays in the
    sums for the rest of the test. A segment with a bad sample is left out, and no value is given while the bad sample
    is in the window.

    The standard deviations come from what no delay and gain of the command explains in the measured signal of each
    segment (`residual`), added up. They are those of the random error, of a drift, and of what the command's noise
    beyond a tenth of the sample rate does to the equivalent frequency. Where more than 30 % of the power in the
    command's band is left over all segments, or the phase is uncertain by half a radian, nothing is valid.
    """

    measure = "fei"
    outputs = CATALOGUE["fei"].outputs
    value_type = FrequencyEvaluationSoFar
    smallest_window = SMALLEST_FIT

    def __init__(
        self, sample_rate: float, window: float = 2.0, *, latency: int = 0, n_pairs: int = 1, every: int = 1
    ) -> None:
        n_window = check_window(sample_rate, window, self.smallest_window)
        self._taper = periodic_hann(n_window)
        self._frequencies = np.arange(1, n_window // 2 + 1) * sample_rate / n_window
        self._slow = bins_of_band(n_window, sample_rate, None)[1]
        self._times: Samples = np.asarray(np.arange(n_window) - 0.5 * (n_window - 1), dtype=np.float64)
        nothing = np.zeros(len(self._frequencies), dtype=np.complex128)
        _sums(nothing, nothing, self._frequencies)
        super().__init__(sample_rate, window, hop=n_window // 2, latency=latency, n_pairs=n_pairs, every=every)

    def _new_memory(self) -> tuple[Any, ...]:
        # sums over the segments: of the command's power and of power times frequency, up to half the sample rate and
        # up to a tenth of it; of the cross-spectrum, and of what a drift has in it; of the variances of its size and
        # direction, and of the power that is unexplained and in all
        n = self.n_pairs
        return np.zeros((n, 4)), np.zeros((n, 2), dtype=np.complex128), np.zeros((n, 4))

    def _evaluate(self, pair: int, window: Centred, number: int, good: int) -> FrequencyEvaluationSoFar:  # noqa: ARG002
        powers, cross, doubts = self._memory
        c, m, size_c, size_m = window
        last = self.n_window // 2
        command, measured = (segment_spectrum(x, self._taper, 1, last) for x in (c, m))
        power, power_by_frequency, common = _sums(command, measured, self._frequencies)
        slow = slice(0, self._slow)
        of_slow = _sums(command[slow], measured[slow], self._frequencies[slow])
        powers[pair] += size_c * size_c * np.array([power, power_by_frequency, *of_slow[:2]])
        cross[pair, 0] += size_c * size_m * common
        segment = _evaluation(power, power_by_frequency, common)
        left = None if np.isnan(segment.delay) else residual_of(c, m, segment.delay * self.sample_rate)
        if left is not None and np.isfinite(left.share):
            drifting: Samples = left.drift * self._times
            drift = segment_spectrum(drifting, self._taper, 1, last)
            cross[pair, 1] += size_c * size_m * _sums(command, drift, self._frequencies)[2]
            # what a sample of measured adds to the cross-spectrum, along its direction and across
            weights = self._taper * np.conj(_analytic(command, self.n_window)) * np.exp(-1j * segment.phase)
            for axis, part in enumerate((weights.real, weights.imag)):
                sd = scatter(np.ascontiguousarray(part), left)
                doubts[pair, axis] += (size_c * size_m * sd) ** 2
            doubts[pair, 2] += size_c * size_m * left.share * abs(common)
            doubts[pair, 3] += size_c * size_m * abs(common)
        found = _evaluation(float(powers[pair, 0]), float(powers[pair, 1]), complex(cross[pair, 0]))
        if np.isnan(found.ratio):
            return _NOTHING
        return self._with_deviations(found, powers[pair], cross[pair], doubts[pair])

    def _with_deviations(
        self, found: FrequencyEvaluation, powers: Samples, cross: Spectrum, doubts: Samples
    ) -> FrequencyEvaluationSoFar:
        """Return what was found with its standard deviations, NaN where no segment told any; nothing if unrelated."""
        if not doubts[3] > 0.0:
            return FrequencyEvaluationSoFar(*found, np.nan, np.nan, np.nan)
        share, size = float(doubts[2] / doubts[3]), abs(cross[0])
        # what a drift adds to the sums is known, and left in them
        drift = cross[1] * np.exp(-1j * found.phase)
        gain_sd, phase_sd = (
            with_chance(float(np.hypot(np.sqrt(variance), bias)) / size, share)
            for variance, bias in ((doubts[0], drift.real), (doubts[1], drift.imag))
        )
        if not (share < UNRELATED and phase_sd <= _LARGEST_SD):
            return _NOTHING
        # so is the noise of high frequencies in the equivalent one
        off = found.delay * (powers[1] / powers[0] / (powers[3] / powers[2]) - 1.0) if powers[3] > 0.0 else 0.0
        delay_sd = float(np.hypot(phase_sd / (2.0 * np.pi * found.frequency), off))
        return FrequencyEvaluationSoFar(*found, found.ratio * gain_sd, phase_sd, delay_sd)


def _analytic(spectrum: Spectrum, n: int) -> Spectrum:
    """Return (n,) the sum of ``spectrum[k - 1] exp(2 pi i k t / n)`` over the bins, from the first one on."""
    padded = np.zeros(n, dtype=np.complex128)
    padded[1 : len(spectrum) + 1] = spectrum
    return np.asarray(n * np.fft.ifft(padded))


@reduction
def _sums(command: Spectrum, measured: Spectrum, frequencies: Samples) -> tuple[float, float, complex]:
    """Return the sums of the command's power, of that times the frequency, and of the cross-spectrum."""
    power = power_by_frequency = real = imag = 0.0
    for i in range(len(frequencies)):
        c, m = command[i], measured[i]
        square = c.real * c.real + c.imag * c.imag
        power += square
        power_by_frequency += square * frequencies[i]
        real += m.real * c.real + m.imag * c.imag
        imag += m.imag * c.real - m.real * c.imag
    return power, power_by_frequency, complex(real, imag)


def _evaluation(power: float, power_by_frequency: float, cross: complex) -> FrequencyEvaluation:
    square = cross.real**2 + cross.imag**2
    if not (power > 0.0 and square > _TRACE * power * power):
        return FrequencyEvaluation(np.nan, np.nan, np.nan, np.nan)
    phase, frequency = float(np.angle(cross)), power_by_frequency / power
    return FrequencyEvaluation(power / abs(cross), phase, -phase / (2.0 * np.pi * frequency), frequency)
