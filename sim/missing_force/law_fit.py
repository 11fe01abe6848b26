"""Laws of a missing force: proposed by curves over the motion at the forces, fitted to the raw samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, product
from math import log

import numpy as np

from sim.arrays import Samples
from sim.fitting.fit import Fit, fit
from sim.missing_force.law_motion import LawResponse
from sim.missing_force.law_terms import (
    DICTIONARY,
    HYSTERETIC,
    SIGN_WIDTH,
    Term,
    has_memory,
    hysteretic_displacement,
    terms,
)
from sim.missing_force.recovery import RecoveredForce
from sim.missing_force.smoother import ForceProblem

# yield displacements that are tried, over the largest stretch: what yields sooner is friction
_LIMITS = np.geomspace(0.05, 1.0, 9)
# standard deviations of a rate: nearer to zero friction may be of either side
_EITHER_SIDE = 3.0


class RecoveredMotion:
    """Stretches, rates and accelerations at the forces over the longest stretch of known loads."""

    def __init__(self, problem: ForceProblem, recovered: RecoveredForce) -> None:
        known = np.isfinite(np.asarray(problem.load)).all(axis=1)
        sampled = np.flatnonzero(np.isfinite(problem.observed).any(axis=1) & known)
        if not len(sampled):
            raise ValueError("missing force: no sample where the load is known: no law can be fitted")
        edges = np.flatnonzero(np.diff(known.astype(np.int64), prepend=0, append=0)).reshape(-1, 2)
        inside = [sampled[(sampled >= a) & (sampled < b)] for a, b in edges.tolist()]
        longest = max(inside, key=len)
        self.part = slice(int(longest[0]), int(longest[-1]) + 1)
        self.problem, self.recovered = problem.between(self.part.start, self.part.stop), recovered
        samples = np.isfinite(self.problem.observed).sum(axis=0)
        self.count, sigma = int(samples.sum()), np.broadcast_to(recovered.sigma, len(samples))
        self.log_evidence = recovered.log_evidence
        if self.count < np.isfinite(problem.observed).sum():
            # of that stretch alone
            self.log_evidence += self.problem.log_likelihood(recovered.priors, sigma)
            self.log_evidence -= problem.log_likelihood(recovered.priors, sigma)
        n = problem.structure.dofs
        smoothed = recovered.smoothed
        f = problem.n_forces
        self.stretch = smoothed.means[self.part, 2 * n + f : 2 * n + 2 * f]
        self.rate = smoothed.means[self.part, 2 * n + 2 * f :]
        self.force = smoothed.force[self.part]
        model, places = problem.physics, np.asarray(problem.forces, dtype=np.float64)
        by_motion = places.T @ np.hstack([model.system[n:], model.unknown[n:], np.zeros((n, 2 * f))])
        moved = np.asarray(problem.load)[self.part] @ model.input[n:].T + np.asarray(problem.ground)[self.part]
        self.acceleration = smoothed.means[self.part] @ by_motion.T + moved @ places
        self.one_dof = (places != 0.0).sum(axis=0) == 1
        rms = np.sqrt(np.mean(self.rate**2, axis=0))
        self.width = SIGN_WIDTH * np.where(rms > 0.0, rms, 1.0)
        self.regressed: dict[tuple[int, tuple[Term, ...]], tuple[Samples, float]] = {}

    def calm(self) -> ForceProblem | None:
        """Return the problem without the accelerations beside a change of a rate's sign; None where too few are left.

        Friction jumps there: on which side of it a sample is has no derivative.
        """
        variance = np.einsum("tii->ti", self.recovered.smoothed.covariances[self.part])[:, -self.rate.shape[1] :]
        near = np.abs(self.rate) <= _EITHER_SIDE * np.sqrt(np.maximum(variance, 0.0))
        near[1:] |= np.diff(np.sign(self.rate), axis=0) != 0.0
        beside = near.any(axis=1)
        beside[:-1] |= beside[1:].copy()
        jumps = np.array([each.quantity == "acceleration" for each in self.problem.sensors])
        if not jumps.any() or beside.mean() > 0.5:
            return None
        return self.problem.between(0, len(self.rate), beside[:, None] & jumps)

    def values(self, e: int, law: Sequence[Term], limit: float) -> Samples:
        """Return (t, k): each term at the recovered motion."""
        x, v = np.ascontiguousarray(self.stretch[:, e]), self.rate[:, e]
        result = np.zeros((len(x), len(law)))
        for column, each in zip(result.T, law, strict=True):
            if each.exponent > 0:
                remaining = np.empty(len(x))
                hysteretic_displacement(x, limit, each.exponent, remaining)
                column[:] = remaining
            elif each.exponent != -1:
                column[:] = self.acceleration[:, e] if each.exponent else each.of(x, v, self.width[e])
        return result


def regressed(motion: RecoveredMotion, e: int, law: tuple[Term, ...]) -> tuple[Samples, float]:
    """Return the regression of a recovered force on the terms of its law: coefficients and the fraction explained.

    It proposes laws and where their search begins; instants count by the variance of the force.
    """
    if (e, law) not in motion.regressed:
        limits = 0.5 * np.ptp(motion.stretch[:, e]) * _LIMITS if has_memory(law) else np.ones(1)
        found = [_regressed_at(motion, e, law, limit) for limit in limits.tolist()]
        motion.regressed[e, law] = max(found, key=lambda each: each[1])
    return motion.regressed[e, law]


def _regressed_at(motion: RecoveredMotion, e: int, law: tuple[Term, ...], limit: float) -> tuple[Samples, float]:
    """Return the same for a given yield displacement."""
    force, k = motion.force[:, e], len(law)
    whole = float(force @ force)
    if not k or whole == 0.0:
        return np.zeros(k), 0.0
    values = motion.values(e, law, limit)
    size = np.maximum(np.sqrt(np.mean(values**2, axis=0)), 1e-300)
    sd = np.maximum(motion.recovered.force_sd[motion.part, e], 1e-300)
    coefficients = np.linalg.lstsq(values / size / sd[:, None], force / sd, rcond=1e-10)[0] / size
    left = force - values @ coefficients
    coefficients[[each.exponent == -1 for each in law]] = limit
    return coefficients, 1.0 - float(left @ left) / whole


# of a fit to the raw samples: laws that are right need ten
_ITERATIONS = 40
# of fits, in which noise that is not known is that of the one before; one is enough of laws that leave a multiple
_NOISES, _SAME_NOISE, _MULTIPLE = 4, 0.03, 5.0
# terms, or pairs, with the largest gain in the curve fit that are tried on the raw samples
_TRIED = 3
_MOST_TERMS = 3
# by how much the information criterion must fall for one more term: strong evidence (Kass and Raftery, 1995)
_STRONG = 6.0

# of what a term must gain: if it would gain less were the response linear, it is not tried
_HOPEFUL = 0.5
# of a law: less counts as zero
_IMPROBABLE = 1e-6
# exponents of Bouc and Wen's, from soft to sharp
_EXPONENTS = (1, 2, 4, 8, 16, 32, 64)

# of a column's square that is not of others': less is rounding
_COLLINEAR = 1e-10

Laws = tuple[tuple[Term, ...], ...]


@dataclass(frozen=True, slots=True, eq=False)
class LawFit:
    """A law for each force, fitted to the raw samples by integrating the model with it.

    Parameters
    ----------
    laws : for each force its terms; none: no force.
    names, coefficients, standard_errors : (k,) of the terms of all forces.
    fit : with the first state, residuals over the noise; None where the model with this law diverges.
    noise, residual : (s,) of the sensors, and rms of the residuals; one where it is not known.
    criterion : Bayesian information criterion, less is better.
    """

    laws: Laws
    names: tuple[str, ...]
    coefficients: Samples
    standard_errors: Samples
    fit: Fit | None
    noise: Samples
    residual: Samples
    criterion: float

    @property
    def score(self) -> float:
        """By which laws are ranked: the criterion, and what each term must gain beyond it."""
        return self.criterion + _STRONG * len(self.names)


def fit_law(problem: ForceProblem, recovered: RecoveredForce, laws: Sequence[Sequence[str | Term]]) -> LawFit:
    """Return the fit of given laws to the raw samples, from the curve fit on.

    Where a load is not known the longest stretch in which it is counts.

    Raises
    ------
    ValueError : there is not one law for each force, a term is not one, or there are too few samples.
    """
    if len(laws) != problem.n_forces:
        raise ValueError(f"missing force: {len(laws)} laws of {problem.n_forces} forces: give one each")
    return _fitted(RecoveredMotion(problem, recovered), tuple(terms(law) for law in laws))


def force_by_laws(
    problem: ForceProblem, recovered: RecoveredForce, laws: Sequence[LawFit]
) -> tuple[Samples, Samples, Samples]:
    """Return forces and standard deviations, (N, f) N, over the process and laws, and the weights of these, (1 + l,).

    The weights are the probabilities given the samples of the process and of l laws, all being as probable before, by
    Laplace's approximation and by the information criterion (Schwarz, 1978). A law has the force of the motion
    that was fitted and the errors of coefficients and first state, autocorrelated where they are so. Outside of the
    longest stretch of known loads only the process counts.
    """
    motion, evidence = RecoveredMotion(problem, recovered), np.full(1 + len(laws), -np.inf)
    evidence[0] = motion.log_evidence
    usable = {i: law.fit for i, law in enumerate(laws, 1) if law.fit is not None and any(law.laws)}
    # errors are not known of a search that came to no rest, or of what is not seen
    determined = [i for i in usable if np.isfinite(laws[i - 1].standard_errors).all()]
    for i in determined or usable:
        evidence[i] = -0.5 * laws[i - 1].criterion
    weights = np.exp(evidence - evidence.max())
    weights = np.where(weights > _IMPROBABLE, weights, 0.0) / weights[weights > _IMPROBABLE].sum()
    mean, square = weights[0] * recovered.force, weights[0] * (recovered.force_sd**2 + recovered.force**2)
    for weight, law in zip(weights[1:].tolist(), laws, strict=True):
        if weight and law.fit is not None:
            response = LawResponse(motion.problem, law.laws, law.noise)
            _, (force,), _, (by,) = response.motion(law.fit.parameters)
            # not finite where it is not known: then what the process has
            with np.errstate(invalid="ignore"):
                variance = np.einsum("tfp,pq,tfq->tf", by, _covariance(law.fit), by)
            mean[motion.part] += weight * force
            square[motion.part] += weight * (force**2 + np.fmin(variance, recovered.force_sd[motion.part] ** 2))
    sd = np.sqrt(np.maximum(square - mean**2, 0.0))
    known = np.zeros((len(mean), 1), dtype=bool)
    known[motion.part] = True
    return np.where(known, mean, recovered.force), np.where(known, sd, recovered.force_sd), weights


def _covariance(fit: Fit) -> Samples:
    """Return that of all that is determined: a first state often is not, as friction forgets it."""
    if np.isfinite(fit.correlated_covariance).all() or not fit.converged:
        return fit.correlated_covariance
    size = np.sqrt(np.maximum(np.diag(fit.normal), 1e-300))
    scale = np.outer(size, size)
    return np.asarray(fit.sigma**2 * np.linalg.pinv(fit.normal / scale, rcond=_COLLINEAR, hermitian=True) / scale)


def motion_by_law(problem: ForceProblem, recovered: RecoveredForce, law: LawFit) -> tuple[Samples, Samples, Samples]:
    """Return displacement and velocity, (n, dofs), and forces, (n, f), of a law's fit, in its stretch of samples."""
    assert law.fit is not None
    response, n = (
        LawResponse(RecoveredMotion(problem, recovered).problem, law.laws, law.noise),
        problem.structure.dofs,
    )
    (state,), (force,), _, _ = response.motion(law.fit.parameters)
    return state[:, :n], state[:, n:], force


def find_laws(
    problem: ForceProblem,
    recovered: RecoveredForce,
    dictionary: Sequence[str | Term] = (*DICTIONARY, *HYSTERETIC),
) -> tuple[LawFit, ...]:
    """Return laws of terms of a dictionary that were tried on the raw samples, the best first.

    Terms are added one by one: those of the largest gain in the curve fit are tried, and the best one stays if the
    information criterion falls by 6, strong evidence; then each is left out again where that makes too little worse.
    While a force of any shape is more probable the pairs of largest gain are tried, too: either may explain nothing
    alone. One with memory begins a law, where it explains more than any other; it may yield more softly or sharply.
    """
    motion, f = RecoveredMotion(problem, recovered), problem.n_forces
    candidates = [terms([each]) for each in dictionary]
    best = _fitted(motion, ((),) * f)
    tried = {best.laws: best}

    def attempt(laws: Laws, near: LawFit | None = None) -> None:
        nonlocal best
        # the order of terms does not matter
        laws = tuple(tuple(sorted(law, key=lambda each: each.name)) for law in laws)
        if laws not in tried:
            tried[laws] = _fitted(motion, laws, near)
        best = min(best, tried[laws], key=lambda each: each.score)

    if f > 1:
        # several cannot be assessed one without the others: each begins with the term that explains it best
        proposed = [_proposed(motion, e, (), candidates) for e in range(f)]
        attempt(tuple(laws[0] for laws in proposed))
        for e, law in [(place, law) for place in range(f) for law in proposed[place][1:]]:
            attempt(_replaced(best.laws, e, law))
    for _ in range(_MOST_TERMS * f):
        before = best
        for e, together in [(place, number) for number in (1, 2) for place in range(f)]:
            if len(before.laws[e]) + together <= _MOST_TERMS and (together == 1 or _unexplained(motion, best)):
                hopeful = candidates if _unexplained(motion, before) else _hopeful(motion, before, e, candidates)
                for law in _proposed(motion, e, before.laws[e], hopeful, together):
                    attempt(_replaced(before.laws, e, law))
        for e, direction in product(range(f), (1, -1)):
            while law := _sharper(best.laws[e], direction):
                softer = best
                attempt(_replaced(best.laws, e, law), best)
                if best is softer:
                    break
        for e, law in enumerate(best.laws):
            for one in law if sum(map(len, best.laws)) > 1 else ():
                # a yield displacement goes with what yields
                left = [each for each in law if each is not one and (one.exponent < 1 or each.exponent != -1)]
                if one.exponent != -1:
                    attempt(_replaced(best.laws, e, tuple(left)))
        if best is before:
            break
    return tuple(sorted(tried.values(), key=lambda each: each.score))


def _sharper(law: tuple[Term, ...], direction: int) -> tuple[Term, ...]:
    """Return a law with the exponent after the one that it has, or before; empty where there is none."""
    exponent = max((each.exponent for each in law), default=0)
    at = _EXPONENTS.index(exponent) + direction if exponent in _EXPONENTS else -1
    others = [each for each in law if each.exponent in (0, -2)]
    return (*others, *terms([f"Bouc-Wen {_EXPONENTS[at]}"])) if 0 <= at < len(_EXPONENTS) else ()


def _hopeful(
    motion: RecoveredMotion, best: LawFit, e: int, candidates: Sequence[tuple[Term, ...]]
) -> list[tuple[Term, ...]]:
    """Return the terms that would make a law better were the response linear in their coefficients.

    One evaluation with all of them, of coefficients that are zero, has their derivatives.
    """
    assert best.fit is not None
    added = [each for each in candidates if not has_memory(each) and each[0] not in best.laws[e]]
    if not added:
        return []
    laws = _replaced(best.laws, e, (*best.laws[e], *(each[0] for each in added)))
    at = sum(map(len, best.laws[: e + 1]))
    response, new = LawResponse(motion.problem, laws, best.noise), slice(at, at + len(added))
    (found,), (by,) = response.evaluate(np.insert(best.fit.parameters, at, np.zeros(len(added)))[None])
    basis = np.linalg.qr(np.delete(by, new, axis=1))[0]
    left, columns = (each - basis @ (basis.T @ each) for each in (response.observed - found, by[:, new]))
    whole, own = np.sum(by[:, new] ** 2, axis=0), np.sum(columns**2, axis=0)
    # what the law has already in another form gains nothing
    least = _HOPEFUL * (_STRONG + log(motion.count))
    gains = np.where(own > _COLLINEAR * whole, (left @ columns) ** 2 / np.maximum(own, 1e-300), 0.0)
    return [each for each, gain in zip(added, gains.tolist(), strict=True) if gain > least]


def _proposed(
    motion: RecoveredMotion, e: int, law: tuple[Term, ...], candidates: Sequence[tuple[Term, ...]], together: int = 1
) -> list[tuple[Term, ...]]:
    """Return the laws of so many more terms that explain most of a recovered force, those with memory at the end."""
    # between two dofs there is no mass, and one memory is enough
    added = combinations([each for each in candidates if each[0].exponent != -2 or motion.one_dof[e]], together)
    laws = [(*law, *chain(*each)) for each in added if not any(group[0] in law for group in each)]
    longer = [each for each in laws if sum(one.exponent > 0 for one in each) <= 1]
    longer.sort(key=lambda each: -regressed(motion, e, each)[1])
    # any spring or friction is nearly one that yields late or soon
    beyond = [at for at, each in enumerate(longer) if not has_memory(each)][:1] or [len(longer)]
    without = [each for each in longer if has_memory(each) == has_memory(law)]
    return [*without[:_TRIED], *[each for each in longer[: 0 if law else beyond[0]] if each not in without][:_TRIED]]


def _unexplained(motion: RecoveredMotion, law: LawFit) -> bool:
    """Return whether a force of any shape is more probable than a law."""
    return -0.5 * law.criterion < motion.log_evidence


def _replaced(laws: Laws, e: int, law: tuple[Term, ...]) -> Laws:
    return (*laws[:e], law, *laws[e + 1 :])


def _fitted(motion: RecoveredMotion, laws: Laws, near: LawFit | None = None) -> LawFit:
    """Return the fit of laws from the curve fit on, or from another law's of as many terms."""
    problem, recovered = motion.problem, motion.recovered
    start = np.concatenate([regressed(motion, e, law)[0] for e, law in enumerate(laws)])
    response = LawResponse(problem, laws, recovered.sigma)
    n, k, names = problem.structure.dofs, len(start), response.names
    first = np.zeros(len(names) - k)
    first[: 2 * n] = recovered.smoothed.means[motion.part.start, : 2 * n]
    limits = np.array([each.exponent == -1 for law in laws for each in law], dtype=bool)
    # accelerations say little of the first state, and many records begin at rest
    states = np.stack([np.concatenate([start, state]) for state in (first, np.zeros_like(first))])
    with np.errstate(over="ignore", invalid="ignore"):
        misses = np.sum((response.observed - response.evaluate(states)[0]) ** 2, axis=1)
    starts = [states[int(np.argmin(np.nan_to_num(misses, nan=np.inf)))], np.where(limits, start, 0.0)]
    starts[1] = np.concatenate([starts[1], first])
    if near is not None and near.fit is not None:
        starts.insert(0, near.fit.parameters)
    found = None
    for begin in starts:
        try:
            found, noise, residual = _searched(motion, laws, begin)
            break
        except ValueError:
            # the motion diverges from there
            if len(response.observed) <= len(names):
                raise
    if found is None:
        unknown, noise = np.full(k, np.nan), np.full(len(problem.sensors), np.nan)
        return LawFit(laws, names[:k], start, unknown, None, noise, noise, np.inf)
    samples = np.isfinite(problem.observed).sum(axis=0)
    squares = found.sum_of_squares if recovered.sigma_known else float(motion.count)
    criterion = squares + float(samples @ np.log(2.0 * np.pi * noise**2))
    criterion += (len(names) + (0 if recovered.sigma_known else len(noise))) * log(motion.count)
    errors = found.standard_errors[:k]
    return LawFit(laws, names[:k], found.parameters[:k], errors, found, noise, residual, float(criterion))


def _searched(motion: RecoveredMotion, laws: Laws, at: Samples) -> tuple[Fit, Samples, Samples]:
    """Return the fit to the raw samples from a start on, the noise, if not known the law's own, and what is left."""
    known, calm = motion.recovered.sigma_known, None
    noise = np.broadcast_to(motion.recovered.sigma, len(motion.problem.sensors))
    if any(each.v_odd and not each.v_power for law in laws for each in law):
        calm = motion.calm()

    def searched(problem: ForceProblem) -> tuple[LawResponse, Fit]:
        response = LawResponse(problem, laws, noise)
        sigma = 1.0 if known else None
        return response, fit(response, response.observed, at, sigma=sigma, most_iterations=_ITERATIONS)

    for turn in range(_NOISES):
        if calm is not None:
            _, smooth = searched(calm)
            at = smooth.parameters
        response, found = searched(motion.problem)
        if calm is not None and smooth.converged and not found.converged:
            # only a sample beside a jump kept it from rest
            found = replace(
                found, converged=True, covariance=smooth.covariance,
                correlated_covariance=smooth.correlated_covariance,
            )  # fmt: skip
        samples, squares = (
            np.bincount(response.sensor, weights, minlength=len(noise)) for weights in (None, found.residuals[0] ** 2)
        )
        left = np.sqrt(squares / np.maximum(samples, 1))
        if known or turn + 1 == _NOISES or left.max() > _MULTIPLE or np.abs(left - 1.0).max() < _SAME_NOISE:
            break
        noise, at = noise * np.maximum(left, 1e-9), found.parameters
    residual = noise * np.maximum(left, 1e-9)
    return found, noise if known else residual, residual
