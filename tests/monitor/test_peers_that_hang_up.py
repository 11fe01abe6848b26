"""What a peer says last, and how it goes, never ends the process: libzmq asserts what a full queue makes untrue."""

from __future__ import annotations

import contextlib
import re
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from time import monotonic, sleep

import pytest

from monitor.messages.blocks import EventKind, SignalBlock
from monitor.messages.health import Health
from monitor.transport.base import TransportError
from monitor.transport.zeromq.results import ResultPublisher, ResultSubscriber
from monitor.transport.zeromq.signals import SignalPublisher, SignalSubscriber

TIMEOUT = 30.0

HOLDER = """
import sys
from time import sleep
from monitor.messages.blocks import EventKind, SignalBlock
from monitor.messages.health import Health
from monitor.transport.zeromq.signals import SignalPublisher
from monitor.transport.zeromq.requests import ZmqRequestServer
from monitor.transport.zeromq.results import ResultPublisher
from monitor.transport.zeromq.signals import SignalSubscriber

ANY, role, url = "tcp://127.0.0.1:*", *sys.argv[1:]
held = {
    "bound source": lambda: SignalSubscriber(bind=[ANY], queue_seconds=0.005),
    "connected source": lambda: SignalSubscriber([url], queue_seconds=0.005),
    "requests": lambda: ZmqRequestServer(ANY),
    "results": lambda: ResultPublisher(ANY, own_process=True),
    "rig": lambda: SignalPublisher(ANY),
    "connected rig": lambda: SignalPublisher(connect=url),
}[role]()
print(held.endpoints[0] if "source" in role else held.endpoint, flush=True)
said = 0
for line in sys.stdin:
    # behind with its work since the last line; now it catches up
    if "source" in role:
        while items := held.receive(0.2):
            said += sum(item.count for item in items)
    elif role == "requests":
        for _ in range(20):
            held.serve(print)
            sleep(0.01)
        said = held.refused
    elif role == "results":
        held.health(Health())
        sleep(0.02)
    else:
        held._socket.send([b"topic", b"body"])
    print(said, flush=True)
held.close()
"""

KINDS = {"bound source": b"PUB", "connected source": b"PUB", "requests": b"DEALER"}


class Peer:
    """A connection that speaks ZMTP as it likes."""

    def __init__(self, connection: socket.socket, kind: bytes) -> None:
        self._socket = connection
        connection.settimeout(TIMEOUT)
        connection.sendall(b"\xff" + bytes(8) + b"\x7f\x03\x01" + b"NULL".ljust(20, b"\0") + bytes(32))
        left = 64
        while left:
            left -= len(connection.recv(left))
        self.send(b"\x05READY\x0bSocket-Type" + struct.pack(">I", len(kind)) + kind, flags=4)
        # the other's own, after which all counts
        head = connection.recv(2)
        left = head[1]
        while left:
            left -= len(connection.recv(left))

    def send(self, body: bytes, flags: int = 0) -> None:
        """Send one frame."""
        self._socket.sendall(bytes([flags, len(body)]) + body)

    def burst(self, bodies: Iterator[bytes], every: int) -> None:
        """Send frames at once, with a PING after so many."""
        text = b""
        for number, body in enumerate(bodies):
            text += bytes([0, len(body)]) + body
            if number % every == every - 1:
                text += b"\x04\x07\x04PING\x00\x00"
        with contextlib.suppress(OSError):
            self._socket.sendall(text)

    def reset(self) -> None:
        """Go in the rudest way."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._socket.close()


def connected(address: tuple[str, int]) -> socket.socket:
    """Connect, to a process that may be starting anew."""
    deadline = monotonic() + TIMEOUT
    while True:
        with contextlib.suppress(ConnectionRefusedError):
            return socket.create_connection(address)
        assert monotonic() < deadline
        sleep(0.02)


def greeted(connect: Callable[[], socket.socket], kind: bytes) -> Peer:
    """Return a peer; a process that is just being ended is left, and the next one asked."""
    deadline = monotonic() + TIMEOUT
    while True:
        connection = connect()
        try:
            return Peer(connection, kind)
        except ConnectionResetError:
            connection.close()
            assert monotonic() < deadline


@contextlib.contextmanager
def held(role: str) -> Iterator[tuple[subprocess.Popen[str], socket.socket | None, tuple[str, int]]]:
    """Run a program that holds sockets of this role; it ends well in the end."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0))) if "connected" in role else None
        url = f"tcp://127.0.0.1:{server.getsockname()[1]}" if server else ""
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = stack.enter_context(subprocess.Popen([sys.executable, "-c", HOLDER, role, url], text=True, **pipes))
        stack.callback(process.kill)
        port = int(process.stdout.readline().rpartition(":")[2])
        yield process, server, ("127.0.0.1", port)
        _, err = process.communicate(timeout=TIMEOUT)
        # what the process that publishes says as it dies is not ours
        assert (process.returncode, err if role != "results" else "") == (0, "")


@pytest.mark.parametrize("role", ["bound source", "connected source", "requests", "results", "rig", "connected rig"])
def test_a_peer_that_pings_and_resets_while_we_are_behind_ends_nothing(role):
    with held(role) as (process, server, address):
        # one that publishes is started anew each time
        for turn in range(3 if role == "results" else 10):
            peer = greeted(lambda: server.accept()[0] if server else connected(address), KINDS.get(role, b"SUB"))
            # ten times more than may wait, and PINGs among them
            peer.burst((b"\x01 %d of %d" % (turn, number) for number in range(200)), every=3)
            sleep(0.05)
            peer.reset()
            sleep(0.02)
            process.stdin.write("\n")
            process.stdin.flush()
            assert process.stdout.readline()


def test_not_one_message_is_lost_that_came_before_the_reset():
    with held("bound source") as (process, _, address):
        peer = Peer(socket.create_connection(address), b"PUB")
        peer.burst((b"{} %d" % number for number in range(5000)), every=1000)
        # the kernel keeps nothing of it any more once it has been reset
        sleep(0.5)
        peer.reset()
        process.stdin.write("\n\n")
        process.stdin.flush()
        deadline, said = monotonic() + TIMEOUT, 0
        while said < 5000:
            assert monotonic() < deadline
            process.stdin.write("\n")
            process.stdin.flush()
            said = int(process.stdout.readline())
        assert said == 5000


def test_who_publishes_elsewhere_goes_on_when_that_is_killed(gather):
    sink = ResultPublisher("tcp://127.0.0.1:*", own_process=True)
    client = ResultSubscriber(sink.endpoint, kinds=["health"])
    url = sink.endpoint
    for number in range(2):
        sent = Health(rig=f"rig {number}")
        gather(client, lambda found, sent=sent: sent in found, 30.0, lambda sent=sent: sink.health(sent))
        assert bool(sink.fault) is bool(number)
        sink._publisher._publisher._process.kill()
    assert sink.endpoint == url
    assert "had to be started again (1 times)" in sink.fault
    client.close()
    sink.close()


@pytest.mark.usefixtures("no_leftovers")
def test_who_publishes_elsewhere_delivers_what_was_said_last_and_leaves_nothing(gather):
    sink = ResultPublisher("tcp://127.0.0.1:*", own_process=True)
    client = ResultSubscriber(sink.endpoint, kinds=["health"])
    gather(client, bool, meanwhile=lambda: sink.health(Health(rig="first")))
    for number in range(200):
        sink.health(Health(rig=f"rig {number}"))
    sink.close()
    found = gather(client, lambda found: Health(rig="rig 199") in found)
    assert [each.rig for each in found if each.rig.startswith("rig")] == [f"rig {number}" for number in range(200)]
    client.close()


@pytest.mark.parametrize(("bind", "why"), [("tcp://*:*", "--insecure"), ("5555", "not an endpoint")])
def test_an_endpoint_that_cannot_be_had_elsewhere_is_told_here(bind, why):
    with pytest.raises(TransportError, match=why):
        ResultPublisher(bind, own_process=True)


def test_who_sends_faster_than_can_be_read_is_cut_off_and_others_come_again(monkeypatch, counting, gather):
    monkeypatch.setattr("monitor.transport.zeromq.subscriber._FLOOD_LIMIT", -1.0)
    monkeypatch.setattr("monitor.transport.zeromq.subscriber._READ_BATCH", 5)
    source = SignalSubscriber(bind=["tcp://127.0.0.1:*"])
    (url,) = source.endpoints
    host, port = url.removeprefix("tcp://").split(":")
    peer = Peer(socket.create_connection((host, int(port))), b"PUB")
    peer.burst((b"{} %d" % number for number in range(5000)), every=5000)
    # on a busy machine some of the messages are read, and refused, before
    told = re.compile(f"{url}: messages come faster than they can be read, [0-9,]+ in .*")
    gather(source, lambda found: any(e.kind is EventKind.REJECTED and told.fullmatch(e.detail) for e in found))
    peer.reset()
    rig = SignalPublisher(connect=url)
    blocks: list[SignalBlock] = []
    deadline = monotonic() + TIMEOUT
    while not blocks:
        assert monotonic() < deadline
        rig.send(counting(0))
        blocks += [item for item in source.receive(0.05) if isinstance(item, SignalBlock)]
    rig.close()
    source.close()
