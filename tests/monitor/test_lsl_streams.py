"""`LslSource` and `LslSink` on the real liblsl: what is refused, streams that pause, vanish and change, times."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from time import monotonic, sleep
from uuid import uuid4

import numpy as np
import pytest

pytest.importorskip("pylsl")

import pylsl

from monitor.messages.blocks import Channel, Column, Event, EventKind, ResultBlock, ResultStream, SignalBlock, Stream
from monitor.system.running_clock import RunningClock
from monitor.transport.base import TransportError
from monitor.transport.lsl import library
from monitor.transport.lsl.sink import LslSink
from monitor.transport.lsl.source import LslSource
from replay.formats.roles import live_channels
from tests.e2e.lsl_programs import network

RATE = 1000.0
PATIENCE = 60.0


@pytest.fixture(scope="module", autouse=True)
def machine_alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A network of this machine alone, for this process and for those that it starts; liblsl reads that once."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in network(tmp_path_factory.mktemp("lsl")).items():
            patch.setenv(name, value)
        pylsl.local_clock()
        pylsl.resolve_byprop("name", "nobody", timeout=0.01)
        yield


@pytest.fixture
def name() -> str:
    return f"rig {uuid4().hex[:8]}"


def outlet(
    name: str, labels: Sequence[str] = ("x_c", "x_m"), rate: float = RATE, kind: str = "double64", source_id=""
):
    info = pylsl.StreamInfo(name, "Mechanics", len(labels), rate, kind, source_id or uuid4().hex)
    channels = info.desc().append_child("channels")
    for label in labels:
        channels.append_child("channel").append_child_value("label", label).append_child_value("unit", "mm")
    return pylsl.StreamOutlet(info)


def roles(channels: Sequence[library.DescribedChannel]) -> tuple[Channel, ...]:
    names, units = [c.name for c in channels], [c.unit for c in channels]
    return live_channels(names, units, [(c.role, c.actuator) for c in channels])


@pytest.fixture
def open_source() -> Iterator[Callable[..., LslSource]]:
    opened: list[LslSource] = []

    def source(name: str, query: str = "", **options: object) -> LslSource:
        opened.append(LslSource(f"lsl://{name}{query}", roles, **options))
        return opened[-1]

    yield source
    for each in opened:
        each.close()
        each.close()


def until(source: LslSource, enough: Callable[[list], bool]) -> list[SignalBlock | Event]:
    found: list[SignalBlock | Event] = []
    deadline = monotonic() + PATIENCE
    while not enough(found):
        assert monotonic() < deadline, found[-5:]
        found += source.receive(0.05)
        assert len(source.waited) <= len(found)
    return found


def note(source: LslSource) -> str:
    [*_, event] = until(source, lambda found: any(isinstance(each, Event) for each in found))
    assert isinstance(event, Event)
    assert event.kind is EventKind.NOTE
    return event.detail


def count(items: Sequence[SignalBlock | Event]) -> int:
    return sum(len(item) for item in items if isinstance(item, SignalBlock))


def push(outlet, first: int, end: int, start: float) -> None:
    numbers = np.arange(float(first), float(end))
    outlet.push_chunk(np.column_stack((numbers, -numbers)), start + (end - 1) / RATE)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"kind": "string"}, "it holds texts, no signals"),
        ({"rate": 0.0}, "it has no nominal sample rate: give --rate HZ"),
        ({"labels": ("left", "right")}, "which column is the command"),
        ({"labels": ("x_c", "x_m", "x_m")}, "more than one way to pair"),
    ],
)
def test_a_stream_that_is_none_of_a_rig_is_reported(
    name: str, options: dict, reason: str, open_source: Callable[..., LslSource]
) -> None:
    made = outlet(name, **options)
    source = open_source(name)
    assert reason in note(source)
    # one that fits may follow
    del made
    fitting = outlet(name)
    assert fitting.wait_for_consumers(PATIENCE)
    push(fitting, 0, 50, 100.0)
    assert count(until(source, lambda found: count(found) == 50)) == 50


def test_of_two_streams_with_one_name_the_identifier_decides(
    name: str, open_source: Callable[..., LslSource]
) -> None:
    streams = [outlet(name), outlet(name)]
    # a search may find one of them alone
    found = pylsl.resolve_byprop("name", name, minimum=2, timeout=PATIENCE)
    wanted = streams[1].get_info().source_id()
    assert {info.source_id() for info in found} == {each.get_info().source_id() for each in streams}
    source = open_source(name, f"?source_id={wanted}")
    assert streams[1].wait_for_consumers(PATIENCE)
    push(streams[1], 0, 20, 100.0)
    assert count(until(source, lambda found: count(found) == 20)) == 20
    assert not streams[0].have_consumers()


class FirstAnswer:
    """pylsl in which a search for one stream finds the first one alone, as where the others answer later."""

    def __init__(self, uids: Sequence[str]) -> None:
        self.uids = list(uids)

    def __getattr__(self, name: str) -> object:
        return getattr(pylsl, name)

    def resolve_bypred(self, predicate: str, minimum: int, timeout: float) -> list:
        found = pylsl.resolve_bypred(predicate, 2, timeout)
        return sorted(found, key=lambda info: info.uid() not in self.uids)[: 1 if minimum == 1 else None]


def test_two_streams_with_one_name_are_refused_whichever_answers_first(
    name: str, open_source: Callable[..., LslSource], monkeypatch: pytest.MonkeyPatch
) -> None:
    streams = [outlet(name), outlet(name)]
    ids = sorted(each.get_info().source_id() for each in streams)
    found = pylsl.resolve_byprop("name", name, minimum=2, timeout=PATIENCE)
    assert len(found) == 2
    monkeypatch.setattr("monitor.transport.lsl.source.load_library", lambda: FirstAnswer([found[0].uid()]))
    source = open_source(name)
    text = note(source)
    assert text.startswith(f"lsl://{name}: 2 streams have this name: source_id={ids[0]} on ")
    assert f"source_id={ids[1]} on " in text
    assert text.endswith("; add ?source_id=ID")
    assert not any(each.have_consumers() for each in streams)
    # the other one ends
    del streams[1]
    assert streams[0].wait_for_consumers(PATIENCE)
    push(streams[0], 0, 20, 100.0)
    assert count(until(source, lambda items: count(items) == 20)) == 20


@pytest.mark.parametrize("kind", ["float32", "int16", "int64"])
def test_every_format_of_numbers_is_read(name: str, kind: str, open_source: Callable[..., LslSource]) -> None:
    made, source = outlet(name, kind=kind, rate=0.0), open_source(name, sample_rate=RATE, rig="hall")
    assert made.wait_for_consumers(PATIENCE)
    values = np.array([[1, -2], [3, -4], [5, -6]])
    made.push_chunk(values, [7.0, 7.001, 7.002])
    blocks = until(source, lambda found: count(found) == 3)
    block = blocks[0]
    assert isinstance(block, SignalBlock)
    np.testing.assert_array_equal(np.concatenate([each.samples for each in blocks]), values)
    assert all(each.samples.dtype == np.float64 for each in blocks)
    assert (block.stream.rig, block.stream.sample_rate, block.index) == ("hall", RATE, 0)
    # the clock of both is that of this machine
    assert block.time == pytest.approx(7.0, abs=5e-3)


def test_a_stream_that_pauses_continues_its_numbers(name: str, open_source: Callable[..., LslSource]) -> None:
    made, source = outlet(name), open_source(name, stale_after=0.2)
    assert made.wait_for_consumers(PATIENCE)
    push(made, 0, 100, 500.0)
    items = until(source, lambda found: any(isinstance(each, Event) for each in found))
    assert "has sent nothing for 0.2 s: searching for it" in items[-1].detail
    # it is opened again, and sends nothing
    for _ in range(2):
        former = source._opened
        items += until(source, lambda _, former=former: source._opened is not None and source._opened is not former)
        items += until(source, lambda _: source._opened is None)
    assert len([item for item in items if isinstance(item, Event)]) == 1
    items += until(source, lambda _: source._opened is not None)
    # 150 samples are lost meanwhile
    push(made, 250, 600, 500.0)
    items += until(source, lambda found: count(found) == 350)
    blocks = [item for item in items if isinstance(item, SignalBlock)]
    [lost, back] = [item for item in items if isinstance(item, Event)]
    assert (lost.kind, back.kind, back.index) == (EventKind.NOTE, EventKind.RECONNECTED, 250)
    assert isinstance(items[items.index(back) + 1], SignalBlock)
    assert len({block.stream.epoch for block in blocks}) == 1
    numbers = np.concatenate([block.index + np.arange(len(block)) for block in blocks])
    np.testing.assert_array_equal(numbers, np.concatenate([block.samples[:, 0] for block in blocks]))


def test_samples_beyond_the_queue_are_a_gap(name: str, open_source: Callable[..., LslSource]) -> None:
    made, source = outlet(name), open_source(name, queue_seconds=1.0)
    assert made.wait_for_consumers(PATIENCE)
    push(made, 0, 100, 500.0)
    items = until(source, lambda found: count(found) == 100)
    for first in range(100, 20_000, 100):
        push(made, first, first + 100, 500.0)
    # while this reader sleeps, more than a second of samples arrives
    sleep(0.3)
    items += until(source, lambda found: any(b.index + len(b) == 20_000 for b in found if isinstance(b, SignalBlock)))
    blocks = [item for item in items if isinstance(item, SignalBlock)]
    numbers = np.concatenate([block.index + np.arange(len(block)) for block in blocks])
    np.testing.assert_array_equal(numbers, np.concatenate([block.samples[:, 0] for block in blocks]))
    assert 100 < len(numbers) < 20_000


@pytest.mark.parametrize(("nominal", "rate"), [(100, 91), (2048, 1860)])
def test_a_slower_sender_than_the_nominal_rate_is_told_once_and_its_rate_is_used(
    name: str, nominal: int, rate: int, open_source: Callable[..., LslSource]
) -> None:
    # a queue for all of it: what overflows is lost
    made, source = outlet(name, rate=float(nominal)), open_source(name, queue_seconds=60.0)
    assert made.wait_for_consumers(PATIENCE)
    for first in range(0, 1500, 50):
        made.push_chunk(np.zeros((50, 2)), (100.0 + (np.arange(first, first + 50) / rate)).tolist())
    items = until(source, lambda found: count(found) > 1200)
    [event] = [item for item in items if isinstance(item, Event)]
    assert event.kind is EventKind.CONTRADICTION
    assert event.detail.startswith(
        f"lsl://{name}: the times of the samples contradict the sample_rate of {nominal} Hz"
    )
    blocks = [item for item in items if isinstance(item, SignalBlock)]
    assert blocks[-1].stream.sample_rate == pytest.approx(rate, rel=1e-6)
    assert blocks[-1].index + len(blocks[-1]) == count(items)


def test_a_stream_that_restarts_has_a_later_epoch(name: str, open_source: Callable[..., LslSource]) -> None:
    source, epochs = open_source(name), []
    for _ in range(2):
        made = outlet(name)
        assert made.wait_for_consumers(PATIENCE)
        push(made, 0, 30, 500.0)
        blocks = [b for b in until(source, lambda found: count(found) == 30) if isinstance(b, SignalBlock)]
        assert blocks[0].index == 0
        epochs.append(blocks[0].stream.epoch)
        del made
        assert "has vanished: searching for it" in note(source)
    assert epochs[1] > epochs[0]


def test_a_stream_that_changes_its_channels_begins_again_with_them(
    name: str, open_source: Callable[..., LslSource]
) -> None:
    """A device that is set up anew has the same identifier, other channels and another rate."""
    source, found = open_source(name), []
    layouts = (
        (("x_c", "x_m"), RATE),
        (("x_c", "x_m", "f_m"), 500.0),
        (("left", "right"), RATE),
        (("x_m", "x_c"), RATE),
    )
    for labels, rate in layouts:
        made = outlet(name, labels, rate, source_id="one device")
        if "left" in labels:
            assert "which column is the command" in note(source)
        else:
            assert made.wait_for_consumers(PATIENCE)
            rows = np.arange(30.0)[:, None] + 1000.0 * np.arange(len(labels))
            made.push_chunk(rows, 500.0 + 29 / rate)
            blocks = [b for b in until(source, lambda found: count(found) == 30) if isinstance(b, SignalBlock)]
            np.testing.assert_array_equal(np.concatenate([block.samples for block in blocks]), rows)
            stream = blocks[0].stream
            assert (tuple(channel.name for channel in stream.channels), stream.sample_rate) == (labels, rate)
            assert blocks[0].index == 0
            found.append(stream.epoch)
            del made
            assert "has vanished: searching for it" in note(source)
    assert len(set(found)) == 3 and found == sorted(found)


def test_a_pause_of_this_program_is_no_silence_of_the_stream(
    name: str, open_source: Callable[..., LslSource]
) -> None:
    now = [0.0]
    made, source = outlet(name), open_source(name, clock=RunningClock(clock=lambda: now[0]))
    assert made.wait_for_consumers(PATIENCE)
    push(made, 0, 100, 500.0)
    until(source, lambda found: count(found) == 100)
    now[0] += 60.0
    assert source.receive(0.0) == []
    while not (items := source.receive(0.0)):
        now[0] += 0.5
    assert 64.0 < now[0] < 66.0 and "has sent nothing for 5 s" in items[-1].detail
    source.close()  # it connects again: not to an outlet that goes meanwhile


def results(index: int, rows: int, columns: Sequence[str] = ("delay", "ratio")) -> ResultBlock:
    stream = ResultStream("rig", 1, RATE, 5, tuple(Column(each, "s", "north") for each in columns))
    values = index + np.arange(float(rows * len(columns))).reshape(rows, len(columns))
    return ResultBlock(stream, index, index / RATE, values)


def signals(index: int, rows: int) -> SignalBlock:
    return SignalBlock(Stream("rig", 1, RATE, ()), index, index / RATE, np.empty((rows, 0)))


@pytest.fixture
def sink(name: str) -> Iterator[LslSink]:
    opened = LslSink(name, insecure=True)
    yield opened
    opened.close()
    opened.close()


def inlet(name: str):
    found = pylsl.resolve_byprop("name", name, timeout=PATIENCE)
    made = pylsl.StreamInlet(found[0], recover=False, as_numpy=True)
    made.open_stream(PATIENCE)
    return made


def pull(inlet, rows: int) -> tuple[np.ndarray, np.ndarray]:
    values, stamps = inlet.pull_chunk(timeout=PATIENCE, max_samples=rows)
    assert len(stamps) == rows
    return values, stamps


def test_rows_have_the_time_of_their_samples_on_the_clock_of_lsl(sink: LslSink, name: str) -> None:
    assert sink.endpoint == f"lsl://{name}"
    sink.results(results(0, 0))
    received = inlet(name)
    before = pylsl.local_clock()
    sink.signals(signals(0, 100))
    after = pylsl.local_clock()
    sink.results(results(0, 20))
    values, stamps = pull(received, 20)
    np.testing.assert_array_equal(values, results(0, 20).values)
    # the newest sample, number 99, has just arrived
    assert before - 1e-3 <= stamps[0] + 99 / RATE <= after + 1e-3
    np.testing.assert_allclose(np.diff(stamps), 5 / RATE, rtol=0, atol=1e-9)


def test_other_columns_are_another_stream(sink: LslSink, name: str) -> None:
    sink.results(results(0, 0))
    former = inlet(name)
    sink.results(results(0, 1, ("delay", "ratio", "peak")))
    with pytest.raises(pylsl.util.LostError):
        former.pull_sample(PATIENCE)
    again = inlet(name)
    assert again.info().get_channel_labels() == ["delay", "ratio", "peak"]
    sink.results(results(5, 2, ("delay", "ratio", "peak")))
    np.testing.assert_array_equal(pull(again, 2)[0], results(5, 2, ("delay", "ratio", "peak")).values)


def test_events_are_texts(sink: LslSink, name: str) -> None:
    received = inlet(f"{name} events")
    before = pylsl.local_clock()
    sink.event(Event(EventKind.NOTE, 0.0, 0, 0, "valve\nopened"))
    sink.signals(signals(0, 100))
    sink.event(Event(EventKind.GAP, 0.05, 50, 3))
    texts, stamps = pull(received, 2)
    assert [text.decode() for text in texts[:, 0]] == ["note: valve\nopened", "3 samples lost"]
    assert before - 1e-3 <= stamps[0] <= pylsl.local_clock()


def test_a_process_that_is_killed_is_started_again_and_that_is_reported(sink: LslSink, name: str) -> None:
    sink.results(results(0, 0))
    former = inlet(name)
    os.kill(sink._publisher._publisher._process.pid, signal.SIGKILL)
    with pytest.raises(pylsl.util.LostError):
        former.pull_sample(PATIENCE)
    deadline = monotonic() + PATIENCE
    while "started again" not in sink.fault:
        assert monotonic() < deadline
        sleep(0.05)
    sink.results(results(0, 0))
    again = inlet(name)
    sink.results(results(10, 3))
    np.testing.assert_array_equal(pull(again, 3)[0], results(10, 3).values)


def test_what_cannot_be_published_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        TransportError, match="open to every machine in the network, without encryption: add --insecure"
    ):
        LslSink("results")
    with pytest.raises(TransportError, match="no address of an LSL stream"):
        LslSink("", insecure=True)

    def missing(module: str) -> None:
        raise RuntimeError("LSL binary library file was not found. Please\nmake sure")

    monkeypatch.setattr(library, "import_module", missing)
    with pytest.raises(TransportError, match="conda install -c conda-forge liblsl") as raised:
        LslSource("lsl://rig", roles)
    assert "\n" not in str(raised.value)
