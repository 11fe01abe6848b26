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


if __name__ == "__main__":
    main()
