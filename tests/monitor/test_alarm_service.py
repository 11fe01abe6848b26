"""Alarms in the service's loop: every step is an event and a report on every sink, and requests are obeyed."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from monitor.alarms.monitor import AlarmMonitor
from monitor.commands.service_files import alarm_path, restore_alarms
from monitor.config import AlarmSettings, IndicatorSettings, LimitSettings, Settings, load_settings
from monitor.engine.monitor import Monitor
from monitor.messages.alarms import Alarm, AlarmAction, AlarmReport, AlarmState, Severity, Transition, decode, encode
from monitor.messages.blocks import Channel, Event, EventKind, Role, SignalBlock, Stream
from monitor.messages.requests import MAX_NOTE, AcknowledgeRequest, NoteRequest, Request, ResetRequest, ShelveRequest
from monitor.recording import alarm_file
from monitor.recording.alarm_file import AlarmStateFile
from monitor.service.service import Service
from tests.monitor.in_memory import MemorySink, MemorySource
from tests.waiting import until

RATE = 100.0
STREAM = Stream("rig", 1, RATE, tuple(Channel(role.value, role, "m", "a") for role in (Role.COMMAND, Role.MEASURED)))
LIMIT = LimitSettings(value="nrmse", warn=0.5, deadband=0.1, latching=True)
NAME = "a.nrmse.warn"

pytestmark = pytest.mark.usefixtures("no_leftovers", "warm_kernels")


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


STEP = Transition(1, "a.warn", Severity.WARN, AlarmAction.OCCUR, AlarmState.NORMAL, AlarmState.UNACKNOWLEDGED, 0.0, 0)
TOLD = AlarmReport((), (STEP,))


def content(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


def test_every_transition_is_written_and_the_file_is_its_owners_alone(tmp_path) -> None:
    path, states = tmp_path / "alarms.json", iter([b"one", b"two", b"end"])
    file = AlarmStateFile(path, lambda: next(states))
    for expected in (b"one", b"two"):
        file.alarms(AlarmReport())
        file.alarms(TOLD)
        until(lambda expected=expected: content(path) == expected)
    assert path.stat().st_mode & 0o777 == 0o600
    file.close()
    file.close()
    assert content(path) == b"end"
    assert os.listdir(tmp_path) == ["alarms.json"]  # noqa: PTH208 all of them, hidden ones too


def test_the_time_on_the_shelf_is_written_now_and_then(tmp_path) -> None:
    path, now = tmp_path / "alarms.json", [0.0]
    shelved = Alarm("a.warn", "a", "", "", Severity.WARN, state=AlarmState.SHELVED, shelved_for=60.0)
    file = AlarmStateFile(path, lambda: f"{now[0]}".encode(), clock=lambda: now[0])
    for now[0] in (1.0, 29.0):
        file.alarms(AlarmReport((shelved,)))
    now[0] = 31.0
    file.alarms(AlarmReport())
    assert content(path) == b""
    file.alarms(AlarmReport((shelved,)))
    until(lambda: content(path) == b"31.0")
    file.close()


def test_nobody_waits_for_a_disk_that_hangs_and_the_newest_state_is_written(tmp_path, monkeypatch) -> None:
    path, go, written = tmp_path / "alarms.json", threading.Event(), []

    def slow(_path: Path, state: bytes) -> None:
        go.wait(30.0)
        written.append(state)

    monkeypatch.setattr(alarm_file, "atomic_write", slow)
    states = iter(range(1000))
    file = AlarmStateFile(path, lambda: b"%d" % next(states))
    for _ in range(500):
        file.alarms(TOLD)
    assert written == []
    go.set()
    file.close()
    assert written[-1] == b"500"
    assert len(written) <= 3


def test_what_cannot_be_written_is_told_once_and_tried_again(tmp_path) -> None:
    folder = tmp_path / ("x" * 120)
    file = AlarmStateFile(folder / "alarms.json", lambda: b"state", ("at first",))
    said: list[str] = []

    def hear(request: object) -> None:
        assert isinstance(request, NoteRequest)
        said.append(request.text)

    file.notes.serve(hear)
    assert said == ["at first"]
    for _ in range(2):
        file.alarms(TOLD)
        until(lambda: file.notes.serve(hear) or len(said) > 1)
    assert len(said) == 2
    assert said[1].startswith("alarms are not saved in …")
    assert said[1].endswith("alarms.json: No such file or directory")
    folder.mkdir()
    file.alarms(TOLD)
    until(lambda: content(folder / "alarms.json") == b"state")
    file.notes.serve(hear)
    file.close()
    assert len(said) == 2


def settings(**sections: dict[str, object]) -> Settings:
    return load_settings(None, sections)


def test_it_lies_where_the_settings_say_or_beside_the_recording(tmp_path) -> None:
    assert alarm_path(settings()) is None
    assert alarm_path(settings(alarms={"state": "x.json"})) == Path("x.json")
    assert alarm_path(settings(record={"path": "runs/"})) == Path("runs/alarms.json")
    assert alarm_path(settings(record={"path": str(tmp_path)})) == tmp_path / "alarms.json"
    assert alarm_path(settings(record={"path": "a/run.h5"})) == Path("a/run.alarms.json")


def test_alarms_come_back_and_a_damaged_file_is_put_aside(tmp_path) -> None:
    path, said = tmp_path / "alarms.json", []
    wanted = settings(alarms={"state": str(path)})
    alarms, file = restore_alarms(wanted)
    alarms.handle_request(ShelveRequest(alarm="disk.warn", seconds=60.0), 0.0, 0)
    file.close()
    alarms, file = restore_alarms(wanted)
    assert {alarm.name for alarm in alarms.alarms if alarm.state is AlarmState.SHELVED} == {"disk.warn"}
    file.close()
    assert said == []
    path.write_bytes(content(path)[:-7])
    alarms, file = restore_alarms(wanted)
    assert {alarm.state for alarm in alarms.alarms} == {AlarmState.NOT_JUDGED}
    file.notes.serve(lambda request: said.append(request.text))
    # once, and the sentence has its end
    why = "the saved alarms cannot be read: Input data was truncated"
    assert said == [f"alarms start from normal, alarms.json is now alarms.json.bad: {why}"]
    file.close()
    assert path.with_name("alarms.json.bad").exists()


def test_a_file_without_end_and_a_folder_that_is_none_are_told(tmp_path) -> None:
    said: list[str] = []
    path = tmp_path / "alarms.json"
    with path.open("wb") as long:
        long.truncate(1 << 23)
    _, file = restore_alarms(settings(alarms={"state": str(path)}))
    file.notes.serve(lambda request: said.append(request.text))
    file.close()
    assert "more than 4194304 bytes" in said[0]
    with pytest.raises(ValueError, match="does not exist"):
        restore_alarms(settings(alarms={"state": str(tmp_path / "none" / "x.json")}))
    with pytest.raises(ValueError, match="is a folder: name a file in it"):
        restore_alarms(settings(alarms={"state": str(tmp_path)}))


def test_a_file_with_the_longest_name_is_told_in_a_note_that_fits(tmp_path) -> None:
    path, said = tmp_path / ("ö" * 125 + ".json"), []
    path.write_bytes(b"{")
    _, file = restore_alarms(settings(alarms={"state": str(path)}))
    file.notes.serve(lambda request: said.append(request.text))
    file.close()
    assert len(said[0].encode()) <= MAX_NOTE
    put_aside = tmp_path / ("x" * 236 + ".json")
    put_aside.write_bytes(b"{")
    _, file = restore_alarms(settings(alarms={"state": str(put_aside)}))
    file.notes.serve(lambda request: said.append(request.text))
    file.close()
    assert ".json is now …" in said[1]
    assert len(said[1].encode()) <= MAX_NOTE


def test_what_was_put_aside_is_never_written_over(tmp_path) -> None:
    path = tmp_path / "alarms.json"
    for content_ in (b"one", b"two", b"three"):
        path.write_bytes(content_)
        alarm_file.move_aside(path)
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == {
        "alarms.json.bad": b"one",
        "alarms.json.bad.1": b"two",
        "alarms.json.bad.2": b"three",
    }


def test_a_file_that_cannot_be_read_now_stays_and_the_service_does_not_start(tmp_path, monkeypatch) -> None:
    def full(_path: Path) -> bytes:
        raise OSError(24, "Too many open files")

    (tmp_path / "alarms.json").write_bytes(b"whole")
    monkeypatch.setattr(alarm_file, "read_state", full)
    with pytest.raises(ValueError, match="cannot be read: Too many open files"):
        restore_alarms(settings(alarms={"state": str(tmp_path / "alarms.json")}))
    assert [each.name for each in tmp_path.iterdir()] == ["alarms.json"]


def test_the_folder_is_on_the_disk_too(tmp_path, monkeypatch) -> None:
    synced: list[bool] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(stat.S_ISDIR(os.fstat(descriptor).st_mode)))
    alarm_file.atomic_write(tmp_path / "alarms.json", b"x")
    assert synced == [False, True]


@pytest.mark.skipif(os.name != "posix", reason="there are no such locks")
def test_a_second_service_does_not_share_the_file_and_begins_once_the_first_has_ended(tmp_path) -> None:
    wanted = settings(record={"path": f"{tmp_path}/"})
    _, first = restore_alarms(wanted)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"alarms\.json is used by another service: name another file"):
            restore_alarms(wanted)
    # a file of its own in the same folder
    _, own = restore_alarms(settings(alarms={"state": str(tmp_path / "other.json")}))
    assert first is not None and own is not None
    first.close()
    _, next_one = restore_alarms(wanted)
    assert next_one is not None
    next_one.close()
    own.close()
    assert sorted(os.listdir(tmp_path)) == ["alarms.json", "other.json"]  # noqa: PTH208 hidden ones too


@pytest.mark.skipif(os.name != "posix", reason="there are no such locks")
def test_a_service_that_was_killed_leaves_no_lock_that_counts(tmp_path) -> None:
    path = tmp_path / "alarms.json"
    code = "import sys, os; from pathlib import Path; from monitor.recording import alarm_file as a\n"
    code += "a.lock(Path(sys.argv[1])); os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", code, path], check=False)
    assert (tmp_path / ".alarms.json.lock").exists()
    _, file = restore_alarms(settings(alarms={"state": str(path)}))
    assert file is not None
    file.close()
