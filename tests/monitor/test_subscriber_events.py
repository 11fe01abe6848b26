"""What a client takes for an event of the service."""

from __future__ import annotations

import msgspec
import pytest

from monitor.messages.blocks import Event, EventKind
from monitor.transport.zeromq.result_subscriber import ResultSubscriber
from monitor.wire import native as wire
from monitor.wire.native import WireError

pytestmark = pytest.mark.usefixtures("no_leftovers")


def test_an_event_that_says_more_than_any_service_does_is_refused():
    subscriber = ResultSubscriber("tcp://127.0.0.1:9")
    try:
        for length, taken in ((4096, True), (4097, False)):
            event = Event(EventKind.NOTE, 0.0, 0, 0, "x" * length)
            frames = [wire.topic("event", "rig"), msgspec.json.encode(event)]
            if taken:
                assert subscriber._read(frames, "") == (event,)
                continue
            with pytest.raises(WireError, match="the limit is 4096"):
                subscriber._read(frames, "")
    finally:
        subscriber.close()
