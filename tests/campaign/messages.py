"""A million hostile messages over the real sockets, beside a good stream, of which not a sample may be lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from time import monotonic, sleep

import zmq

from monitor.messages.health import Health
from monitor.transport.zeromq.results import ResultSubscriber
from tests.campaign import hostile_messages
from tests.campaign.bench import Bench, Trial
from tests.campaign.steady import judge_whole, steady
from tests.e2e.running import PATIENCE, HangError

_FULL, _SHORT = 1_000_000, 40_000
_EACH = 50_000
_BATCH = 1000
_ANSWERED = 10.0  # s
_SHARES = {"native": 0.4, "plain": 0.3, "requests": 0.2, "results": 0.1}
GOOD = "good"


def trials(short: bool) -> list[Trial]:
    """Return what is tried: so many messages in all."""
    found = []
    for name, share in _SHARES.items():
        total = int(share * (_SHORT if short else _FULL))
        each = min(total, _EACH)
        run = {"requests": send_requests, "results": send_results}.get(name, partial(send_signals, name=name))
        found += [Trial(f"messages/{name}-{number}", partial(run, count=each)) for number in range(total // each)]
    return found


def send_signals(bench: Bench, *, name: str, count: int) -> None:
    """Send messages to where a service takes signals; the good stream comes by another connection."""
    service, rig = steady(bench, "--rig", GOOD, rig=GOOD)
    make: Callable[..., Iterator[list[bytes]]] = getattr(hostile_messages, name)
    client = ResultSubscriber(service.results, kinds=("health",))
    bench.stack.callback(client.close)
    with zmq.Context() as context, context.socket(zmq.XPUB) as socket:
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.SNDHWM, 0)
        socket.connect(service.listening)
        if not socket.poll(int(1000 * PATIENCE)):
            raise HangError("the service does not subscribe")
        looks = Looks(client)
        for number, message in zip(range(count), make(bench.chance), strict=False):
            socket.send_multipart(message)
            bench.tally.tried += 1
            if number % _BATCH == _BATCH - 1:
                looks.wait_for_quiet()
        looks.wait_for_quiet()
    bench.tally.largest("messages refused in one trial", looks.newest.counts.rejected)
    judge_whole(bench, service, rig, "runs")


class Looks:
    """The newest health of a service.

    Parameters
    ----------
    client : hears it.
    """

    def __init__(self, client: ResultSubscriber) -> None:
        self._client = client
        self.newest = Health()

    def wait_for_quiet(self) -> None:
        """Wait until the service says again how it is, and is not far behind."""
        deadline = monotonic() + PATIENCE
        while monotonic() < deadline:
            looks = [item for item in self._client.receive(0.1) if isinstance(item, Health)]
            if looks:
                self.newest = looks[-1]
                if self.newest.latency < 1.0:
                    return
        raise HangError("the service says nothing, or is far behind, though little is sent")


def send_requests(bench: Bench, *, count: int) -> None:
    """Send requests: each with one frame is answered, whatever it says."""
    service, rig = steady(bench, "--rig", GOOD, rig=GOOD)
    url = service.until(r"requests on (tcp://\S+)")
    expected = answers = 0
    with zmq.Context() as context, context.socket(zmq.DEALER) as socket:
        socket.setsockopt(zmq.LINGER, 0)
        socket.connect(url)
        for number, message in zip(range(count), hostile_messages.requests(bench.chance), strict=False):
            socket.send_multipart(message)
            bench.tally.tried += 1
            expected += 1
            if number % 50 == 49:
                answers += _answered(socket, expected - answers)
    bench.check(answers == expected, f"{answers} answers to {expected} requests")
    judge_whole(bench, service, rig, "runs")


def _answered(socket: zmq.Socket[bytes], wanted: int) -> int:
    found, deadline = 0, monotonic() + _ANSWERED
    while found < wanted and monotonic() < deadline:
        if socket.poll(1000):
            socket.recv_multipart()
            found += 1
    return found


def send_results(bench: Bench, *, count: int) -> None:
    """Send results, health and alarms to a client: it refuses them and goes on."""
    with zmq.Context() as context, context.socket(zmq.XPUB) as socket:
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.SNDHWM, 0)
        port = socket.bind_to_random_port("tcp://127.0.0.1")
        client = ResultSubscriber(f"tcp://127.0.0.1:{port}")
        bench.stack.callback(client.close)
        watch = bench.start("watch", "--connect", f"tcp://127.0.0.1:{port}")
        bench.until(lambda: socket.poll(100), "a client subscribes")
        for number, message in zip(range(count), hostile_messages.results(bench.chance), strict=False):
            socket.send_multipart(message)
            bench.tally.tried += 1
            if number % 200 == 199:
                while client.receive(0.0):
                    pass
        sleep(0.5)
        bench.check(watch.process.poll() is None, f"the client in the terminal ended: {watch.err}")
        with suppress(ProcessLookupError):
            bench.kill(watch)
