"""Clocks that step, that run for years, and that stand still while a program is paused."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.alarms.monitor import AlarmMonitor
from monitor.config import AlarmSettings, IndicatorSettings
from monitor.engine.continuity import Continuity
from monitor.engine.monitor import Monitor
from monitor.messages.blocks import Channel, EventKind, Role, SignalBlock, Stream
from monitor.messages.health import RecordingStatus
from monitor.recording import RunReader, RunWriter
from monitor.service.service import Service
from monitor.system.running_clock import PAUSE, RunningClock
from monitor.transport.zeromq.signals import SignalPublisher, SignalSubscriber
from tests.monitor.in_memory import MemorySink
from tests.oracles.tones import Tones

pytestmark = pytest.mark.usefixtures("warm_kernels")
RATE, ROWS, BLOCKS = 1000.0, 50, 60
STREAM = Stream("rig", 1, RATE, (Channel("c", Role.COMMAND, "m", "a"), Channel("m", Role.MEASURED, "m", "a")))
STEPS = (3600.0, -3600.0, 3.2e8, -3.2e8, 0.0)


def block(number: int) -> SignalBlock:
    angle = 0.03 * (ROWS * number + np.arange(float(ROWS)))
    return SignalBlock(
        STREAM,
        ROWS * number,
        ROWS * number / RATE,
        np.column_stack([np.sin(angle), np.sin(angle - 0.1)]),
        number == BLOCKS - 1,
    )


def watched(path: Path) -> MemorySink:
    """Return what a service says of the blocks, sent over a socket."""
    publisher = SignalPublisher("tcp://127.0.0.1:*")
    source, sink = SignalSubscriber((publisher.endpoint,)), MemorySink()
    writer = RunWriter(path, {}, flush_interval=0.05)
    service = Service(
        source,
        Monitor(IndicatorSettings(window=0.5)),
        [sink, writer],
        alarms=AlarmMonitor(AlarmSettings()),
        recording=lambda: RecordingStatus(
            str(path), writer.recorded, writer.unrecorded, 1 << 40, writer.unwritten_age
        ),
    )
    assert publisher.wait_for_subscriber(10.0)
    sent = 0

    def send_one() -> bool:
        nonlocal sent
        if sent < BLOCKS:
            publisher.send(block(sent))
            sent += 1
        return False

    service.run(send_one, once=True)
    writer.close()
    source.close()
    publisher.close(0.0)
    return sink


def test_nothing_notices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calm = watched(tmp_path / "calm.h5")
    real, calls = time.time, iter(range(1 << 30))
    monkeypatch.setattr(time, "time", lambda: real() + STEPS[next(calls) % len(STEPS)])
    stepped = watched(tmp_path / "stepped.h5")
    assert [replace(e, detail="") for e in stepped.events_seen] == [replace(e, detail="") for e in calm.events_seen]
    values = [np.concatenate([r.values for r in sink.results_seen]).tobytes() for sink in (calm, stepped)]
    assert values[0] == values[1]
    for health in stepped.health_seen:
        assert 0.0 <= health.age < 60.0 and 0.0 <= health.latency < 60.0 and 0.0 <= health.unwritten_age < 60.0
    assert not [alarm for report in stepped.alarms_seen for alarm in report.alarms if alarm.active]
    with RunReader(tmp_path / "stepped.h5") as reader:
        assert reader.n_samples == ROWS * BLOCKS
        times = np.concatenate([rows.time for _, rows in reader.numbering()])
    np.testing.assert_allclose(times, np.arange(ROWS * BLOCKS) / RATE, atol=1e-12)


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
