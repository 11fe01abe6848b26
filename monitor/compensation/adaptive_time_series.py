"""ATS, the adaptive time series compensator of Chae, Kazemibidokhti and Ricles (2013)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from monitor.catalogue import Output
from monitor.compensation.base import COLUMNS, Compensation, Shape, check_gate, check_low_pass, check_window
from monitor.compensation.fixed_inverse import FixedInverse
from monitor.compensation.time_series_fit import FitSettings, TimeSeriesCompensator, stacked_coefficients

Range = tuple[float, float]
_SETTLING, _SETTLING_PERIODS = 0.2, 4.0  # s, and of the cutoff, after a start or a gap until the filters settle


@dataclass(frozen=True, eq=False)
class AdaptiveTimeSeries(Compensation):
    """Sends ``a0 x + a1 x' + a2 x''``; the coefficients are a least-squares fit of sent by measured.

    The defaults are those of the authors' own implementation. Derivatives are exact for a parabola, where the authors
    take backward differences of first order.

    Parameters
    ----------
    initial : the first coefficients, of order 2 or less; the authors take those of the expected delay.
    window : s of the moving window.
    cutoff, filter_order : Hz and order of the Butterworth low-pass of both signals before the fit; the order is even.
    ranges : (lowest, highest) a0 [1], a1 [s] and a2 [s^2].
    rates : largest change of each within a second.
    threshold : measured amplitude in the window, in the signal's unit, below which nothing is adapted.
    relative_threshold : likewise, as a fraction of the largest so far (ours).
    longest_gap : s of lost samples that are bridged (ours).
    """

    columns = (*COLUMNS, Output("ats_a0", "1"), Output("ats_a1", "s"), Output("ats_a2", "s2"))

    initial: FixedInverse = field(default_factory=FixedInverse)
    window: float = 1.0
    cutoff: float = 20.0
    filter_order: int = 6
    ranges: tuple[Range, Range, Range] = ((0.7, 1.3), (0.0, 0.08), (0.0, 0.0032))
    rates: tuple[float, float, float] = (2.0, 0.05, 0.001)
    threshold: float = 0.0
    relative_threshold: float = 0.02
    longest_gap: float = 0.04

    def __post_init__(self) -> None:
        if len(self.initial.coefficients) > 3:
            raise ValueError(
                f"initial has {len(self.initial.coefficients)} coefficients: the time series has at most 3"
            )
        check_low_pass(self.cutoff, self.filter_order)
        check_window(self.window, self.longest_gap)
        check_gate(self.relative_threshold)
        for name, (low, high), rate in zip(("a0", "a1", "a2"), self.ranges, self.rates, strict=True):
            if not low <= high:
                raise ValueError(f"range of {name} = {low} to {high}: the lowest comes first")
            if not rate > 0.0:
                raise ValueError(f"rate of {name} = {rate} in a second: must be positive")

    def begin(self, dt: float, shape: Shape = (1,)) -> AdaptiveTimeSeriesCompensator:
        """Return it at rest, see `Compensation`."""
        return AdaptiveTimeSeriesCompensator(self, dt, shape)


class AdaptiveTimeSeriesCompensator(TimeSeriesCompensator):
    """A running `AdaptiveTimeSeries`."""

    columns = AdaptiveTimeSeries.columns

    def __init__(self, settings: AdaptiveTimeSeries, dt: float, shape: Shape) -> None:
        coefficients = stacked_coefficients(settings.initial, shape, order=2)
        fit = FitSettings(
            ranges=np.broadcast_to(np.array(settings.ranges), (*coefficients.shape, 2)),
            precision=None,
            window=settings.window,
            rates=settings.rates,
            cutoff=settings.cutoff,
            filter_order=settings.filter_order,
            settling=max(_SETTLING, _SETTLING_PERIODS / settings.cutoff),
            longest_gap=settings.longest_gap,
            gate=settings.relative_threshold,
            threshold=settings.threshold,
        )
        super().__init__(coefficients, settings.initial, dt, shape, fit)
