"""Laws of a recovered force: a given one, or the best of a dictionary, refined on the raw samples.

For that a structure with force laws is a regression, of which coefficients and the first state are fitted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, product
from math import log

import numpy as np

from sim.arrays import Samples
from sim.fitting.fit import Fit, fit
from sim.fitting.regression import Unbounded
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

# Gauss-Hermite of three points: exact to the fifth power
_NODES, _WEIGHTS = np.array([-np.sqrt(3.0), 0.0, np.sqrt(3.0)]), np.array([1.0, 4.0, 1.0]) / 6.0
_REWEIGHTED = 4
# of a fit to the raw samples: laws that are right need ten
_ITERATIONS = 40
# of fits, in which noise that is not known is that of the one before
_NOISES, _SAME_NOISE = 4, 0.03
# standard deviations of a rate: nearer to zero friction may be of either side
_EITHER_SIDE = 3.0
# terms with the largest gain in the curve fit that are tried on the raw samples
_TRIED = 3
_MOST_TERMS = 3
# pairs of terms that are tried where one more term explains too little
_PAIRS = 4
# by how much the information criterion must fall for one more term: strong evidence (Kass and Raftery, 1995)
_STRONG = 6.0

# of what a term must gain: if it would gain less were the response linear, it is not tried; and if so many times as
# much would be lost without it, that is not tried
_HOPEFUL, _NEEDED = 0.5, 4.0
# of a law: less counts as zero
_IMPROBABLE = 1e-6
# exponents of Bouc and Wen's, from soft to sharp
_EXPONENTS = (1, 2, 4, 8, 16, 32, 64)

# of a column's square that is not of others': less is rounding
_COLLINEAR = 1e-10

Laws = tuple[tuple[Term, ...], ...]
# yield displacements that are tried, over the largest stretch: what yields sooner is friction
_LIMITS, _LEAST_LIMIT = np.geomspace(0.05, 1.0, 9), 0.02


@dataclass(frozen=True, slots=True, eq=False)
class CurveFit:
    """Coefficients of a law as a regression of the recovered force on the recovered motion.

    Parameters
    ----------
    coefficients, standard_errors : (k,), terms of all forces in their order. The errors count in that of the motion,
        and that neighbouring instants are not independent.
    explained : (f,) of the mean square of each force.
    """

    coefficients: Samples
    standard_errors: Samples
    explained: Samples


@dataclass(frozen=True, slots=True, eq=False)
class LawFit:
    """A law for each force, fitted to the raw samples by integrating the model with it.

    Parameters
    ----------
    laws : for each force its terms; none: no force.
    names, coefficients, standard_errors : (k,) of the terms of all forces.
    curve : of the same terms, without integration: where the search began.
    fit : with the first state, residuals over the noise; None where the model with this law diverges.
    noise : (s,) of the sensors, rms of the residuals where it is not known.
    criterion : Bayesian information criterion, less is better.
    explained : (f,) of the mean square of each recovered force, at the coefficients.
    """

    laws: Laws
    names: tuple[str, ...]
    coefficients: Samples
    standard_errors: Samples
    curve: CurveFit
    fit: Fit | None
    noise: Samples
    criterion: float
    explained: Samples

    @property
    def score(self) -> float:
        """By which laws are ranked: the criterion, and what each term must gain beyond it."""
        return self.criterion + _STRONG * len(self.names)


def curve_fit(problem: ForceProblem, recovered: RecoveredForce, laws: Sequence[Sequence[str | Term]]) -> CurveFit:
    """Return the regression of each recovered force on the terms of its law.

    A term's value is its mean given the samples, as the true motion is scattered about the recovered one; instants
    count by the variance of force less law.

    Parameters
    ----------
    laws : for each force its terms, or their names.
    """
    motion = _Motion(problem, recovered)
    found = [_regressed(motion, e, terms(law)) for e, law in enumerate(laws)]
    explained = np.array([one[2] for one in found])
    return CurveFit(np.concatenate([one[0] for one in found]), np.concatenate([one[1] for one in found]), explained)


def fit_law(problem: ForceProblem, recovered: RecoveredForce, laws: Sequence[Sequence[str | Term]]) -> LawFit:
    """Return the fit of given laws to the raw samples, from the curve fit on.

    Where a load is not known the longest stretch in which it is counts.

    Raises
    ------
    ValueError : there is not one law for each force, a term is not one, or there are too few samples.
    """
    if len(laws) != problem.n_forces:
        raise ValueError(f"missing force: {len(laws)} laws of {problem.n_forces} forces: give one each")
    return _fitted(_Motion(problem, recovered), tuple(terms(law) for law in laws))


def force_by_laws(
    problem: ForceProblem, recovered: RecoveredForce, laws: Sequence[LawFit]
) -> tuple[Samples, Samples, Samples]:
    """Return forces and standard deviations, (N, f) N, over the process and laws, and the weights of these, (1 + l,).

    The weights are the probabilities given the samples of the process and of l laws, all being as probable before, by
    Laplace's approximation and by the information criterion (Schwarz, 1978). A law has the force of the motion that
    was fitted and the errors of coefficients and first state, autocorrelated where they are so. Outside of the longest
    stretch of known loads only the process counts.
    """
    motion, evidence = _Motion(problem, recovered), np.full(1 + len(laws), -np.inf)
    evidence[0] = motion.log_evidence
    usable = {i: law.fit for i, law in enumerate(laws, 1) if law.fit is not None and any(law.laws)}
    # errors are not known of a search that came to no rest, or of what is not seen
    determined = [i for i, each in usable.items() if np.isfinite(each.standard_errors).all()]
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
                variance = np.einsum("tfp,pq,tfq->tf", by, law.fit.correlated_covariance, by)
            mean[motion.part] += weight * force
            square[motion.part] += weight * (force**2 + np.fmin(variance, recovered.force_sd[motion.part] ** 2))
    sd = np.sqrt(np.maximum(square - mean**2, 0.0))
    known = np.zeros((len(mean), 1), dtype=bool)
    known[motion.part] = True
    return np.where(known, mean, recovered.force), np.where(known, sd, recovered.force_sd), weights


def motion_by_law(problem: ForceProblem, recovered: RecoveredForce, law: LawFit) -> tuple[Samples, Samples, Samples]:
    """Return displacement and velocity, (n, dofs), and forces, (n, f), of a law's fit, in its stretch of samples."""
    assert law.fit is not None
    response, n = LawResponse(_Motion(problem, recovered).problem, law.laws, law.noise), problem.structure.dofs
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
    motion, f = _Motion(problem, recovered), problem.n_forces
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
        for e in range(f):
            hopeful = candidates if motion.unexplained(before) else _hopeful(motion, before, e, candidates)
            if len(before.laws[e]) < _MOST_TERMS:
                for law in _proposed(motion, e, before.laws[e], hopeful):
                    attempt(_replaced(before.laws, e, law))
        for e in range(f if motion.unexplained(best) else 0):
            if len(before.laws[e]) + 2 <= _MOST_TERMS:
                for law in _proposed_pairs(motion, e, before.laws[e], candidates):
                    attempt(_replaced(before.laws, e, law))
        for e, direction in product(range(f), (1, -1)):
            while law := _sharper(best.laws[e], direction):
                softer = best
                attempt(_replaced(best.laws, e, law), best)
                if best is softer:
                    break
        for e, law in enumerate(best.laws):
            for group in candidates if sum(map(len, best.laws)) > 1 else ():
                if any(each in law and motion.doubtful(best, e, each) for each in group):
                    attempt(_replaced(best.laws, e, tuple(each for each in law if each not in group)))
        if best is before:
            break
    return tuple(sorted(tried.values(), key=lambda each: each.score))


def _sharper(law: tuple[Term, ...], direction: int) -> tuple[Term, ...]:
    """Return a law with the exponent after the one that it has, or before; empty where there is none."""
    exponent = max((each.exponent for each in law), default=0)
    at = _EXPONENTS.index(exponent) + direction if exponent in _EXPONENTS else -1
    others = [each for each in law if each.exponent in (0, -2)]
    return (*others, *terms([f"Bouc-Wen {_EXPONENTS[at]}"])) if 0 <= at < len(_EXPONENTS) else ()


def _hopeful(motion: _Motion, best: LawFit, e: int, candidates: Sequence[tuple[Term, ...]]) -> list[tuple[Term, ...]]:
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
    gains = np.where(own > _COLLINEAR * whole, (left @ columns) ** 2 / np.maximum(own, 1e-300), 0.0)
    return [each for each, gain in zip(added, gains.tolist(), strict=True) if gain > _HOPEFUL * motion.price]


def _proposed(
    motion: _Motion, e: int, law: tuple[Term, ...], candidates: Sequence[tuple[Term, ...]]
) -> list[tuple[Term, ...]]:
    """Return the laws of one more term that explain most of a recovered force, and those with memory that do so."""
    # between two dofs there is no mass
    candidates = [each for each in candidates if each[0].exponent != -2 or motion.one_dof[e]]
    longer = sorted(_longer(law, [(each,) for each in candidates]), key=lambda each: -_regressed(motion, e, each)[2])
    # any spring or friction is nearly one that yields late or soon
    beyond = [at for at, each in enumerate(longer) if not has_memory(each)][:1] or [len(longer)]
    without = [each for each in longer if has_memory(each) == has_memory(law)]
    return [*without[:_TRIED], *(each for each in longer[: 0 if law else beyond[0]] if each not in without)]


def _longer(law: tuple[Term, ...], added: Iterable[tuple[tuple[Term, ...], ...]]) -> list[tuple[Term, ...]]:
    """Return a law with terms added that it has not, with one memory at most."""
    found = [(*law, *chain.from_iterable(each)) for each in added if not any(group[0] in law for group in each)]
    return [each for each in found if sum(one.exponent > 0 for one in each) <= 1]


def _proposed_pairs(
    motion: _Motion, e: int, law: tuple[Term, ...], candidates: Sequence[tuple[Term, ...]]
) -> list[tuple[Term, ...]]:
    """Return laws of two more terms that explain most of a recovered force, the best first."""
    return sorted(_longer(law, combinations(candidates, 2)), key=lambda each: -_regressed(motion, e, each)[2])[
        :_PAIRS
    ]


def _replaced(laws: Laws, e: int, law: tuple[Term, ...]) -> Laws:
    return (*laws[:e], law, *laws[e + 1 :])


class _Motion:
    """Stretches and rates at the forces, with their covariance, over the longest stretch of known loads."""

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
        model, places, ends = problem.physics, np.asarray(problem.forces, dtype=np.float64), np.eye(2 * n + 3 * f)
        by_motion = places.T @ np.hstack([model.system[n:], model.unknown[n:], np.zeros((n, 2 * f))])
        moved = np.asarray(problem.load)[self.part] @ model.input[n:].T + np.asarray(problem.ground)[self.part]
        self.acceleration = smoothed.means[self.part] @ by_motion.T + moved @ places
        # of stretch, rate, force and acceleration of each
        rows = np.array(
            [[ends[2 * n + f + e], ends[2 * n + 2 * f + e], ends[2 * n + e], by_motion[e]] for e in range(f)]
        )
        self.joint = np.einsum("eai,tij,ebj->teab", rows, smoothed.covariances[self.part], rows, optimize=True)
        self.one_dof = (places != 0.0).sum(axis=0) == 1
        rms = np.sqrt(np.mean(self.rate**2, axis=0))
        self.width = SIGN_WIDTH * np.where(rms > 0.0, rms, 1.0)
        self.regressed: dict[tuple[int, tuple[Term, ...]], tuple[Samples, Samples, float]] = {}
        self.least_yield = _LEAST_LIMIT * 0.5 * float(np.ptp(self.stretch, axis=0).min())

    @property
    def price(self) -> float:
        """By how much minus twice the log likelihood must fall for one more term."""
        return _STRONG + log(self.count)

    def unexplained(self, law: LawFit) -> bool:
        """Return whether a force of any shape is more probable than a law."""
        return -0.5 * law.criterion < self.log_evidence

    def doubtful(self, law: LawFit, e: int, one: Term) -> bool:
        """Return whether a law may do without a term of one force."""
        at = sum(map(len, law.laws[:e])) + law.laws[e].index(one)
        score = law.coefficients[at] / law.standard_errors[at]
        return not score**2 > _NEEDED * self.price

    def calm(self) -> ForceProblem | None:
        """Return the problem without the accelerations beside a change of a rate's sign; None where too few are left.

        Friction jumps there: on which side of it a sample is has no derivative.
        """
        near = np.abs(self.rate) <= _EITHER_SIDE * np.sqrt(np.maximum(self.joint[:, :, 1, 1], 0.0))
        near[1:] |= np.diff(np.sign(self.rate), axis=0) != 0.0
        beside = near.any(axis=1)
        beside[:-1] |= beside[1:].copy()
        jumps = np.array([each.quantity == "acceleration" for each in self.problem.sensors])
        if not jumps.any() or beside.mean() > 0.5:
            return None
        return self.problem.between(0, len(self.rate), beside[:, None] & jumps)

    def means(self, e: int, law: Sequence[Term], limit: float) -> Samples:
        """Return (t, k): each term's mean given the samples, that of one with memory at the recovered motion."""
        x, v, joint = np.ascontiguousarray(self.stretch[:, e]), self.rate[:, e], self.joint[:, e]
        remaining = np.empty(len(x))
        sd = np.sqrt(np.maximum(joint[:, 0, 0], 0.0))
        along = np.divide(joint[:, 0, 1], sd, out=np.zeros_like(sd), where=sd > 0.0)
        across = np.sqrt(np.maximum(joint[:, 1, 1] - along**2, 0.0))
        result = np.zeros((len(x), len(law)))
        for (a, wa), (b, wb) in product(zip(_NODES, _WEIGHTS, strict=True), repeat=2):
            xs, vs = x + a * sd, v + a * along + b * across
            for j, each in enumerate(law):
                if not each.exponent:
                    result[:, j] += wa * wb * each.of(xs, vs, self.width[e])
        for j, each in enumerate(law):
            if each.exponent == -2:
                result[:, j] = self.acceleration[:, e]
            if each.exponent > 0:
                hysteretic_displacement(x, limit, each.exponent, remaining)
                result[:, j] = remaining
        return result

    def variance(self, e: int, law: Sequence[Term], coefficients: Samples) -> Samples:
        """Return (t,): of force less law, where one with memory is as if it were known."""
        gradient = np.zeros((len(self.stretch), 4))
        gradient[:, 2] = -1.0
        for value, each in zip(coefficients.tolist(), law, strict=True):
            gradient[:, 3] += value * (each.exponent == -2)
            if each.exponent:
                continue
            by_x, by_v = each.slopes(self.stretch[:, e], self.rate[:, e], float(self.width[e]))
            gradient[:, 0] += value * by_x
            gradient[:, 1] += value * by_v
        total = np.einsum("ta,tab,tb->t", gradient, self.joint[:, e], gradient)
        return np.asarray(np.maximum(total, 1e-12 * max(float(total.max(initial=0.0)), 1e-300)))


@dataclass(frozen=True, eq=False)
class _LinearLaw(Unbounded):
    """Values of terms, (t, k), times coefficients."""

    values: Samples

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(map(str, range(self.values.shape[1])))

    def evaluate(self, parameters: Samples) -> tuple[Samples, Samples]:
        response = np.asarray(parameters @ self.values.T, dtype=np.float64)
        return response, np.broadcast_to(self.values, (len(parameters), *self.values.shape))


def _regressed(motion: _Motion, e: int, law: tuple[Term, ...]) -> tuple[Samples, Samples, float]:
    """Return coefficients, their standard errors, and the explained fraction of one force."""
    if (e, law) not in motion.regressed:
        limits = 0.5 * np.ptp(motion.stretch[:, e]) * _LIMITS if has_memory(law) else np.ones(1)
        found = [_regressed_at(motion, e, law, limit) for limit in limits.tolist()]
        motion.regressed[e, law] = max(found, key=lambda each: each[2])
    return motion.regressed[e, law]


def _regressed_at(motion: _Motion, e: int, law: tuple[Term, ...], limit: float) -> tuple[Samples, Samples, float]:
    """Return the same for a given yield displacement."""
    force, k = motion.force[:, e], len(law)
    whole = float(force @ force)
    if not k or whole == 0.0:
        return np.zeros(k), np.full(k, np.inf), 0.0
    values, coefficients, sd = motion.means(e, law, limit), np.zeros(k), np.ones(len(force))
    size = np.maximum(np.sqrt(np.mean(values**2, axis=0)), 1e-300)
    for _ in range(_REWEIGHTED):
        sd = np.sqrt(motion.variance(e, law, coefficients))
        coefficients = np.linalg.lstsq(values / size / sd[:, None], force / sd, rcond=1e-10)[0] / size
    left = force - values @ coefficients
    errors = np.full(k, np.nan)
    if len(force) > k:
        found = fit(_LinearLaw(values / size / sd[:, None]), force / sd, coefficients * size)
        correlated = found.correlated_standard_errors
        errors = np.where(np.isfinite(correlated), correlated, found.standard_errors) / size
    limited = [each.exponent == -1 for each in law]
    # of a yield displacement the curve gives no error
    coefficients[limited], errors[limited] = limit, np.nan
    return coefficients, errors, 1.0 - float(left @ left) / whole


def _fitted(motion: _Motion, laws: Laws, near: LawFit | None = None) -> LawFit:
    """Return the fit of laws from the curve fit on, or from another law's of as many terms."""
    problem, recovered = motion.problem, motion.recovered
    by_force = [_regressed(motion, e, law) for e, law in enumerate(laws)]
    start = np.concatenate([one[0] for one in by_force])
    curve = CurveFit(start, np.concatenate([one[1] for one in by_force]), np.array([one[2] for one in by_force]))
    response = LawResponse(problem, laws, recovered.sigma)
    n, k, names = problem.structure.dofs, len(start), response.names
    first = np.zeros(len(names) - k)
    first[: 2 * n] = recovered.smoothed.means[motion.part.start, : 2 * n]
    limits = np.array([each.exponent == -1 for law in laws for each in law], dtype=bool)
    starts = [np.concatenate([begin, first]) for begin in (start, np.where(limits, start, 0.0))]
    if near is not None and near.fit is not None:
        starts.insert(0, near.fit.parameters)
    found = None
    for begin in starts:
        try:
            found, noise = _searched(motion, laws, begin)
            break
        except ValueError:
            # the motion diverges from there
            if len(response.observed) <= len(names):
                raise
    if found is None:
        diverged = np.full(len(problem.sensors), np.nan)
        return LawFit(laws, names[:k], start, curve.standard_errors, curve, None, diverged, np.inf, curve.explained)
    samples = np.isfinite(problem.observed).sum(axis=0)
    squares = found.sum_of_squares if recovered.sigma_known else float(motion.count)
    criterion = squares + float(samples @ np.log(2.0 * np.pi * noise**2))
    criterion += (len(names) + (0 if recovered.sigma_known else len(noise))) * log(motion.count)
    coefficients, explained, place = found.parameters[:k], [], 0
    for e, law in enumerate(laws):
        force, own = motion.force[:, e], coefficients[place : place + len(law)]
        limit = next((value for value, each in zip(own.tolist(), law, strict=True) if each.exponent == -1), 1.0)
        forces = motion.means(e, law, limit) * [each.exponent != -1 for each in law]
        left, place = force - forces @ own, place + len(law)
        explained.append(1.0 - float(left @ left) / max(float(force @ force), 1e-300))
    errors = found.standard_errors[:k]
    return LawFit(laws, names[:k], coefficients, errors, curve, found, noise, float(criterion), np.array(explained))


def _searched(motion: _Motion, laws: Laws, at: Samples) -> tuple[Fit, Samples]:
    """Return the fit to the raw samples from a start on, and the noise: the law's own where it is not known."""
    known, noise, calm = motion.recovered.sigma_known, motion.recovered.sigma, None
    noise = np.broadcast_to(noise, len(motion.problem.sensors))
    options = {"sigma": 1.0 if known else None, "most_iterations": _ITERATIONS}
    if any(each.v_odd and not each.v_power for law in laws for each in law):
        calm = motion.calm()
    for turn in range(1 if known else _NOISES):
        if calm is not None:
            response = LawResponse(calm, laws, noise, motion.least_yield)
            smooth = fit(response, response.observed, at, **options)
            at = smooth.parameters
        response = LawResponse(motion.problem, laws, noise, motion.least_yield)
        found = fit(response, response.observed, at, **options)
        if calm is not None and smooth.converged and not found.converged:
            # only a sample beside a jump kept it from rest
            found = replace(
                found, converged=True, covariance=smooth.covariance,
                correlated_covariance=smooth.correlated_covariance,
            )  # fmt: skip
        samples = np.bincount(response.sensor)
        left = np.sqrt(np.bincount(response.sensor, found.residuals[0] ** 2) / samples)
        if known or turn + 1 == _NOISES or np.abs(left - 1.0).max() < _SAME_NOISE:
            break
        noise, at = noise * np.maximum(left, 1e-9), found.parameters
    return found, noise if known else noise * np.maximum(left, 1e-9)
