"""The probability of failure, bootstrap interval and bias correction, the verdict, and the regulator's statement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from monitor.messages.blocks import Samples
from replay import Progress, silent
from replay.papers.thermal.limit import by_monte_carlo, by_quadrature
from sim.models import thermal_tables as tables
from sim.models.thermal_population import Characterization, Conductivity, Family, characterize
from sim.models.thermal_slab import SlabTest, series_temperature

# 5th and 95th percentile of the bootstrap data sets
_LOW, _HIGH = 0.05, 0.95
# of the bootstrap data sets: so many must agree with a verdict. Ours: the paper asks for a decision and has no rule
AGREED = 0.95
# of them: with fewer, whether 3 % or 5 % disagree is chance
FEWEST = 500


@dataclass(frozen=True, slots=True, eq=False)
class FailureProbability:
    """The share of the units that is too hot, under one assumption on the conductivity.

    Parameters
    ----------
    value, standard_error : by Monte Carlo, units that are drawn and computed.
    quadrature : the same, integrated.
    bootstrap : (n,), by quadrature, of data sets like the one there is.
    families : by quadrature, of properties that are not normal.
    """

    value: float
    standard_error: float
    quadrature: float
    bootstrap: Samples
    families: Mapping[Family, float]

    @property
    def interval(self) -> tuple[float, float]:
        """Between which 90 % of the bootstrap data sets find it."""
        low, high = np.quantile(self.bootstrap, [_LOW, _HIGH]).tolist()
        return low, high

    @property
    def share_complying(self) -> float:
        """Of the bootstrap data sets, how many find the requirement met."""
        return float(np.mean(self.bootstrap < tables.ALLOWED))


def failure_probabilities(
    data: tables.Material,
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
    progress, level : called with what is done; for which level of data.
    """
    known = characterize(data)
    bootstrap: dict[Conductivity, list[float]] = {which: [] for which in Conductivity}
    for done, other in enumerate(resample(known, data, n_resampled, generator), 1):
        for which, found in bootstrap.items():
            found.append(by_quadrature(other.population(which)))
        if done % 50 == 0 or done == n_resampled:
            progress(f"{level}: bootstrap", done, n_resampled)
    result = {}
    for which in Conductivity:
        units = known.population(which).sample(generator, number[which])
        share, error = by_monte_carlo(units, progress if units.slope else silent, f"{level}: Monte Carlo")
        families = {family: by_quadrature(known.population(which, family)) for family in Family}
        spread = np.array(bootstrap[which])
        result[which] = FailureProbability(share, error, families[Family.NORMAL], spread, families)
    return result


def resample(
    known: Characterization, data: tables.Material, number: int, generator: np.random.Generator
) -> Iterator[Characterization]:
    """Yield the material data of other specimens at the same temperatures, by a residual bootstrap.

    The line of the conductivity and the mean of the capacity represent the material; what scatters about them is
    drawn with replacement, as large as that of specimens that the fit does not know. The representative temperature
    stays what it is.
    """
    conductivity, capacity = known.line, known.capacity
    for _ in range(number):
        moved = [
            fit.fitted + generator.choice(fit.rescaled_residuals, len(fit.fitted)) for fit in (conductivity, capacity)
        ]
        yield characterize(tables.Material(data.temperature, *moved), known.representative_temperature)


class Compliance(StrEnum):
    """Whether the requirement is met."""

    MET = "met"
    NOT_MET = "not met"
    OPEN = "open"


def assess_compliance(found: FailureProbability) -> Compliance:
    """Return the verdict on one assumption, by a rule of ours.

    It is given where the share of too hot units is on its side of what is allowed by three standard errors, and so it
    is in 95 % of the bootstrap data sets, of which there must be 500 or more. The rule was made with the results in
    view: of Low's data sets 3.6 % are on the other side.
    """
    if len(found.bootstrap) < FEWEST:
        return Compliance.OPEN
    away = 3.0 * found.standard_error
    if found.value + away < tables.ALLOWED and found.share_complying >= AGREED:
        return Compliance.MET
    if found.value - away > tables.ALLOWED and found.share_complying <= 1.0 - AGREED:
        return Compliance.NOT_MET
    return Compliance.OPEN


@dataclass(frozen=True, slots=True)
class BiasCorrection:
    """The share of too hot units when what eq. 2 misses on the average is added.

    Parameters
    ----------
    probability : with the correction; constant conductivity.
    low, high : 5 and 95 % of it in a bootstrap of the runs.
    shift : degC, added at the application.
    farthest_rise, rise : degC over the initial temperature: the model's largest in the runs, and in the application.
    farthest_flux, flux : W/m^2, the same.
    """

    probability: float
    low: float
    high: float
    shift: float
    farthest_rise: float
    rise: float
    farthest_flux: float
    flux: float

    @property
    def extrapolates(self) -> bool:
        """Whether the application lies beyond the runs."""
        return self.rise > self.farthest_rise or self.flux > self.farthest_flux


def correct_bias(
    known: Characterization, level: str, n_units: int, n_resampled: int, generator: np.random.Generator
) -> BiasCorrection:
    """Learn from the runs of a level how far the model is off at a temperature rise, and correct the application.

    Measured less predicted front temperature is a parabola through zero in the predicted rise, by least squares over
    all runs and instants; the prediction is eq. 2 with mean properties. Runs are resampled whole: the instants of one
    are of one specimen.
    """
    units = known.population(Conductivity.CONSTANT).sample(generator, n_units)
    mean_properties = known.constant.at(0.0), known.capacity.at(0.0)

    def rise(test: SlabTest, time: Samples) -> Samples:
        return series_temperature(test, time, *mean_properties)[:, 0] - test.initial_temperature

    tests = tables.configurations()
    runs = tables.front_runs(level)
    normal, right, farthest = [], [], 0.0
    for name, each in runs.items():
        predicted = rise(tests[name], each.time[1:])
        powers = np.column_stack([predicted, predicted**2])
        missed = each.temperature[1:] - tests[name].initial_temperature - predicted[:, None]
        for one in missed.T:
            normal.append(powers.T @ powers)
            right.append(powers.T @ one)
        farthest = max(farthest, float(predicted.max()))
    application = tests[tables.APPLICATION]
    reached = float(rise(application, np.array([tables.LIMIT_TIME]))[0])
    front = np.sort(units.temperature(application, tables.LIMIT_TIME)[0, 0])

    def corrected(chosen: Samples) -> tuple[float, float]:
        weights = chosen[:, None]
        slopes = np.linalg.solve((weights[..., None] * normal).sum(axis=0), (weights * right).sum(axis=0))
        shift = float(slopes @ [reached, reached**2])
        return shift, 1.0 - float(np.searchsorted(front, tables.LIMIT - shift, side="right")) / n_units

    shift, probability = corrected(np.ones(len(normal)))
    chances = np.full(len(normal), 1.0 / len(normal))
    others = [corrected(generator.multinomial(len(normal), chances).astype(float))[1] for _ in range(n_resampled)]
    low, high = np.quantile(others, [0.05, 0.95]).tolist()
    flux = max(tests[name].flux for name in runs)
    return BiasCorrection(probability, low, high, shift, farthest, reached, flux, application.flux)


_WORDS = {
    Compliance.MET: "the requirement is met",
    Compliance.NOT_MET: "the requirement is not met",
    Compliance.OPEN: "whether the requirement is met stays open",
}

RULE = (
    "The rule for a verdict is ours, for the paper has none: met or not met where the Monte Carlo share is on that "
    f"side of {100.0 * tables.ALLOWED:g} % by three standard errors, and {100.0 * AGREED:g} % of {FEWEST} or more "
    "bootstrap data sets are too; else open. It was made with these results in view, where Low is the nearest to "
    "open."
)


def statement(
    level: str,
    failure: Mapping[Conductivity, FailureProbability],
    share_cooler: Mapping[str, Samples],
    bias: BiasCorrection,
    n_units: int,
) -> str:
    """Return the verdict by k(T), and a line each on what it rests on.

    Parameters
    ----------
    level : Low, Medium or High; no other data are spoken of.
    failure : by the assumption on the conductivity.
    share_cooler : by configuration, of the model's specimens, than the front of each run at its end.
    bias : the model-bias correction.
    n_units : that were drawn.
    """
    best, application = failure[Conductivity.TEMPERATURE_DEPENDENT], tables.configurations()[tables.APPLICATION]
    runs, measured = tables.front_runs(level), tables.material(level).temperature
    n_each = {name: each.temperature.shape[1] for name, each in runs.items()}
    of_accreditation = n_each.pop(tables.ACCREDITATION)
    n_sets, (low, high) = len(best.bootstrap), best.interval
    others = [share for each in failure.values() for share in each.families.values()]
    few = f" A verdict needs {FEWEST} of them." if n_sets < FEWEST else ""
    shares = [float(share) for each in share_cooler.values() for share in each]
    flux = max(tables.configurations()[name].flux for name in runs)
    hottest = max(float(each.temperature.max()) for each in runs.values())
    lines = (
        f"{level}: {_WORDS[assess_compliance(best)]}. Of the units {_percent(best.quadrature)} % are over "
        f"{tables.LIMIT:g} degC at {tables.LIMIT_TIME:g} s, where {_percent(tables.ALLOWED)} % are allowed.",
        f"Rests on: {len(measured)} specimens of the material; a conductivity that is a line in temperature; normal, "
        f"independent properties. {sum(n_each.values())} tests and {of_accreditation} of accreditation check the "
        f"model and change nothing in the number. Monte Carlo, of {n_units} units computed one by one, says "
        f"{_percent(best.value)} ± {_percent(best.standard_error, 2)} %.",
        f"Confidence: of {n_sets} bootstrap data sets, 90 % say {_percent(low)} to {_percent(high)} %, and "
        f"{n_sets - round(best.share_complying * n_sets)} say that the requirement is missed.{few} Other assumptions "
        f"on conductivity and distribution say {_percent(min(others))} to {_percent(max(others))} %.",
        "Corrected for bias: with what constant k misses in the tests, carried on to the application, its share is "
        f"{_percent(bias.probability)} %, and of bootstrap runs 90 % say {_percent(bias.low)} to "
        f"{_percent(bias.high)} %. The verdict does not use it.",
        f"Shown by tests: up to {flux:g} W/m^2 and {hottest:.0f} degC, the {len(shares)} measured fronts end with "
        f"{100.0 * min(shares):.0f} to {100.0 * max(shares):.0f} % of the model's specimens cooler; 0 or 100 would "
        "be beyond all of them. So few tests cannot show that the model has the rare hot units right.",
        f"Extrapolated: to {application.flux:g} W/m^2 and {tables.LIMIT:g} degC, where nothing was tested. The "
        f"properties are not: they were measured from {measured.min():g} to {measured.max():g} degC.",
    )
    return "\n".join(lines)


def _percent(share: float, digits: int = 3) -> str:
    """Return so many digits that count; a share of nothing is 0."""
    return f"{100.0 * share:.{digits}g}"
