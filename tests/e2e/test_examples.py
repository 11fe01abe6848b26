"""Every sender in examples/, started as its user would start it, and received to the last sample."""

from __future__ import annotations

import shutil
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import zmq

from monitor.blocks import SignalBlock
from monitor.plain import PlainAssembler, decode_plain
from monitor.wire import Decoder

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
SAMPLES, RATE = 505, 2000.0
PATIENCE = 60


@pytest.fixture(scope="session")
def send_native_c(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler (cc) on this machine")
    if subprocess.run([compiler, "-E", "-"], input=b"#include <zmq.h>", capture_output=True).returncode:
        pytest.skip("zmq.h is not installed (Debian: libzmq3-dev)")
    program = tmp_path_factory.mktemp("c") / "send_native"
    warnings = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]
    subprocess.run(
        [compiler, *warnings, str(EXAMPLES / "send_native.c"), "-o", str(program), "-lzmq", "-lm"], check=True
    )
    return [str(program)]


@pytest.fixture
def sender(request: pytest.FixtureRequest) -> list[str]:
    name: str = request.param
    if name.endswith(".c"):
        program: list[str] = request.getfixturevalue("send_native_c")
        return program
    if name.endswith(".mjs"):
        node = shutil.which("node")
        if node is None:
            pytest.skip("no Node.js (node) on this machine")
        return [node, str(EXAMPLES / name)]
    return [sys.executable, str(EXAMPLES / name)]


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port


def _start(command: list[str], port: int, samples: int = SAMPLES) -> subprocess.Popen[bytes]:
    arguments = [*command, f"tcp://127.0.0.1:{port}", str(samples), str(RATE)]
    return subprocess.Popen(arguments, cwd=ROOT, env={"PYTHONPATH": str(ROOT), "PATH": ""}, stderr=subprocess.PIPE)


def _blocks(subscriber: zmq.Socket[bytes]) -> Iterator[SignalBlock]:
    """Yield what comes until a block says that it is the last."""
    decoder, assembler = Decoder(), PlainAssembler()
    while True:
        assert subscriber.poll(1000 * PATIENCE), "the sender fell silent before its last sample"
        frames = subscriber.recv_multipart()
        if len(frames) == 4:
            block = decoder.decode(frames)
            assert isinstance(block, SignalBlock)
            blocks: tuple[SignalBlock, ...] = (block,)
        else:
            blocks = assembler.accept(decode_plain(frames[-1]))
        yield from blocks
        if blocks and blocks[-1].last:
            return


@pytest.mark.parametrize(
    ("sender", "lags"),
    [
        ("send_native.py", (0.005, 0.008)),
        ("send_native.c", (0.005, 0.008)),
        ("send_plain.py", (0.005,)),
        ("send_plain.mjs", (0.005,)),
    ],
    indirect=["sender"],
)
def test_every_sample_arrives(sender: list[str], lags: tuple[float, ...]) -> None:
    port = _free_port()
    with zmq.Context() as context, context.socket(zmq.SUB) as subscriber:
        subscriber.setsockopt(zmq.RCVHWM, 0)
        subscriber.setsockopt(zmq.RECONNECT_IVL, 10)
        subscriber.subscribe(b"")
        subscriber.connect(f"tcp://127.0.0.1:{port}")
        with _start(sender, port) as process:
            try:
                blocks = list(_blocks(subscriber))
                _, complaint = process.communicate(timeout=PATIENCE)
            finally:
                process.kill()
        assert (process.returncode, complaint) == (0, b"")
    stream = blocks[0].stream
    assert all(block.stream is stream for block in blocks)
    assert (stream.rig, stream.sample_rate, len(stream.pairs)) == ("example", RATE, len(lags))
    expected = 0
    for block in blocks:
        assert block.index == expected
        assert block.time == pytest.approx(expected / RATE, abs=1e-12)
        expected += len(block)
    assert expected == SAMPLES
    samples, t = np.concatenate([block.samples for block in blocks]), np.arange(SAMPLES) / RATE
    for pair, lag in zip(stream.pairs, lags, strict=True):
        np.testing.assert_allclose(samples[:, pair.command], np.sin(2 * np.pi * t), atol=1e-12)
        np.testing.assert_allclose(samples[:, pair.measured], np.sin(2 * np.pi * (t - lag)), atol=1e-12)


def _frame(connection: socket.socket) -> tuple[int, bytes]:
    flags, length = _exactly(connection, 2)
    if flags & 2:
        (length,) = struct.unpack(">Q", bytes([length]) + _exactly(connection, 7))
    return flags, _exactly(connection, length)


def _exactly(connection: socket.socket, count: int) -> bytes:
    received = b""
    while len(received) < count:
        more = connection.recv(count - len(received))
        assert more, "the sender hung up"
        received += more
    return received


@pytest.mark.parametrize("sender", ["send_plain.mjs"], indirect=True)
def test_the_sender_without_library_answers_the_pings_of_a_watchful_monitor(sender: list[str]) -> None:
    port = _free_port()
    with _start(sender, port, samples=1_000_000) as process:
        try:
            connection = _connect(port, process)
            with connection:
                connection.sendall(b"\xff" + bytes(8) + b"\x7f\x03\x00NULL" + bytes(48))
                connection.sendall(b"\x04\x19\x05READY\x0bSocket-Type\x00\x00\x00\x03SUB")
                assert _exactly(connection, 64)[10] == 3
                assert _frame(connection) == (4, b"\x05READY\x0bSocket-Type\x00\x00\x00\x03PUB")
                # subscribe and ping, cut where a network may cut them
                for piece in (b"\x00", b"\x01\x01\x04", b"\x0b\x04PING\x00\x64", b"here"):
                    connection.sendall(piece)
                answers = iter(lambda: _frame(connection), None)
                assert next(body for flags, body in answers if flags & 4) == b"\x04PONGhere"
                assert next(body for flags, body in answers if not flags & 4).startswith(b'{"rig":"example"')
        finally:
            process.kill()


def _connect(port: int, process: subprocess.Popen[bytes]) -> socket.socket:
    while process.poll() is None:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        except ConnectionRefusedError:
            continue
    raise AssertionError(f"the sender ended: {process.communicate()[1].decode()}")


@pytest.mark.parametrize(
    "sender", ["send_native.py", "send_native.c", "send_plain.py", "send_plain.mjs"], indirect=True
)
def test_an_endpoint_that_is_taken_is_reported(sender: list[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        with _start(sender, taken.getsockname()[1]) as process:
            try:
                _, complaint = process.communicate(timeout=PATIENCE)
            finally:
                process.kill()
        assert process.returncode != 0
        assert b"in use" in complaint.lower()
