"""The springs of the eight masses by the likelihood of a record, the internal force on each mass being unknown."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize

from monitor.messages.blocks import Samples
from replay.studies.nonlinear.eight_dof_tests import TIME_SENSORS, Case, VirtualTest, virtual_bed
from sim.identification.missing_force.force_prior import Matern
from sim.identification.missing_force.smoother import ForceProblem
from sim.identification.missing_force.state_space import Sensor
from sim.laboratory.structure import Structure

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
    sensors = [Sensor(each, "acceleration") for each in TIME_SENSORS]

    def cost(parameters: Samples) -> float:
        shares, (damper, force) = parameters[:-2], np.exp(parameters[-2:]).tolist()
        chain = replace(nominal, springs=shares * stiffness, dampers=damper)
        problem = ForceProblem(
            Structure(*chain.matrices),
            np.eye(n, dtype=np.float64),
            time,
            test.load[:window],
            sensors,
            record,
            initial_sd=np.zeros(2 * n),
        )
        prior = 0.5 * float(np.sum(((shares - 1.0) / spread) ** 2))
        return prior - problem.log_likelihood([Matern(force, _LENGTH, _ORDER)] * n, noise)

    start = np.concatenate([np.ones(len(stiffness)), np.log([_DAMPER[0], _FORCE[0]])])
    if not np.isfinite(cost(start)):
        raise ValueError("unknown forces: the likelihood at the nominal springs is not finite")
    bounds = [(1.0 - spread, 1.0 + spread)] * len(stiffness) + [
        (float(np.log(low)), float(np.log(high))) for _, low, high in (_DAMPER, _FORCE)
    ]
    # its overloads are by method
    search: Any = minimize
    found = search(cost, start, method="L-BFGS-B", bounds=bounds, options=_OPTIONS)
    damper, force = np.exp(found.x[-2:]).tolist()
    return UnknownForceFit(found.x[:-2] * stiffness, damper, force, bool(found.success))
