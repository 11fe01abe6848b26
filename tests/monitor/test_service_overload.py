"""A rig that is faster than the service: what is told meanwhile, and what becomes of what waits at a stop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.alarms.monitor import AlarmMonitor
from monitor.config import AlarmSettings, IndicatorSettings
from monitor.engine.continuity import Accepted
from monitor.engine.monitor import Monitor, Update
from monitor.messages.blocks import Channel, Event, EventKind, Role, SignalBlock, Stream
from monitor.messages.health import Health
from monitor.messages.requests import Request
from monitor.service.load import join_blocks
from monitor.service.service import Service
from tests.monitor.in_memory import MemorySink

RATE = 100.0
STREAM = Stream("rig", 1, RATE, (Channel("c", Role.COMMAND, "m", "a"), Channel("m", Role.MEASURED, "m", "a")))
ROWS = 10
BATCH = 200

pytestmark = pytest.mark.usefixtures("warm_kernels")


class Clock:
    """Stands still until it is moved."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Rig:
    """Sends ten samples every tenth of a second, which wait until they are received, in `cost` s a block."""

    clock: Clock
    cost: float = 0.0
    sent: int = 0
    dropped_at_end: int = 0
    held: bool = False
    waited: list[float] = field(default_factory=list)
    ended: bool = False
    start: float = field(init=False)

    def __post_init__(self) -> None:
        self.start = self.clock.now

    @property
    def came(self) -> int:
        """Number of samples that have come."""
        return ROWS * int((self.clock.now - self.start) * RATE / ROWS + 1e-6)

    @property
    def waiting(self) -> int:
        """Number of blocks that have come and were not received."""
        return (self.came - self.sent) // ROWS

    def hold(self, *, on: bool) -> None:
        self.held = on

    def receive(self, timeout: float) -> list[SignalBlock | Event]:
        first = self.sent
        if self.came == self.sent:
            # as long as the next block does not come
            self.clock.now += max(min(timeout, self.start + (self.sent + ROWS) / RATE - self.clock.now), 0.0)
        blocks: list[SignalBlock | Event] = []
        while self.sent < self.came and len(blocks) < BATCH:
            angle = 0.3 * (self.sent + np.arange(float(ROWS)))
            samples = np.column_stack([np.sin(angle), 0.9 * np.sin(angle - 0.1)])
            blocks.append(SignalBlock(STREAM, self.sent, self.sent / RATE, samples))
            self.sent += ROWS
            self.clock.now += self.cost
        arrivals = self.start + np.arange(first + ROWS, self.sent + 1, ROWS) / RATE
        self.waited = list(self.clock.now - arrivals)
        return blocks

    def close(self) -> None: ...


class SlowMonitor(Monitor):
    """Takes `takes` s for every ten samples, and as much again while it computes what can be paused."""

    def __init__(self, settings: IndicatorSettings, clock: Clock, takes: float, *, more: float = 0.0) -> None:
        super().__init__(settings)
        self.clock, self.takes, self.more = clock, takes, more
        self.paused: frozenset[str] = frozenset()

    def pause(self, measures) -> None:
        self.paused = frozenset(measures)
        super().pause(measures)

    def compute(self, accepted: Accepted) -> Update:
        samples = 0 if accepted.block is None else len(accepted.block)
        self.clock.now += (self.takes + (0.0 if self.paused else self.more)) * samples / ROWS
        return super().compute(accepted)


@dataclass
class Watching(MemorySink):
    """Remembers when it was told how the service is."""

    clock: Clock
    looks: list[tuple[float, Health]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def health(self, health: Health) -> None:
        self.looks.append((self.clock.now, health))


@dataclass
class RequestServer:
    """Remembers when it was looked at."""

    clock: Clock
    times: list[float] = field(default_factory=list)
    endpoint: str = ""
    refused: int = 0
    trusted: bool = True

    def serve(self, carry_out: Callable[[Request], None]) -> None:
        self.times.append(self.clock.now)

    def close(self) -> None: ...


def served(
    takes: float, seconds: float, cost: float = 0.0, max_value_age: float = 1e6
) -> tuple[Service, Rig, Watching, RequestServer, float]:
    """Return what became of a service that needs `takes` s a block and is stopped after `seconds`, and when."""
    clock = Clock()
    rig, sink, request_server = Rig(clock, cost), Watching(clock), RequestServer(clock)
    engine = SlowMonitor(IndicatorSettings(window=0.5, measures=("nrmse",)), clock, takes)
    alarms = AlarmMonitor(AlarmSettings(max_value_age=max_value_age))
    # clients may get a part only
    service = Service(
        rig, engine, [MemorySink()], recorders=[sink], alarms=alarms, request_servers=[request_server], clock=clock
    )
    until = clock.now + seconds
    service.run(lambda: clock.now >= until)
    return service, rig, sink, request_server, until


def alarmed(sink: MemorySink) -> set[str]:
    return {event.alarm.name for event in sink.events_seen if event.alarm is not None}


def test_a_service_that_keeps_up_is_never_behind() -> None:
    service, rig, sink, _, _ = served(takes=0.05, seconds=20.0)
    assert max(health.latency for _, health in sink.looks) == pytest.approx(0.05, abs=0.06)
    assert alarmed(sink) == set()
    assert (service.counts.received, service.counts.lost, service.dropped) == (rig.sent, 0, 0)
    assert {event.kind for event in sink.events_seen} == {EventKind.STARTED}


def test_how_far_it_is_behind_is_told_and_requests_and_health_are_on_time() -> None:
    _, _, sink, request_server, until = served(takes=0.2, seconds=40.0)
    # it takes half of what comes, so that after 40 s it is 20 s behind
    before = [(now, health) for now, health in sink.looks if now <= until]
    assert before[-1][1].latency == pytest.approx(20.0, abs=1.0)
    assert alarmed(sink) >= {"overload.warn"}
    assert "dead_stream.trip" not in alarmed(sink)
    assert {health.state for _, health in before[2:]} == {"receiving"}
    gaps = np.diff([now for now, _ in sink.looks])
    assert max(gaps) <= 0.5 + 0.2 + 1e-9
    assert max(np.diff(request_server.times)) <= 0.2 + 1e-9


def test_results_that_are_too_late_to_be_judged_are_left_out_when_nothing_more_can_be_shed() -> None:
    service, rig, sink, _, until = served(takes=0.2, seconds=60.0, max_value_age=3.0)
    looks = [health for now, health in sink.looks if now <= until]
    assert max(health.lag for health in looks) <= 3.0 + 0.4
    # everything is recorded, and what has no results is counted
    assert sum(map(len, sink.signals_seen)) == rig.sent == service.counts.received
    notes = [event.detail for event in sink.events_seen if event.kind is EventKind.NOTE]
    late = [text for text in notes if "nothing more can be shed" in text]
    left_out = sum(int(text.split(": ")[1].split()[0]) for text in late)
    stopped = sum(int(text.split()[-5]) for text in notes if text.startswith("stopped while behind"))
    assert len(late) > 5
    assert sum(map(len, sink.results_seen)) == rig.sent - left_out - stopped


def test_a_stop_takes_what_has_arrived_though_without_results() -> None:
    service, rig, sink, _, until = served(takes=0.2, seconds=40.0)
    assert service.counts.received == rig.sent == sum(map(len, sink.signals_seen))
    assert rig.sent >= int(40.0 * RATE)
    assert (service.counts.lost, service.dropped) == (0, 0)
    assert rig.clock.now <= until + 3.5
    *shed, note = (event.detail for event in sink.events_seen if event.kind is EventKind.NOTE)
    assert len(shed) == 2 and all(text.startswith("overloaded, ") for text in shed)
    without = rig.sent - int(sink.results_seen[-1].index + len(sink.results_seen[-1]))
    assert note == f"stopped while behind: the last {without} samples have no results"
    assert without > 1000
    # nobody says that results have caught up
    (alarm,) = (event.alarm for event in sink.events_seen if event.alarm is not None)
    assert (alarm.name, alarm.action) == ("overload.warn", "occur")
    assert sink.looks[-1][1].latency > 20.0


def test_what_there_is_no_time_for_at_a_stop_is_counted_as_lost() -> None:
    # it reads half of what comes
    service, rig, sink, _, until = served(takes=0.2, seconds=60.0, cost=0.2)
    assert rig.clock.now <= until + 11.0 + 2.0 * BATCH * 0.2
    left = rig.came - service.counts.received
    assert left > 500
    assert service.dropped == service.counts.lost == pytest.approx(left, abs=200)
    (gap,) = (event for event in sink.events_seen if event.kind is EventKind.GAP)
    assert gap.detail.startswith("stopped while behind: about so many samples had arrived")
    assert sink.looks[-1][1].counts.lost == service.dropped
    assert "lost_data.warn" in alarmed(sink)


def test_a_block_without_end_is_taken_in_parts_and_gives_the_same_results() -> None:
    angle = 0.3 * np.arange(30_000.0)
    whole = SignalBlock(STREAM, 0, 0.0, np.column_stack([np.sin(angle), 0.9 * np.sin(angle - 0.1)]), last=True)
    clock = Clock()
    sink, request_server = Watching(clock), RequestServer(clock)

    class Once(Rig):
        waiting = 0

        def receive(self, timeout: float) -> list[SignalBlock | Event]:
            blocks: list[SignalBlock | Event] = [] if self.ended else [whole]
            self.ended, self.waited = True, [0.0] * len(blocks)
            return blocks

    settings = IndicatorSettings(window=0.5, measures=("nrmse",))
    engine = SlowMonitor(settings, clock, 0.0006)
    Service(Once(clock), engine, [sink], request_servers=[request_server], clock=clock).run(lambda: False)
    parts = len(sink.signals_seen)
    assert len(sink.results_seen) == parts > 5
    assert len(request_server.times) >= parts
    assert [block.last for block in sink.signals_seen] == [False] * (parts - 1) + [True]
    np.testing.assert_array_equal(np.concatenate([block.samples for block in sink.signals_seen]), whole.samples)
    expected = Monitor(settings).update(whole).results
    assert expected is not None
    np.testing.assert_array_equal(np.concatenate([block.values for block in sink.results_seen]), expected.values)


def test_what_is_left_out_is_told_and_never_the_recording() -> None:
    clock = Clock()
    rig, clients, recorder, viewer = Rig(clock), MemorySink(), Watching(clock), MemorySink()
    settings = IndicatorSettings(window=0.5, measures=("nrmse", "broadband", "fei"))
    engine = SlowMonitor(settings, clock, 0.08, more=0.06)
    service = Service(rig, engine, [clients], recorders=[recorder], viewers=[viewer], clock=clock)
    service.run(lambda: clock.now >= 1060.0)
    assert sum(map(len, recorder.signals_seen)) == rig.sent == service.counts.received
    assert np.concatenate([block.values for block in recorder.results_seen]).shape[0] >= 55 * RATE
    looks = [health for now, health in recorder.looks if now <= 1060.0]
    # paused, it follows, catches up, and tries again
    assert ("viewers", "results", "fei") in {health.shed for health in looks}
    assert max(health.lag for health in looks) < 8.0
    assert any(health.lag_trend > 0.1 for health in looks) and any(health.lag_trend < -0.1 for health in looks)
    assert min(health.lag for health in looks[150:]) < 0.3
    assert all(0.0 <= health.load <= 1.0 for health in looks) and looks[20].load > 0.9
    said = [event.detail for event in recorder.events_seen if event.kind is EventKind.NOTE]
    assert any("fei is paused" in text for text in said)
    assert said == [event.detail for event in viewer.events_seen if event.kind is EventKind.NOTE]
    # of what is told to others a part, but the alarms and all that happened
    for sink in (clients, viewer):
        assert 0 < len(sink.signals_seen) < len(recorder.signals_seen)
        assert 0 < len(sink.results_seen) < len(recorder.results_seen)


CHANNELS = (Channel("c", Role.COMMAND, "m", "a"), Channel("m", Role.MEASURED, "m", "a"))
JOINABLE, OTHER = (Stream("rig", epoch, 1000.0, CHANNELS) for epoch in (1, 2))
NOTE = Event(EventKind.NOTE, 0.0, 0)


def block(index: int, rows: int, stream: Stream = JOINABLE, late: float = 0.0, last: bool = False) -> SignalBlock:
    numbers = np.arange(index, index + rows, dtype=float)
    return SignalBlock(stream, index, index / 1000.0 + late, np.stack([np.sin(numbers), np.cos(numbers)], 1), last)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("block"), st.integers(0, 40)),
        st.tuples(st.just("gap"), st.integers(1, 9)),
        st.tuples(st.just("late"), st.integers(1, 9)),
        st.tuples(st.just("other"), st.integers(1, 9)),
        st.tuples(st.just("note"), st.just(0)),
    ),
    max_size=40,
)


@given(STEPS)
def test_what_comes_is_what_came(steps):
    items, index = [], 0
    for number, (what, rows) in enumerate(steps):
        index += 100 if what == "gap" else 0
        if what == "note":
            items.append((NOTE, float(number)))
            continue
        late, stream = 0.01 if what == "late" else 0.0, OTHER if what == "other" else JOINABLE
        items.append((block(index, rows, stream, late), float(number)))
        index += rows
    found = list(join_blocks(items))
    assert sum(isinstance(item, Event) for item, _ in found) == sum(what == "note" for what, _ in steps)

    def samples(given):
        return [
            (item.stream.epoch, item.index + row, values.tobytes())
            for item, _ in given
            if isinstance(item, SignalBlock)
            for row, values in enumerate(item.samples)
        ]

    assert samples(found) == samples(items)
    # every time that was told is told still, but where it follows from the one before
    times = {(i.stream.epoch, i.index): i.time for i, _ in items if isinstance(i, SignalBlock)}
    for item, _ in found:
        if isinstance(item, SignalBlock):
            assert times[item.stream.epoch, item.index] == item.time or not len(item)
            for row in range(len(item)):
                told = times.get((item.stream.epoch, item.index + row))
                assert told is None or told == pytest.approx(item.time + row / 1000.0, abs=1e-12)
            assert len(item) <= 50
    assert {waited for _, waited in found} <= {waited for _, waited in items}


def test_small_messages_become_large_ones_and_the_last_stays_last():
    items = [(block(index, 1, last=index == 199), 1.0 / (index + 1)) for index in range(200)]
    found = list(join_blocks(items))
    assert [len(item) for item, _ in found] == [50, 50, 50, 50]
    assert [item.last for item, _ in found] == [False, False, False, True]
    # that of the newest sample
    assert found[0][1] == 1.0 / 50


@pytest.mark.usefixtures("warm_kernels")
def test_results_are_the_same_bits():
    settings = IndicatorSettings(window=0.2, every=3)

    def rows(given):
        monitor = Monitor(settings)
        return np.concatenate([monitor.update(item).results.values for item, _ in given])

    items = [(block(index, 1), 0.0) for index in range(700)]
    assert rows(join_blocks(items)).tobytes() == rows(items).tobytes()
