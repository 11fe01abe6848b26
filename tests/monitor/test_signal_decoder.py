from __future__ import annotations

import json
import struct

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from monitor.messages.blocks import Column, Event, ResultBlock, ResultStream, SignalBlock
from monitor.transport.zeromq.message_queue import Origin
from monitor.transport.zeromq.signals import MAX_SENDERS, SignalDecoder
from monitor.wire import native as wire
from monitor.wire.native import Encoder, WireError

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
