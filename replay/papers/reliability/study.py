"""The examples of the paper on time-domain reliability, with reference values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from monitor.messages.blocks import Samples
from monitor.reliability.curves import Reliability
from monitor.reliability.ensemble import Ensemble, sort_ensemble
from monitor.reliability.site import SiteReliability
from monitor.reliability.tolerance import Tolerance, TolerancePolicy
from replay import Progress, silent
from replay.simulations.models import ensemble_model, realizations
from sim.ensembles import EnsembleModel, replicates
from sim.models.beam import StochasticBeam

# for each of the two dimensions; twice as many change the result by less than one realization
_NODES = 48


@dataclass(frozen=True, slots=True, eq=False)
class Oracle:
    """The reliabilities over the instants, (n_times,) each.

    Parameters
    ----------
    instantaneous, first_passage, accumulated : the values.
    errors : their standard errors at the last instant, in that order; zero where a value is exact.
    method : in words.
    """

    instantaneous: Samples
    first_passage: Samples
    accumulated: Samples
    errors: tuple[float, float, float]
    method: str


def oracle(model: EnsembleModel, response: Samples, measured: Samples, tolerance: Samples) -> Oracle:
    """Return the reliabilities by the definition, and those of the beam by quadrature where that can be.

    Parameters
    ----------
    model : the model that is validated.
    response : (n_times, n_realizations), an ensemble that is independent of the validated one.
    measured, tolerance : (n_times, n_replicates).
    """
    steps = np.arange(1, len(measured) + 1)
    n_realizations = response.shape[1]
    instantaneous, first_passage = np.zeros((2, len(measured)))
    # of each realization, at the last instant
    at_end = np.zeros((3, n_realizations))
    for measurement, eps in zip(measured.T, tolerance.T, strict=True):
        within = np.abs(response - measurement[:, None]) < eps[:, None]
        at_end[[0, 2]] += within[-1], within.mean(axis=0)
        instantaneous += within.mean(axis=1)
        survives = np.logical_and.accumulate(within, axis=0)
        at_end[1] += survives[-1]
        first_passage += survives.mean(axis=1)
    n_replicates = measured.shape[1]
    instantaneous, first_passage = instantaneous / n_replicates, first_passage / n_replicates
    accumulated = np.cumsum(instantaneous) / steps
    errors = [float(share.std(ddof=1)) / n_realizations**0.5 / n_replicates for share in at_end]
    method = f"the definition, on {n_realizations} other realizations"
    if isinstance(model, StochasticBeam):
        instantaneous = instantaneous_by_quadrature(model, measured, tolerance).mean(axis=1)
        accumulated = np.cumsum(instantaneous) / steps
        errors[0] = errors[2] = 0.0
        method = f"Gauss-Hermite quadrature; first-passage: {method}"
    return Oracle(instantaneous, first_passage, accumulated, (errors[0], errors[1], errors[2]), method)


def instantaneous_by_quadrature(
    beam: StochasticBeam, measured: Samples, tolerance: Samples, nodes: int = _NODES
) -> Samples:
    """Return the probability that the beam is within the tolerance, (n_times, n_replicates).

    Given width and height the deflection is normal, so that only the section is to be integrated over: by
    Gauss-Hermite in the standard normal deviates of both logarithms.

    Parameters
    ----------
    beam : the model.
    measured, tolerance : (n_times, n_replicates), m.
    nodes : of each of the two dimensions.
    """
    (widths, weights), (heights, _) = beam.width.nodes(nodes), beam.height.nodes(nodes)
    total: Samples = np.zeros(measured.shape)
    for width, of_width in zip(widths.tolist(), weights.tolist(), strict=True):
        for height, of_height in zip(heights.tolist(), weights.tolist(), strict=True):
            mean, deviation = beam.conditional(width, height)
            away, spread = measured - mean[:, None], deviation[:, None]
            within = ndtr((away + tolerance) / spread) - ndtr((away - tolerance) / spread)
            total += of_width * of_height * within
    return total


TOLERANCES = (0.08, 0.16)
THRESHOLDS = tuple(np.round(np.arange(0.02, 0.31, 0.04), 2).tolist())
REPLICATES = 3
REALIZATIONS = {"beam": 100_000, "sandia": 10_000}
# of a response that crosses zero nothing is within a fraction of itself
POLICIES = {"beam": TolerancePolicy.LITERAL, "sandia": TolerancePolicy.FLOORED}

# realizations that are recomputed for the oracle
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
    policy: TolerancePolicy
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
    policy: TolerancePolicy | None = None,
    progress: Progress = silent,
) -> ReliabilityStudy:
    """Simulate the ensemble and the experiments, and validate the model with them.

    Parameters
    ----------
    name : beam or sandia.
    n_realizations : by default as many as are computed in some seconds; all are held in memory.
    n_replicates : experiments of each model.
    seed : of everything random.
    policy : of the tolerances; by default as printed for the beam, and floored for the structure, whose response
        starts at zero and crosses it.
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

    def case(is_bad: bool, share: float, policy: TolerancePolicy, *, checked: bool = False) -> Case:
        measured = bad if is_bad else good
        tolerance = Tolerance.from_records(policy, share, measured)
        instants = np.arange(len(measured))
        site = SiteReliability(ensemble, tolerance, n_replicates, max(1, len(measured) // _WINDOW_SHARE))
        found = site.update(instants, measured).reliability
        known = oracle(model, fresh, measured, tolerance.evaluate(instants, measured)) if checked else None
        return Case(is_bad, share, policy, found, known)

    pairs = [(is_bad, share) for is_bad in (False, True) for share in TOLERANCES]
    cases = tuple(case(*pair, policy, checked=True) for pair in pairs)
    literal = tuple(case(*pair, TolerancePolicy.LITERAL) for pair in pairs if policy is not TolerancePolicy.LITERAL)
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
