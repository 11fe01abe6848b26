"""The native message: what goes in comes out, and whatever else comes in is refused."""

from __future__ import annotations

import json
import re
import struct
import time
import tracemalloc
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from monitor.config import IndicatorSettings
from monitor.engine.monitor import Monitor, UnfitSettingsError
from monitor.messages import health
from monitor.messages.blocks import (
    FREQUENCY,
    QUANTITIES,
    Channel,
    Column,
    Event,
    EventKind,
    ResultBlock,
    ResultStream,
    Role,
    SignalBlock,
    Stream,
    TransferBlock,
    TransferStream,
)
from monitor.recording import RunWriter
from monitor.service.service import Service
from monitor.wire.native import (
    MAX_CHANNELS,
    MAX_COLUMNS,
    MAX_HEADER,
    MAX_ROWS,
    MAX_TEXT,
    Decoder,
    Encoder,
    WireError,
    topic,
)
from tests.monitor.in_memory import MemorySink, MemorySource

PAGE = Path(__file__).parents[2] / "docs" / "wire-format.md"

_text = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=20).filter(str.isprintable)
_indices = st.integers(0, (1 << 62) - 1)
_times = st.floats(allow_nan=False, allow_infinity=False)
_rates = st.floats(1e-3, 1e6)
_epochs = st.integers(0, (1 << 63) - 1)


def _payload(rows: int, columns: int) -> st.SearchStrategy[np.ndarray]:
    return hnp.arrays(np.float64, (rows, columns), elements=st.floats(width=64))


@st.composite
def _signals(draw: st.DrawFn) -> SignalBlock:
    channels = [Channel(f"aux {n}", Role.AUXILIARY, draw(_text)) for n in range(draw(st.integers(0, 3)))]
    for actuator in draw(st.sets(_text, min_size=not channels, max_size=3)):
        roles = (Role.COMMAND, Role.MEASURED, Role.FORCE)[: draw(st.integers(2, 3))]
        channels += [Channel(f"{actuator}.{role}", role, draw(_text), actuator) for role in roles]
    stream = Stream(draw(_text), draw(_epochs), draw(_rates), tuple(draw(st.permutations(channels))))
    samples = draw(_payload(draw(st.integers(0, 5)), len(channels)))
    return SignalBlock(stream, draw(_indices), draw(_times), samples, draw(st.booleans()))


@st.composite
def _results(draw: st.DrawFn) -> ResultBlock:
    columns = tuple(Column(*row) for row in draw(st.lists(st.tuples(_text, _text, _text), min_size=1, max_size=4)))
    every = draw(st.integers(1, 1000))
    stream = ResultStream(draw(_text), draw(_epochs), draw(_rates), every, columns)
    values = draw(_payload(draw(st.integers(0, 5)), len(columns)))
    index = draw(st.integers(0, 1 << 40)) * every
    return ResultBlock(stream, index, draw(_times), values, draw(st.booleans()))


@st.composite
def _transfers(draw: st.DrawFn) -> TransferBlock:
    actuators = draw(st.lists(_text, max_size=3))
    columns = [Column(name, draw(_text), actuator) for actuator in actuators for name, _ in QUANTITIES]
    stream = TransferStream(draw(_text), draw(_epochs), draw(_rates), (FREQUENCY, *columns))
    values = draw(_payload(draw(st.integers(0, 5)), 1 + len(columns)))
    return TransferBlock(stream, draw(_indices), draw(_times), values, draw(st.booleans()))


def _example() -> SignalBlock:
    channels = (
        Channel("north.command", Role.COMMAND, "m", "north"),
        Channel("north.measured", Role.MEASURED, "m", "north"),
    )
    stream = Stream("lab", 1_700_000_000, 1000.0, channels)
    return SignalBlock(stream, 258, 0.258, np.array([[0.5, 0.25], [-1.0, np.nan]]), last=True)


def _header(**changes: object) -> bytes:
    header = json.loads(Encoder().encode(_example())[1])
    return json.dumps({**header, **changes}).encode()


def _refused(frames: Sequence[bytes]) -> str:
    """Decode and return the reason of the refusal, which is one short line."""
    with pytest.raises(WireError) as caught:
        Decoder().decode(frames)
    reason = str(caught.value)
    assert reason.isprintable() and len(reason) < 500
    return reason


@settings(deadline=None)
@given(st.lists(_signals() | _results() | _transfers(), min_size=1, max_size=3))
def test_what_is_encoded_is_decoded(blocks: list[SignalBlock | ResultBlock | TransferBlock]) -> None:
    encoder, decoder = Encoder(), Decoder()
    for block in [*blocks, *blocks]:
        frames = encoder.encode(block)
        back = decoder.decode(frames)
        assert type(back) is type(block)
        assert back.stream == block.stream
        assert (back.index, back.time, back.last) == (block.index, block.time, block.last)
        sent = block.samples if isinstance(block, SignalBlock) else block.values
        got = back.samples if isinstance(back, SignalBlock) else back.values
        np.testing.assert_array_equal(got, sent)
        assert got.dtype == np.float64 and got.flags.c_contiguous and got.shape == sent.shape
        kind = {SignalBlock: "signals", ResultBlock: "results", TransferBlock: "transfer"}[type(block)]
        assert frames[0] == topic(kind, block.stream.rig)


def test_a_header_seen_before_gives_the_same_stream() -> None:
    decoder = Decoder()
    first = decoder.decode(Encoder().encode(_example()))
    assert decoder.decode(Encoder().encode(_example())).stream is first.stream


def test_columns_in_any_memory_order_are_sent_row_after_row() -> None:
    block = _example()
    turned = SignalBlock(block.stream, 0, 0.0, np.asfortranarray([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    assert struct.unpack("<6d", Encoder().encode(turned)[3]) == (1, 2, 3, 4, 5, 6)


def test_more_streams_than_are_remembered() -> None:
    decoder = Decoder()
    for epoch in range(200):
        frames = Encoder().encode(_example())
        frames[1] = _header(epoch=epoch)
        assert decoder.decode(frames).stream.epoch == epoch


@pytest.mark.parametrize("frame", range(1, 4))
def test_a_frame_cut_anywhere_is_refused(frame: int) -> None:
    whole = Encoder().encode(_example())
    for length in range(len(whole[frame])):
        _refused([*whole[:frame], whole[frame][:length], *whole[frame + 1 :]])
    _refused([*whole[:frame], whole[frame] + b"}", *whole[frame + 1 :]])


@pytest.mark.parametrize("count", [0, 1, 2, 3, 5, 100])
def test_another_number_of_frames_is_refused(count: int) -> None:
    assert f"this one {count}" in _refused((Encoder().encode(_example()) * 25)[:count])


_CHANNEL = {"name": "x", "role": "auxiliary"}
_BAD_HEADERS = {
    "not JSON": b"\x93NUMPY",
    "an array": b"[1, 2]",
    "deep array": b"[" * 100_000,
    "deep array under a key": b'{"kind":"signals","more":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "deep object": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    "not UTF-8 in the rig": _header(rig="?").replace(b"?", b"\xff"),
    "not UTF-8 in a key": _header(channels=[_CHANNEL | {"?": 1}]).replace(b"?", b"\xff"),
    "not UTF-8 in a name": _header(channels=[_CHANNEL | {"name": "?"}]).replace(b"?", b"\xc3("),
    "lone surrogate": _header(rig="?").replace(b"?", rb"\ud800"),
    "no kind": _header(kind=None),
    "other kind": _header(kind="pickle"),
    "long other kind": _header(kind="k" * 100_000),
    "other version": _header(version=2),
    "rig is a number": _header(rig=1),
    "rig too long": _header(rig="r" * (MAX_TEXT + 1)),
    "rig with a line end": _header(rig="a\nb"),
    "epoch below zero": _header(epoch=-1),
    "epoch too large": _header(epoch=1 << 63),
    "epoch is enormous": _header(epoch=0).replace(b'"epoch": 0', b'"epoch": 1' + b"0" * 10_000),
    "epoch is true": _header(epoch=True),
    "epoch is a float": _header(epoch=1.5),
    "rate is zero": _header(sample_rate=0),
    "rate is negative": _header(sample_rate=-1000),
    "rate is NaN": _header(sample_rate=float("nan")),
    "rate is infinite": _header(sample_rate=float("inf")),
    "rate overflows": _header(sample_rate=1).replace(b'"sample_rate": 1', b'"sample_rate": 1e999'),
    "rate is text": _header(sample_rate="1000"),
    "no channels": _header(channels=[]),
    "channels is a map": _header(channels=_CHANNEL),
    "channels is null": _header(channels=None),
    "a channel is a text": _header(channels=["x"]),
    "a role of its own": _header(channels=[_CHANNEL | {"role": "velocity"}]),
    "long role": _header(channels=[_CHANNEL | {"role": "v" * 100_000}]),
    "an unknown key": _header(channels=[_CHANNEL | {"unti": "m"}]),
    "a long unknown key with a line end": _header(channels=[_CHANNEL | {"u\n" * 1000: "m"}]),
    "name too long": _header(channels=[_CHANNEL | {"name": "n" * (MAX_TEXT + 1)}]),
    "name not printable": _header(channels=[_CHANNEL | {"name": "\x1b[2J"}]),
    "unit too long": _header(channels=[_CHANNEL | {"unit": "n" * (MAX_TEXT + 1)}]),
    "name twice": _header(channels=[_CHANNEL, _CHANNEL]),
    "nothing measured": _header(channels=[_CHANNEL | {"role": "command", "actuator": "a"}]),
    "too many channels": _header(channels=[_CHANNEL | {"name": str(n)} for n in range(MAX_CHANNELS + 1)]),
    "header too large": b" " * MAX_HEADER + _header(),
}
_RESULTS = {"kind": "results", "every": 10, "texts": ["fdb_phase", "rad", "a"], "columns": [[0, 1, 2]]}
_BAD_RESULTS = {
    "every is zero": {"every": 0},
    "every is negative": {"every": -10},
    "every is enormous": {"every": 1 << 70},
    "every is a float": {"every": 0.5},
    "rate is zero": {"sample_rate": 0},
    "rate is negative": {"sample_rate": -5.0},
    "no columns": {"columns": []},
    "a column without an actuator": {"columns": [[0, 1]]},
    "a column beyond the texts": {"columns": [[0, 1, 3]]},
    "a column before the texts": {"columns": [[0, -1, 2]]},
    "a text not printable": {"texts": ["fdb_phase", "\x07", "a"]},
}


@pytest.mark.parametrize("head", _BAD_HEADERS.values(), ids=_BAD_HEADERS.keys())
def test_a_bad_signal_header_is_refused(head: bytes) -> None:
    name, _, position, payload = Encoder().encode(_example())
    _refused([name, head, position, payload])


@pytest.mark.parametrize("changes", _BAD_RESULTS.values(), ids=_BAD_RESULTS.keys())
def test_a_bad_result_header_is_refused(changes: dict[str, object]) -> None:
    position = struct.pack("<QdII", 100, 0.1, 1, 0)
    Decoder().decode([b"", _header(**_RESULTS), position, bytes(8)])
    _refused([b"", _header(**{**_RESULTS, **changes}), position, bytes(8)])


@pytest.mark.parametrize("names", [("frequency",), ("frequency", "ratio"), ("ratio", "frequency"), None])
def test_the_columns_of_a_transfer_function_are_those_on_the_page(names: tuple[str, ...] | None) -> None:
    right = ("frequency", *(name for name, _ in QUANTITIES))
    texts = [*(names or right), "", "a"]
    columns = [[n, len(texts) - 2, len(texts) - 1] for n in range(len(texts) - 2)]
    header = _header(kind="transfer", texts=texts, columns=columns)
    frames = [b"", header, struct.pack("<QdII", 100, 0.1, 1, 0), bytes(8 * len(columns))]
    if names in (None, ("frequency",)):
        assert isinstance(Decoder().decode(frames), TransferBlock)
    else:
        assert "transfer function" in _refused(frames)


@pytest.mark.parametrize(
    ("position", "why"),
    [
        ((1 << 62, 0.0, 2, 0), "index"),
        (((1 << 64) - 1, 0.0, 2, 0), "index"),
        ((0, float("nan"), 2, 0), "time"),
        ((0, float("inf"), 2, 0), "time"),
        ((0, float("-inf"), 2, 0), "time"),
        ((0, 0.0, 2, 2), "flags"),
        ((0, 0.0, 2, 0xFFFFFFFF), "flags"),
        ((0, 0.0, 0, 0), "payload"),
        ((0, 0.0, 3, 0), "payload"),
        ((0, 0.0, MAX_ROWS + 1, 0), "rows"),
        ((0, 0.0, 0xFFFFFFFF, 0), "rows"),
    ],
)
def test_a_bad_position_is_refused(position: tuple[int, float, int, int], why: str) -> None:
    name, head, _, payload = Encoder().encode(_example())
    assert why in _refused([name, head, struct.pack("<QdII", *position), payload])


def test_a_claimed_count_takes_neither_memory_nor_time() -> None:
    name, head, _, payload = Encoder().encode(_example())
    decoder = Decoder()
    tracemalloc.start()
    begin = time.process_time()
    for count in (MAX_ROWS, MAX_ROWS + 1, 0xFFFFFFFF):
        with pytest.raises(WireError):
            decoder.decode([name, head, struct.pack("<QdII", 0, 0.0, count, 0), payload])
    spent, (_, peak) = time.process_time() - begin, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20 and spent < 1.0


def test_the_largest_bad_header_is_refused_quickly() -> None:
    twice = [_CHANNEL | {"name": str(n)} for n in range(MAX_CHANNELS - 1)]
    _, _, position, payload = Encoder().encode(_example())
    begin = time.process_time()
    _refused([b"", _header(channels=[*twice, twice[-1]]), position, payload])
    _refused([b"", b'{"kind":"signals","channels":[' + b"{}," * 300_000 + b"{}]}", position, payload])
    assert time.process_time() - begin < 5.0


@settings(max_examples=300, deadline=None)
@given(st.lists(st.binary(max_size=300), max_size=6))
def test_random_bytes_are_refused(frames: list[bytes]) -> None:
    with pytest.raises(WireError):
        Decoder().decode(frames)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_damaged_message_is_refused_or_decoded_but_nothing_else(data: st.DataObject) -> None:
    frames = Encoder().encode(_example())
    which = data.draw(st.integers(0, 3))
    damaged = bytearray(frames[which])
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    frames[which] = bytes(damaged)
    try:
        block = Decoder().decode(frames)
    except WireError:
        return
    assert isinstance(block, SignalBlock) and block.samples.shape == (2, 2)


def _fenced(language: str, after: str) -> list[str]:
    text = PAGE.read_text(encoding="utf-8").split(after, 1)[1]
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def _hex(block: str) -> bytes:
    return b"".join(bytes.fromhex(line.split("   ")[0]) for line in block.splitlines())


def test_the_bytes_on_the_page_are_the_example_that_the_page_describes() -> None:
    here = "### Worked example"
    name, head = _fenced("text", here)[0].strip(), _fenced("json", here)[0].strip()
    position, payload = (_hex(block) for block in _fenced("hex", here)[:2])
    frames = [name.encode(), head.encode(), position, payload]
    assert frames == Encoder().encode(_example())
    block = Decoder().decode(frames)
    assert isinstance(block, SignalBlock) and block.stream == _example().stream
    assert (block.index, block.time, len(block), block.last) == (258, 0.258, 2, True)
    np.testing.assert_array_equal(block.samples, _example().samples)


def test_the_page_names_every_field_and_kind() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name in [*health.Health.__slots__, *health.StreamCounts.__slots__, *Event.__slots__, *EventKind, *Role]:
        assert f"`{name}`" in text, name


def test_the_event_on_the_page_is_an_event() -> None:
    sent = _fenced("json", "## Health and events")[0]
    event = msgspec.json.decode(sent, type=Event)
    assert event == Event(EventKind.GAP, 12.345, 12345, 10)
    assert msgspec.json.encode(event).decode() == sent.strip()


def stream(pairs: int, rate: float, epoch: int = 1) -> Stream:
    roles = (Role.COMMAND, Role.MEASURED)
    channels = [Channel(f"{a}.{role}", role, "m", f"a{a}") for a in range(pairs) for role in roles]
    return Stream("rig", epoch, rate, tuple(channels))


def block(of: Stream, index: int = 0, rows: int = 1) -> SignalBlock:
    return SignalBlock(of, index, 0.0, np.zeros((rows, len(of.channels))))


@pytest.mark.parametrize(("pairs", "rate"), [(2048, 1000.0), (1, 1e9), (2048, 1e9), (8, 1e6)])
def test_a_wild_header_makes_no_indicators(pairs, rate):
    monitor = Monitor(IndicatorSettings(window=2.0))
    with pytest.raises(UnfitSettingsError, match="too many") as caught:
        monitor.update(block(stream(pairs, rate)))
    # the samples are kept all the same
    assert len(caught.value.update.signals) == 1
    assert caught.value.update.results is None


def test_more_columns_than_can_be_published_are_refused(warm_kernels):
    settings = IndicatorSettings(window=2.0)
    few = Monitor(settings).update(block(stream(2, 20.0))).results
    n_pairs = MAX_COLUMNS // (len(few.stream.columns) // 2)
    most = Monitor(settings).update(block(stream(n_pairs, 20.0))).results
    assert len(most.stream.columns) <= MAX_COLUMNS
    with pytest.raises(UnfitSettingsError, match=f"at most {MAX_COLUMNS} are published"):
        Monitor(settings).update(block(stream(n_pairs + 1, 20.0)))


def test_a_rig_that_begins_anew_in_every_message_is_refused_after_a_while(tmp_path):
    blocks = [block(stream(1, 100.0 + number, epoch=number)) for number in range(1, 200)]
    sink = MemorySink()
    now = [0.0]
    service = Service(MemorySource(blocks), Monitor(), [sink], clock=lambda: now[0])
    service.run(lambda: False)
    begun = [event for event in sink.events_seen if event.kind in (EventKind.STARTED, EventKind.RESTART)]
    # the first, and with other channels or another rate 20 times
    assert len(begun) == 1 + 20
    refused = [event for event in sink.events_seen if event.kind is EventKind.REJECTED]
    assert refused and all("restarts too frequently" in event.detail for event in refused)
    # all of them are counted, also those that nothing followed
    assert sum(event.count for event in refused) == len(blocks) - len(begun)


def test_what_waits_for_the_disk_is_bounded_whatever_the_rate(tmp_path, monkeypatch):
    with monkeypatch.context() as disk:
        # one that takes nothing
        disk.setattr(RunWriter, "_drain", lambda _: None)
        writer = RunWriter(tmp_path / "run.h5", {}, queue_bytes=1 << 20)
        wild = stream(1, 1e9)
        for index in range(0, 1_000_000, 10_000):
            writer.signals(block(wild, index, 10_000))
    # of 16 bytes each, and 512 for a block, the seventh block fills a megabyte
    assert writer.unrecorded == 1_000_000 - 70_000
    writer.close()
    assert writer.recorded == 70_000


def test_an_authenticator_that_has_died_is_noted_once():
    sink = MemorySink()
    service = Service(
        MemorySource([block(stream(1, 100.0))]), Monitor(), [sink], fault=lambda: "nobody new is let in"
    )
    service.run(lambda: False)
    assert [event.detail for event in sink.events_seen].count("nobody new is let in") == 1


def test_what_was_dropped_at_the_end_and_no_gap_shows_is_counted_at_a_stop() -> None:
    class Dropping(MemorySource):
        dropped_at_end = 3

    sink = MemorySink()
    service = Service(Dropping([block(stream(1, 100.0))], ends=False), Monitor(), [sink])
    service.run(lambda: service.counts.received > 0)
    assert service.dropped == service.counts.lost == 3 * service.counts.received > 0
