"""A Python program that listens to a service: rows, blocks, alarms, requests, and a service that is lost."""

from __future__ import annotations

import ast
import asyncio
import math
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import monotonic, sleep

import numpy as np
import pytest

from monitor import Connection, Row, ServiceLostError, connect
from monitor.client.connection import row_of
from monitor.commands.security import open_guard
from monitor.messages.alarms import Alarm, AlarmReport, Severity
from monitor.messages.blocks import Column, Event, EventKind, ResultBlock, ResultStream
from monitor.messages.health import Health
from monitor.messages.reasons import Reason
from monitor.messages.requests import (
    AcknowledgeRequest,
    NewLimits,
    NoteRequest,
    Request,
    RequestError,
    ResetRequest,
    SetLimitsRequest,
    ShelveRequest,
)
from monitor.system.running_clock import RunningClock
from monitor.transport.base import TransportError
from monitor.transport.zeromq.allow_list import KeyFolder
from monitor.transport.zeromq.requests import ZmqRequestServer
from monitor.transport.zeromq.results import ResultPublisher
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("no_leftovers")

ROOT = Path(__file__).parents[2]
COLUMNS = (
    Column("fdb_delay", "s", "north"),
    Column("fdb_ratio", "1", "north"),
    Column("fdb_delay", "s", "south"),
    Column("reliability_accumulated", "1", "deflection"),
)
STREAM = ResultStream("lab", 1, 1000.0, 10, COLUMNS)
TRIP = Alarm("north.fdb_delay.trip", "fdb_delay", "north", "s", Severity.TRIP)


def block(first: int, rows: int = 3, stream: ResultStream = STREAM, last: bool = False) -> ResultBlock:
    """Rows whose values tell where they stand: row number + 0.1 x column; the last column means nothing."""
    values = np.arange(first, first + rows, dtype=float)[:, None] + 0.1 * np.arange(len(stream.columns))
    values[:, -1] = np.nan
    return ResultBlock(stream, 10 * first, 10 * first / 1000.0, values, last)


@pytest.fixture
def sink() -> Iterator[ResultPublisher]:
    sink = ResultPublisher("tcp://127.0.0.1:*")
    yield sink
    sink.close()


@contextmanager
def listening(sink: ResultPublisher, health: Health | None = None, **options) -> Iterator[Connection]:
    """Connect, and wait until what is published arrives."""
    with connect(sink.endpoint, **options) as connection:
        health = health or Health(rig="lab", state="receiving")
        until(lambda: connection.newest() or connection.health, lambda: sink.health(health))
        yield connection


def test_three_lines_give_every_value_by_actuator_and_name(sink: ResultPublisher) -> None:
    with listening(sink) as connection:
        sink.results(block(0))
        sink.results(block(3, 2, last=True))
        rows = list(connection)
    assert [row.index for row in rows] == [0, 10, 20, 30, 40]
    assert [row.time for row in rows] == pytest.approx([0.0, 0.01, 0.02, 0.03, 0.04])
    assert [row["north"]["fdb_delay"] for row in rows] == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert [row["south"]["fdb_delay"] for row in rows] == pytest.approx([0.2, 1.2, 2.2, 3.2, 4.2])
    assert all(math.isnan(row["deflection"]["reliability_accumulated"]) for row in rows)
    assert list(rows[0]) == ["north", "south", "deflection"]
    assert dict(rows[0]["north"]) == pytest.approx({"fdb_delay": 0.0, "fdb_ratio": 0.1})
    assert rows[0]["north"].unit("fdb_delay") == "s"
    assert rows[0].stream.epoch == 1
    with pytest.raises(KeyError, match=r"no actuator 'nrth'; there are: north, south, deflection"):
        _ = rows[0]["nrth"]
    for look in (rows[0]["north"].__getitem__, rows[0]["north"].unit):
        with pytest.raises(KeyError, match=r"no value 'fdb_dely'; there are: fdb_delay, fdb_ratio"):
            look("fdb_dely")
    assert ("nrth" in rows[0], rows[0].get("nrth"), "fdb_dely" in rows[0]["north"]) == (False, None, False)
    # it has ended, for good
    assert list(connection) == []


def test_async_for_gives_the_same(sink: ResultPublisher) -> None:
    async def run() -> list[Row]:
        rows = []
        async with connect(sink.endpoint) as connection:
            listener = asyncio.create_task(gather(connection, rows))
            number = 0
            while not rows:
                # others work meanwhile
                sink.results(block(number, 1))
                number += 1
                await asyncio.sleep(0.01)
            sink.results(block(number, 1, last=True))
            await asyncio.wait_for(listener, 30.0)
        return rows

    async def gather(connection: Connection, rows: list[Row]) -> None:
        async for row in connection:
            rows.append(row)  # noqa: PERF401  seen from outside while it grows

    rows = asyncio.run(run())
    assert np.all(np.diff([row.index for row in rows]) == 10)
    assert all(row["north"]["fdb_delay"] == row.index / 10 for row in rows)


def test_a_task_that_is_cancelled_loses_nothing(sink: ResultPublisher) -> None:
    async def run(connection: Connection) -> list[int]:
        found = []
        sink.results(block(0, 1))
        found.append((await asyncio.wait_for(anext(connection), 30.0)).index)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(connection), 0.05)
        sink.results(block(1, 1, last=True))
        found += [row.index async for row in connection]
        return found

    with listening(sink) as connection:
        assert asyncio.run(run(connection)) == [0, 10]


def test_whole_blocks_and_everything_that_comes(sink: ResultPublisher) -> None:
    event = Event(EventKind.GAP, 0.5, 500, 3, "3 samples lost")
    with listening(sink) as connection:
        sink.event(event)
        sink.alarms(AlarmReport((TRIP,)))
        sink.results(block(0))
        sink.results(block(3, last=True))
        items = [item for item in connection.items() if not isinstance(item, Health)]
    assert items[:2] == [event, AlarmReport((TRIP,))]
    assert [len(item) for item in items[2:]] == [3, 3]
    assert connection.alarms == (TRIP,)
    assert list(connection.events) == [event]
    with listening(sink) as connection:
        sink.results(block(0))
        sink.results(block(3, 2, last=True))
        values = np.concatenate([each.values for each in connection.blocks()])
    np.testing.assert_array_equal(values[:, 0], [0.0, 1.0, 2.0, 3.0, 4.0])


def test_a_loop_of_its_own_asks_for_the_newest(sink: ResultPublisher) -> None:
    with listening(sink) as connection:
        assert connection.newest() is None
        sink.results(block(0))
        sink.results(block(3, 2))
        newest: list[Row] = []
        until(lambda: newest and newest[-1].index == 40, lambda: newest.extend(filter(None, [connection.newest()])))
        assert newest[-1]["north"]["fdb_delay"] == 4.0
        # there is nothing newer: it stays, and is the same
        assert connection.newest() is newest[-1]


def test_of_many_rows_only_the_newest_is_decoded_and_nothing_else_is_lost(sink: ResultPublisher, monkeypatch) -> None:
    with listening(sink) as connection:
        decoded: list[int] = []
        decode = connection._subscriber._decode

        def counted(frames, origin):
            items = decode(frames, origin)
            decoded.extend(item.index for item in items if isinstance(item, ResultBlock))
            return items

        monkeypatch.setattr(connection._subscriber, "_decode", counted)
        for number in range(300):
            sink.results(block(number, 1))
        sink.event(Event(EventKind.NOTE, 0.0, 0, 0, "valve opened"))
        sink.alarms(AlarmReport(alarms=(TRIP,)))
        # the subscriber's thread has queued all of them
        until(lambda: connection._subscriber.waiting >= 302)
        row = connection.newest()
        assert row is not None and row.index == 2990
        assert decoded == [2990]
        assert connection.events[-1].detail == "valve opened"
        assert connection.alarms == (TRIP,)


def test_the_newest_of_one_rig_is_not_hidden_by_that_of_another(sink: ResultPublisher) -> None:
    other = replace(STREAM, rig="lab-2")
    with listening(sink, rig="lab") as connection:
        sink.results(block(7, 1))
        sink.results(block(0, stream=other))
        rows: list[Row] = []
        until(lambda: rows, lambda: rows.extend(filter(None, [connection.newest()])))
        assert (rows[0].stream.rig, rows[0].index) == ("lab", 70)


def test_other_rigs_are_not_let_through(sink: ResultPublisher) -> None:
    other = replace(STREAM, rig="lab-2")
    with listening(sink, Health(), rig="lab") as connection:
        sink.results(block(0, stream=other))
        sink.results(block(7, 1, last=True))
        assert [row.index for row in connection] == [70]


def test_a_restart_goes_on_in_the_same_loop(sink: ResultPublisher) -> None:
    again = ResultStream("lab", 2, 1000.0, 10, COLUMNS[2:])
    with listening(sink) as connection:
        sink.results(block(5, 1))
        sink.results(block(0, 1, stream=again, last=True))
        rows = list(connection)
    assert [(row.stream.epoch, row.index, list(row)) for row in rows] == [
        (1, 50, ["north", "south", "deflection"]),
        (2, 0, ["south", "deflection"]),
    ]


def test_a_stream_that_had_ended_before_has_no_rows(sink: ResultPublisher) -> None:
    with listening(sink, Health(rig="lab", state="ended")) as connection:
        sink.health(Health(rig="lab", state="ended"))
        assert list(connection) == []


def test_who_follows_gets_the_next_run_too(sink: ResultPublisher) -> None:
    with listening(sink, follow=True) as connection:
        sink.results(block(0, 1, last=True))
        sink.health(Health(rig="lab", state="ended"))
        sink.results(block(0, 1, stream=replace(STREAM, epoch=2)))
        assert [next(connection).stream.epoch, next(connection).stream.epoch] == [1, 2]


def test_a_lost_service_is_told_and_may_come_back(sink: ResultPublisher) -> None:
    with listening(sink, timeout=0.3) as connection:
        with pytest.raises(ServiceLostError, match=r"no data from the service at tcp://.* for 0.3 s"):
            next(connection)
        assert isinstance(ServiceLostError(), OSError)
        sink.results(block(0, 1))
        assert next(connection).index == 0
        with pytest.raises(ServiceLostError):
            asyncio.run(asyncio.wait_for(anext(connection), 30.0))


def test_a_pause_of_this_program_is_no_silence_of_the_service(sink: ResultPublisher) -> None:
    now = [0.0]
    with listening(sink, timeout=3.0) as connection:
        connection._clock = RunningClock(clock=lambda: now[0])
        connection._last_message = connection._clock()
        now[0] += 60.0
        connection._check()
        for _ in range(2):
            now[0] += 0.9
            connection._check()
        with pytest.raises(ServiceLostError, match="for 3 s"):
            for _ in range(10):
                now[0] += 0.9
                connection._check()
        assert 63.0 < now[0] < 67.0


def test_a_service_that_waits_for_its_rig_is_not_lost(sink: ResultPublisher) -> None:
    with listening(sink, Health(), timeout=0.3) as connection:
        stop = threading.Event()

        def speak() -> None:
            for _ in range(20):
                sink.health(Health())
                stop.wait(0.05)
            sink.results(block(0, 1, last=True))

        speaker = threading.Thread(target=speak)
        speaker.start()
        try:
            assert [row.index for row in connection] == [0]
        finally:
            stop.set()
            speaker.join()


def test_close_ends_a_loop_in_another_thread(sink: ResultPublisher) -> None:
    with listening(sink, timeout=None) as connection:
        rows: list[Row] = []
        reader = threading.Thread(target=lambda: rows.extend(connection))
        reader.start()
        sink.results(block(0))
        until(lambda: len(rows) == 3)
        connection.close()
        reader.join(30.0)
        assert not reader.is_alive()
        connection.close()


@contextmanager
def answering(sink: ResultPublisher, connection: Connection) -> Iterator[list[Request]]:
    """A service that carries out what is asked, but for what is called 'wrong'."""
    carried_out: list[Request] = []
    stop = threading.Event()

    def carry_out(request: Request) -> None:
        if getattr(request, "alarm", "") == "wrong":
            raise ValueError("there is no alarm 'wrong'")
        carried_out.append(request)

    def serve() -> None:
        request_server = ZmqRequestServer("tcp://127.0.0.1:*")
        try:
            while not stop.wait(0.01):
                sink.health(Health(rig="lab", state="receiving", requests=request_server.endpoint))
                request_server.serve(carry_out)
        finally:
            request_server.close()

    server = threading.Thread(target=serve)
    server.start()
    try:
        yield carried_out
    finally:
        stop.set()
        server.join()


def test_a_word_back(sink: ResultPublisher) -> None:
    # asked at once, before anything has come
    with connect(sink.endpoint) as connection, answering(sink, connection) as carried_out:
        connection.note("valve  opened")
        connection.acknowledge("north.fdb_delay.trip", by="Ann")
        connection.acknowledge()
        connection.reset("north.fdb_delay.trip")
        connection.shelve("north.fdb_delay.trip", 60.0, by="Ann")
        connection.set_limits("north.fdb_delay.trip", None, 0.05, by="Ann")
        with pytest.raises(RequestError, match="there is no alarm 'wrong'"):
            connection.acknowledge("wrong")
        with pytest.raises(ValueError, match="needs a text"):
            connection.note(" ")
    name = "north.fdb_delay.trip"
    assert carried_out == [
        NoteRequest(text="valve opened", id=1),
        AcknowledgeRequest(alarm=name, by="Ann", id=1),
        AcknowledgeRequest(id=1),
        ResetRequest(alarm=name, id=1),
        ShelveRequest(alarm=name, seconds=60.0, by="Ann", id=1),
        SetLimitsRequest(limits=(NewLimits(alarm=name, low=None, high=0.05),), by="Ann", id=1),
    ]


def test_a_service_that_takes_no_requests_or_is_not_there(
    sink: ResultPublisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    with listening(sink) as connection, pytest.raises(TransportError, match="accepts no requests"):
        connection.note("valve opened")
    monkeypatch.setattr("monitor.client.connection.ANSWER_TIMEOUT", 0.2)
    with connect(sink.endpoint) as connection, pytest.raises(ServiceLostError, match="the request was not sent"):
        connection.note("valve opened")


def test_an_endpoint_that_is_none_is_refused() -> None:
    with pytest.raises(TransportError, match="is not an endpoint"):
        connect("127.0.0.1:5556")


PROGRAM = """
import sys, warnings
from monitor import connect
for row in connect(sys.argv[1]):
    print(row.time, row["north"]["fdb_delay"], flush=True)
    if len(sys.argv) > 2:
        break
"""


def test_the_example_of_the_documentation_prints_every_row(
    sink: ResultPublisher, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs" / "clients.md").read_text(encoding="utf-8")
    first, second = re.findall(r"```python\n(.*?)```", page, re.DOTALL)[:2]
    compile(second, "docs/clients.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    stream = replace(STREAM, columns=(Column("broadband_delay", "s", "north"), *COLUMNS[-1:]))
    code = compile(first.replace("tcp://127.0.0.1:5556", sink.endpoint), "docs/clients.md", "exec")
    program = threading.Thread(target=exec, args=(code, {}))
    program.start()
    number = 0
    while program.is_alive():
        sink.results(block(number, 1, stream, last=number > 50))
        number += 1
        sleep(0.02)
    pairs = [tuple(map(float, line.split())) for line in capsys.readouterr().out.splitlines()]
    assert pairs
    assert all(math.isclose(time, delay / 100) for time, delay in pairs)


@pytest.mark.parametrize("broken_off", [False, True])
def test_three_lines_are_a_program_that_ends(sink: ResultPublisher, broken_off: bool) -> None:
    words = [sys.executable, "-W", "error", "-c", PROGRAM, sink.endpoint, *(["break"] if broken_off else [])]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            number = 0
            deadline = monotonic() + 60.0
            # published again and again, until it has been there for long enough to hear it
            while process.poll() is None and monotonic() < deadline:
                sink.results(block(number, 1))
                number += 1
                if not broken_off and number > 50:
                    sink.results(block(number, 1, last=True))
                sleep(0.02)
            out, err = process.communicate(timeout=30.0)
        finally:
            process.kill()
    assert (process.returncode, err) == (0, "")
    pairs = [tuple(map(float, line.split())) for line in out.splitlines()]
    assert len(pairs) >= 1
    assert all(math.isclose(time, delay / 100) for time, delay in pairs)


def test_where_the_service_asks_for_keys_they_are_given_with_the_folder(tmp_path: Path) -> None:
    folder = KeyFolder(tmp_path / "keys")
    folder.prepare()
    mine = folder.client("ann")
    with open_guard(str(tmp_path / "keys")) as guard:
        sink = ResultPublisher("tcp://127.0.0.1:*", security=guard.keys, context=guard.context)
        try:
            with listening(sink, keys=str(mine)) as connection:
                sink.results(block(0, 1, last=True))
                assert [row.index for row in connection] == [0]
            # told at once, long before patience is over; who goes on waits again
            with connect(sink.endpoint, timeout=60.0) as stranger:
                with pytest.raises(ServiceLostError, match="the server requires keys: give a key folder"):
                    next(stranger)
                assert stranger.health is None
            theirs = KeyFolder(tmp_path / "others")
            theirs.prepare()
            unknown = theirs.client("eve")
            (unknown / "service.public").write_bytes((mine / "service.public").read_bytes())
            not_on_it = pytest.raises(ServiceLostError, match="this key is not on the list")
            with connect(sink.endpoint, keys=str(unknown), timeout=60.0) as stranger, not_on_it:
                asyncio.run(asyncio.wait_for(anext(stranger), 30.0))
            with connect(sink.endpoint, keys=str(unknown), timeout=60.0) as stranger, not_on_it:
                stranger.note("valve opened")
        finally:
            sink.close()


def test_who_asks_for_the_newest_keeps_nothing_else(sink: ResultPublisher) -> None:
    with listening(sink) as connection:
        for number in range(200):
            sink.event(Event(EventKind.NOTE, 0.0, 0, 0, str(number)))
        until(lambda: connection.newest() or (connection.events and connection.events[-1].detail == "199"))
        assert not connection._waiting


def test_close_between_a_look_and_a_taking_is_the_end(sink: ResultPublisher) -> None:
    with connect(sink.endpoint) as connection:

        class Cleared(type(connection._waiting)):
            def __bool__(self) -> bool:
                # as if another thread closed just after
                return True

        connection._waiting = Cleared()
        assert list(connection.items()) == []


def test_a_row_tells_why_a_value_is_missing() -> None:
    columns = (Column("fdb_delay", "s", "north"), Column("fdb_reason", "code", "north"), Column("x", "", "north"))
    stream = ResultStream("rig", 1, 1000.0, 10, columns)
    values = np.array([[0.01, Reason.VALID, math.nan], [math.nan, Reason.GATE, math.nan]])
    told = [row_of(ResultBlock(stream, 0, 0.0, values), row)["north"] for row in range(2)]
    assert [each.reason("fdb_delay") for each in told] == ["", "too little motion"]
    # the reason is unknown
    assert [each.reason("x") for each in told] == ["", ""]
