"""Tracking transfer function from command to measured over frequency, with coherence.

In numpy: `reference.transfer_function`. Settings: `CorrelationSettings`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.catalogue import Output
from monitor.config.analysis import CorrelationSettings
from monitor.indicators.base import check_window
from monitor.indicators.hopped import Centred, HoppedIndicator
from monitor.indicators.parts.cross_correlation import find_peak, plan_lags
from monitor.indicators.parts.cross_spectra import (
    Spectrum,
    band_bins,
    periodic_hann,
    segment_spectrum,
    squared_magnitudes,
)
from monitor.indicators.parts.memory import TRANSFER
from monitor.indicators.parts.residual import REACH
from monitor.messages.blocks import Samples

# adjacent Hann segments with half overlap correlate by 1/6, so that n of them count as n / (1 + 2/36)
_OVERLAP = 18.0 / 19.0
# relative to the command's strongest bin: less is rounding or quantisation
_MIN_RELATIVE_POWER = 1e-6
# factor over the leakage of a stronger bin through the Hann taper, up to a distance in bins
_MIN_LEAKAGE_RATIO, _MAX_LEAKAGE_DISTANCE = 2.0, 40
_SPIKE = 20.0
# false-alarm probability of bins without a common motion
_SIGNIFICANCE = 0.05
# coherence of the bins that guide the phase unwrapping
_COHERENT = 0.5


class Segments(NamedTuple):
    """Effective number of independent segments in the averages."""

    segments: float


class Averages(NamedTuple):
    """Sums over segments: powers (n_pairs, 2, n_bins), cross-spectrum (n_pairs, n_bins), weights (n_pairs, 3)."""

    powers: Samples
    cross: Spectrum
    weights: Samples


@dataclass(frozen=True)
class TransferEstimate:
    """Transfer function over frequency; all but `frequency` are (n_bins, n_pairs), for one pair (n_bins,).

    Parameters
    ----------
    frequency : (n_bins,), Hz.
    ratio : command/measured (> 1 undershoot); phase : rad, positive: measured leads, from -pi to pi; delay : s,
        positive: measured lags, unwrapped along the frequencies; coherence : squared, 0 .. 1.
    ratio_sd, phase_sd, delay_sd : one standard deviation each.
    segments : effective number of independent segments; (n_pairs,), for one pair a number.
    """

    frequency: Samples
    ratio: Samples
    phase: Samples
    delay: Samples
    coherence: Samples
    ratio_sd: Samples
    phase_sd: Samples
    delay_sd: Samples
    segments: Samples | float


class TransferFunction(HoppedIndicator[Segments]):
    """Tracking transfer function, averaged over the segments of a running test.

    Parameters
    ----------
    sample_rate : Hz.
    segment : s; its inverse is the frequency resolution.
    memory : s, time constant of the exponential average; infinite: all segments have the same weight.
    latency, n_pairs, every : see `HoppedIndicator`.
    options : fields of `CorrelationSettings`; a lag or lead of at most a quarter of a segment is removed.

    Notes
    -----
    Welch's averages over Hann segments with half overlap: ``H = S_cm / S_cc``, in which noise of the measured signal
    averages out. A delay moves motion of the command from before the segment into it and out at its end: that reduces
    H by 6.6 (delay / segment)^2 and the coherence with it. The command of every segment is therefore shifted by the
    whole samples of its own cross-correlation, and the phase corrected (ours).

    The standard deviations are those of Bendat and Piersol (Random Data, chapter 9): ``sqrt((1 - g2) / (2 n g2))``
    of the phase, and of the ratio as a fraction, with n effective segments: ``(sum p)^2 / sum p^2`` for segments of
    power p after exponential weighting, less one nineteenth for the overlap.

    NaN where the command has less than 1e-6 of the power of its strongest bin, or less than twice the leakage of a
    stronger bin through the taper, which is that one's motion at the wrong frequency; and while there are fewer than
    two effective segments, because the coherence of one is always 1. All but the coherence is NaN where noise alone
    would reach it once in twenty times. A segment with a bad sample in its window is excluded, and so is one with a
    spike, a sample of twenty standard deviations of the others.

    ``delay`` is unwrapped: without the mean of the removed lags, the remaining phase is within half a cycle at the
    lowest bin with a coherence of 0.5, changes by less than half a cycle from one such bin to the next, and other
    bins are unwrapped next to the line between those around them.
    """

    measure = "transfer"
    gathered = True
    part = TRANSFER
    outputs = (Output("transfer_segments", "1"),)
    value_type = Segments
    settings: CorrelationSettings = CorrelationSettings()
    smallest_window = 16

    def __init__(
        self,
        sample_rate: float,
        segment: float = 4.0,
        *,
        memory: float = 20.0,
        latency: int = 0,
        n_pairs: int = 1,
        every: int = 1,
        **options: Any,
    ) -> None:
        try:
            n_segment = check_window(sample_rate, segment, self.smallest_window)
        except ValueError as problem:
            raise ValueError(str(problem).replace("window", "segment")) from None
        if not memory > 0.0:
            raise ValueError(f"memory = {memory} s: must be positive")
        self._n_segment, self._memory_length, self.hop = n_segment, memory, n_segment // 2
        self._most = max(1, min(round(CorrelationSettings(**options).max_delay * sample_rate), n_segment // 4))
        window = (n_segment + 2 * (self._most + REACH)) / sample_rate
        super().__init__(sample_rate, window, latency=latency, n_pairs=n_pairs, every=every, **options)

    def _plan(self) -> None:
        super()._plan()
        n_segment, rate = self._n_segment, self.sample_rate
        self._low, self._high = band_bins(n_segment, rate, self.settings.band)
        self._frequency = np.arange(self._low, self._high + 1) * rate / n_segment
        self._angles = 2.0 * np.pi * np.arange(self._low, self._high + 1) / n_segment
        self._taper = periodic_hann(n_segment)
        self._lags = plan_lags(self.n_window, n_segment, self._most)

    @property
    def _identity(self) -> tuple[Any, ...]:
        return *super()._identity, self._n_segment, self._memory_length

    def _new_memory(self) -> tuple[Any, ...]:
        n, n_bins = self.n_pairs, len(self._frequency)
        # sums of both powers and of the cross-spectrum; then of weights, squared weights and weighted lags
        spectra = np.zeros((n, 2, n_bins)), np.zeros((n, n_bins), dtype=np.complex128)
        # number of the last segment's last sample, and the number of segments
        return (*spectra, np.zeros((n, 3)), np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64))

    @property
    def frequency(self) -> Samples:
        """(n_bins,), Hz."""
        return self._frequency.copy()

    @property
    def n_averaged(self) -> NDArray[np.int64]:
        """(n_pairs,): number of segments averaged since the start."""
        n_averaged: NDArray[np.int64] = self._memory[4]
        return n_averaged.copy()

    def _evaluate(self, pair: int, window: Centred, number: int, good: int) -> float:  # noqa: ARG002  of the base class
        powers, cross, weights, last, n_averaged = self._memory
        c, m, size_c, size_m = window
        # a sample of twenty standard deviations of the others would outweigh all other segments
        others = min(c @ c, m @ m if size_m > 0.0 else np.inf) - 1.0
        if size_c > 0.0 and others * _SPIKE**2 > len(c):
            decay = np.exp(-max(0, number - int(last[pair])) / (self.sample_rate * self._memory_length))
            for sums, factor in ((powers, decay), (cross, decay), (weights, (decay, decay * decay, decay))):
                sums[pair] *= factor
            found = find_peak(c, m, self._lags).lag
            lag = 0 if np.isnan(found) else round(found)
            start, n = self._lags.start, self._n_segment
            command = size_c * segment_spectrum(c[start - lag : start - lag + n], self._taper, self._low, self._high)
            measured = size_m * segment_spectrum(m[start : start + n], self._taper, self._low, self._high)
            power = squared_magnitudes(command)
            powers[pair] += power, squared_magnitudes(measured)
            cross[pair] += measured * command.conj() * np.exp(-1j * lag * self._angles)
            weight = float(np.sum(power))
            weights[pair] += weight, weight * weight, weight * lag
            last[pair] = number
            n_averaged[pair] += 1
        segments = float(_effective(weights[pair]))
        return segments if segments > 0.0 else np.nan

    @property
    def averages(self) -> Averages:
        """Sums of all segments so far."""
        self.finish_pending()
        return Averages(*(array.copy() for array in self._memory[:3]))

    @property
    def estimate(self) -> TransferEstimate:
        """Transfer function of all segments so far."""
        averages = self.averages
        segments = _effective(averages.weights)
        columns = [self.column(averages, pair) for pair in range(self.n_pairs)]
        # (7, n_bins) of each pair
        found = columns[0] if self.n_pairs == 1 else np.stack(columns, axis=2)
        ratio, phase, delay, coherence, ratio_sd, phase_sd, delay_sd = found
        number = float(segments[0]) if self.n_pairs == 1 else segments
        frequency = self._frequency.copy()
        return TransferEstimate(
            frequency, ratio, phase, delay, coherence, ratio_sd, phase_sd, delay_sd, segments=number
        )

    def column(self, averages: Averages, pair: int) -> Samples:
        """Return ratio, phase, delay, coherence and the three standard deviations of one pair, (7, n_bins)."""
        (command, measured), cross, weights = averages.powers[pair], averages.cross[pair], averages.weights[pair]
        segments, lag = _effective(weights), weights[2] / (weights[0] or 1.0)
        square = squared_magnitudes(cross)
        result: Samples = np.full((7, len(command)), np.nan)
        used = (
            (command > _MIN_RELATIVE_POWER * np.max(command))
            & (command > _MIN_LEAKAGE_RATIO * _leakage(command, self._low))
            & (square > 0.0)
            & (measured > 0.0)
            & (segments >= 2.0)
        )
        if used.any():
            command, measured, square, cross = command[used], measured[used], square[used], cross[used]
            coherence = np.minimum(square / (command * measured), 1.0)
            ratio = command / np.sqrt(square)
            # the coherence of noise has a beta distribution
            significant = coherence >= 1.0 - _SIGNIFICANCE ** (1.0 / (segments - 1.0))
            deviation = np.sqrt((1.0 - coherence) / (2.0 * segments * coherence))
            residual_phase = _unwrapped(np.angle(cross * np.exp(1j * lag * self._angles[used])), coherence)
            omega = 2.0 * np.pi * self._frequency[used]
            delay = lag / self.sample_rate - residual_phase / omega
            deviations = ratio * deviation, deviation, deviation / omega
            found = np.array([ratio, np.angle(cross), delay, coherence, *deviations])
            found[:, ~significant] = np.where(np.arange(7)[:, None] == 3, found[:, ~significant], np.nan)
            result[:, used] = found
        return result


def _effective(weights: Samples) -> Samples:
    """Return the effective number of segments from their summed weights (..., 3); 0 where there is none."""
    total, squares = weights[..., 0], weights[..., 1]
    number: Samples = np.divide(total**2, squares, out=np.zeros(total.shape), where=squares > 0.0)
    return _OVERLAP * number


def _leakage(power: Samples, low: int) -> Samples:
    """Return the largest leakage into each bin, the first being bin `low`, of a tone two or more bins away."""
    leaked = np.zeros_like(power)
    for distance in range(2, min(_MAX_LEAKAGE_DISTANCE, len(power) - 1) + 1):
        # the tone may be half a bin nearer than its strongest bin
        d = distance - 0.5
        through = (np.pi * d * (d * d - 1.0)) ** -2
        np.maximum(leaked[distance:], through * power[:-distance], out=leaked[distance:])
        np.maximum(leaked[:-distance], through * power[distance:], out=leaked[:-distance])
    if low == 1:
        # removing the mean of an incomplete cycle leaks into bin 1
        bins = np.arange(2, len(power) + 1)
        leaked[0] = max(leaked[0], float(np.max(power[1:] / (np.pi * bins) ** 2, initial=0.0)))
    return leaked


def _unwrapped(phase: Samples, coherence: Samples) -> Samples:
    """Return the unwrapped phases, continuous over the coherent bins."""
    lead = np.flatnonzero(coherence >= _COHERENT)
    if not len(lead):
        return phase
    line = np.interp(np.arange(len(phase)), lead, np.unwrap(phase[lead]))
    return np.asarray(phase + 2.0 * np.pi * np.round((line - phase) / (2.0 * np.pi)))
