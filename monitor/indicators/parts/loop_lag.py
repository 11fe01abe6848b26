"""Lag at which the loop of measured against the delayed command encloses no area: exact for any motion.

The area swept by chords is a product of measured with a third difference of the command. For more than a single tone,
chords of the two undelayed signals give a wrong delay, because each frequency is weighted by its own sine. With the
command delayed by the true lag the area is zero whatever the motion (ours).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monitor.indicators.parts.chords import SPAN
from monitor.indicators.parts.deviation import add_chance_agreement, weighted_sum_deviations
from monitor.indicators.parts.residual import fit_delayed
from monitor.indicators.parts.unrelated_motion import UNRELATED
from monitor.kernel import part, reduction
from monitor.messages.blocks import Samples
from monitor.messages.reasons import Reason

# rows of the work array
_SWEPT, _COMMON, _DELAYED, _SLOPE, _RESIDUAL, _BIAS, _RATE = range(7)
N_WORK_ROWS = 7
# shifts of the command that are tried
_MAX_TRIES = 4
# samples from the shift to the lag, above which another shift is tried
_MAX_OFFSET = 0.6
# rad of the motion, to either side of the shift, for the derivative of the phase by the lag
_SPREAD = 0.05
# the spread is at most this part of the window
_SPREAD_PARTS = 32
# rad, of the phase: above it no value is valid
LARGEST_SD = 0.3
_MIN_GROUPS = 8


class LoopLag(NamedTuple):
    """Lag of measured behind the command, samples, and gain measured over command.

    ``lag_sd``, and ``gain_sd`` of the gain's logarithm: one standard deviation. ``omega``: the chords' angular
    frequency, rad a sample; ``rate_sd``: its standard deviation for noise on the command. ``shift``: the whole number
    of samples nearest to the lag; in strong noise it may be off by a few. With the command delayed by the shift, the
    chords' phase changes with the lag ``phase_rate`` times as fast as that of a tone at their frequency; at an angle
    a from the lag their gain is ``1 - slope a + curvature a^2 / 2`` times the gain. ``drift`` of measured against the
    command, a sample, is taken out of lag and gain; a unit of it would change the phase by ``by_drift`` rad, rms over
    all parts of a cycle. ``found`` is False where no lag closes the loop, or the two signals are unrelated:
    `reason`.
    """

    found: bool
    lag: float
    gain: float
    lag_sd: float
    gain_sd: float
    omega: float
    rate_sd: float
    shift: int
    phase_rate: float
    slope: float
    curvature: float
    drift: float
    by_drift: float
    reason: int


NO_LOOP = LoopLag(
    False, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, 0, np.nan, np.nan, np.nan, 0.0, 0.0, Reason.UNRELATED.value
)


@part
def _declined(m: Samples, reason: int) -> LoopLag:
    """Return no lag: for this reason, unless measured is constant."""
    why = Reason.CONSTANT.value if m.max() == m.min() else reason
    return LoopLag(False, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, 0, np.nan, np.nan, np.nan, 0.0, 0.0, why)


@part
def no_loop_reason(c: Samples, m: Samples, least: float) -> int:
    """Return why command and measured, (n,), form no loop: an amplitude below `least`, a dead signal, few cycles."""
    half_range = 0.5 * (c.max() - c.min())
    if half_range == 0.0 or half_range < least:
        return Reason.GATE.value
    return Reason.CONSTANT.value if m.max() == m.min() else Reason.FEW_CYCLES.value


@reduction
def find_loop_lag(c: Samples, m: Samples, begin: int, k: int, lag: float, omega: float, work: Samples) -> LoopLag:
    """Find the lag near `lag` at which chords of lag `k` sweep no area.

    Parameters
    ----------
    c, m : (n,), oldest first.
    begin : the window's first sample; those before it show what one turn of the loop cannot: how the residual
        scatters, and what is a drift.
    omega : approximate angular frequency of the motion, rad a sample.
    work : (N_WORK_ROWS, n or more), overwritten.
    """
    crossing = _close_loop(c[begin:], m[begin:], k, lag, omega, work)
    if not crossing.found:
        return _declined(m, crossing.reason)
    near, gain, omega, lag, shift = crossing.near, crossing.gain, crossing.omega, crossing.lag, crossing.shift
    _rate_weights(k, crossing.first, crossing.last, crossing.far / near, work)
    start, stop, unexplained, drift, _, _ = fit_delayed(
        c, m, lag, work[_DELAYED], work[_SLOPE], work[_RESIDUAL], work[_BIAS]
    )
    if not unexplained < UNRELATED:
        return _declined(m, Reason.LAG.value if np.isnan(unexplained) else Reason.UNRELATED.value)
    # not separable from less than two cycles of motion
    drift = drift if omega * (stop - start) >= 4.0 * np.pi else 0.0
    # weights of the samples of measured, which are `shift` samples after those of the command
    lag_weights, gain_weights = work[_DELAYED], work[_SLOPE]
    for t in range(start, stop):
        lag_weights[t] = gain_weights[t] = 0.0
    later = begin + shift
    low, high = max(start, crossing.first + later), min(stop, crossing.last + SPAN * k + later)
    n_common = high - low
    lag_weights, gain_weights = lag_weights[low:high], gain_weights[low:high]
    swept, common = work[_SWEPT, low - later : high - later], work[_COMMON, low - later : high - later]
    by_drift, gain_by_drift, x = 0.0, 0.0, -0.5 * (n_common - 1)
    for t in range(n_common):
        lag_weights[t], gain_weights[t] = swept[t] / crossing.by_lag, common[t] / (near * gain)
        by_drift, gain_by_drift = by_drift + lag_weights[t] * x, gain_by_drift + gain_weights[t] * x
        x += 1.0
    lag_sd, gain_sd = weighted_sum_deviations(work[_DELAYED], work[_SLOPE], work[_RESIDUAL], work[_BIAS], start, stop)
    # the weights of the frequency are a motion like those of the lag: noise of any colour scatters both alike
    by_ratio = 1.0 / (4.0 * k * np.sqrt(max(1.0 - 0.25 * crossing.far * crossing.far / (near * near), 1e-30)))
    rate_sd = lag_sd * by_ratio / (near * gain) * _rms_ratio(work[_RATE, low - later : high - later], lag_weights, k)
    phase_sd, gain_sd = add_chance_agreement(lag_sd * omega, unexplained), add_chance_agreement(gain_sd, unexplained)
    lag, gain = lag + drift * by_drift, gain * (1.0 - drift * gain_by_drift)
    by_drift = np.sqrt(0.5 * (by_drift * omega * by_drift * omega + gain_by_drift * gain_by_drift))
    return LoopLag(
        True, lag, gain, phase_sd / omega, gain_sd, omega, rate_sd, shift, crossing.step / omega, crossing.slope,
        crossing.curvature, drift, by_drift, Reason.VALID.value,
    )  # fmt: skip


class _Crossing(NamedTuple):
    """The lag at which the area is zero, and what is known around it, see `LoopLag`; or the reason of none.

    ``near`` and ``far``: the command's sums; ``by_lag`` and ``step``:
    derivatives of the area and of the phase by the lag; groups of points start at the samples ``first`` to ``last``.
    """

    found: bool
    reason: int
    lag: float
    gain: float
    omega: float
    shift: int
    near: float
    far: float
    by_lag: float
    step: float
    slope: float
    curvature: float
    first: int
    last: int


@reduction
def _close_loop(c: Samples, m: Samples, k: int, lag: float, omega: float, work: Samples) -> _Crossing:
    """Find where the area of a window is zero, from the areas at three shifts around `lag`, and around what is found.

    The command's weights of that shift are left in `work`.
    """
    n, first, last, shift, found, reason = c.shape[0], 0, 0, 0, False, Reason.LAG.value
    near, far, gain, by_lag, step, slope, curvature = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    spread = max(min(int(_SPREAD / omega), n // _SPREAD_PARTS), 1) if omega > 0.0 else 1
    for attempt in range(_MAX_TRIES):
        if found or not abs(lag) < n / 2:
            break
        shift = int(np.rint(lag))
        # the same groups of points for the three shifts
        first, last = max(0, spread - shift), n - SPAN * k - max(0, shift + spread)
        if last - first < _MIN_GROUPS:
            break
        near, far = _area_weights(c, k, first, last, work)
        if not (near > 0.0 and abs(far) < 2.0 * near):
            reason = Reason.FEW_CYCLES.value
            break
        sin_2y = np.sqrt(max(1.0 - 0.25 * far * far / (near * near), 0.0))
        omega = 0.5 * np.arctan2(sin_2y, 0.5 * far / near) / k
        area_0, area_1, area_2, common_0, common_1, common_2 = _areas(m, shift, spread, first, last + SPAN * k, work)
        phase_0, phase_1 = np.arctan2(-area_0 * sin_2y, common_0), np.arctan2(-area_1 * sin_2y, common_1)
        phase_2 = np.arctan2(-area_2 * sin_2y, common_2)
        # where measured lags behind the shift the phase is negative, and increases with the shift
        step = 0.5 * (_wrapped(phase_2 - phase_1) + _wrapped(phase_1 - phase_0)) / spread
        if not step > 0.0:
            reason = Reason.UNRELATED.value
            break
        x = -phase_1 / step
        lag = shift + x
        reason = Reason.UNRELATED.value if abs(lag) < n / 2 else Reason.LAG.value
        # halfway between two shifts, and in strong noise, each may point to another: the last try is accepted
        found = abs(x) <= (_MAX_OFFSET if attempt < _MAX_TRIES - 1 else _MAX_OFFSET * spread)
        by_lag = 0.5 * (area_2 - area_0) / spread
        gain_0, gain_1 = np.hypot(area_0 * sin_2y, common_0), np.hypot(area_1 * sin_2y, common_1)
        gain_2 = np.hypot(area_2 * sin_2y, common_2)
        slope, curvature = 0.5 * (gain_2 - gain_0) / spread, (gain_0 + gain_2 - 2.0 * gain_1) / (spread * spread)
        gain_1 += slope * x + 0.5 * curvature * x * x
        gain, slope = gain_1 / near, (slope + curvature * x) / (gain_1 * omega)
        curvature /= gain_1 * omega**2
    if found and not (gain > 1e-12 and by_lag != 0.0):
        found, reason = False, Reason.CONSTANT.value
    return _Crossing(found, reason, lag, gain, omega, shift, near, far, by_lag, step, slope, curvature, first, last)


@reduction
def _rms_ratio(one: Samples, other: Samples, k: int) -> float:
    """Return the ratio of two motions' weights, of sums over `k` of them, because they are noisy themselves."""
    one_square = other_square = 0.0
    for t in range(0, one.shape[0] - k + 1, k):
        one_sum = other_sum = 0.0
        for i in range(t, t + k):
            one_sum, other_sum = one_sum + one[i], other_sum + other[i]
        one_square, other_square = one_square + one_sum * one_sum, other_square + other_sum * other_sum
    return float(np.sqrt(one_square / other_square))


@part
def _wrapped(angle: float) -> float:
    return float(angle - 2.0 * np.pi * np.rint(angle / (2.0 * np.pi)))


@reduction
def _area_weights(c: Samples, k: int, first: int, last: int, work: Samples) -> tuple[float, float]:
    """Write the weights of measured in the sums of swept area and common motion; return near and far.

    The groups of points start at the samples from `first` to `last`; the weights are aligned with the command.
    """
    n = last - first + SPAN * k
    swept, common = work[_SWEPT, first : first + n], work[_COMMON, first : first + n]
    points, chord = c[first : first + n], work[_DELAYED, : n - 2 * k]
    for t in range(n):
        swept[t] = common[t] = 0.0
    for t in range(n - 2 * k):
        chord[t] = points[t + 2 * k] - points[t]
    groups = last - first
    d_0, d_1, d_2 = chord[:groups], chord[k : k + groups], chord[2 * k : 2 * k + groups]
    d_3, d_4, d_5 = (
        chord[3 * k : 3 * k + groups],
        chord[4 * k : 4 * k + groups],
        chord[5 * k : 5 * k + groups],
    )
    near = far = 0.0
    for b in range(groups):
        inner = d_1[b] * d_4[b]
        near += d_2[b] * d_3[b] - inner
        far += inner - d_0[b] * d_5[b]
    # one loop over all groups for each point, which is vectorised
    for at, sign, chord_b in ((5, 1.0, d_2), (3, -1.0, d_2), (4, -1.0, d_3), (2, 1.0, d_3)):
        target = swept[at * k : at * k + groups]
        for b in range(groups):
            target[b] += sign * chord_b[b]
    for at, sign, chord_b in (
        (5, 0.5, d_2), (3, -0.5, d_2), (4, 0.5, d_3), (2, -0.5, d_3),
        (6, -0.5, d_1), (4, 0.5, d_1), (3, -0.5, d_4), (1, 0.5, d_4),
    ):  # fmt: skip
        target = common[at * k : at * k + groups]
        for b in range(groups):
            target[b] += sign * chord_b[b]
    return near, far


@reduction
def _rate_weights(k: int, first: int, last: int, ratio: float, work: Samples) -> None:
    """Write the weights of the command in the change of far less `ratio` times near, from the chords in `work`."""
    n, groups = last - first + SPAN * k, last - first
    rate, chord = work[_RATE, first : first + n], work[_DELAYED, : n - 2 * k]
    for t in range(n):
        rate[t] = 0.0
    # chord j of a group spans 2k samples and is multiplied with chord 5 - j
    for j, factor in ((0, -1.0), (1, 1.0 + ratio), (2, -ratio), (3, -ratio), (4, 1.0 + ratio), (5, -1.0)):
        other = chord[(5 - j) * k : (5 - j) * k + groups]
        ends, starts = rate[(j + 2) * k : (j + 2) * k + groups], rate[j * k : j * k + groups]
        for b in range(groups):
            ends[b] += factor * other[b]
        for b in range(groups):
            starts[b] -= factor * other[b]


@reduction
def _areas(
    m: Samples, shift: int, spread: int, first: int, stop: int, work: Samples
) -> tuple[float, float, float, float, float, float]:
    """Return swept areas and common motions of the command with measured at three later shifts.

    The shifts are `shift` minus `spread`, `shift`, and `shift` plus `spread` samples.
    """
    n = stop - first
    swept, common = work[_SWEPT, first:stop], work[_COMMON, first:stop]
    m_0, m_1 = m[first + shift - spread : stop + shift - spread], m[first + shift : stop + shift]
    m_2 = m[first + shift + spread : stop + shift + spread]
    area_0 = area_1 = area_2 = common_0 = common_1 = common_2 = 0.0
    for t in range(n):
        x_0, x_1, x_2 = m_0[t], m_1[t], m_2[t]
        area_0, area_1, area_2 = area_0 + swept[t] * x_0, area_1 + swept[t] * x_1, area_2 + swept[t] * x_2
        common_0, common_1 = common_0 + common[t] * x_0, common_1 + common[t] * x_1
        common_2 += common[t] * x_2
    return area_0, area_1, area_2, common_0, common_1, common_2
