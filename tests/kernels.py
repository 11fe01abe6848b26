"""Compiles the kernels before the tests, beside the checks of `make test`: no two workers compile the same one."""

from __future__ import annotations

import numpy as np

from monitor.config import IndicatorSettings
from monitor.embedding.reliability import EmbeddedReliability, step_reliability
from monitor.embedding.tracking import EmbeddedTracking, step_tracking
from monitor.engine.monitor import warm_up
from monitor.reliability.ensemble import sort_ensemble
from monitor.reliability.tolerance import Tolerance, TolerancePolicy
from replay.simulations.models import ensemble_model, model_names
from sim.identification.correlation.shock_spectrum import shock_spectrum
from sim.identification.missing_force.law_fit import fit_law
from sim.identification.missing_force.recovery import recover_force
from sim.identification.missing_force.smoother import ForceProblem
from sim.identification.missing_force.state_space import Sensor
from sim.laboratory.structure import Structure


def main() -> None:
    """Run everything that has a kernel once, on little."""
    warm_up(reliability=True)
    one = np.ones(1)
    tracking = EmbeddedTracking(IndicatorSettings(measures=("fdb", "paei"), window=0.5), 100.0, with_force=True)
    step_tracking(tracking.state, one, one, one, 0, tracking.new_row())
    ensemble = sort_ensemble(0.01 * np.arange(4.0), np.ones((4, 3)))
    reliability = EmbeddedReliability(ensemble, Tolerance(TolerancePolicy.ABSOLUTE, 0.1), 2)
    state, response, order = reliability.state, reliability.response, reliability.order
    step_reliability(state, response, order, np.ones(2), 0, reliability.new_row())
    for name in model_names():
        ensemble_model(name).realize(np.random.default_rng(1), 1)
    shock_spectrum(np.sin(np.arange(200.0)), 1000.0)
    problem = ForceProblem(
        Structure(1.0, 0.1, 1.0),
        forces=[[1.0]],
        time=0.2 * np.arange(40.0),
        load=np.zeros((40, 1)),
        sensors=(Sensor(1),),
        observed=np.sin(0.2 * np.arange(40.0))[:, None],
    )
    fit_law(problem, recover_force(problem, sigma=0.01), [["x^3"]])


if __name__ == "__main__":
    main()
