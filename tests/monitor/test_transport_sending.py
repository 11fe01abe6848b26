"""Publishing and its process when something fails that nobody thought of: it is told, and goes on where it can."""

from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path
from time import monotonic, sleep

import pytest

from monitor.messages.requests import NoteRequest, encode
from monitor.system.worker_process import POSSIBLE
from monitor.transport.zeromq import publisher_process
from monitor.transport.zeromq.publisher_process import PublisherProcess
from monitor.transport.zeromq.request_server import ZmqRequestServer
from monitor.transport.zeromq.sending import Sending

pytestmark = pytest.mark.usefixtures("no_leftovers")
apart = pytest.mark.skipif(not POSSIBLE, reason="pipes cannot be written to without waiting there")


def until(condition) -> None:
    end = monotonic() + 30.0
    while not condition():
        assert monotonic() < end, "waited for 30 s"
        sleep(0.002)


class Failing:
    """An outlet with a fault."""

    url, trouble = "tcp://127.0.0.1:1", ""
    closed = False

    def offer_at_once(self, _frames):
        return False

    def offer(self, _frames):
        raise KeyError("a fault")

    def tend(self) -> bool:
        return False

    def kill(self) -> None: ...

    def close(self, _linger=0.0) -> None:
        self.closed = True


def test_what_ends_publishing_is_told_and_what_comes_then_is_counted():
    outlet = Failing()
    sending = Sending(outlet)
    sending.offer([b"first"])
    until(lambda: outlet.closed)
    assert "nothing is published at tcp://127.0.0.1:1 any more: KeyError: 'a fault'" in sending.trouble
    assert sending.dropped == 1
    sending.offer([b"second"])
    assert sending.dropped == 2
    sending.close()


def test_what_ends_the_reading_of_requests_is_told(monkeypatch):
    inlet = ZmqRequestServer("tcp://127.0.0.1:*")

    def fail():
        raise KeyError("a fault")

    monkeypatch.setattr(inlet, "_take", fail)
    import zmq

    assert inlet.trouble == ""
    with zmq.Context() as context, context.socket(zmq.REQ) as client:
        client.linger = 0
        client.connect(inlet.endpoint)
        client.send(encode(NoteRequest("a word")))
        until(lambda: inlet.trouble)
    assert f"no requests are taken at {inlet.endpoint} any more: KeyError" in inlet.trouble
    inlet.close()


@apart
def test_a_process_that_cannot_be_started_again_is_tried_until_it_can(monkeypatch):
    monkeypatch.setattr(publisher_process, "_PAUSE", 0.0)
    sending = Sending(PublisherProcess("tcp://127.0.0.1:*", queue_seconds=1.0))
    process = sending._outlet._process

    def refuse(*_, **__):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with monkeypatch.context() as full:
        full.setattr(subprocess, "Popen", refuse)
        process.kill()
        until(lambda: sending.trouble)
        assert "did not start: [Errno" in sending.trouble
        assert "started again" not in sending.trouble
    until(lambda: "had to be started again (1 times)" in sending.trouble)
    assert "did not start" not in sending.trouble
    sending.close()


@apart
def test_a_process_that_never_answers_is_given_up(monkeypatch):
    monkeypatch.setattr(publisher_process, "_STARTED_WITHIN", 0.01)
    with pytest.raises(OSError, match="did not start: it has not answered"):
        PublisherProcess("tcp://127.0.0.1:*", queue_seconds=1.0)


@apart
def test_the_process_takes_nothing_from_the_current_folder(tmp_path: Path, monkeypatch):
    for name in ("monitor", "msgspec", "struct"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(1)\n")
    monkeypatch.chdir(tmp_path)
    PublisherProcess("tcp://127.0.0.1:*", queue_seconds=1.0).close()
