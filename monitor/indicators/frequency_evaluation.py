"""FEI, the frequency evaluation index: one amplitude ratio and one phase of a whole test.

In numpy: `reference.frequency_evaluation`. It has no settings.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from monitor.catalogue import CATALOGUE
from monitor.indicators.base import as_samples
from monitor.indicators.hopped import Centred, HoppedIndicator
from monitor.indicators.parts.cross_spectra import Spectrum, band_bins, centred, periodic_hann, segment_spectrum
from monitor.indicators.parts.deviation import add_chance_agreement, weighted_sum_deviations
from monitor.indicators.parts.fourier import Transform, new_transform, split_bin, transform
from monitor.indicators.parts.memory import FEI
from monitor.indicators.parts.residual import SMALLEST_FIT, fit_delayed
from monitor.indicators.parts.unrelated_motion import UNRELATED
from monitor.kernel import kernel, reduction
from monitor.messages.blocks import Samples
from monitor.messages.reasons import Reason

# cross-spectrum over the command's power, squared, below which it is rounding of a constant channel
_MIN_POWER_RATIO = 1e-24
# rad, of the phase: above it no value is valid
_LARGEST_SD = 0.5


class FrequencyEvaluation(NamedTuple):
    """FEI of one actuator, NaN where undefined.

    ``ratio`` command/measured (> 1 undershoot); ``phase`` rad, positive: measured leads; ``delay`` s, positive:
    measured lags; ``frequency`` Hz, the equivalent frequency of the command.
    """

    ratio: float
    phase: float
    delay: float
    frequency: float


class RunningFrequencyEvaluation(NamedTuple):
    """FEI of the test so far: as `FrequencyEvaluation`, with standard deviations and the `Reason` of no value."""

    ratio: float
    phase: float
    delay: float
    frequency: float
    ratio_sd: float
    phase_sd: float
    delay_sd: float
    reason: float


def frequency_evaluation_index(
    x_c: ArrayLike, x_m: ArrayLike, sample_rate: float, *, taper: Literal["rectangular", "hann"] = "rectangular"
) -> FrequencyEvaluation:
    """Return FEI of a whole record by its definition, see `reference.frequency_evaluation`.

    Parameters
    ----------
    x_c, x_m : (n_samples,), command and measured.
    sample_rate : Hz.
    taper : ``"rectangular"`` as defined; a record that ends during the motion then leaks, and gives 1.256 where
        Mirza Hessabi and Mercan 2015 print 1.250. ``"hann"`` does not leak, but gives most weight to the middle.

    Raises
    ------
    ValueError : the taper is unknown; the signals differ in length, or have a sample that is not finite.
    """
    c, m = as_samples(x_c, "command"), as_samples(x_m, "measured")
    if c.ndim != 1 or c.shape != m.shape or not len(c):
        raise ValueError(f"command {c.shape} and measured {m.shape}: both must be (n_samples,)")
    if not (np.isfinite(c).all() and np.isfinite(m).all()):
        raise ValueError("command and measured must be finite")
    if not 0.0 < sample_rate < np.inf:
        raise ValueError(f"sample_rate = {sample_rate} Hz: must be a positive number")
    if taper not in ("rectangular", "hann"):
        raise ValueError(f"taper = {taper!r}: must be 'rectangular' or 'hann'")
    sums = FrequencyEvaluationSums(sample_rate, taper=taper)
    sums.add(c, m)
    return sums.evaluation


class FrequencyEvaluationSums:
    """FEI by its definition, summed over stretches of a record, each with its energy and without its mean.

    Parameters
    ----------
    sample_rate, taper : as in `frequency_evaluation_index`.
    """

    def __init__(self, sample_rate: float, *, taper: Literal["rectangular", "hann"] = "rectangular") -> None:
        self._rate, self._taper = sample_rate, taper
        self._power = self._power_by_frequency = 0.0
        self._common = 0.0j

    def add(self, x_c: Samples, x_m: Samples) -> None:
        """Include a stretch, (n,) finite samples of each."""
        n = len(x_c)
        (c, size_c), (m, size_m) = centred(x_c), centred(x_m)
        if size_c == 0.0:
            return
        weights = periodic_hann(n) if self._taper == "hann" else np.ones(n)
        command, measured = (segment_spectrum(x, weights, 1, n // 2) for x in (c, m))
        frequencies = np.arange(1, len(command) + 1) * self._rate / n
        power, power_by_frequency, common = _sums(command, measured, frequencies)
        # the square of a spectrum is the energy times the length
        self._power += power * size_c * size_c / n
        self._power_by_frequency += power_by_frequency * size_c * size_c / n
        self._common += common * size_c * size_m / n

    @property
    def evaluation(self) -> FrequencyEvaluation:
        """FEI of all stretches so far."""
        return _evaluation(self._power, self._power_by_frequency, self._common)


class FrequencyEvaluationIndex(HoppedIndicator[RunningFrequencyEvaluation]):
    """FEI of all samples since the start, online.

    Parameters
    ----------
    sample_rate : Hz.
    window : s, the length of a segment.
    latency, n_pairs, every : see `HoppedIndicator`.

    Notes
    -----
    The definition (`frequency_evaluation_index`) uses one transform of the whole record, which grows without bound.
    Here the sums are over Hann segments of one window with half overlap, all since the start (ours): a segment does
    not resolve motion slower than about two cycles in a window, and its own mean is removed instead of the record's;
    the first and last half window have less weight. It is exact for a steady tone of many cycles, and within 0.5 %
    for the paper's growing one.

    Segments are weighted by the square of their amplitude, and all are included: a burst remains in the sums for the
    rest of the test. A segment with a bad sample is excluded, and no value is valid while the bad sample is in the
    window.

    The standard deviations are those of all segments, added up. They include the random error, a drift, and the
    effect of the command's noise above a tenth of the sample rate on the equivalent frequency.
    """

    measure = "fei"
    part = FEI
    outputs = CATALOGUE["fei"].outputs
    value_type = RunningFrequencyEvaluation
    smallest_window = SMALLEST_FIT
    evaluations = 2

    def _plan(self) -> None:
        super()._plan()
        n_window = self.n_window
        self._taper = periodic_hann(n_window)
        self._slow = band_bins(n_window, self.sample_rate, None)[1]
        self._work, self._transform = np.zeros((4, n_window)), new_transform(n_window)

    def _new_memory(self) -> tuple[Any, ...]:
        # sums over the segments. Powers: of the command and times frequency, up to half the sample rate, then both up
        # to a tenth of it. Cross-spectrum: total, and due to a drift, trend or play. Variances: of the
        # cross-spectrum's size and direction, then unexplained and total power
        n = self.n_pairs
        return np.zeros((n, 4)), np.zeros((n, 2), dtype=np.complex128), np.zeros((n, 4))

    def _evaluate(
        self,
        pair: int,
        window: Centred,
        number: int,  # noqa: ARG002  of the base class
        good: int,  # noqa: ARG002  of the base class
    ) -> RunningFrequencyEvaluation:
        powers, cross, variances = self._memory
        c, m, size_c, size_m = window
        sums = _segment(c, m, self._taper, self._slow, self.sample_rate, self._work, self._transform)
        powers[pair] += size_c * size_c * np.array(sums[:4])
        cross[pair, 0] += size_c * size_m * sums.common
        if np.isfinite(sums.unexplained):
            cross[pair, 1] += size_c * size_m * sums.known
            variances[pair, :2] += (size_c * size_m * np.array([sums.along, sums.across])) ** 2
            variances[pair, 2] += size_c * size_m * sums.unexplained * abs(sums.common)
            variances[pair, 3] += size_c * size_m * abs(sums.common)
        found = _evaluation(float(powers[pair, 0]), float(powers[pair, 1]), complex(cross[pair, 0]))
        if np.isnan(found.ratio):
            # with power of the command, measured has been constant
            return _undefined(Reason.CONSTANT if powers[pair, 0] > 0.0 else Reason.GATE)
        return self._with_deviations(found, powers[pair], cross[pair], variances[pair])

    def _with_deviations(
        self, found: FrequencyEvaluation, powers: Samples, cross: Spectrum, variances: Samples
    ) -> RunningFrequencyEvaluation:
        """Return FEI with its standard deviations, NaN without any fitted segment; all NaN for unrelated signals."""
        if not variances[3] > 0.0:
            return RunningFrequencyEvaluation(*found, np.nan, np.nan, np.nan, Reason.UNCERTAIN)
        unexplained, size = float(variances[2] / variances[3]), abs(cross[0])
        # the contribution of a drift, trend or play to the sums is a known bias
        drift = cross[1] * np.exp(-1j * found.phase)
        gain_sd, phase_sd = (
            add_chance_agreement(float(np.hypot(np.sqrt(variance), bias)) / size, unexplained)
            for variance, bias in ((variances[0], drift.real), (variances[1], drift.imag))
        )
        if not (unexplained < UNRELATED and phase_sd <= _LARGEST_SD):
            return _undefined(Reason.UNCERTAIN if unexplained < UNRELATED else Reason.UNRELATED)
        # so is that of high-frequency noise to the equivalent frequency
        off = found.delay * (powers[1] / powers[0] / (powers[3] / powers[2]) - 1.0) if powers[3] > 0.0 else 0.0
        delay_sd = float(np.hypot(phase_sd / (2.0 * np.pi * found.frequency), off))
        return RunningFrequencyEvaluation(*found, found.ratio * gain_sd, phase_sd, delay_sd, Reason.VALID)


def _undefined(reason: Reason) -> RunningFrequencyEvaluation:
    return RunningFrequencyEvaluation(*FrequencyEvaluationIndex.no_values(reason).tolist())


class _Segment(NamedTuple):
    """Sums over one segment.

    Powers of the command and times frequency, up to half the sample rate, then both up to a tenth of it; the
    cross-spectrum in all, and what is due to a drift, trend or play; standard deviations of the cross-spectrum along
    its direction and across; the unexplained share, NaN without a fit.
    """

    power: float
    power_by_frequency: float
    slow_power: float
    slow_power_by_frequency: float
    common: complex
    known: complex
    along: float
    across: float
    unexplained: float


@kernel
def _segment(
    c: Samples, m: Samples, taper: Samples, slow: int, sample_rate: float, work: Samples, plan: Transform
) -> _Segment:
    """Return the sums of a segment of command and measured, (n,) each.

    Parameters
    ----------
    slow : last bin below a tenth of the sample rate.
    work : (4, n), overwritten.
    """
    n, buffers = len(c), plan.buffers
    for t in range(n):
        buffers[0, t], buffers[1, t] = taper[t] * c[t], taper[t] * m[t]
    transform(plan)
    spectrum = np.zeros(n, dtype=np.complex128)
    power = by_bin = slow_power = slow_by_bin = 0.0
    common = 0.0j
    for k in range(1, n // 2 + 1):
        of_c, of_m = split_bin(buffers, n, k)
        square = of_c.real * of_c.real + of_c.imag * of_c.imag
        power, by_bin, common = power + square, by_bin + square * k, common + of_m * of_c.conjugate()
        if k <= slow:
            slow_power, slow_by_bin = slow_power + square, slow_by_bin + square * k
        spectrum[k] = of_c.conjugate()
    per_bin = sample_rate / n
    found = _evaluation(power, by_bin * per_bin, common)
    known, along, across, unexplained = 0.0j, np.nan, np.nan, np.nan
    if not np.isnan(found.delay):
        residual, bias = work[2], work[3]
        start, stop, unexplained, drift, _, _ = fit_delayed(
            c, m, found.delay * sample_rate, work[0], work[1], residual, bias
        )
        # derivatives of the cross-spectrum by each sample of measured
        for k in range(n):
            buffers[0, k], buffers[1, k] = spectrum[k].real, spectrum[k].imag
        transform(plan)
        turn = complex(np.cos(found.phase), -np.sin(found.phase))
        for t in range(n):
            weight = taper[t] * complex(buffers[0, t], buffers[1, t])
            known += weight * (drift * (t - 0.5 * (n - 1)) + (bias[t] if start <= t < stop else 0.0))
            weight *= turn
            # the bias counts once, in what is known
            work[0, t], work[1, t], bias[t] = weight.real, weight.imag, 0.0
        along, across = weighted_sum_deviations(work[0], work[1], residual, bias, start, stop)
    return _Segment(
        power, by_bin * per_bin, slow_power, slow_by_bin * per_bin, common, known, along, across, unexplained
    )


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


@kernel
def _evaluation(power: float, power_by_frequency: float, cross: complex) -> FrequencyEvaluation:
    square = cross.real**2 + cross.imag**2
    if not (power > 0.0 and square > _MIN_POWER_RATIO * power * power):
        return FrequencyEvaluation(np.nan, np.nan, np.nan, np.nan)
    phase, frequency = np.arctan2(cross.imag, cross.real), power_by_frequency / power
    return FrequencyEvaluation(power / np.sqrt(square), phase, -phase / (2.0 * np.pi * frequency), frequency)
