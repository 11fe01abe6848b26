"""Delay of a motion without a dominant tone, by cross-correlation and by the cross-spectrum over a band.

In numpy: `reference.lagged_correlation`, `reference.broadband_lag`. Settings: `BroadbandSettings`. The kernel
compares whole windows, four times a window (`_compare`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.catalogue import CATALOGUE
from monitor.config.analysis import BroadbandSettings
from monitor.indicators.hopped import Centred, HoppedIndicator
from monitor.indicators.parts.cross_correlation import LagPlan, find_peak, plan_lags
from monitor.indicators.parts.cross_spectra import TaperPlan, fit_lag, multitaper_length, plan_tapers
from monitor.indicators.parts.deviation import add_chance_agreement, weighted_sum_deviations
from monitor.indicators.parts.memory import BROADBAND
from monitor.indicators.parts.residual import REACH, SMALLEST_FIT, interpolate
from monitor.indicators.parts.sample_loop import Gate, new_gate, update_gate
from monitor.indicators.parts.unrelated_motion import UNRELATED
from monitor.kernel import kernel, part
from monitor.messages.blocks import Samples
from monitor.messages.reasons import Reason

# correlation, or coherence over the band, below which the signals are unrelated
_RELATED = 0.5
# rad, of the phase at the motion's mean frequency: above it no value is valid
_LARGEST_SD = 0.5
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
    latency : see `HoppedIndicator`.
    n_pairs, every : see `WindowedIndicator`.
    options : fields of `BroadbandSettings`.

    Notes
    -----
    Ours. The middle of measured is correlated with the command at all lags, piece by piece (see `cross_correlation`):
    that is `xcorr_delay`. The command is then delayed by it, interpolated between samples, so that both pieces are of
    the same motion, and the phases of their cross-spectrum give the remaining delay (see `fit_lag`); where that
    is more than a quarter of a sample, again. Without the first delay the phases are wrong by a twentieth of the
    delay. Bins are weighted by coherence and cross-spectrum, so that bins without command, or dominated by noise or
    other motions, have little weight.

    A lag or lead is searched up to `max_delay`, at most a quarter of the window: a longer one is not valid, or gives
    a side lobe with a low `xcorr_peak`; a tone is correct while its phase is less than pi. The gate's amplitude is
    the root of twice the variance, which is the amplitude of a tone.

    Without noise a pure delay is exact, whatever the motion. In white noise the cross-correlation is optimal and the
    cross-spectrum a tenth worse; motion outside `band` disturbs the cross-spectrum less.

    No value is valid for a constant channel, a correlation below 0.5 or a lag beyond `max_delay`. With a coherence
    below 0.5 only the values of the correlation are valid. The values are updated four times a window; they are those
    of the whole window, so that a change of the delay takes one window to be read correctly.
    """

    measure = "broadband"
    part = BROADBAND
    outputs = CATALOGUE["broadband"].outputs
    value_type = BroadbandValues
    smallest_window = SMALLEST_FIT
    settings: BroadbandSettings = BroadbandSettings()
    evaluations = 4
    evaluates_when_full = True

    def _plan(self) -> None:
        super()._plan()
        rate, n_window = self.sample_rate, self.n_window
        max_lag = max(1, round(min(self.settings.max_delay * rate, (n_window - 2 * REACH) // 4)))
        n_middle = multitaper_length(n_window - 2 * (max_lag + REACH))
        lags, tapers = plan_lags(n_window, n_middle, max_lag), plan_tapers(n_middle, rate, self.settings.band)
        self._comparison = _Plan(lags, tapers, float(max_lag), rate)

    def _new_memory(self) -> Gate:
        return new_gate(self.n_pairs)

    def _evaluate(self, pair: int, window: Centred, number: int, good: int) -> Samples:  # noqa: ARG002  of the base class
        c, m, size_c, size_m = window
        amplitude = size_c * float(np.sqrt(2.0 * (c @ c) / self.n_window))
        gate_peak, gate_lowest, gate_start = self._memory
        absolute, relative = self.settings.gate, self.settings.relative_gate
        is_open = _advance_gate(
            pair, amplitude, good, self.n_window, absolute, relative, gate_peak, gate_lowest, gate_start
        )
        if not is_open or size_m == 0.0:
            return self.no_values(Reason.CONSTANT if is_open else Reason.GATE)
        result: Samples = np.array([*_compare(c, m, self._comparison)])
        result[[3, 6]] *= size_c / size_m
        result[8] *= size_c
        return result


class _Plan(NamedTuple):
    """Comparison of windows of one length; ``max_lag`` samples, ``sample_rate`` Hz."""

    lags: LagPlan
    tapers: TaperPlan
    max_lag: float
    sample_rate: float


@kernel
def _compare(c: Samples, m: Samples, plan: _Plan) -> BroadbandValues:
    """Return the values of two windows, (n_window,) each, without their means and scaled to about one."""
    peak = find_peak(c, m, plan.lags)
    if not peak.correlation >= _RELATED:
        return _none(Reason.UNRELATED.value)
    # a peak next to the last lag may lie beyond it
    if not abs(peak.lag) <= plan.max_lag + _LAG_ROUNDING:
        return _none(Reason.LAG.value)
    tracking, unexplained = peak.fit, peak.fit.unexplained
    if not unexplained < UNRELATED:
        return _none(Reason.UNRELATED.value)
    start, n, max_lag, omega = plan.lags.start, plan.lags.n_middle, plan.max_lag, peak.omega
    phase_sd = add_chance_agreement(peak.lag_sd * omega, unexplained)
    xcorr, xcorr_peak, xcorr_sd, xcorr_reason = np.nan, np.nan, np.nan, Reason.UNCERTAIN.value
    if phase_sd <= _LARGEST_SD:
        xcorr, xcorr_peak, xcorr_reason = peak.lag / plan.sample_rate, peak.correlation, Reason.VALID.value
        xcorr_sd = phase_sd / (omega * plan.sample_rate)
    delay, ratio, coherence, delay_sd, ratio_sd, play = np.nan, np.nan, np.nan, np.nan, np.nan, np.nan
    lag, excess, reason = min(max(peak.lag, -max_lag), max_lag), 0.0, Reason.UNRELATED.value
    measured, command, slope = peak.measured[start : start + n], np.empty(n), np.empty(n)
    interpolate(c, start, lag, command, slope)
    fit = fit_lag(command, measured, slope, plan.tapers)
    for _ in range(_MAX_ROUNDS - 1):
        if not abs(fit.lag) > _CONVERGED:
            break
        lag = min(max(lag + fit.lag, -max_lag), max_lag)
        interpolate(c, start, lag, command, slope)
        fit = fit_lag(command, measured, slope, plan.tapers)
    excess = abs(lag + fit.lag) - max_lag
    lag = min(max(lag + fit.lag, -max_lag), max_lag)
    if excess > _LAG_ROUNDING:
        reason = Reason.LAG.value
    elif np.isfinite(fit.ratio + lag) and fit.coherence >= _RELATED:
        lag_weights, gain_weights = np.zeros(len(c)), np.zeros(len(c))
        # by elements: for an assignment to a slice numba compiles text for its error, a tenth of the headline's time
        for t in range(n):
            lag_weights[start + t], gain_weights[start + t] = fit.by_lag[t], fit.by_gain[t]
        lag_sd, gain_sd = weighted_sum_deviations(
            lag_weights, gain_weights, tracking.residual, tracking.bias, tracking.start, tracking.stop
        )
        phase_sd, gain_sd = (
            add_chance_agreement(omega * lag_sd, unexplained),
            add_chance_agreement(gain_sd, unexplained),
        )
        reason = Reason.UNCERTAIN.value
        if phase_sd <= _LARGEST_SD:
            delay, ratio, coherence, reason = lag / plan.sample_rate, fit.ratio, fit.coherence, Reason.VALID.value
            delay_sd, ratio_sd, play = phase_sd / (omega * plan.sample_rate), fit.ratio * gain_sd, tracking.play
    return BroadbandValues(
        xcorr, xcorr_peak, delay, ratio, coherence, delay_sd, ratio_sd, xcorr_sd, play, xcorr_reason, reason
    )


@part
def _none(reason: float) -> BroadbandValues:
    nan = np.nan
    return BroadbandValues(nan, nan, nan, nan, nan, nan, nan, nan, nan, reason, reason)


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
