"""One plain message: read as the page says, or refused with a reason."""

from __future__ import annotations

import json
import math
import re
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.messages.blocks import Role, SignalBlock
from monitor.wire.native import Decoder, Encoder, WireError
from monitor.wire.plain import MAX_BODY, decode_plain
from monitor.wire.plain_assembler import PlainAssembler

Encode = Callable[[object], bytes]

PAGE = Path(__file__).parents[2] / "docs" / "wire-format.md"
_LEAST = {"command": 1.0, "measured": 2.0}
_ENCODERS: dict[str, Encode] = {"json": msgspec.json.encode, "msgpack": msgspec.msgpack.encode}


def _body(**keys: object) -> bytes:
    return msgspec.json.encode(_LEAST | keys)


def _refused(body: bytes) -> str:
    with pytest.raises(WireError) as caught:
        decode_plain(body)
    reason = str(caught.value)
    assert reason.isprintable() and len(reason) < 500
    return reason


@pytest.mark.parametrize("encode", _ENCODERS.values(), ids=_ENCODERS.keys())
def test_one_sample_of_one_actuator(encode: Encode) -> None:
    message = decode_plain(encode({"t": 12.5, "command": 1, "measured": None}))
    assert [(c.name, c.role, c.actuator) for c in message.channels] == [
        ("actuator.command", Role.COMMAND, "actuator"),
        ("actuator.measured", Role.MEASURED, "actuator"),
    ]
    np.testing.assert_array_equal(message.samples, [[1.0, np.nan]])
    assert message.times == (12.5,) and message.index is None and not message.last


@pytest.mark.parametrize("encode", _ENCODERS.values(), ids=_ENCODERS.keys())
def test_every_key_at_once(encode: Encode) -> None:
    text = "## Signals: the plain form"
    page = re.findall(r"^```json\n(.*?)^```", PAGE.read_text("utf-8").split(text)[1], re.M | re.S)
    message = decode_plain(encode(json.loads(page[1])))
    names = ["north.command", "north.measured", "north.force", "south.command", "south.measured"]
    assert [c.name for c in message.channels] == [*names, "oil temperature"]
    expected = [[0.5, 0.25, 12.5, 0.0, 0.0, 41.2], [-1.0, np.nan, 13.0, 0.1, 0.1, 41.2]]
    np.testing.assert_array_equal(message.samples, expected)
    assert message.samples.dtype == np.float64 and message.samples.flags.c_contiguous
    (block,) = PlainAssembler().accept(message)
    stream = block.stream
    assert (stream.rig, stream.epoch, stream.sample_rate) == ("lab", 1_700_000_000, 1000.0)
    assert [c.unit for c in stream.channels] == ["m", "m", "kN", "m", "m", "degC"]
    assert (block.index, block.time, block.last) == (258, 0.258, False)
    # and it can be passed on in the native form
    passed_on = Decoder().decode(Encoder().encode(block))
    assert passed_on.stream == stream


def test_every_plain_example_of_the_page_is_read() -> None:
    section = PAGE.read_text("utf-8").split("## Signals: the plain form")[1].split("## Results")[0]
    bodies = re.findall(r"^```json\n(.*?)^```", section, re.M | re.S)
    assert len(bodies) == 3
    assert [len(decode_plain(body.encode())) for body in bodies] == [1, 2, 0]


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from("abcdef"), st.just(0), min_size=1), st.integers(1, 5), st.data())
def test_messagepack_and_json_say_the_same(names: dict[str, int], rows: int, data: st.DataObject) -> None:
    column = st.lists(st.none() | st.floats(allow_nan=False, allow_infinity=False), min_size=rows, max_size=rows)
    keys = {role: {name: data.draw(column) for name in names} for role in ("command", "measured", "force")}
    one, two = (decode_plain(encode(keys)) for encode in _ENCODERS.values())
    assert one.channels == two.channels
    np.testing.assert_array_equal(one.samples, two.samples)
    columns = [keys[c.role.value][c.actuator] for c in one.channels]
    np.testing.assert_array_equal(one.samples, np.array(columns, dtype=np.float64).T)


def test_numbers_that_only_messagepack_can_say() -> None:
    message = decode_plain(msgspec.msgpack.encode({"command": [math.nan, math.inf], "measured": [1, -math.inf]}))
    np.testing.assert_array_equal(message.samples, [[np.nan, 1.0], [np.inf, -np.inf]])


@pytest.mark.parametrize(
    "text",
    [
        "NaN",
        "nan",
        "-nan",
        "-nan(ind)",
        "nan(snan)",
        "Infinity",
        "-Infinity",
        "inf",
        "1.#QNAN",
        "-1.#IND00",
        "1.#INF",
    ],
)
@pytest.mark.parametrize("end", [b"", b"\0", b"\0\0\0", b"\0what was in the buffer {"])
@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
def test_what_programs_write_for_a_missing_number_costs_one_sample(text: str, end: bytes, start: bytes) -> None:
    body = f'{{"command": [1, {text}, 3], "measured": [4, 5, {text}], "units": {{"command": "nan, NaN"}}}}'
    message = decode_plain(start + body.encode() + end)
    np.testing.assert_array_equal(message.samples, [[1.0, 4.0], [np.nan, 5.0], [3.0, np.nan]])
    assert message.units == {"command": "nan, NaN"}


def test_a_time_that_is_missing_costs_no_sample() -> None:
    assert decode_plain(_body(t=None)).times == decode_plain(b'{"t": NaN, "command": 1, "measured": 1}').times == ()
    np.testing.assert_array_equal(
        decode_plain(_body(t=[1, None], command=[1, 2], measured=[1, 2])).times, [1.0, math.nan]
    )


_BAD = {
    "empty": (b"", "neither"),
    "a text": (b'"command"', "neither"),
    "an array": (b"[1,2]", "neither"),
    "pickle": (b"\x80\x04\x95\x00", "cannot be read"),
    "a typed array of JavaScript": (
        b'{"command":{"0":1,"1":2,"2":3},"measured":{"0":1,"1":2,"2":3}}',
        "names 0 to 2, as a typed array of JavaScript in JSON: send Array.from(it)",
    ),
    "no command": (b'{"measured":1}', "command"),
    "nothing measured": (b'{"command":1}', "measured"),
    "a typing error": (_body(comand=1), "comand"),
    "a boolean": (_body(command=True), "bool"),
    "a boolean in a list": (_body(command=[1, False]), "bool"),
    "a text for a number": (_body(command="1"), "str"),
    "a number out of range": (b'{"command": 1e999, "measured": 1}', "range"),
    "a list of lists": (_body(command=[[1]]), "array"),
    "a map of maps": (_body(command={"a": {"b": 1}}, measured={"a": 1}), "object"),
    "no actuator": (_body(command={}, measured={}), "no actuator"),
    "an actuator without measurement": (_body(command={"a": 1, "b": 1}, measured={"a": 1}), "'b'"),
    "a measurement without command": (_body(command={"a": 1}, measured={"a": 1, "b": 1}), "'b'"),
    "a force without command": (_body(force={"nroth": 1}), "nroth"),
    "lists of two lengths": (_body(command=[1, 2]), "equal numbers"),
    "an actuator without name": (_body(command={"": 1}, measured={"": 1}), "name"),
    "a long name": (_body(command={"a" * 120: 1}, measured={"a" * 120: 1}), "119"),
    "a name with a line end": (_body(command={"a\n": 1}, measured={"a\n": 1}), "printable"),
    "a name that is taken": (_body(auxiliary={"actuator.command": 1}), "rename"),
    "auxiliary is a list": (_body(auxiliary=[1]), "auxiliary"),
    "too many channels": (_body(auxiliary={str(n): 1 for n in range(4096)}), "4096"),
    "t is true": (_body(t=True), "bool"),
    "t is too short": (_body(command=[1, 2], measured=[1, 2], t=[0]), "1 times for 2"),
    "t is infinite": (msgspec.msgpack.encode(_LEAST | {"t": math.inf}), "below"),
    "t is enormous": (_body(t=1e300), "below"),
    "rate is zero": (_body(sample_rate=0), "sample_rate"),
    "rate is negative": (_body(sample_rate=-1), "sample_rate"),
    "rate is enormous": (_body(sample_rate=1e300), "sample_rate"),
    "rate is NaN": (msgspec.msgpack.encode(_LEAST | {"sample_rate": math.nan}), "sample_rate"),
    "index is negative": (_body(index=-1), "index"),
    "index is broken": (_body(index=1.5), "index"),
    "index is enormous": (_body(index=1 << 60), "index"),
    "index is NaN": (msgspec.msgpack.encode(_LEAST | {"index": math.nan}), "index"),
    "epoch is a text": (_body(epoch="now"), "epoch"),
    "epoch is infinite": (msgspec.msgpack.encode(_LEAST | {"epoch": math.inf}), "epoch"),
    "epoch has 5000 digits": (_body(epoch=7).replace(b":7", b":7" + b"0" * 5000), "range"),
    "rig is empty": (_body(rig=""), "rig"),
    "rig is a number": (_body(rig=3), "rig"),
    "a unit for nobody": (_body(units={"comand": "m"}), "comand"),
    "a unit that is a number": (_body(units={"command": 1}), "units"),
    "last is 1": (_body(last=1), "last"),
    "no samples and no index": (_body(command=[], measured=[]), "heartbeat"),
    "two objects": (_body() + _body(), "cannot be read"),
    "not UTF-8": (b'{"command":{"\xff":1},"measured":1}', "cannot be read"),
    "lone surrogate": (rb'{"command":{"\ud800":1},"measured":1}', "cannot be read"),
    "long unknown key": (_body(**{"k\n" * 5000: 1}), "k?k"),
    "deep arrays": (b'{"command":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "cannot be read"),
    "deep objects": (b'{"command":' * 100_000, "cannot be read"),
    "deep MessagePack": (b"\x81\xa7command" + b"\x91" * 100_000 + b"\x01", "cannot be read"),
    "a claimed array": (b"\x81\xa7command\xdd\xff\xff\xff\xff\x01", "cannot be read"),
    "a claimed map": (b"\xdf\xff\xff\xff\xff", "cannot be read"),
    "a claimed text": (b"\x81\xdb\xff\xff\xff\xff", "cannot be read"),
    "an extension": (b"\x81\xa7command\xc7\x00\x01", "cannot be read"),
    "too large": (b" " * MAX_BODY + _body(), "limit"),
}


@pytest.mark.parametrize(("body", "why"), _BAD.values(), ids=_BAD.keys())
def test_a_bad_message_is_refused_with_the_reason(body: bytes, why: str) -> None:
    assert why in _refused(body)


@pytest.mark.parametrize("encode", _ENCODERS.values(), ids=_ENCODERS.keys())
def test_a_message_cut_anywhere_is_refused(encode: Encode) -> None:
    whole = encode(_LEAST | {"t": 1.5, "rig": "lab", "units": {"command": "m"}, "auxiliary": {"x": 1}})
    for length in range(len(whole)):
        _refused(whole[:length])


@settings(max_examples=300, deadline=None)
@given(st.sampled_from([b"", b"{", b"\x83", b"\x82\xa7command", b'{"command":']), st.binary(max_size=200))
def test_random_bytes_are_refused(start: bytes, rest: bytes) -> None:
    with pytest.raises(WireError):
        decode_plain(start + rest)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(list(_ENCODERS.values())), st.data())
def test_a_damaged_message_is_refused_or_read_but_nothing_else(encode: Encode, data: st.DataObject) -> None:
    keys = {"t": [0.1, 0.2], "command": [1.5, 2], "measured": [None, 2], "epoch": 5, "index": 7, "last": True}
    damaged = bytearray(encode(keys))
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    try:
        message = decode_plain(bytes(damaged))
        assembler = PlainAssembler(1000.0)
        items = (*assembler.accept(message), *assembler.flush())
    except WireError:
        return
    assert sum(len(item) for item in items if isinstance(item, SignalBlock)) == len(message)


def test_claimed_counts_take_neither_memory_nor_time() -> None:
    tracemalloc.start()
    begin = time.process_time()
    for name in ("a claimed array", "a claimed map", "a claimed text"):
        _refused(_BAD[name][0])
    spent, (_, peak) = time.process_time() - begin, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20 and spent < 1.0
