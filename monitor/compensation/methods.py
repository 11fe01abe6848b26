"""The compensators by name, as commands and studies offer them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf

from monitor.compensation.adaptive_time_series import AdaptiveTimeSeries
from monitor.compensation.base import LONGEST_WINDOW, Compensation
from monitor.compensation.fixed_inverse import FixedInverse
from monitor.compensation.indicator_driven import IndicatorDriven, IndicatorName
from monitor.compensation.recursive_inverse import RecursiveInverse

# periods of the slowest dominant motion in a window; the broadband delay is read only four times a window
_PERIODS, _BROADBAND_PERIODS = 2.6, 1.75
# standard deviations of a delay that halve its weight, and take it away, as fractions of that period
_SCALE, _DOUBT = 0.00175, 0.014


def _driven(indicator: IndicatorName, nominal: FixedInverse, period: float, periods: float) -> IndicatorDriven:
    if periods * period > LONGEST_WINDOW:
        raise ValueError(
            f"slowest = {1.0 / period:g} Hz: {indicator} would need a window of {periods * period:.3g} s, "
            f"more than {LONGEST_WINDOW:g} s"
        )
    scale, doubt = _SCALE * period, _DOUBT * period
    return IndicatorDriven(indicator, nominal, window=periods * period, delay_scale=scale, delay_doubt=doubt)


METHODS: dict[str, Callable[[FixedInverse, float], Compensation]] = {
    "none": lambda nominal, _: FixedInverse(spacing=nominal.spacing),
    "fixed": lambda nominal, _: nominal,
    "ats": lambda nominal, _: AdaptiveTimeSeries(replace(nominal, coefficients=nominal.coefficients[:3])),
    "recursive": lambda nominal, _: RecursiveInverse(nominal),
    "fdb": lambda nominal, slowest: _driven("fdb", nominal, 1.0 / slowest, _PERIODS),
    "paei": lambda nominal, slowest: _driven("paei", nominal, 1.0 / slowest, _PERIODS),
    "broadband": lambda nominal, slowest: _driven("broadband", nominal, 1.0 / slowest, _BROADBAND_PERIODS),
}


def by_name(name: str, nominal: FixedInverse, slowest: float = 3.5) -> Compensation:
    """Return the settings of a compensator for a nominal actuator.

    Parameters
    ----------
    name : one of `METHODS`; ValueError for another one.
    nominal : inverse of the actuator as it is known.
    slowest : Hz, the lowest dominant frequency of the motion, for ``fdb``, ``paei`` (their window is 2.6 / slowest
        seconds) and ``broadband`` (1.75 / slowest). The default is that of the benchmark's building.
    """
    if name not in METHODS:
        raise ValueError(f"compensation {name!r}: must be one of {', '.join(METHODS)}")
    if not 0.0 < slowest < inf:
        raise ValueError(f"slowest = {slowest} Hz: must be a positive frequency")
    return METHODS[name](nominal, slowest)
