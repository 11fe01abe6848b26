"""What ends a command: signals, a closed input, a service manager, and that it says so."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from monitor.messages.blocks import Channel, Role, SignalBlock, Stream
from monitor.recording import RunReader
from monitor.transport.zeromq.signals import SignalPublisher
from tests.e2e.running import wait_for_library


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_at_once_and_has_said_what_it_does(start, tmp_path, number):
    # takes seconds to sort
    path = tmp_path / "large.npz"
    response = np.random.default_rng(1).random((1 << 12, 1 << 12))
    np.savez(path, time=np.arange(len(response)) / 100.0, response=response)
    running = start("monitor", "--ensemble", path, "--response", "deflection", "--publish", "tcp://127.0.0.1:*")
    assert str(path) in running.until(r"reading the ensemble .*")
    running.stop(number)
    assert "loading kernels" not in running.err
    path.unlink()


@pytest.mark.parametrize("seconds", [0.5, 2.0, 3.5])
@pytest.mark.parametrize("command", ["monitor", "assess"])
def test_ctrl_c_while_kernels_are_compiled(start, record, tmp_path, command, seconds):
    words = ("assess", record()) if command == "assess" else ("monitor", "--publish", "tcp://127.0.0.1:*")
    running = start(*words, NUMBA_CACHE_DIR=str(tmp_path / "empty"))
    if command == "monitor":
        running.until("loading kernels")
    wait_for_library(running.process, "llvmlite")
    time.sleep(seconds)
    pressed = time.monotonic()
    running.stop(signal.SIGINT, 0 if command == "monitor" else 130)
    # all kernels together take a minute, one may take ten seconds
    assert time.monotonic() - pressed < (5.0 if command == "monitor" else 10.0)
    assert running.out == "" and "Traceback" not in running.err


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


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="systemd is on Linux only")
def test_systemd_hears_when_it_listens_that_it_goes_on_and_that_it_stops(start, tmp_path: Path) -> None:
    address = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(address))
        manager.settimeout(90.0)
        words = ("--connect", "tcp://127.0.0.1:9", "--publish", "tcp://127.0.0.1:*", "--measures", "nrmse")
        service = start("monitor", *words, NOTIFY_SOCKET=str(address))
        ready = manager.recv(1000).decode()
        assert ready.startswith("READY=1\nSTATUS=listening on tcp://127.0.0.1:9; results on tcp://127.0.0.1:")
        alive = b"WATCHDOG=1\nSTATUS=waiting: 0 samples received, 0 lost"
        assert manager.recv(1000) == manager.recv(1000) == alive
        service.stop()
        said = b""
        while said != b"STOPPING=1":
            said = manager.recv(1000)
