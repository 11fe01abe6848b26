"""The statement for the regulator: the verdict, its evidence, and how far it extrapolates."""

from __future__ import annotations

from collections.abc import Mapping

from monitor.messages.blocks import Samples
from replay.papers.thermal.compliance import (
    AGREED,
    FEWEST,
    BiasCorrection,
    Compliance,
    FailureProbability,
    assess_compliance,
)
from sim.models.thermal_population import Conductivity
from sim.models.thermal_tables import (
    ACCREDITATION,
    ALLOWED,
    APPLICATION,
    LIMIT,
    LIMIT_TIME,
    configurations,
    front_runs,
    material,
)

_WORDS = {
    Compliance.MET: "the requirement is met",
    Compliance.NOT_MET: "the requirement is not met",
    Compliance.OPEN: "whether the requirement is met stays open",
}

RULE = (
    "The rule for a verdict is ours, for the paper has none: met or not met where the Monte Carlo share is on that "
    f"side of {100.0 * ALLOWED:g} % by three standard errors, and {100.0 * AGREED:g} % of {FEWEST} or more bootstrap "
    "data sets are too; else open. It was made with these results in view, where Low is the nearest to open."
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
    best = failure[Conductivity.TEMPERATURE_DEPENDENT]
    lines = (
        f"{level}: {_WORDS[assess_compliance(best)]}. Of the units {_percent(best.quadrature)} % are over {LIMIT:g} "
        f"degC at {LIMIT_TIME:g} s, where {_percent(ALLOWED)} % are allowed.",
        _rests_on(level, best, n_units),
        _confidence(best, failure),
        _corrected(bias),
        _tests(level, share_cooler),
        _extrapolated(level),
    )
    return "\n".join(lines)


def _rests_on(level: str, best: FailureProbability, n_units: int) -> str:
    n_specimens = len(material(level).temperature)
    n_each = {name: each.temperature.shape[1] for name, each in front_runs(level).items()}
    of_accreditation = n_each.pop(ACCREDITATION)
    return (
        f"Rests on: {n_specimens} specimens of the material; a conductivity that is a line in temperature; normal, "
        f"independent properties. {sum(n_each.values())} tests and {of_accreditation} of accreditation check the "
        f"model and change nothing in the number. Monte Carlo, of {n_units} units computed one by one, says "
        f"{_percent(best.value)} ± {_percent(best.standard_error, 2)} %."
    )


def _confidence(best: FailureProbability, failure: Mapping[Conductivity, FailureProbability]) -> str:
    n = len(best.bootstrap)
    low, high = best.interval
    others = [share for each in failure.values() for share in each.families.values()]
    few = f" A verdict needs {FEWEST} of them." if n < FEWEST else ""
    return (
        f"Confidence: of {n} bootstrap data sets, 90 % say {_percent(low)} to {_percent(high)} %, "
        f"and {n - round(best.share_complying * n)} say that the requirement is missed.{few} Other assumptions on "
        f"conductivity and distribution say {_percent(min(others))} to {_percent(max(others))} %."
    )


def _corrected(bias: BiasCorrection) -> str:
    return (
        f"Corrected for bias: with what constant k misses in the tests, carried on to the application, its share is "
        f"{_percent(bias.probability)} %, and of bootstrap runs 90 % say {_percent(bias.low)} to "
        f"{_percent(bias.high)} %. The verdict does not use it."
    )


def _tests(level: str, share_cooler: Mapping[str, Samples]) -> str:
    shares = [float(share) for each in share_cooler.values() for share in each]
    runs = front_runs(level)
    flux = max(configurations()[name].flux for name in runs)
    hottest = max(float(each.temperature.max()) for each in runs.values())
    return (
        f"Shown by tests: up to {flux:g} W/m^2 and {hottest:.0f} degC, the {len(shares)} measured fronts end with "
        f"{_whole(min(shares))} to {_whole(max(shares))} % of the model's specimens cooler; 0 or 100 would be beyond "
        "all of them. So few tests cannot show that the model has the rare hot units right."
    )


def _extrapolated(level: str) -> str:
    application = configurations()[APPLICATION]
    measured = material(level).temperature
    return (
        f"Extrapolated: to {application.flux:g} W/m^2 and {LIMIT:g} degC, where nothing was tested. The properties "
        f"are not: they were measured from {measured.min():g} to {measured.max():g} degC."
    )


def _percent(share: float, digits: int = 3) -> str:
    """Return so many digits that count; a share of nothing is 0."""
    return f"{100.0 * share:.{digits}g}"


def _whole(share: float) -> str:
    return f"{100.0 * share:.0f}"
