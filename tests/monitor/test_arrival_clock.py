"""When samples came, reckoned by the rig's clock."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from monitor.arrival_clock import ArrivalClock
from monitor.blocks import Channel, Role, SignalBlock, Stream

STREAM = Stream("rig", 1, 100.0, (Channel("a", Role.AUXILIARY),))


def block(end: float, rows: int = 10, stream: Stream = STREAM) -> SignalBlock:
    """Return a block that ends at `end`, s on the rig's clock."""
    return SignalBlock(stream, 0, end - rows / 100.0, np.zeros((rows, 1)))


def test_what_comes_alone_has_just_come() -> None:
    clock = ArrivalClock()
    for now, end in ((100.0, 0.1), (100.1, 0.2), (105.0, 0.3), (105.1, 7.0)):
        clock.receive([block(end)], now, more=False)
        assert clock.arrival(block(end)) == pytest.approx(now)


@pytest.mark.parametrize("late", [0.0, 0.3])
def test_what_waits_came_when_the_rigs_clock_says(late) -> None:
    clock = ArrivalClock()
    # the first may have been held up; what follows tells
    clock.receive([block(0.1)], 100.1 + late, more=False)
    for end in np.arange(0.2, 30.0, 0.1):
        # half as fast as it comes
        now = 100.0 + 2.0 * end + late
        clock.receive([block(end)], now, more=True)
        assert clock.arrival(block(end)) == pytest.approx(100.0 + end, abs=late + 1e-6)
    # it has caught up
    clock.receive([block(60.0)], 160.5, more=False)
    assert clock.arrival(block(60.0)) == pytest.approx(160.5)


def test_of_several_that_came_since_the_source_was_empty_none_is_older_than_that() -> None:
    clock = ArrivalClock()
    clock.receive([block(0.1)], 100.0, more=False)
    clock.receive([], 100.1, more=False)
    several = [block(end) for end in (0.2, 0.3, 0.4, 1.4)]
    clock.receive(several, 100.35, more=False)
    assert [clock.arrival(each) for each in several] == pytest.approx([100.1, 100.1, 100.1, 100.35])


def test_a_replay_at_full_speed_comes_when_it_is_received() -> None:
    clock = ArrivalClock()
    clock.receive([block(0.1)], 100.0, more=False)
    for batch in range(20):
        now = 100.0 + 0.3 * (batch + 1)
        blocks = [block(256.0 * batch + each) for each in range(1, 257)]
        clock.receive(blocks, now, more=True)
        assert {clock.arrival(each) for each in blocks} == {now}


def test_a_restart_and_times_that_are_none_are_compared_with_nothing() -> None:
    clock = ArrivalClock()
    later = replace(STREAM, epoch=2)
    clock.receive([block(50.0)], 100.0, more=True)
    clock.receive([block(50.1), block(0.1, stream=later), block(math.nan, stream=later)], 110.0, more=True)
    assert clock.arrival(block(50.1)) == clock.arrival(block(math.nan, stream=later)) == 110.0
    clock.receive([block(0.2, stream=later)], 111.0, more=True)
    assert clock.arrival(block(0.2, stream=later)) == pytest.approx(110.1)
