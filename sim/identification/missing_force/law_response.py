"""A structure with force laws as a regression on raw samples: coefficients and the first state are fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sim.arrays import Flags, Integers, Samples
from sim.identification.missing_force.law_terms import Term
from sim.identification.missing_force.smoother import ForceProblem
from sim.identification.missing_force.state_space import QUANTITIES
from sim.identification.regression import unbounded
from sim.laboratory.structure import highest_frequency
from sim.motion.force_laws import law_motion

# largest phase of the highest mode per Runge-Kutta step: the error of its phase is 1e-6 per radian
_PHASE = 0.1


@dataclass(frozen=True, eq=False)
class LawResponse:
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
    def lower(self) -> Samples:
        """(p,)."""
        return -unbounded(len(self.names))

    @property
    def upper(self) -> Samples:
        """(p,)."""
        return unbounded(len(self.names))

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
        return (
            np.stack(response, axis=-1)[:, self._sampled],
            np.stack(sensitivities, axis=2)[:, self._sampled],
        )
