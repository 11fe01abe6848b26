"""Peak error: the largest tracking error in the window."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monitor.indicators.base import SIGNAL_UNIT, Output
from monitor.indicators.parts.peak_kernel import PeakState
from monitor.indicators.parts.sliding_extremes import new_extremes
from monitor.indicators.tracking_pass import PEAK, PassIndicator


class LargestError(NamedTuple):
    """The largest |m - c| in the signal's unit, and over the largest |c| of the window."""

    error: float
    relative: float


class PeakError(PassIndicator[LargestError]):
    """``max |m - c|`` over the window, and the same divided by ``max |c|``.

    The relative form is not valid where the command is zero throughout the window.
    """

    outputs = (
        Output("peak_error", SIGNAL_UNIT, compares=True),
        Output("peak_error_relative", "1", compares=True),
    )
    value_type = LargestError
    smallest_window = 1
    part = PEAK

    def __init__(self, sample_rate: float, window: float = 2.0, *, n_pairs: int = 1, every: int = 1) -> None:
        super().__init__(sample_rate, window, n_pairs=n_pairs, every=every)

    def new_arrays(self) -> PeakState:
        """Return the arrays as they begin."""
        counts = np.zeros((self.n_pairs, 2), dtype=np.int64)
        return PeakState(*new_extremes(self.n_window, self.n_pairs, 2), counts)
