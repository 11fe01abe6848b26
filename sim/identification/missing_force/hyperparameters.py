"""The posterior of what is not known of a missing force: amplitude, length, and the sensors' noise."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, pi

import numpy as np
from scipy.optimize import minimize

from sim.arrays import Samples
from sim.identification.differentiation import second_differences
from sim.identification.missing_force.force_prior import Matern
from sim.identification.missing_force.smoother import ForceProblem, characteristic_rate, reach

# standard deviations of the logarithms of amplitudes, lengths and noise before the data: wide
_WIDE = {"amplitude": 2.5, "length": 1.5, "sigma": 2.0}
# amplitude relative to the elastic and inertial force of the motion, noise relative to the rms of a sensor
_AMPLITUDE, _NOISE = 0.2, 0.05
# of an amplitude that counts as zero
_ZERO = 1e-8
# the search ends at so many standard deviations of the above
_FARTHEST = 4.0
# of the median interval
_SHORTEST = 0.1
# of the logarithms, for slopes of a likelihood of many samples, whose rounding is large
_STEP = 1e-5
# of the logarithms, for second differences that rounding does not reach
_DIFFERENCE = 0.03
# standard deviation of the logarithms below which the most probable ones represent all
_SHARP = 0.1
# cost where the likelihood is not finite: searches compare and subtract it
NEVER = 1e300
# of a point that is used
_LEAST_WEIGHT = 1e-3
# largest factor by which a point's density may exceed that of the normal approximation
_LARGEST_RATIO = 20.0


class Search:
    """Logarithms of hyperparameters of one order and their posterior density.

    Parameters
    ----------
    sigma : (s,) of the sensors' noise; None: a part of them.
    without : a force that is zero; its hyperparameters keep their prior, which adds nothing to an evidence.
    """

    def __init__(self, problem: ForceProblem, order: int, sigma: Samples | None, without: int | None = None) -> None:
        self._problem, self._order, self._sigma, self._without = problem, order, sigma, without
        self.forces = f = problem.n_forces
        observed = problem.observed
        rate = characteristic_rate(problem.time, observed)
        mass, _, stiffness = problem.structure.matrices
        places = np.asarray(problem.forces)
        internal = np.abs(stiffness) + rate**2 * np.abs(mass)
        stiff = np.einsum("if,ij,jf->f", np.abs(places), internal, np.abs(places)) / np.sum(places**2, axis=0)
        scale = stiff * reach(problem.time, problem.sensors, observed)
        centre = [*np.log(_AMPLITUDE * scale), *np.full(f, -log(rate))]
        width = [_WIDE["amplitude"]] * f + [_WIDE["length"]] * f
        if sigma is None:
            known = np.isfinite(observed)
            spread = np.sqrt(np.sum(observed**2, axis=0, where=known) / np.maximum(known.sum(axis=0), 1))
            centre += np.log(_NOISE * np.where(spread > 0.0, spread, 1.0)).tolist()
            width += [_WIDE["sigma"]] * len(spread)
        self.centre, self.width = np.array(centre), np.array(width)
        self.lower, self.upper = self.centre - _FARTHEST * self.width, self.centre + _FARTHEST * self.width
        # a force that is much shorter than the samples' interval is white noise
        shortest = log(_SHORTEST * float(np.median(np.diff(problem.time))))
        self.lower[f : 2 * f] = np.minimum(np.maximum(self.lower[f : 2 * f], shortest), self.centre[f : 2 * f])

    def hyperparameters(self, at: Samples) -> tuple[tuple[Matern, ...], Samples]:
        """Return priors of the forces, and (s,) noise."""
        f, value = self._problem.n_forces, np.exp(at)
        priors = [Matern(float(value[j]), float(value[f + j]), self._order) for j in range(f)]
        if self._without is not None:
            amplitude, length = np.exp(self.centre[[self._without, f + self._without]]).tolist()
            priors[self._without] = Matern(_ZERO * amplitude, length, self._order)
        return tuple(priors), value[2 * f :] if self._sigma is None else self._sigma

    def cost(self, at: Samples) -> float:
        """Return minus the log posterior density."""
        away = (at - self.centre) / self.width
        with np.errstate(over="ignore", invalid="ignore"):
            likelihood = self._problem.log_likelihood(*self.hyperparameters(at))
        prior = -0.5 * float(away @ away) - float(np.sum(np.log(self.width))) - 0.5 * len(at) * log(2.0 * pi)
        return -(likelihood + prior) if np.isfinite(likelihood) else NEVER


@dataclass(frozen=True, slots=True, eq=False)
class Laplace:
    """A posterior as a normal one about its mode.

    Parameters
    ----------
    mode : (p,).
    log_evidence : of the samples.
    points : weights, which sum to one, and logarithms, (p,), that represent the posterior.
    """

    mode: Samples
    log_evidence: float
    points: list[tuple[float, Samples]]


def laplace(search: Search, also: Samples | None = None) -> Laplace:
    """Return the mode, the evidence, and weighted points that represent the posterior.

    Parameters
    ----------
    also : (p,), where the search may begin, too.
    """
    p = len(search.centre)
    # amplitude and length trade off: the best of a coarse grid is a safe start
    f = search.forces
    starts = []
    for louder in (-1.0, 0.0, 1.0):
        for longer in (-1.0, 0.0, 1.0):
            at = search.centre.copy()
            at[:f] += louder * search.width[:f]
            at[f : 2 * f] += longer * search.width[f : 2 * f]
            at = np.maximum(at, search.lower)
            starts.append((search.cost(at), at))
    if also is not None:
        at = np.clip(also, search.lower, search.upper)
        starts.append((search.cost(at), at))
    start = min(starts, key=lambda each: each[0])[1]
    bounds = list(zip(search.lower, search.upper, strict=True))
    found = minimize(
        search.cost, start, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-9, "maxiter": 100, "eps": _STEP}
    )
    mode, least = np.asarray(found.x), float(found.fun)
    curvature = second_differences(search.cost, mode, np.full(p, _DIFFERENCE), least)
    values, vectors = np.linalg.eigh(curvature)
    # the prior alone gives this curvature at least, unless the mode is at a bound
    values = np.maximum(values, 0.25 / search.width.max() ** 2)
    log_evidence = -least + 0.5 * p * log(2.0 * pi) - 0.5 * float(np.sum(np.log(values)))
    if np.all(values > _SHARP**-2):
        return Laplace(mode, log_evidence, [(1.0, mode)])
    radius = np.sqrt(p + 1.0)
    points = [(1.0 / (p + 1.0), mode)]
    for value, vector in zip(values, vectors.T, strict=True):
        for sign in (-1.0, 1.0):
            at = np.clip(mode + sign * radius / np.sqrt(value) * vector, search.lower, search.upper)
            # density relative to the normal one that the weights are of
            ratio = min(np.exp(min(least - search.cost(at) + 0.5 * radius**2, 700.0)), _LARGEST_RATIO)
            points.append((float(ratio) / (2.0 * (p + 1.0)), at))
    # also those at which the likelihood is not finite
    points = [each for each in points if each[0] > _LEAST_WEIGHT]
    total = sum(weight for weight, _ in points)
    return Laplace(mode, log_evidence, [(weight / total, at) for weight, at in points])
