"""What a rig sent is received or lost; what is received is recorded, given up or waits; a defect in that is seen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.alarms.alarm_instance import StreamPosition
from monitor.alarms.definitions import standard_alarms
from monitor.alarms.health import HealthAlarm
from monitor.config import AlarmSettings, IndicatorSettings
from monitor.engine.continuity import Accepted
from monitor.engine.monitor import Monitor
from monitor.messages.blocks import Channel, EventKind, Role, SignalBlock, Stream
from monitor.messages.health import RecordingStatus, StreamCounts
from monitor.recording import RunWriter
from monitor.service.health_statistics import SampleAccount
from monitor.service.service import Service
from tests.monitor.in_memory import MemorySink, MemorySource

# no actuator: what is counted does not depend on what is computed
STREAM = Stream("rig", 1, 100.0, (Channel("x", Role.AUXILIARY),))


def block(index: int, rows: int, epoch: int = 1) -> SignalBlock:
    return SignalBlock(replace(STREAM, epoch=epoch), index, index / 100.0, np.zeros((rows, 1)))


@given(
    steps=st.lists(
        st.tuples(st.integers(-40, 40), st.integers(0, 30), st.sampled_from([0, 0, 0, 1])), min_size=1, max_size=40
    )
)
def test_received_and_lost_are_what_the_numbers_span_whatever_comes(steps) -> None:
    index, epoch, sent = 100, 1, []
    for shift, rows, restarts in steps:
        epoch += restarts
        index = max(0, index + shift)
        sent.append(block(index, rows, epoch))
        index += rows
    monitor, account, sink = Monitor(IndicatorSettings()), SampleAccount(), MemorySink()
    service = Service(MemorySource(sent), Monitor(IndicatorSettings()), [sink])
    service.run(lambda: False)
    assert {health.unaccounted for health in sink.health_seen} == {0}
    # by hand: the first and the last number of every stretch that was followed
    stretches: list[list[int]] = []
    for each in sent:
        accepted = monitor.accept(each)
        account.count(accepted)
        if accepted.block is None:
            continue
        if any(event.kind in (EventKind.STARTED, EventKind.RESTART) for event in accepted.events):
            stretches.append([accepted.block.index, 0])
        stretches[-1][1] = accepted.block.index + len(accepted.block)
    assert service.counts.received + service.counts.lost == sum(last - first for first, last in stretches)
    assert account.missing(service.counts, 0, RecordingStatus()) == 0


@pytest.mark.parametrize(
    ("counts", "left", "kept", "missing"),
    [
        (StreamCounts(received=50, lost=10), 0, RecordingStatus(), 0),
        (StreamCounts(received=49, lost=10), 0, RecordingStatus(), 1),
        (StreamCounts(received=50, lost=11), 0, RecordingStatus(), 1),
        # lost at a stop, without numbers
        (StreamCounts(received=50, lost=17), 7, RecordingStatus(), 0),
        (StreamCounts(received=50, lost=17), 7, RecordingStatus("run.h5", 40, 7, waiting=10), 0),
        (StreamCounts(received=50, lost=10), 0, RecordingStatus("run.h5", 40, 2, waiting=8), 0),
        (StreamCounts(received=50, lost=10), 0, RecordingStatus("run.h5", 40, 2, waiting=5), 3),
        (StreamCounts(received=50, lost=10), 0, RecordingStatus("run.h5", 43, 2, waiting=8), 3),
        # one that is missing does not make up for one too many
        (StreamCounts(received=49, lost=10), 0, RecordingStatus("run.h5", 50), 2),
    ],
)
def test_what_is_in_no_count_or_in_two_is_seen(
    counts: StreamCounts, left: int, kept: RecordingStatus, missing: int
) -> None:
    account = SampleAccount()
    account.count(Accepted(block(7, 20), started=True))
    account.count(Accepted(block(37, 30), broken=True))
    assert account.missing(counts, left, kept) == missing


def test_a_recorder_that_forgets_samples_trips_an_alarm_that_says_how_many(tmp_path: Path) -> None:
    clock, sink = iter(np.arange(0.0, 1e4, 0.3)), MemorySink()
    writer = RunWriter(tmp_path / "run.h5", {})
    kept = lambda: RecordingStatus(str(writer.path), writer.recorded - 3, writer.unrecorded, waiting=writer.waiting)  # noqa: E731
    service = Service(
        MemorySource([block(10 * i, 10) for i in range(20)]),
        Monitor(IndicatorSettings()),
        [sink],
        recorders=[writer],
        recording=kept,
        clock=lambda: next(clock),
    )
    service.run(lambda: False)
    writer.close()
    assert sink.health_seen[-1].unaccounted == 3
    (definition,) = (w for w in standard_alarms(AlarmSettings(), 5.0) if w.alarm.name == "account.trip")
    alarm, at = HealthAlarm(definition, 3.0), StreamPosition(0.0, 0)
    (step,) = (step for health in sink.health_seen for step in alarm.evaluate(health, at, 0.3))
    assert step.name == "account.trip" and "3 samples" in step.reason


@pytest.mark.parametrize("outcome", ["clean", "lossy"])
def test_what_a_recorder_has_taken_is_recorded_given_up_or_waits(tmp_path: Path, outcome: str) -> None:
    room = 1 << 28 if outcome == "clean" else 4000
    writer, sent = RunWriter(tmp_path / "run.h5", {}, queue_bytes=room), 0
    for i in range(300):
        writer.signals(block(10 * i, 10))
        sent += 10
        # what moves meanwhile moves from one count to another
        low = writer.recorded + writer.unrecorded
        assert low <= sent and low + writer.waiting <= sent + 300
    writer.close()
    assert (writer.waiting, writer.recorded + writer.unrecorded, writer.outcome) == (0, sent, outcome)
