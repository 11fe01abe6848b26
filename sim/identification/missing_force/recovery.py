"""A missing force of unknown roughness, with a band that holds for forces that jump, too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sim.arrays import Samples
from sim.identification.missing_force.force_prior import Matern
from sim.identification.missing_force.hyperparameters import NEVER, Laplace, Search, laplace
from sim.identification.missing_force.smoother import ForceProblem, SmoothedForce
from sim.laboratory.structure import highest_frequency

# relative to the most probable order: a rougher one that is at least as probable gives the band
_IMPLAUSIBLE = 0.05
# rad between two instants: a unit mistake, as no structure is sampled so coarsely
_LARGEST_PHASE = 1e3
# a force of which the samples take away less of the variance is not seen
_SEEN = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class RecoveredForce:
    """The force that is missing.

    Parameters
    ----------
    smoothed : means of the plausible orders, weighted by their probabilities; covariances of the band's order.
    orders : compared, with their posterior probabilities.
    band_order : the roughest one that is not implausible. A smoother one's band is too narrow where a force jumps,
        and samples rarely show it.
    priors, sigma : the most probable: of each force, and (s,) of the sensors' noise.
    sigma_known : whether the noise was given.
    seen : (f,) fraction of each force's variance that the samples take away, 0 to 1.
    log_evidence : of the most probable order, by Laplace's approximation.
    """

    smoothed: SmoothedForce
    orders: dict[int, float]
    band_order: int
    priors: tuple[Matern, ...]
    sigma: Samples
    sigma_known: bool
    seen: Samples
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
    ValueError : noise is not positive, no order is given, a natural frequency is far above the sample rate, the
        likelihood is finite nowhere, or a covariance cannot be inverted.
    """
    _check(problem)
    if not len(orders):
        raise ValueError("missing force: no order of smoothness: give at least one, such as (0, 1, 2)")
    given = None if sigma is None else _noise(sigma, len(problem.sensors))
    searches = [Search(problem, order, given) for order in orders]
    posteriors: list[Laplace] = []
    for search in searches:
        # the noise of the order before is near this one's
        posteriors.append(laplace(search, posteriors[-1].mode if posteriors else None))
    evidence = np.array([each.log_evidence for each in posteriors])
    if not evidence.max() > -0.5 * NEVER:
        raise ValueError("missing force: the likelihood is finite nowhere: the model may diverge, or samples be huge")
    probability = np.exp(evidence - evidence.max())
    probability /= probability.sum()
    plausible = np.flatnonzero(probability >= _IMPLAUSIBLE * probability.max()).tolist()
    smoothed = {i: _smoothed(problem, searches[i], posteriors[i]) for i in plausible}
    mean = np.zeros((len(problem.time), 2 * problem.structure.dofs + 3 * problem.n_forces))
    for i, each in smoothed.items():
        mean += probability[i] / probability[plausible].sum() * each.means
    rough = min(plausible, key=lambda i: orders[i])
    away = smoothed[rough].means - mean
    covariance = smoothed[rough].covariances + away[:, :, None] * away[:, None, :]
    best = int(np.argmax(evidence))
    priors, noise = searches[best].hyperparameters(posteriors[best].mode)
    result = SmoothedForce(problem.time, mean, covariance, problem.n_forces, smoothed[best].log_likelihood)
    return RecoveredForce(
        result,
        dict(zip(orders, probability.tolist(), strict=True)),
        orders[rough],
        priors,
        noise,
        given is not None,
        _seen(problem, smoothed[rough], searches[rough], posteriors[rough]),
        float(evidence[best]),
    )


def evidence_for(problem: ForceProblem, recovered: RecoveredForce, force: int) -> float:
    """Return by how much the log evidence is larger with a force, numbered from 0, than without it.

    Bayes factors of 20, 3 here, are strong evidence (Kass and Raftery, 1995); less than zero: the samples are as well
    explained without.
    """
    if not 0 <= force < problem.n_forces:
        raise ValueError(
            f"missing force: evidence for force {force}: the problem has forces 0 to {problem.n_forces - 1}"
        )
    order = max(recovered.orders, key=lambda each: recovered.orders[each])
    sigma = recovered.sigma if recovered.sigma_known else None
    return recovered.log_evidence - laplace(Search(problem, order, sigma, force)).log_evidence


def _check(problem: ForceProblem) -> None:
    mass, _, stiffness = problem.structure.matrices
    frequency, rate = highest_frequency(mass, stiffness), 1.0 / float(np.median(np.diff(problem.time)))
    if 2.0 * np.pi * frequency > _LARGEST_PHASE * rate:
        raise ValueError(
            f"missing force: the structure has a natural frequency of {frequency:.3g} Hz, far above the sample rate "
            f"of {rate:.3g} Hz: check the units of stiffness and mass"
        )


def _noise(sigma: Samples | float, sensors: int) -> Samples:
    noise = np.asarray(sigma, dtype=np.float64)
    if noise.shape not in ((), (1,), (sensors,)):
        raise ValueError(
            f"missing force: noise {noise.shape} beside {sensors} sensors: give a number, or one a sensor"
        )
    return np.broadcast_to(noise, sensors)


def _smoothed(problem: ForceProblem, search: Search, posterior: Laplace) -> SmoothedForce:
    parts = (problem.smooth(*search.hyperparameters(at)) for _, at in posterior.points)
    try:
        return _mixture([weight for weight, _ in posterior.points], parts)
    except np.linalg.LinAlgError:
        raise ValueError(
            "missing force: a covariance cannot be inverted: the model is too unstable, or the noise too small"
        ) from None


def _seen(problem: ForceProblem, smoothed: SmoothedForce, search: Search, posterior: Laplace) -> Samples:
    """Return (f,): one less the variance that is left over that before the samples, where the load is known."""
    before = np.zeros(problem.n_forces)
    for weight, at in posterior.points:
        before += weight * np.square([each.amplitude for each in search.hyperparameters(at)[0]])
    sampled = np.flatnonzero(np.isfinite(problem.observed).any(axis=1))
    inside = np.isfinite(np.asarray(problem.load)).all(axis=1)
    inside[: sampled[0]] = inside[sampled[-1] + 1 :] = False
    left = np.mean(np.square(smoothed.force_sd[inside]), axis=0)
    return np.asarray(np.clip(1.0 - left / before, 0.0, 1.0))


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
