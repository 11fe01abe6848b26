"""TI, the tracking indicator: the area that measured against command encloses."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.catalogue import CATALOGUE
from monitor.indicators.base import check_window
from monitor.indicators.parts.gate import gate_limits, new_gate
from monitor.indicators.parts.sliding_statistics import new_extremes, new_sums
from monitor.indicators.parts.swept_area import HOPS, new_stored_window
from monitor.indicators.parts.tracking_kernel import N_WORK_ROWS, TrackingState
from monitor.indicators.tracking_pass import TI, PassIndicator


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
