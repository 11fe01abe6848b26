"""Alarms in the service's loop: every step is an event and a report on every sink, and requests are obeyed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pytest

from monitor.alarms.monitor import AlarmMonitor
from monitor.config import AlarmSettings, IndicatorSettings, LimitSettings
from monitor.engine.monitor import Monitor
from monitor.messages.alarms import decode, encode
from monitor.messages.blocks import Channel, Event, EventKind, Role, SignalBlock, Stream
from monitor.messages.requests import AcknowledgeRequest, Request, ResetRequest
from monitor.service.service import Service
from tests.monitor.in_memory import MemorySink, MemorySource

RATE = 100.0
STREAM = Stream("rig", 1, RATE, tuple(Channel(role.value, role, "m", "a") for role in (Role.COMMAND, Role.MEASURED)))
LIMIT = LimitSettings(value="nrmse", warn=0.5, deadband=0.1, latching=True)
NAME = "a.nrmse.warn"

pytestmark = pytest.mark.usefixtures("warm_kernels")


def block(index: int, gain: float, rows: int = 50, last: bool = False) -> SignalBlock:
    command = np.sin(0.3 * (index + np.arange(float(rows))))
    return SignalBlock(STREAM, index, index / RATE, np.column_stack([command, gain * command]), last)


@dataclass
class Asking:
    """A request server that asks one thing a time it is looked at."""

    requests: list[Request]
    endpoint: str = ""
    refused: int = 0
    trusted: bool = True
    said: list[str] = field(default_factory=list)

    def serve(self, carry_out: Callable[[Request], None]) -> None:
        if self.requests:
            try:
                carry_out(self.requests.pop(0))
            except ValueError as problem:
                self.said.append(str(problem))

    def close(self) -> None: ...


def serve(items, request_servers=(), rows_at_once: int = 50) -> tuple[list[MemorySink], AlarmMonitor]:
    ticks = iter(range(10**6))
    sinks = [MemorySink(), MemorySink()]
    alarms = AlarmMonitor(AlarmSettings(limit=(LIMIT,), dead_stream=False, overload=False, max_value_age=1e6))
    engine = Monitor(IndicatorSettings(window=0.2, measures=("nrmse",)))
    pieces = []
    for b in items:
        for i in range(0, len(b), rows_at_once):
            last = b.last and i + rows_at_once >= len(b)
            pieces.append(SignalBlock(STREAM, b.index + i, b.time + i / RATE, b.samples[i : i + rows_at_once], last))
    service = Service(
        MemorySource(pieces),
        engine,
        sinks,
        alarms=alarms,
        request_servers=request_servers,
        clock=lambda: 0.06 * next(ticks),
    )
    service.run(lambda: False, once=True)
    return sinks, alarms


ITEMS = [block(0, 1.0), block(50, 0.1), block(100, 1.0), block(150, 1.0), block(200, 1.0), block(250, 1.0, last=True)]


def test_every_step_is_an_event_and_a_report_on_every_sink() -> None:
    sinks, alarms = serve(ITEMS)
    for sink in sinks:
        events = [event.alarm for event in sink.events_seen if event.kind is EventKind.ALARM]
        assert [(step.name, step.state) for step in events] == [
            (NAME, "unacknowledged"),
            (NAME, "latched_unacknowledged"),
        ]
        assert 50 < events[0].index < 70
        assert events[0].time == pytest.approx(events[0].index / RATE)
        told = [step for report in sink.alarms_seen for step in report.transitions]
        assert [Event.of_alarm(step) for step in told] == [e for e in sink.events_seen if e.kind is EventKind.ALARM]
        # the report has the state that the steps have led to
        reports = [report for report in sink.alarms_seen if report.transitions]
        assert [report.alarms[-1].state for report in reports] == [step.state for step in told]
        assert sink.alarms_seen[-1].alarms == alarms.alarms


@pytest.mark.parametrize("rows", [1, 7, 25])
def test_the_cut_of_the_stream_changes_no_step(rows) -> None:
    def steps(sinks: list[MemorySink]) -> list[object]:
        # the pieces have times of their own rounding
        return [(e.index, e.detail, round(e.time, 9)) for e in sinks[0].events_seen if e.kind is EventKind.ALARM]

    assert steps(serve(ITEMS, rows_at_once=rows)[0]) == steps(serve(ITEMS)[0])


def test_requests_are_obeyed_in_their_order_or_refused() -> None:
    asked = [ResetRequest(alarm="b.nrmse.warn"), *[AcknowledgeRequest(alarm=NAME, by="k")] * 9, ResetRequest(by="k")]
    request_server = Asking([*asked])
    sinks, alarms = serve(
        [*ITEMS[:-1], *(block(250 + 50 * i, 1.0, last=i == 30) for i in range(31))], [request_server]
    )
    steps = [step for report in sinks[0].alarms_seen for step in report.transitions]
    assert [(step.action, step.by) for step in steps if step.by] == [("acknowledge", "k"), ("reset", "k")]
    assert [step.number for step in steps] == [*range(1, len(steps) + 1)]
    assert all(a.state == b.previous for a, b in pairwise(steps))
    assert {alarm.name: alarm.state for alarm in alarms.alarms}[NAME] == "normal"
    assert len(request_server.said) == 9
    first, *others = request_server.said
    assert first.startswith("there is no alarm 'b.nrmse.warn'")
    assert all(text.startswith(f"{NAME}: it") for text in others)


def test_a_value_that_is_not_there_is_a_note() -> None:
    sink = MemorySink()
    alarms = AlarmMonitor(AlarmSettings(limit=(LimitSettings(value="nothing", warn=1.0),)))
    engine = Monitor(IndicatorSettings(window=0.2, measures=("nrmse",)))
    Service(MemorySource(ITEMS), engine, [sink], alarms=alarms).run(lambda: False, once=True)
    notes = [event.detail for event in sink.events_seen if event.kind is EventKind.NOTE]
    assert notes == ["alarms: no value 'nothing'; there are nrmse, nrmse_std, nrmse_range, nrmse_measured"]


def test_many_steps_at_once_are_told_in_several_reports_that_clients_take() -> None:
    limits = tuple(LimitSettings(value="nrmse", name=f"n{i}", warn=0.5) for i in range(500))
    sink = MemorySink()
    pieces = [block(0, 1.0), block(50, 0.1, last=True)]
    alarms = AlarmMonitor(AlarmSettings(limit=limits, dead_stream=False))
    engine = Monitor(IndicatorSettings(window=0.2, measures=("nrmse",)))
    Service(MemorySource(pieces), engine, [sink], alarms=alarms).run(lambda: False, once=True)
    told = [report for report in sink.alarms_seen if report.transitions]
    assert [len(report.transitions) for report in told] == [256, 244]
    assert [step.number for report in told for step in report.transitions] == [*range(1, 501)]
    for report in told:
        assert decode(encode(report)) == report
