"""A control step: the newest row of a running service is read and a sample is sent, against plain pyzmq."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from time import monotonic, perf_counter, sleep

import numpy as np
import zmq

from benchmarks.figures import US, Figure
from monitor import Rig, connect
from monitor.messages.blocks import Column, ResultBlock, ResultStream
from monitor.transport.zeromq.results import ResultPublisher
from monitor.wire.native import topic

SUMMARY = "in a step of a loop: the newest row of 54 values, a sample sent, against plain pyzmq"
AGAINST = "pyzmq and numpy"
_WIDTH, _STEP = 54, 0.002
_PATIENCE = 10.0


def run(quick: bool) -> Iterator[Figure]:
    """Yield the times of a call."""
    repeats = 20 if quick else 400
    yield from _newest(repeats)
    yield _sent(repeats)


def _newest(repeats: int) -> Iterator[Figure]:
    """Yield the time of reading the newest row, by the number of messages since the last call."""
    stream = ResultStream("rig", 1, 1000.0, 1, tuple(Column(f"c{i}", "s", "north") for i in range(_WIDTH)))
    sink = ResultPublisher("tcp://127.0.0.1:*")
    with zmq.Context() as context, context.socket(zmq.SUB) as plain, connect(sink.endpoint) as connection:
        plain.connect(sink.endpoint)
        plain.subscribe(topic("results"))
        index, deadline = 0, monotonic() + _PATIENCE
        while connection.newest() is None or _drain(plain) is None:
            if monotonic() > deadline:
                raise RuntimeError("nothing is received")
            sink.results(ResultBlock(stream, index, index / 1000.0, np.zeros((1, _WIDTH))))
            index += 1
            sleep(0.01)
        for n_messages in (0, 1, 20):
            ours, theirs = [], []
            for _ in range(repeats):
                for _ in range(n_messages):
                    sink.results(ResultBlock(stream, index, index / 1000.0, np.full((1, _WIDTH), float(index))))
                    index += 1
                sleep(_STEP)
                begin = perf_counter()
                connection.newest()
                between = perf_counter()
                _drain(plain)
                theirs.append(perf_counter() - between)
                ours.append(between - begin)
            each = [a / b for a, b in zip(ours, theirs, strict=True)]
            yield Figure(
                "client",
                f"newest row after {n_messages} message{'s' * (n_messages != 1)}",
                1e6 * median(ours),
                US,
                best=1e6 * min(ours),
                against=AGAINST,
                other=1e6 * median(theirs),
                ratio=median(each),
            )
    sink.close()


def _sent(repeats: int) -> Figure:
    """Return the time of sending one sample of three channels to a subscriber that has received it."""
    ours, theirs = [], []
    channels = ["north.command [m]", "north.measured [m]", "north.force [N]"]
    with (
        zmq.Context() as context,
        context.socket(zmq.PUB) as plain,
        context.socket(zmq.SUB) as subscriber,
        Rig("tcp://127.0.0.1:*", channels=channels, sample_rate=1 / _STEP) as rig,
    ):
        port = plain.bind_to_random_port("tcp://127.0.0.1")
        for endpoint in (f"tcp://127.0.0.1:{port}", rig.endpoint):
            subscriber.connect(endpoint)
        subscriber.subscribe(b"")
        if not rig.wait_for_subscriber(_PATIENCE):
            raise RuntimeError("nothing subscribes")
        for number in range(repeats):
            sample = [0.01, 0.02, float(number)]
            sleep(_STEP)
            begin = perf_counter()
            rig.send(sample)
            between = perf_counter()
            plain.send(np.asarray(sample).tobytes())
            theirs.append(perf_counter() - between)
            ours.append(between - begin)
            while subscriber.poll(0):
                subscriber.recv_multipart()
    return Figure(
        "client",
        "sample of 3 channels sent",
        1e6 * median(ours),
        US,
        best=1e6 * min(ours),
        against=AGAINST,
        other=1e6 * median(theirs),
        ratio=median(a / b for a, b in zip(ours, theirs, strict=True)),
    )


def _drain(socket: zmq.Socket[bytes]) -> np.ndarray | None:
    """Return the values of the newest of all messages that have arrived, decoding each."""
    values = None
    while True:
        try:
            frames = socket.recv_multipart(zmq.NOBLOCK)
        except zmq.Again:
            return values
        values = np.frombuffer(frames[3]).reshape(-1, _WIDTH)
