"""What a subscription reads: what ends its thread is raised, never a silence; what is dropped is counted."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from monitor.messages.blocks import Event, EventKind
from monitor.system.running_clock import RunningClock
from monitor.transport.zeromq.results import ResultDecoder
from monitor.transport.zeromq.subscriber import Subscriber
from monitor.transport.zeromq.subscriber_socket import SubscriberSettings
from monitor.wire import native as wire
from monitor.wire.native import Frames, WireError


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
