"""The lag at which the loop of measured against the command, delayed by it, closes: exact for any motion.

The area that chords sweep is a product of measured with a third difference of the command. Off a single tone, chords
of the two signals as they are read the delay wrongly: each frequency counts with its own sine. With the command
delayed by the lag that is sought, nothing is left to weigh, and the area is nil whatever the motion (ours).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monitor.indicators.parts.chords import SPAN
from monitor.indicators.parts.residual import fit_delayed, scatter_of_sums, take_gain, with_chance
from monitor.kernel import part, reduction
from monitor.messages.blocks import Samples

# rows of the work array
_SWEPT, _COMMON, _LATER, _SLOPE, _REST, _BENT, _PACE = range(7)
N_WORK_ROWS = 7
# delays of the command that are tried
_TRIES = 4
# samples from the shift, beyond which another is tried
_NEAREST = 0.6
# rad of the motion, to either side of the shift, over which the change of the phase with the lag is taken
_SPREAD = 0.05
# of the window, which the spread is at most one part of
_NARROW = 32
# rad, of the phase: beyond it nothing is known
LARGEST_SD = 0.3
_FEWEST = 8


class ClosedLoop(NamedTuple):
    """The lag of measured behind the command, samples; the gain measured over command at it.

    ``lag_sd``, and ``gain_sd`` of the gain's logarithm: one standard deviation; ``turn_rate`` the chords' angle
    between samples, ``rate_sd`` its standard deviation if the command has the noise. ``shift`` is the whole number of
    samples nearest to the lag; in strong noise it may be off by some more.
    With the command delayed by it, chords read a phase that changes with the lag ``pace`` times as fast as that of a
    tone at their frequency; and where that is off by an angle a, ``1 - slope a + bend a^2 / 2`` times the gain.
    ``found`` is False where no lag closes the loop, or the two signals have nothing to do with each other.
    """

    found: bool
    lag: float
    gain: float
    lag_sd: float
    gain_sd: float
    turn_rate: float
    rate_sd: float
    shift: int
    pace: float
    slope: float
    bend: float


NO_LOOP = ClosedLoop(False, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, 0, np.nan, np.nan, np.nan)


@reduction
def close_loop(
    c: Samples, m: Samples, k: int, lag: float, turn_rate: float, most: float, work: Samples
) -> ClosedLoop:
    """Find the lag near `lag` at which chords of lag `k` sweep nothing.

    Parameters
    ----------
    c, m : (n,), oldest first.
    turn_rate : of the motion, roughly, rad a sample.
    most : share of the power of measured that may be left unexplained.
    work : (N_WORK_ROWS, n or more), overwritten.
    """
    n = c.shape[0]
    near, far, shift, found, gain, by_lag, step, slope, bend = 0.0, 0.0, 0, False, 0.0, 0.0, 0.0, 0.0, 0.0
    first = last = 0
    spread = max(min(int(_SPREAD / turn_rate), n // _NARROW), 1) if turn_rate > 0.0 else 1
    for attempt in range(_TRIES):
        if found or not abs(lag) < n / 2:
            continue
        shift = int(np.rint(lag))
        # the same groups of points for every shift that is tried
        first, last = max(0, spread - shift), n - SPAN * k - max(0, shift + spread)
        if last - first < _FEWEST:
            lag = np.nan
            continue
        near, far = _weigh(c, k, first, last, work)
        if not (near > 0.0 and abs(far) < 2.0 * near):
            lag = np.nan
            continue
        sin_2y = np.sqrt(max(1.0 - 0.25 * far * far / (near * near), 0.0))
        turn_rate = 0.5 * np.arctan2(sin_2y, 0.5 * far / near) / k
        area_0, area_1, area_2, common_0, common_1, common_2 = _read(m, shift, spread, first, last + SPAN * k, work)
        phase_0, phase_1 = np.arctan2(-area_0 * sin_2y, common_0), np.arctan2(-area_1 * sin_2y, common_1)
        phase_2 = np.arctan2(-area_2 * sin_2y, common_2)
        # measured behind the shift has a negative phase, which rises with the shift
        step = 0.5 * (_turned(phase_2 - phase_1) + _turned(phase_1 - phase_0)) / spread
        if not step > 0.0:
            lag = np.nan
            continue
        x = -phase_1 / step
        lag = shift + x
        # halfway between two shifts, and in strong noise, each may say that another is nearer: the last one serves
        found = abs(x) <= (_NEAREST if attempt < _TRIES - 1 else _NEAREST * spread)
        by_lag = 0.5 * (area_2 - area_0) / spread
        gain_0, gain_1 = np.hypot(area_0 * sin_2y, common_0), np.hypot(area_1 * sin_2y, common_1)
        gain_2 = np.hypot(area_2 * sin_2y, common_2)
        slope, bend = 0.5 * (gain_2 - gain_0) / spread, (gain_0 + gain_2 - 2.0 * gain_1) / (spread * spread)
        gain_1 += slope * x + 0.5 * bend * x * x
        gain, slope, bend = gain_1 / near, (slope + bend * x) / (gain_1 * turn_rate), bend / (gain_1 * turn_rate**2)
    if not (found and gain > 1e-12 and by_lag != 0.0):
        return NO_LOOP
    # rad a sample, of the ratio of the two sums
    by_ratio = 1.0 / (4.0 * k * np.sqrt(max(1.0 - 0.25 * far * far / (near * near), 1e-30)))
    _weigh_rate(k, first, last, far / near, work)
    start, stop, share, drift, fitted = fit_delayed(c, m, lag, work[_LATER], work[_SLOPE], work[_REST], work[_BENT])
    if not share < most:
        return NO_LOOP
    take_gain(work[_LATER, start:stop], work[_REST, start:stop], fitted, gain)
    drift = _certain_drift(drift, turn_rate, start, stop, work)
    # from the weights of what is `shift` samples later to those of measured
    of_lag, of_gain = work[_LATER], work[_SLOPE]
    for t in range(start, stop):
        of_lag[t] = of_gain[t] = 0.0
    low, high = max(start, first + shift), min(stop, last + SPAN * k + shift)
    n_both = high - low
    of_lag, of_gain = of_lag[low:high], of_gain[low:high]
    swept, common = work[_SWEPT, low - shift : high - shift], work[_COMMON, low - shift : high - shift]
    # a drift of measured is a part of the uncertainty that no scatter tells: its share changes with the window's ends
    by_drift, gain_by_drift, x = 0.0, 0.0, -0.5 * (n_both - 1)
    for t in range(n_both):
        of_lag[t], of_gain[t] = swept[t] / by_lag, common[t] / (near * gain)
        by_drift, gain_by_drift = by_drift + of_lag[t] * x, gain_by_drift + of_gain[t] * x
        x += 1.0
    scatter_of_lag, scatter_of_gain = scatter_of_sums(
        work[_LATER], work[_SLOPE], work[_REST], work[_BENT], start, stop
    )
    phase_sd = with_chance(np.hypot(scatter_of_lag, drift * by_drift) * turn_rate, share)
    gain_sd = with_chance(np.hypot(scatter_of_gain, drift * gain_by_drift), share)
    for t in range(n_both):
        of_lag[t] = work[_PACE, low - shift + t] * by_ratio / (near * gain)
    rate_sd = scatter_of_sums(work[_LATER], work[_LATER], work[_REST], work[_BENT], start, stop)[0]
    return ClosedLoop(
        True, lag, gain, phase_sd / turn_rate, gain_sd, turn_rate, rate_sd, shift, step / turn_rate, slope, bend
    )


@reduction
def _certain_drift(drift: float, turn_rate: float, start: int, stop: int, work: Samples) -> float:
    """Return a drift without what noise has of one; in less than two turns it cannot be told from the motion."""
    n = stop - start
    if turn_rate * n < 4.0 * np.pi:
        return 0.0
    ramp, per_tilt, x = work[_LATER], 12.0 / (n * (n * float(n) - 1.0)), -0.5 * (n - 1)
    for t in range(start, stop):
        ramp[t] = per_tilt * x
        x += 1.0
    noise = scatter_of_sums(ramp, ramp, work[_REST], work[_BENT], start, stop)[0]
    return float(np.sqrt(max(drift * drift - noise * noise, 0.0)))


@part
def _turned(angle: float) -> float:
    return float(angle - 2.0 * np.pi * np.rint(angle / (2.0 * np.pi)))


@reduction
def _weigh(c: Samples, k: int, first: int, last: int, work: Samples) -> tuple[float, float]:
    """Fill in what measured is multiplied with in the sums of swept area and common motion; return near and far.

    The groups of points begin at the samples from `first` to `last`; the weights lie at the command's samples.
    """
    n = last - first + SPAN * k
    swept, common = work[_SWEPT, first : first + n], work[_COMMON, first : first + n]
    points, chord = c[first : first + n], work[_LATER, : n - 2 * k]
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
    # point by point, each loop over all groups: so many can be added at a time
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
def _weigh_rate(k: int, first: int, last: int, ratio: float, work: Samples) -> None:
    """Fill in what the command is multiplied with in the change of far, less `ratio` times near; chords are there."""
    n, groups = last - first + SPAN * k, last - first
    pace, chord = work[_PACE, first : first + n], work[_LATER, : n - 2 * k]
    for t in range(n):
        pace[t] = 0.0
    # chord j of a group ends 2k after it begins, and is in the product with chord 5 - j
    for j, factor in ((0, -1.0), (1, 1.0 + ratio), (2, -ratio), (3, -ratio), (4, 1.0 + ratio), (5, -1.0)):
        other = chord[(5 - j) * k : (5 - j) * k + groups]
        ends, begins = pace[(j + 2) * k : (j + 2) * k + groups], pace[j * k : j * k + groups]
        for b in range(groups):
            ends[b] += factor * other[b]
        for b in range(groups):
            begins[b] -= factor * other[b]


@reduction
def _read(
    m: Samples, shift: int, spread: int, first: int, stop: int, work: Samples
) -> tuple[float, float, float, float, float, float]:
    """Return swept area and common motion of the command with what measured is `shift` samples later.

    Three of each: for `spread` samples less, for `shift` itself and for `spread` samples more.
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
