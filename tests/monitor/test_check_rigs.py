"""Rigs, endpoints, disk, run file and alarm file as `monitor --check` sees them."""

from __future__ import annotations

import os
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import zmq

from monitor.alarms.monitor import AlarmMonitor
from monitor.commands.checks import CheckLevel, CheckResult, checked
from monitor.commands.checks.endpoints import sockets
from monitor.commands.checks.recording import alarm_state, bytes_per_second, recording
from monitor.commands.checks.rigs import RigProbe
from monitor.commands.security import Guard
from monitor.config import Settings
from monitor.messages.alarms import AlarmState
from monitor.messages.blocks import Channel, Column, ResultBlock, ResultStream, Role, SignalBlock, Stream
from monitor.messages.health import Health
from monitor.recording import RunWriter
from monitor.transport.zeromq.key_files import Keys
from monitor.transport.zeromq.requests import ZmqRequestServer
from monitor.transport.zeromq.signals import SignalPublisher

ANY_PORT = "tcp://127.0.0.1:*"
OPEN = Guard(None, None)


@pytest.fixture(autouse=True)
def clean(no_leftovers: None) -> None:
    """Leave no socket and no thread."""


def free_url() -> str:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return f"tcp://127.0.0.1:{taken.getsockname()[1]}"


def heard(rigs: RigProbe, patience: float) -> list[CheckResult]:
    try:
        return list(rigs.listen(patience))
    finally:
        rigs.close()


def rigs_of(insecure: bool = False, **stream: object) -> RigProbe:
    return RigProbe(Settings.model_validate({"stream": stream}).stream, insecure, OPEN)


@contextmanager
def again_and_again(send: Callable[[int], object]) -> Iterator[None]:
    """Send from a thread, a hundred times a second, as rigs do."""
    over = threading.Event()

    def run() -> None:
        turn = 0
        while not over.wait(0.01):
            send(turn)
            turn += 1

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.fixture
def rig(counting) -> Iterator[str]:
    """One that sends for as long as the test lasts."""
    publisher = SignalPublisher(ANY_PORT)
    with again_and_again(lambda turn: publisher.send(counting(turn))):
        yield publisher.endpoint
    publisher.close(linger=0.0)


def test_a_rig_that_sends_is_described_and_one_that_is_off_is_a_warning(rig):
    off = free_url()
    rigs = rigs_of(connect=(rig, off))
    # as long as it takes for the one that sends: the other is waited for to the end
    findings = heard(rigs, 3.0)
    assert [(each.level, each.subject) for each in findings] == [(CheckLevel.OK, "rig"), (CheckLevel.WARN, "rig")]
    assert findings[0].detail == f"{rig}: rig rig, 1000 Hz, 3 channels, 1 actuator, 0 with a force"
    assert findings[1].detail.startswith(f"{off}: nothing is listening there")
    assert [stream.rig for stream in rigs.streams] == ["rig"]


def test_listening_ends_when_all_have_spoken(rig):
    # an hour, if it did not
    assert heard(rigs_of(connect=(rig,)), 3600.0)[0].level is CheckLevel.OK


def test_a_rig_that_connects_is_heard_too(counting):
    rigs = rigs_of(bind=(ANY_PORT,))
    publisher = SignalPublisher(connect=rigs._endpoints[0].source.endpoints[0])
    with again_and_again(lambda turn: publisher.send(counting(turn, rig="north"))):
        findings = heard(rigs, 3600.0)
    publisher.close(linger=0.0)
    assert [each.level for each in findings] == [CheckLevel.OK]
    assert "rig north" in findings[0].detail


def test_who_listens_and_says_nothing_is_told_from_who_is_off():
    publisher = SignalPublisher(ANY_PORT)
    findings = heard(rigs_of(connect=(publisher.endpoint,), rig="south"), 0.2)
    publisher.close(linger=0.0)
    assert [each.level for each in findings] == [CheckLevel.WARN]
    assert "something is listening there, but no signals of rig 'south' were received" in findings[0].detail
    assert "no rig has connected" in heard(rigs_of(bind=(ANY_PORT,)), 0.1)[0].detail


def test_what_cannot_be_read_fails_and_says_why():
    with zmq.Context() as context, context.socket(zmq.PUB) as socket_:
        socket_.setsockopt(zmq.LINGER, 0)
        socket_.bind(ANY_PORT)
        url = socket_.getsockopt_string(zmq.LAST_ENDPOINT)
        with again_and_again(lambda _: socket_.send(b"{")):
            findings = heard(rigs_of(connect=(url,)), 2.0)
    assert [each.level for each in findings] == [CheckLevel.FAIL]
    assert f"{url}: its messages are rejected: " in findings[0].detail


def test_who_does_not_speak_zeromq_fails():
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)

        def greet(_: int) -> None:
            try:
                connection, _address = server.accept()
            except TimeoutError:
                return
            connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n" * 8)
            connection.close()

        with again_and_again(greet):
            findings = heard(rigs_of(connect=(f"tcp://127.0.0.1:{server.getsockname()[1]}",)), 3.0)
    assert [each.level for each in findings] == [CheckLevel.FAIL]
    assert "does not answer like a ZeroMQ publisher" in findings[0].detail


def test_a_rig_that_asks_for_keys_fails_for_who_has_none():
    publisher = SignalPublisher(ANY_PORT, security=Keys(*zmq.curve_keypair()))
    findings = heard(rigs_of(connect=(publisher.endpoint,)), 2.0)
    publisher.close(linger=0.0)
    assert [each.level for each in findings] == [CheckLevel.FAIL]
    assert "the server requires keys, so give --keys" in findings[0].detail


def test_two_rigs_of_which_one_would_be_followed_are_a_warning(rig, counting):
    other = SignalPublisher(ANY_PORT)
    with again_and_again(lambda turn: other.send(counting(turn, rig="other"))):
        findings = heard(rigs_of(connect=(rig, other.endpoint)), 3600.0)
    other.close(linger=0.0)
    assert [each.level for each in findings] == [CheckLevel.OK, CheckLevel.OK, CheckLevel.WARN]
    assert findings[2].detail == "other, rig all send, but only one is monitored: select it with --rig"


def test_endpoints_that_cannot_be_used_fail_beside_the_others(rig):
    findings = heard(rigs_of(connect=("tcp:/x", rig), bind=("tcp://0.0.0.0:*",)), 3600.0)
    levels = [each.level for each in findings]
    assert levels == [CheckLevel.FAIL, CheckLevel.FAIL, CheckLevel.OK]
    assert "without encryption" in findings[0].detail
    assert "'tcp:/x' is not an endpoint" in findings[1].detail


def test_everything_that_is_bound_is_bound_at_once_and_free_again():
    url, feed = free_url(), free_url()
    page = free_url().removeprefix("tcp://")
    given = Settings.model_validate(
        {"results": {"publish": url, "requests": url}, "viewers": {"plotjuggler": feed, "prometheus": page}}
    )
    with ExitStack() as stack:
        findings = list(sockets(given, False, OPEN, stack))
    said = {each.subject: each for each in findings}
    assert {name: each.level for name, each in said.items()} == {
        "results": CheckLevel.OK,
        "requests": CheckLevel.FAIL,
        "plotjuggler": CheckLevel.OK,
        "prometheus": CheckLevel.OK,
    }
    assert said["requests"].detail == f"{url} is in use: stop the other program or choose another"
    for each in (url, feed, f"tcp://{page}"):
        ZmqRequestServer(each).close()


def test_what_is_not_wanted_is_not_bound():
    given = Settings.model_validate({"results": {"publish": ANY_PORT, "requests": "none"}})
    with ExitStack() as stack:
        assert [each.subject for each in sockets(given, False, OPEN, stack)] == ["results"]


CHANNELS = tuple(Channel(f"c{number}", Role.AUXILIARY) for number in range(6))
STREAM = Stream("frame", 1, 1000.0, CHANNELS)
COLUMNS = tuple(Column(f"y{number}", "1", "") for number in range(10))


def settings(path: object = "", **sections: dict[str, object]) -> Settings:
    return Settings.model_validate({"record": {"path": str(path)}, **sections})


def looked(given: Settings, duration: float | None = None) -> list[CheckResult]:
    return list(checked("record", lambda: recording(given, [STREAM], COLUMNS, duration)))


@pytest.fixture
def room(monkeypatch):
    """Let the disk seem to have so many bytes left."""
    return lambda free: monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))


def written(path: Path, seconds: int, every: int) -> int:
    """Return the size of a run file of so many seconds."""
    writer = RunWriter(path, {})
    results = ResultStream("frame", 1, 1000.0, every, COLUMNS)
    for first in range(0, 1000 * seconds, 1000):
        writer.signals(SignalBlock(STREAM, first, 0.001 * first, np.ones((1000, len(CHANNELS)))))
        rows = np.ones((1000 // every, len(COLUMNS)))
        writer.results(ResultBlock(results, first, 0.001 * first, rows))
    writer.close()
    assert not writer.failed
    return path.stat().st_size


@pytest.mark.parametrize("every", [1, 10])
def test_a_run_file_grows_as_was_reckoned(tmp_path, every):
    # long enough that the last chunk, which is there whole, does not matter
    grown = written(tmp_path / "long.h5", 400, every) - written(tmp_path / "short.h5", 100, every)
    reckoned = bytes_per_second(settings(indicators={"every": every}), STREAM, COLUMNS)
    assert grown / 300.0 == pytest.approx(reckoned, rel=0.02)


def test_a_good_disk_is_timed_and_nothing_stays(tmp_path):
    said = looked(settings(f"{tmp_path}/"))
    assert [(each.level, each.subject) for each in said] == [(CheckLevel.OK, "record"), (CheckLevel.OK, "disk speed")]
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_yet_to_be_made_is_not_made(tmp_path):
    assert [each.level for each in looked(settings(f"{tmp_path}/all/runs/"))] == [CheckLevel.OK, CheckLevel.OK]
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_a_folder_that_is_not_there_fails_as_the_service_would(tmp_path):
    (said,) = looked(settings(tmp_path / "none" / "run.h5"))
    assert said.level is CheckLevel.FAIL
    assert "does not exist" in said.detail


def test_a_file_in_the_way_fails(tmp_path):
    (tmp_path / "runs").write_text("")
    (said,) = looked(settings(tmp_path / "runs" / "run.h5"))
    assert said.level is CheckLevel.FAIL


# 6 channels at 1 kHz and 10 values at 200 Hz, 24 bytes beside either: 72 + 20.8 = 92.8 kB a second
@pytest.mark.parametrize(
    ("free", "duration", "level", "words"),
    [
        (92.8e3 * 7200, None, CheckLevel.WARN, "0.668 GB free, at the rate of the rig, 0.0928 MB/s, for 2 hours"),
        (92.8e3 * 86400, None, CheckLevel.OK, "for 24 hours"),
        (92.8e3 * 86400, 90000.0, CheckLevel.FAIL, "less than the 25 hours of the test"),
        (1e8, None, CheckLevel.FAIL, "free some space"),
    ],
)
def test_room_is_told_in_time(tmp_path, room, free, duration, level, words):
    room(free)
    said = looked(settings(tmp_path / "run.h5"), duration)[0]
    assert said.level is level
    assert words in said.detail


def test_without_a_rig_the_rate_is_said_to_be_a_guess(tmp_path):
    said = list(recording(settings(tmp_path / "run.h5"), [], [], 1e12))
    assert said[0].level is CheckLevel.OK
    assert "at an assumed 0.4 MB/s" in said[0].detail


def test_a_disk_that_refuses_is_heard_of(tmp_path, monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("monitor.recording.swmr_file.layout.create", refuse)
    (said,) = looked(settings(tmp_path / "run.h5"))
    assert said.level is CheckLevel.FAIL
    assert "cannot be written" in said.detail
    assert list(tmp_path.iterdir()) == []


def test_a_slow_disk_is_a_warning(tmp_path):
    said = looked(settings(tmp_path / "run.h5", record={"path": str(tmp_path / "run.h5"), "flush_interval": 1e-9}))
    assert [(each.level, each.subject) for each in said][1] == (CheckLevel.WARN, "disk speed")


def test_alarms_that_still_stand_are_told_and_left_alone(tmp_path):
    path = tmp_path / "alarms.json"
    given = settings(alarms={"state": str(path)})
    assert [each.level for each in alarm_state(given)] == [CheckLevel.OK]
    monitor = AlarmMonitor(given.alarms, 5.0)
    monitor.evaluate_health(Health(state="stale", age=60.0), 1.0, 10, 0.5)
    assert AlarmState.UNACKNOWLEDGED in [alarm.state for alarm in monitor.alarms]
    kept = monitor.snapshot()
    path.write_bytes(kept)
    (said,) = alarm_state(given)
    assert (said.level, said.detail) == (CheckLevel.OK, f"{path}: active alarms: dead_stream.trip")
    path.write_bytes(kept[:-3])
    (said,) = alarm_state(given)
    assert said.level is CheckLevel.WARN
    assert path.read_bytes() == kept[:-3]
    assert list(tmp_path.iterdir()) == [path]


def test_alarms_that_are_kept_nowhere_are_a_warning(tmp_path):
    assert [each.level for each in alarm_state(settings())] == [CheckLevel.WARN]
    (said,) = alarm_state(settings(alarms={"state": str(tmp_path / "none" / "a.json")}))
    assert said.level is CheckLevel.FAIL
    with pytest.raises(ValueError, match="is a folder: name a file in it"):
        list(alarm_state(settings(alarms={"state": str(tmp_path)})))


def test_what_a_rig_says_of_itself_fills_no_disk_and_no_memory(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(os, "urandom", lambda n: asked.append(n) or bytes(n))
    fast = Stream("frame", 1, 1e9, CHANNELS)
    list(recording(settings(f"{tmp_path}/"), [fast], COLUMNS, None))
    assert max(asked) <= 4 << 20


def test_a_check_that_breaks_is_a_failure_and_ends_none_of_the_others():
    def broken():
        raise MemoryError("no room")
        yield

    assert [(each.level, each.detail) for each in checked("record", broken)] == [(CheckLevel.FAIL, "no room")]
