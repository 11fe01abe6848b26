"""Parameters of a model by the likelihood of a record in which a force is unknown and integrated out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from sim.arrays import Samples
from sim.identification.missing_force.force_prior import ForcePrior
from sim.identification.missing_force.smoother import ForceProblem
from sim.identification.missing_force.state_space import Sensor
from sim.laboratory.structure import Structure
from sim.models.chain import Chain


class Hypothesis(NamedTuple):
    """A model with the priors of its unknown forces and the noise of its sensors.

    Parameters
    ----------
    problem : the linear model and the record.
    priors : one for each force.
    sigma : (s,), noise of the sensors.
    """

    problem: ForceProblem
    priors: Sequence[ForcePrior]
    sigma: Samples


@dataclass(frozen=True, slots=True, eq=False)
class MarginalFit:
    """The most probable parameters.

    Parameters
    ----------
    parameters : (p,).
    hypothesis : at them.
    converged : whether the search did.
    evaluations : of the likelihood.
    """

    parameters: Samples
    hypothesis: Hypothesis = field(repr=False)
    converged: bool
    evaluations: int


def fit_beside_forces(
    hypothesis: Callable[[Samples], Hypothesis],
    start: Samples,
    *,
    penalty: Callable[[Samples], float] | None = None,
    bounds: Sequence[tuple[float, float]] | None = None,
    **options: float,
) -> MarginalFit:
    """Return the parameters of the largest likelihood, the forces being Gaussian processes (Kalman filter).

    scipy's BFGS searches, and within bounds its L-BFGS-B.

    Parameters
    ----------
    hypothesis : of (p,) parameters.
    start : (p,).
    penalty : minus the logarithm of the prior density of the parameters.
    options : of scipy's method, such as ``gtol``.

    Raises
    ------
    ValueError : the likelihood is not finite at the start.
    """
    cost = marginal_cost(hypothesis, penalty)
    if not np.isfinite(cost(start)):
        raise ValueError("missing force: the likelihood at the first parameters is not finite")
    # its overloads are by method
    search: Any = minimize
    found = search(cost, start, method="BFGS" if bounds is None else "L-BFGS-B", bounds=bounds, options=options)
    return MarginalFit(found.x, hypothesis(found.x), bool(found.success), int(found.nfev) + 1)


def marginal_cost(
    hypothesis: Callable[[Samples], Hypothesis], penalty: Callable[[Samples], float] | None = None
) -> Callable[[Samples], float]:
    """Return minus the logarithm of likelihood and prior, as a function of (p,) parameters."""

    def cost(parameters: Samples) -> float:
        problem, priors, sigma = hypothesis(parameters)
        likelihood = problem.log_likelihood(priors, sigma)
        return -likelihood if penalty is None else penalty(parameters) - likelihood

    return cost


def force_on_chain(
    chain: Chain, places: Samples, time: Samples, load: Samples, sensors: Sequence[int], observed: Samples
) -> ForceProblem:
    """Return the problem of the forces that a linear chain is missing; all masses are at rest at first.

    Parameters
    ----------
    places : (n, f): what one newton of each unknown force does at each mass.
    time : (N,) s.
    load : (N, n) N.
    sensors : numbers of masses, from 1, whose accelerations are measured.
    observed : (N, s) m/s^2.
    """
    accelerations = [Sensor(each, "acceleration") for each in sensors]
    at_rest = np.zeros(2 * chain.dofs)
    return ForceProblem(Structure(*chain.matrices), places, time, load, accelerations, observed, initial_sd=at_rest)
