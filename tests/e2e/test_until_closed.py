"""`synchroscope monitor` and `replay --until-closed`: the end of whoever started it is its own."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from monitor.messages.blocks import Channel, Role, SignalBlock, Stream
from monitor.recording import RunReader
from monitor.transport.zeromq.signals import SignalPublisher

ROOT = Path(__file__).parents[2]
ANY_PORT = "tcp://127.0.0.1:*"
PATIENCE = 90.0


@pytest.fixture
def serve() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a monitor that listens to its standard input; returned when it is ready."""
    started: list[subprocess.Popen[str]] = []

    def run(*words: object, ready: bool = True) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "monitor", "monitor", "--until-closed", "--publish", ANY_PORT]
        command += ["--measures", "nrmse", "--window", "0.5"]
        process = subprocess.Popen(
            [*command, *map(str, words)], cwd=ROOT, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        started.append(process)
        while ready and not process.stderr.readline().startswith("listening on"):
            assert process.poll() is None
        return process

    yield run
    for process in started:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stderr.close()


def over(process: subprocess.Popen[str], code: int = 0) -> str:
    said = process.stderr.read()
    assert process.wait(PATIENCE) == code, said
    assert "Traceback" not in said
    assert "Fatal" not in said
    return said


def test_a_closed_standard_input_ends_it_and_closes_the_recording(serve, tmp_path) -> None:
    kept = tmp_path / "run.h5"
    rig = SignalPublisher(ANY_PORT)
    process = serve("--connect", rig.endpoint, "--record", kept)
    assert rig.wait_for_subscriber(PATIENCE)
    stream = Stream("rig", 1, 100.0, (Channel("load", Role.AUXILIARY, "kN"),))
    rig.send(SignalBlock(stream, 0, 0.0, np.arange(50.0)[:, None]))
    # what is written to it changes nothing
    process.stdin.write("pause\n" * 1000)
    process.stdin.flush()
    while "the stream starts" not in process.stderr.readline():
        assert process.poll() is None
    process.stdin.close()
    assert "recorded 50 samples" in over(process)
    rig.close(linger=0.0)
    with RunReader(kept) as run:
        assert (run.outcome, run.n_samples) == ("clean", 50)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_end_it_as_before_though_its_input_is_open(serve, number) -> None:
    process = serve()
    process.send_signal(number)
    assert "0 samples received" in over(process)


def test_a_mistake_ends_it_though_its_input_is_open(serve) -> None:
    assert "'nowhere' is not an endpoint" in over(serve("--connect", "nowhere", ready=False), 2)


def test_closed_before_it_is_ready_it_ends_all_the_same(serve) -> None:
    process = serve(ready=False)
    process.stdin.close()
    over(process)


def test_a_replay_that_waits_for_a_monitor_ends_with_its_input() -> None:
    command = [sys.executable, "-m", "monitor", "replay", "case-i", "--bind", ANY_PORT, "--until-closed"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while not process.stderr.readline().startswith("waiting for a monitor"):
            assert process.poll() is None
        process.stdin.close()
        over(process, 130)


def test_a_controlled_replay_ends_with_its_input_and_in_good_order() -> None:
    command = [sys.executable, "-m", "monitor", "replay", "case-i", "--bind", ANY_PORT, "--control", "--until-closed"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while "requests at" not in process.stderr.readline():
            assert process.poll() is None
        process.stdin.close()
        over(process)
