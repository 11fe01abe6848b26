"""HSEM: the energy that the tracking error feeds into a hybrid test, or takes out of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.blocks import Samples
from monitor.indicators.base import (
    ENERGY_UNIT,
    LARGEST_SAMPLE,
    Output,
    Signals,
    WindowedIndicator,
    check_window,
)
from monitor.indicators.gate import gate_limits, new_gate, passes
from monitor.indicators.swept_area import HOPS, loop_of, new_stored_window, sine_of_step, tick
from monitor.indicators.windowed_sums import new_sums, push, total
from monitor.kernel import kernel

# a force that has less in common with the displacement stores too little energy to compare with, squared
_FEEBLE = 0.1**2
# columns of the work that is counted from the start
ERROR, COMMAND, HIGHEST, LOWEST = 0, 1, 2, 3


class EnergyError(NamedTuple):
    """Energy error over the window and since the start; the latter as a ratio; the damping ratio that it adds."""

    window: float
    total: float
    normalized: float
    added_damping: float


class HybridSimulationErrorMonitor(WindowedIndicator[EnergyError]):
    """HSEM: the work of the restoring force along the tracking error (Mosqueda, Stojadinovic and Mahin 2007).

    Parameters
    ----------
    sample_rate, window, n_pairs, every : see `WindowedIndicator`.
    gate, relative_gate : as in `FrequencyDomainIndicator`, for the command's amplitude; only the added damping
        needs them.

    Notes
    -----
    ``E = sum (f[i+1] + f[i])/2 [ (m[i+1] - m[i]) - (c[i+1] - c[i]) ]``: the energy between the loops of the force
    against the measured and against the commanded displacement. With a force that counts along the displacement,
    a lag makes it grow, by ``pi k A_c A_m sin(lag)`` a cycle of an elastic specimen of stiffness k: the specimen
    takes more than the model gives, which acts as negative damping. A lead makes it fall. Where the force counts
    the other way, so do the energies. A pure damper of constant d turns the amplitude error into energy instead:
    ``pi d omega A_m [A_m - A_c cos(phase)]`` a cycle.

    ``hsem_energy`` sums over the window; ``hsem_energy_total`` over all good samples since the start.

    ``hsem`` is `hsem_energy_total` over the widest span so far, highest minus lowest, of the work done along the
    command, ``W = sum (f[i+1] + f[i])/2 (c[i+1] - c[i])``. That contains the largest recoverable strain energy and
    what the specimen has dissipated. It is ours: the normaliser as printed could not be checked. It is the same for a
    load that doubles on a linear specimen. Like the total it never forgets a spike.

    ``hsem_added_damping`` is the equivalent damping ratio that the error adds to the specimen: minus the energy error
    of a cycle over 4 pi times the strain energy (ours). The strain energy of a cycle is the covariance of force and
    measured displacement: ``k A_m^2 / 2`` for a tone. The energy error of a cycle is the area that the force sweeps
    against the error, so that what the specimen holds at the ends of the window does not count, averaged under a
    Hann window; its length comes from the command's level crossings. An elastic specimen gives
    ``1/2 A_c/A_m sin(phase)``: a lag is negative. It is renewed every `hop` samples, needs two cycles in the
    window, is good from 2.5 on, and is not valid where force and displacement correlate by less than 0.1.

    A preload adds itself times the change of the error to the energies, and itself times the range of the
    command to the span; it does not change the added damping. Nothing is valid without a force.
    """

    outputs = (
        Output("hsem_energy", ENERGY_UNIT, compares=True),
        Output("hsem_energy_total", ENERGY_UNIT, compares=True),
        Output("hsem", "1", compares=True),
        Output("hsem_added_damping", "1", compares=True),
    )
    value_type = EnergyError
    smallest_window = 2
    needs_force = True

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
        # samples from one added damping to the next
        self.hop = max(1, check_window(sample_rate, window, self.smallest_window) // HOPS)
        super().__init__(sample_rate, window, n_pairs=n_pairs, every=every, gate=gate, relative_gate=relative_gate)

    def _new_state(self) -> tuple[NDArray[Any], ...]:
        n, pairs = self.n_window, self.n_pairs
        # a window of n samples has n - 1 segments
        sums = new_sums(n - 1, pairs, 1)
        work, damping = np.zeros((pairs, 4)), np.full(pairs, np.nan)
        # good samples in a row, and segments since the start
        counts = np.zeros((pairs, 2), dtype=np.int64)
        return (*sums, work, damping, counts, *new_stored_window(n, pairs, 3), *new_gate(pairs))

    def _advance(self, signals: Signals, first: int, out: Samples) -> None:
        settings = (self.n_window, self.hop, *self._limits)
        _advance_hsem(signals.x_c, signals.x_m, signals.f_m, first, self.every, out, *settings, *self._state)


@kernel
def _advance_hsem(
    x_c: Samples,
    x_m: Samples,
    f_m: Samples,
    first: int,
    every: int,
    out: Samples,
    n_window: int,
    hop: int,
    absolute: float,
    relative: float,
    rows: Samples,
    prefix: Samples,
    since: NDArray[np.int64],
    work: Samples,
    damping: Samples,
    counts: NDArray[np.int64],
    ring: Samples,
    clock: NDArray[np.int64],
    hann: Samples,
    times: Samples,
    ends: NDArray[np.int64],
    side: NDArray[np.int64],
    last: Samples,
    loudest: Samples,
    quietest: Samples,
    began: NDArray[np.int64],
) -> None:
    segment = np.empty(1)
    row = 0
    until = (-first) % every
    for i in range(x_c.shape[0]):
        give = until == 0
        until = every - 1 if give else until - 1
        at = clock[0]
        begin, end = at + 1, at + 1 + n_window
        for pair in range(x_c.shape[1]):
            c, m, f = x_c[i, pair], x_m[i, pair], f_m[i, pair]
            fine = abs(c) < LARGEST_SAMPLE and abs(m) < LARGEST_SAMPLE and abs(f) < LARGEST_SAMPLE
            counts[pair, 0] = counts[pair, 0] + 1 if fine else 0
            full = counts[pair, 0] >= n_window
            segment[0] = 0.0
            if counts[pair, 0] > 1:
                force = 0.5 * (f + ring[pair, 2, end - 2])
                along = c - ring[pair, 0, end - 2]
                segment[0] = force * (m - ring[pair, 1, end - 2] - along)
                counts[pair, 1] += 1
                work[pair, ERROR] += segment[0]
                work[pair, COMMAND] += force * along
                work[pair, HIGHEST] = max(work[pair, HIGHEST], work[pair, COMMAND])
                work[pair, LOWEST] = min(work[pair, LOWEST], work[pair, COMMAND])
            push(rows, prefix, since, pair, segment)
            ring[pair, 0, at] = ring[pair, 0, at + n_window] = c
            ring[pair, 1, at] = ring[pair, 1, at + n_window] = m
            ring[pair, 2, at] = ring[pair, 2, at + n_window] = f
            if not full:
                damping[pair] = np.nan
            elif (first + i + pair) % hop == 0:
                damping[pair] = np.nan
                own = loop_of(ring[pair, 2, begin:end], ring[pair, 1, begin:end], hann)
                commanded = loop_of(ring[pair, 2, begin:end], ring[pair, 0, begin:end], hann)
                amplitude = np.sqrt(2.0 * commanded.square_b)
                is_open = passes(
                    loudest, quietest, began, absolute, relative, pair, amplitude, counts[pair, 0], n_window
                )
                if is_open and own.common * own.common > _FEEBLE * own.square_a * own.square_b:
                    deviation = np.sqrt(commanded.square_b)
                    step = sine_of_step(ring[pair, 0, begin:end], deviation, commanded.drift, times, ends, side, last)
                    added = -0.5 * (own.swept - commanded.swept) / (step * own.common)
                    damping[pair] = added if abs(added) < np.inf else np.nan
            if give:
                span = work[pair, HIGHEST] - work[pair, LOWEST]
                ratio = work[pair, ERROR] / span if full and span > 0.0 else np.nan
                out[row, pair, 0] = total(rows, prefix, since, pair, 0) if full else np.nan
                out[row, pair, 1] = work[pair, ERROR] if counts[pair, 1] > 0 else np.nan
                out[row, pair, 2] = ratio if abs(ratio) < np.inf else np.nan
                out[row, pair, 3] = damping[pair]
        tick(clock, n_window)
        if give:
            row += 1
