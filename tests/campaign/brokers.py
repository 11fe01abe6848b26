"""Brokers that are away, late, frozen or hostile: each transition of an alarm once and in order, or announced."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import pairwise
from time import monotonic, sleep

from monitor.messages.alarms import AlarmReport, Transition
from monitor.messages.health import BrokerStatus, Health
from monitor.recording import RunReader
from monitor.transport.zeromq.results import ResultSubscriber
from tests.campaign.bench import Bench, Trial
from tests.e2e.running import HangError, Running
from tests.e2e.test_mqtt import Lab
from tests.monitor.mqtt.mosquitto import PROGRAM

_FULL, _SHORT = 8, 1
_SETTLED = 60.0  # s that a broker has to hear all


def trials(short: bool) -> list[Trial]:
    """Return what is tried; nothing where there is no broker."""
    if PROGRAM is None:
        return []
    ways: dict[str, Callable[[Bench], None]] = {
        "late": partial(interrupt, how="late"),
        "stopped": partial(interrupt, how="stopped"),
        "killed": partial(interrupt, how="killed"),
        "frozen": partial(interrupt, how="frozen"),
        "absent": partial(do_without, how="absent"),
        "wrong-password": partial(do_without, how="wrong password"),
        "silent": partial(do_without, how="silent"),
        "garbage": partial(do_without, how="garbage"),
        "disconnecting": partial(do_without, how="disconnecting"),
        "half-a-word": partial(do_without, how="half a word"),
    }
    count = _SHORT if short else _FULL
    return [Trial(f"brokers/{name}-{number}", run) for name, run in ways.items() for number in range(count)]


class Truth:
    """What a service published of its alarms and of its broker, by way of ZeroMQ."""

    def __init__(self, bench: Bench, service: Running) -> None:
        self._client = ResultSubscriber(service.results, kinds=("alarms", "health"))
        bench.stack.callback(self._client.close)
        self.transitions: list[Transition] = []
        self.broker = BrokerStatus()
        deadline = monotonic() + 30.0
        while not self.listen(0.1):
            if monotonic() > deadline:
                raise HangError("the service publishes nothing")

    def listen(self, timeout: float = 0.0) -> int:
        """Take what has come; return how much."""
        found = self._client.receive(timeout)
        for item in found:
            if isinstance(item, AlarmReport):
                self.transitions += item.transitions
            elif isinstance(item, Health):
                self.broker = item.broker
        return len(found)


def lab_of(bench: Bench) -> Lab:
    """Make a broker and a rig that are left in order."""
    lab = Lab(bench.folder, bench.start)
    bench.stack.callback(lab.close)
    return lab


def begin(bench: Bench, lab: Lab, **settings: object) -> tuple[Running, Truth]:
    """Start a service that records and tells the broker; wait until it hears the rig."""
    service = lab.service("--rig", "hall/1", "--record", bench.folder / "run.h5", **settings)
    truth = Truth(bench, service)
    if not lab.rig.wait_for_subscriber(60.0):
        raise HangError("the service does not hear the rig")
    return service, truth


def alarm(bench: Bench, lab: Lab, truth: Truth, seconds: float) -> None:
    """Let an alarm come and go for so long."""
    end, error = monotonic() + seconds, 1.0
    while monotonic() < end:
        lab.move(bench.chance.choice((6, 12)), error)
        error = 1.0 - error
        truth.listen()


def interrupt(bench: Bench, *, how: str) -> None:
    """Let the broker be away for a while: who is subscribed gets every transition once and in order."""
    lab = lab_of(bench)
    watcher = lab.watch("synchroscope/#", lasting="display")
    if how == "late":
        lab.broker.stop()
    service, truth = begin(bench, lab)
    alarm(bench, lab, truth, bench.chance.uniform(0.5, 1.5))
    if how != "late":
        # nothing is on its way to the watcher, which the end of the broker would let come twice
        wait_for_all(watcher, lab, truth)
        watcher.settle()
    bench.tally.tried += 1
    match how:
        case "stopped":
            lab.broker.stop()
        case "killed":
            sleep(1.5)  # a broker that is killed keeps what it has saved
            lab.broker._process.kill()
            lab.broker._process.wait()
        case "frozen":
            lab.broker.freeze()
    alarm(bench, lab, truth, bench.chance.uniform(1.0, 4.0))
    if how == "frozen":
        lab.broker.thaw()
    else:
        lab.broker.start()
    alarm(bench, lab, truth, 1.0)
    with suppress(HangError):
        wait_for_all(watcher, lab, truth)
    numbers = [each["number"] for each in watcher.transitions()]
    expected = [each.number for each in truth.transitions]
    bench.tally.largest("transitions of alarms in one trial", len(expected))
    missing = set(expected) - set(numbers)
    bench.tally.unannounced += max(0, len(missing) - truth.broker.dropped)
    if missing or truth.broker.dropped:
        bench.fault(f"{len(missing)} of {len(expected)} transitions did not come, {truth.broker}: {service.err}")
    bench.check(all(a <= b for a, b in pairwise(numbers)), f"not in order: {numbers}")
    twice = len(numbers) - len(set(numbers))
    bench.tally.largest("transitions that came twice in one trial", twice)
    # of QoS 1 no more is promised where a connection breaks; where nothing was on its way, nothing comes twice
    bench.check(not twice or how == "frozen", f"{twice} transitions came twice: {numbers}")
    end_whole(bench, lab, service)


def wait_for_all(watcher, lab: Lab, truth: Truth) -> None:
    """Wait until the watcher has heard every transition that the service has published."""
    deadline = monotonic() + _SETTLED
    while {each["number"] for each in watcher.transitions()} < {each.number for each in truth.transitions}:
        truth.listen(0.05)
        if monotonic() > deadline:
            raise HangError(f"transitions do not reach the watcher: {truth.broker}")


def end_whole(bench: Bench, lab: Lab, service: Running) -> None:
    """Stop the service; every sample of the rig is in its file."""
    sleep(0.5)
    bench.send(service, signal.SIGTERM)
    service.wait(0)
    with RunReader(bench.folder / "run.h5") as run:
        bench.tally.kept += run.n_samples
        lost = lab.sent - run.n_samples
        if lost:
            bench.tally.unannounced += lost
            bench.fault(f"{run.n_samples} of {lab.sent} samples: {service.err}")
        bench.check(run.outcome == "clean", f"outcome {run.outcome}")


def do_without(bench: Bench, *, how: str) -> None:
    """Let there be no broker, or one that is of no use: the service records, says so, and ends in time."""
    lab = lab_of(bench)
    settings: dict[str, object] = {}
    bench.tally.tried += 1
    if how == "absent":
        lab.broker.stop()
    elif how == "wrong password":
        word = bench.folder / "wrong"
        word.write_text("hammer\n")
        word.chmod(0o600)
        settings["password_file"] = str(word)
    else:
        hostile = HostileBroker(how)
        bench.stack.callback(hostile.close)
        # in plain, so that it is the protocol that is broken, and not the encryption
        settings = {"port": hostile.port, "tls": False, "ca": "", "username": "", "password_file": ""}
    service, truth = begin(bench, lab, **settings)
    alarm(bench, lab, truth, bench.chance.uniform(3.0, 8.0))
    truth.listen(1.0)
    waits = truth.broker.waiting + truth.broker.dropped
    bench.check(truth.broker.state == "away", f"the broker is said to be {truth.broker}")
    bench.check(waits > 0 or not truth.transitions, f"{len(truth.transitions)} transitions, but {truth.broker}")
    end_whole(bench, lab, service)


class HostileBroker:
    """Accepts connections, and does one thing with each.

    Parameters
    ----------
    how : it is silent, says garbage, is disconnecting at once, or begins a word and stops.
    """

    def __init__(self, how: str) -> None:
        self._how = how
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._server.getsockname()[1])
        self._open: list[socket.socket] = []
        threading.Thread(target=self._run, name="broker", daemon=True).start()

    def _run(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._server.accept()
                with suppress(OSError):
                    self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        if self._how == "disconnecting":
            connection.close()
            return
        self._open.append(connection)
        if self._how == "garbage":
            connection.sendall(bytes(range(256)) * 8)
        elif self._how == "half a word":
            # the beginning of an answer to a connection
            connection.sendall(b"\x20\x02")

    def close(self) -> None:
        """Leave no socket behind."""
        for each in (self._server, *self._open):
            each.close()
