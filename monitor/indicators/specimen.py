"""The specimen: its stiffness, damping, energy and residual displacement, from measured displacement and force.

In numpy: `reference_force`. Settings: `SpecimenSettings`. The kernel sums the work of the force at every sample
(`_slide`); looks at the whole window eight times a window (`_look`): the force against displacement and velocity
(`equivalent_stiffness`), the newest slope, and the newest closed loop; and copies a row where one is
due.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monitor.catalogue import CATALOGUE
from monitor.config.analysis import SpecimenSettings
from monitor.indicators.base import PassIndicator
from monitor.indicators.parts import memory as kinds
from monitor.indicators.parts.deviation import weighted_sum_deviations
from monitor.indicators.parts.equivalent_stiffness import (
    BIAS,
    N_ROWS,
    ONE,
    OTHER,
    RESIDUAL,
    SCALED,
    TWO,
    ClosedLoop,
    F,
    LinearFit,
    V,
    X,
    fit_specimen,
    left_by_mean,
    newest_loop,
    smooth,
    smoothing,
)
from monitor.indicators.parts.memory import SPECIMEN, open_state
from monitor.indicators.parts.residual import REACH, SMALLEST_FIT
from monitor.indicators.parts.sample_loop import (
    LARGEST_SAMPLE,
    advance_row_clock,
    is_good,
    new_gate,
    next_position,
    start_row_clock,
    update_gate,
    write_row,
)
from monitor.indicators.parts.swept_area import hann_weights
from monitor.kernel import inlined, kernel, part, reduction
from monitor.messages.blocks import Samples
from monitor.messages.reasons import Reason


class SpecimenValues(NamedTuple):
    """Values of one specimen, each with its standard deviation, and `Reason` of none.

    ``stiffness``, of force and displacement over the window; ``loss``, the share of it that is lost since the start;
    ``residual``, the displacement at which there is no force; ``damping``, the equivalent viscous ratio;
    ``tangent``, the newest slope of force against displacement; ``ductility``, the largest displacement over that at
    yield; ``energy_total``, the work done on the specimen since the start; of the newest closed loop the secant
    ``loop_stiffness``, ``loop_damping`` and ``loop_energy``.
    """

    stiffness: float
    stiffness_sd: float
    loss: float
    loss_sd: float
    residual: float
    residual_sd: float
    reason: float
    damping: float
    damping_sd: float
    damping_reason: float
    tangent: float
    tangent_sd: float
    tangent_reason: float
    ductility: float
    ductility_reason: float
    energy_total: float
    energy_total_sd: float
    energy_reason: float
    loop_stiffness: float
    loop_stiffness_sd: float
    loop_damping: float
    loop_damping_sd: float
    loop_energy: float
    loop_energy_sd: float
    loop_reason: float


(
    STIFFNESS, STIFFNESS_SD, LOSS, LOSS_SD, RESIDUAL_DISPLACEMENT, RESIDUAL_SD, REASON, DAMPING, DAMPING_SD,
    DAMPING_REASON, TANGENT, TANGENT_SD, TANGENT_REASON, DUCTILITY, DUCTILITY_REASON, ENERGY, ENERGY_SD,
    ENERGY_REASON,
    LOOP_STIFFNESS, LOOP_STIFFNESS_SD, LOOP_DAMPING, LOOP_DAMPING_SD, LOOP_ENERGY, LOOP_ENERGY_SD, LOOP_REASON,
) = range(25)  # fmt: skip


class SpecimenIndicator(PassIndicator[SpecimenValues]):
    """Stiffness, damping and energy of a specimen on any motion, and of its loops where they close.

    Parameters
    ----------
    sample_rate, window, n_pairs, every : see `WindowedIndicator`.
    options : fields of `SpecimenSettings`.

    Notes
    -----
    ``f = f_0 + k x + c x'`` over the window, with the command and its rate as instruments under Hann weights: a
    sensor's noise does not bias k, and a linear specimen is exact on any motion. Of a hysteretic one k and c are the
    equivalent ones of its loops. ``specimen_damping`` is ``c w / 2 k`` at the command's mean frequency w: of whole
    cycles the energy of one over ``4 pi`` times the strain energy at its amplitude.

    ``specimen_loss`` is against the mean of the first eight readings, by their uncertainty. ``specimen_tangent`` is
    the slope over the newest eighth of a period, without the viscous force, and ``specimen_residual`` is where the
    force of the window would be zero at rest: a preload displaces it.

    A loop closes where the displacement crosses the middle of its range again in the same direction. Its energy is
    the trapezoidal sum of force over displacement, its secant stiffness the force between its two ends over their
    distance, its damping ``E / (2 pi k A^2)``.

    Standard deviations are of the residual, whatever its colour (`deviation`). What a specimen does that is no
    straight function of displacement and velocity is in the residual too: they are wide for one that yields.
    """

    outputs = CATALOGUE["specimen"].outputs
    value_type = SpecimenValues
    settings: SpecimenSettings = SpecimenSettings()
    smallest_window = SMALLEST_FIT
    part = SPECIMEN
    needs_force = True
    evaluations = 8

    def new_arrays(self) -> SpecimenState:
        """Return the initial arrays."""
        n, pairs, settings = self.n_window, self.n_pairs, self.settings
        margin = REACH + smoothing(n)
        held = np.tile(self.no_values(Reason.FILLING), (pairs, 1))
        held[:, DUCTILITY_REASON] = Reason.FILLING if settings.yield_displacement else Reason.NOT_SET
        return SpecimenState(
            self.hop, settings.gate, settings.relative_gate, settings.yield_displacement or 0.0,
            np.zeros((pairs, 2), np.int64), np.zeros((pairs, 8)), held, np.zeros((N_ROWS, n)),
            hann_weights(n - 2 * margin), *new_gate(pairs),
        )  # fmt: skip


# readings from which the initial stiffness is known
_INITIAL = 8
GOOD, READINGS = range(2)
"""Columns of the counts."""
WORK, VARIANCE, PEAK, WEIGHTED, WEIGHT, STARTED, LAST, LAST_FORCE = range(8)
"""Columns of what is since the start: work, its variance, largest displacement; sums of the first stiffnesses by
their weights, and of these; 1 from the first good sample on; the last one's displacement and force."""
# of the stiffness, or where that is small of rms force over rms displacement: above it a value is uncertain
_LARGEST_SD = 0.3
# of a damping ratio: the same share of a stiffness across
_LARGEST_DAMPING_SD = 0.15
# standard deviations from which a stiffness is not zero
_NOT_ZERO = 3.0
# of the reference, the smallest deviation that counts
_ROUNDING = 1e-6
# a deviation by blocks and shifts sees of a mean's three quarters one: the fourth root of three
_OF_A_MEAN = 3.0**0.25
# of a loop of n samples, as an ellipse: n^2 times what its corners cut off its area, and n times the deviation of its
# stiffness, of its damping, while each end is up to half a sample away
_OF_LINES, _OF_ENDS = 2.0 / 3.0 * np.pi**2, 2.0 * np.pi / 6.0**0.5
# of the newest slope: share of a period and of the window, and samples
_PERIOD_SHARE, _WINDOW_SHARE, _FEWEST = np.pi / 4.0, 8, 8


class SpecimenState(NamedTuple):
    """Settings and arrays of the specimen.

    ``hop`` samples; ``absolute``, ``relative``: gate; ``yield_displacement``: 0 for none; ``counts`` (n_pairs, 2):
    `GOOD` consecutive samples, and `READINGS` of the initial stiffness; ``since`` (n_pairs, 8);
    ``held`` (n_pairs, 25): the newest values; ``work``: overwritten; ``hann``: weights.
    """

    hop: kinds.Count
    absolute: kinds.Number
    relative: kinds.Number
    yield_displacement: kinds.Number
    counts: kinds.IntMatrix
    since: kinds.Matrix
    held: kinds.Matrix
    work: kinds.Matrix
    hann: kinds.Vector
    gate_peak: kinds.Vector
    gate_lowest: kinds.Vector
    gate_start: kinds.IntVector


open_specimen = open_state(SpecimenState)


@kernel
def advance_specimen(
    x_c: Samples, x_m: Samples, f_m: Samples, columns: kinds.IntMatrix, first: int, every: int, out: Samples,
    memory: Samples, n: int, ring: Samples, at: int,
) -> None:  # fmt: skip
    """Process samples, (n_samples, n_channels), the first at `at` in the ring; write rows, (n_rows, n_pairs, 25)."""
    state = open_specimen(memory, n)
    n_window, start = state.work.shape[1], at
    for pair in range(columns.shape[1]):
        # the columns of one without a force are fixed
        if columns[2, pair] < 0:
            continue
        at, row_clock = start, start_row_clock(first, every)
        for i in range(x_c.shape[0]):
            row_clock = advance_row_clock(row_clock, every)
            begin, end = at + 1 - n_window, at + 1
            c, m, f = x_c[i, columns[0, pair]], x_m[i, columns[1, pair]], f_m[i, columns[2, pair]]
            _slide(state, pair, c, m, f)
            if state.counts[pair, GOOD] >= n_window and (first + i + pair) % state.hop == 0:
                _look(state, pair, ring[pair, 0, begin:end], ring[pair, 1, begin:end], ring[pair, 2, begin:end])
            if row_clock.due:
                if state.held[pair, ENERGY_REASON] == Reason.VALID.value:
                    state.held[pair, ENERGY] = state.since[pair, WORK]
                write_row(out, row_clock.row, pair, state.held)
            at = next_position(at, ring)


@inlined
def _slide(state: SpecimenState, pair: int, c: float, m: float, f: float) -> None:
    """Add the work of the segment that ends at the newest sample; a bad one drops the values of its windows."""
    counts, since, held = state.counts, state.since, state.held
    if is_good(c, m) and abs(f) < LARGEST_SAMPLE:
        counts[pair, GOOD] += 1
        since[pair, PEAK] = max(since[pair, PEAK], abs(m))
        if since[pair, STARTED] > 0.0:
            # across bad samples along a straight line, between the paths along the two axes, each as likely
            f_0, m_0 = since[pair, LAST_FORCE], since[pair, LAST]
            since[pair, WORK] += 0.5 * (f + f_0) * (m - m_0)
            since[pair, VARIANCE] += ((f - f_0) * (m - m_0)) ** 2 / 12.0 if counts[pair, GOOD] == 1 else 0.0
        since[pair, STARTED], since[pair, LAST], since[pair, LAST_FORCE] = 1.0, m, f
    else:
        counts[pair, GOOD] = 0
        _clear(held, pair, Reason.BAD_SAMPLE.value)
    if state.yield_displacement > 0.0 and counts[pair, GOOD] > 0:
        held[pair, DUCTILITY] = since[pair, PEAK] / state.yield_displacement
        held[pair, DUCTILITY_REASON] = Reason.VALID.value


@part
def _clear(held: Samples, pair: int, reason: int) -> None:
    """Drop the values of the window."""
    for j in range(held.shape[1]):
        if not DUCTILITY <= j <= ENERGY_REASON:
            held[pair, j] = np.nan
    held[pair, REASON] = held[pair, DAMPING_REASON] = reason
    held[pair, TANGENT_REASON] = held[pair, LOOP_REASON] = reason


@kernel
def _look(state: SpecimenState, pair: int, c: Samples, m: Samples, f: Samples) -> None:
    """Read the whole window, and hold what it says, or the reasons of nothing."""
    held, since, work, n = state.held, state.since, state.work, state.hann.shape[0]
    is_open = update_gate(
        state.gate_peak, state.gate_lowest, state.gate_start, state.absolute, state.relative, pair, _amplitude(c),
        state.counts[pair, GOOD], len(c),
    )  # fmt: skip
    fit = fit_specimen(c, m, f, state.hann, work)
    reason = fit.reason if is_open else Reason.GATE.value
    _clear(held, pair, reason)
    if reason != Reason.VALID.value:
        # work counts from the start on, whatever the window says now
        if held[pair, ENERGY_REASON] != Reason.VALID.value:
            held[pair, ENERGY_REASON] = reason
        return
    loop = newest_loop(work[X, :n], work[F, :n])
    secant_sd, work_sd = _loop_deviations(loop, work, n)
    # at the last sample the noise of the displacement has not been undone by a way back
    end = (f[-1] / fit.span_f) ** 2 * (fit.rough + fit.left / max(fit.stiffness**2, 1e-6 * fit.apparent**2))
    # of windows that share samples each adds what is new in it
    share = state.hop / n if held[pair, ENERGY_REASON] == Reason.VALID.value else 1.0
    energy = fit.span_f * fit.span_x
    since[pair, VARIANCE] += share * (work_sd * energy) ** 2
    held[pair, ENERGY_SD] = np.sqrt(since[pair, VARIANCE] + end * energy * energy)
    held[pair, ENERGY_REASON] = Reason.VALID.value
    _hold_loop(held, pair, loop, fit, secant_sd, work_sd * np.sqrt(loop.length / n))
    _hold_window(state, pair, fit, n)


@reduction
def _amplitude(x: Samples) -> float:
    """Return the root of twice the variance."""
    total = squares = 0.0
    for i in range(x.shape[0]):
        total += x[i] - x[0]
    mean = x[0] + total / x.shape[0]
    for i in range(x.shape[0]):
        squares += (x[i] - mean) * (x[i] - mean)
    return float(np.sqrt(2.0 * squares / x.shape[0]))


@kernel
def _loop_deviations(loop: ClosedLoop, work: Samples, n: int) -> tuple[float, float]:
    """Return the standard deviations of the secant stiffness, 0 of none, and of the work over the window, scaled."""
    x, path, other, zero = work[X, :n], work[SCALED, :n], work[OTHER, :n], work[BIAS, :n]
    for i in range(n):
        path[i] = 0.5 * (x[min(i + 1, n - 1)] - x[max(i - 1, 0)])
    work_sd, _ = weighted_sum_deviations(path, zero, work[RESIDUAL, :n], zero, 0, n)
    # what is left in a mean of as many samples as at the ends of a loop
    smooth(work[RESIDUAL, :n], loop.reach, other)
    left = 0.0
    for i in range(loop.reach, n - loop.reach):
        left += other[i] * other[i] / (n - 2 * loop.reach)
    secant_sd = np.sqrt(2.0 * left) / loop.stroke if loop.length > 0.0 else 0.0
    return secant_sd, work_sd if work_sd >= 0.0 else 0.0


@part
def _hold_loop(held: Samples, pair: int, loop: ClosedLoop, fit: LinearFit, secant_sd: float, area_sd: float) -> None:
    """Hold what the newest closed loop says."""
    if not loop.length > 0.0:
        held[pair, LOOP_REASON] = Reason.FEW_CYCLES.value
        return
    secant, per = loop.rise / loop.stroke, fit.span_f / fit.span_x
    # of force and displacement, by smoothing, and of both at the ends of the loop
    left, left_at_ends = left_by_mean(fit.half, loop.length) ** 2, left_by_mean(loop.reach, loop.length) ** 2
    # of an ellipse between the same ends
    strain = 0.5 * np.pi * loop.rise * loop.stroke / left_at_ends
    damping = loop.area / strain
    # the path is of straight lines, and each of its ends is half a sample away
    area_sd = np.hypot(area_sd, loop.area * _OF_LINES / loop.length**2)
    secant_sd = np.hypot(secant_sd, secant * damping * _OF_ENDS / loop.length)
    damping_sd = np.hypot(area_sd / strain, damping * secant_sd / secant)
    is_sure = abs(secant) > _NOT_ZERO * secant_sd and damping_sd <= _LARGEST_DAMPING_SD
    energy = fit.span_f * fit.span_x / left
    if not (is_sure and abs(secant * per) < np.inf and abs(loop.area * energy) < np.inf):
        held[pair, LOOP_REASON] = Reason.UNCERTAIN.value
        return
    held[pair, LOOP_STIFFNESS], held[pair, LOOP_STIFFNESS_SD] = secant * per, secant_sd * per
    held[pair, LOOP_DAMPING], held[pair, LOOP_DAMPING_SD] = damping, damping_sd
    held[pair, LOOP_ENERGY], held[pair, LOOP_ENERGY_SD] = loop.area * energy, area_sd * energy


@kernel
def _hold_window(state: SpecimenState, pair: int, fit: LinearFit, n: int) -> None:
    """Hold stiffness, loss, residual displacement, damping and tangent."""
    held, work, k, per = state.held, state.work, fit.stiffness, fit.span_f / fit.span_x
    one, two, residual, zero = work[ONE, :n], work[TWO, :n], work[RESIDUAL, :n], work[BIAS, :n]
    mean, other, size = work[SCALED, :n], work[OTHER, :n], max(abs(k), fit.apparent)
    # a derivative of the damping ratio; of no stiffness there is none
    across = 0.5 * fit.omega / k if abs(k) > 1e-9 * size else 0.0
    for i in range(n):
        mean[i] = across * (two[i] - fit.viscosity / k * one[i]) if across != 0.0 else 0.0
    k_sd, damping_sd = weighted_sum_deviations(one, mean, residual, zero, 0, n)
    if not (k_sd <= _LARGEST_SD * size and size * per < np.inf):
        held[pair, REASON] = held[pair, DAMPING_REASON] = held[pair, TANGENT_REASON] = Reason.UNCERTAIN.value
        return
    held[pair, STIFFNESS], held[pair, STIFFNESS_SD] = k * per, k_sd * per
    is_clear = across != 0.0 and abs(k) > _NOT_ZERO * k_sd
    if is_clear and fit.by_rate and damping_sd <= _LARGEST_DAMPING_SD:
        held[pair, DAMPING], held[pair, DAMPING_SD] = across * fit.viscosity, damping_sd
    else:
        held[pair, DAMPING_REASON] = Reason.UNCERTAIN.value if fit.by_rate else Reason.FEW_CYCLES.value
    slope, bias, of_noise = _newest_slope(work, fit, mean)
    # the force at rest, from its smallest value on, as a share of its range
    force = fit.low_f / fit.span_f + fit.mean_f
    for i in range(n):
        other[i] = (force / k * one[i] - state.hann[i] / n) / k if is_clear else 0.0
    slope_sd, mean_sd = weighted_sum_deviations(mean, other, residual, zero, 0, n)
    slope_sd = np.hypot(slope_sd, bias)
    if of_noise and slope_sd <= _LARGEST_SD * size:
        held[pair, TANGENT], held[pair, TANGENT_SD] = slope * per, slope_sd * per
    else:
        held[pair, TANGENT_REASON] = Reason.UNCERTAIN.value
    if not is_clear:
        held[pair, REASON] = Reason.UNCERTAIN.value
        return
    held[pair, RESIDUAL_DISPLACEMENT] = fit.low_x + fit.span_x * (fit.mean_x - force / k)
    held[pair, RESIDUAL_SD] = _OF_A_MEAN * mean_sd * fit.span_x
    _hold_loss(state, pair)


@part
def _hold_loss(state: SpecimenState, pair: int) -> None:
    """Hold the share of the stiffness that is lost since the first readings, which share samples."""
    held, since, counts = state.held, state.since, state.counts
    k, sd = held[pair, STIFFNESS], held[pair, STIFFNESS_SD]
    if counts[pair, READINGS] < _INITIAL:
        weight = 1.0 / max(sd / abs(k), _ROUNDING) ** 2
        counts[pair, READINGS] += 1
        since[pair, WEIGHTED] += weight * k
        since[pair, WEIGHT] += weight
    left = k / (since[pair, WEIGHTED] / since[pair, WEIGHT])
    initial_sd = np.sqrt(counts[pair, READINGS] / since[pair, WEIGHT])
    held[pair, LOSS], held[pair, LOSS_SD] = 1.0 - left, abs(left) * np.hypot(sd / k, initial_sd)


@reduction
def _newest_slope(work: Samples, fit: LinearFit, weights: Samples) -> tuple[float, float, bool]:
    """Return the newest slope of force against displacement, what noise may take from it, and whether it moves.

    Its weights are written, (n,): 0 but over the newest samples.
    """
    n = weights.shape[0]
    x, v, f, residual = work[X, :n], work[V, :n], work[F, :n], work[RESIDUAL, :n]
    of_period = int(min(_PERIOD_SHARE / max(fit.omega, 1e-9), n))
    piece = min(max(min(of_period, n // _WINDOW_SHARE), _FEWEST), n)
    mean_x = mean_f = square = common = rough = 0.0
    for i in range(n - piece, n):
        mean_x, mean_f = mean_x + x[i] / piece, mean_f + (f[i] - fit.viscosity * v[i]) / piece
    for i in range(n - piece, n):
        away = x[i] - mean_x
        square, common = square + away * away, common + away * (f[i] - fit.viscosity * v[i] - mean_f)
    for i in range(1, n):
        rough += 0.5 * (residual[i] - residual[i - 1]) * (residual[i] - residual[i - 1]) / (n - 1)
    for i in range(n):
        weights[i] = (x[i] - mean_x) / square if i >= n - piece and square > 0.0 else 0.0
    slope, size = common / square if square > 0.0 else 0.0, max(abs(fit.stiffness), 1e-3 * fit.apparent)
    # noise of the displacement, at most that of the residual, makes the slope too small
    bias = abs(slope) * rough / (size * size) * piece / square if square > 0.0 else 0.0
    return slope, bias, square > 1e-12 * piece
