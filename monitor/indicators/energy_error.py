"""HSEM: the energy that the tracking error feeds into a hybrid test, or takes out of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.catalogue import CATALOGUE
from monitor.indicators.base import check_window
from monitor.indicators.parts.energy_kernel import EnergyState
from monitor.indicators.parts.gate import gate_limits, new_gate
from monitor.indicators.parts.sliding_statistics import new_sums
from monitor.indicators.parts.swept_area import HOPS, new_stored_window
from monitor.indicators.tracking_pass import HSEM, PassIndicator


class EnergyErrorValues(NamedTuple):
    """Energy error over the window and since the start; the latter as a ratio; the damping ratio that it adds."""

    window: float
    total: float
    normalized: float
    added_damping: float


class HybridSimulationErrorMonitor(PassIndicator[EnergyErrorValues]):
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

    outputs = CATALOGUE["hsem"].outputs
    value_type = EnergyErrorValues
    smallest_window = 2
    part = HSEM
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

    def new_arrays(self) -> EnergyState:
        """Return the arrays as they begin."""
        n, pairs = self.n_window, self.n_pairs
        arrays: list[NDArray[Any]] = [
            np.array([self.hop, *self._limits]),
            # a window of n samples has n - 1 segments
            *new_sums(n - 1, pairs, 1),
            *(np.zeros((pairs, 4)), np.full(pairs, np.nan), np.zeros((pairs, 2), np.int64)),
            *new_stored_window(n, pairs, 3),
            *new_gate(pairs),
        ]
        return EnergyState(*arrays)
