"""The delay of a motion without a dominant tone: by cross-correlation, and by the cross-spectrum over a band."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.catalogue import CATALOGUE
from monitor.indicators.base import check_window
from monitor.indicators.hopped import Centred, HoppedIndicator
from monitor.indicators.parts.cross_correlation import CrossCorrelation
from monitor.indicators.parts.cross_spectra import MultitaperFit, multitaper_length
from monitor.indicators.parts.residual import REACH, SMALLEST_FIT, UNRELATED, Residual, delayed, scatter, with_chance
from monitor.indicators.parts.sample_loop import Gate, gate_limits, new_gate, update_gate
from monitor.kernel import kernel
from monitor.messages.blocks import Samples

# signals with less correlation, or less coherence over the band, have nothing to do with each other
_RELATED = 0.5
# rad, of the delay at the motion's mean frequency: beyond it nothing is known
_LARGEST_SD = 0.5
# evaluations while the window slides by its length
_EVALUATIONS = 4
# samples by which a lag may be beyond the largest, for rounding
_BESIDE = 0.01
# a remaining lag of so many samples is worth another round
_SETTLED = 0.25
_ROUNDS = 3


class BroadbandValues(NamedTuple):
    """What the whole band says of one actuator.

    ``delay`` s, positive: measured lags; ``ratio`` command/measured; ``coherence`` 0 .. 1, squared; ``delay_sd`` and
    ``ratio_sd``, one standard deviation each. ``xcorr_delay`` is where the cross-correlation has its peak
    ``xcorr_peak``, ``xcorr_delay_sd`` its standard deviation.
    """

    xcorr_delay: float
    xcorr_peak: float
    delay: float
    ratio: float
    coherence: float
    delay_sd: float
    ratio_sd: float
    xcorr_delay_sd: float


class BroadbandDelayIndicator(HoppedIndicator[BroadbandValues]):
    """Delay and amplitude ratio over a band of frequencies; the command needs no dominant one.

    Parameters
    ----------
    sample_rate : Hz.
    window : s.
    max_delay : s; lags and leads up to this are sought, and at most a quarter of the window. What is later is not
        valid, or gives a side lobe with a low `xcorr_peak`. A tone is right while its phase is less than pi.
    band : (low, high) Hz of the cross-spectrum; by default up to a tenth of the sample rate.
    gate : smallest command amplitude, in the signal's unit, for which a value is given: the root of twice the
        variance, which is the amplitude of a tone.
    relative_gate : the same as a fraction of the largest command amplitude that has lasted two windows.
    latency : see `HoppedIndicator`.
    n_pairs, every : see `WindowedIndicator`.

    Notes
    -----
    Ours. The middle of measured is compared with the command at all lags, piece by piece (see `CrossCorrelation`):
    that is `xcorr_delay`. The command is then delayed by it, between its samples if need be, so that the same motion
    is in both pieces, and the phases of their cross-spectrum give the rest of the delay (see `MultitaperFit`); where
    that is more than a quarter of a sample, once more. Without that first delay the pieces are different motions, and
    the phases alone are off by a twentieth of the delay. Bins are weighted by coherence and cross-spectrum, so that
    those without command, and those where noise or other motions rule, count little.

    Without noise a pure delay is found exactly, whatever the motion. In white noise the cross-correlation is as good
    as can be, and the cross-spectrum a tenth worse; what lies outside `band` disturbs the cross-spectrum
    less. The standard deviations come from what no delay and gain of the command explains in the measured signal
    (`residual`), whatever its colour.

    A constant channel, a correlation below 0.5, a lag beyond `max_delay` and a closed gate make all not valid; so do
    signals of which more than 30 % of the power in the command's band has nothing to do with each other. A coherence
    below 0.5 makes what is told of the cross-spectrum not valid. The values are made anew four times a window; they
    are those of the whole window: after a change of the delay they take one window to be right.
    """

    measure = "broadband"
    outputs = CATALOGUE["broadband"].outputs
    value_type = BroadbandValues
    smallest_window = SMALLEST_FIT
    at_once = True

    def __init__(
        self,
        sample_rate: float,
        window: float = 2.0,
        *,
        max_delay: float = 0.1,
        band: tuple[float, float] | None = None,
        gate: float = 0.0,
        relative_gate: float = 0.02,
        latency: int = 0,
        n_pairs: int = 1,
        every: int = 1,
    ) -> None:
        self._limits = gate_limits(gate, relative_gate)
        if not 0.0 < max_delay < np.inf:
            raise ValueError(f"max_delay = {max_delay} s: must be a positive number")
        n_window = check_window(sample_rate, window, self.smallest_window)
        most = max(1, round(min(max_delay * sample_rate, (n_window - 2 * REACH) // 4)))
        n_middle = multitaper_length(n_window - 2 * (most + REACH))
        self._tapers = MultitaperFit(n_middle, sample_rate, band)
        self._correlation = CrossCorrelation(n_window, n_middle, most)
        self._most = float(most)
        delayed(np.zeros(n_window), self._correlation.start, n_middle, 0.0)
        peak, lowest, start = new_gate(1)
        _advance_gate(0, 0.0, 0, n_window, *self._limits, peak, lowest, start)
        super().__init__(
            sample_rate,
            window,
            hop=n_window // _EVALUATIONS,
            latency=latency,
            n_pairs=n_pairs,
            every=every,
            max_delay=max_delay,
            band=band,
            gate=gate,
            relative_gate=relative_gate,
        )

    def _new_memory(self) -> Gate:
        return new_gate(self.n_pairs)

    def _evaluate(self, pair: int, window: Centred, number: int, good: int) -> Samples:  # noqa: ARG002
        result: Samples = np.full(len(self.outputs), np.nan)
        c, m, size_c, size_m = window
        amplitude = size_c * float(np.sqrt(2.0 * (c @ c) / self.n_window))
        gate_peak, gate_lowest, gate_start = self._memory
        is_open = _advance_gate(
            pair, amplitude, good, self.n_window, *self._limits, gate_peak, gate_lowest, gate_start
        )
        if not is_open or size_m == 0.0:
            return result
        peak = self._correlation.peak(c, m)
        # a peak beside the last lag may lie beyond it
        if not (abs(peak.lag) <= self._most + _BESIDE and peak.correlation >= _RELATED):
            return result
        left = peak.left
        if left is None or not left.share < UNRELATED:
            return result
        start, n, share = self._correlation.start, self._correlation.n_middle, left.share
        measured = self._tapers.spectrum(peak.measured[start : start + n])
        lag = min(max(peak.lag, -self._most), self._most)
        command, slope = delayed(c, start, n, lag)
        pace = peak.pace
        phase_sd = with_chance(peak.lag_sd * pace, share)
        if not phase_sd <= _LARGEST_SD:
            return result
        result[[0, 1, 7]] = peak.lag / self.sample_rate, peak.correlation, phase_sd / (pace * self.sample_rate)
        for _ in range(_ROUNDS):
            fit = self._tapers.fit(self._tapers.spectrum(command), measured, slope)
            if np.isnan(fit.lag):
                return result
            beyond = abs(lag + fit.lag) - self._most
            lag = min(max(lag + fit.lag, -self._most), self._most)
            if abs(fit.lag) <= _SETTLED:
                break
            command, slope = delayed(c, start, n, lag)
        scale = size_c / size_m
        if np.isfinite(fit.ratio * scale) and fit.coherence >= _RELATED and beyond <= _BESIDE:
            left = left.with_gain(1.0 / fit.ratio)
            delay_sd = with_chance(pace * self._scatter(fit.by_lag, left), share) / pace
            ratio, gain_sd = fit.ratio * scale, with_chance(self._scatter(fit.by_gain, left), share)
            delays = lag / self.sample_rate, delay_sd / self.sample_rate
            result[2:7] = delays[0], ratio, fit.coherence, delays[1], ratio * gain_sd
        return result

    def _scatter(self, weights: Samples, left: Residual) -> float:
        """Return the standard deviation of what `weights` (n_middle,) of measured sum to."""
        of_window = np.zeros(self.n_window)
        of_window[self._correlation.start : self._correlation.start + len(weights)] = weights
        return scatter(of_window, left)


@kernel
def _advance_gate(
    pair: int,
    amplitude: float,
    good: int,
    n_window: int,
    absolute: float,
    relative: float,
    gate_peak: Samples,
    gate_lowest: Samples,
    gate_start: NDArray[np.int64],
) -> bool:
    return update_gate(gate_peak, gate_lowest, gate_start, absolute, relative, pair, amplitude, good, n_window)
