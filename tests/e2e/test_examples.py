"""Every program in examples/, started as its user would start it: each sender is received to the last sample."""

from __future__ import annotations

import queue
import re
import shutil
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from time import monotonic, sleep

import numpy as np
import pytest
import zmq

from monitor.messages.blocks import Column, ResultBlock, ResultStream, SignalBlock
from monitor.transport.zeromq.results import ResultPublisher
from monitor.wire.native import Decoder, Encoder
from monitor.wire.plain import decode_plain
from monitor.wire.plain_assembler import PlainAssembler
from tests.needs import opensees_environment, require

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
SAMPLES, RATE = 505, 2000.0
PATIENCE = 60


def _compiled(folder: Path, name: str) -> list[str]:
    require("cc", "zmq.h")
    program = folder / name
    warnings = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]
    source = str(EXAMPLES / f"{name}.c")
    subprocess.run(["cc", *warnings, source, "-o", str(program), "-lzmq", "-lm"], check=True)
    return [str(program)]


@pytest.fixture(scope="session")
def subscribe_results_c(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return _compiled(tmp_path_factory.mktemp("c"), "subscribe_results")


@pytest.fixture
def sender(request: pytest.FixtureRequest, tmp_path: Path) -> list[str]:
    name: str = request.param
    if name.endswith(".c"):
        return _compiled(tmp_path, Path(name).stem)
    if name.endswith(".mjs"):
        require("node")
        return [str(shutil.which("node")), str(EXAMPLES / name)]
    return [sys.executable, str(EXAMPLES / name)]


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@contextmanager
def _started(words: list[str], **more: str) -> Iterator[subprocess.Popen[str]]:
    """Start a program, with more in its environment, and end it with the block."""
    pipe, environment = subprocess.PIPE, {"PYTHONPATH": str(ROOT), "PATH": "", **more}
    with subprocess.Popen(words, cwd=ROOT, env=environment, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def _start(command: list[str], port: int, samples: int = SAMPLES) -> AbstractContextManager[subprocess.Popen[str]]:
    return _started([*command, f"tcp://127.0.0.1:{port}", str(samples), str(RATE)])


@pytest.fixture
def sink() -> Iterator[ResultPublisher]:
    sink = ResultPublisher("tcp://127.0.0.1:*")
    yield sink
    sink.close()


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
            blocks = list(_blocks(subscriber))
            _, complaint = process.communicate(timeout=PATIENCE)
        assert (process.returncode, complaint) == (0, "")
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


def _connect(port: int, process: subprocess.Popen[str]) -> socket.socket:
    while process.poll() is None:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        except ConnectionRefusedError:
            continue
    raise AssertionError(f"the sender ended: {process.communicate()[1]}")


@pytest.mark.parametrize(
    "sender", ["send_native.py", "send_native.c", "send_plain.py", "send_plain.mjs"], indirect=True
)
def test_an_endpoint_that_is_taken_is_reported(sender: list[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        with _start(sender, taken.getsockname()[1]) as process:
            _, complaint = process.communicate(timeout=PATIENCE)
        assert process.returncode != 0
        assert "in use" in complaint.lower()


NAMES = ("north", 'a "quoted" \\ name', "süd 𝄞", "")


def _results(
    row: int, count: int = 1, *, last: bool = False, epoch: int = 1, names: tuple[str, ...] = NAMES
) -> ResultBlock:
    """Rows of results whose delays tell their number and their actuator; every third of the second is NaN."""
    units = {"broadband_ratio": "1", "broadband_delay": "s"}
    columns = [Column(name, unit, a) for a in names for name, unit in units.items()]
    stream = ResultStream("lab", epoch, 1000.0, 10, tuple(columns))
    rows = np.arange(row, row + count, dtype=float)[:, None]
    values = rows + 0.125 * np.arange(len(columns))
    values[rows[:, 0] % 3 == 0, 3:4] = np.nan
    return ResultBlock(stream, 10 * row, row / 100.0, values, last)


def _line(row: int, names: tuple[str, ...] = NAMES) -> str:
    delays = [row + 0.125 * (2 * place + 1) for place in range(len(names))]
    told = ["-" if place == 1 and row % 3 == 0 else f"{delay:.9g}" for place, delay in enumerate(delays)]
    return "  ".join([f"{row / 100.0:.9g} s", *(f"{name} {text}" for name, text in zip(names, told, strict=True))])


def _publish_until(process: subprocess.Popen[str], send: Callable[[int], None]) -> Iterator[str]:
    """Send one after another until somebody has heard the first, and yield what is printed from then on."""
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    assert process.stdout is not None
    reader = threading.Thread(target=lambda: [lines.put(line.rstrip("\n")) for line in process.stdout or ()])
    reader.start()
    deadline = monotonic() + PATIENCE
    number = 0
    while lines.empty():
        assert process.poll() is None
        assert monotonic() < deadline, "nothing was heard"
        send(number)
        number += 1
        sleep(0.01)
    send(-number)
    process.wait(PATIENCE)
    reader.join()
    while not lines.empty():
        yield lines.get()


def test_the_c_program_prints_what_was_published(subscribe_results_c: list[str], sink: ResultPublisher) -> None:
    sent: list[int] = []

    def send(number: int) -> None:
        if number >= 0:
            sent.append(number)
            sink.results(_results(number))
            return
        # two blocks of several rows, the newest of which is printed; no rows; others after a restart; the end
        sink.results(_results(-number, 4))
        sink.results(_results(-number + 4, 0))
        sink.results(_results(5, 1, epoch=2, names=("roof",)))
        sink.results(_results(7, 1, epoch=2, names=("roof",), last=True))
        sent.append(-number + 3)

    words = [*subscribe_results_c, sink.endpoint]
    with _started(words) as process:
        printed = list(_publish_until(process, send))
        assert process.stderr is not None
        assert (process.returncode, process.stderr.read()) == (0, "")
    # it may have come late, but from then on nothing is missing
    expected = [*map(_line, sent), _line(5, ("roof",)), _line(7, ("roof",))]
    assert len(printed) >= 4
    assert printed == expected[-len(printed) :]


def test_the_c_program_says_which_names_there_are(subscribe_results_c: list[str], sink: ResultPublisher) -> None:
    words = [*subscribe_results_c, sink.endpoint, "broadband_dely"]
    with _started(words) as process:
        deadline = monotonic() + PATIENCE
        number = 0
        while process.poll() is None and monotonic() < deadline:
            sink.results(_results(number, last=number > 50))
            number += 1
            sleep(0.01)
        out, told = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (0, "")
    assert told == "subscribe_results: no column broadband_dely; columns: broadband_ratio, broadband_delay\n"


def test_the_c_program_says_that_it_hears_nothing(subscribe_results_c: list[str]) -> None:
    with socket.socket() as nobody:
        # taken, but nobody listens
        nobody.bind(("127.0.0.1", 0))
        endpoint = f"tcp://127.0.0.1:{nobody.getsockname()[1]}"
        with _started([*subscribe_results_c, endpoint]) as process:
            assert process.stderr is not None
            told = process.stderr.readline()
            assert process.poll() is None
    assert told == f"subscribe_results: no message for 5 s from {endpoint}; waiting\n"


def test_the_c_program_passes_over_what_it_cannot_read(subscribe_results_c: list[str], sink: ResultPublisher) -> None:
    topic, head, position, payload = Encoder().encode(_results(1))
    wrong = [
        [topic],
        [topic, head, position],
        [topic, head, position, payload, b"more"],
        [topic, head, position[:-1], payload],
        [topic, head, position, payload[:-8]],
        [topic, b"", position, payload],
        [topic, head[:-40], position, payload],
        [topic, head.replace(b'"version":1', b'"version":2'), position, payload],
        [topic, head.replace(b"[0,", b"[99,"), position, payload],
        [topic, b'{"texts":["a', position, payload],
    ]

    def send(number: int) -> None:
        if number >= 0:
            sink.results(_results(number))
            return
        for frames in wrong:
            sink._publisher.send(frames)
        sink.results(_results(8, last=True))

    words = [*subscribe_results_c, sink.endpoint, "broadband_ratio"]
    with _started(words) as process:
        printed = list(_publish_until(process, send))
        assert process.stderr is not None
        assert process.returncode == 0
        assert len(process.stderr.read().splitlines()) == len(wrong)
    assert printed[-1] == "0.08 s  " + "  ".join(f"{name} {8 + 0.25 * i:.9g}" for i, name in enumerate(NAMES))


def test_the_python_program_prints_what_was_published(sink: ResultPublisher) -> None:
    def send(number: int) -> None:
        sink.results(_results(abs(number), last=number < 0))

    words = [sys.executable, "-W", "error", str(EXAMPLES / "watch_results.py"), sink.endpoint]
    with _started(words) as process:
        printed = list(_publish_until(process, send))
        assert process.stderr is not None
        assert (process.returncode, process.stderr.read()) == (0, "")
    numbers = [round(100 * float(line.split()[0])) for line in printed]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    assert printed[-1] == f"{numbers[-1] / 100.0:.3f} s  {1e3 * (numbers[-1] + 0.125):.2f} ms late"


def test_the_loop_in_opensees_runs_without_a_service() -> None:
    ports = [f"tcp://127.0.0.1:{_free_port()}" for _ in range(2)]
    words = [sys.executable, "-W", "error", str(EXAMPLES / "opensees_loop.py"), "1", *ports]
    with _started(words, **opensees_environment()) as process:
        out, told = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, told
    steps = r"1024 steps: \d+ us a step to send, \d+ us to read the newest indicators"
    assert re.fullmatch(rf"{steps}\nno monitor was connected\n", out)


def test_the_loop_in_opensees_sends_its_signals_and_stops_at_a_late_actuator(sink: ResultPublisher) -> None:
    columns = (Column("broadband_delay", "s", "column"),)
    stream = ResultStream("opensees", 1, 1024.0, 1, columns)
    signals = f"tcp://127.0.0.1:{_free_port()}"
    words = [sys.executable, "-W", "error", str(EXAMPLES / "opensees_loop.py"), "60", signals, sink.endpoint]
    with (
        zmq.Context() as context,
        context.socket(zmq.SUB) as subscriber,
        _started(words, **opensees_environment()) as process,
    ):
        subscriber.setsockopt(zmq.RCVHWM, 0)
        subscriber.setsockopt(zmq.LINGER, 0)
        subscriber.connect(signals)
        subscriber.subscribe(b"")
        decoder, received = Decoder(), []
        while process.poll() is None or subscriber.poll(0):
            if not subscriber.poll(50):
                continue
            block = decoder.decode(subscriber.recv_multipart())
            assert isinstance(block, SignalBlock)
            received.append(block)
            # 24 ms are right, 26 ms too late
            value = 0.024 if len(received) < 200 else 0.026
            sink.results(ResultBlock(stream, block.index, block.time, np.array([[value]])))
        said = process.communicate()[1]
    assert re.search(r"stopped at 0\.\d+ s: the actuator is 26\.0 ms late", said)
    samples = np.concatenate([block.samples for block in received])
    # the actuator lags by nine samples, and has the stiffness of the column
    np.testing.assert_array_equal(samples[9:, 1], samples[:-9, 0])
    np.testing.assert_allclose(samples[:, 2], 3e5 * samples[:, 1], rtol=1e-15)
    assert np.all(np.diff([block.index for block in received]) == 1)


def test_the_shock_spectrum_of_a_file_and_of_a_synthetic_record(tmp_path: Path) -> None:
    time = np.arange(1101) / 100e3
    record, other = tmp_path / "pulse.csv", np.zeros(1101)
    rows = np.column_stack([time, np.where(time < 1e-3, np.sin(np.pi * time / 1e-3), 0.0), other])
    np.savetxt(record, rows, delimiter=",", header="time [s],acc [g],other [g]", comments="")

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        program = [sys.executable, str(EXAMPLES / "shock_spectrum.py"), *words]
        environment = {"PYTHONPATH": str(ROOT), "PATH": "", "MPLCONFIGDIR": str(tmp_path)}
        return subprocess.run(program, capture_output=True, text=True, env=environment, cwd=tmp_path)

    synthetic = run("generated.png")
    assert synthetic.returncode == 0 and synthetic.stdout.startswith("synthetic record, not a measurement")
    table = np.array([line.split() for line in synthetic.stdout.splitlines()[2:]], dtype=float)
    np.testing.assert_allclose(table[:, 0], 30e3 / 2.0 ** np.arange(len(table) - 1, -1, -1), rtol=1e-2)
    # most of it is above 5 kHz, as in the paper
    assert table[table[:, 0] > 5e3, 1].max() > 3.0 * table[table[:, 0] < 5e3, 1].max()
    measured = run("measured.png", record.name, "acc")
    table = np.array([line.split() for line in measured.stdout.splitlines()[2:]], dtype=float)
    # a half-sine: 1 where the oscillator is stiff, less than 1.77 anywhere, and an impulse where it is soft
    assert table[-1, 1] == pytest.approx(1.0, abs=0.02) and 1.5 < table[:, 1].max() < 1.77
    soft = table[0, 0] * 2.0 * np.pi * 2.0 * 1e-3 / np.pi
    assert table[0, 1] == pytest.approx(soft * np.exp(-0.05 * np.pi / 2.0), rel=0.05)
    for picture in ("generated.png", "measured.png"):
        assert (tmp_path / picture).read_bytes().startswith(b"\x89PNG")
    # half of the record after a gap: only the longer stretch is used, not joined to the other
    header = "time [s],acc [g],other [g]"
    np.savetxt(tmp_path / "gap.csv", np.delete(rows, slice(300, 400), 0), delimiter=",", header=header, comments="")
    gap = run("gap.png", "gap.csv", "acc")
    assert "the longest of 2 stretches is used, 701 samples" in gap.stderr and ": 701 samples at" in gap.stdout
    refused = run("measured.png", record.name)
    assert refused.returncode == 1 and "give one of its channels: acc, other" in refused.stderr
    missing = run("measured.png", "none.csv")
    assert missing.returncode == 1 and missing.stderr.count("\n") == 1
