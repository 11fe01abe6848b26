"""Publishers: what they send comes out as it went in, from this process or one of its own, and never waits."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import signal
import struct
import subprocess
import threading
from dataclasses import replace
from pathlib import Path
from time import monotonic

import msgspec
import numpy as np
import pytest
import zmq

from monitor.messages import Sink
from monitor.messages.blocks import Column, Event, EventKind, ResultBlock, ResultStream, SignalBlock
from monitor.messages.health import Health, StreamCounts
from monitor.messages.requests import NoteRequest, encode
from monitor.system.running_clock import RunningClock
from monitor.system.worker_process import POSSIBLE
from monitor.transport.zeromq import endpoint, publisher_process
from monitor.transport.zeromq.publisher_process import PublisherProcess
from monitor.transport.zeromq.queued_publisher import QueuedPublisher
from monitor.transport.zeromq.requests import RequestClient, ZmqRequestServer
from monitor.transport.zeromq.results import ResultPublisher, ResultSubscriber
from monitor.transport.zeromq.signals import SignalPublisher, SignalSubscriber
from monitor.wire import native as wire
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("no_leftovers")
LOOPBACK = "tcp://127.0.0.1:*"
STREAM = ResultStream("rig", 7, 1000.0, 10, (Column("fdb_phase", "rad", "a"), Column("ti", "", "a")))


def result(row: int, stream: ResultStream = STREAM) -> ResultBlock:
    values = np.array([[float(row), np.nan if row % 2 else 1.0]])
    return ResultBlock(stream, 10 * row, row / 100.0, values)


def heard(sink: ResultPublisher, gather, subscriber: ResultSubscriber) -> None:
    """Publish health until the subscriber hears it, then until no more of it is on its way."""
    marker = Health(rig="rig", state="marker")
    gather(subscriber, bool, meanwhile=lambda: sink.health(marker))
    while subscriber.receive(0.05):
        pass


def test_everything_published_comes_out_as_it_went_in(counting, gather):
    sink = ResultPublisher(LOOPBACK)
    as_protocol: Sink = sink
    client = ResultSubscriber(sink.endpoint)
    assert client.endpoint == sink.endpoint
    heard(sink, gather, client)
    block, event = counting(0, 5), Event(EventKind.GAP, 1.5, 20, 3, "3 samples lost")
    health = Health(rig="rig", state="receiving", counts=StreamCounts(received=5, lost=3), age=0.25)
    as_protocol.signals(block)
    as_protocol.results(result(1))
    as_protocol.event(event)
    sink.health(health)
    signals, results, *rest = gather(client, lambda found: len(found) == 4)
    assert isinstance(signals, SignalBlock)
    np.testing.assert_array_equal(signals.samples, block.samples)
    assert (results.stream, results.index, results.time) == (STREAM, 10, 0.01)
    np.testing.assert_array_equal(results.values, [[1.0, np.nan]])
    assert rest == [event, health]
    assert sink.dropped == 0
    client.close()
    sink.close()


@pytest.mark.parametrize("own_process", [False, True])
def test_every_block_comes_with_the_header_of_its_stream(gather, own_process):
    """A header is given to ZeroMQ once: also where streams, rigs and kinds of messages take turns."""
    sink = ResultPublisher(LOOPBACK, own_process=own_process)
    client = ResultSubscriber(sink.endpoint, kinds=("results", "health"))
    heard(sink, gather, client)
    streams = [replace(STREAM, rig=f"rig {n % 20}", epoch=n // 30) for n in range(60)]
    sent = [result(n, stream) for n, stream in enumerate([*streams, *streams, *[STREAM] * 3])]
    for block in sent:
        sink.results(block)
    found = gather(client, lambda found: len(found) == len(sent))
    assert [(block.stream, block.index) for block in found] == [(block.stream, block.index) for block in sent]
    client.close()
    sink.close()


def test_signals_stay_at_home_when_not_wanted(counting, gather):
    sink = ResultPublisher(LOOPBACK, signals=False)
    client = ResultSubscriber(sink.endpoint)
    heard(sink, gather, client)
    sink.signals(counting(0))
    sink.results(result(0))
    (only,) = gather(client, bool)
    assert isinstance(only, ResultBlock)
    client.close()
    sink.close()


def test_a_client_chooses_its_rig_and_its_kinds(gather):
    sink = ResultPublisher(LOOPBACK)
    client = ResultSubscriber(sink.endpoint, rig="rig", kinds=["results", "health"])
    heard(sink, gather, client)
    sink.results(result(0, ResultStream("rig-2", 7, 1000.0, 10, STREAM.columns)))
    sink.health(Health(rig="other"))
    sink.results(result(1))
    sink.event(Event(EventKind.NOTE, 0.0, 0))
    sink.results(result(2))
    received = gather(client, lambda found: len(found) >= 2)
    assert [item.index for item in received] == [10, 20]
    client.close()
    sink.close()


def test_an_event_without_a_time_still_arrives(gather):
    sink = ResultPublisher(LOOPBACK)
    client = ResultSubscriber(sink.endpoint)
    heard(sink, gather, client)
    sink.event(Event(EventKind.REJECTED, float("nan"), 0, 4))
    assert gather(client, bool) == [Event(EventKind.REJECTED, 0.0, 0, 4)]
    client.close()
    sink.close()


def test_a_client_counts_junk_and_goes_on(gather):
    sink = ResultPublisher(LOOPBACK)
    client = ResultSubscriber(sink.endpoint)
    heard(sink, gather, client)
    junk = [
        [wire.topic("health", "rig"), b"{"],
        [wire.topic("health", "rig"), b'{"age": "old"}'],
        [wire.topic("health", "rig"), b"[" * 5000],
        [wire.topic("health", "rig")],
        [wire.topic("event", "rig"), b'{"kind": "no such kind"}'],
        [wire.topic("event", "rig"), b"\xff\xfe"],
        [wire.topic("event", "rig"), msgspec.json.encode(Event(EventKind.NOTE, 0.0, 0)), b"more"],
        [wire.topic("results", "rig"), b"", b"", b""],
        [wire.topic("results", "rig")],
    ]
    for frames in junk:
        sink._publisher.send(frames)
    sink.results(result(0))
    received = gather(client, lambda found: sum(getattr(i, "count", 0) for i in found) == len(junk))
    received += [] if any(isinstance(i, ResultBlock) for i in received) else gather(client, bool)
    assert sum(isinstance(item, ResultBlock) for item in received) == 1
    client.close()
    sink.close()


def test_a_stalled_client_changes_nothing_for_another(gather):
    sink = ResultPublisher(LOOPBACK, queue_seconds=0.05)
    with zmq.Context() as context, context.socket(zmq.SUB) as stalled:
        stalled.linger, stalled.rcvhwm, stalled.rcvbuf = 0, 1, 4096
        stalled.subscribe(b"")
        stalled.connect(sink.endpoint)
        assert stalled.poll(0) == 0
        client = ResultSubscriber(sink.endpoint)
        heard(sink, gather, client)
        wide = ResultStream("rig", 7, 1000.0, 10, tuple(Column(f"c{i}", "", "a") for i in range(512)))
        received, slowest = [], 0.0
        for row in range(3000):
            start = monotonic()
            sink.results(ResultBlock(wide, 10 * row, 0.0, np.full((1, 512), float(row))))
            slowest = max(slowest, monotonic() - start)
            if row % 10 == 9:
                received += gather(client, lambda found: len(found) >= 10)
        assert [block.index for block in received] == list(range(0, 30_000, 10))
        assert slowest < 1.0
        kept = 0
        while stalled.poll(100):
            kept += 1
            stalled.recv_multipart()
        assert kept < 3000
        client.close()
        start = monotonic()
        sink.close()
        assert monotonic() - start < 5.0


def test_a_service_that_comes_back_is_heard_again(gather):
    sink = ResultPublisher(LOOPBACK)
    client = ResultSubscriber(sink.endpoint)
    heard(sink, gather, client)
    sink.close()
    client.receive(0.1)
    sink = ResultPublisher(client.endpoint)
    found = gather(client, lambda found: any(isinstance(i, Event) for i in found))
    found += gather(client, bool, meanwhile=lambda: sink.results(result(4)))
    assert found[0].kind is EventKind.RECONNECTED
    assert found[-1].index == 40
    client.close()
    sink.close()


def test_after_closing_a_sink_counts_what_it_drops():
    sink = ResultPublisher(LOOPBACK)
    sink.close()
    sink.close()
    sink.results(result(0))
    assert sink.dropped == 1


def test_waiting_for_a_subscriber_ends_either_way():
    publisher = SignalPublisher(LOOPBACK)
    start = monotonic()
    assert not publisher.wait_for_subscriber(0.05)
    assert monotonic() - start < 2.0
    source = SignalSubscriber([publisher.endpoint])
    assert publisher.wait_for_subscriber(5.0)
    assert publisher.wait_for_subscriber(0.0)
    source.close()
    until(lambda: not publisher.subscribed)
    publisher.close()


def test_a_subscription_to_something_else_is_not_one():
    publisher = SignalPublisher(LOOPBACK)
    client = ResultSubscriber(publisher.endpoint, kinds=["results"])
    assert not publisher.wait_for_subscriber(0.2)
    client.close()
    publisher.close()


def test_heartbeats_carry_the_next_index(counting, gather, subscribed):
    publisher = SignalPublisher(LOOPBACK)
    source = SignalSubscriber([publisher.endpoint])
    subscribed(publisher, source)
    assert not publisher.heartbeat()
    publisher.send(counting(40, 10))
    assert not publisher.heartbeat_if_idle()
    received = gather(source, lambda found: len(found) == 2, meanwhile=publisher.heartbeat_if_idle)
    assert (received[1].index, len(received[1])) == (50, 0)
    assert received[1].time == pytest.approx(0.05)
    assert publisher.heartbeat()
    assert gather(source, bool)[0].index == 50
    source.close()
    publisher.close()


def test_a_rig_never_waits_for_a_slow_reader_who_tells_what_it_dropped(counting):
    publisher = SignalPublisher(LOOPBACK)
    source = SignalSubscriber([publisher.endpoint], queue_bytes=10 << 20)
    assert publisher.wait_for_subscriber(5.0)
    rows = 10_000
    start = monotonic()
    for index in range(200):
        publisher.send(counting(index * rows, rows))
    assert monotonic() - start < 10.0
    # all that was sent has come, and is kept or counted
    until(lambda: source.waiting + source.dropped >= 200)
    received = []
    while source.waiting or not received:
        received += source.receive(0.3)
    *kept, end = (block for block in received if isinstance(block, SignalBlock))
    indices = [block.index for block in kept]
    assert (end.index, len(end)) == (200 * rows, 0)
    assert indices == [rows * number for number in range(len(indices))]
    assert 30 < len(indices) < 60
    (told,) = (item for item in received if isinstance(item, Event))
    assert (told.kind, told.count) == (EventKind.REJECTED, 200 - len(indices))
    assert told.detail == (
        "messages came faster than they were processed: those beyond a queue of 10 MB were dropped "
        f"({rows * told.count:,} samples, counted as lost)"
    )
    source.close()
    publisher.close()


def test_closing_delivers_what_is_on_its_way(counting):
    publisher = SignalPublisher(LOOPBACK, reliable=True)
    source = SignalSubscriber([publisher.endpoint])
    assert publisher.wait_for_subscriber(5.0)
    for index in range(500):
        publisher.send(counting(index, 100, last=index == 499))
    closing = threading.Thread(target=publisher.close)
    closing.start()
    received = []
    while not (received and getattr(received[-1], "last", False)):
        received += source.receive(5.0)
    closing.join()
    assert len(received) == 500
    source.close()


def test_a_replay_that_does_not_wait_is_told_that_there_is_no_room_and_loses_nothing(counting):
    publisher = SignalPublisher(LOOPBACK, reliable=True, queue_seconds=0.01)
    source = SignalSubscriber([publisher.endpoint], queue_seconds=0.01)
    assert publisher.wait_for_subscriber(5.0)
    rows, index, refused = 10_000, 0, 0
    received = []
    while index < 200:
        taken = publisher.send(counting(index * rows, rows), wait=False)
        index, refused = index + taken, refused + (not taken)
        if not taken:
            received += source.receive(0.1)
    while len(received) < 200:
        received += source.receive(5.0)
    assert refused
    assert [block.index for block in received] == [rows * k for k in range(200)]
    source.close()
    publisher.close()


def test_heartbeats_that_find_no_room_do_not_wait_and_cost_no_sample(counting):
    publisher = SignalPublisher(LOOPBACK, reliable=True, queue_seconds=0.01)
    source = SignalSubscriber([publisher.endpoint], queue_seconds=0.01)
    assert publisher.wait_for_subscriber(5.0)
    assert publisher.send(counting(0, 10), wait=False)
    # nobody reads, so that in the end there is no room even for these
    while publisher.heartbeat():
        pass
    received = source.receive(5.0)
    while not publisher.send(counting(10, 10), wait=False):
        received += source.receive(0.1)
    while received[-1].index + len(received[-1]) < 20:
        received += source.receive(5.0)
    assert [(block.index, len(block)) for block in received if len(block)] == [(0, 10), (10, 10)]
    assert {block.index for block in received if not len(block)} == {10}
    source.close()
    publisher.close()


def within_10_s(function) -> list[BaseException]:
    """Call a function in a thread, which a context that waits for its sockets would block, and return its error."""
    errors: list[BaseException] = []

    def call() -> None:
        try:
            function()
        except BaseException as problem:  # noqa: BLE001 - returned
            errors.append(problem)

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(10.0)
    assert not thread.is_alive()
    return errors


@pytest.mark.parametrize(
    ("kind", "place"),
    [
        (SignalPublisher, "SocketMonitor.__init__"),
        (SignalSubscriber, "SocketMonitor.__init__"),
        *((kind, "attach") for kind in (SignalPublisher, SignalSubscriber, RequestClient, ZmqRequestServer)),
    ],
)
def test_ctrl_c_while_sockets_are_opened_does_not_block_the_end(monkeypatch, kind, place):
    opened = []

    def interrupted(*_details, **_options):
        # held as by the traceback of an interrupted constructor
        opened.append(contexts[-1].socket(zmq.PAIR))
        raise KeyboardInterrupt

    contexts = []
    create = zmq.Context

    def context(*details, **options):
        contexts.append(create(*details, **options))
        return contexts[-1]

    monkeypatch.setattr(zmq, "Context", context)
    monkeypatch.setattr(f"{endpoint.__name__}.{place}", interrupted)
    url = "tcp://127.0.0.1:5999"
    opening = {
        SignalPublisher: lambda: SignalPublisher("", connect=url),
        SignalSubscriber: lambda: SignalSubscriber([url]),
        RequestClient: lambda: RequestClient(url),
        ZmqRequestServer: lambda: ZmqRequestServer(LOOPBACK),
    }[kind]
    assert [type(each) for each in within_10_s(opening)] == [KeyboardInterrupt]
    assert all(each.closed for each in [*opened, *contexts])


apart = pytest.mark.skipif(not POSSIBLE, reason="pipes cannot be written to without waiting there")


class Failing:
    """An inner with a fault."""

    url, fault, lost = "tcp://127.0.0.1:1", "", 0
    busy = closed = False

    def try_send(self, _frames):
        return False

    def send(self, _frames):
        raise KeyError("a fault")

    def maintain(self) -> float:
        return 0.01

    def kill(self) -> None: ...

    def close(self, _linger=0.0) -> None:
        self.closed = True


def test_what_ends_publishing_is_told_and_what_comes_then_is_counted():
    inner = Failing()
    publisher = QueuedPublisher(inner)
    publisher.send([b"first"])
    until(lambda: inner.closed)
    assert "nothing is published at tcp://127.0.0.1:1 any more: KeyError: 'a fault'" in publisher.fault
    assert publisher.dropped == 1
    publisher.send([b"second"])
    assert publisher.dropped == 2
    publisher.close()


def test_what_ends_the_reading_of_requests_is_told(monkeypatch):
    request_server = ZmqRequestServer("tcp://127.0.0.1:*")

    def fail():
        raise KeyError("a fault")

    monkeypatch.setattr(request_server, "_receive_frame", fail)
    import zmq

    assert request_server.fault == ""
    with zmq.Context() as context, context.socket(zmq.REQ) as client:
        client.linger = 0
        client.connect(request_server.endpoint)
        client.send(encode(NoteRequest("a word")))
        until(lambda: request_server.fault)
    assert f"no requests are accepted at {request_server.endpoint} any more: KeyError" in request_server.fault
    request_server.close()


@apart
def test_a_process_that_cannot_be_started_again_is_tried_until_it_can(monkeypatch):
    monkeypatch.setattr(publisher_process, "_RESTART_INTERVAL", 0.0)
    publisher = QueuedPublisher(PublisherProcess("tcp://127.0.0.1:*", queue_seconds=1.0))
    process = publisher._publisher._process

    def refuse(*_, **__):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with monkeypatch.context() as full:
        full.setattr(subprocess, "Popen", refuse)
        process.kill()
        until(lambda: publisher.fault)
        assert "did not start: [Errno" in publisher.fault
        assert "started again" not in publisher.fault
    until(lambda: "had to be started again (1 times)" in publisher.fault)
    assert "did not start" not in publisher.fault
    publisher.close()


@apart
def test_a_process_that_is_stopped_is_replaced_and_a_pause_of_ours_is_not_taken_for_that():
    now = [0.0]
    publisher = PublisherProcess("tcp://127.0.0.1:*", queue_seconds=1.0, running=RunningClock(clock=lambda: now[0]))
    process, started = publisher._process, publisher._started
    os.kill(process.pid, signal.SIGSTOP)
    process.lines()  # signs from before
    now[0] += 60.0
    publisher.maintain()
    assert publisher.fault == ""
    assert publisher.try_send([b"topic", b"a message that nobody gets"])
    while publisher._process is process and now[0] < 70.0:
        publisher._started = started - 1.0  # it is started again at most once a second
        now[0] += 0.1
        publisher.maintain()
    assert 62.0 < now[0] < 63.5
    assert publisher.fault.endswith("had to be started again (1 times, 1 of them because it hung)")
    assert publisher.lost == 1
    assert process.ended and not publisher._process.ended
    publisher.close()


@apart
def test_messages_wait_for_a_process_that_is_busy_and_are_written_whole(monkeypatch):
    publisher = PublisherProcess("tcp://127.0.0.1:*", queue_seconds=1.0)
    os.kill(publisher._process.pid, signal.SIGSTOP)
    frames = [b"topic", bytes(1 << 22)]
    assert publisher.try_send(frames)
    assert not publisher.try_send(frames)
    threading.Timer(0.3, os.kill, (publisher._process.pid, signal.SIGCONT)).start()
    assert publisher.send(frames)
    until(lambda: publisher.maintain() > 0.1 and not publisher.busy)
    assert publisher.fault == ""
    publisher.close()


@apart
def test_a_process_that_never_answers_is_given_up(monkeypatch):
    monkeypatch.setattr(publisher_process, "_START_TIMEOUT", 0.01)
    with pytest.raises(OSError, match="did not start: no answer within"):
        PublisherProcess("tcp://127.0.0.1:*", queue_seconds=1.0)


@apart
def test_the_process_takes_nothing_from_the_current_folder(tmp_path: Path, monkeypatch):
    for name in ("monitor", "msgspec", "struct"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(1)\n")
    monkeypatch.chdir(tmp_path)
    PublisherProcess("tcp://127.0.0.1:*", queue_seconds=1.0).close()


@pytest.mark.skipif(
    platform.system() != "Linux"
    or platform.machine() not in ("x86_64", "aarch64")
    or tuple(map(int, platform.release().split(".")[:2])) < (6, 12),
    reason="Linux before 6.12 has no slices",
)
def test_the_process_has_the_shortest_slices_and_our_nice_value():
    publisher = PublisherProcess("tcp://127.0.0.1:*", queue_seconds=1.0)
    sched_getattr, found = {"x86_64": 315, "aarch64": 275}[platform.machine()], ctypes.create_string_buffer(48)
    assert ctypes.CDLL(None).syscall(sched_getattr, publisher._process.pid, found, 48, 0) == 0
    publisher.close()
    _, policy, _, nice, _, slice_ns, _, _ = struct.unpack("=IIQiIQQQ", found.raw)
    assert (policy, nice, slice_ns) == (os.SCHED_OTHER, os.getpriority(os.PRIO_PROCESS, 0), 100_000)
