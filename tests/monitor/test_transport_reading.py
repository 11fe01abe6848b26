"""A reading thread that ends: whoever takes is told every time, never a silence."""

from __future__ import annotations

from typing import cast

import pytest
import zmq

from monitor.transport.zeromq.reading import Reading
from monitor.transport.zeromq.subscriber_socket import LinkSettings, SubscriberSocket


class Failing:
    def messages(self, _most: int) -> None:
        raise KeyError("a fault")


def test_what_ended_it_is_raised_at_every_take():
    reading = Reading([cast(SubscriberSocket, Failing())], zmq.Poller(), LinkSettings((b"",)))
    reading.start()
    for timeout in (30.0, 30.0, 0.0):
        with pytest.raises(KeyError, match="a fault"):
            reading.take(timeout)
    reading.close()


class Sending:
    """A link that gives what is put into `frames`."""

    def __init__(self) -> None:
        self.frames: list[list[bytes]] = []

    def messages(self, most: int) -> list[list[bytes]]:
        taken, self.frames = self.frames[:most], self.frames[most:]
        return taken

    def wait(self, _milliseconds: int) -> None: ...

    def notices(self) -> list[tuple[str, str]]:
        return []

    def hold(self, *, on: bool) -> None: ...


def test_what_was_dropped_since_the_last_that_was_kept_is_told_from_what_a_gap_shows():
    link = Sending()
    reading = Reading([cast(SubscriberSocket, link)], zmq.Poller(), LinkSettings((b"",), queue_bytes=1000))
    long, short = [b"x" * 2000], [b"x"]
    for frames, expected in ((long, (1, 1)), (long, (2, 2)), (short, (2, 0)), (long, (3, 1))):
        link.frames.append(frames)
        reading._read(0.0)
        assert (reading.dropped, reading.dropped_last) == expected
