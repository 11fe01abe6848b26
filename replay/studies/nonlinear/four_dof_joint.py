"""Stiffnesses and an unknown force together: the likelihood of a record in which the force may be anything smooth."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize

from monitor.messages.blocks import Samples
from replay.studies.nonlinear.four_dof_record import SPRINGS, FourMassRecord, without_cubic
from sim.identification.identifiability import ConfoundedGroup, confounded_groups
from sim.identification.missing_force.force_prior import Matern
from sim.identification.missing_force.smoother import ForceProblem, SmoothedForce, characteristic_rate
from sim.identification.missing_force.state_space import Sensor
from sim.laboratory.structure import Structure
from sim.models.chain import Chain

# mass 1, on the internal side
_PLACE = np.eye(4)[:, :1]
# amplitude of the force's prior over the largest inertia force, and its length in periods of the motion over 2 pi:
# so wide that stiffnesses are not drawn to where the missing force is least, which a fitted amplitude would do
_WIDE, _LENGTH = 50.0, 3.0
_ORDER = 2
# of a parameter: steps of the second differences; stiffnesses relative to nominal, and the logarithm of the noise
_STEPS = np.array([1e-3, 1e-3, 1e-3, 1e-3, 1e-2])
_FIRST_NOISE = 0.05  # over the rms of a sensor


@dataclass(frozen=True, slots=True, eq=False)
class JointEstimate:
    """Stiffnesses found while the force on mass 1 is unknown, and that force.

    Parameters
    ----------
    percent, standard_errors : (4,), of nominal; NaN for what cannot be told from a force on mass 1.
    confounded : in words, which cannot, and why.
    noise : found, over the rms of each sensor.
    held : value at which what is not identifiable was held, percent.
    force : on mass 1, with the displacements, at the estimate; its prior is the one that makes the record most likely.
    evaluations : of the likelihood.
    seconds : of the search and the standard errors.
    """

    percent: Samples
    standard_errors: Samples
    confounded: tuple[str, ...]
    noise: float
    held: float
    force: SmoothedForce
    evaluations: int
    seconds: float


def identify_jointly(record: FourMassRecord, held: float = 100.0) -> JointEstimate:
    """Find stiffnesses by the marginal likelihood of the record, with an unknown force on mass 1.

    The force is a Gaussian process of so wide a prior that only its smoothness is assumed, and it is integrated out
    (Kalman filter); BFGS of scipy searches, and standard errors are those of the inverse of the second derivatives.

    Parameters
    ----------
    record : of which cubic spring and force on mass 1 are not used.
    held : percent of nominal, for stiffnesses that cannot be identified.
    """
    start = time.perf_counter()
    likelihood = _Likelihood(record)
    blind = confounded_with_force(likelihood.chain, _PLACE)
    free = [i for i, name in enumerate(SPRINGS) if name not in {each for group in blind for each in group.names}]
    first = np.concatenate([np.ones(len(free)), [np.log(_FIRST_NOISE)]])

    def cost(parameters: Samples) -> float:
        return -likelihood.of(_whole(parameters[:-1], free, held), float(parameters[-1]))

    found = minimize(cost, first, method="BFGS", options={"gtol": 0.1})
    curvature = _second_differences(cost, found.x, _STEPS[[*free, 4]])
    percent, errors = np.full(4, np.nan), np.full(4, np.nan)
    percent[free] = 100.0 * found.x[:-1]
    errors[free] = 100.0 * np.sqrt(np.diag(np.linalg.inv(curvature)))[:-1]
    seconds = time.perf_counter() - start
    force = likelihood.recover(_whole(found.x[:-1], free, held), float(found.x[-1]))
    words = tuple(f"{group}: a force on mass 1 does the same" for group in blind)
    return JointEstimate(
        percent, errors, words, float(np.exp(found.x[-1])), held, force, likelihood.evaluations, seconds
    )


def confounded_with_force(chain: Chain, places: Samples) -> tuple[ConfoundedGroup, ...]:
    """Return which springs of a chain cannot be told from unknown forces, whatever is measured.

    A change dk of a spring is a force -dk B x, with B its part of the stiffness matrix. Where the columns of B are
    among the places of the forces, the force makes up for it exactly.

    Parameters
    ----------
    places : (n, f): what one newton of each force does at each mass.
    """
    rows = chain.incidence()
    parts = rows[:, :, None] * rows[:, None, :]
    beyond = np.eye(len(places)) - places @ np.linalg.pinv(places)
    seen = (beyond @ parts).reshape(len(rows), -1)
    names = [f"k{i + 1}" for i in range(len(rows))]
    ranges = np.full(len(rows), np.inf)
    return confounded_groups(names, np.asarray(chain.springs, dtype=np.float64), seen @ seen.T, 1.0, ranges)


class _Likelihood:
    """Of a record, as a function of stiffnesses and the noise."""

    def __init__(self, record: FourMassRecord) -> None:
        self.record, self.chain = record, without_cubic(record.nominal)
        self.evaluations = 0
        inertia = float(np.max(np.asarray(record.nominal.masses))) * float(record.rms.max())
        rate = characteristic_rate(record.time, record.observed)
        self._wide = Matern(_WIDE * inertia, _LENGTH / rate, _ORDER)

    def of(self, stiffness: Samples, log_noise: float) -> float:
        """Return the log likelihood.

        Parameters
        ----------
        stiffness : (4,) of nominal.
        log_noise : logarithm of the noise over the rms of each sensor.
        """
        self.evaluations += 1
        return self._problem(stiffness).log_likelihood([self._wide], np.exp(log_noise) * self.record.rms)

    def recover(self, stiffness: Samples, log_noise: float) -> SmoothedForce:
        """Return the force with amplitude and length that make the record most likely."""
        problem, noise = self._problem(stiffness), np.exp(log_noise) * self.record.rms

        def cost(logs: Samples) -> float:
            return -problem.log_likelihood([Matern(*np.exp(logs).tolist(), _ORDER)], noise)

        first = np.log([self._wide.amplitude / _WIDE, self._wide.length / _LENGTH])
        best = minimize(cost, first, method="Nelder-Mead", options={"xatol": 0.02, "fatol": 0.02})
        return problem.smooth([Matern(*np.exp(best.x).tolist(), _ORDER)], noise)

    def _problem(self, stiffness: Samples) -> ForceProblem:
        mass, damping, matrix = replace(self.chain, springs=self.chain.springs * stiffness).matrices
        sensors = [Sensor(each, "acceleration") for each in self.record.sensors]
        # it is at rest at first
        return ForceProblem(
            Structure(mass, damping, matrix),
            _PLACE,
            self.record.time,
            self.record.load,
            sensors,
            self.record.observed,
            initial_sd=np.zeros(8),
        )


def _whole(free_values: Samples, free: Sequence[int], held: float) -> Samples:
    whole = np.full(len(SPRINGS), held / 100.0)
    whole[list(free)] = free_values
    return whole


def _second_differences(cost, at: Samples, steps: Samples) -> Samples:
    """Return (p, p), the second derivatives, by central differences."""
    p, moves = len(at), np.diag(steps)
    found = np.empty((p, p))
    for i in range(p):
        for j in range(i + 1):
            corners = [(a, b, a * b) for a in (1, -1) for b in (1, -1)]
            whole = sum(sign * cost(at + a * moves[i] + b * moves[j]) for a, b, sign in corners)
            found[i, j] = found[j, i] = whole / (4.0 * steps[i] * steps[j])
    return found
