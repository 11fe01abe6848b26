"""Compared figures: value in the reference and in another run, their difference, and whether it is tolerated."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from replay.assessment import PairAssessment

# of each actuator: key, column of its median and factor from SI; the headline has no single column of its own
_INDICATORS = {
    "fdb_delay_ms": ("fdb_delay", 1e3),
    "fdb_ratio": ("fdb_ratio", 1.0),
    "paei_delay_ms": ("paei_delay", 1e3),
    "paei_ratio": ("paei_ratio", 1.0),
}
_SIGNALS = ("command_rms_percent", "command_peak_percent", "measured_rms_percent", "measured_peak_percent")
_OF_RUN = ("duration_s", "lost_samples", "alarms")
KEYS = ("delay_ms", "ratio", *_INDICATORS, "rms_error_percent", "peak_error_percent", *_SIGNALS, *_OF_RUN)
"""Compared figures, in the order in which they are shown, with their units."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """The largest difference that is tolerated: an amount in the unit of the figure, or percent of the reference."""

    amount: float
    relative: bool = False

    def limit(self, reference: float) -> float:
        """Return the largest difference from a reference value."""
        return 0.01 * self.amount * abs(reference) if self.relative else self.amount

    def __str__(self) -> str:
        return f"{self.amount:g}{' %' if self.relative else ''}"


@dataclass(frozen=True, slots=True)
class Quantity:
    """One figure in the reference and in another run.

    Parameters
    ----------
    key : one of `KEYS`; its end is the unit.
    reference, value : NaN where there is none.
    reference_sd, sd : standard deviations of the value in one window; NaN where the figure has none.
    tolerance : of the difference; None: none is given.
    """

    key: str
    reference: float
    value: float
    reference_sd: float = math.nan
    sd: float = math.nan
    tolerance: Tolerance | None = None

    @property
    def difference(self) -> float:
        """The other run's value minus the reference's."""
        return self.value - self.reference

    @property
    def significance(self) -> float:
        """The difference in its standard deviations; NaN where one is unknown, infinite where it is zero."""
        sd = math.hypot(self.reference_sd, self.sd)
        if not math.isfinite(sd + self.difference):
            return math.nan
        if self.difference == 0.0:
            return 0.0
        return self.difference / sd if sd > 0.0 else math.copysign(math.inf, self.difference)

    @property
    def result(self) -> str:
        """``within`` or ``exceeded``; ``unknown`` where a run has no value; empty without a tolerance."""
        if self.tolerance is None:
            return ""
        if not math.isfinite(self.difference):
            return "unknown"
        return "within" if abs(self.difference) <= self.tolerance.limit(self.reference) else "exceeded"


def parse_tolerance(text: str) -> tuple[str, Tolerance]:
    """Return the key and the tolerance of ``KEY=VALUE`` or ``KEY=VALUE%``.

    Raises
    ------
    ValueError : there is no such key, or the value is no number from 0 on.
    """
    key, _, amount = (part.strip() for part in text.partition("="))
    if key not in KEYS:
        raise ValueError(f"--tolerance {text}: give KEY=VALUE or KEY=VALUE%, KEY one of {', '.join(KEYS)}")
    relative = amount.endswith("%")
    try:
        value = float(amount.removesuffix("%"))
    except ValueError:
        value = math.nan
    if not 0.0 <= value < math.inf:
        raise ValueError(f"--tolerance {text}: the value must be a number from 0 on, in the unit of {key}, or with %")
    if relative and key in _SIGNALS:
        raise ValueError(f"--tolerance {text}: {key} is in percent of the reference's signal: leave % out")
    return key, Tolerance(value, relative)


def actuator_quantities(
    reference: PairAssessment,
    other: PairAssessment,
    signals: Mapping[str, tuple[float, float]],
    tolerances: Mapping[str, Tolerance],
) -> tuple[Quantity, ...]:
    """Return the compared figures of one actuator.

    Parameters
    ----------
    signals : rms and peak of the difference of ``command`` and ``measured``, percent of the reference's.
    """
    ours, theirs = _figures(reference), _figures(other)
    found = [
        Quantity(key, value, theirs[key][0], sd, theirs[key][1], tolerances.get(key))
        for key, (value, sd) in ours.items()
    ]
    for name, sizes in signals.items():
        for kind, size in zip(("rms", "peak"), sizes, strict=True):
            key = f"{name}_{kind}_percent"
            found.append(Quantity(key, 0.0, size, tolerance=tolerances.get(key)))
    return tuple(found)


def run_quantities(
    reference: Mapping[str, object], other: Mapping[str, object], tolerances: Mapping[str, Tolerance]
) -> tuple[Quantity, ...]:
    """Return the compared figures of two runs as a whole, of their summaries' rows."""
    return tuple(
        Quantity(key, float(str(reference[key])), float(str(other[key])), tolerance=tolerances.get(key))
        for key in _OF_RUN
    )


def _figures(found: PairAssessment) -> dict[str, tuple[float, float]]:
    """Return value and standard deviation of each figure, as `assess` has them; NaN where there is none."""
    headline, criteria = found.headline, found.whole.criteria
    nothing = (math.nan, math.nan)
    figures = {
        "delay_ms": nothing if headline is None else (1e3 * headline.delay, 1e3 * headline.delay_sd),
        "ratio": nothing if headline is None else (headline.ratio, headline.ratio_sd),
    }
    for key, (column, factor) in _INDICATORS.items():
        value, sd = (
            factor * found.spreads[name].median if name in found.spreads else math.nan
            for name in (column, f"{column}_sd")
        )
        figures[key] = (value, sd)
    return figures | {
        "rms_error_percent": (float(criteria.j2), math.nan),
        "peak_error_percent": (float(criteria.j3), math.nan),
    }
