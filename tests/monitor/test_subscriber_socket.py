"""A subscription and its socket: what ends its thread is raised, what is dropped counted, strangers are told."""

from __future__ import annotations

import contextlib
import socket
import threading
from time import monotonic, sleep
from typing import Any

import msgspec
import pytest
import zmq

from monitor.messages.blocks import Event, EventKind, SignalBlock
from monitor.system.running_clock import RunningClock
from monitor.transport.zeromq.endpoint import readable
from monitor.transport.zeromq.results import ResultDecoder
from monitor.transport.zeromq.signals import SignalPublisher, SignalSubscriber
from monitor.transport.zeromq.subscriber import Subscriber
from monitor.transport.zeromq.subscriber_socket import SubscriberSettings, SubscriberSocket
from monitor.wire import native as wire
from monitor.wire.native import Decoder, Frames, WireError
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("no_leftovers")
LOOPBACK = "tcp://127.0.0.1:*"


def kinds(items, kind=EventKind.RECONNECTED):
    return [item for item in items if isinstance(item, Event) and item.kind is kind]


def blocks(items):
    return [item for item in items if isinstance(item, SignalBlock)]


def test_bare_zeromq_dies_of_one_oversized_message_and_this_does_not(counting, gather):
    publisher = SignalPublisher(LOOPBACK)
    with zmq.Context() as context, context.socket(zmq.SUB) as bare:
        bare.linger, bare.maxmsgsize = 0, 10_000
        bare.subscribe(b"")
        bare.connect(publisher.endpoint)
        assert publisher.wait_for_subscriber(5.0)
        source = SignalSubscriber([publisher.endpoint], max_message=10_000)
        gather(source, blocks, meanwhile=lambda: publisher.send(counting(0)))
        for index in range(1, 10):
            publisher.send(counting(index))
        publisher.send(counting(10, 1000))
        before = gather(source, lambda found: blocks(found) and blocks(found)[-1].index == 9)
        after = gather(source, kinds)
        after += gather(source, blocks, meanwhile=lambda: publisher.send(counting(2000)))
        assert [b.index for b in blocks(before) if b.index] == list(range(1, 10))
        assert {b.index for b in blocks(after)} == {2000}
        (event,) = kinds(before + after)
        assert "over 10000 bytes" in event.detail
        assert publisher.endpoint in event.detail
        heard = set()
        while bare.poll(200):
            heard.add(Decoder().decode(bare.recv_multipart()).index)
        assert heard == set(range(10))
        source.close()
        publisher.close()


def test_a_bound_port_outlives_an_oversized_message(counting, gather, subscribed):
    source = SignalSubscriber(bind=[LOOPBACK], max_message=10_000)
    (url,) = source.endpoints
    publisher = SignalPublisher(connect=url)
    bystander = SignalPublisher(connect=url)
    subscribed(publisher, source)
    subscribed(bystander, source)
    publisher.send(counting(0, 1000, rig="north"))
    for index in range(20):
        bystander.send(counting(index, rig="south"))
    received = gather(
        source,
        lambda found: {b.stream.rig for b in found} == {"north", "south"} and found[-1].stream.rig == "north",
        meanwhile=lambda: publisher.send(counting(1, rig="north")),
    )
    assert [b.index for b in received if b.stream.rig == "south"] == list(range(20))
    assert {b.index for b in received if b.stream.rig == "north"} == {1}
    assert source.endpoints == (url,)
    for thing in (source, publisher, bystander):
        thing.close()


@pytest.mark.parametrize("hangs_up", [True, False])
@pytest.mark.parametrize(
    "garbage",
    [
        b"",
        b"GET / HTTP/1.1\r\n\r\n",
        b"\xff" * 200,
        b"\xff" + bytes(8) + b"\x7f\x03\x00no such mechanism" + bytes(64),
    ],
)
def test_junk_on_a_bound_port_hurts_nobody(garbage, hangs_up, counting, gather, subscribed):
    source = SignalSubscriber(bind=[LOOPBACK])
    (url,) = source.endpoints
    publisher = SignalPublisher(connect=url)
    subscribed(publisher, source)
    strangers = []
    for index in range(20):
        stranger = socket.create_connection(("127.0.0.1", int(url.rsplit(":", 1)[1])))
        with contextlib.suppress(OSError):
            stranger.sendall(garbage)
        strangers.append(stranger)
        if hangs_up:
            stranger.close()
        publisher.send(counting(index))
    received = gather(source, lambda found: len(blocks(found)) >= 20)
    assert [block.index for block in blocks(received)] == list(range(20))
    for stranger in strangers:
        stranger.close()
    source.close()
    publisher.close()


@pytest.mark.parametrize(
    "garbage", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\xff" * 200], ids=["silent", "http", "broken"]
)
def test_a_stranger_at_the_endpoint_is_told_once_and_replaced_by_the_rig(garbage, counting, gather, subscribed):
    with _Stranger(garbage) as stranger:
        source = SignalSubscriber([stranger.url], stale_after=0.3)
        early = gather(source, lambda found: kinds(found, EventKind.NOTE))
        early += gather(source, lambda _: stranger.visits >= 5)
    assert len(kinds(early, EventKind.NOTE)) == 1
    assert not kinds(early)
    assert "does not answer like a ZeroMQ publisher" in kinds(early, EventKind.NOTE)[0].detail
    publisher = SignalPublisher(stranger.url)
    late = gather(source, kinds)
    subscribed(publisher, source)
    publisher.send(counting(3))
    late += gather(source, blocks)
    assert [block.index for block in blocks(late)] == [3]
    assert len(kinds(late)) == 1
    source.close()
    publisher.close()


def test_a_socket_of_the_wrong_kind_is_told():
    with zmq.Context() as context, context.socket(zmq.PUSH) as wrong:
        wrong.linger = 0
        port = wrong.bind_to_random_port("tcp://127.0.0.1")
        source = SignalSubscriber([f"tcp://127.0.0.1:{port}"])
        found = []
        deadline = monotonic() + 5.0
        while not found and monotonic() < deadline:
            found += source.receive(0.1)
        assert [event.kind for event in found] == [EventKind.NOTE]
        source.close()


def test_a_restarted_publisher_is_heard_again(counting, gather, subscribed):
    publisher = SignalPublisher(LOOPBACK)
    url = publisher.endpoint
    source = SignalSubscriber([url], stale_after=0.5)
    received = []
    for start in (0, 100, 200):
        subscribed(publisher, source)
        for index in range(start, start + 10):
            publisher.send(counting(index))
        received += gather(source, lambda found: len(blocks(found)) >= 10)
        publisher.close()
        received += source.receive(0.3)
        publisher = SignalPublisher(url)
        received += gather(source, kinds)
    assert [b.index for b in blocks(received)] == [s + i for s in (0, 100, 200) for i in range(10)]
    events = kinds(received)
    assert len(events) == 3
    assert all("the sender disconnected" in event.detail for event in events)
    assert [event.index for event in events] == [9, 109, 209]
    publisher.close()
    source.close()


def test_nobody_there_makes_no_events_and_a_late_rig_is_heard(counting, gather, subscribed):
    with socket.create_server(("127.0.0.1", 0)) as placeholder:
        port = placeholder.getsockname()[1]
    source = SignalSubscriber([f"tcp://127.0.0.1:{port}"], stale_after=0.2)
    end = monotonic() + 1.5
    while monotonic() < end:
        assert source.receive(0.1) == []
    publisher = SignalPublisher(f"tcp://127.0.0.1:{port}")
    subscribed(publisher, source)
    publisher.send(counting(0))
    (block,) = gather(source, bool)
    assert block.index == 0
    source.close()
    publisher.close()


def test_a_quiet_rig_is_left_alone(counting, gather, subscribed):
    """Silence of a living connection is the sender's business: cutting it would lose what comes next."""
    publisher = SignalPublisher(LOOPBACK)
    source = SignalSubscriber([publisher.endpoint], stale_after=0.2)
    subscribed(publisher, source)
    publisher.send(counting(0))
    received = gather(source, bool)
    received += source.receive(1.0)
    assert publisher.subscribed
    publisher.send(counting(1))
    received += gather(source, bool)
    assert [block.index for block in received] == [0, 1]
    source.close()
    publisher.close()


def test_who_sent_what_is_thrown_away_is_known(counting):
    with zmq.Context() as context:
        settings = SubscriberSettings()
        reader = SubscriberSocket(context, zmq.Poller(), LOOPBACK, settings, bind=True)
        assert reader.disconnect() == ""
        reader = SubscriberSocket(context, zmq.Poller(), LOOPBACK, settings, bind=True)
        publisher = SignalPublisher(connect=reader.url)
        until(lambda: readable(reader._socket), lambda: publisher.send(counting(0)))
        assert reader.disconnect() == "127.0.0.1"
        publisher.close()


class _Stranger:
    """A TCP server that speaks something else."""

    def __init__(self, greeting: bytes) -> None:
        self.greeting = greeting
        self.visits = 0
        self._server = socket.create_server(("127.0.0.1", 0))
        self._server.settimeout(0.05)
        self.url = f"tcp://127.0.0.1:{self._server.getsockname()[1]}"
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve)

    def _serve(self) -> None:
        visitors = []
        while not self._stop.is_set():
            with contextlib.suppress(OSError):
                visitor, _ = self._server.accept()
                self.visits += 1
                visitors.append(visitor)
                visitor.sendall(self.greeting)
                if self.greeting.startswith(b"HTTP"):
                    sleep(0.01)
                    visitor.close()
        for visitor in visitors:
            visitor.close()

    def __enter__(self) -> _Stranger:
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._stop.set()
        self._thread.join()
        self._server.close()


class Socket:
    """A socket that gives what is put into `frames`, or fails."""

    url, disconnected, peer = "inproc://somewhere", False, 0

    def __init__(self, *, failing: bool = False) -> None:
        self.failing = failing
        self.frames: list[Frames] = []

    def messages(self, limit: int) -> list[Frames]:
        if self.failing:
            raise KeyError("a fault")
        taken, self.frames = self.frames[:limit], self.frames[limit:]
        return taken

    def listen(self) -> None: ...

    def wait(self, _milliseconds: int) -> None: ...

    def check_connection(self) -> list[tuple[str, str]]:
        return []

    def hold(self, *, on: bool) -> None: ...

    def disconnect(self) -> str:
        self.frames, self.disconnected = [], True
        return "10.0.0.9"

    def close(self) -> None: ...


def subscriber(socket: Any, running: RunningClock | None = None, **settings: Any) -> Subscriber[Frames]:
    made = Subscriber(
        lambda frames, _: [frames],
        ["inproc://x"],
        (),
        SubscriberSettings(**settings),
        listening=False,
        running=running,
        reports_pauses=True,
    )
    made._sockets[0].close()
    made._sockets[0] = socket
    return made


def test_what_ended_it_is_raised_at_every_receive():
    reading = subscriber(Socket(failing=True))
    reading.listen()
    for timeout in (30.0, 30.0, 0.0):
        with pytest.raises(KeyError, match="a fault"):
            reading.receive(timeout)
    reading.close()


def test_what_was_dropped_since_the_last_that_was_kept_is_told_from_what_a_gap_shows():
    socket = Socket()
    reading = subscriber(socket, queue_bytes=1000)
    long, short = [b"x" * 2000], [b"x"]
    for frames, expected in ((long, (1, 1)), (long, (2, 2)), (short, (2, 0)), (long, (3, 1))):
        socket.frames.append(frames)
        reading._read(0.0)
        assert (reading.dropped, reading.dropped_at_end) == expected
    reading.close()


class Rig:
    """A sender and a reader by one clock: messages arrive at a rate, and each takes time to read."""

    def __init__(self, rate: float, cost: float) -> None:
        self.rate, self.cost = rate, cost
        self.now, self.sent = 0.0, 0
        self.socket = Socket()
        self.socket.messages = self.messages
        self.reading = subscriber(self.socket, RunningClock(clock=lambda: self.now))

    def messages(self, limit: int) -> list[Frames]:
        due = int(self.now * self.rate)
        taken = min(limit, due - self.sent)
        self.sent += taken
        self.now += taken * self.cost
        return [[b"x"]] * taken

    def events(self) -> list[tuple[EventKind, str]]:
        queued = [self.reading._next_item(0.0) for _ in range(self.reading.waiting)]
        return [item for item in queued if isinstance(item, tuple) and not hasattr(item, "frames")]


@pytest.mark.parametrize("pause", [1.5, 4.0, 20.0, 60.0])
@pytest.mark.parametrize("rate", [10.0, 100.0, 1000.0])
@pytest.mark.parametrize("cost", [1e-5, 4e-4], ids=["idle machine", "loaded machine"])
def test_a_pause_of_the_reader_is_told_as_that_and_nothing_is_thrown_away(pause, rate, cost):
    rig, told = Rig(rate, cost), []
    for turn in range(2000):
        rig.now += pause if turn == 100 else 0.01
        rig.reading._read_batches(None)
        told += rig.events()
    assert told == [
        (EventKind.NOTE, f"this program was paused for {pause:.1f} s: what its senders kept meanwhile is read now")
    ]
    assert rig.sent == pytest.approx(rate * rig.now, abs=1 + 300 * rate * cost)
    assert not rig.socket.disconnected
    rig.reading.close()


@pytest.mark.parametrize("pause", [0.0, 4.0])
def test_a_flood_is_ended_after_three_seconds_of_reading_beyond_the_pause(pause):
    rig, told = Rig(2e5, 1e-5), []
    rig.now += 0.01
    rig.reading._read_batches(None)
    rig.now += pause
    began = rig.now
    while not rig.socket.disconnected:
        rig.now += 0.01
        rig.reading._read_batches(None)
        told += rig.events()
    assert rig.now - began == pytest.approx(3.0 + pause, rel=0.15)
    kind, text = told[-1]
    assert kind is EventKind.REJECTED
    assert "of reading, the newest from 10.0.0.9: all senders here were disconnected" in text
    rig.reading.close()


def test_an_event_that_says_more_than_any_service_does_is_refused():
    decoder = ResultDecoder()
    for length, taken in ((4096, True), (4097, False)):
        event = Event(EventKind.NOTE, 0.0, 0, 0, "x" * length)
        frames = [wire.topic("event", "rig"), msgspec.json.encode(event)]
        if taken:
            assert decoder.decode(frames, "") == (event,)
            continue
        with pytest.raises(WireError, match="the limit is 4096"):
            decoder.decode(frames, "")
