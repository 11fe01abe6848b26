"""How probable it is that a unit is too hot, how surely the data say so, and what that means for the requirement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from monitor.blocks import Samples
from replay.ensembles import Progress, silent
from replay.studies.thermal_limit import by_quadrature, by_trying
from sim.models.thermal_population import Characterization, Conductivity, Family, characterize
from sim.models.thermal_tables import (
    ACCREDITATION,
    ALLOWED,
    APPLICATION,
    LIMIT,
    LIMIT_TIME,
    Material,
    accreditation_runs,
    configurations,
    validation_runs,
)

# 5 and 95 % of what the resampled data say
LOW, HIGH = 0.05, 0.95
# of the resampled data sets that find the requirement met: from here on it is, and up to here it is not
_SHOWN, _DOUBTED = 0.95, 0.1


@dataclass(frozen=True, slots=True, eq=False)
class FailureProbability:
    """The share of the units that is too hot, under one assumption on the conductivity.

    Parameters
    ----------
    value, standard_error : of units that were drawn and computed.
    quadrature : the same, integrated.
    resampled : (n,), by quadrature, of data sets like the one there is.
    families : by quadrature, of properties that are not normal.
    """

    value: float
    standard_error: float
    quadrature: float
    resampled: Samples
    families: Mapping[Family, float]

    @property
    def interval(self) -> tuple[float, float]:
        """Between which 90 % of the resampled data sets find it."""
        low, high = np.quantile(self.resampled, [LOW, HIGH]).tolist()
        return low, high

    @property
    def share_complying(self) -> float:
        """Of the resampled data sets, how many find the requirement met."""
        return float(np.mean(self.resampled < ALLOWED))


def failure_probabilities(
    data: Material,
    number: Mapping[Conductivity, int],
    n_resampled: int,
    generator: np.random.Generator,
    progress: Progress = silent,
    level: str = "",
) -> dict[Conductivity, FailureProbability]:
    """Return the share of the units that is too hot, under each assumption on the conductivity.

    Parameters
    ----------
    data : measured properties.
    number : of units that are drawn.
    n_resampled : data sets.
    generator : of the random numbers.
    progress, level : told what is done, and for which level of data.
    """
    known = characterize(data)
    resampled: dict[Conductivity, list[float]] = {which: [] for which in Conductivity}
    for done, other in enumerate(resample(known, data, n_resampled, generator), 1):
        for which, found in resampled.items():
            found.append(by_quadrature(other.population(which)))
        if done % 50 == 0 or done == n_resampled:
            progress(f"{level}: resampled data", done, n_resampled)
    result = {}
    for which in Conductivity:
        units = known.population(which).sample(generator, number[which])
        share, error = by_trying(units, progress if units.slope else silent, f"{level}: units")
        families = {family: by_quadrature(known.population(which, family)) for family in Family}
        spread = np.array(resampled[which])
        result[which] = FailureProbability(share, error, families[Family.NORMAL], spread, families)
    return result


def resample(
    known: Characterization, data: Material, number: int, generator: np.random.Generator
) -> Iterator[Characterization]:
    """Yield what other specimens, at the same temperatures, would have said of the material.

    The line of the conductivity and the mean of the capacity stand for the material; what scatters about them is
    drawn with replacement, as large as that of specimens that the fit does not know. The representative temperature
    stays what it is.
    """
    conductivity, capacity = known.line, known.capacity
    for _ in range(number):
        moved = [fit.fitted + generator.choice(fit.scatter, len(fit.scatter)) for fit in (conductivity, capacity)]
        yield characterize(Material(data.temperature, *moved), known.representative_temperature)


class Verdict(StrEnum):
    """Whether the requirement is met."""

    MET = "met"
    NOT_MET = "not met"
    OPEN = "open"


def decide(found: FailureProbability) -> Verdict:
    """Return the verdict on one assumption.

    It is given where the share of too hot units is on its side of what is allowed by three standard errors, and the
    resampled data sets agree: 95 % of them where the requirement is met, which is what must be shown, and 90 % where
    it is missed.
    """
    away = 3.0 * found.standard_error
    if found.value + away < ALLOWED and found.share_complying >= _SHOWN:
        return Verdict.MET
    if found.value - away > ALLOWED and found.share_complying <= _DOUBTED:
        return Verdict.NOT_MET
    return Verdict.OPEN


_WORDS = {
    Verdict.MET: "is met",
    Verdict.NOT_MET: "is not met",
    Verdict.OPEN: "is neither surely met nor surely missed",
}


def statement(level: str, found: Mapping[Conductivity, FailureProbability]) -> str:
    """Return what a regulator is told, by the temperature-dependent conductivity."""
    best = found[Conductivity.TEMPERATURE_DEPENDENT]
    low, high = (100.0 * share for share in best.interval)
    n = len(best.resampled)
    least = 100.0 * min(each.quadrature for each in found.values())
    runs = {**validation_runs(level), ACCREDITATION: accreditation_runs(level)["front"]}
    flux = max(configurations()[name].flux for name in runs)
    hottest = max(float(each.temperature.max()) for each in runs.values())
    return (
        f"{level}: the requirement {_WORDS[decide(best)]}. Of the units {100.0 * best.value:.1f} ± "
        f"{100.0 * best.standard_error:.1f} % are over {LIMIT:g} degC at {LIMIT_TIME:g} s, where "
        f"{100.0 * ALLOWED:g} % are allowed. With other specimens in the characterization it would be {low:.1f} to "
        f"{high:.1f} % (90 % of {n} resampled data sets), and within what is allowed in "
        f"{round(best.share_complying * n)} of them. No assumption on the conductivity finds less than "
        f"{least:.1f} %. "
        f"The model is carried on to {configurations()[APPLICATION].flux:g} W/m^2 and {LIMIT:g} degC; no experiment "
        f"had more than {flux:g} W/m^2 or came beyond {hottest:.0f} degC."
    )
