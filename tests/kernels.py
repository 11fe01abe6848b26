"""Compiles the kernels before the tests, beside the checks of `make test`: no two workers compile the same one.

`python -m tests.kernels ship` loads them, and moves what it has loaded into the packages for `make wheel`.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import numpy as np

from gui.model.formula import SecondOrderFilter
from monitor.alarms.monitor import warm_up as warm_up_alarms
from monitor.commands.output import compilation_progress
from monitor.compensation.recursive_inverse import RecursiveInverse
from monitor.config import IndicatorSettings
from monitor.embedding.compensation import EmbeddedCompensator
from monitor.embedding.reliability import EmbeddedReliability, step_reliability
from monitor.embedding.tracking import EmbeddedTracking, step_tracking
from monitor.engine.monitor import warm_up
from monitor.indicators.frequency_evaluation import frequency_evaluation_index
from monitor.kernel import report_compilation
from monitor.kernel_cache import LOADED, SHIPPED
from monitor.reliability.ensemble import sort_ensemble
from monitor.reliability.joint import JointReliability
from monitor.reliability.site import SiteReliability
from monitor.reliability.tolerance import Tolerance, TolerancePolicy
from replay.simulations.models import MODELS, ensemble_model
from sim.laboratory.structure import Structure
from sim.missing_force.law_fit import fit_law
from sim.missing_force.recovery import recover_force
from sim.missing_force.smoother import ForceProblem
from sim.missing_force.state_space import Sensor
from sim.models.delay_equation import solve
from sim.updating.shock_spectrum import shock_spectrum

ROOT = Path(__file__).parents[1]


@cache
def compile_all() -> None:
    """Run everything that has a kernel once, on little."""
    warm_up(reliability=True)
    warm_up_alarms()
    one = np.ones(1)
    frequency_evaluation_index(np.sin(np.arange(64.0)), np.cos(np.arange(64.0)), 100.0)
    tracking = EmbeddedTracking(IndicatorSettings(measures=("fdb", "paei"), window=0.5), 100.0, with_force=True)
    step_tracking(tracking.state, one, one, one, 0, tracking.new_row())
    ensemble = sort_ensemble(0.01 * np.arange(4.0), np.ones((4, 3)))
    tolerance = Tolerance(TolerancePolicy.ABSOLUTE, 0.1)
    EmbeddedCompensator(RecursiveInverse(), 1000.0)
    reliability = EmbeddedReliability(ensemble, tolerance, 2)
    state, response, order = reliability.state, reliability.response, reliability.order
    step_reliability(state, response, order, np.ones(2), 0, reliability.new_row())
    instants, measured = np.arange(4), np.ones((4, 1))
    SiteReliability(ensemble, tolerance).update(instants, measured)
    JointReliability([ensemble] * 2, [tolerance] * 2, [1, 1]).update(instants, [measured] * 2)
    compensator = RecursiveInverse().begin(0.001)
    for _ in range(100):
        compensator.compensate(one)
        compensator.observe(one, one)
    SecondOrderFilter(2.0, 10.0)(np.ones(4))
    solve(np.ones(1), [[-1.0, -1.0, 1.0, 1.0, 0.5]])
    for name in MODELS:
        ensemble_model(name).realize(np.random.default_rng(1), 1)
    shock = np.sin(np.arange(200.0))
    shock_spectrum(shock, 1000.0)
    problem = ForceProblem(
        Structure(1.0, 0.1, 1.0),
        forces=[[1.0]],
        time=0.2 * np.arange(40.0),
        load=np.zeros((40, 1)),
        sensors=(Sensor(1),),
        observed=np.sin(0.2 * np.arange(40.0))[:, None],
    )
    fit_law(problem, recover_force(problem, sigma=0.01), [["x^3"]])


def ship() -> None:
    """Move what is loaded into the packages: not what is only contained in other kernels, three quarters of all."""
    compile_all()
    for path in LOADED:
        folder = ROOT / path.name.partition(".")[0] / SHIPPED
        folder.mkdir(exist_ok=True)
        path.rename(folder / path.name)


if __name__ == "__main__":
    if sys.argv[1:] == ["ship"]:
        ship()
    else:
        with compilation_progress() as show, report_compilation(show):
            compile_all()
