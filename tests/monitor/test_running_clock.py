"""A clock that stands while the process cannot run: the sum of the short steps, and the pauses told once."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from monitor.system.running_clock import PAUSE, RunningClock


@given(st.lists(st.floats(0.0, 100.0), max_size=30), st.floats(0.0, 1e6))
def test_it_counts_the_short_steps_and_tells_the_long_ones_once(steps, start):
    now = [start]
    clock = RunningClock(clock=lambda: now[0])
    first, told = clock(), 0.0
    for step in steps:
        now[0] += step
        clock()
        told += clock.take_pause()
        assert clock.take_pause() == 0.0
    counted = sum(step for step in steps if step <= PAUSE)
    assert math.isclose(clock() - first, counted, abs_tol=1e-6)
    assert math.isclose(told, sum(steps) - counted, abs_tol=1e-6) and told == clock.paused


def test_the_machine_s_own_clock_advances_with_it():
    clock = RunningClock()
    assert 0.0 <= clock() - clock() + PAUSE <= PAUSE
    assert clock.paused == 0.0
