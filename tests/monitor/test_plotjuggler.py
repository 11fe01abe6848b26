"""The feed for PlotJuggler, read by a decoder that follows PlotJuggler's rules."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import sleep
from xml.etree import ElementTree

import numpy as np
import pytest
import zmq
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from monitor.__main__ import main
from monitor.commands.plotjuggler_layout import layout
from monitor.messages.alarms import Alarm, AlarmReport, AlarmState, Severity
from monitor.messages.blocks import Channel, Column, ResultBlock, ResultStream, Role, SignalBlock, Stream
from monitor.messages.health import Health
from monitor.transport.base import TransportError
from monitor.transport.plotjuggler import ALARM_CODES, NumberTree, PlotJugglerSink, channel_tree
from monitor.transport.wall_time import WallTime
from monitor.transport.zeromq.results import ResultPublisher
from tests.oracles.plotjuggler import DroppedError, EndedError, PlotJuggler

pytestmark = pytest.mark.usefixtures("no_leftovers")

NOW = 1_700_000_000.0
CHANNELS = (
    Channel("north.command", Role.COMMAND, "m", "north"),
    Channel("north.measured", Role.MEASURED, "m", "north"),
    Channel("oil", Role.AUXILIARY),
)
STREAM = Stream("rig", 1, 1000.0, CHANNELS)
RESULTS = ResultStream("rig", 1, 1000.0, 10, (Column("fdb_delay", "s", "north"), Column("fdb_ratio", "1", "north")))
TRIP = Alarm("north.fdb_delay.trip", "fdb_delay", "north", "s", Severity.TRIP)


class Clocks:
    """The wall's and a monotonic clock, moved by hand; the first may jump."""

    def __init__(self) -> None:
        self.now = 50.0
        self.offset = NOW - 50.0

    def wall(self) -> float:
        return self.now + self.offset

    def monotonic(self) -> float:
        return self.now


class Viewer:
    """A sink, and PlotJuggler beside it."""

    def __init__(self, sink: PlotJugglerSink, clocks: Clocks, socket: zmq.Socket[bytes]) -> None:
        self.sink, self.clocks, self._socket = sink, clocks, socket
        self.decoder = PlotJuggler()
        self.messages: list[tuple[float, list[bytes]]] = []

    def look(self) -> PlotJuggler:
        """Take what has been sent so far."""
        # a thread sends: what waits for it has gone out, and the last of it is on its way
        while not self.sink._publisher._queue.empty():
            sleep(0.001)
        while self._socket.poll(40):
            frames = self._socket.recv_multipart()
            self.messages.append((self.clocks.now, frames))
            self.decoder.take(frames)
        return self.decoder

    def curve(self, name: str) -> list[tuple[float, float]]:
        return self.look().curves[f"synchroscope/{name}"]


@pytest.fixture
def viewer() -> Iterator[Viewer]:
    clocks = Clocks()
    with zmq.Context() as context, context.socket(zmq.SUB) as socket:
        socket.setsockopt(zmq.LINGER, 0)
        socket.subscribe(b"")
        sink = PlotJugglerSink(
            "inproc://viewer", 100.0, context=context, clock=clocks.wall, monotonic=clocks.monotonic
        )
        socket.connect("inproc://viewer")
        try:
            yield Viewer(sink, clocks, socket)
        finally:
            sink.close()


@contextmanager
def overheard(rate: float = 100.0) -> Iterator[tuple[PlotJugglerSink, Clocks, list[tuple[float, list[bytes]]]]]:
    """A sink whose messages go into a list, each with the time at which it was sent."""
    clocks = Clocks()
    sent: list[tuple[float, list[bytes]]] = []
    sink = PlotJugglerSink("inproc://nobody", rate, clock=clocks.wall, monotonic=clocks.monotonic)
    sink._publisher.send = lambda frames: sent.append((clocks.now, frames))
    try:
        yield sink, clocks, sent
    finally:
        sink.close()


def signals(index: int, rows: list[list[float]], stream: Stream = STREAM, time: float | None = None) -> SignalBlock:
    at = index / stream.sample_rate if time is None else time
    return SignalBlock(stream, index, at, np.array(rows, dtype=float).reshape(-1, len(stream.channels)))


def results(
    index: int, rows: list[list[float]], stream: ResultStream = RESULTS, time: float | None = None
) -> ResultBlock:
    values = np.array(rows, dtype=float).reshape(-1, len(stream.columns))
    return ResultBlock(stream, index, index / stream.sample_rate if time is None else time, values)


def test_the_newest_sample_and_row_stand_under_their_actuator_at_their_time(viewer: Viewer) -> None:
    viewer.sink.signals(signals(0, [[9.0, 9.0, 9.0]] * 29 + [[1.0, 2.0, 3.0]]))
    viewer.sink.results(results(0, [[9.0, 9.0], [9.0, 9.0], [0.012, 1.05]]))
    # the newest of the thirty samples is taken now, and the newest row nine before
    assert viewer.curve("signals/north/command") == [(pytest.approx(NOW, abs=2e-6), 1.0)]
    assert viewer.curve("signals/north/measured")[0][1] == 2.0
    assert viewer.curve("signals/auxiliary/oil")[0][1] == 3.0
    assert viewer.curve("results/north/fdb_delay") == [(pytest.approx(NOW - 0.009, abs=2e-6), 0.012)]
    assert viewer.curve("results/north/fdb_ratio")[0][1] == 1.05
    assert set(viewer.decoder.types.values()) == {float}
    assert len(viewer.decoder.curves) == 5


def test_what_means_nothing_is_null_under_the_same_keys(viewer: Viewer) -> None:
    for turn, row in enumerate([[0.01, 1.0], [np.nan, np.inf], [-np.inf, 2.0]]):
        viewer.clocks.now += 1.0
        viewer.sink.signals(signals(1000 * turn, [[1.0, np.nan, 2.0]]))
        viewer.sink.results(results(1000 * turn, [row]))
    assert [value for _, value in viewer.curve("results/north/fdb_delay")] == [0.01]
    assert [value for _, value in viewer.curve("results/north/fdb_ratio")] == [1.0, 2.0]
    assert "synchroscope/signals/north/measured" not in viewer.decoder.curves
    shapes = defaultdict(set)
    for _, (topic, payload, _) in viewer.messages:
        shapes[topic].add(tuple((group, *values) for group, values in json.loads(payload).items()))
    assert all(len(shape) == 1 for shape in shapes.values())
    assert sorted(shapes) == [b"synchroscope/results", b"synchroscope/signals"]


def test_alarms_are_numbers(viewer: Viewer) -> None:
    warn = structs.replace(TRIP, name="health.lost.warn", severity=Severity.WARN)
    reports = [
        (TRIP, warn),
        (structs.replace(TRIP, state=AlarmState.UNACKNOWLEDGED, active=True), warn),
        (
            structs.replace(TRIP, state=AlarmState.SHELVED, active=True),
            structs.replace(warn, state=AlarmState.LATCHED_ACKNOWLEDGED),
        ),
        (structs.replace(TRIP, state=AlarmState.NOT_JUDGED, not_judged="no data"), warn),
    ]
    for alarms in reports:
        viewer.sink.alarms(AlarmReport(alarms))
        viewer.clocks.now += 1.0
    values = {name: [v for _, v in points] for name, points in viewer.look().curves.items()}
    of = "synchroscope/alarms"
    assert values == {
        f"{of}/all/severity": [0.0, 2.0, 1.0, 0.0],
        f"{of}/all/standing": [0.0, 1.0, 1.0, 0.0],
        f"{of}/all/unacknowledged": [0.0, 1.0, 0.0, 0.0],
        f"{of}/all/not_judged": [0.0, 0.0, 0.0, 1.0],
        f"{of}/north.fdb_delay.trip/state": [0.0, 1.0, 6.0, 8.0],
        f"{of}/north.fdb_delay.trip/active": [0.0, 1.0, 1.0, 0.0],
        f"{of}/health.lost.warn/state": [0.0, 0.0, 5.0, 0.0],
        f"{of}/health.lost.warn/active": [0.0, 0.0, 0.0, 0.0],
    }
    # before any stream the time is the wall's, and it goes on
    assert [t - NOW for t, _ in viewer.curve("alarms/all/severity")] == pytest.approx([0.0, 1.0, 2.0, 3.0], abs=1e-5)
    assert len(set(ALARM_CODES.values())) == len(AlarmState)


@pytest.mark.parametrize("rate", [7.0, 50.0, 100.0])
@pytest.mark.parametrize("blocks_per_second", [13, 2000])
def test_no_more_than_the_rate_goes_out_and_hardly_less(rate: float, blocks_per_second: int) -> None:
    stream = replace(STREAM, sample_rate=float(blocks_per_second))
    columns = replace(RESULTS, sample_rate=float(blocks_per_second), every=1)
    seconds = 2
    with overheard(rate) as (sink, clocks, sent):
        for index in range(seconds * blocks_per_second):
            clocks.now = 50.0 + index / blocks_per_second
            sink.signals(signals(index, [[1.0, 1.0, 1.0]], stream))
            sink.results(results(index, [[1.0, 1.0]], columns))
            # with every block a transition besides
            sink.alarms(AlarmReport((TRIP,)))
        times = [when for when, _ in sent]
        busiest = max(sum(start <= when < start + 1.0 for when in times) for start in times)
        assert busiest <= min(rate + 3.0, 100.0)
        rows = sum(frames[0] == b"synchroscope/results" for _, frames in sent)
        assert rows >= 0.7 * seconds * min(0.44 * rate, blocks_per_second)


def test_what_waits_for_its_turn_is_sent_at_the_end_or_with_the_next_look(viewer: Viewer) -> None:
    viewer.sink.signals(signals(0, [[1.0, 1.0, 1.0]]))
    viewer.sink.signals(signals(1, [[2.0, 2.0, 2.0]]))
    assert [v for _, v in viewer.curve("signals/north/command")] == [1.0]
    viewer.clocks.now += 0.5
    viewer.sink.health(Health())
    assert [v for _, v in viewer.curve("signals/north/command")] == [1.0, 2.0]
    viewer.sink.signals(signals(2, [[3.0, 3.0, 3.0]]))
    viewer.sink.close()
    assert [v for _, v in viewer.curve("signals/north/command")] == [1.0, 2.0, 3.0]


TEXTS = st.text(st.characters(exclude_categories=["Cc"]) | st.sampled_from("/\"\\'{}[]_é☃𝄞\ud800"), max_size=6)


PLACES = st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=12, unique=True)


@given(PLACES, st.data())
def test_whatever_things_are_called_each_is_a_curve_of_its_own(places: list[tuple[str, str]], data) -> None:
    numbers = st.floats() | st.floats(-1e3, 1e3).map(np.float64)
    values = [data.draw(numbers) for _ in places]
    decoder = PlotJuggler()
    decoder.take([b"topic", NumberTree(places).encode(values), b"1.5"])
    finite = [float(value) for value in values if np.isfinite(value)]
    assert sorted(value for points in decoder.curves.values() for _, value in points) == sorted(finite)
    # no name makes a level of its own
    assert all(name.count("/") == 2 for name in decoder.curves)
    decoder.take([b"topic", NumberTree(places).encode([1.0] * len(places)), b"1.6"])
    assert len(decoder.curves) == len(places)


STEPS = st.sampled_from(["block", "gap", "restart", "rig jumps", "wall jumps", "pause", "heartbeat"])


@given(st.lists(STEPS), st.data())
def test_gaps_restarts_jumps_and_nan_never_let_time_go_back(steps: list[str], data) -> None:
    decoder = PlotJuggler()
    with overheard() as (sink, clocks, sent):
        epoch, index, at = 1, 0, 3.0
        for step in ["block", *steps, "block"]:
            rows = data.draw(st.integers(1, 400)) if step != "heartbeat" else 0
            match step:
                case "gap":
                    index, at = index + 700, at + 0.7
                case "restart":
                    epoch, index, at = epoch + 1, 0, data.draw(st.sampled_from([0.0, 1e9, -5.0]))
                case "rig jumps":
                    at += data.draw(st.sampled_from([-1e6, -0.5, -0.0007, 0.4, 3600.0, 1e300]))
                case "wall jumps":
                    clocks.offset += data.draw(st.sampled_from([-1e6, -3.0, 2.0, 1e6]))
                case "pause":
                    clocks.now += 60.0
            value = data.draw(st.sampled_from([np.nan, np.inf, 1.0]))
            sink.signals(signals(index, [[value, 1.0, 2.0]] * rows, replace(STREAM, epoch=epoch), at))
            sink.results(results(index, [[value, 1.0]] if rows else [], replace(RESULTS, epoch=epoch), at))
            sink.alarms(AlarmReport((TRIP,)))
            # from twenty times real time to a tenth of it
            clocks.now += rows / 1000.0 * data.draw(st.sampled_from([0.05, 1.0, 10.0]))
            index, at = index + rows, at + rows / 1000.0
    for _, frames in sent:
        decoder.take(frames)
    # whatever came before, what the rig sends now is shown
    newest = max(when for when, frames in sent if frames[0] == b"synchroscope/signals")
    assert newest == pytest.approx(clocks.now, abs=5.0)
    for points in decoder.curves.values():
        assert all(np.diff([when for when, _ in points]) > 0.0)


def test_a_time_beyond_all_reason_leaves_the_feed_on_the_wall_clock() -> None:
    with overheard() as (sink, clocks, sent):
        sink.signals(signals(0, [[1.0, 1.0, 1.0]] * 10, STREAM, 3.0))
        for index in (10, 20, 30):
            clocks.now += 60.0
            sink.signals(signals(index, [[1.0, 1.0, 1.0]] * 10, STREAM, 1e300))
            assert [when for when, frames in sent if frames[0] == b"synchroscope/signals"][-1] == clocks.now
        decoder = PlotJuggler()
        for _, frames in sent:
            decoder.take(frames)
        times = [when for when, _ in decoder.curves["synchroscope/signals/north/command"]]
        np.testing.assert_allclose(np.diff(times), 60.0, atol=0.1)


@given(st.lists(STEPS), st.data())
def test_every_sample_has_a_later_time_than_the_one_before(steps: list[str], data) -> None:
    clocks = Clocks()
    wall = WallTime(clocks.wall, clocks.monotonic)
    epoch, index, at, before = 1, 0, 3.0, -np.inf
    for step in steps:
        match step:
            case "restart":
                epoch, index, at = epoch + 1, 0, data.draw(st.sampled_from([0.0, 1e9, -5.0]))
            case "rig jumps":
                at += data.draw(st.sampled_from([-1e6, -0.5, 0.4, 3600.0]))
            case "wall jumps":
                clocks.offset += data.draw(st.sampled_from([-1e6, -3.0, 2.0, 1e6]))
        rows = data.draw(st.integers(1, 400))
        wall.update(signals(index, [[0.0] * 3] * rows, replace(STREAM, epoch=epoch), at))
        times = [wall.convert(at + row / 1000.0) for row in range(rows)]
        assert times[0] > before
        assert np.all(np.diff(times) > 0.0)
        before = times[-1]
        clocks.now += rows / 1000.0 * data.draw(st.sampled_from([0.05, 1.0, 10.0]))
        index, at = index + rows, at + rows / 1000.0


class Rig:
    """Send blocks of 0.1 s in real time."""

    def __init__(self) -> None:
        self.clocks = Clocks()
        self.wall = WallTime(self.clocks.wall, self.clocks.monotonic)
        self.index, self.at, self.epoch = 0, 0.0, 1

    def send(self, blocks: int) -> float:
        """Return when the newest sample was."""
        for _ in range(blocks):
            self.clocks.now += 0.1
            self.wall.update(signals(self.index, [[0.0] * 3] * 100, replace(STREAM, epoch=self.epoch), self.at))
            self.index, self.at = self.index + 100, self.at + 0.1
        return self.wall.convert(self.at - 0.001)


@pytest.mark.parametrize("jump", [3600.0, 2.0, -0.5, -1e6])
def test_where_the_rigs_clock_jumps_time_goes_on(jump: float) -> None:
    rig = Rig()
    rig.send(5)
    rig.at += jump
    assert rig.send(3) == pytest.approx(rig.clocks.wall(), abs=1e-3)


def test_samples_that_are_missing_leave_their_time() -> None:
    rig = Rig()
    before = rig.send(5)
    rig.index, rig.at = rig.index + 700, rig.at + 0.7
    assert rig.send(1) - before == pytest.approx(0.8, abs=2e-3)


def test_a_restart_begins_at_its_moment() -> None:
    rig = Rig()
    assert rig.send(5) == pytest.approx(rig.clocks.wall(), abs=1e-3)
    rig.clocks.now += 30.0
    assert rig.wall.now() == pytest.approx(rig.clocks.wall(), abs=1e-3)
    rig.index, rig.at, rig.epoch = 0, 7.0, 2
    assert rig.send(3) == pytest.approx(rig.clocks.wall(), abs=1e-3)


def test_where_the_walls_clock_is_set_time_goes_on() -> None:
    rig = Rig()
    before = rig.send(5)
    rig.clocks.offset -= 3600.0
    assert rig.send(1) - before == pytest.approx(0.1, rel=2e-3)


def test_a_rigs_clock_is_held_to_the_wall_over_a_day() -> None:
    clocks = Clocks()
    wall = WallTime(clocks.wall, clocks.monotonic)
    stream = Stream("rig", 1, 10.0, CHANNELS)
    for second in range(0, 86_400, 10):
        # a clock that gains 100 parts in a million: 8.6 s a day
        clocks.now = 50.0 + second
        wall.update(signals(10 * second, [[0.0] * 3] * 100, stream, 1.0001 * second))
    assert wall.convert(1.0001 * second + 9.9) == pytest.approx(clocks.wall(), abs=0.01)


def test_a_row_that_comes_again_is_not_shown_again(viewer: Viewer) -> None:
    viewer.sink.signals(signals(0, [[1.0, 1.0, 1.0]]))
    for _ in range(2):
        viewer.sink.results(results(0, [[0.01, 1.0]]))
        viewer.clocks.now += 1.0
    assert len(viewer.curve("results/north/fdb_delay")) == 1


def test_the_decoder_refuses_what_plotjuggler_does_not_take() -> None:
    decoder = PlotJuggler()
    for payload in (b'{"a": NaN}', b'{"a": Infinity}', b'{"a": 1e999}', b'{"a": "\\ud800"}', b"{", b'{"\xff": 1}'):
        with pytest.raises(DroppedError):
            decoder.take([b"t", payload, b"1.0"])
    for when in (b"now", b"1e999", b"-"):
        with pytest.raises(EndedError):
            decoder.take([b"t", b'{"a": 1.0}', when])
    with pytest.raises(EndedError):
        decoder.take([b"t", b"", b"1.0"])
    decoder.take([b"t", b'{"a": 1.0, "b": null, "c": {}}', b" 1.5 s"])
    assert decoder.curves == {"t/a": [(1.5, 1.0)]}
    with pytest.raises(DroppedError, match="was float, now int"):
        decoder.take([b"t", b'{"a": 1}', b"2.0"])


def test_it_is_bound_to_this_machine_unless_insecure() -> None:
    with pytest.raises(TransportError, match="insecure"):
        PlotJugglerSink("tcp://*:*")
    sink = PlotJugglerSink("tcp://*:*", insecure=True)
    sink.close()
    sink.close()
    for rate in (0.0, 101.0, float("nan")):
        with pytest.raises(ValueError, match="the limit is 100"):
            PlotJugglerSink("tcp://127.0.0.1:*", rate)


def test_the_program_of_the_page_reads_the_feed() -> None:
    page = (Path(__file__).parents[2] / "docs" / "viewers.md").read_text(encoding="utf-8")
    program = page.partition("```python\n")[2].partition("```")[0]
    sink = PlotJugglerSink("tcp://127.0.0.1:*", 100.0)
    words = [sys.executable, "-c", program, sink.endpoint]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        stop = threading.Event()
        teller = threading.Thread(target=lambda: _tell_until(sink, stop, process))
        teller.start()
        try:
            assert process.stdout is not None
            when, actuator, delay = process.stdout.readline().split()
        finally:
            process.kill()
            stop.set()
            teller.join()
            sink.close()
    assert float(when) > NOW
    assert (actuator, delay) == ("north", "0.25")


def _tell_until(sink: PlotJugglerSink, stop: threading.Event, listener: subprocess.Popen[str]) -> None:
    number = 0
    sink.signals(SignalBlock(STREAM, 0, 0.0, np.zeros((1, len(CHANNELS)))))
    # what the page's program looks for
    headline = replace(RESULTS, columns=(Column("broadband_delay", "s", "north"), RESULTS.columns[1]))
    # long enough for any machine, and no longer
    while not stop.wait(0.02) and number < 1500:
        sink.results(ResultBlock(headline, 10 * number, number / 100.0, np.array([[0.25, 1.0]])))
        number += 1
    listener.kill()


SHIPPED = Path(__file__).parents[2] / "examples" / "viewers" / "plotjuggler.xml"


def curves(text: str) -> set[str]:
    """Return the names of the curves in the feed that a layout shows."""
    root = ElementTree.fromstring(text)
    names = {each.get(key, "") for each in root.iter("curve") for key in ("name", "curve_x", "curve_y")}
    return {name for name in names if name.startswith("synchroscope/")}


def test_the_shipped_layout_is_that_of_the_demonstration() -> None:
    assert SHIPPED.read_text() == layout(["north", "south", "roof"])


@pytest.mark.parametrize("names", [["x"], ["a/b", "a_b"], ['<&">', "ü", ""], [f"a{n}" for n in range(20)]])
def test_curves_are_those_of_the_feed(names: list[str]) -> None:
    channels = [
        Channel(f"{name}.{role}", role, "m", name) for name in names for role in (Role.COMMAND, Role.MEASURED)
    ]
    stream = Stream("rig", 1, 100.0, tuple(channels))
    import json

    groups = json.loads(channel_tree(stream).encode([0.0] * len(channels)))
    sent = {f"synchroscope/signals/{group}/{name}" for group, own in groups.items() for name in own}
    shown = curves(layout(names))
    assert {name for name in shown if "/signals/" in name} == sent
    assert len({name for name in shown if "/results/" in name}) == 3 * len(names)


def test_constant_values_have_a_range() -> None:
    plots = {
        area.get("name"): area.find("plot/limitY") for area in ElementTree.fromstring(layout(["x"])).iter("DockArea")
    }
    assert plots["severity: 1 warn, 2 trip"].attrib == {"min": "-0.1", "max": "2.2"}
    assert plots["number of alarms"].attrib == {"min": "-0.5"}
    assert plots["ratio"].attrib == {}


def test_actuators_of_a_running_service(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    columns = (
        Column("fdb_delay", "s", "left"),
        Column("fdb_delay", "s", "right"),
        Column("reliability_a", "1", "top"),
    )
    block = ResultBlock(ResultStream("rig", 1, 100.0, 1, columns), 0, 0.0, np.zeros((1, 3)))
    file, over = tmp_path / "layout.xml", threading.Event()
    publisher = ResultPublisher("tcp://127.0.0.1:*")

    def publish() -> None:
        while not over.wait(0.02):
            publisher.results(block)

    thread = threading.Thread(target=publish)
    thread.start()
    try:
        assert main(["plotjuggler-layout", "--connect", publisher.endpoint, "-o", str(file)]) == 0
    finally:
        over.set()
        thread.join()
        publisher.close()
    assert "layout for left, right" in capsys.readouterr().out
    assert file.read_text() == layout(["left", "right"])


def test_without_a_service_names_are_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("monitor.commands.plotjuggler_layout._TIMEOUT", 0.2)
    words = ["plotjuggler-layout", "--connect", "tcp://127.0.0.1:1", "-o", str(tmp_path / "layout.xml")]
    assert main(words) == 2
    assert "give the names of the actuators" in capsys.readouterr().err
