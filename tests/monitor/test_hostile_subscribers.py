"""What slow, stalled and malicious subscribers do to the others: nothing."""

from __future__ import annotations

import contextlib
import os
import random
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import pytest
import zmq

from monitor.messages.blocks import SignalBlock
from monitor.service.load import RestartLimiter
from monitor.transport.zeromq import publisher_socket
from monitor.transport.zeromq.publisher_socket import PublisherSocket
from monitor.transport.zeromq.results import ResultPublisher, ResultSubscriber
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("no_leftovers")
N = 1500
TIMEOUT = 30.0
SELF = Path("/proc/self/status")

FLOOD = """
import sys, zmq
with zmq.Context() as context, context.socket(zmq.SUB) as socket:
    socket.linger = 0
    socket.sndhwm = 0
    socket.connect(sys.argv[1])
    for i in range(int(sys.argv[2])):
        socket.subscribe(b"%012x" % (i * 2654435761 % (1 << 44)) + b"x" * int(sys.argv[3]))
    print("asked", flush=True)
    sys.stdin.read()
"""
STALL = """
import sys, zmq
with zmq.Context() as context, context.socket(zmq.SUB) as socket:
    socket.linger = 0
    socket.rcvhwm = 10
    socket.subscribe(b"")
    socket.connect(sys.argv[1])
    socket.recv_multipart()
    print("asked", flush=True)
    sys.stdin.read()
"""


@contextlib.contextmanager
def program(text: str, *words: object) -> Iterator[subprocess.Popen[bytes]]:
    """Run a hostile program; it is gone at the end."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", text, *map(str, words)], **pipes) as process:
        try:
            yield process
        finally:
            process.kill()


class Publishing:
    """A sink with one good subscriber, which must get all of it."""

    def __init__(self, counting, *, own_process: bool = False) -> None:
        self.sink = ResultPublisher("tcp://127.0.0.1:*", own_process=own_process)
        self.url = self.sink.endpoint
        self._counting = counting
        self._good = ResultSubscriber(self.url, kinds=("signals",))
        self._sent = 0
        self._got: list[int] = []
        self.slowest = 0.0
        until(lambda: self._got, lambda: self.send(1))
        # what was sent before it was there is nobody's loss
        self._first = self._got[0]

    def send(self, messages: int, rows: int = 1) -> None:
        for _ in range(messages):
            before = monotonic()
            self.sink.signals(self._counting(self._sent, rows))
            self.slowest = max(self.slowest, monotonic() - before)
            self._sent += rows
            self._take(0.0 if self._sent % 16 else 0.005)

    def _take(self, timeout: float) -> None:
        self._got += [item.index for item in self._good.receive(timeout) if isinstance(item, SignalBlock)]

    def all_came(self, rows: int = 1) -> None:
        """Wait for the last, and compare."""
        until(lambda: self._got[-1] == self._sent - rows, lambda: self._take(0.05))
        assert self._got == list(range(self._first, self._sent, rows))
        assert self.sink.dropped == 0

    @property
    def asked(self) -> int:
        """Bytes of the topics that are kept."""
        return sum(len(prefix) + publisher_socket.OVERHEAD for prefix in self.sink._publisher._publisher.prefixes)

    def comes_again(self) -> None:
        """Wait until the good subscriber, which may have been cut off with the others, has what is sent now."""
        first = self._sent
        until(lambda: self._got[-1] >= first, lambda: (self.send(1), self._take(0.005)))

    def close(self) -> None:
        self._good.close()
        self.sink.close(0.0)


@pytest.fixture
def publishing(no_leftovers, counting) -> Iterator[Publishing]:
    publishing = Publishing(counting)
    yield publishing
    publishing.close()


def resident() -> float:
    """Return the memory that this process has, MB."""
    line = next(line for line in SELF.read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


@pytest.mark.parametrize("length", [0, 400, 4000])
def test_a_flood_of_subscriptions_is_cut_off_and_told(publishing, length):
    before = resident() if SELF.exists() else 0.0
    with program(FLOOD, publishing.url, 100_000, length) as flood:
        # a topic that is too long ends the connection before it is counted
        until(
            lambda: length >= publisher_socket.MAX_SUBSCRIPTION or publishing.sink.fault, lambda: publishing.send(10)
        )
        flood.kill()
        flood.wait()
    publishing.comes_again()
    # of what was asked for little is kept: 100 000 topics of 412 bytes would be gigabytes in ZeroMQ
    assert publishing.asked < 2 * publisher_socket.MAX_BYTES
    # who speaks was never held up by it
    assert publishing.slowest < 0.5
    assert ("asked for too many topics" in publishing.sink.fault) is (length < publisher_socket.MAX_SUBSCRIPTION)
    if SELF.exists():
        assert resident() - before < 400.0


MANY = """
import sys, zmq
with zmq.Context() as context:
    sockets = [context.socket(zmq.SUB) for _ in range(int(sys.argv[2]))]
    for number, socket in enumerate(sockets):
        socket.linger = 0
        socket.connect(sys.argv[1])
        for i in range(200):
            socket.subscribe(b"%06d%06d" % (number, i) + b"x" * 400)
    print("asked", flush=True)
    sys.stdin.read()
"""


def test_a_flood_from_many_connections_is_cut_off_too(publishing):
    with program(MANY, publishing.url, 20) as flood:
        # none of them asks for too much; all together do
        until(lambda: publishing.sink.fault, lambda: publishing.send(10))
        flood.kill()
        flood.wait()
    publishing.comes_again()
    assert publishing.asked < publisher_socket.MAX_BYTES


def test_a_flood_is_the_business_of_the_process_that_publishes(no_leftovers, counting):
    publishing = Publishing(counting, own_process=True)
    before = resident() if SELF.exists() else 0.0
    with program(FLOOD, publishing.url, 100_000, 400) as flood:
        until(lambda: "asked for too many topics" in publishing.sink.fault, lambda: publishing.send(10))
        flood.kill()
        flood.wait()
    publishing.comes_again()
    assert publishing.slowest < 0.5
    if SELF.exists():
        assert resident() - before < 50.0
    publishing.close()


def test_descriptors_of_peers_are_nobodys_business(publishing):
    """A descriptor that is a file's by the time a subscription is looked at ends nothing."""
    with contextlib.ExitStack() as stack, zmq.Context() as context:
        for number in range(50):
            with context.socket(zmq.SUB) as client:
                client.linger = 0
                client.subscribe(b"topic %d" % number)
                client.connect(publishing.url)
                publishing.send(5)
            stack.enter_context(Path(os.devnull).open())
        publishing.all_came()


def test_one_that_changes_its_mind_often_is_not_cut_off(publishing):
    with zmq.Context() as context, context.socket(zmq.SUB) as client:
        client.linger = client.sndhwm = 0
        client.connect(publishing.url)
        for number in range(2 * publisher_socket.MAX_BYTES // 400):
            client.subscribe(b"%0400d" % number)
            client.unsubscribe(b"%0400d" % number)
    publishing.send(10)
    publishing.all_came()
    assert not publishing.sink.fault


def test_who_comes_late_has_as_much_room_as_who_came_first(no_leftovers):
    outlet = PublisherSocket("tcp://127.0.0.1:*", queue_seconds=5.0)
    for _ in range(500):
        outlet.send([b"t", bytes(1000)])
    with zmq.Context() as context, context.socket(zmq.SUB) as late:
        late.linger, late.rcvhwm, late.rcvbuf = 0, 10, 4096
        late.subscribe(b"t")
        late.connect(outlet.url)
        until(lambda: outlet.prefixes)
        # without a pause for anything to go: more than the system's own buffers take
        for number in range(1900):
            outlet.send([b"t", b"%d" % number, bytes(20_000)])
        late.rcvtimeo = 10_000
        assert [int(late.recv_multipart()[1]) for _ in range(1900)] == list(range(1900))
    outlet.close()


def test_clients_that_come_and_go_are_not_cut_off(publishing):
    with zmq.Context() as context:
        for _ in range(60):
            with context.socket(zmq.SUB) as client:
                client.linger = 0
                for kind in range(8):
                    client.subscribe(b"synchroscope/1/%d/" % kind)
                client.connect(publishing.url)
                publishing.send(5)
    publishing.all_came()
    assert not publishing.sink.fault


def test_one_that_never_reads_and_one_that_is_stopped_lose_their_own_only(publishing):
    with program(STALL, publishing.url) as stalled, program(STALL, publishing.url) as stopped:
        for each in (stalled, stopped):
            deadline = monotonic() + TIMEOUT
            os.set_blocking(each.stdout.fileno(), False)
            while not each.stdout.read():
                assert monotonic() < deadline
                publishing.send(1)
        stopped.send_signal(signal.SIGSTOP)
        before = resident() if SELF.exists() else 0.0
        # none of these is on its way any more when others are counted
        publishing.all_came()
        publishing._first = publishing._sent
        publishing._got.clear()
        # 50 kB each: at most 2000 of them wait for each of the two
        for _ in range(4000):
            publishing.send(1, 2000)
            publishing._take(0.001)
        publishing.all_came(2000)
        if SELF.exists():
            assert resident() - before < 400.0


GARBAGE = [
    b"",
    b"GET / HTTP/1.1\r\n\r\n",
    b"\xff" + bytes(8) + b"\x7f",
    b"\xff" + bytes(8) + b"\x7f\x03\x01CURVE",
    random.Random(1).randbytes(300),
]


def test_garbage_and_connections_that_say_nothing_change_nothing(publishing):
    address = ("127.0.0.1", int(publishing.url.rpartition(":")[2]))
    with contextlib.ExitStack() as stack:
        for count in range(300):
            stranger = stack.enter_context(socket.create_connection(address))
            with contextlib.suppress(OSError):
                stranger.sendall(GARBAGE[count % len(GARBAGE)])
            publishing.send(2)
        publishing.send(200)
    publishing.all_came()


def test_thousands_of_connections_change_nothing(publishing):
    address = ("127.0.0.1", int(publishing.url.rpartition(":")[2]))
    for _ in range(3000):
        # at once gone again, with a reset
        with socket.create_connection(address) as stranger:
            stranger.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        publishing.send(1)
    publishing.all_came()
    # and whoever comes now is served
    late = ResultSubscriber(publishing.url, kinds=("signals",))
    until(lambda: late.receive(0.01), lambda: publishing.send(1))
    late.close()


def test_a_rig_may_not_begin_anew_as_often_as_it_likes(counting):
    now = [0.0]
    limiter = RestartLimiter(lambda: now[0])
    rows = len(counting(0))
    assert [limiter.allow(counting(0)) for _ in range(60)] == [True] * 50 + [False] * 10
    assert limiter.take_rejected() == (10, 10 * rows) and limiter.take_rejected() == (0, 0)
    now[0] += 1.0
    assert [limiter.allow(counting(0)) for _ in range(3)] == [True, True, False]
    # it is told again, once a second
    assert limiter.take_rejected() == (1, rows)
    # with other channels: one was counted at first, when nothing was known
    now[0] += 30.0
    others = [counting(0, rig=f"rig-{number}") for number in range(30)]
    assert [limiter.allow(other) for other in others] == [True] * 19 + [False] * 11
    now[0] += 60.0
    assert [limiter.allow(other) for other in others[:2]] == [True, False]


def test_a_subscription_that_a_send_has_noticed_is_read_although_the_descriptor_is_silent():
    """The order of `forward`: send, maintain, and only then wait for the descriptor."""
    outlet, poller = PublisherSocket("tcp://127.0.0.1:*", queue_seconds=1.0), select.poll()
    with zmq.Context() as context, context.socket(zmq.SUB) as subscriber:
        subscriber.connect(outlet.url)
        for number in range(200):
            subscriber.subscribe(topic := b"%d" % number)
            while topic not in outlet._subscriptions.prefixes:
                outlet.send([b"another topic"])
                outlet.maintain()
                if outlet.descriptor >= 0 and topic not in outlet._subscriptions.prefixes:
                    poller.register(outlet.descriptor, select.POLLIN)
                    assert poller.poll(1000.0 * TIMEOUT)
    outlet.close()
