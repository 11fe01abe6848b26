"""Publishing and its process when something fails that nobody thought of: it is told, and goes on where it can."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import signal
import struct
import subprocess
import threading
from pathlib import Path

import pytest

from monitor.messages.requests import NoteRequest, encode
from monitor.system.running_clock import RunningClock
from monitor.system.worker_process import POSSIBLE
from monitor.transport.zeromq import publisher_process
from monitor.transport.zeromq.publisher_process import PublisherProcess
from monitor.transport.zeromq.queued_publisher import QueuedPublisher
from monitor.transport.zeromq.request_server import ZmqRequestServer
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("no_leftovers")
apart = pytest.mark.skipif(not POSSIBLE, reason="pipes cannot be written to without waiting there")


class Failing:
    """An inner with a fault."""

    url, fault, lost = "tcp://127.0.0.1:1", "", 0
    busy = closed = False

    def try_send(self, _frames):
        return False

    def send(self, _frames):
        raise KeyError("a fault")

    def maintain(self) -> float:
        return 0.01

    def kill(self) -> None: ...

    def close(self, _linger=0.0) -> None:
        self.closed = True


def test_what_ends_publishing_is_told_and_what_comes_then_is_counted():
    inner = Failing()
    publisher = QueuedPublisher(inner)
    publisher.send([b"first"])
    until(lambda: inner.closed)
    assert "nothing is published at tcp://127.0.0.1:1 any more: KeyError: 'a fault'" in publisher.fault
    assert publisher.dropped == 1
    publisher.send([b"second"])
    assert publisher.dropped == 2
    publisher.close()


def test_what_ends_the_reading_of_requests_is_told(monkeypatch):
    request_server = ZmqRequestServer("tcp://127.0.0.1:*")

    def fail():
        raise KeyError("a fault")

    monkeypatch.setattr(request_server, "_receive_frame", fail)
    import zmq

    assert request_server.fault == ""
    with zmq.Context() as context, context.socket(zmq.REQ) as client:
        client.linger = 0
        client.connect(request_server.endpoint)
        client.send(encode(NoteRequest("a word")))
        until(lambda: request_server.fault)
    assert f"no requests are accepted at {request_server.endpoint} any more: KeyError" in request_server.fault
    request_server.close()


@apart
def test_a_process_that_cannot_be_started_again_is_tried_until_it_can(monkeypatch):
    monkeypatch.setattr(publisher_process, "_RESTART_INTERVAL", 0.0)
    publisher = QueuedPublisher(PublisherProcess("tcp://127.0.0.1:*", queue_seconds=1.0))
    process = publisher._publisher._process

    def refuse(*_, **__):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with monkeypatch.context() as full:
        full.setattr(subprocess, "Popen", refuse)
        process.kill()
        until(lambda: publisher.fault)
        assert "did not start: [Errno" in publisher.fault
        assert "started again" not in publisher.fault
    until(lambda: "had to be started again (1 times)" in publisher.fault)
    assert "did not start" not in publisher.fault
    publisher.close()


@apart
def test_a_process_that_is_stopped_is_replaced_and_a_pause_of_ours_is_not_taken_for_that():
    now = [0.0]
    publisher = PublisherProcess("tcp://127.0.0.1:*", queue_seconds=1.0, running=RunningClock(clock=lambda: now[0]))
    process, started = publisher._process, publisher._started
    os.kill(process.pid, signal.SIGSTOP)
    process.lines()  # signs from before
    now[0] += 60.0
    publisher.maintain()
    assert publisher.fault == ""
    assert publisher.try_send([b"topic", b"a message that nobody gets"])
    while publisher._process is process and now[0] < 70.0:
        publisher._started = started - 1.0  # it is started again at most once a second
        now[0] += 0.1
        publisher.maintain()
    assert 62.0 < now[0] < 63.5
    assert publisher.fault.endswith("had to be started again (1 times, 1 of them because it hung)")
    assert publisher.lost == 1
    assert process.ended and not publisher._process.ended
    publisher.close()


@apart
def test_messages_wait_for_a_process_that_is_busy_and_are_written_whole(monkeypatch):
    publisher = PublisherProcess("tcp://127.0.0.1:*", queue_seconds=1.0)
    os.kill(publisher._process.pid, signal.SIGSTOP)
    frames = [b"topic", bytes(1 << 22)]
    assert publisher.try_send(frames)
    assert not publisher.try_send(frames)
    threading.Timer(0.3, os.kill, (publisher._process.pid, signal.SIGCONT)).start()
    assert publisher.send(frames)
    until(lambda: publisher.maintain() > 0.1 and not publisher.busy)
    assert publisher.fault == ""
    publisher.close()


@apart
def test_a_process_that_never_answers_is_given_up(monkeypatch):
    monkeypatch.setattr(publisher_process, "_START_TIMEOUT", 0.01)
    with pytest.raises(OSError, match="did not start: no answer within"):
        PublisherProcess("tcp://127.0.0.1:*", queue_seconds=1.0)


@apart
def test_the_process_takes_nothing_from_the_current_folder(tmp_path: Path, monkeypatch):
    for name in ("monitor", "msgspec", "struct"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(1)\n")
    monkeypatch.chdir(tmp_path)
    PublisherProcess("tcp://127.0.0.1:*", queue_seconds=1.0).close()


@pytest.mark.skipif(
    platform.system() != "Linux"
    or platform.machine() not in ("x86_64", "aarch64")
    or tuple(map(int, platform.release().split(".")[:2])) < (6, 12),
    reason="Linux before 6.12 has no slices",
)
def test_the_process_has_the_shortest_slices_and_our_nice_value():
    publisher = PublisherProcess("tcp://127.0.0.1:*", queue_seconds=1.0)
    sched_getattr, found = {"x86_64": 315, "aarch64": 275}[platform.machine()], ctypes.create_string_buffer(48)
    assert ctypes.CDLL(None).syscall(sched_getattr, publisher._process.pid, found, 48, 0) == 0
    publisher.close()
    _, policy, _, nice, _, slice_ns, _, _ = struct.unpack("=IIQiIQQQ", found.raw)
    assert (policy, nice, slice_ns) == (os.SCHED_OTHER, os.getpriority(os.PRIO_PROCESS, 0), 100_000)
