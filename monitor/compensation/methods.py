"""The compensators by name, as commands and studies offer them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from monitor.compensation.adaptive_time_series import AdaptiveTimeSeries
from monitor.compensation.base import Compensation
from monitor.compensation.fixed_inverse import FixedInverse
from monitor.compensation.indicator_driven import IndicatorDriven

METHODS: dict[str, Callable[[FixedInverse], Compensation]] = {
    "none": lambda nominal: FixedInverse(spacing=nominal.spacing),
    "fixed": lambda nominal: nominal,
    "ats": lambda nominal: AdaptiveTimeSeries(replace(nominal, coefficients=nominal.coefficients[:3])),
    "fdb": lambda nominal: IndicatorDriven("fdb", nominal),
    "paei": lambda nominal: IndicatorDriven("paei", nominal),
    # it reads a band, not a tone, and only four times a window
    "broadband": lambda nominal: IndicatorDriven("broadband", nominal, window=0.5),
}


def by_name(name: str, nominal: FixedInverse) -> Compensation:
    """Return the settings of a compensator for a nominal actuator; raises ValueError for an unknown name."""
    if name not in METHODS:
        raise ValueError(f"compensation {name!r}: must be one of {', '.join(METHODS)}")
    return METHODS[name](nominal)
