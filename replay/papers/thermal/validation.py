"""The model of the slab compared with its experiments: reliabilities at the sites, and the specimen of each run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from monitor.messages.blocks import Samples
from monitor.reliability.curves import Reliability, product_of_sites
from monitor.reliability.ensemble import Ensemble, sort_ensemble
from monitor.reliability.joint import JointReliability
from monitor.reliability.site import SiteReliability
from monitor.reliability.tolerance import Tolerance, TolerancePolicy
from replay import Progress, silent
from replay.papers.thermal.limit import temperatures
from sim.fitting.fit import fit
from sim.fitting.model_responses import SlabResponse
from sim.models.thermal_population import Conductivity, Specimens, characterize
from sim.models.thermal_slab import SlabTest
from sim.models.thermal_tables import (
    ACCREDITATION,
    DEPTHS,
    LEVELS,
    MeasuredRuns,
    accreditation_runs,
    configurations,
    material,
    validation_runs,
)

# the model of the challenge, and what it leaves out
VALIDATED = (Conductivity.CONSTANT, Conductivity.TEMPERATURE_DEPENDENT)
TOLERANCES = (0.05, 0.1, 0.15)
PRODUCT, JOINT = "product", "joint"


@dataclass(frozen=True, slots=True, eq=False)
class ToleranceResult:
    """How probable it is that the model describes the experiments, at one tolerance.

    Parameters
    ----------
    tolerance : share of the measured temperature in degC.
    sites : by configuration or by depth.
    product, joint : at all sites, as if they knew nothing of each other, and of specimens that are the same at all.
    """

    tolerance: float
    sites: Mapping[str, Reliability]
    product: Reliability
    joint: Reliability

    @property
    def all(self) -> dict[str, Reliability]:
        """The sites, and both ways of taking them together."""
        return {**self.sites, PRODUCT: self.product, JOINT: self.joint}


@dataclass(frozen=True, slots=True, eq=False)
class Sites:
    """Records, and the model's predictions for the same specimens at each of them.

    Parameters
    ----------
    ensembles : by configuration or by depth, without time zero, where every specimen has the same temperature.
    runs : the same, with time zero.
    """

    ensembles: Mapping[str, Ensemble]
    runs: Mapping[str, MeasuredRuns]

    def reliability(self, tolerance: float) -> ToleranceResult:
        """Return the reliabilities with a share of the measured temperature in degC as tolerance."""
        measured = {name: np.ascontiguousarray(runs.temperature[1:]) for name, runs in self.runs.items()}
        eps = {
            name: Tolerance.from_records(TolerancePolicy.LITERAL, tolerance, each) for name, each in measured.items()
        }
        instants = np.arange(len(next(iter(measured.values()))))
        sites = {
            name: SiteReliability(ensemble, eps[name], measured[name].shape[1]).update(instants, measured[name])
            for name, ensemble in self.ensembles.items()
        }
        reliabilities = {name: found.reliability for name, found in sites.items()}
        numbers = [each.shape[1] for each in measured.values()]
        joint = JointReliability(list(self.ensembles.values()), list(eps.values()), numbers)
        together = joint.update(instants, list(measured.values()))
        return ToleranceResult(tolerance, reliabilities, product_of_sites(list(reliabilities.values())), together)

    def fraction_below(self) -> dict[str, Samples]:
        """Return what share of the specimens is cooler than each experiment at its last instant, (n_experiments,)."""
        return {
            name: np.mean(ensemble.response[-1][:, None] < self.runs[name].temperature[-1], axis=0)
            for name, ensemble in self.ensembles.items()
        }


def validation_sites(level: str, specimens: Specimens) -> Sites:
    """Return the four configurations of Table 5 with the experiments that a level has."""
    runs, tests = validation_runs(level), configurations()
    ensembles = {}
    for name, each in runs.items():
        found = temperatures(tests[name], each.time[1:], specimens)
        ensembles[name] = _ensemble(each.time[1:], found[:, 0], f"configuration {name}")
    return Sites(ensembles, runs)


def accreditation_sites(level: str, specimens: Specimens) -> Sites:
    """Return the three depths of Table 8 with the experiments that a level has."""
    runs, test = accreditation_runs(level), configurations()[ACCREDITATION]
    time = runs["front"].time[1:]
    found = temperatures(test, time, specimens, tuple(DEPTHS.values()))
    ensembles = {name: _ensemble(time, found[:, column], name) for column, name in enumerate(DEPTHS)}
    return Sites(ensembles, runs)


def _ensemble(time: Samples, temperature: Samples, name: str) -> Ensemble:
    return sort_ensemble(time, np.ascontiguousarray(temperature), "degC", name)


@dataclass(frozen=True, slots=True)
class FittedRun:
    """The specimen that a record fits best.

    The standard errors assume independent residuals. The records have no noise: the residual is what the
    model misses, and is correlated, so that they are only of the right size.

    Parameters
    ----------
    conductivity, conductivity_standard_error : W/(m K), at 0 degC.
    slope : W/(m K^2), which was given.
    heat_capacity, heat_capacity_standard_error : J/(m^3 K).
    rms : degC, what is left of the record after time zero.
    converged : whether the search came to an end.
    """

    conductivity: float
    conductivity_standard_error: float
    slope: float
    heat_capacity: float
    heat_capacity_standard_error: float
    rms: float
    converged: bool


RunFits = Mapping[Conductivity, Mapping[str, tuple[FittedRun, ...]]]


def fit_run(test: SlabTest, time: Samples, temperature: Samples, start: Samples, slope: float) -> FittedRun:
    """Find the specimen of a record of its front.

    Parameters
    ----------
    test : what was done to it.
    time, temperature : (n_times,), s and degC; the first instant, time zero, has no information and is left out.
    start : (2,), conductivity at 0 degC and heat capacity to begin with.
    slope : of the conductivity, W/(m K^2); 0: constant properties.

    Raises
    ------
    ValueError : see `fit` and `conduction_temperature`.
    """
    found = fit(SlabResponse(test, time[1:], slope), temperature[1:], start)
    (k, capacity), (of_k, of_capacity) = found.parameters.tolist(), found.standard_errors.tolist()
    rms = float(np.sqrt(np.mean(found.residuals**2)))
    return FittedRun(k, of_k, slope, capacity, of_capacity, rms, found.converged)


def fit_all_runs(progress: Progress = silent) -> dict[Conductivity, dict[str, tuple[FittedRun, ...]]]:
    """Fit each of the sixteen runs by a specimen of its own; the slope of k is zero, or that of High."""
    known = characterize(material(LEVELS[-1]))
    runs, tests = validation_runs(), configurations()
    total = len(VALIDATED) * sum(each.temperature.shape[1] for each in runs.values())
    found: dict[Conductivity, dict[str, tuple[FittedRun, ...]]] = {}
    done = 0
    for which in VALIDATED:
        line = known.constant if which is Conductivity.CONSTANT else known.line
        start = np.array([line.at(0.0), known.capacity.at(0.0)])
        found[which] = {}
        for name, each in runs.items():
            fitted = []
            for temperature in each.temperature.T:
                fitted.append(fit_run(tests[name], each.time, temperature, start, line.slope))
                done += 1
                progress("runs fitted", done, total)
            found[which][name] = tuple(fitted)
    return found
