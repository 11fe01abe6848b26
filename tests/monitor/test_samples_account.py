"""Messages kept, damaged, dropped and lost, over restarts: every sample of a native sender is counted once."""

from __future__ import annotations

import struct
from contextlib import closing

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.engine.continuity import Continuity
from monitor.messages.blocks import Channel, Event, EventKind, Role, SignalBlock, Stream
from monitor.transport.zeromq import subscriber
from monitor.transport.zeromq.message_queue import UnusedMessages
from monitor.transport.zeromq.signals import SignalDecoder
from monitor.transport.zeromq.subscriber import Subscriber
from monitor.transport.zeromq.subscriber_socket import SubscriberSettings
from monitor.wire.native import Encoder, Frames

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
