"""What has arrived is recorded before it is computed, however late the results are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.alarms.monitor import AlarmMonitor
from monitor.config import AlarmSettings, IndicatorSettings
from monitor.engine.continuity import Accepted, Continuity
from monitor.engine.monitor import Monitor, Update
from monitor.messages.blocks import Channel, Event, EventKind, ResultBlock, Role, SignalBlock, Stream
from monitor.messages.health import Health
from monitor.service.load import WaitingBlocks
from monitor.service.service import Service
from tests.monitor.in_memory import MemorySink

RATE = 100.0
STREAM = Stream("rig", 1, RATE, (Channel("c", Role.COMMAND, "m", "a"), Channel("m", Role.MEASURED, "m", "a")))
SETTINGS = IndicatorSettings(window=0.5, measures=("nrmse", "paei"))

pytestmark = pytest.mark.usefixtures("warm_kernels")


def block(index: int, rows: int, stream: Stream = STREAM) -> SignalBlock:
    angle = 0.3 * (index + np.arange(float(rows)))
    return SignalBlock(stream, index, index / RATE, np.column_stack([np.sin(angle), 0.9 * np.sin(angle - 0.1)]))


class Journal(MemorySink):
    """Records what it was given, and in which order the engine computed."""

    def __init__(self) -> None:
        super().__init__()
        self.order: list[tuple[str, int]] = []

    def signals(self, block: SignalBlock, arrived: float | None = None) -> None:
        super().signals(block)
        self.order.append(("recorded", block.index + len(block)))

    def results(self, block: ResultBlock) -> None:
        super().results(block)
        self.order.append(("columns" if not len(block) else "results", block.index))


class Engine(Monitor):
    """Tells the journal what it computes, and takes its time."""

    def __init__(self, journal: Journal, wait: Callable[[], None] = lambda: None) -> None:
        super().__init__(SETTINGS)
        self.journal, self.wait = journal, wait

    def compute(self, accepted: Accepted) -> Update:
        self.wait()
        if accepted.block is not None:
            self.journal.order.append(("computed", accepted.block.index + len(accepted.block)))
        return super().compute(accepted)


class Burst:
    """A source of which everything has come at once."""

    def __init__(self, items: list[SignalBlock | Event], batch: int) -> None:
        self.items, self.batch = items, batch
        self.waited: tuple[float, ...] = ()
        self.dropped_at_end = 0
        self.held: list[bool] = []

    @property
    def waiting(self) -> int:
        return len(self.items)

    @property
    def ended(self) -> bool:
        return not self.items

    def hold(self, *, on: bool) -> None:
        self.held.append(on)

    def receive(self, timeout: float) -> list[SignalBlock | Event]:
        taken, self.items = self.items[: self.batch], self.items[self.batch :]
        self.waited = (0.0,) * len(taken)
        return taken

    def close(self) -> None: ...


class Clock:
    now = 50.0

    def __call__(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += seconds


def test_everything_that_has_come_is_recorded_before_the_first_of_it_is_computed() -> None:
    journal = Journal()
    sent = [block(10 * i, 10) for i in range(300)]
    Service(Burst([*sent], 16), Engine(journal), [MemorySink()], recorders=[journal]).run(lambda: False)
    kinds = [kind for kind, _ in journal.order]
    assert kinds[:2] == ["recorded", "columns"]
    assert max(i for i, kind in enumerate(kinds) if kind == "recorded") < kinds.index("computed")
    np.testing.assert_array_equal(
        np.concatenate([each.samples for each in journal.signals_seen]), np.concatenate([b.samples for b in sent])
    )
    # the columns that were told first are those of the results
    assert {each.stream.columns for each in journal.results_seen} == {journal.results_seen[0].stream.columns}
    expected = Monitor(SETTINGS).update(block(0, 3000)).results
    np.testing.assert_array_equal(np.concatenate([each.values for each in journal.results_seen]), expected.values)


@settings(max_examples=30, deadline=None)
@given(
    takes=st.floats(0.0, 2.0),
    batch=st.integers(1, 40),
    stop_after=st.integers(1, 400),
    restarts=st.sets(st.integers(0, 59), max_size=3),
)
def test_a_stop_at_any_moment_has_recorded_everything_that_came(takes, batch, stop_after, restarts) -> None:
    clock, journal, sent, epoch = Clock(), Journal(), [], 1
    for i in range(60):
        epoch += i in restarts
        sent.append(block(10 * i, 10, replace(STREAM, epoch=epoch)))
    calls = iter(range(10**6))
    engine = Engine(journal, lambda: clock.wait(takes))
    service = Service(Burst(sent, batch), engine, [MemorySink()], recorders=[journal], clock=clock)
    service.run(lambda: next(calls) >= stop_after)
    assert sum(map(len, journal.signals_seen)) == 600 == service.counts.received
    assert service.dropped == 0
    # nothing is computed that is not recorded
    recorded = 0
    for kind, index in journal.order:
        recorded = max(recorded, index) if kind == "recorded" else recorded
        assert kind != "computed" or index <= recorded


def test_senders_that_can_wait_hold_while_results_are_late() -> None:
    clock, journal = Clock(), Journal()
    source = Burst([block(10 * i, 10) for i in range(100)], 1)
    engine = Engine(journal, lambda: clock.wait(0.3))
    Service(source, engine, [MemorySink()], recorders=[journal], clock=clock).run(lambda: False)
    assert source.held and source.held == [i % 2 == 0 for i in range(len(source.held))]


@settings(max_examples=50, deadline=None)
@given(
    sizes=st.lists(st.tuples(st.integers(0, 60), st.booleans(), st.integers(0, 5)), min_size=1, max_size=60),
    room=st.integers(2, 40),
    taken=st.lists(st.integers(0, 3), max_size=60),
)
def test_what_the_memory_does_not_hold_is_a_gap_for_the_engine(sizes, room, taken) -> None:
    continuity, waiting = Continuity(), WaitingBlocks(max_bytes=room * 1000)
    engine = Monitor(SETTINGS)
    index, epoch, left_out, told, computed = 0, 1, 0, [], []
    accepted_events: list[Event] = []
    takes = iter([*taken, *[0] * len(sizes)])

    def compute() -> None:
        accepted, _ = waiting.pop()
        told.extend(accepted.events)
        if accepted.block is not None:
            computed.append(accepted)
            engine.compute(accepted)

    for rows, restart, gap in sizes:
        epoch, index = (epoch + 1, 0) if restart else (epoch, index + gap)
        accepted = continuity.accept(block(index, rows, replace(STREAM, epoch=epoch)))
        accepted_events += accepted.events
        index += rows
        waiting.add(accepted, 0.0)
        if waiting.used > 1.0:
            samples, events = waiting.leave_out(0.5)
            left_out += samples
            told.extend(events)
        assert waiting.used <= 1.0
        for _ in range(min(next(takes), len(waiting))):
            compute()
    while len(waiting):
        compute()
    assert sum(len(each.block) for each in computed) + left_out == sum(rows for rows, _, _ in sizes)
    assert told == accepted_events
    # the engine never takes samples of two stretches for one: each goes on, is after a gap, or starts its stream
    before = None
    for each in computed:
        if before is None or each.block.stream != before.stream:
            assert each.started
        elif each.block.index != before.index + len(before):
            assert each.broken or each.started
        before = each.block
    assert waiting.samples == 0


def test_results_are_of_the_present_again_when_the_memory_was_full() -> None:
    clock, journal = Clock(), Journal()
    engine = Engine(journal, lambda: clock.wait(1.0))
    source, alarms = Burst([block(10 * i, 10) for i in range(600)], 1), AlarmMonitor(AlarmSettings(max_value_age=1e6))
    service = Service(source, engine, [MemorySink()], recorders=[journal], alarms=alarms, clock=clock)
    service._waiting = WaitingBlocks(max_bytes=20_000)
    service.run(lambda: False)
    assert sum(map(len, journal.signals_seen)) == 6000
    notes = [event.detail for event in journal.events_seen if event.kind is EventKind.NOTE]
    full = [text for text in notes if text.startswith("the memory for samples that wait is full")]
    left_out = sum(int(text.split(": ")[1].split()[0]) for text in full)
    results = [each for each in journal.results_seen if len(each)]
    assert full and sum(map(len, results)) + left_out == 6000
    assert results[-1].index + len(results[-1]) == 6000


def test_memory_that_fills_is_an_alarm_before_it_is_full() -> None:
    waiting, continuity = WaitingBlocks(max_bytes=100_000), Continuity()
    alarms, said = AlarmMonitor(AlarmSettings()), []
    for i in range(100):
        waiting.add(continuity.accept(block(10 * i, 10)), 0.0)
        health = Health(memory_used=waiting.used, memory_seconds=waiting.seconds(block(0, 10)))
        said += [
            (i, step.reason) for step in alarms.evaluate_health(health, 0.0, 0, 0.2) if step.name == "memory.warn"
        ]
    # two channels of eight bytes, and the overhead of a block of ten
    assert waiting.seconds(block(0, 10)) == pytest.approx(100_000 / (16.0 + 51.2) / RATE)
    ((at, reason),) = said
    assert at == next(i for i in range(100) if (i + 1) * 672 > 50_000) and waiting.used < 1.0
    assert reason.endswith("of the memory for samples that wait is used; all of it holds 15 s at this rate")
