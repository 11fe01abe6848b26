"""The size of the tracking error in the window: NRMSE in four normalisations, and peak error."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monitor.catalogue import CATALOGUE
from monitor.indicators.parts.error_kernel import PeakState, RmsState
from monitor.indicators.parts.sliding_statistics import new_extremes, new_moments, new_sums
from monitor.indicators.tracking_pass import PEAK, RMS, PassIndicator


class RmsErrorValues(NamedTuple):
    """The root mean square error over four scales: all ratios.

    ``nrmse`` over the rms of the command; ``std`` over its standard deviation; ``range`` over the range of the
    measured signal; ``measured`` over the rms of the measured signal.
    """

    nrmse: float
    std: float
    range: float
    measured: float


class RmsErrorIndicator(PassIndicator[RmsErrorValues]):
    """``e = sqrt( 1/n sum (m - c)^2 )`` over the window, divided by each of the four scales in use.

    ``nrmse`` : by ``sqrt( 1/n sum c^2 )``, offset included (Phillips and Spencer 2011); a signal that stands on an
    offset reads small. ``nrmse_std`` : by ``sqrt( 1/n sum (c - mean c)^2 )``, free of the command's offset.
    ``nrmse_range`` : by ``max m - min m``, as OpenFresco's plots have it, but of the window and no percentage.
    ``nrmse_measured`` : by ``sqrt( 1/n sum m^2 )``, offset included.

    The error is never freed of its mean. Each is not valid where its scale is zero.
    """

    outputs = CATALOGUE["nrmse"].outputs
    value_type = RmsErrorValues
    smallest_window = 1
    part = RMS

    def __init__(self, sample_rate: float, window: float = 2.0, *, n_pairs: int = 1, every: int = 1) -> None:
        super().__init__(sample_rate, window, n_pairs=n_pairs, every=every)

    def new_arrays(self) -> RmsState:
        """Return the arrays as they begin."""
        n, pairs = self.n_window, self.n_pairs
        counts = np.zeros((pairs, 2), dtype=np.int64)
        return RmsState(*new_sums(n, pairs, 3), *new_moments(n, pairs), *new_extremes(n, pairs, 2), counts)


class PeakErrorValues(NamedTuple):
    """The largest |m - c| in the signal's unit, and over the largest |c| of the window."""

    error: float
    relative: float


class PeakErrorIndicator(PassIndicator[PeakErrorValues]):
    """``max |m - c|`` over the window, and the same divided by ``max |c|``.

    The relative form is not valid where the command is zero throughout the window.
    """

    outputs = CATALOGUE["peak_error"].outputs
    value_type = PeakErrorValues
    smallest_window = 1
    part = PEAK

    def __init__(self, sample_rate: float, window: float = 2.0, *, n_pairs: int = 1, every: int = 1) -> None:
        super().__init__(sample_rate, window, n_pairs=n_pairs, every=every)

    def new_arrays(self) -> PeakState:
        """Return the arrays as they begin."""
        counts = np.zeros((self.n_pairs, 2), dtype=np.int64)
        return PeakState(*new_extremes(self.n_window, self.n_pairs, 2), counts)
