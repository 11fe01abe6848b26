"""Parameters of a model by the likelihood of a record in which a force is unknown and integrated out.

Which springs of a chain cannot be told from an unknown force is known before anything is fitted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from sim.arrays import Samples
from sim.fitting.information import ConfoundedGroup, confounded_groups
from sim.laboratory.structure import Structure, highest_frequency, sensor_indices
from sim.missing_force.smoother import ForceProblem
from sim.missing_force.state_space import Matern, Sensor
from sim.models.chain import Chain

# frequencies of which the sensors' sensitivities are made, and how far they are beside the axis, where there is no
# resonance: over the highest natural frequency
_FREQUENCIES, _BESIDE = 16, 0.1
# of the effect of a spring on the sensors: less is rounding
_ROUNDING = 1e-9


class Hypothesis(NamedTuple):
    """A model with the priors of its unknown forces and the noise of its sensors.

    Parameters
    ----------
    problem : the linear model and the record.
    priors : one for each force.
    sigma : (s,), noise of the sensors.
    """

    problem: ForceProblem
    priors: Sequence[Matern]
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


def confounded_with_force(
    chain: Chain, places: Samples, load: Samples, sensors: Sequence[int]
) -> tuple[ConfoundedGroup, ...]:
    """Return which springs of a chain accelerations at sensors cannot distinguish from unknown forces.

    A change dk of a spring does to the motion x what the force -dk B x does, with B its part of the stiffness matrix.
    What the sensors see of it at one frequency, less what unknown forces can do there, is its sensitivity.

    Parameters
    ----------
    places : (n, f): what one newton of each force does at each mass.
    load : (n_times, n) N; only how much of it acts on which mass matters.
    sensors : numbers of masses, from 1.

    Raises
    ------
    ValueError : sizes do not fit, a sensor is no mass, none is given, or the load is zero or not finite.
    """
    n = chain.dofs
    places, rms = np.asarray(places, dtype=np.float64), np.sqrt(np.mean(np.square(load), axis=0))
    if chain.sets or places.ndim != 2 or len(places) != n or rms.shape != (n,):
        raise ValueError(
            f"confounding: places {places.shape} and load {np.shape(load)}: give ({n}, forces) and (n_times, {n}) "
            "beside one chain"
        )
    columns = sensor_indices(sensors, n, "masses")
    if not np.all(np.isfinite(rms)):
        raise ValueError("confounding: the load is not finite everywhere: leave out the instants where it is unknown")
    if not np.any(rms):
        raise ValueError("confounding: no mass is loaded: without motion nothing can be distinguished")
    mass, damping, stiffness = chain.matrices
    highest = 2.0 * np.pi * highest_frequency(mass, stiffness)
    rows = chain.incidence()
    parts = rows[:, :, None] * rows[:, None, :]
    at = highest * (_BESIDE + 1j * np.linspace(0.1, 1.2, _FREQUENCIES))
    flexibility = np.linalg.inv(at[:, None, None] ** 2 * mass + at[:, None, None] * damping + stiffness)
    # of each load alone, as their phases are their own
    motion = flexibility[:, :, rms > 0.0] * rms[rms > 0.0]
    seen = flexibility[:, columns]
    by_force = seen @ places
    beyond = np.eye(len(columns)) - by_force @ np.linalg.pinv(by_force)
    effect = np.einsum("fsn,knm,fml->kfsl", seen, parts, motion)
    left = np.einsum("fst,kftl->kfsl", beyond, effect).reshape(len(rows), -1)
    rounding = _ROUNDING * np.linalg.norm(effect.reshape(len(rows), -1), axis=1)
    left[np.linalg.norm(left, axis=1) <= rounding] = 0.0
    names = [f"k{i + 1}" for i in range(len(rows))]
    normal = np.real(left @ left.conj().T)
    return confounded_groups(names, np.asarray(chain.springs), normal, 1.0, np.full(len(rows), np.inf))
