"""Which of the minima of an actuator's fit is given, and what is if there is none."""

from dataclasses import replace

import numpy as np

from monitor.messages.blocks import Channel, Role, Stream
from replay.formats import ArrayRecording
from replay.identification.actuator_regression import ActuatorRegression, select_fit
from replay.identification.actuators import identify
from sim.fitting.actuator_response import ActuatorResponse
from sim.fitting.fit import fit

RATE = 250.0
STREAM = Stream("rig", 1, RATE, (Channel("c", Role.COMMAND, "m", "a"), Channel("m", Role.MEASURED, "m", "a")))
TIME = np.arange(3000) / RATE


def motion(t):
    return 0.01 * sum(np.sin(2 * np.pi * f * t + f**2) for f in (0.7, 1.9, 3.1, 5.3, 8.9))


COMMAND = motion(TIME)
MEASURED = 0.9 * motion(TIME - 0.031) + 1e-4 * np.random.default_rng(2).standard_normal(3000)


def test_a_search_without_an_end_is_refused(monkeypatch):
    def lost(self, starts=None):
        found, alternatives = ActuatorRegression.converging(self, starts)
        return replace(found, converged=False), alternatives

    monkeypatch.setattr(ActuatorRegression, "converging", ActuatorRegression.fitted, raising=False)
    monkeypatch.setattr(ActuatorRegression, "fitted", lost)
    found = identify(ArrayRecording(STREAM, np.column_stack([COMMAND, MEASURED])))
    assert found.fits == ()
    assert found.problems == ("c -> m: the fit did not converge",)


def test_a_start_that_stalled_beside_the_minimum_is_no_failure():
    model = ActuatorResponse(COMMAND, 1.0 / RATE)
    observed = MEASURED[model.rows]
    found = fit(model, observed, model.starts(MEASURED))
    stalled = replace(found, converged=False, parameters=found.parameters * (1.0 + 1e-9))
    chosen, alternatives = select_fit(model, observed, stalled)
    assert chosen.converged and len(alternatives) == 0
    np.testing.assert_allclose(chosen.parameters, found.parameters, rtol=1e-12)
    lost = replace(stalled, minima=(), minima_at=found.minima_at[:0])
    assert not select_fit(model, observed, lost)[0].converged
