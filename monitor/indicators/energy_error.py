"""HSEM: the energy that the tracking error adds to a hybrid test or removes from it.

In numpy: `reference_force.energy_error`, `added_damping`. Settings: `EnergyErrorSettings`. The kernel slides the
sums of energy at every sample (`_slide`); looks for the added damping in the whole window eight times a window
(`_look`); reads a row where one is due (`_read`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monitor.catalogue import CATALOGUE
from monitor.config.analysis import EnergyErrorSettings
from monitor.indicators.base import PassIndicator
from monitor.indicators.parts import memory as kinds
from monitor.indicators.parts.memory import HSEM, open_state
from monitor.indicators.parts.sample_loop import (
    LARGEST_SAMPLE,
    advance_row_clock,
    is_good,
    new_gate,
    next_position,
    start_row_clock,
    update_gate,
)
from monitor.indicators.parts.sliding_statistics import new_sums, push_sums, window_sum
from monitor.indicators.parts.swept_area import LOOPS_PER_WINDOW, add_damping, hann_weights, loop_averages, step_sine
from monitor.kernel import inlined, kernel
from monitor.messages.blocks import Samples
from monitor.messages.reasons import Reason


class EnergyErrorValues(NamedTuple):
    """Energy error over the window and since the start, the latter also as a ratio, and the damping ratio it adds.

    The damping ratio is per unit of the specimen's share of the stiffness, unless that is given. ``reason``: `Reason`
    of no added damping.
    """

    window: float
    total: float
    normalized: float
    added_damping: float
    reason: float


class HybridSimulationErrorMonitor(PassIndicator[EnergyErrorValues]):
    """HSEM: the work of the restoring force along the tracking error (Mosqueda, Stojadinovic and Mahin 2007).

    Parameters
    ----------
    sample_rate, window, n_pairs, every : see `WindowedIndicator`.
    options : fields of `EnergyErrorSettings`; they affect the added damping only.

    Notes
    -----
    With a force positive along the displacement, a lag increases the energy error: the specimen receives more energy
    than the model supplies, which acts as negative damping. A lead decreases it. A force of the opposite sign
    reverses the energies. For a pure damper of constant d the amplitude error causes the energy error: ``pi d
    omega A_m [A_m - A_c cos(phase)]`` a cycle.

    ``hsem_energy`` sums over the window; ``hsem_energy_total`` over all good samples since the start.

    ``hsem`` is `hsem_energy_total` over the range so far of the work done along the command, which contains the
    largest recoverable strain energy and the energy dissipated by the specimen. It is ours: the printed normaliser
    could not be verified. It does not change when the load on a linear specimen doubles. Like the total it includes
    every spike since the start.

    ``hsem_added_damping`` is the equivalent damping ratio that the error adds to the structure, with a stiffness that
    is the covariance of force and measured displacement over the latter's variance. The energy error of a cycle is
    the area swept by the force against the error, so that the energy stored at the ends of the window does not count.
    An elastic specimen gives ``1/2 A_m/A_c sin(phase)`` per unit of `share`: a lag is negative. It is updated every
    `hop` samples, needs two cycles in the window, is accurate from 2.5 on, and is not valid where force and
    displacement correlate by less than 0.1.

    A preload adds itself times the change of the error to the energies, and itself times the range of the
    command to the range of the work; it does not change the added damping. Nothing is valid without a force.
    """

    outputs = CATALOGUE["hsem"].outputs
    value_type = EnergyErrorValues
    settings: EnergyErrorSettings = EnergyErrorSettings()
    smallest_window = 2
    part = HSEM
    needs_force = True
    evaluations = LOOPS_PER_WINDOW

    def new_arrays(self) -> EnergyState:
        """Return the initial arrays."""
        n, pairs, settings = self.n_window, self.n_pairs, self.settings
        return EnergyState(
            # a window of n samples has n - 1 segments
            self.hop, settings.gate, settings.relative_gate, settings.share or 0.0, *new_sums(n - 1, pairs, 1),
            np.zeros(1), np.zeros((pairs, 4)), np.full(pairs, np.nan), np.full(pairs, float(Reason.FILLING)),
            np.zeros((pairs, 2), np.int64), hann_weights(n), *new_gate(pairs),
        )  # fmt: skip


# squared correlation of force and displacement below which the stored energy is too small for a ratio
_MIN_CORRELATION_SQUARED = 0.1**2
# columns of the work since the start
ERROR, COMMAND, HIGHEST, LOWEST = 0, 1, 2, 3


class EnergyState(NamedTuple):
    """Settings and arrays of HSEM.

    ``hop`` samples; ``absolute``, ``relative``: gate; ``share``: 0 for none; ``rows``, ``prefix``, ``since``: sums of
    the energy, see `sliding_statistics`; ``segment`` (1,): the newest summand; ``work`` (n_pairs, 4): sums from the
    start; ``damping`` (n_pairs,): the newest, and ``reason`` (n_pairs,) of none; ``counts`` (n_pairs, 2): consecutive
    good samples, and segments since the start; ``hann``: weights.
    """

    hop: kinds.Count
    absolute: kinds.Number
    relative: kinds.Number
    share: kinds.Number
    rows: kinds.Cube
    prefix: kinds.Matrix
    since: kinds.IntVector
    segment: kinds.Vector
    work: kinds.Matrix
    damping: kinds.Vector
    reason: kinds.Vector
    counts: kinds.IntMatrix
    hann: kinds.Vector
    gate_peak: kinds.Vector
    gate_lowest: kinds.Vector
    gate_start: kinds.IntVector


open_hsem = open_state(EnergyState)


@kernel
def advance_hsem(
    x_c: Samples, x_m: Samples, f_m: Samples, columns: kinds.IntMatrix, first: int, every: int, out: Samples,
    memory: Samples, n: int, ring: Samples, at: int,
) -> None:  # fmt: skip
    """Process samples, (n_samples, n_channels), the first at `at` in the ring; write rows, (n_rows, n_pairs, 5)."""
    state = open_hsem(memory, n)
    n_window, row_clock = state.hann.shape[0], start_row_clock(first, every)
    for i in range(x_c.shape[0]):
        row_clock = advance_row_clock(row_clock, every)
        begin, end = at + 1 - n_window, at + 1
        for pair in range(columns.shape[1]):
            force = f_m[i, columns[2, pair]] if columns[2, pair] >= 0 else np.nan
            _slide(state, pair, x_c[i, columns[0, pair]], x_m[i, columns[1, pair]], force, ring, at)
            if state.counts[pair, 0] < n_window:
                state.damping[pair] = np.nan
            elif (first + i + pair) % state.hop == 0:
                _look(state, pair, ring[pair, 0, begin:end], ring[pair, 1, begin:end], ring[pair, 2, begin:end])
            if row_clock.due:
                _read(state, pair, out[row_clock.row, pair])
        at = next_position(at, ring)


@inlined
def _slide(state: EnergyState, pair: int, c: float, m: float, f: float, ring: Samples, at: int) -> None:
    """Add the energies of the segment that ends at the newest sample."""
    counts, segment, work = state.counts, state.segment, state.work
    usable = is_good(c, m) and abs(f) < LARGEST_SAMPLE
    counts[pair, 0] = counts[pair, 0] + 1 if usable else 0
    if not usable:
        state.reason[pair] = Reason.BAD_SAMPLE.value
    segment[0] = 0.0
    if counts[pair, 0] > 1:
        force = 0.5 * (f + ring[pair, 2, at - 1])
        along = c - ring[pair, 0, at - 1]
        segment[0] = force * (m - ring[pair, 1, at - 1] - along)
        counts[pair, 1] += 1
        work[pair, ERROR] += segment[0]
        work[pair, COMMAND] += force * along
        work[pair, HIGHEST] = max(work[pair, HIGHEST], work[pair, COMMAND])
        work[pair, LOWEST] = min(work[pair, LOWEST], work[pair, COMMAND])
    push_sums(state.rows, state.prefix, state.since, pair, segment)


@inlined
def _look(state: EnergyState, pair: int, command: Samples, measured: Samples, force: Samples) -> None:
    """Find the added damping in the whole window, and hold it, or the reason of none."""
    damping, reason = state.damping, state.reason
    damping[pair] = np.nan
    own, commanded = loop_averages(force, measured, state.hann), loop_averages(force, command, state.hann)
    is_open = update_gate(
        state.gate_peak, state.gate_lowest, state.gate_start, state.absolute, state.relative, pair,
        np.sqrt(2.0 * commanded.square_b), state.counts[pair, 0], len(command),
    )  # fmt: skip
    reason[pair] = Reason.UNRELATED.value if is_open else Reason.GATE.value
    if is_open and (own.square_a == 0.0 or own.square_b == 0.0):
        reason[pair] = Reason.CONSTANT.value
    if is_open and own.common * own.common > _MIN_CORRELATION_SQUARED * own.square_a * own.square_b:
        step = step_sine(command, np.sqrt(commanded.square_b), commanded.drift)
        # twice the strain energy of the commanded motion
        energy = own.common / own.square_b * commanded.square_b
        added = add_damping(commanded.common / energy, (commanded.swept - own.swept) / (step * energy), state.share)
        damping[pair] = added if abs(added) < np.inf else np.nan
        reason[pair] = Reason.FEW_CYCLES.value if np.isnan(damping[pair]) else Reason.VALID.value


@inlined
def _read(state: EnergyState, pair: int, values: Samples) -> None:
    """Write the values of a pair, (5,)."""
    full, work = state.counts[pair, 0] >= state.hann.shape[0], state.work
    span = work[pair, HIGHEST] - work[pair, LOWEST]
    ratio = work[pair, ERROR] / span if full and span > 0.0 else np.nan
    values[0] = window_sum(state.rows, state.prefix, state.since, pair, 0) if full else np.nan
    values[1] = work[pair, ERROR] if state.counts[pair, 1] > 0 else np.nan
    values[2] = ratio if abs(ratio) < np.inf else np.nan
    values[3], values[4] = state.damping[pair], state.reason[pair]
