"""Compared figures: value in the reference and in another run, their difference, and whether it is tolerated."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from scipy.stats import t

from replay.comparison.stretch import ERRORS, MEDIANS, Estimate

_SIGNALS = ("command_rms_percent", "command_peak_percent", "measured_rms_percent", "measured_peak_percent")
_OF_RUN = ("duration_s", "lost_samples", "alarms")
KEYS = (*MEDIANS, *ERRORS, *_SIGNALS, *_OF_RUN)
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
    estimate : the values of both, and their standard deviations.
    tolerance : of the difference; None: none is given.
    """

    key: str
    estimate: Estimate
    tolerance: Tolerance | None = None

    @property
    def reference(self) -> float:
        """The reference's value; NaN where there is none."""
        return self.estimate.reference

    @property
    def value(self) -> float:
        """The other run's value; NaN where there is none."""
        return self.estimate.value

    @property
    def difference(self) -> float:
        """The other run's difference from the reference; see `replay.comparison.stretch.Estimate`."""
        return self.estimate.difference

    @property
    def significance(self) -> float:
        """The difference in its standard deviations; NaN where they are unknown, infinite where they are zero."""
        sd = self.estimate.difference_sd
        if not math.isfinite(sd + self.difference):
            return math.nan
        if self.difference == 0.0:
            return 0.0
        return self.difference / sd if sd > 0.0 else math.copysign(math.inf, self.difference)

    @property
    def probability(self) -> float:
        """Probability of so large a difference, or a larger one, by chance alone (Student's t); NaN where unknown."""
        return float(2.0 * t.sf(abs(self.significance), self.estimate.freedom))

    @property
    def result(self) -> str:
        """``within`` or ``exceeded``; ``unknown`` where a run has no value; empty without a tolerance."""
        if self.tolerance is None:
            return ""
        if not math.isfinite(self.difference):
            return "unknown"
        return "within" if abs(self.difference) <= self.tolerance.limit(self.reference) else "exceeded"


P_MEANING = "p: probability of so large a difference by noise alone; below 0.05 the runs differ"


def chance_text(probability: float) -> str:
    """Return the probability of a difference by chance; empty where it is unknown."""
    if math.isnan(probability):
        return ""
    return "<0.001" if probability < 1e-3 else f"{probability:.3f}"


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
    estimates: Mapping[str, Estimate], signals: Mapping[str, tuple[float, float]], tolerances: Mapping[str, Tolerance]
) -> tuple[Quantity, ...]:
    """Return the compared figures of one actuator.

    Parameters
    ----------
    estimates : by key; see `replay.comparison.stretch.compare_parts`.
    signals : rms and peak of the difference of ``command`` and ``measured``, percent of the reference's.
    """
    found = [Quantity(key, estimate, tolerances.get(key)) for key, estimate in estimates.items()]
    for name, sizes in signals.items():
        for kind, size in zip(("rms", "peak"), sizes, strict=True):
            key = f"{name}_{kind}_percent"
            found.append(Quantity(key, Estimate(0.0, size, size), tolerances.get(key)))
    return tuple(found)


def run_quantities(
    reference: Mapping[str, object], other: Mapping[str, object], tolerances: Mapping[str, Tolerance]
) -> tuple[Quantity, ...]:
    """Return the compared figures of two runs as a whole, of their summaries' rows."""
    values = ((key, float(str(reference[key])), float(str(other[key]))) for key in _OF_RUN)
    return tuple(Quantity(key, Estimate(one, two, two - one), tolerances.get(key)) for key, one, two in values)
