"""The subscriber of signals over real sockets, and what it makes of frames."""

from __future__ import annotations

import json
import os
import struct
import threading
from itertools import chain
from time import monotonic, sleep

import msgspec
import numpy as np
import pytest
import zmq
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from monitor.messages.blocks import Column, Event, EventKind, ResultBlock, ResultStream, SignalBlock
from monitor.transport.zeromq.message_queue import Origin
from monitor.transport.zeromq.signals import MAX_SENDERS, SignalDecoder, SignalPublisher, SignalSubscriber
from monitor.wire import native as wire
from monitor.wire.native import Encoder, WireError

pytestmark = pytest.mark.usefixtures("no_leftovers")
LOOPBACK = "tcp://127.0.0.1:*"


def counts(items) -> np.ndarray:
    return np.concatenate([item.samples[:, 2] for item in items if isinstance(item, SignalBlock)] or [[]])


def refused(items) -> int:
    return sum(item.count for item in items if isinstance(item, Event) and item.kind is EventKind.REJECTED)


@pytest.mark.parametrize("source_binds", [False, True])
def test_a_hundred_thousand_samples_flat_out_to_a_slow_reader(counting, source_binds):
    """Small queues on both sides make the sender wait; nothing is lost, doubled or moved."""
    total, rows = 100_000, 20
    if source_binds:
        source = SignalSubscriber(bind=[LOOPBACK], queue_seconds=0.05)
        publisher = SignalPublisher(connect=source.endpoints[0], reliable=True, queue_seconds=0.05)
    else:
        publisher = SignalPublisher(LOOPBACK, reliable=True, queue_seconds=0.05)
        source = SignalSubscriber([publisher.endpoint], queue_seconds=0.05)
    sent = []

    def send():
        assert publisher.wait_for_subscriber(10.0)
        sent.extend(publisher.send(counting(i, rows, last=i + rows == total)) for i in range(0, total, rows))

    sender = threading.Thread(target=send)
    sender.start()
    received = []
    while not (received and received[-1].last):
        batch = source.receive(10.0)
        assert batch, "the stream stopped short"
        received += batch
        if len(received) < 2000:
            sleep(0.005)
    sender.join()
    publisher.close()
    source.close()
    assert all(sent)
    assert all(isinstance(item, SignalBlock) for item in received)
    np.testing.assert_array_equal(counts(received), np.arange(total))


def test_two_rigs_on_two_endpoints_and_one_port(counting, gather, subscribed):
    with_port = SignalPublisher(LOOPBACK)
    source = SignalSubscriber([with_port.endpoint], [LOOPBACK])
    bound, connected = source.endpoints
    assert connected == with_port.endpoint
    assert bound.rsplit(":", 1)[1].isdigit()
    to_port = SignalPublisher(connect=bound)
    subscribed(with_port, source)
    subscribed(to_port, source)
    for index in range(50):
        with_port.send(counting(index, rig="north"))
        to_port.send(counting(index, rig="south"))
    received = gather(source, lambda found: len(found) == 100)
    for rig in ("north", "south"):
        assert [b.index for b in received if b.stream.rig == rig] == list(range(50))
    for thing in (source, with_port, to_port):
        thing.close()


def test_plain_senders_need_nothing_but_a_socket(gather):
    source = SignalSubscriber(bind=[LOOPBACK], rig="bench")
    with zmq.Context() as context, context.socket(zmq.PUB) as sender:
        sender.linger = 0
        sender.connect(source.endpoints[0])

        def send():
            sender.send_json({"t": 0.0, "command": 1, "measured": 2, "sample_rate": 100, "rig": "bench"})
            sleep(0.005)

        first, *_ = gather(source, bool, meanwhile=send)
        np.testing.assert_array_equal(first.samples, [[1.0, 2.0]])
        source.close()


def test_receive_keeps_to_its_timeout(counting):
    publisher = SignalPublisher(LOOPBACK)
    source = SignalSubscriber([publisher.endpoint])
    for timeout in (0.0, 0.001, 0.05, 0.3):
        start = monotonic()
        assert source.receive(timeout) == []
        elapsed = monotonic() - start
        assert timeout <= elapsed + 1e-3
        assert elapsed < timeout + 0.5
    assert publisher.wait_for_subscriber(5.0)
    publisher.send(counting(0))
    start = monotonic()
    assert len(source.receive(20.0)) == 1
    assert monotonic() - start < 5.0
    source.close()
    publisher.close()


def test_a_flood_of_junk_is_counted_and_hides_nothing(counting, gather):
    """Every kind of bad message between good ones: all bad ones counted, all good ones delivered."""
    source = SignalSubscriber(bind=[LOOPBACK])
    encoder = Encoder()
    good = encoder.encode(counting(0))
    topic, head, position, payload = good
    hostile = [
        [b""],
        [b"", b"", b""],
        [b"junk"],
        [os.urandom(100)],
        [b"{" * 1000],
        [b'{"t": 0, "command": "one", "measured": []}'],
        [b'{"t": NaN, "command": NaN, "measured": 1}'],
        [b"\xdf\xff\xff\xff\xff"],
        [b"\xc1" * 10],
        [topic],
        [topic, head],
        [topic, head, position],
        [topic, head, position, payload[:-1]],
        [topic, head, position[:-1], payload],
        [topic, head[:-1], position, payload],
        [topic, head.replace(b'"version":1', b'"version":2'), position, payload],
        [topic, head.replace(b"1000.0", b"-1.0"), position, payload],
        [topic, head.replace(b'"name"', b'"\x80ame"', 1), position, payload],
        [topic, b"[" * 100_000, position, payload],
        [topic, head, b"\xff" * 24, payload],
        [topic, head, position, payload, b"more"],
        [b"synchroscope/9/signals/rig", head, position, payload],
        [b"x"] * 50,
    ]
    rounds = 20
    with zmq.Context() as context, context.socket(zmq.XPUB) as sender:
        sender.linger, sender.sndhwm = 0, 0
        sender.connect(source.endpoints[0])
        gather(source, lambda _: sender.poll(0))
        for number in range(rounds):
            for frames in hostile:
                sender.send_multipart(frames)
            sender.send_multipart(encoder.encode(counting(number)))
        expected = rounds * len(hostile)
        received = gather(source, lambda found: refused(found) >= expected and len(counts(found)) >= rounds)
    assert refused(received) == expected
    np.testing.assert_array_equal(counts(received), np.arange(rounds))
    events = [item for item in received if isinstance(item, Event)]
    assert len(events) < 20
    assert all(event.detail for event in events)
    source.close()


def test_closing_leaves_nothing_and_may_be_repeated(counting, subscribed):
    publisher = SignalPublisher(LOOPBACK)
    for _ in range(10):
        source = SignalSubscriber([publisher.endpoint], [LOOPBACK])
        subscribed(publisher, source)
        publisher.send(counting(0))
        source.close()
        source.close()
        assert source.receive(10.0) == []
        assert not source.ended
    publisher.close()
    publisher.close()


def test_a_port_is_free_again_after_closing():
    ports = chain.from_iterable(
        (source.endpoints, source.close())[0] for source in [SignalSubscriber(bind=[LOOPBACK]) for _ in range(3)]
    )
    for url in ports:
        again = SignalSubscriber(bind=[url])
        assert again.endpoints == (url,)
        again.close()


def test_until_it_listens_nothing_piles_up(counting, gather):
    publisher = SignalPublisher(LOOPBACK)
    source = SignalSubscriber([publisher.endpoint], listening=False)
    assert not publisher.wait_for_subscriber(0.5)
    for index in range(10):
        publisher.send(counting(index))
    source.listen()
    assert publisher.wait_for_subscriber(5.0)
    publisher.send(counting(10))
    received = gather(source, lambda found: bool(counts(found).size))
    np.testing.assert_array_equal(counts(received), [10.0])
    source.close()
    publisher.close()


@pytest.mark.parametrize(("messages", "rows"), [(600, 5), (6, 100_000)])
def test_it_tells_whether_more_was_waiting_and_takes_no_more_than_so_much_in_one_go(counting, messages, rows):
    publisher = SignalPublisher(LOOPBACK, reliable=True)
    source = SignalSubscriber([publisher.endpoint])
    assert publisher.wait_for_subscriber(10.0)
    assert source.receive(0.0) == [] and not source.waiting
    for number in range(messages):
        publisher.send(counting(number * rows, rows))
    deadline, received, waiting = monotonic() + 30.0, [], []
    while len(received) < messages and monotonic() < deadline:
        # so that what was sent has come
        sleep(0.2)
        taken = source.receive(1.0)
        received += taken
        waiting.append(source.waiting)
        assert len(taken) == len(source.waited) <= 256
        assert min(source.waited) >= 0.0
        assert sum(block.samples.nbytes for block in taken[:-1]) < 1 << 23
    publisher.close()
    source.close()
    np.testing.assert_array_equal(counts(received), np.arange(messages * rows))
    assert waiting[0] and not waiting[-1]


def test_it_tells_for_how_long_each_block_had_waited_since_it_came(counting):
    publisher = SignalPublisher(LOOPBACK)
    source = SignalSubscriber([publisher.endpoint])
    assert publisher.wait_for_subscriber(10.0)
    pause, began = 0.3, monotonic()
    for number in range(3):
        publisher.send(counting(number))
        sleep(pause)
    received = source.receive(0.0)
    waited, most = source.waited, monotonic() - began
    publisher.close()
    assert len(received) == len(waited) == 3
    assert all(pause * (3 - number) - 0.1 <= each <= most for number, each in enumerate(waited))
    assert sorted(waited, reverse=True) == waited
    # what is told of the transport itself has not waited
    with zmq.Context() as context, context.socket(zmq.PUB) as sender:
        sender.linger = 0
        sender.bind(publisher.endpoint)
        told = []
        deadline = monotonic() + 20.0
        while not refused(told):
            assert monotonic() < deadline
            sender.send(b"junk")
            told = source.receive(0.05)
            assert len(source.waited) == len(told)
    source.close()


ORIGIN = Origin("tcp://127.0.0.1:1")


def plain(index: int, **more) -> bytes:
    return json.dumps({"t": index / 100.0, "command": 1.0, "measured": 0.5, "sample_rate": 100.0} | more).encode()


def test_native_comes_back_as_it_was_sent(counting):
    block = counting(3, 4)
    (back,) = SignalDecoder().decode(Encoder().encode(block), ORIGIN)
    assert (back.stream, back.index, back.time) == (block.stream, 3, block.time)
    np.testing.assert_array_equal(back.samples, block.samples)


@pytest.mark.parametrize("frames", [[plain(0)], [b"any topic", plain(0)], [b"", plain(0)]])
def test_plain_comes_with_a_topic_or_without(frames):
    (block,) = SignalDecoder().decode(frames, ORIGIN)
    np.testing.assert_array_equal(block.samples, [[1.0, 0.5]])
    assert block.stream.sample_rate == 100.0


def test_plain_needs_no_rate_where_it_is_configured():
    message = msgspec.msgpack.encode({"t": 0.0, "command": 1.0, "measured": 0.5})
    (block,) = SignalDecoder(sample_rate=256.0).decode([message], ORIGIN)
    assert block.stream.sample_rate == 256.0
    with pytest.raises(ValueError, match="sample rate"):
        SignalDecoder(sample_rate=-1.0)


def test_two_plain_rigs_on_one_endpoint_do_not_mix():
    intake = SignalDecoder()
    seen = []
    for index in range(5):
        for rig in ("north", "south"):
            seen += intake.decode([plain(index, rig=rig)], ORIGIN)
    assert [(b.stream.rig, b.index) for b in seen] == [(r, i) for i in range(5) for r in ("north", "south")]
    assert len({b.stream.epoch for b in seen if b.stream.rig == "north"}) == 1


def test_plain_rigs_without_end_are_refused():
    intake = SignalDecoder()
    for number in range(MAX_SENDERS):
        intake.decode([plain(0, rig=f"rig{number}")], ORIGIN)
    with pytest.raises(WireError, match="more than"):
        intake.decode([plain(0, rig="one too many")], ORIGIN)
    assert intake.decode([plain(1, rig="rig0")], ORIGIN)


def test_only_the_rig_asked_for_is_let_through(counting):
    intake = SignalDecoder("north")
    assert intake.decode(Encoder().encode(counting(0, rig="north")), ORIGIN)
    assert not intake.decode(Encoder().encode(counting(0, rig="north-2")), ORIGIN)
    assert not intake.decode([plain(0, rig="south")], ORIGIN)


@pytest.mark.parametrize("kind", ["results", "health", "event"])
def test_what_a_service_publishes_is_passed_over(kind):
    assert SignalDecoder().decode([wire.topic(kind, "rig"), b"whatever"], ORIGIN) == ()


def test_results_under_the_topic_of_signals_are_refused():
    stream = ResultStream("rig", 1, 100.0, 1, (Column("ti", "", "a"),))
    frames = Encoder().encode(ResultBlock(stream, 0, 0.0, np.zeros((1, 1))))
    with pytest.raises(WireError, match="results"):
        SignalDecoder().decode([wire.topic("signals", "rig"), *frames[1:]], ORIGIN)


@pytest.mark.parametrize("first", [b"synchroscope/2/signals/rig", b"synchroscope/", b"synchroscope/1/none/"])
def test_a_topic_of_another_version_is_refused(first, counting):
    with pytest.raises(WireError, match="topic"):
        SignalDecoder().decode([first, *Encoder().encode(counting(0))[1:]], ORIGIN)


frames_of_anything = st.lists(
    st.one_of(
        st.binary(max_size=64),
        st.sampled_from([b"synchroscope/1/signals/rig", b"{", b"\x83", b"\xdf\xff\xff\xff\xff", b"[" * 5000]),
        st.recursive(
            st.none() | st.booleans() | st.integers(-(1 << 63), (1 << 64) - 1) | st.floats() | st.text(),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
            max_leaves=5,
        ).map(msgspec.msgpack.encode),
    ),
    min_size=1,
    max_size=5,
)


@example([b"[" * 5000])
@given(frames_of_anything)
def test_anything_at_all_is_read_or_refused(frames):
    read_or_refuse(SignalDecoder(), frames)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_message_is_read_or_refused(counting, data):
    frames = Encoder().encode(counting(0, 3))
    which = data.draw(st.integers(0, len(frames) - 1))
    damaged = bytearray(frames[which])
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    frames[which] = bytes(damaged[: data.draw(st.integers(0, len(damaged)))])
    read_or_refuse(SignalDecoder(), frames)


@given(
    st.fixed_dictionaries(
        {"command": st.floats(width=64) | st.none(), "measured": st.none() | st.just(0.5)},
        optional={
            "t": st.floats() | st.lists(st.floats(), max_size=3),
            "index": st.integers(-(1 << 63), (1 << 64) - 1) | st.floats(),
            "epoch": st.integers(-(1 << 63), (1 << 64) - 1) | st.floats(),
            "sample_rate": st.floats(),
            "rig": st.text(max_size=5),
            "last": st.booleans(),
        },
    ),
    st.integers(1, 3),
)
def test_strange_plain_values_are_read_or_refused(message, times):
    intake = SignalDecoder()
    for _ in range(times):
        read_or_refuse(intake, [msgspec.msgpack.encode(message)])


def test_a_position_beyond_every_limit_is_refused(counting):
    frames = Encoder().encode(counting(0))
    for position in (struct.pack("<QdII", 1 << 63, 0.0, 1, 0), struct.pack("<QdII", 0, float("nan"), 1, 0)):
        with pytest.raises(WireError):
            SignalDecoder().decode([frames[0], frames[1], position, frames[3]], ORIGIN)


def read_or_refuse(intake: SignalDecoder, frames: list[bytes]) -> None:
    try:
        blocks = intake.decode(frames, ORIGIN)
    except WireError as problem:
        assert "\n" not in str(problem)
        assert str(problem)
    else:
        assert all(isinstance(block, SignalBlock | Event) for block in blocks)
