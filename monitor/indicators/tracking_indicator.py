"""TI, the tracking indicator: the area that measured against command encloses.

In numpy: `reference.tracking_indicator`, `reference.tracking_angle`. Settings: `GateSettings`. The kernel slides the
sum of the area at every sample (`_slide`); looks for the angle in the whole window eight times a window (`_look`);
reads a row where one is due (`_read`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monitor.catalogue import CATALOGUE
from monitor.config.analysis import GateSettings
from monitor.indicators.base import PassIndicator
from monitor.indicators.parts import memory as kinds
from monitor.indicators.parts.deviation import add_chance_agreement, weighted_sum_deviations
from monitor.indicators.parts.memory import TI, open_state
from monitor.indicators.parts.residual import fit_delayed
from monitor.indicators.parts.sample_loop import (
    advance_row_clock,
    is_good,
    new_gate,
    next_position,
    start_row_clock,
    update_gate,
)
from monitor.indicators.parts.sliding_statistics import (
    largest,
    new_extremes,
    new_sums,
    push_largest,
    push_sums,
    window_sum,
)
from monitor.indicators.parts.swept_area import LOOPS_PER_WINDOW, Loop, hann_weights, loop_averages, step_sine
from monitor.indicators.parts.unrelated_motion import UNRELATED
from monitor.kernel import inlined, kernel, reduction
from monitor.messages.blocks import Samples
from monitor.messages.reasons import Reason


class TrackingAreaValues(NamedTuple):
    """TI over the window and since the start, in the square of the signal's unit; as a ratio; angle of its slope,
    rad.

    ``angle_sd`` is the standard deviation of the angle; ``reason``: `Reason` of no angle.
    """

    window: float
    total: float
    normalized: float
    angle: float
    angle_sd: float
    reason: float


class TrackingIndicator(PassIndicator[TrackingAreaValues]):
    """Half the difference of the areas under and left of the synchronization subspace plot.

    Parameters
    ----------
    sample_rate, window, n_pairs, every : see `WindowedIndicator`.
    options : fields of `GateSettings`; they affect the angle only.

    Notes
    -----
    ``ti`` sums over the window; ``ti_total`` over all good samples since the start. It combines phase and amplitude
    and scales with the square of the command. ``ti_normalized`` is over the square of the window's largest number.

    ``ti_angle`` is that of the slope of TI per radian of the command against the covariance of the two signals (ours:
    the papers at hand print no formula for one), in the quadrant of the two signs: for a tone the phase error,
    whatever the amplitudes, offsets and units. Of several tones the strong and the fast ones have more weight. It is
    updated every `hop` samples, needs two cycles in the window, and is accurate from 2.5 on; a drift of the command
    makes it NaN.

    ``ti_angle_sd`` is that of the random error: for several tones the angle is a mixture of their phases.
    """

    outputs = CATALOGUE["ti"].outputs
    value_type = TrackingAreaValues
    settings: GateSettings = GateSettings()
    smallest_window = 2
    part = TI
    evaluations = LOOPS_PER_WINDOW

    def new_arrays(self) -> TrackingState:
        """Return the initial arrays."""
        n, pairs, settings = self.n_window, self.n_pairs, self.settings
        return TrackingState(
            # a window of n samples has n - 1 segments
            self.hop, settings.gate, settings.relative_gate, *new_sums(n - 1, pairs, 1), np.zeros(1), np.zeros(pairs),
            np.full((pairs, 2), np.nan), np.full(pairs, float(Reason.FILLING)), np.zeros((pairs, 2), np.int64),
            *new_extremes(n, pairs, 1), hann_weights(n), *new_gate(pairs), np.zeros((N_WORK_ROWS, n)),
        )  # fmt: skip


# measured power over the command's, below which the measured signal is rounding of a constant channel
_MIN_POWER_RATIO = 1e-24
# rad, of the angle: above it no value is valid
_LARGEST_SD = 0.3
N_WORK_ROWS = 4


class TrackingState(NamedTuple):
    """Settings and arrays of TI.

    ``hop`` samples; ``absolute``, ``relative``: gate; ``rows``, ``prefix``, ``since``: sums of the area
    (`sliding_statistics`); ``segment`` (1,): its newest summand; ``running`` (n_pairs,): the area since the start;
    ``angle`` (n_pairs, 2): the newest angle and its standard deviation; ``reason`` (n_pairs,) of no angle; ``counts``
    (n_pairs, 2): samples in all, and good ones in a row; ``candidates``, ``stamps``, ``ends``: the largest sample
    (`sliding_statistics`); ``hann``: weights; ``work`` (4, n_window).
    """

    hop: kinds.Count
    absolute: kinds.Number
    relative: kinds.Number
    rows: kinds.Cube
    prefix: kinds.Matrix
    since: kinds.IntVector
    segment: kinds.Vector
    running: kinds.Vector
    angle: kinds.Matrix
    reason: kinds.Vector
    counts: kinds.IntMatrix
    candidates: kinds.Cube
    stamps: kinds.IntCube
    ends: kinds.IntCube
    hann: kinds.Vector
    gate_peak: kinds.Vector
    gate_lowest: kinds.Vector
    gate_start: kinds.IntVector
    work: kinds.Matrix


open_ti = open_state(TrackingState)


@kernel
def advance_ti(
    x_c: Samples, x_m: Samples, columns: kinds.IntMatrix, first: int, every: int, out: Samples, memory: Samples,
    n: int, ring: Samples, at: int,
) -> None:  # fmt: skip
    """Process samples, (n_samples, n_channels), the first at `at` in the ring; write rows, (n_rows, n_pairs, 6)."""
    state = open_ti(memory, n)
    n_window, row_clock = state.hann.shape[0], start_row_clock(first, every)
    for i in range(x_c.shape[0]):
        row_clock = advance_row_clock(row_clock, every)
        for pair in range(columns.shape[1]):
            _slide(state, pair, x_c[i, columns[0, pair]], x_m[i, columns[1, pair]], ring, at)
            if state.counts[pair, 1] < n_window:
                state.angle[pair, 0] = state.angle[pair, 1] = np.nan
            elif (first + i + pair) % state.hop == 0:
                begin, end = at + 1 - n_window, at + 1
                _look(state, pair, ring[pair, 0, begin:end], ring[pair, 1, begin:end])
            if row_clock.due:
                _read(state, pair, out[row_clock.row, pair])
        at = next_position(at, ring)


@inlined
def _slide(state: TrackingState, pair: int, c: float, m: float, ring: Samples, at: int) -> None:
    """Add the segment that ends at the newest sample."""
    counts, segment, usable = state.counts, state.segment, is_good(c, m)
    now = counts[pair, 0]
    counts[pair, 0] = now + 1
    counts[pair, 1] = counts[pair, 1] + 1 if usable else 0
    if not usable:
        state.reason[pair] = Reason.BAD_SAMPLE.value
    c_0, m_0 = ring[pair, 0, at - 1], ring[pair, 1, at - 1]
    # equal to the definition, without its cancellation on a large offset
    segment[0] = 0.5 * (m_0 * (c - c_0) - c_0 * (m - m_0)) if counts[pair, 1] > 1 else 0.0
    push_sums(state.rows, state.prefix, state.since, pair, segment)
    state.running[pair] += segment[0]
    push_largest(state.candidates, state.stamps, state.ends, pair, 0, now, max(abs(c), abs(m)) if usable else 0.0)


@inlined
def _look(state: TrackingState, pair: int, command: Samples, measured: Samples) -> None:
    """Find the angle in the whole window, and hold it, or the reason of none."""
    angle, reason = state.angle, state.reason
    angle[pair, 0] = angle[pair, 1] = np.nan
    loop = loop_averages(measured, command, state.hann)
    is_open = update_gate(
        state.gate_peak, state.gate_lowest, state.gate_start, state.absolute, state.relative, pair,
        np.sqrt(2.0 * loop.square_b), state.counts[pair, 1], len(command),
    )  # fmt: skip
    reason[pair] = Reason.GATE.value
    if is_open and not loop.square_a > _MIN_POWER_RATIO * loop.square_b:
        reason[pair] = Reason.CONSTANT.value
    elif is_open:
        step = step_sine(command, np.sqrt(loop.square_b), loop.drift)
        # NaN for a command without a frequency
        value, sd = _angle(command, measured, loop, step, state.hann, state.work)
        reason[pair] = Reason.FEW_CYCLES.value if np.isnan(step) else Reason.UNRELATED.value
        if sd <= _LARGEST_SD:
            angle[pair, 0], angle[pair, 1], reason[pair] = value, sd, Reason.VALID.value
        elif sd > _LARGEST_SD:
            reason[pair] = Reason.UNCERTAIN.value


@inlined
def _read(state: TrackingState, pair: int, values: Samples) -> None:
    """Write the values of a pair, (6,)."""
    full = state.counts[pair, 1] >= state.hann.shape[0]
    square = largest(state.candidates, state.ends, pair, 0) ** 2
    area = window_sum(state.rows, state.prefix, state.since, pair, 0)
    values[0], values[1] = area if full else np.nan, state.running[pair]
    values[2] = area / square if full and square > 0.0 else np.nan
    values[3], values[4], values[5] = state.angle[pair, 0], state.angle[pair, 1], state.reason[pair]


@reduction
def _angle(
    command: Samples, measured: Samples, loop: Loop, step: float, hann: Samples, work: Samples
) -> tuple[float, float]:
    """Return the angle of the slope and its standard deviation; NaN where the two signals are unrelated."""
    n = command.shape[0]
    lag = -np.arctan2(loop.swept / step, loop.common) / np.arcsin(min(step, 1.0))
    start, stop, unexplained, drift, _, _ = fit_delayed(command, measured, lag, work[0], work[1], work[2], work[3])
    if not unexplained < UNRELATED:
        return np.nan, np.nan
    # a drift against the command sweeps an area, which is a known bias
    level, angle_weights = work[0], work[1]
    for t in range(n):
        level[t] = measured[t] - drift * t
    driftless = loop_averages(level, command, hann)
    swept, common, weight, mean = driftless.swept / step, driftless.common, 0.0, 0.0
    for t in range(n):
        mean += hann[t] * (command[t] - command[0])
    mean = command[0] + mean / n
    for t in range(n - 1):
        weight += hann[t] + hann[t + 1]
    # derivatives of the angle by each sample of measured, through swept area and covariance
    size = swept * swept + common * common
    by_swept, by_common = common / (size * step * weight), swept / (size * n)
    for t in range(start, stop):
        ahead = 0.5 * (hann[t] + hann[t + 1]) * (command[t + 1] - mean) if t + 1 < n else 0.0
        behind = 0.5 * (hann[t - 1] + hann[t]) * (command[t - 1] - mean) if t > 0 else 0.0
        angle_weights[t] = by_swept * (ahead - behind) - by_common * hann[t] * (command[t] - mean)
    sd = add_chance_agreement(
        weighted_sum_deviations(angle_weights, angle_weights, work[2], work[3], start, stop)[0], unexplained
    )
    angle = np.arctan2(loop.swept / step, loop.common)
    return angle, np.hypot(sd, angle - np.arctan2(swept, common))
