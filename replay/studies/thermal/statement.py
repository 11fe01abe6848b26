"""What a regulator is told of the thermal challenge: the verdict, what it rests on, and how far it is carried."""

from __future__ import annotations

from collections.abc import Mapping

from monitor.blocks import Samples
from replay.studies.thermal.compliance import AGREED, FailureProbability, Verdict, decide
from sim.models.thermal_population import Conductivity
from sim.models.thermal_tables import (
    ACCREDITATION,
    ALLOWED,
    APPLICATION,
    LIMIT,
    LIMIT_TIME,
    Runs,
    accreditation_runs,
    configurations,
    material,
    validation_runs,
)

_WORDS = {
    Verdict.MET: "the requirement is met",
    Verdict.NOT_MET: "the requirement is not met",
    Verdict.OPEN: "whether the requirement is met stays open",
}

RULE = (
    "The rule for a verdict is ours, for the paper has none: met or not met where the drawn share is on that side of "
    f"{100.0 * ALLOWED:g} % by three standard errors, and {100.0 * AGREED:g} % of the resampled data sets are too; "
    "else open. It was made with these results in view, where Low is the nearest to open."
)


def statement(
    level: str, failure: Mapping[Conductivity, FailureProbability], places: Mapping[str, Samples], n_units: int
) -> str:
    """Return the verdict by k(T), and a line each on what it rests on.

    Parameters
    ----------
    level : Low, Medium or High; no other data are spoken of.
    failure : by the assumption on the conductivity.
    places : by configuration, which share of the model's specimens has a cooler front than each run at its end.
    n_units : that were drawn.
    """
    best = failure[Conductivity.TEMPERATURE_DEPENDENT]
    lines = (
        f"{level}: {_WORDS[decide(best)]}. Of the units {_percent(best.quadrature)} % are over {LIMIT:g} degC at "
        f"{LIMIT_TIME:g} s, where {_percent(ALLOWED)} % are allowed.",
        _rests_on(level, best, n_units),
        _confidence(best, failure),
        _tests(level, places),
        _carried_on(level),
    )
    return "\n".join(lines)


def _rests_on(level: str, best: FailureProbability, n_units: int) -> str:
    n_specimens = len(material(level).temperature)
    n_runs = sum(each.temperature.shape[1] for each in validation_runs(level).values())
    n_accreditation = accreditation_runs(level)["front"].temperature.shape[1]
    return (
        f"Rests on: {n_specimens} specimens of the material; a conductivity that is a line in temperature; normal, "
        f"independent properties. {n_runs} tests and {n_accreditation} of accreditation check the model and change "
        f"nothing in the number. {n_units} units drawn and computed one by one say {_percent(best.value)} ± "
        f"{_percent(best.standard_error, 2)} %."
    )


def _confidence(best: FailureProbability, failure: Mapping[Conductivity, FailureProbability]) -> str:
    n = len(best.resampled)
    low, high = best.interval
    others = [share for each in failure.values() for share in each.families.values()]
    return (
        f"Confidence: of {n} data sets resampled from the specimens, 90 % say {_percent(low)} to {_percent(high)} %, "
        f"and {n - round(best.share_complying * n)} say that the requirement is missed. Other assumptions on "
        f"conductivity and distribution say {_percent(min(others))} to {_percent(max(others))} %."
    )


def _tests(level: str, places: Mapping[str, Samples]) -> str:
    shares = [float(share) for each in places.values() for share in each]
    runs = _all_runs(level)
    flux = max(configurations()[name].flux for name in runs)
    hottest = max(float(each.temperature.max()) for each in runs.values())
    return (
        f"Shown by tests: up to {flux:g} W/m^2 and {hottest:.0f} degC, the {len(shares)} measured fronts end with "
        f"{_whole(min(shares))} to {_whole(max(shares))} % of the model's specimens cooler; 0 or 100 would be beyond "
        "all of them. So few tests cannot show that the model has the rare hot units right."
    )


def _carried_on(level: str) -> str:
    application = configurations()[APPLICATION]
    measured = material(level).temperature
    return (
        f"Extrapolated: to {application.flux:g} W/m^2 and {LIMIT:g} degC, where nothing was tested. The properties "
        f"were measured from {measured.min():g} to {measured.max():g} degC, "
        "beyond the limit."
    )


def _all_runs(level: str) -> dict[str, Runs]:
    return {**validation_runs(level), ACCREDITATION: accreditation_runs(level)["front"]}


def _percent(share: float, digits: int = 3) -> str:
    """Return so many digits that count; a share of nothing is 0."""
    return f"{100.0 * share:.{digits}g}"


def _whole(share: float) -> str:
    return f"{100.0 * share:.0f}"
