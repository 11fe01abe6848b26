"""Messages kept, damaged, dropped and lost, over restarts: every sample of a native sender is counted once."""

from __future__ import annotations

import struct
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.alarms.alarm_instance import StreamPosition
from monitor.alarms.definitions import standard_alarms
from monitor.alarms.health import HealthAlarm
from monitor.compensation.indicator_driven import GapBridge
from monitor.config import AlarmSettings, IndicatorSettings
from monitor.engine.continuity import Accepted, Continuity
from monitor.engine.monitor import Monitor
from monitor.messages.blocks import Channel, Event, EventKind, Role, SignalBlock, Stream
from monitor.messages.health import RecordingStatus, StreamCounts
from monitor.recording import RunWriter
from monitor.service.health_statistics import SampleAccount
from monitor.service.service import Service
from monitor.transport.zeromq import subscriber
from monitor.transport.zeromq.message_queue import UnusedMessages
from monitor.transport.zeromq.signals import SignalDecoder
from monitor.transport.zeromq.subscriber import Subscriber
from monitor.transport.zeromq.subscriber_socket import SubscriberSettings
from monitor.wire.native import Encoder, Frames
from tests.monitor.in_memory import MemorySink, MemorySource

CHANNELS = Channel("a.command", Role.COMMAND, "m", "a"), Channel("a.measured", Role.MEASURED, "m", "a")
POSITION = struct.Struct("<QdII")


def cut(frames: Frames) -> Frames:
    return [*frames[:3], frames[3][:-5]]


def emptied(frames: Frames) -> Frames:
    return [*frames[:3], b""]


def with_flags(frames: Frames) -> Frames:
    return [*frames[:2], frames[2][:20] + b"\x40\0\0\0", frames[3]]


def with_count(frames: Frames) -> Frames:
    index, time, count, flags = POSITION.unpack(frames[2])
    return [*frames[:2], POSITION.pack(index, time, count + 7, flags), frames[3]]


def with_index(frames: Frames) -> Frames:
    index, time, count, flags = POSITION.unpack(frames[2])
    return [*frames[:2], POSITION.pack(index ^ 1 << 40, time, count, flags), frames[3][:-8]]


def without_position(frames: Frames) -> Frames:
    return [*frames[:2], frames[2][:-1], frames[3]]


def without_header(frames: Frames) -> Frames:
    return [frames[0], frames[1][:-9], *frames[2:]]


TELLING = {"cut": cut, "emptied": emptied, "flags": with_flags}
"""Damage after which the message still says which samples it has."""
MUTE = {"count": with_count, "index": with_index, "position": without_position, "header": without_header}
# the last message of a sender must be one that says something, as no other will
MESSAGES = st.lists(
    st.tuples(st.integers(0, 30), st.sampled_from(["kept"] * 3 + ["dropped", "lost", *TELLING, *MUTE])), max_size=12
)
LAST = st.tuples(st.integers(1, 30), st.sampled_from(["kept", "dropped", *TELLING]))


class NoSocket:
    url, peer = "tcp://rig", 0

    def reset_backoff(self) -> None: ...

    def hold(self, *, on: bool) -> None: ...

    def close(self) -> None: ...


def decoding() -> Subscriber[SignalBlock]:
    reading = Subscriber(
        SignalDecoder().decode,
        ["inproc://rig"],
        (),
        SubscriberSettings(queue_bytes=1 << 20),
        listening=False,
        unused=UnusedMessages(),
    )
    reading._sockets[0].close()
    reading._sockets[0] = NoSocket()
    return reading


@given(st.lists(st.tuples(MESSAGES, LAST), min_size=1, max_size=4), st.integers(0, 1000), st.data())
def test_every_sample_is_counted_once(runs, first, data):
    with closing(decoding()) as reading, pytest.MonkeyPatch.context() as patch:
        account(reading, patch, runs, first, data)


def account(reading, patch, runs, first, data):
    patch.setattr(subscriber, "_END_DELAY", np.inf)
    continuity, received, lost, rejected = Continuity(), 0, 0, 0

    def receive() -> None:
        nonlocal received, lost, rejected
        reading._last_report = -1.0
        for item in reading.receive(0.0):
            if isinstance(item, Event):
                assert item.kind is EventKind.REJECTED
                rejected += item.samples
                continue
            accepted = continuity.accept(item)
            assert not [e for e in accepted.events if e.kind in (EventKind.REORDERED, EventKind.DUPLICATE)]
            received += len(accepted.block) if accepted.block is not None else 0
            lost += sum(event.count for event in accepted.events if event.kind is EventKind.GAP)

    sent = 0
    for epoch, (messages, last) in enumerate(runs, 1):
        stream = Stream("rig", epoch, 100.0, CHANNELS)
        index, begun = first, False
        for rows, fate in (*messages, last):
            # a heartbeat has no payload to damage
            rows = rows if fate == "kept" else max(rows, 1)
            block = SignalBlock(stream, index, 5.0 + index / 100.0, np.ones((rows, 2)))
            index += rows
            begun |= fate == "kept"
            # before the first message that is used, what a message says of itself is all that is known
            if begun or fate in ("dropped", *TELLING, "index"):
                sent += rows
            elif fate == "count":
                sent += rows + 7
            if fate == "lost":
                continue
            frames = Encoder().encode(block)
            frames = (TELLING | MUTE)[fate](frames) if fate in TELLING | MUTE else frames
            reading._queue.max_bytes = 0 if fate == "dropped" else 1 << 20
            reading._queue.put(frames, reading._sockets[0], 0.0)
            if data.draw(st.booleans()):
                receive()
    reading._queue.put_heads()
    patch.setattr(subscriber, "_END_DELAY", 0.0)
    while reading.waiting:
        receive()
    receive()
    assert received + lost + rejected == sent


def test_samples_of_a_second_plain_sender_are_rejected_and_not_lost() -> None:
    other = NoSocket()
    other.peer = 1
    with closing(decoding()) as reading:
        for k in range(400):
            for place, socket in enumerate((reading._sockets[0], other)):
                message = {"t": k / 100.0, "sample_rate": 100.0, "command": k, "measured": k + place}
                reading._queue.put([msgspec.json.encode(message)], socket, k / 100.0)
        reading._queue.put_heads()
        items = []
        while reading.waiting:
            items += reading.receive(0.0)
        reading._last_report = -1.0
        items += reading.receive(0.0)
    assert sum(len(item) for item in items if isinstance(item, SignalBlock)) == 400
    events = [item for item in items if isinstance(item, Event)]
    assert sum(event.samples for event in events) == 400 and "lost" not in str(events)


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


BLOCK, LONGEST = 4, 6


def bridged_plainly(command, measured, longest):
    """Return measured with its gaps of at most `longest` samples interpolated about the command, by definition."""
    out, good = measured.copy(), np.flatnonzero(np.isfinite(measured))
    for a, b in pairwise(good):
        if 1 < b - a <= longest + 1:
            inside = np.arange(a + 1, b)
            out[inside] = command[inside] + np.interp(inside, [a, b], measured[[a, b]] - command[[a, b]])
    return out


@pytest.mark.parametrize("share", [0.1, 0.3, 0.6])
def test_gaps_are_bridged_as_defined(share):
    rng = np.random.default_rng(3)
    command, n = rng.normal(size=(800, 3)), 800
    measured = command + 0.1 * rng.normal(size=(n, 3))
    lost = rng.random((n, 3)) < share
    measured[lost] = np.nan
    bridge, released = GapBridge(3, BLOCK, LONGEST), []
    for i in range(n):
        block = bridge.push(command[i], measured[i], command[i])
        if block is not None:
            released.append(block)
    released = np.concatenate(released, axis=1)
    assert released.shape[1] == n - bridge.latency
    m = released.shape[1]
    expected = np.stack([bridged_plainly(command[:, k], measured[:, k], LONGEST) for k in range(3)], 1)[:m]
    np.testing.assert_allclose(released[1], expected)
    np.testing.assert_array_equal(released[0], command[:m])
    np.testing.assert_array_equal(bridge.counts[1], np.isnan(expected).sum(axis=0))
    # the newest gap may reach beyond what is released
    assert np.all(np.abs(bridge.counts.sum(axis=0) - lost[:m].sum(axis=0)) <= LONGEST)
