"""The thermal challenge from the material's data to the regulator's question, at each level of data."""

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
from replay.papers.thermal.compliance import (
    BiasCorrection,
    Compliance,
    FailureProbability,
    assess_compliance,
    correct_bias,
    failure_probabilities,
    statement,
)
from replay.papers.thermal.limit import limit_state, temperatures
from sim.fitting.fit import fit
from sim.fitting.model_responses import SlabResponse
from sim.models import thermal_tables as tables
from sim.models.thermal_population import Characterization, Conductivity, Specimens, characterize
from sim.models.thermal_slab import N_CELLS, SlabTest, conduction_temperature, series_temperature

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
    runs: Mapping[str, tables.MeasuredRuns]

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
    runs, tests = tables.validation_runs(level), tables.configurations()
    ensembles = {}
    for name, each in runs.items():
        found = temperatures(tests[name], each.time[1:], specimens)
        ensembles[name] = sort_ensemble(each.time[1:], found[:, 0].copy(), "degC", f"configuration {name}")
    return Sites(ensembles, runs)


def accreditation_sites(level: str, specimens: Specimens) -> Sites:
    """Return the three depths of Table 8 with the experiments that a level has."""
    runs, test = tables.accreditation_runs(level), tables.configurations()[tables.ACCREDITATION]
    time = runs["front"].time[1:]
    found = temperatures(test, time, specimens, tuple(tables.DEPTHS.values()))
    ensembles = {name: sort_ensemble(time, found[:, i].copy(), "degC", name) for i, name in enumerate(tables.DEPTHS)}
    return Sites(ensembles, runs)


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
    known = characterize(tables.material(tables.LEVELS[-1]))
    runs, tests = tables.validation_runs(), tables.configurations()
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


_CONVERGENCE = (N_CELLS // 4, N_CELLS // 2, N_CELLS, 2 * N_CELLS)
_Reliabilities = dict[Conductivity, tuple[ToleranceResult, ...]]
REALIZATIONS = 20_000
RESAMPLED = 500
# minutes on two cores
MOST_REALIZATIONS, MOST_RESAMPLED = 1_000_000, 100_000
# eq. 2 is fast: more units by this factor
_CONSTANT_K_FACTOR = 5
# of each model, that are compared with the experiments; never more than the units
_SPECIMENS = 1024


@dataclass(frozen=True, slots=True, eq=False)
class ThermalStudy:
    """The challenge as a whole.

    Parameters
    ----------
    check : (10, 3): time in s, Table 2, and eq. 2 by us.
    convergence : of the heat equation's solution.
    fits : by the assumption on the conductivity and by configuration, one a run; the slope is that of High.
    levels : of data.
    n_units, n_specimens : drawn for the application with a slope in k, and for comparison with the experiments.
    n_resampled : bootstrap data sets.
    """

    check: Samples
    convergence: Convergence
    fits: RunFits
    levels: tuple[LevelStudy, ...]
    n_units: int
    n_specimens: int
    n_resampled: int

    @property
    def table2_max_error(self) -> float:
        """The largest difference to Table 2, degC."""
        return float(np.abs(self.check[:, 1] - self.check[:, 2]).max())


@dataclass(frozen=True, slots=True, eq=False)
class LevelStudy:
    """All four activities at one level of data.

    Parameters
    ----------
    level : Low, Medium or High.
    characterization : of the material.
    validation, accreditation : by the assumption on the conductivity, one at each tolerance.
    share_cooler : by the assumption and by configuration, what share of the model's specimens has a cooler front than
        each experiment, at its end.
    failure : by the assumption on the conductivity.
    bias : the model-bias correction.
    statement : for the regulator.
    """

    level: str
    characterization: Characterization
    validation: Mapping[Conductivity, tuple[ToleranceResult, ...]]
    accreditation: Mapping[Conductivity, tuple[ToleranceResult, ...]]
    share_cooler: Mapping[Conductivity, Mapping[str, Samples]]
    failure: Mapping[Conductivity, FailureProbability]
    bias: BiasCorrection
    statement: str

    @property
    def verdict(self) -> Compliance:
        """By the best of the models, whose conductivity depends on temperature."""
        return assess_compliance(self.failure[Conductivity.TEMPERATURE_DEPENDENT])


@dataclass(frozen=True, slots=True, eq=False)
class Convergence:
    """Error of the finite volumes at the front at the end of the application, degC.

    Parameters
    ----------
    n_cells : (n,), and as many steps in time.
    constant : (n,), against eq. 2 with enough terms.
    temperature_dependent : (n,), against eight times as many cells and steps as the most.
    """

    n_cells: tuple[int, ...]
    constant: Samples
    temperature_dependent: Samples


def run_study(
    *, n_realizations: int | None = None, n_resampled: int = RESAMPLED, seed: int = 1, progress: Progress = silent
) -> ThermalStudy:
    """Do the four activities at each level of data.

    Parameters
    ----------
    n_realizations : units of the application, with a conductivity that depends on temperature; of those where it is
        constant there are five times as many.
    n_resampled : bootstrap data sets, like those there are; a verdict needs 500.
    seed : of everything random.
    progress : called with the task, how much of it is done, and its total.

    Raises
    ------
    ValueError : a number is out of range.
    """
    n_units = REALIZATIONS if n_realizations is None else n_realizations
    for what, number, most in (
        ("realizations", n_units, MOST_REALIZATIONS),
        ("resampled data sets", n_resampled, MOST_RESAMPLED),
    ):
        if not 2 <= number <= most:
            raise ValueError(f"{number} {what}: must be from 2 to {most}")
    n_specimens = min(n_units, _SPECIMENS)
    for done, sloped in enumerate((False, True), 1):
        limit_state(sloped=sloped)
        progress("limit of the application", done, 2)
    fits = fit_all_runs(progress)
    levels = tuple(
        _level(level, n_units, n_specimens, n_resampled, np.random.SeedSequence(seed, spawn_key=(place,)), progress)
        for place, level in enumerate(tables.LEVELS)
    )
    known, slab = tables.check_values(), tables.configurations()[tables.CHECK]
    ours = series_temperature(slab, known.time, tables.CHECK_CONDUCTIVITY, tables.CHECK_HEAT_CAPACITY)
    check = np.column_stack([known.time, known.temperature, ours])
    return ThermalStudy(check, _convergence(), fits, levels, n_units, n_specimens, n_resampled)


def _level(
    level: str, n_units: int, n_specimens: int, n_resampled: int, seed: np.random.SeedSequence, progress: Progress
) -> LevelStudy:
    characterization = characterize(tables.material(level))
    of_units, of_bias, of_specimens = seed.spawn(3)
    validation: _Reliabilities = {}
    accreditation: _Reliabilities = {}
    share_cooler: dict[Conductivity, dict[str, Samples]] = {}
    for which in VALIDATED:
        # the same deviates under every assumption
        specimens = characterization.population(which).sample(np.random.default_rng(of_specimens), n_specimens)
        at_fronts, at_depths = validation_sites(level, specimens), accreditation_sites(level, specimens)
        validation[which], accreditation[which] = (
            tuple(sites.reliability(tolerance) for tolerance in TOLERANCES) for sites in (at_fronts, at_depths)
        )
        share_cooler[which] = at_fronts.fraction_below() | {tables.ACCREDITATION: at_depths.fraction_below()["front"]}
        progress(f"{level}: experiments", len(share_cooler), len(VALIDATED))
    number = {
        which: n_units if which is Conductivity.TEMPERATURE_DEPENDENT else _CONSTANT_K_FACTOR * n_units
        for which in Conductivity
    }
    generator = np.random.default_rng(of_units)
    failure = failure_probabilities(tables.material(level), number, n_resampled, generator, progress, level)
    bias = correct_bias(
        characterization, level, _CONSTANT_K_FACTOR * n_units, n_resampled, np.random.default_rng(of_bias)
    )
    text = statement(level, failure, share_cooler[Conductivity.TEMPERATURE_DEPENDENT], bias, n_units)
    return LevelStudy(level, characterization, validation, accreditation, share_cooler, failure, bias, text)


def _convergence() -> Convergence:
    """Solve the application with ever more cells and steps, for the mean specimen of High."""
    test, time = tables.configurations()[tables.APPLICATION], [100.0, 1000.0]
    known = characterize(tables.material(tables.LEVELS[-1]))
    middle = known.line.at(known.representative_temperature), known.capacity.at(0.0)
    exact = float(series_temperature(test, time, *middle, n_terms=60)[-1, 0])

    def front(conductivity: float, slope: float, n: int) -> float:
        found = conduction_temperature(test, time, conductivity, slope, middle[1], n_cells=n, n_steps=n)
        return float(found[-1, 0, 0])

    sloped = known.line.at(0.0), known.line.slope
    finest = front(*sloped, 8 * _CONVERGENCE[-1])
    errors = [(front(middle[0], 0.0, n) - exact, front(*sloped, n) - finest) for n in _CONVERGENCE]
    return Convergence(_CONVERGENCE, *np.array(errors).T)
