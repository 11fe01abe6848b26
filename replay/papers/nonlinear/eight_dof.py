"""The eight masses of Los Alamos: which metric finds a spring that has lost 14 % of its stiffness."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from monitor.messages.blocks import Samples
from monitor.reliability.tolerance import TolerancePolicy
from replay import Progress, silent
from replay.papers.nonlinear import eight_dof_metrics as metrics
from replay.papers.nonlinear.eight_dof_metrics import Case, DamageMetric, Update
from replay.validation.ranking import Candidate, RankedModel, rank_models
from replay.validation.validation import ToleranceChoice
from sim.fitting.solvers import Solver
from sim.updating.modes import ModalComparison, Modes, compare_modes

RUNS, _MOST_RUNS = 20, 500
# N: of the force in Figures 7 and 8, whose own are not readable
LEVELS = (10.0, 20.0, 40.0, 80.0)
# the damage, and how near it is found, %
DAMAGED, LOSS, WITHIN = 5, 14.0, 3.0
# tests of the cases that are for comparison
_FEWER = 10
# of the ranking: of the measurement, or of its rms where that is larger
_TOLERANCE = ToleranceChoice(TolerancePolicy.FLOORED, 0.2)
_REALIZATIONS = 100
# seeds of the records that are not fitted
_FRESH = 100_000


@dataclass(frozen=True, slots=True, eq=False)
class DamageStatistics:
    """What a metric finds in several tests.

    Parameters
    ----------
    updates : of each.
    """

    updates: tuple[Update, ...]

    @property
    def losses(self) -> Samples:
        """(runs, 7), %; NaN where the update failed."""
        return np.array([each.loss for each in self.updates])

    @property
    def spring(self) -> int:
        """The spring that has lost most in most tests; 0 where all updates failed."""
        return Counter(each.spring for each in self.updates).most_common(1)[0][0]

    @property
    def found(self) -> int:
        """Number of tests in which the place is right and the loss within three points of 14 %."""
        return sum(each.spring == DAMAGED and abs(each.loss[DAMAGED - 1] - LOSS) <= WITHIN for each in self.updates)

    @property
    def placed(self) -> int:
        """Number of tests in which the place is right."""
        return sum(each.spring == DAMAGED for each in self.updates)

    @property
    def failed(self) -> int:
        """Number of tests in which nothing could be updated."""
        return sum(bool(each.problem) for each in self.updates)

    def loss_of(self, spring: int) -> tuple[float, float]:
        """Return mean and standard deviation over the tests of the loss of a spring, %."""
        values = self.losses[:, spring - 1]
        values = values[np.isfinite(values)]
        if not len(values):
            return float("nan"), float("nan")
        return float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else float("nan")


@dataclass(frozen=True, slots=True, eq=False)
class ForceLevels:
    """Modes identified in tests of the sound chain at several forces (Figures 7 and 8).

    Parameters
    ----------
    rms : (k,), N, of the force.
    frequencies, damping : by case, (k, 5); NaN where they are not identified.
    """

    rms: Samples
    frequencies: Mapping[Case, Samples]
    damping: Mapping[Case, Samples]


@dataclass(frozen=True, slots=True, eq=False)
class EightDofStudy:
    """The study.

    Parameters
    ----------
    runs, seed : of the tests.
    frequencies : (5,), Hz, of the linear model.
    nominal : identified modes of the sound chain with friction beside the linear model (Table 1).
    adjusted : those of the damaged chain beside the model updated by the force residue, by case (Table 3).
    levels : Figures 7 and 8.
    damage : by case and metric.
    solvers : (5, 7), % lost by each spring by the force residue of one test, by each solver; NaN: not identified.
    ranked : models of the first test, the most reliable against another test first.
    seconds : of the study.
    """

    runs: int
    seed: int
    frequencies: Samples
    nominal: ModalComparison
    adjusted: Mapping[Case, ModalComparison]
    levels: ForceLevels
    damage: Mapping[Case, Mapping[DamageMetric, DamageStatistics]]
    solvers: Samples
    ranked: tuple[RankedModel, ...]
    seconds: float


def update_eight_masses(runs: int, seed: int, progress: Progress = silent) -> EightDofStudy:
    """Return the study of so many tests of each kind.

    Raises
    ------
    ValueError : the number of runs is out of range.
    """
    if not 1 <= runs <= _MOST_RUNS:
        raise ValueError(f"--runs {runs}: the study eight-dof needs 1 to {_MOST_RUNS}")
    started = perf_counter()
    sound = metrics.virtual_test(Case.FRICTION, seed, damaged=False)
    nominal = compare_modes(metrics.identified_modes(sound), metrics.model_modes())
    levels = force_levels(seed, progress)
    updates: dict[Case, dict[DamageMetric, list[Update]]] = {case: {m: [] for m in metrics_of(case)} for case in Case}
    adjusted: dict[Case, ModalComparison] = {}
    solvers: Samples = np.full((len(Solver), 7), np.nan)
    for run in range(runs):
        for number, case in enumerate(Case):
            progress("tests", run * len(Case) + number, runs * len(Case))
            if case is not Case.BOTH and run >= _FEWER:
                continue
            test = metrics.virtual_test(case, seed + run)
            modes = _modes(test)
            for metric, found in updates[case].items():
                if metric in metrics.MODAL and modes is None:
                    missed = "the modes are not identified"
                    found.append(Update(metric, np.full(7, np.nan), None, missed))
                else:
                    found.append(metrics.update(metric, test, modes))
            if run == 0:
                by_force = updates[case][DamageMetric.FORCE][0]
                if modes is not None and by_force.fit is not None:
                    springs = test.bed.stiffness * (1.0 - by_force.loss / 100.0)
                    adjusted[case] = compare_modes(modes, metrics.model_modes(springs))
                    if case is Case.BOTH:
                        for i, solver in enumerate(Solver):
                            springs = metrics.fit_modes(DamageMetric.FORCE, modes, solver, more_starts=0).parameters
                            solvers[i] = 100.0 * (1.0 - springs / test.bed.stiffness)
    progress("tests", runs * len(Case), runs * len(Case))
    damage = {
        case: {metric: DamageStatistics(tuple(found)) for metric, found in by_metric.items()}
        for case, by_metric in updates.items()
    }
    ranked = ranking([found[0] for found in updates[Case.BOTH].values()], seed, progress)
    frequencies, seconds = metrics.model_modes().frequencies, perf_counter() - started
    return EightDofStudy(runs, seed, frequencies, nominal, adjusted, levels, damage, solvers, ranked, seconds)


def metrics_of(case: Case) -> tuple[DamageMetric, ...]:
    """Return the metrics of a case: a model with what does not act has nothing to find."""
    left_out = {
        Case.NEITHER: {DamageMetric.UNKNOWN, DamageMetric.ROUGH},
        Case.FRICTION: {DamageMetric.ROUGH},
        Case.BOTH: set[DamageMetric](),
    }[case]
    return tuple(metric for metric in DamageMetric if metric not in left_out)


def force_levels(seed: int, progress: Progress = silent) -> ForceLevels:
    """Return modes of the sound chain at several forces, with friction alone and with impact."""
    cases = (Case.FRICTION, Case.BOTH)
    frequencies, damping = (
        {case: np.full((len(LEVELS), metrics.N_MODES), np.nan) for case in cases} for _ in range(2)
    )
    for i, case in enumerate(cases):
        for k, rms in enumerate(LEVELS):
            progress("levels of force", i * len(LEVELS) + k, len(cases) * len(LEVELS))
            modes = _modes(metrics.virtual_test(case, seed, damaged=False, rms=rms))
            if modes is not None:
                frequencies[case][k], damping[case][k] = modes.frequencies, modes.damping
    progress("levels of force", len(cases) * len(LEVELS), len(cases) * len(LEVELS))
    return ForceLevels(np.array(LEVELS), frequencies, damping)


def ranking(updates: Sequence[Update], seed: int, progress: Progress = silent) -> tuple[RankedModel, ...]:
    """Rank updated models by their reliability against the beginning of a test that was not fitted."""
    fresh = metrics.virtual_test(Case.BOTH, seed + _FRESH)
    record, _ = fresh.at(metrics.TIME_SENSORS, metrics.WINDOW)
    load = fresh.load[: metrics.WINDOW]
    candidates = [
        Candidate(str(each.metric), each.fit, lambda p, each=each: each.response(load, p), *each.bounds)  # type: ignore[misc]
        for each in updates
        if each.fit is not None
    ]
    time: Samples = fresh.bed.dt * np.arange(metrics.WINDOW, dtype=np.float64)
    return rank_models(
        candidates, time, record, _TOLERANCE, unit="m/s^2", realizations=_REALIZATIONS, seed=seed, progress=progress
    )


def _modes(test: metrics.VirtualTest) -> Modes | None:
    try:
        return metrics.identified_modes(test)
    except ValueError:
        return None
