"""What a subscription reads: what ends its thread is raised, never a silence; what is dropped is counted."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from monitor.messages.blocks import Event, EventKind
from monitor.transport.zeromq.results import ResultDecoder
from monitor.transport.zeromq.subscriber import Subscriber
from monitor.transport.zeromq.subscriber_socket import SubscriberSettings
from monitor.wire import native as wire
from monitor.wire.native import Frames, WireError


class Socket:
    """A socket that gives what is put into `frames`, or fails."""

    url = "inproc://somewhere"

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

    def close(self) -> None: ...


def subscriber(socket: Any, **settings: Any) -> Subscriber[Frames]:
    made = Subscriber(lambda frames, _: [frames], ["inproc://x"], (), SubscriberSettings(**settings), listening=False)
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
