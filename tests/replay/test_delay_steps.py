"""Where a delay that changes in steps stands."""

from __future__ import annotations

import numpy as np
import pytest

from replay.assessment.delay_steps import plateaus

WINDOW = 2.0
TIME = np.arange(0.0, 60.0, 0.01)


def steps(*delays, at):
    return np.select([t > TIME for t in at], delays[:-1], delays[-1])


def test_steps_that_stand():
    delay = steps(0.01, 0.02, 0.005, at=(20.0, 45.0))
    found, part = plateaus(TIME, delay, WINDOW, 1e-3)
    assert [p.delay for p in found] == [0.01, 0.02, 0.005]
    # a window that ends now began two seconds ago; the values are looked at once a second
    assert [p.start for p in found] == pytest.approx([0.0, 18.0, 43.0], abs=1.0)
    assert [p.stop for p in found] == pytest.approx([20.0, 45.0, TIME[-1]], abs=1.0)
    assert found[-1].stop == TIME[-1]
    assert part == 1.0


def test_a_window_that_saw_the_step_is_no_stand():
    delay = steps(0.01, 0.015, 0.02, at=(20.0, 21.5))
    found, part = plateaus(TIME, delay, WINDOW, 1e-3)
    assert [p.delay for p in found] == [0.01, 0.02]
    assert part == pytest.approx(58 / 60, abs=0.02)
    # the same delay before and after a disturbance is one stand
    disturbed = steps(0.01, 0.05, 0.01, at=(20.0, 21.5))
    (only,), _ = plateaus(TIME, disturbed, WINDOW, 1e-3)
    assert (only.start, only.stop) == (0.0, TIME[-1])


def test_a_drift_does_not_stand_and_nothing_has_no_stand():
    _, part = plateaus(TIME, np.linspace(0.0, 0.1, len(TIME)), WINDOW, 1e-3)
    assert part == 0.0
    assert plateaus(TIME, np.full(len(TIME), np.nan), WINDOW, 1e-3) == ((), 0.0)
