"""Days of samples, and rigs whose time is that of the calendar: floats of 1.7e9 s have steps of 0.24 us."""

from __future__ import annotations

import math

import numpy as np
import pytest

from monitor.config import IndicatorSettings
from monitor.engine.continuity import Continuity
from monitor.engine.monitor import Monitor
from monitor.messages.blocks import Channel, EventKind, Role, SignalBlock, Stream
from tests.oracles.tones import Tones

DAY = 86_400
CHANNELS = (Channel("c", Role.COMMAND, "m", "a"), Channel("m", Role.MEASURED, "m", "a"))
SECOND = np.zeros((1024, 2))
SETTINGS = IndicatorSettings(window=1.0, measures=("fdb", "paei", "ti", "nrmse", "peak_error"))


@pytest.mark.parametrize("begin", [0.0, 30.0 * DAY, 1.7e9])
@pytest.mark.parametrize("drift", [0.0, 0.02, -0.02])
def test_a_day_in_blocks_of_a_second_has_no_jump_that_is_none(begin, drift):
    """A rig's clock may run two parts in a hundred off what its rate says."""
    stream, follow = Stream("rig", 1, 1024.0, CHANNELS), Continuity()
    kinds = set()
    for second in range(0, DAY, 7):
        for k in (second, second + 1):
            arrival = follow.accept(SignalBlock(stream, 1024 * k, begin + k * (1.0 + drift), SECOND))
            kinds |= {event.kind for event in arrival.events if event.kind is not EventKind.GAP}
        assert arrival.block is not None and len(arrival.block) == 1024
    assert kinds == {EventKind.STARTED}


def test_a_real_jump_is_seen_after_a_month_of_calendar_time():
    stream, follow = Stream("rig", 1, 1024.0, CHANNELS), Continuity()
    for k in range(3):
        follow.accept(SignalBlock(stream, 1024 * k, 1.7e9 + k, SECOND))
    arrival = follow.accept(SignalBlock(stream, 3072, 1.7e9 + 3.2, SECOND))
    (event,) = arrival.events
    assert event.kind is EventKind.CLOCK_JUMP and arrival.broken and "+0.200 s" in event.detail


@pytest.mark.usefixtures("warm_kernels")
def test_values_do_not_depend_on_the_time_of_day_nor_on_how_many_samples_have_passed():
    stream = Stream("rig", 1, 1024.0, CHANNELS)
    samples = np.column_stack(Tones(2.3, 1.0, 0.9, -0.2).signals(4096, 1024.0))
    rows, times = [], []
    # a multiple of every hop, after which pairs have their turns at the same samples
    for begin, first in ((0.0, 0), (1.7e9, 0), (1.7e9, math.lcm(*range(1, 20), 128, 256) * (1 << 10))):
        monitor = Monitor(SETTINGS)
        found = [
            monitor.update(SignalBlock(stream, first + k, begin + k / 1024.0, samples[k : k + 512])).results
            for k in range(0, 4096, 512)
        ]
        rows.append(np.concatenate([each.values for each in found]).tobytes())
        times.append([each.time - begin for each in found])
    assert rows[0] == rows[1] == rows[2]
    np.testing.assert_allclose(times[1], times[0], atol=5e-7)
