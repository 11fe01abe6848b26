"""The springs of the eight masses by the likelihood of a record, the internal force on each mass being unknown."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from monitor.messages.blocks import Samples
from replay.studies.nonlinear.eight_dof_tests import TIME_SENSORS, Case, VirtualTest, virtual_bed
from sim.missing_force.marginal_fit import Hypothesis, fit_beside_forces, force_on_chain
from sim.missing_force.state_space import Matern

# s: of the unknown forces, shorter than the shortest period; of order 0, as friction jumps
_LENGTH, _ORDER = 6e-3, 0
# at first, N s/m and N, and within which they are sought
_DAMPER, _FORCE = (5.0, 0.1, 50.0), (0.5, 1e-3, 50.0)
_OPTIONS = {"maxiter": 25, "ftol": 1e-5}


@dataclass(frozen=True, slots=True, eq=False)
class UnknownForceFit:
    """Springs found while the forces are unknown.

    Parameters
    ----------
    springs : (7,), N/m.
    damper : N s/m, of all.
    force : N, standard deviation of the unknown force on each mass.
    converged : whether the search did.
    """

    springs: Samples
    damper: float
    force: float
    converged: bool


def fit_with_unknown_forces(test: VirtualTest, window: int, spread: float) -> UnknownForceFit:
    """Return the springs of the most probable linear model with eight unknown forces.

    Parameters
    ----------
    test : whose masses are at rest at first.
    window : number of samples.
    spread : of the springs, relative to the nominal ones: bounds, and standard deviation of their prior.

    Raises
    ------
    ValueError : the likelihood is not finite at the nominal springs.
    """
    record, noise = test.at(TIME_SENSORS, window)
    nominal = virtual_bed(Case.NEITHER).chain
    stiffness, n = np.asarray(nominal.springs), nominal.dofs
    time: Samples = test.bed.dt * np.arange(window, dtype=np.float64)

    def hypothesis(parameters: Samples) -> Hypothesis:
        shares, (damper, force) = parameters[:-2], np.exp(parameters[-2:]).tolist()
        chain = replace(nominal, springs=shares * stiffness, dampers=damper)
        problem = force_on_chain(chain, np.eye(n, dtype=np.float64), time, test.load[:window], TIME_SENSORS, record)
        return Hypothesis(problem, [Matern(force, _LENGTH, _ORDER)] * n, noise)

    def penalty(parameters: Samples) -> float:
        return 0.5 * float(np.sum(((parameters[:-2] - 1.0) / spread) ** 2))

    start = np.concatenate([np.ones(len(stiffness)), np.log([_DAMPER[0], _FORCE[0]])])
    bounds = [(1.0 - spread, 1.0 + spread)] * len(stiffness) + [
        (float(np.log(low)), float(np.log(high))) for _, low, high in (_DAMPER, _FORCE)
    ]
    found = fit_beside_forces(hypothesis, start, penalty=penalty, bounds=bounds, **_OPTIONS)
    damper, force = np.exp(found.parameters[-2:]).tolist()
    return UnknownForceFit(found.parameters[:-2] * stiffness, damper, force, found.converged)
