"""Two ways for a sample through another process and back: the service, and a forwarder that computes nothing."""

from __future__ import annotations

import socket
import struct
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from time import monotonic
from typing import Self

import zmq

from benchmarks.throughput import make_samples, make_stream
from monitor.config import IndicatorSettings
from monitor.engine.monitor import MAX_ROWS_PER_SECOND, row_interval
from monitor.messages.blocks import SignalBlock
from monitor.wire import native as wire
from monitor.wire.native import Decoder, Encoder, Frames

_INDEX = struct.Struct("<q")
_PATIENCE = 90.0


class Lane(ABC):
    """A process between a publisher and a subscriber that are both here: on one clock, with the same bare sockets.

    Parameters
    ----------
    topic : what is subscribed to.
    words : module and arguments of the process, where SOURCE and RESULTS stand for the endpoints.

    Attributes
    ----------
    every : samples from one that is answered to the next.
    """

    every = 1

    def __init__(self, topic: bytes, *words: str) -> None:
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._publisher = self._context.socket(zmq.PUB)
        source = f"tcp://127.0.0.1:{self._publisher.bind_to_random_port('tcp://127.0.0.1')}"
        self.results = f"tcp://127.0.0.1:{free_port()}"
        given = {"SOURCE": source, "RESULTS": self.results}
        self._process = subprocess.Popen([sys.executable, "-m", *(given.get(word, word) for word in words)])
        self._subscriber = self._context.socket(zmq.SUB)
        self._subscriber.subscribe(topic)
        self._subscriber.connect(self.results)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()
        self._context.destroy(linger=0)

    @abstractmethod
    def encode(self, index: int) -> Frames:
        """Return the message with the sample of that index."""

    @abstractmethod
    def decode(self, frames: Frames) -> Sequence[int]:
        """Return the indexes of the samples that the message answers: several where the process was late."""

    def send(self, index: int) -> None:
        """Send the sample of that index."""
        self._publisher.send_multipart(self.encode(index))

    def receive(self, timeout: float) -> Sequence[int]:
        """Return the indexes in the next answer; empty if nothing comes within `timeout` s."""
        if not self._subscriber.poll(max(1, int(1000 * timeout))):
            return ()
        return self.decode(self._subscriber.recv_multipart())

    def start(self) -> int:
        """Send until the first answer comes; return the index to go on with."""
        deadline, index = monotonic() + _PATIENCE, 0
        while monotonic() < deadline and self._process.poll() is None:
            self.send(index)
            index += 1
            if self.receive(0.05):
                while self.receive(0.2):
                    pass
                return index
        raise RuntimeError(f"no answer from {self._process.args!r}")


class ServiceLane(Lane):
    """Through `synchroscope monitor`, with `more` options; the samples are encoded, the results decoded."""

    def __init__(self, n_pairs: int, rate: float, window: float, *more: str) -> None:
        self._stream = make_stream("latency", n_pairs, rate)
        self._samples = make_samples(4096, n_pairs, rate)
        self.every = row_interval(IndicatorSettings(), rate, MAX_ROWS_PER_SECOND)
        self._encoder, self._decoder = Encoder(), Decoder()
        options = ("--connect", "SOURCE", "--publish", "RESULTS", "--window", str(window), "--quiet", *more)
        super().__init__(wire.topic("results"), "monitor", "monitor", *options)

    def encode(self, index: int) -> Frames:
        at = index % len(self._samples)
        block = SignalBlock(self._stream, index, index * self._stream.dt, self._samples[at : at + 1])
        return self._encoder.encode(block)

    def send_block(self, index: int, n: int) -> None:
        """Send `n` samples from that index on in one message."""
        at = index % (len(self._samples) - n)
        block = SignalBlock(self._stream, index, index * self._stream.dt, self._samples[at : at + n])
        self._publisher.send_multipart(self._encoder.encode(block))

    def decode(self, frames: Frames) -> Sequence[int]:
        block = self._decoder.decode(frames)
        return range(block.index, block.index + len(block) * self.every, self.every)


class BareLane(Lane):
    """Through two bare PUB/SUB hops of the same payload sizes."""

    def __init__(self, sent: int, answered: int) -> None:
        self._filling = bytes(sent - _INDEX.size)
        super().__init__(b"", "benchmarks.forwarder", "SOURCE", "RESULTS", str(answered))

    def encode(self, index: int) -> Frames:
        return [_INDEX.pack(index) + self._filling]

    def decode(self, frames: Frames) -> Sequence[int]:
        return _INDEX.unpack_from(frames[0])


def free_port() -> int:
    """Return a port without a listener."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
    return port
