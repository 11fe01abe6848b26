"""Laws of a recovered force: a given one, or the best of a dictionary, refined on the raw samples.

For that a structure with force laws is a regression, of which coefficients and the first state are fitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from math import log

import numpy as np

from sim.arrays import Flags, Integers, Samples
from sim.fitting.fit import Fit, fit
from sim.fitting.regression import Unbounded
from sim.laboratory.structure import highest_frequency
from sim.missing_force.law_terms import DICTIONARY, SIGN_WIDTH, Term, terms
from sim.missing_force.recovery import RecoveredForce
from sim.missing_force.smoother import ForceProblem
from sim.missing_force.state_space import QUANTITIES
from sim.motion.force_laws import law_motion

# Gauss-Hermite of three points: exact to the fifth power
_NODES, _WEIGHTS = np.array([-np.sqrt(3.0), 0.0, np.sqrt(3.0)]), np.array([1.0, 4.0, 1.0]) / 6.0
_REWEIGHTED = 4
# terms with the largest gain in the curve fit that are tried on the raw samples
_TRIED = 3
# pairs of terms that are tried where one more term explains too little
_PAIRS = 4
# residuals over the noise: above, something is still missing
_UNEXPLAINED = 1.1
# by how much the information criterion must fall for one more term: strong evidence (Kass and Raftery, 1995)
_STRONG = 6.0

Laws = tuple[tuple[Term, ...], ...]
# largest phase of the highest mode per Runge-Kutta step: the error of its phase is 1e-6 per radian
_PHASE = 0.1


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
    fit : with the first state, residuals over the sensors' noise; None where the model with this law diverges.
    criterion : Bayesian information criterion, less is better.
    explained : (f,) of the mean square of each recovered force, at the coefficients.
    """

    laws: Laws
    names: tuple[str, ...]
    coefficients: Samples
    standard_errors: Samples
    curve: CurveFit
    fit: Fit | None
    criterion: float
    explained: Samples

    @property
    def score(self) -> float:
        """By which laws are ranked: the criterion, and what each term must gain beyond it."""
        return self.criterion + _STRONG * len(self.names)

    def of(self, name: str) -> float:
        """Return one coefficient."""
        return float(self.coefficients[self.names.index(name)])


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


def find_laws(
    problem: ForceProblem,
    recovered: RecoveredForce,
    dictionary: Sequence[str | Term] = DICTIONARY,
    *,
    most_terms: int = 3,
) -> tuple[LawFit, ...]:
    """Return laws of terms of a dictionary that were tried on the raw samples, the best first.

    Terms are added one by one: those of the largest gain in the curve fit are tried, and the best one stays if the
    information criterion falls by 6, strong evidence; then each is left out again where that makes too little worse.
    While more is left than the noise the pairs of largest gain are tried, too: either may explain nothing alone.

    Parameters
    ----------
    most_terms : of each force.
    """
    motion, candidates, f = _Motion(problem, recovered), terms(dictionary), problem.n_forces
    best = _fitted(motion, ((),) * f)
    tried = {best.laws: best}
    if f > 1:
        # several cannot be assessed one without the others: each begins with the term that explains it best
        proposed = [[law for _, law in _proposed(motion, e, (), candidates)] for e in range(f)]
        best = min(best, _once(motion, tried, tuple(laws[0] for laws in proposed)), key=lambda each: each.score)
        for e, law in [(place, law) for place in range(f) for law in proposed[place][1:]]:
            best = min(best, _once(motion, tried, _replaced(best.laws, e, law)), key=lambda each: each.score)
    for _ in range(most_terms * f):
        before = best
        for e in range(f):
            if len(before.laws[e]) < most_terms:
                for _, law in _proposed(motion, e, before.laws[e], candidates):
                    one = _once(motion, tried, _replaced(before.laws, e, law))
                    best = min(best, one, key=lambda each: each.score)
        for e in range(f if _unexplained(best) else 0):
            if len(before.laws[e]) + 2 <= most_terms:
                for law in _proposed_pairs(motion, e, before.laws[e], candidates):
                    one = _once(motion, tried, _replaced(before.laws, e, law))
                    best = min(best, one, key=lambda each: each.score)
        for e, law in enumerate(best.laws):
            for left_out in law if sum(map(len, best.laws)) > 1 else ():
                rest = tuple(each for each in law if each != left_out)
                best = min(best, _once(motion, tried, _replaced(best.laws, e, rest)), key=lambda each: each.score)
        if best is before:
            break
    return tuple(sorted(tried.values(), key=lambda each: each.score))


def _proposed(
    motion: _Motion, e: int, law: tuple[Term, ...], candidates: Sequence[Term]
) -> list[tuple[float, tuple[Term, ...]]]:
    """Return the laws of one more term that explain most of a recovered force, the best first."""
    longer = [(*law, extra) for extra in candidates if extra not in law]
    gains = [(_regressed(motion, e, each)[2], each) for each in longer]
    return sorted(gains, key=lambda gain: -gain[0])[:_TRIED]


def _proposed_pairs(
    motion: _Motion, e: int, law: tuple[Term, ...], candidates: Sequence[Term]
) -> list[tuple[Term, ...]]:
    """Return laws of two more terms that explain most of a recovered force, the best first."""
    pairs = [(*law, *pair) for pair in combinations([each for each in candidates if each not in law], 2)]
    return sorted(pairs, key=lambda each: -_regressed(motion, e, each)[2])[:_PAIRS]


def _unexplained(law: LawFit) -> bool:
    """Return whether a law leaves more than the sensors' noise, known or estimated with the force."""
    return law.fit is None or law.fit.sigma > _UNEXPLAINED


def _replaced(laws: Laws, e: int, law: tuple[Term, ...]) -> Laws:
    return (*laws[:e], law, *laws[e + 1 :])


def _once(motion: _Motion, tried: dict[Laws, LawFit], laws: Laws) -> LawFit:
    # the order of terms does not matter
    laws = tuple(tuple(sorted(law, key=lambda each: each.name)) for law in laws)
    if laws not in tried:
        tried[laws] = _fitted(motion, laws)
    return tried[laws]


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
        n = problem.structure.dofs
        smoothed = recovered.smoothed
        f = problem.n_forces
        self.stretch = smoothed.means[self.part, 2 * n + f : 2 * n + 2 * f]
        self.rate = smoothed.means[self.part, 2 * n + 2 * f :]
        self.force = smoothed.force[self.part]
        # of stretch, rate and force of each
        at = 2 * n + np.array([[f + e, 2 * f + e, e] for e in range(f)])
        self.joint = smoothed.covariances[self.part][:, at[:, :, None], at[:, None, :]]
        rms = np.sqrt(np.mean(self.rate**2, axis=0))
        self.width = SIGN_WIDTH * np.where(rms > 0.0, rms, 1.0)

    def means(self, e: int, law: Sequence[Term]) -> Samples:
        """Return (t, k): each term's mean given the samples."""
        x, v, joint = self.stretch[:, e], self.rate[:, e], self.joint[:, e]
        sd = np.sqrt(np.maximum(joint[:, 0, 0], 0.0))
        along = np.divide(joint[:, 0, 1], sd, out=np.zeros_like(sd), where=sd > 0.0)
        across = np.sqrt(np.maximum(joint[:, 1, 1] - along**2, 0.0))
        result = np.zeros((len(x), len(law)))
        for (a, wa), (b, wb) in product(zip(_NODES, _WEIGHTS, strict=True), repeat=2):
            xs, vs = x + a * sd, v + a * along + b * across
            for j, each in enumerate(law):
                result[:, j] += wa * wb * each.of(xs, vs, self.width[e])
        return result

    def variance(self, e: int, law: Sequence[Term], coefficients: Samples) -> Samples:
        """Return (t,): of force less law."""
        gradient = np.zeros((len(self.stretch), 3))
        gradient[:, 2] = -1.0
        for value, each in zip(coefficients.tolist(), law, strict=True):
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


def _regressed(motion: _Motion, e: int, law: Sequence[Term]) -> tuple[Samples, Samples, float]:
    """Return coefficients, their standard errors, and the explained fraction of one force."""
    force, k = motion.force[:, e], len(law)
    whole = float(force @ force)
    if not k or whole == 0.0:
        return np.zeros(k), np.full(k, np.inf), 0.0
    values, coefficients, sd = motion.means(e, law), np.zeros(k), np.ones(len(force))
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
    return coefficients, errors, 1.0 - float(left @ left) / whole


def _fitted(motion: _Motion, laws: Laws) -> LawFit:
    problem, recovered = motion.problem, motion.recovered
    by_force = [_regressed(motion, e, law) for e, law in enumerate(laws)]
    start = np.concatenate([one[0] for one in by_force])
    curve = CurveFit(start, np.concatenate([one[1] for one in by_force]), np.array([one[2] for one in by_force]))
    response = LawResponse(problem, laws, recovered.sigma)
    k, first = len(start), recovered.smoothed.means[motion.part.start, : 2 * problem.structure.dofs]
    names = response.names[:k]
    known = 1.0 if recovered.sigma_known else None
    found = None
    for begin in (start, np.zeros(k)):
        try:
            found = fit(response, response.observed, np.concatenate([begin, first]), sigma=known)
            break
        except ValueError:
            # the motion diverges from there
            if len(response.observed) <= len(response.names):
                raise
    if found is None:
        return LawFit(laws, names, start, curve.standard_errors, curve, None, np.inf, curve.explained)
    n, squares = len(response.observed), found.sum_of_squares
    criterion = (squares if recovered.sigma_known else n * log(max(squares, 1e-300) / n)) + k * log(n)
    coefficients, explained, place = found.parameters[:k], [], 0
    for e, law in enumerate(laws):
        force, own = motion.force[:, e], coefficients[place : place + len(law)]
        left, place = force - motion.means(e, law) @ own, place + len(law)
        explained.append(1.0 - float(left @ left) / max(float(force @ force), 1e-300))
    errors = found.standard_errors[:k]
    return LawFit(laws, names, coefficients, errors, curve, found, float(criterion), np.array(explained))


@dataclass(frozen=True, eq=False)
class LawResponse(Unbounded):
    """What the sensors of a problem would measure if the missing forces had laws, each sample over its noise.

    The sign of a rate is Coulomb's: it jumps, and holds a rate at zero. Sensitivities are exact, to the error of the
    integration. A motion that diverges has infinite responses.

    Parameters
    ----------
    problem : structure, load, sensors and samples. All loads must be known.
    laws : for each force its terms.
    sigma : (s,) standard deviations of the sensors.

    Raises
    ------
    ValueError : a load is not known, or there is not one law for each force.
    """

    problem: ForceProblem
    laws: Sequence[Sequence[Term]]
    sigma: Samples
    _shape: Integers = field(init=False)
    _at: Integers = field(init=False)
    _sampled: Flags = field(init=False)
    _substeps: Integers = field(init=False)

    def __post_init__(self) -> None:
        problem = self.problem
        if len(self.laws) != problem.n_forces:
            raise ValueError(f"law response: {len(self.laws)} laws of {problem.n_forces} forces: give one each")
        if not np.all(np.isfinite(np.asarray(problem.load))):
            raise ValueError("law response: the load is not finite everywhere: give a stretch in which it is known")
        rows = [[t.x_power, t.x_odd, t.v_power, t.v_odd] for law in self.laws for t in law]
        object.__setattr__(self, "_shape", np.array(rows, dtype=np.int64).reshape(-1, 4))
        at = [e for e, law in enumerate(self.laws) for _ in law]
        object.__setattr__(self, "_at", np.array(at, dtype=np.int64))
        object.__setattr__(self, "_sampled", np.isfinite(problem.observed))
        mass, _, stiffness = problem.structure.matrices
        phase = 2.0 * np.pi * highest_frequency(mass, stiffness) * np.diff(problem.time)
        object.__setattr__(self, "_substeps", np.maximum(1, np.ceil(phase / _PHASE)).astype(np.int64))

    @property
    def names(self) -> tuple[str, ...]:
        """Of coefficients, with the number of the force where there are several, then x0_1.., v0_1..."""
        several = len(self.laws) > 1
        terms = [t.name + f" ({e + 1})" * several for e, law in enumerate(self.laws) for t in law]
        n = self.problem.structure.dofs
        return (*terms, *(f"{name}0_{dof + 1}" for name in "xv" for dof in range(n)))

    @property
    def observed(self) -> Samples:
        """(n,): the samples that are not missing over their noise, time after time."""
        return np.asarray((self.problem.observed / self.sigma)[self._sampled])

    def motion(self, parameters: Samples) -> tuple[Samples, Samples, Samples, Samples]:
        """Return states (m, N, 2 n), forces (m, N, f), and derivatives of both by (m, p) parameters."""
        problem, parameters = self.problem, np.ascontiguousarray(np.atleast_2d(parameters), dtype=np.float64)
        n, (m, p), count = problem.structure.dofs, parameters.shape, len(problem.time)
        state, by = np.empty((m, count, 2 * n)), np.empty((m, count, 2 * n, p))
        forces, forces_by = np.empty((m, count, problem.n_forces)), np.empty((m, count, problem.n_forces, p))
        load = np.ascontiguousarray(np.asarray(problem.load) @ problem.physics.input[n:].T)
        law_motion(
            problem.physics.system, np.ascontiguousarray(problem.physics.unknown[n:]),
            np.ascontiguousarray(problem.forces, dtype=np.float64), self._shape, self._at,
            load, problem.time, self._substeps, parameters,
            state, by, forces, forces_by,
        )  # fmt: skip
        return state, forces, by, forces_by

    def evaluate(self, parameters: Samples) -> tuple[Samples, Samples]:
        """Return responses, (m, n), and their derivatives, (m, n, p)."""
        state, forces, by, forces_by = self.motion(parameters)
        by_state, _, by_force = self.problem.physics.acceleration
        n = self.problem.structure.dofs
        response, sensitivities = [], []
        for sensor, sigma in zip(self.problem.sensors, self.sigma.tolist(), strict=True):
            at = sensor.dof - 1
            if sensor.quantity == "acceleration":
                # what the load adds at once is not in the samples of the problem
                one = state @ by_state[at] + forces @ by_force[at]
                each = np.einsum("d,mtdp->mtp", by_state[at], by) + np.einsum("f,mtfp->mtp", by_force[at], forces_by)
            else:
                row = at + n * QUANTITIES.index(sensor.quantity)
                one, each = state[..., row], by[..., row, :]
            response.append(one / sigma)
            sensitivities.append(each / sigma)
        return (np.stack(response, axis=-1)[:, self._sampled], np.stack(sensitivities, axis=2)[:, self._sampled])
