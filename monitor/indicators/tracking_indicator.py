"""TI, the tracking indicator: the area that measured against command encloses."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.catalogue import CATALOGUE
from monitor.indicators.base import PassIndicator, check_window
from monitor.indicators.parts.memory import TI, Cube, IntCube, IntMatrix, IntVector, Matrix, Vector, open_state
from monitor.indicators.parts.residual import UNRELATED, fit_delayed, scatter_of_sums, with_chance
from monitor.indicators.parts.sample_loop import (
    gate_limits,
    is_good,
    new_gate,
    next_sample,
    next_slot,
    start_rows,
    store,
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
from monitor.indicators.parts.swept_area import HOPS, Loop, loop_of, new_stored_window, sine_of_step
from monitor.kernel import kernel, reduction
from monitor.messages.blocks import Samples


class TrackingAreaValues(NamedTuple):
    """TI over the window and since the start, in the square of the signal's unit; as a ratio; its slope in rad.

    ``angle_sd`` is the standard deviation of the slope's angle.
    """

    window: float
    total: float
    normalized: float
    angle: float
    angle_sd: float


class TrackingIndicator(PassIndicator[TrackingAreaValues]):
    """Half the difference of the areas under and left of the synchronization subspace plot.

    Parameters
    ----------
    sample_rate, window, n_pairs, every : see `WindowedIndicator`.
    gate, relative_gate : as in `FrequencyDomainIndicator`, for the command's amplitude; only the angle needs them.

    Notes
    -----
    ``TI = 1/2 sum [ (m[i+1] + m[i])/2 (c[i+1] - c[i]) - (c[i+1] + c[i])/2 (m[i+1] - m[i]) ]``:
    a leading actuator makes it grow, a lagging one makes it fall (Mercan and Ricles 2007; the review by
    Mirza Hessabi and Mercan states the opposite sign, which holds for the energy integral, not for TI).
    It lumps phase and amplitude together and grows with the square of the command: for a tone by
    ``pi A_c A_m sin(phase)`` a cycle.

    ``ti`` sums over the window; ``ti_total`` over all good samples since the start.

    ``ti_normalized`` is `ti` over ``max(max |c|, max |m|)^2`` of the window: the normaliser of OpenFresco's plots,
    which take it of the whole record and in percent.

    ``ti_angle`` is the angle of the slope of TI (ours: the papers at hand print no formula for one). The slope is
    taken per radian of the command and held against what the two signals have in common::

        tan(ti_angle) = (dTI / d theta) / mean of (c - mean c)(m - mean m),    theta = 2 pi f t

    averaged under a Hann window, with f from the command's level crossings, and in the quadrant of the two signs.
    For a tone that is ``1/2 A_c A_m sin(phase)`` over ``1/2 A_c A_m cos(phase)``: the angle is the phase error,
    positive for a lead, whatever the amplitudes, offsets and units. Of several tones the strong and the fast ones
    count for more. It is renewed every `hop` samples, needs two cycles in the window, and is good from 2.5 on;
    a drift of the command makes it NaN.

    ``ti_angle_sd`` is its standard deviation, from what no delay and gain of the command explains in the measured
    signal (`residual`). It is that of the random error: of several tones the angle is a mixture of their phases.
    Where more than 30 % of the power in the command's band is left, or it is over 0.3 rad, the angle is NaN.
    """

    outputs = CATALOGUE["ti"].outputs
    value_type = TrackingAreaValues
    smallest_window = 2
    part = TI

    def __init__(
        self,
        sample_rate: float,
        window: float = 2.0,
        *,
        gate: float = 0.0,
        relative_gate: float = 0.02,
        n_pairs: int = 1,
        every: int = 1,
    ) -> None:
        self._limits = gate_limits(gate, relative_gate)
        # samples from one angle to the next
        self.hop = max(1, check_window(sample_rate, window, self.smallest_window) // HOPS)
        super().__init__(sample_rate, window, n_pairs=n_pairs, every=every, gate=gate, relative_gate=relative_gate)

    def new_arrays(self) -> TrackingState:
        """Return the arrays as they begin."""
        n, pairs = self.n_window, self.n_pairs
        arrays: list[NDArray[Any]] = [
            np.array([self.hop, *self._limits]),
            # a window of n samples has n - 1 segments
            *new_sums(n - 1, pairs, 1),
            *(np.zeros(pairs), np.full((pairs, 2), np.nan), np.zeros((pairs, 2), np.int64)),
            *new_extremes(n, pairs, 1),
            *new_stored_window(n, pairs, 2),
            *new_gate(pairs),
            np.zeros((N_WORK_ROWS, n)),
        ]
        return TrackingState(*arrays)


# a measured signal that is this much smaller than the command, squared, is the rounding of a dead channel
_TRACE = 1e-24
# rad, of the angle: beyond it nothing is known
_LARGEST_SD = 0.3
N_WORK_ROWS = 4


class TrackingState(NamedTuple):
    """The arrays of TI.

    ``rows``, ``prefix``, ``since``: sums of the area (`sliding_statistics`); ``running`` (n_pairs,): the area since
    the start; ``angle`` (n_pairs, 2): the newest angle and its standard deviation; ``counts`` (n_pairs, 2): samples
    in all, and good ones in a row; ``candidates``, ``stamps``, ``ends``: the largest sample (`sliding_statistics`);
    ``ring``, ``clock``, ``hann``: see `new_stored_window`; ``work`` (4, n_window).
    """

    settings: Vector
    rows: Cube
    prefix: Matrix
    since: IntVector
    running: Vector
    angle: Matrix
    counts: IntMatrix
    candidates: Cube
    stamps: IntCube
    ends: IntCube
    ring: Cube
    clock: IntVector
    hann: Vector
    gate_peak: Vector
    gate_lowest: Vector
    gate_start: IntVector
    work: Matrix


open_ti = open_state(TrackingState)


@kernel
def advance_ti(x_c: Samples, x_m: Samples, first: int, every: int, out: Samples, state: TrackingState) -> None:
    """Take samples, (n_samples, n_pairs), and write rows, (n_rows, n_pairs, 5)."""
    (
        settings, rows, prefix, since, running, angle, counts, candidates, stamps, ends, ring, clock, hann,
        gate_peak, gate_lowest, gate_start, work,
    ) = state  # fmt: skip
    hop, absolute, relative = int(settings[0]), settings[1], settings[2]
    n_window = ring.shape[2] // 2
    segment = np.empty(1)
    rows_clock = start_rows(first, every)
    for i in range(x_c.shape[0]):
        rows_clock = next_sample(rows_clock, every)
        give, row = rows_clock.due, rows_clock.row
        at = clock[0]
        for pair in range(x_c.shape[1]):
            c, m = x_c[i, pair], x_m[i, pair]
            fine = is_good(c, m)
            now = counts[pair, 0]
            counts[pair, 0] = now + 1
            counts[pair, 1] = counts[pair, 1] + 1 if fine else 0
            full = counts[pair, 1] >= n_window
            before = at + n_window - 1
            c_0, m_0 = ring[pair, 0, before], ring[pair, 1, before]
            # the same sum as in the definition, in the form that does not cancel on a large offset
            segment[0] = 0.5 * (m_0 * (c - c_0) - c_0 * (m - m_0)) if counts[pair, 1] > 1 else 0.0
            push_sums(rows, prefix, since, pair, segment)
            running[pair] += segment[0]
            push_largest(candidates, stamps, ends, pair, 0, now, max(abs(c), abs(m)) if fine else 0.0)
            store(ring, pair, 0, at, c)
            store(ring, pair, 1, at, m)
            if not full:
                angle[pair, 0] = angle[pair, 1] = np.nan
            elif (first + i + pair) % hop == 0:
                angle[pair, 0] = angle[pair, 1] = np.nan
                command, measured = (
                    ring[pair, 0, at + 1 : at + 1 + n_window],
                    ring[pair, 1, at + 1 : at + 1 + n_window],
                )
                loop = loop_of(measured, command, hann)
                amplitude = np.sqrt(2.0 * loop.square_b)
                is_open = update_gate(
                    gate_peak, gate_lowest, gate_start, absolute, relative, pair, amplitude, counts[pair, 1], n_window
                )
                if is_open and loop.square_a > _TRACE * loop.square_b:
                    step = sine_of_step(command, np.sqrt(loop.square_b), loop.drift)
                    # NaN for a command without a frequency
                    turned, sd = _angle(command, measured, loop, step, hann, work)
                    if sd <= _LARGEST_SD:
                        angle[pair, 0], angle[pair, 1] = turned, sd
            if give:
                square = largest(candidates, ends, pair, 0) ** 2
                area = window_sum(rows, prefix, since, pair, 0)
                out[row, pair, 0] = area if full else np.nan
                out[row, pair, 1] = running[pair]
                out[row, pair, 2] = area / square if full and square > 0.0 else np.nan
                out[row, pair, 3], out[row, pair, 4] = angle[pair, 0], angle[pair, 1]
        clock[0] = next_slot(at, n_window)


@reduction
def _angle(
    command: Samples, measured: Samples, loop: Loop, step: float, hann: Samples, work: Samples
) -> tuple[float, float]:
    """Return the angle of the slope and its standard deviation; NaN where the two signals are unrelated."""
    n = command.shape[0]
    lag = -np.arctan2(loop.swept / step, loop.common) / np.arcsin(min(step, 1.0))
    start, stop, share, drift, _ = fit_delayed(command, measured, lag, work[0], work[1], work[2], work[3])
    if not share < UNRELATED:
        return np.nan, np.nan
    # what drifts against the command sweeps an area of its own, which is known
    level, of_angle = work[0], work[1]
    for t in range(n):
        level[t] = measured[t] - drift * t
    own = loop_of(level, command, hann)
    swept, common, weight, mean = own.swept / step, own.common, 0.0, 0.0
    for t in range(n):
        mean += hann[t] * (command[t] - command[0])
    mean = command[0] + mean / n
    for t in range(n - 1):
        weight += hann[t] + hann[t + 1]
    # what a sample of measured adds to the angle, by the swept area and by what the two have in common
    size = swept * swept + common * common
    by_swept, by_common = common / (size * step * weight), swept / (size * n)
    for t in range(start, stop):
        ahead = 0.5 * (hann[t] + hann[t + 1]) * (command[t + 1] - mean) if t + 1 < n else 0.0
        behind = 0.5 * (hann[t - 1] + hann[t]) * (command[t - 1] - mean) if t > 0 else 0.0
        of_angle[t] = by_swept * (ahead - behind) - by_common * hann[t] * (command[t] - mean)
    sd = with_chance(scatter_of_sums(of_angle, of_angle, work[2], work[3], start, stop)[0], share)
    turned = np.arctan2(loop.swept / step, loop.common)
    return turned, np.hypot(sd, turned - np.arctan2(swept, common))
