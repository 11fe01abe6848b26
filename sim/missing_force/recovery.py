"""A missing force of unknown roughness, with its band.

Its roughness, amplitude and length, and the sensors' noise have a posterior, whose width is in the band.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import log, pi

import numpy as np
from scipy.optimize import minimize

from sim.arrays import Flags, Samples
from sim.fitting.regression import second_differences
from sim.laboratory.structure import highest_frequency
from sim.missing_force.smoother import ForceProblem, SmoothedForce, characteristic_rate, reach
from sim.missing_force.state_space import Matern

# odds of the roughest order before the samples, which rarely show a jump: only strong evidence excludes one
_JUMPS = 20.0
# probability of an order that is left out
_IMPLAUSIBLE = 0.01
# rad between two instants: a unit mistake, as no structure is sampled so coarsely
_LARGEST_PHASE = 1e3
# a force of which the samples take away less of the variance is not seen; at an instant: 0.98 of its sd are left
_SEEN, _KNOWN = 0.1, 0.04
# standard deviations of the logarithms of amplitudes, lengths and noise before the data: wide
_WIDE = {"amplitude": 2.5, "length": 1.5, "sigma": 2.0}
# amplitude relative to the elastic and inertial force of the motion, noise relative to the rms of a sensor
_AMPLITUDE, _NOISE = 0.2, 0.05
# of an amplitude that counts as zero
_ZERO = 1e-8
# the search ends at so many standard deviations of the above
_FARTHEST = 4.0
# of the median interval: a force that is shorter is white noise, or cannot be told from noise that is not known
_SHORTEST, _TOLD_FROM_NOISE = 0.1, 1.0
# of the logarithms, for slopes of a likelihood of many samples, whose rounding is large
_STEP = 1e-5
# of the logarithms, for second differences that rounding does not reach
_DIFFERENCE = 0.03
# standard deviation of the logarithms below which the most probable ones represent all
_SHARP = 0.1
# cost where the likelihood is not finite: searches compare and subtract it
_NEVER = 1e300
# of a point that is used
_LEAST_WEIGHT = 1e-3
# largest factor by which a point's density may exceed that of the normal approximation
_LARGEST_RATIO = 20.0


@dataclass(frozen=True, slots=True, eq=False)
class RecoveredForce:
    """The force that is missing.

    Parameters
    ----------
    smoothed : of the mixture over orders, amplitudes, lengths and noise, as probable as each is given the samples.
    orders : compared, with their posterior probabilities.
    priors, sigma : the most probable: of each force, and (s,) of the sensors' noise.
    sigma_known : whether the noise was given.
    seen : (f,) fraction of each force's variance that the samples take away, 0 to 1.
    unknown : (N, f), where the samples say nothing of a force, nor would of one of a fifth of the elastic force: far
        from sensors, in a long gap.
    log_evidence : of the most probable order, by Laplace's approximation.
    """

    smoothed: SmoothedForce
    orders: dict[int, float]
    priors: tuple[Matern, ...]
    sigma: Samples
    sigma_known: bool
    seen: Samples
    unknown: Flags
    log_evidence: float

    @property
    def time(self) -> Samples:
        """(N,) s."""
        return self.smoothed.time

    @property
    def force(self) -> Samples:
        """(N, f) N."""
        return self.smoothed.force

    @property
    def force_sd(self) -> Samples:
        """(N, f) N; the band of 95 % is the force ± 1.96 of these."""
        return self.smoothed.force_sd

    def unseen(self) -> tuple[int, ...]:
        """Return which forces the sensors do not see."""
        return tuple(np.flatnonzero(self.seen < _SEEN).tolist())


def recover_force(
    problem: ForceProblem, *, sigma: Samples | float | None = None, orders: Sequence[int] = (0, 1, 2)
) -> RecoveredForce:
    """Return the missing force with its band.

    Amplitude and length of Matern's process for each order, and noise where it is not given, are integrated over
    around the most probable ones.

    Parameters
    ----------
    sigma : (s,) standard deviations of the sensors' noise; None: estimated.
    orders : of the force's smoothness that are compared.

    Raises
    ------
    ValueError : noise is not positive, a natural frequency is far above the sample rate, the
        likelihood is finite nowhere, or a covariance cannot be inverted.
    """
    mass, _, stiffness = problem.structure.matrices
    frequency, rate = highest_frequency(mass, stiffness), 1.0 / float(np.median(np.diff(problem.time)))
    if 2.0 * np.pi * frequency > _LARGEST_PHASE * rate:
        raise ValueError(
            f"missing force: the structure has a natural frequency of {frequency:.3g} Hz, far above the sample rate "
            f"of {rate:.3g} Hz: check the units of stiffness and mass"
        )
    given = None if sigma is None else np.broadcast_to(sigma, len(problem.sensors))
    searches = [_Search(problem, order, given) for order in orders]
    posteriors: list[_Laplace] = []
    for search in searches:
        # the noise of the order before is near this one's
        posteriors.append(_laplace(search, posteriors[-1].mode if posteriors else None))
    evidence = np.array([each.log_evidence for each in posteriors])
    if not evidence.max() > -0.5 * _NEVER:
        raise ValueError("missing force: the likelihood is finite nowhere: the model may diverge, or samples be huge")
    probability = np.exp(evidence - evidence.max()) * np.where(np.array(orders) == min(orders), _JUMPS, 1.0)
    probability /= probability.sum()
    plausible = np.flatnonzero(probability >= _IMPLAUSIBLE).tolist()
    smoothed = []
    for i in plausible:
        parts = (problem.smooth(*searches[i].hyperparameters(at)) for _, at in posteriors[i].points)
        try:
            smoothed.append(_mixture([weight for weight, _ in posteriors[i].points], parts))
        except np.linalg.LinAlgError:
            raise ValueError(
                "missing force: a covariance cannot be inverted: the model is too unstable, or the noise too small"
            ) from None
    weights = (probability[plausible] / probability[plausible].sum()).tolist()
    mixed = _mixture(weights, iter(smoothed))
    best = int(np.argmax(probability))
    priors, noise = searches[best].hyperparameters(posteriors[best].mode)
    variances = []
    for i in plausible:
        amplitudes = [
            [each.amplitude for each in searches[i].hyperparameters(at)[0]] for _, at in posteriors[i].points
        ]
        variances.append(np.array([weight for weight, _ in posteriors[i].points]) @ np.square(amplitudes))
    variance = np.average(variances, axis=0, weights=weights)
    # where nothing is missing all that is left is what was before, too: of so small a force
    usual = searches[best].centre.copy()
    usual[2 * problem.n_forces :] = posteriors[best].mode[2 * problem.n_forces :]
    of_usual = searches[best].hyperparameters(usual)
    before = [each.amplitude for each in of_usual[0]]
    left: Samples = np.stack([mixed.force_sd / np.sqrt(variance), problem.smooth(*of_usual).force_sd / before])
    # one less the variance that is left over that before the samples, where the load is known
    sampled = np.flatnonzero(np.isfinite(problem.observed).any(axis=1))
    inside = np.isfinite(np.asarray(problem.load)).all(axis=1)
    inside[: sampled[0]] = inside[sampled[-1] + 1 :] = False
    seen = np.asarray(np.clip(1.0 - np.mean(np.square(mixed.force_sd[inside]), axis=0) / variance, 0.0, 1.0))
    return RecoveredForce(
        mixed, dict(zip(orders, probability.tolist(), strict=True)), priors, noise, given is not None,
        seen, np.all(left**2 >= 1.0 - _KNOWN, axis=0), float(evidence[best]),
    )  # fmt: skip


def evidence_for(problem: ForceProblem, recovered: RecoveredForce, force: int) -> float:
    """Return by how much the log evidence is larger with a force, numbered from 0, than without it.

    Bayes factors of 20, 3 here, are strong evidence (Kass and Raftery, 1995); less than zero: the samples are as well
    explained without.
    """
    order = max(recovered.orders, key=lambda each: recovered.orders[each])
    sigma = recovered.sigma if recovered.sigma_known else None
    return recovered.log_evidence - _laplace(_Search(problem, order, sigma, force)).log_evidence


def _mixture(weights: list[float], parts: Iterator[SmoothedForce]) -> SmoothedForce:
    """Return the means and covariances of a mixture of normal distributions at each instant."""
    first = next(parts)
    # second moments about the first mean, not about zero: no digits are lost
    mean, moment = first.means.copy(), weights[0] * first.covariances
    for weight, part in zip(weights[1:], parts, strict=True):
        away = part.means - first.means
        mean += weight * away
        moment += weight * (part.covariances + away[:, :, None] * away[:, None, :])
    away = mean - first.means
    moment -= away[:, :, None] * away[:, None, :]
    return SmoothedForce(first.time, mean, moment, first.forces, first.log_likelihood)


class _Search:
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
        shortest = log((_TOLD_FROM_NOISE if sigma is None else _SHORTEST) * float(np.median(np.diff(problem.time))))
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
        return -(likelihood + prior) if np.isfinite(likelihood) else _NEVER


@dataclass(frozen=True, slots=True, eq=False)
class _Laplace:
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


def _laplace(search: _Search, also: Samples | None = None) -> _Laplace:
    """Return the mode, the evidence, and weighted points that represent the posterior.

    Parameters
    ----------
    also : (p,), where the search may begin, too.
    """
    p = len(search.centre)
    # amplitude and length trade off: the best of a coarse grid is a safe start
    f, starts = search.forces, [] if also is None else [np.clip(also, search.lower, search.upper)]
    for louder, longer in product((-1.0, 0.0, 1.0), repeat=2):
        away = np.repeat([louder, longer, 0.0], [f, f, p - 2 * f]) * search.width
        starts.append(np.maximum(search.centre + away, search.lower))
    # noise may be taken for a force that is as short: once more from much noise
    noisy = search.centre + np.repeat([0.0, search.width[-1]], [2 * f, p - 2 * f])
    bounds = list(zip(search.lower, search.upper, strict=True))
    begins = [min(starts, key=search.cost), noisy][: 1 + (p > 2 * f)]
    found = min(
        (minimize(search.cost, at, method="L-BFGS-B", bounds=bounds,
                  options={"ftol": 1e-9, "maxiter": 100, "eps": _STEP}) for at in begins),
        key=lambda each: float(each.fun),
    )  # fmt: skip
    mode, least = np.asarray(found.x), float(found.fun)
    curvature = second_differences(search.cost, mode, np.full(p, _DIFFERENCE), least)
    values, vectors = np.linalg.eigh(curvature)
    # the prior alone gives this curvature at least, unless the mode is at a bound
    values = np.maximum(values, 0.25 / search.width.max() ** 2)
    log_evidence = -least + 0.5 * p * log(2.0 * pi) - 0.5 * float(np.sum(np.log(values)))
    if np.all(values > _SHARP**-2):
        return _Laplace(mode, log_evidence, [(1.0, mode)])
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
    return _Laplace(mode, log_evidence, [(weight / total, at) for weight, at in points])
