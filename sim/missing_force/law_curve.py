"""The motion at the forces as it was recovered, and curves over it: a regression that proposes laws."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sim.arrays import Samples
from sim.missing_force.law_terms import SIGN_WIDTH, Term, has_memory, hysteretic_displacement
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
