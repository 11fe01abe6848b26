"""Delay of a motion without a dominant tone, by cross-correlation and by the cross-spectrum over a band."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.catalogue import CATALOGUE
from monitor.indicators.base import check_window
from monitor.indicators.hopped import Centred, HoppedIndicator
from monitor.indicators.parts.cross_correlation import CrossCorrelation
from monitor.indicators.parts.cross_spectra import MultitaperFit, multitaper_length
from monitor.indicators.parts.deviation import add_chance_agreement
from monitor.indicators.parts.memory import BROADBAND
from monitor.indicators.parts.residual import (
    REACH,
    SMALLEST_FIT,
    delay_signal,
    fit_deviations,
)
from monitor.indicators.parts.sample_loop import Gate, gate_limits, new_gate, update_gate
from monitor.indicators.parts.unrelated_motion import UNRELATED
from monitor.kernel import kernel
from monitor.messages.blocks import Samples
from monitor.messages.reasons import Reason

# correlation, or coherence over the band, below which the signals are unrelated
_RELATED = 0.5
# rad, of the phase at the motion's mean frequency: above it no value is valid
_LARGEST_SD = 0.5
# evaluations while the window slides by its length
_EVALUATIONS = 4
# samples by which rounding may take a lag beyond the largest
_LAG_ROUNDING = 0.01
# remaining lag, samples, above which the cross-spectrum is evaluated again
_CONVERGED = 0.25
_MAX_ROUNDS = 3


class BroadbandValues(NamedTuple):
    """Broadband values of one actuator.

    ``delay`` s, positive: measured lags; ``ratio`` command/measured; ``coherence`` squared, 0 .. 1; ``delay_sd`` and
    ``ratio_sd`` one standard deviation each. ``xcorr_delay``: lag of the peak ``xcorr_peak`` of the
    cross-correlation; ``xcorr_delay_sd`` its standard deviation. ``play``: of the actuator, half of its width, 0 for
    none. ``xcorr_reason``, ``reason``: `Reason` of no value.
    """

    xcorr_delay: float
    xcorr_peak: float
    delay: float
    ratio: float
    coherence: float
    delay_sd: float
    ratio_sd: float
    xcorr_delay_sd: float
    play: float
    xcorr_reason: float
    reason: float


class BroadbandDelayIndicator(HoppedIndicator[BroadbandValues]):
    """Delay and amplitude ratio over a band of frequencies, for commands without a dominant one too.

    Parameters
    ----------
    sample_rate : Hz.
    window : s.
    max_delay : s; largest lag or lead that is searched, at most a quarter of the window. A longer one is not valid,
        or gives a side lobe with a low `xcorr_peak`. A tone is correct while its phase is less than pi.
    band : (low, high) Hz of the cross-spectrum; by default up to a tenth of the sample rate.
    gate : smallest command amplitude, in the signal's unit, for which a value is given: the root of twice the
        variance, which is the amplitude of a tone.
    relative_gate : likewise, as a fraction of the largest command amplitude sustained for two windows.
    latency : see `HoppedIndicator`.
    n_pairs, every : see `WindowedIndicator`.

    Notes
    -----
    Ours. The middle of measured is correlated with the command at all lags, piece by piece (see `CrossCorrelation`):
    that is `xcorr_delay`. The command is then delayed by it, interpolated between samples, so that both pieces are of
    the same motion, and the phases of their cross-spectrum give the remaining delay (see `MultitaperFit`); where that
    is more than a quarter of a sample, again. Without the first delay the phases are wrong by a twentieth of the
    delay. Bins are weighted by coherence and cross-spectrum, so that bins without command, or dominated by noise or
    other motions, have little weight.

    Without noise a pure delay is exact, whatever the motion. In white noise the cross-correlation is optimal and the
    cross-spectrum a tenth worse; motion outside `band` disturbs the cross-spectrum less. The standard deviations come
    from the residual of the fit of measured by the delayed command (`residual`), whatever its colour.

    No value is valid for a constant channel, a correlation below 0.5, a lag beyond `max_delay`, a closed gate, or
    where the unexplained share of the measured power in the command's band exceeds 30 %. With a coherence below 0.5
    only the values of the correlation are valid. The values are updated four times a window; they are those of the
    whole window, so that a change of the delay takes one window to be read correctly.
    """

    measure = "broadband"
    part = BROADBAND
    outputs = CATALOGUE["broadband"].outputs
    value_type = BroadbandValues
    smallest_window = SMALLEST_FIT
    evaluates_when_full = True

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
        max_lag = max(1, round(min(max_delay * sample_rate, (n_window - 2 * REACH) // 4)))
        n_middle = multitaper_length(n_window - 2 * (max_lag + REACH))
        self._tapers = MultitaperFit(n_middle, sample_rate, band)
        self._correlation = CrossCorrelation(n_window, n_middle, max_lag)
        self._max_lag = float(max_lag)
        delay_signal(np.zeros(n_window), self._correlation.start, n_middle, 0.0)
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

    def _evaluate(self, pair: int, window: Centred, number: int, good: int) -> Samples:  # noqa: ARG002  of the base class
        c, m, size_c, size_m = window
        amplitude = size_c * float(np.sqrt(2.0 * (c @ c) / self.n_window))
        gate_peak, gate_lowest, gate_start = self._memory
        is_open = _advance_gate(
            pair, amplitude, good, self.n_window, *self._limits, gate_peak, gate_lowest, gate_start
        )
        if not is_open or size_m == 0.0:
            return self.no_values(Reason.CONSTANT if is_open else Reason.GATE)
        peak = self._correlation.peak(c, m)
        # a peak next to the last lag may lie beyond it
        if not peak.correlation >= _RELATED:
            return self.no_values(Reason.UNRELATED)
        if not abs(peak.lag) <= self._max_lag + _LAG_ROUNDING:
            return self.no_values(Reason.LAG)
        tracking = peak.fit
        if tracking is None or not tracking.unexplained < UNRELATED:
            return self.no_values(Reason.UNRELATED)
        start, n, unexplained = self._correlation.start, self._correlation.n_middle, tracking.unexplained
        measured = self._tapers.spectrum(peak.measured[start : start + n])
        lag = min(max(peak.lag, -self._max_lag), self._max_lag)
        command, slope = delay_signal(c, start, n, lag)
        omega = peak.omega
        phase_sd = add_chance_agreement(peak.lag_sd * omega, unexplained)
        result = self.no_values(Reason.UNRELATED)
        result[9] = Reason.VALID if phase_sd <= _LARGEST_SD else Reason.UNCERTAIN
        if result[9] == Reason.VALID:
            lag_sd = phase_sd / (omega * self.sample_rate)
            result[[0, 1, 7]] = peak.lag / self.sample_rate, peak.correlation, lag_sd
        for _ in range(_MAX_ROUNDS):
            fit = self._tapers.fit(self._tapers.spectrum(command), measured, slope)
            if np.isnan(fit.lag):
                return result
            excess = abs(lag + fit.lag) - self._max_lag
            lag = min(max(lag + fit.lag, -self._max_lag), self._max_lag)
            if abs(fit.lag) <= _CONVERGED:
                break
            command, slope = delay_signal(c, start, n, lag)
        ratio = fit.ratio * size_c / size_m
        if excess > _LAG_ROUNDING:
            result[10] = Reason.LAG
        elif np.isfinite(ratio) and fit.coherence >= _RELATED:
            weights = np.zeros((2, self.n_window))
            weights[:, start : start + n] = fit.by_lag, fit.by_gain
            lag_sd, gain_sd = fit_deviations(tracking, *weights)
            phase_sd, gain_sd = (add_chance_agreement(sd, unexplained) for sd in (omega * lag_sd, gain_sd))
            result[10] = Reason.VALID if phase_sd <= _LARGEST_SD else Reason.UNCERTAIN
            if result[10] == Reason.VALID:
                delay, delay_sd = lag / self.sample_rate, phase_sd / (omega * self.sample_rate)
                result[2:7] = delay, ratio, fit.coherence, delay_sd, ratio * gain_sd
                result[8] = size_c * tracking.play
        return result


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
