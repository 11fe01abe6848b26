"""Peers that flood, fall silent, hang up rudely, say garbage or come again under their old number."""

from __future__ import annotations

import signal
import socket
import struct
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from time import sleep

import zmq

from monitor.messages.blocks import Stream
from monitor.transport.zeromq.signals import SignalPublisher
from tests.campaign.bench import Bench, Trial, publishing_process
from tests.campaign.numbered_rig import CHANNELS, NumberedRig, numbered
from tests.campaign.programs import STALLED, SUBSCRIBERS
from tests.campaign.steady import judge_whole, steady
from tests.e2e.running import ANY_PORT, Running
from tests.monitor.test_peers_that_hang_up import Peer, connected

_FULL, _SHORT = 8, 1
_GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00NULL" + bytes(48)
_OVERSIZED = b"\x04\x19\x05READY\x0bSocket-Type\x00\x00\x00\x03PUB" + b"\x02" + (1 << 40).to_bytes(8, "big")
_KINDS = {"signals": b"PUB", "requests": b"DEALER", "results": b"SUB"}


def trials(short: bool) -> list[Trial]:
    """Return what is tried."""
    ways: dict[str, Callable[[Bench], None]] = {
        "garbage": say_garbage,
        "half-open": say_nothing,
        "stopped-subscribers": stop_subscribers,
        "subscription-flood": ask_for_topics,
        "request-flood": ask_too_often,
        "same-epoch": partial(come_again, epoch=1),
        "next-epoch": partial(come_again, epoch=2),
        "largest-epoch": partial(forge, epoch=(1 << 63) - 1),
        "far-ahead": partial(forge, ahead=10**12),
        "farthest-ahead": partial(forge, ahead=(1 << 62) - 1000),
        "ahead-again-and-again": partial(forge, ahead=10**9, times=5),
    }
    for kind in _KINDS:
        ways[f"burst-and-reset-{kind}"] = partial(burst_and_reset, kind=kind)
        ways[f"ping-and-reset-{kind}"] = partial(burst_and_reset, kind=kind, pings=True)
    count = _SHORT if short else _FULL
    return [Trial(f"peers/{name}-{number}", run) for name, run in ways.items() for number in range(count)]


def address_of(service: Running, kind: str) -> tuple[str, int]:
    """Return where a service takes signals or requests, or publishes results."""
    urls = {"signals": "listening on", "requests": "requests on", "results": "results on"}
    url = service.until(rf"{urls[kind]} (tcp://[\d.]+:\d+)")
    return "127.0.0.1", int(url.rpartition(":")[2])


def burst_and_reset(bench: Bench, *, kind: str, pings: bool = False) -> None:
    """Send many messages at once and reset the connection, with PINGs that are not answered yet or without."""
    service, rig = steady(bench, "--rig", "rig")
    address = address_of(service, kind)
    # one that knows how may end the process that publishes, and no other: another takes its place
    bench.may_end_publishing = kind == "results"
    for turn in range(10):
        with suppress(OSError):
            peer = Peer(connected(address), _KINDS[kind])
            many = bench.chance.choice((20, 200, 5000))
            bodies = (b"\x01 %d of %d" % (turn, number) for number in range(many))
            peer.burst(bodies, every=bench.chance.choice((3, 50)) if pings else many + 1)
            sleep(bench.chance.choice((0.0, 0.05)))
            peer.reset()
        bench.tally.tried += 1
        sleep(bench.chance.uniform(0.0, 0.1))
    if kind == "results":
        bench.until(lambda: publishing_process(service), "the service publishes again")
    judge_whole(bench, service, rig, "runs")


def say_garbage(bench: Bench) -> None:
    """Send bytes that are not ZeroMQ to every socket, and hang up in every way."""
    service, rig = steady(bench, "--rig", "rig")
    for number in range(90):
        address = address_of(service, list(_KINDS)[number % 3])
        noise = bench.chance.randbytes(bench.chance.randrange(1, 3000))
        said = bench.chance.choice((b"", b"GET / HTTP/1.1\r\n\r\n", _GREETING, _GREETING + _OVERSIZED, noise))
        with suppress(OSError), socket.create_connection(address, timeout=10.0) as connection:
            connection.sendall(said)
            if bench.chance.random() < 0.5:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        bench.tally.tried += 1
    judge_whole(bench, service, rig, "runs")


def say_nothing(bench: Bench) -> None:
    """Connect many times, begin a greeting or not, and stay."""
    service, rig = steady(bench, "--rig", "rig")
    with ExitStack() as stack:
        for number in range(300):
            address = address_of(service, list(_KINDS)[number % 3])
            connection = stack.enter_context(socket.create_connection(address, timeout=10.0))
            with suppress(OSError):
                connection.sendall(_GREETING[: bench.chance.randrange(len(_GREETING))])
            bench.tally.tried += 1
        sleep(bench.chance.uniform(0.0, 8.0))
        judge_whole(bench, service, rig, "runs")


def stop_subscribers(bench: Bench) -> None:
    """Let subscribers take nothing for a while: stopped by a signal, or by themselves."""
    service, rig = steady(bench)
    clients = [bench.python(SUBSCRIBERS, service.results, 5) for _ in range(3)]
    bench.python(STALLED, service.results).until("stalled")
    for client in clients:
        client.until("subscribed")
        bench.send(client, signal.SIGSTOP)
        bench.tally.tried += 1
    sleep(bench.chance.uniform(1.0, 12.0))
    for client in clients[1:]:
        bench.send(client, signal.SIGCONT)
    sleep(1.0)
    judge_whole(bench, service, rig, "runs")


def ask_for_topics(bench: Bench) -> None:
    """Subscribe to more topics than anybody needs."""
    service, rig = steady(bench)
    with zmq.Context() as context, context.socket(zmq.SUB) as flood:
        flood.setsockopt(zmq.LINGER, 0)
        flood.setsockopt(zmq.SNDHWM, 0)
        flood.connect(service.results)
        length = bench.chance.choice((0, 40, 400))
        for number in range(50_000):
            flood.subscribe(b"%012x" % number + b"x" * length)
            bench.tally.tried += 1
        sleep(bench.chance.uniform(1.0, 4.0))
    judge_whole(bench, service, rig, "runs")


def ask_too_often(bench: Bench) -> None:
    """Send requests as fast as possible, and do not wait for the answers."""
    service, rig = steady(bench)
    host, port = address_of(service, "requests")
    with zmq.Context() as context, context.socket(zmq.DEALER) as flood:
        flood.setsockopt(zmq.LINGER, 0)
        flood.setsockopt(zmq.SNDHWM, 0)
        flood.connect(f"tcp://{host}:{port}")
        for number in range(30_000):
            flood.send(b'{"request":"note","text":"flood %d"}' % number)
            bench.tally.tried += 1
        sleep(bench.chance.uniform(1.0, 4.0))
    judge_whole(bench, service, rig, "runs")


def come_again(bench: Bench, *, epoch: int) -> None:
    """Restart the rig, with its old epoch and numbers or with the next; all of both is in the file."""
    service = bench.service("--bind", ANY_PORT, "--record", f"{bench.folder / 'runs'}/", "--once")
    first = NumberedRig(connect=service.listening)
    bench.stack.callback(first.close)
    first.start()
    sleep(bench.chance.uniform(0.5, 2.0))
    first.close(5.0)
    bench.tally.tried += 1
    again = NumberedRig(connect=service.listening, epoch=epoch)
    bench.stack.callback(again.close)
    again.start()
    # so long that a rig under an old epoch is believed
    sleep(bench.chance.uniform(8.0, 10.0))
    judge_whole(bench, service, again, "runs", before=first)


def forge(bench: Bench, *, epoch: int = 1, ahead: int = 0, times: int = 1) -> None:
    """Send one message in the name of the rig from elsewhere; the rig is believed again, and none of its is lost."""
    service, rig = steady(bench)
    sleep(bench.chance.uniform(0.2, 2.0))
    forger = SignalPublisher(connect=service.listening)
    bench.stack.callback(forger.close)
    forger.wait_for_subscriber(20.0)
    stream = Stream("rig", epoch, 1024.0, CHANNELS)
    for number in range(times):
        forger.send(numbered(stream, rig.next + ahead * (number + 1), 16))
        bench.tally.tried += 1
        sleep(bench.chance.uniform(7.0, 9.0))
    judge_whole(bench, service, rig, "runs", said=0)
