"""Blocks that wait are join_blocks where nothing depends on it, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.config import IndicatorSettings
from monitor.engine.monitor import Monitor
from monitor.messages.blocks import Channel, Event, EventKind, Role, SignalBlock, Stream
from monitor.service.load import join_blocks

CHANNELS = (Channel("c", Role.COMMAND, "m", "a"), Channel("m", Role.MEASURED, "m", "a"))
STREAM, OTHER = (Stream("rig", epoch, 1000.0, CHANNELS) for epoch in (1, 2))
NOTE = Event(EventKind.NOTE, 0.0, 0)


def block(index: int, rows: int, stream: Stream = STREAM, late: float = 0.0, last: bool = False) -> SignalBlock:
    numbers = np.arange(index, index + rows, dtype=float)
    return SignalBlock(stream, index, index / 1000.0 + late, np.stack([np.sin(numbers), np.cos(numbers)], 1), last)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("block"), st.integers(0, 40)),
        st.tuples(st.just("gap"), st.integers(1, 9)),
        st.tuples(st.just("late"), st.integers(1, 9)),
        st.tuples(st.just("other"), st.integers(1, 9)),
        st.tuples(st.just("note"), st.just(0)),
    ),
    max_size=40,
)


@given(STEPS)
def test_what_comes_is_what_came(steps):
    items, index = [], 0
    for number, (what, rows) in enumerate(steps):
        index += 100 if what == "gap" else 0
        if what == "note":
            items.append((NOTE, float(number)))
            continue
        late, stream = 0.01 if what == "late" else 0.0, OTHER if what == "other" else STREAM
        items.append((block(index, rows, stream, late), float(number)))
        index += rows
    found = list(join_blocks(items))
    assert sum(isinstance(item, Event) for item, _ in found) == sum(what == "note" for what, _ in steps)

    def samples(given):
        return [
            (item.stream.epoch, item.index + row, values.tobytes())
            for item, _ in given
            if isinstance(item, SignalBlock)
            for row, values in enumerate(item.samples)
        ]

    assert samples(found) == samples(items)
    # every time that was told is told still, but where it follows from the one before
    times = {(i.stream.epoch, i.index): i.time for i, _ in items if isinstance(i, SignalBlock)}
    for item, _ in found:
        if isinstance(item, SignalBlock):
            assert times[item.stream.epoch, item.index] == item.time or not len(item)
            for row in range(len(item)):
                told = times.get((item.stream.epoch, item.index + row))
                assert told is None or told == pytest.approx(item.time + row / 1000.0, abs=1e-12)
            assert len(item) <= 50
    assert {waited for _, waited in found} <= {waited for _, waited in items}


def test_small_messages_become_large_ones_and_the_last_stays_last():
    items = [(block(index, 1, last=index == 199), 1.0 / (index + 1)) for index in range(200)]
    found = list(join_blocks(items))
    assert [len(item) for item, _ in found] == [50, 50, 50, 50]
    assert [item.last for item, _ in found] == [False, False, False, True]
    # that of the newest sample
    assert found[0][1] == 1.0 / 50


@pytest.mark.usefixtures("warm_kernels")
def test_results_are_the_same_bits():
    settings = IndicatorSettings(window=0.2, every=3)

    def rows(given):
        monitor = Monitor(settings)
        return np.concatenate([monitor.update(item).results.values for item, _ in given])

    items = [(block(index, 1), 0.0) for index in range(700)]
    assert rows(join_blocks(items)).tobytes() == rows(items).tobytes()
