"""A service that may open few files, and whose clients open all that are left: it goes on, and loses nothing."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest

from monitor.messages.blocks import Channel, Role, SignalBlock, Stream
from monitor.recording import RunReader
from monitor.transport.zeromq.signals import SignalPublisher
from tests.e2e.running import ANY_PORT, Running

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no such limit")

STREAM = Stream("rig", 1, 1000.0, (Channel("c", Role.COMMAND, "m", "a"), Channel("m", Role.MEASURED, "m", "a")))


def limited(most: int) -> tuple[str, ...]:
    return "/bin/sh", "-c", f'ulimit -n {most}; exec "$0" -m monitor "$@"', sys.executable


@pytest.fixture
def few(tmp_path: Path, warm_kernels: None) -> Iterator[Running]:
    words = ("monitor", "--bind", ANY_PORT, "--publish", ANY_PORT, "--record", tmp_path / "run.h5", "--once")
    running = Running(tmp_path, words, {}, limited(100))
    yield running
    assert not running.finish()


def test_connections_that_use_up_all_files_end_nothing(few: Running, tmp_path: Path) -> None:
    where = [urlsplit(url) for url in (few.listening, few.results)]
    publisher = SignalPublisher(connect=few.listening)
    assert publisher.wait_for_subscriber(20.0)
    with ExitStack() as stack:
        for number in range(3000):
            if number == 1000:
                for place in where:
                    for _ in range(100):
                        made = stack.enter_context(socket.socket())
                        made.setblocking(False)
                        made.connect_ex((place.hostname, place.port))
            publisher.send(SignalBlock(STREAM, number, number / 1000.0, np.full((1, 2), float(number))))
    publisher.send(SignalBlock(STREAM, 3000, 3.0, np.full((1, 2), 3000.0), last=True))
    few.wait()
    publisher.close()
    assert "3001 samples received, 0 lost" in few.err
    with RunReader(tmp_path / "run.h5") as run:
        assert (run.outcome, run.n_samples) == ("clean", 3001)


def test_too_few_are_said_before_anything_is_loaded() -> None:
    done = subprocess.run(
        [*limited(24), "monitor", "--bind", ANY_PORT], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert done.stderr.startswith("synchroscope monitor: only 24 files and connections may be open at once")
