"""The service's loop, fed from memory and timed by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from monitor.alarms.monitor import AlarmMonitor
from monitor.config import AlarmSettings, IndicatorSettings
from monitor.engine.monitor import Monitor
from monitor.messages.alarms import AlarmReport
from monitor.messages.blocks import Channel, Event, EventKind, ResultBlock, Role, SignalBlock, Stream, TransferBlock
from monitor.messages.health import Health, RecordingStatus, StreamCounts, decode, encode
from monitor.messages.requests import NoteRequest, Request
from monitor.service.service import Service
from tests.monitor.in_memory import MemorySink, MemorySource

RATE = 100.0
CHANNELS = (Channel("c", Role.COMMAND, "m", "a"), Channel("m", Role.MEASURED, "m", "a"))
STREAM = Stream("rig", 1, RATE, CHANNELS)

pytestmark = pytest.mark.usefixtures("warm_kernels")


def block(index: int, rows: int = 50, stream: Stream = STREAM, last: bool = False) -> SignalBlock:
    angle = 0.3 * (index + np.arange(float(rows)))
    samples = np.column_stack([np.sin(angle), 0.9 * np.sin(angle - 0.1)])
    return SignalBlock(stream, index, index / RATE, samples, last)


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Script:
    """A source that lets time pass: numbers are seconds of silence, everything else is handed out."""

    clock: Clock
    steps: list[float | SignalBlock | Event]
    at: Iterator[float | SignalBlock | Event] = field(init=False)
    ended: bool = False
    waiting: int = 0
    dropped_at_end: int = 0
    held: bool = False
    waited: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        self.at = iter(self.steps)

    def hold(self, *, on: bool) -> None:
        self.held = on

    def receive(self, timeout: float) -> tuple[SignalBlock | Event, ...]:
        step = next(self.at, None)
        if isinstance(step, float):
            self.clock.now += step
            step = None
        else:
            self.ended = step is None
        self.waited = () if step is None else (0.0,)
        return () if step is None else (step,)

    def close(self) -> None:
        self.ended = True


def serve(items, settings: IndicatorSettings | None = None, **options) -> tuple[Service, MemorySink]:
    sink = MemorySink()
    service = Service(MemorySource(items), Monitor(settings or IndicatorSettings(window=0.5)), [sink], **options)
    service.run(lambda: False, once=True)
    return service, sink


def watch(steps, **options) -> tuple[Service, MemorySink]:
    clock, sink = Clock(), MemorySink()
    service = Service(Script(clock, steps), Monitor(IndicatorSettings(window=0.5)), [sink], clock=clock, **options)
    service.run(lambda: False)
    return service, sink


def test_samples_results_and_events_reach_the_sink_in_order() -> None:
    service, sink = serve([block(0), block(50), block(100, last=True)])
    assert [b.index for b in sink.signals_seen] == [0, 50, 100]
    assert [(b.index, len(b)) for b in sink.results_seen] == [(0, 50), (50, 50), (100, 50)]
    assert [e.kind for e in sink.events_seen] == [EventKind.STARTED, EventKind.ENDED]
    assert service.counts == StreamCounts(received=150)
    whole = Monitor(IndicatorSettings(window=0.5)).update(block(0, 150)).results
    assert np.concatenate([b.values for b in sink.results_seen]).tobytes() == whole.values.tobytes()
    assert not sink.closed


def test_every_kind_of_loss_is_counted() -> None:
    later = replace(STREAM, epoch=2)
    jumped = replace(block(50, stream=later), time=9.0)
    items = [
        *(block(0), block(70), block(50, 20), block(70), block(120, 30)),
        Event(EventKind.REJECTED, 0.0, 0, 3, "not a message"),
        Event(EventKind.RECONNECTED, 0.0, 0, 0, "the sender disconnected"),
        *(block(0, stream=later), jumped, block(100, stream=STREAM)),
    ]
    service, sink = serve(items)
    assert service.counts == StreamCounts(
        received=230,
        lost=20,
        gaps=1,
        reordered=20 + 50,
        duplicates=50,
        restarts=1,
        clock_jumps=1,
        rejected=3,
        reconnects=1,
    )
    assert sink.health_seen[-1].counts == service.counts
    assert sum(len(b) for b in sink.signals_seen) == 230


def test_a_flood_that_was_cut_off_is_remembered() -> None:
    assert not serve([block(0)])[0].flooded
    assert serve([block(0), Event(EventKind.REJECTED, 0.0, 0, 0, "messages came faster")])[0].flooded
    # samples of messages that were counted before
    assert not serve([block(0), Event(EventKind.REJECTED, 0.0, 0, 0, "dropped", samples=7)])[0].flooded


def test_another_rig_is_refused() -> None:
    other = replace(STREAM, rig="other")
    service, sink = serve([block(0), block(0, stream=other), block(50)])
    assert {b.stream.rig for b in sink.signals_seen} == {"rig"}
    assert service.counts == StreamCounts(received=100, rejected=1, rejected_samples=50)
    (refused,) = (e for e in sink.events_seen if e.kind is EventKind.REJECTED)
    assert "'other'" in refused.detail


def test_the_rig_that_is_asked_for_is_the_one_that_is_followed() -> None:
    other = replace(STREAM, rig="other")
    service, sink = serve([block(0), block(0, stream=other)], rig="other")
    assert [b.stream.rig for b in sink.signals_seen] == ["other"]
    assert service.counts == StreamCounts(received=50, rejected=1, rejected_samples=50)


def test_sinks_are_served_in_their_order() -> None:
    order: list[str] = []

    class Named(MemorySink):
        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

        def signals(self, block: SignalBlock) -> None:
            order.append(self.name)

    service = Service(MemorySource([block(0), block(50)]), Monitor(), [Named("first"), Named("second")])
    service.run(lambda: False)
    assert order == ["first", "second"] * 2


def test_once_ends_with_the_last_block_and_without_it_a_new_run_may_follow() -> None:
    items = [block(0, last=True), block(0, stream=replace(STREAM, epoch=2))]
    assert serve(items)[0].counts.received == 50
    service = Service(MemorySource(items), Monitor(), [])
    service.run(lambda: False)
    assert service.counts == StreamCounts(received=100, restarts=1)


def test_told_to_stop_it_stops() -> None:
    sink = MemorySink()
    service = Service(MemorySource([], ends=False), Monitor(), [sink])
    service.run(lambda: len(sink.health_seen) > 0)
    assert [h.state for h in sink.health_seen] == ["waiting", "waiting"]


def test_health_is_told_at_the_start_five_times_a_second_and_at_the_end() -> None:
    steps = [0.25, 0.25, *(item for i in range(10) for item in (block(10 * i, 10), 0.125)), 0.25, *[0.75] * 8]
    _, sink = watch([*steps, block(100, 10, last=True), 0.5])
    states = [h.state for h in sink.health_seen]
    assert states == [*["waiting"] * 3, *["receiving"] * 12, *["stale"] * 2, "ended", "ended"]
    assert [h.counts.received for h in sink.health_seen] == [0, 0, 0, 20, 40, 60, 80, *[100] * 10, 110, 110]
    assert [h.measured_rate for h in sink.health_seen[:10]] == [0, 0, 0, *[80] * 5, 0, 0]
    assert sink.health_seen[16].age == pytest.approx(6.375)
    assert sink.health_seen[0].sample_rate == 0.0
    assert {h.sample_rate for h in sink.health_seen[3:]} == {RATE}


def test_a_stale_stream_that_goes_on_is_received_again() -> None:
    _, sink = watch([block(0), 0.75, 0.75, block(50), 0.6], stale_after=1.0)
    assert [h.state for h in sink.health_seen] == ["waiting", "receiving", "stale", "receiving", "receiving"]


def test_a_pause_of_the_service_is_no_silence_of_the_rig() -> None:
    alarms = AlarmMonitor(AlarmSettings())
    _, sink = watch([block(0), 0.5, 60.0, 0.5, block(50), 0.5], alarms=alarms)
    assert {h.state for h in sink.health_seen[1:]} == {"receiving"}
    assert max(h.age for h in sink.health_seen) == pytest.approx(1.0)
    assert not [event for event in sink.events_seen if event.alarm is not None and "dead" in event.alarm.name]


def test_an_ended_stream_that_restarts_is_received_again() -> None:
    _, sink = watch([block(0, last=True), 0.6, block(0, stream=replace(STREAM, epoch=2)), 0.6])
    assert [h.state for h in sink.health_seen] == ["waiting", "ended", "receiving", "receiving"]


def test_health_tells_what_is_recorded() -> None:
    _, sink = serve([block(0)], recording=lambda: RecordingStatus("run.h5", 40, 2, 7 << 30))
    told = sink.health_seen[-1]
    assert (told.recording, told.recorded, told.unrecorded, told.disk_free) == ("run.h5", 40, 2, 7 << 30)
    assert serve([block(0)])[1].health_seen[-1].disk_free == 0


def test_health_of_an_older_service_has_defaults_and_keys_of_a_later_one_are_ignored() -> None:
    assert decode(b'{"rig":"lab","state":"stale","flavour":3}') == Health("lab", "stale")
    whole = Health("lab", latency=0.004, disk_free=-1, requests="tcp://127.0.0.1:7001", requests_refused=3)
    assert decode(encode(whole)) == whole


def test_latency_is_the_longest_of_the_interval_from_arrival_to_the_first_sink() -> None:
    clock = Clock()
    slow = iter([0.004, 0.03, 0.002, 0.001])

    class Slow(MemorySink):
        def results(self, block: ResultBlock) -> None:
            clock.now += next(slow)

    class Slower(MemorySink):
        def results(self, block: ResultBlock) -> None:
            clock.now += 5.0

    sink = Slow()
    steps = [block(0), block(50), 0.6, block(100), 0.6, 0.6, block(150), 0.6]
    monitor = Monitor(IndicatorSettings(window=0.5))
    Service(Script(clock, steps), monitor, [sink], clock=clock).run(lambda: False)
    assert [h.latency for h in sink.health_seen] == pytest.approx([0.0, 0.03, 0.002, 0.0, 0.001, 0.0])
    sink, slow = Slow(), iter([0.5])
    Service(Script(clock, [block(0)]), Monitor(), [sink, Slower()], clock=clock).run(lambda: False)
    assert [h.latency for h in sink.health_seen] == pytest.approx([0.0, 0.5, 0.0])


@dataclass
class RequestServer:
    """Hand out requests at their times, and remember when it was asked."""

    clock: Clock
    requests: list[tuple[float, Request]] = field(default_factory=list)
    endpoint: str = "tcp://127.0.0.1:7001"
    refused: int = 3
    trusted: bool = True
    asked: list[float] = field(default_factory=list)

    def serve(self, carry_out: Callable[[Request], None]) -> None:
        self.asked.append(self.clock.now)
        while self.requests and self.requests[0][0] <= self.clock.now:
            carry_out(self.requests.pop(0)[1])

    def close(self) -> None:
        """Do nothing."""


def noted(steps, *requests: tuple[float, NoteRequest]) -> tuple[list[Event], RequestServer, MemorySink]:
    clock, sink = Clock(), MemorySink()
    request_server = RequestServer(clock, [(100.0 + after, request) for after, request in requests])
    service = Service(
        Script(clock, steps),
        Monitor(IndicatorSettings(window=0.5)),
        [sink],
        clock=clock,
        request_servers=(request_server,),
    )
    service.run(lambda: False)
    return [e for e in sink.events_seen if e.kind is EventKind.NOTE], request_server, sink


def test_a_note_stands_at_the_newest_sample_unless_it_says_where() -> None:
    steps = [0.1, block(0), 0.1, block(50), 0.1, block(100, 0), 0.1]
    notes, request_server, _ = noted(
        steps,
        (0.05, NoteRequest(text="before the first sample")),
        (0.15, NoteRequest(text="at 49")),
        (0.25, NoteRequest(text="at 99")),
        (0.25, NoteRequest(text="elsewhere", time=0.25, index=25)),
        (0.35, NoteRequest(text="the next")),
    )
    assert notes == [
        Event(EventKind.NOTE, 0.0, 0, 0, "before the first sample"),
        Event(EventKind.NOTE, pytest.approx(0.49), 49, 0, "at 49"),
        Event(EventKind.NOTE, pytest.approx(0.99), 99, 0, "at 99"),
        Event(EventKind.NOTE, 0.25, 25, 0, "elsewhere"),
        Event(EventKind.NOTE, 1.0, 100, 0, "the next"),
    ]
    assert not request_server.requests


def test_a_note_arrives_while_the_rig_is_silent_and_at_the_very_end() -> None:
    steps = [block(0), *[0.1] * 30, 0.03, block(50, last=True)]
    notes, _, sink = noted(steps, (2.0, NoteRequest(text="nothing moves")), (3.02, NoteRequest(text="the end")))
    assert [(note.detail, note.index) for note in notes] == [("nothing moves", 49), ("the end", 99)]
    assert sink.health_seen[-1].state == "ended"


def test_requests_are_looked_at_twenty_times_a_second_at_most() -> None:
    steps = [item for i in range(1000) for item in (block(i, 1), 0.001)]
    _, request_server, sink = noted(steps)
    assert 18 <= len(request_server.asked) <= 21
    told = sink.health_seen[-1]
    assert (told.requests, told.requests_refused) == ("tcp://127.0.0.1:7001", 3)


def test_health_without_a_request_server_has_no_endpoint() -> None:
    assert serve([block(0)])[1].health_seen[-1].requests == ""


def test_settings_that_do_not_fit_the_stream_are_told_once_and_the_samples_pass_on() -> None:
    service, sink = serve([block(0), block(50), block(100)], IndicatorSettings(window=0.05))
    assert [b.index for b in sink.signals_seen] == [0, 50, 100]
    assert not sink.results_seen
    (note,) = (e for e in sink.events_seen if "no indicators" in e.detail)
    assert note.kind is EventKind.NOTE
    assert "window = 0.05 s" in note.detail
    # nothing was refused
    assert service.counts == StreamCounts(received=150)


def test_the_first_block_tells_the_columns_even_when_it_is_empty() -> None:
    _, sink = serve([block(0, 0), block(0, 0), block(0)], IndicatorSettings(window=0.5, every=200))
    assert [len(b) for b in sink.results_seen] == [0, 1]
    assert len(sink.signals_seen) == 3


def test_trouble_that_changes_at_every_look_is_noted_now_and_then_and_its_last_words_too() -> None:
    times = iter(range(1000))
    _, sink = watch([0.5] * 40 + [20.0], fault=lambda: f"restarted {min(next(times), 39)} times")
    notes = [event.detail for event in sink.events_seen if event.kind is EventKind.NOTE]
    assert len(notes) <= 5 + 20 * 0.1 + 2 and notes[:5] == [f"restarted {i} times" for i in range(5)]
    assert notes[-1] == "restarted 39 times"


class Ordered(MemorySink):
    """Stores kind, index and length of all that it gets, in one list."""

    def __init__(self) -> None:
        super().__init__()
        self.order: list[tuple[str, int, int]] = []

    def signals(self, block: SignalBlock) -> None:
        super().signals(block)
        self.order.append(("signals", block.index, len(block)))

    def results(self, block: ResultBlock) -> None:
        self.order.append(("results", block.index, len(block)))

    def transfer(self, block: TransferBlock) -> None:
        self.order.append(("transfer", block.index, 1))

    def health(self, health: Health) -> None:
        self.order.append(("health", 0, 1))

    def alarms(self, report: AlarmReport) -> None:
        self.order.append(("alarms", 0, 1))


FAST = Stream("rig", 1, 1000.0, CHANNELS)


def samples(start: int, stop: int, stream: Stream = FAST) -> list[SignalBlock]:
    return [replace(block(index, 1, stream), time=index / 1000.0) for index in range(start, stop)]


def test_signals_are_published_with_the_rows_of_results_two_hundred_times_a_second() -> None:
    sink, monitor = Ordered(), Monitor(IndicatorSettings(window=0.5, measures=("nrmse",)), max_rows=200.0)
    # silence in the middle, a restart, an end in the middle
    items = [*samples(0, 13), 0.2, *samples(13, 17), *samples(0, 3, replace(FAST, epoch=2))]
    clock = Clock()
    Service(Script(clock, items), monitor, [sink], clock=clock).run(lambda: False)
    assert [each for each in sink.order if each[0] in ("results", "signals")] == [
        *(("results", 0, 1), ("signals", 0, 1), ("results", 5, 1), ("signals", 1, 5), ("results", 10, 1)),
        *(("signals", 6, 5), ("signals", 11, 2), ("results", 15, 1), ("signals", 13, 3), ("signals", 16, 1)),
        *(("results", 0, 1), ("signals", 0, 1), ("signals", 1, 2)),
    ]
    sent = [item for item in items if isinstance(item, SignalBlock)]
    assert np.concatenate([b.samples for b in sink.signals_seen]).tobytes() == b"".join(
        b.samples.tobytes() for b in sent
    )


def test_signals_do_not_wait_for_seldom_rows_or_for_results_that_there_are_none() -> None:
    auxiliary = Stream("rig", 1, 1000.0, (Channel("a", Role.AUXILIARY), Channel("b", Role.AUXILIARY)))
    for settings, stream in ((IndicatorSettings(window=0.5, every=500), FAST), (IndicatorSettings(), auxiliary)):
        sink = MemorySink()
        Service(MemorySource(samples(0, 20, stream)), Monitor(settings), [sink]).run(lambda: False)
        assert max(map(len, sink.signals_seen)) == 5
        assert sum(map(len, sink.signals_seen)) == 20


def test_the_alarms_are_told_after_the_results_that_come_after_the_health() -> None:
    clock, sink = Clock(), Ordered()
    steps = [block(0), 0.25, block(50), block(100)]
    Service(Script(clock, steps), Monitor(IndicatorSettings(window=0.5)), [sink], clock=clock).run(lambda: False)
    order = " ".join(kind for kind, *_ in sink.order if kind != "signals")
    assert order == "health results alarms health results alarms results health alarms"


def test_transfer_functions_wait_for_spare_time_and_none_is_left_out() -> None:
    settings = IndicatorSettings(window=0.5, measures=("nrmse", "transfer"), transfer_segment=0.5, every=5)
    blocks, monitor = samples(0, 3003), Monitor(settings)
    ready = [(b.index, found.index) for b in blocks if (found := monitor.update(b).transfer) is not None]
    clock, sink = Clock(), Ordered()
    order = sink.order
    Service(Script(clock, [*blocks]), Monitor(settings), [sink], clock=clock).run(lambda: False)
    assert [index for kind, index, _ in order if kind == "transfer"] == [index for _, index in ready]
    assert len(ready) > 3
    for done, index in ready:
        before = order[: order.index(("transfer", index, 1))]
        assert max(row for kind, row, _ in before if kind == "results") >= done - done % 5
