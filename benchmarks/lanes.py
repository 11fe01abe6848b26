"""Two ways for a sample through another process and back: the service, and a forwarder that computes nothing."""

from __future__ import annotations

import socket
import struct
import subprocess
import sys
from abc import ABC, abstractmethod
from time import monotonic
from typing import Self

import zmq

from benchmarks.throughput import make_samples, make_stream
from monitor.blocks import ResultBlock, SignalBlock
from monitor.transport.zeromq import ResultSubscriber, SignalPublisher

_INDEX = struct.Struct("<q")
_PATIENCE = 90.0


class Lane(ABC):
    """A process between a publisher and a subscriber that both are here, on one clock."""

    def __init__(self, *words: str) -> None:
        self._process = subprocess.Popen([sys.executable, "-m", *words])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()
        self.close()

    @abstractmethod
    def send(self, index: int) -> None:
        """Send the sample of that index."""

    @abstractmethod
    def receive(self, timeout: float) -> list[int]:
        """Return the indices whose results have come; wait up to `timeout` s for the first."""

    @abstractmethod
    def close(self) -> None:
        """Leave no socket behind."""

    def connect(self, first: int) -> int:
        """Send until the first answer comes; return the index to go on with."""
        deadline = monotonic() + _PATIENCE
        while monotonic() < deadline and self._process.poll() is None:
            self.send(first)
            first += 1
            if self.receive(0.05):
                while self.receive(0.2):
                    pass
                return first
        raise RuntimeError(f"no answer from {self._process.args!r}")


class ServiceLane(Lane):
    """Through `synchroscope monitor`, with the library's own publisher and subscriber."""

    def __init__(self, n_pairs: int, rate: float, window: float) -> None:
        self._stream = make_stream("latency", n_pairs, rate)
        self._samples = make_samples(4096, n_pairs, rate)
        self._publisher = SignalPublisher("tcp://127.0.0.1:*")
        results = f"tcp://127.0.0.1:{free_port()}"
        options = ("--connect", self._publisher.endpoint, "--publish", results, "--window", str(window))
        super().__init__("monitor", "monitor", *options, "--quiet")
        self._subscriber = ResultSubscriber(results, kinds=("results",))

    def send(self, index: int) -> None:
        at = index % len(self._samples)
        block = SignalBlock(self._stream, index, index * self._stream.dt, self._samples[at : at + 1])
        self._publisher.send(block)

    def receive(self, timeout: float) -> list[int]:
        items = self._subscriber.receive(timeout)
        return [item.index for item in items if isinstance(item, ResultBlock) and len(item)]

    def close(self) -> None:
        self._publisher.close(linger=0.0)
        self._subscriber.close()


class BareLane(Lane):
    """Through two bare PUB/SUB hops of the same payload sizes."""

    def __init__(self, sent: int, answered: int) -> None:
        self._context = zmq.Context()
        self._publisher = self._context.socket(zmq.PUB)
        port = self._publisher.bind_to_random_port("tcp://127.0.0.1")
        results = f"tcp://127.0.0.1:{free_port()}"
        super().__init__("benchmarks.forwarder", f"tcp://127.0.0.1:{port}", results, str(answered))
        self._subscriber = self._context.socket(zmq.SUB)
        self._subscriber.subscribe(b"")
        self._subscriber.connect(results)
        self._filling = bytes(sent - _INDEX.size)

    def send(self, index: int) -> None:
        self._publisher.send(_INDEX.pack(index) + self._filling)

    def receive(self, timeout: float) -> list[int]:
        if not self._subscriber.poll(max(1, int(1000 * timeout))):
            return []
        return [_INDEX.unpack_from(self._subscriber.recv())[0]]

    def close(self) -> None:
        self._context.destroy(linger=0)


def free_port() -> int:
    """Return a port that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
    return port
