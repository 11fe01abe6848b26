"""The examples of the paper on time-domain reliability: good and bad model, two tolerances, and many."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from monitor.messages.blocks import Samples
from monitor.reliability.curves import Reliability
from monitor.reliability.ensemble import Ensemble, sort_ensemble
from monitor.reliability.site import SiteReliability
from monitor.reliability.tolerance import Policy, of_records
from replay.ensembles.simulated import Progress, ensemble_model, realizations, silent
from replay.studies.reliability.oracle import Oracle, oracle
from sim.ensemble import EnsembleModel, replicates

TOLERANCES = (0.08, 0.16)
THRESHOLDS = tuple(np.round(np.arange(0.02, 0.31, 0.04), 2).tolist())
REPLICATES = 3
REALIZATIONS = {"beam": 100_000, "sandia": 10_000}
# a response that swings through zero leaves nothing within a share of itself
POLICIES = {"beam": Policy.LITERAL, "sandia": Policy.FLOORED}

# so many of the realizations are made anew for the oracle
_ORACLE_SHARE = 5
# of the instants, in the windowed reliability
_WINDOW_SHARE = 5


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A model, good or bad, at a tolerance.

    Parameters
    ----------
    bad : the measurements have a bias that the model does not know.
    tolerance, policy : how far it may be off.
    reliability : over the instants.
    oracle : of the same measurements; None where there is none.
    """

    bad: bool
    tolerance: float
    policy: Policy
    reliability: Reliability
    oracle: Oracle | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ReliabilityStudy:
    """The example as a whole.

    Parameters
    ----------
    name : beam or sandia.
    ensemble : of the model.
    good, bad : measurements that the model describes well and badly, (n_times, n_replicates) each.
    cases : good and bad, at both tolerances.
    literal : the same with the tolerance as it is printed; empty where the cases are so.
    thresholds : good cases at many tolerances.
    """

    name: str
    ensemble: Ensemble
    good: Samples
    bad: Samples
    cases: tuple[Case, ...]
    literal: tuple[Case, ...]
    thresholds: tuple[Case, ...]


def run_study(
    name: str,
    *,
    n_realizations: int | None = None,
    n_replicates: int = REPLICATES,
    seed: int = 1,
    policy: Policy | None = None,
    progress: Progress = silent,
) -> ReliabilityStudy:
    """Simulate the ensemble and the experiments, and judge the model by them.

    Parameters
    ----------
    name : beam or sandia.
    n_realizations : by default as many as take some seconds; all are held in memory.
    n_replicates : experiments of each model.
    seed : of everything random.
    policy : of the tolerances; by default as printed for the beam, and floored for the structure, whose response
        begins at and swings through zero.
    progress : called with the task, how much of it is done, and its total.

    Raises
    ------
    ValueError : there is no such example, or a number is out of range.
    """
    model = ensemble_model(name)
    m = REALIZATIONS[name] if n_realizations is None else n_realizations
    if m < 2 or n_replicates < 1:
        raise ValueError(f"{m} realizations and {n_replicates} replicates: a study needs two and one at least")
    policy = POLICIES[name] if policy is None else policy
    response = simulated(model, m, seed, progress)
    ensemble = sort_ensemble(model.time, response, model.unit, model.quantity)
    fresh = simulated(model, max(2, m // _ORACLE_SHARE), seed + 1, progress)
    good, bad = (replicates(model, n_replicates, seed, bad=is_bad) for is_bad in (False, True))

    def case(is_bad: bool, share: float, policy: Policy, *, checked: bool = False) -> Case:
        measured = bad if is_bad else good
        tolerance = of_records(policy, share, measured)
        instants = np.arange(len(measured))
        site = SiteReliability(ensemble, tolerance, n_replicates, max(1, len(measured) // _WINDOW_SHARE))
        found = site.update(instants, measured).reliability
        known = oracle(model, fresh, measured, tolerance.at(instants, measured)) if checked else None
        return Case(is_bad, share, policy, found, known)

    pairs = [(is_bad, share) for is_bad in (False, True) for share in TOLERANCES]
    cases = tuple(case(*pair, policy, checked=True) for pair in pairs)
    literal = tuple(case(*pair, Policy.LITERAL) for pair in pairs if policy is not Policy.LITERAL)
    thresholds = tuple(case(False, share, policy) for share in THRESHOLDS)
    return ReliabilityStudy(name, ensemble, good, bad, cases, literal, thresholds)


def simulated(model: EnsembleModel, n_realizations: int, seed: int, progress: Progress = silent) -> Samples:
    """Return (n_times, n_realizations), made on all cores.

    Raises
    ------
    ValueError : there is no room for them in memory, or see `realizations`.
    """
    try:
        response: Samples = np.empty((len(model.time), n_realizations))
    except (MemoryError, ValueError) as problem:
        raise ValueError(
            f"{n_realizations} realizations of {len(model.time)} instants do not fit into memory: take fewer"
        ) from problem
    done = 0
    for block in realizations(model, n_realizations, seed):
        response[:, done : done + block.shape[1]] = block
        done += block.shape[1]
        progress("realizations", done, n_realizations)
    return response
