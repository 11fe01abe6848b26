"""RigProbe and endpoints as `monitor --check` sees them, over real sockets."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest
import zmq

from monitor.commands.checks import CheckLevel, CheckResult
from monitor.commands.checks.endpoints import sockets
from monitor.commands.checks.rigs import RigProbe
from monitor.commands.security import Guard
from monitor.config import Settings
from monitor.transport.zeromq.key_files import Keys
from monitor.transport.zeromq.requests import ZmqRequestServer
from monitor.transport.zeromq.signals import SignalPublisher

ANY_PORT = "tcp://127.0.0.1:*"
OPEN = Guard(None, None)


@pytest.fixture(autouse=True)
def clean(no_leftovers: None) -> None:
    """Leave no socket and no thread."""


def free_url() -> str:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return f"tcp://127.0.0.1:{taken.getsockname()[1]}"


def heard(rigs: RigProbe, patience: float) -> list[CheckResult]:
    try:
        return list(rigs.listen(patience))
    finally:
        rigs.close()


def rigs_of(insecure: bool = False, **stream: object) -> RigProbe:
    return RigProbe(Settings.model_validate({"stream": stream}).stream, insecure, OPEN)


@contextmanager
def again_and_again(send: Callable[[int], object]) -> Iterator[None]:
    """Send from a thread, a hundred times a second, as rigs do."""
    over = threading.Event()

    def run() -> None:
        turn = 0
        while not over.wait(0.01):
            send(turn)
            turn += 1

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.fixture
def rig(counting) -> Iterator[str]:
    """One that sends for as long as the test lasts."""
    publisher = SignalPublisher(ANY_PORT)
    with again_and_again(lambda turn: publisher.send(counting(turn))):
        yield publisher.endpoint
    publisher.close(linger=0.0)


def test_a_rig_that_sends_is_described_and_one_that_is_off_is_a_warning(rig):
    off = free_url()
    rigs = rigs_of(connect=(rig, off))
    # as long as it takes for the one that sends: the other is waited for to the end
    findings = heard(rigs, 3.0)
    assert [(each.level, each.subject) for each in findings] == [(CheckLevel.OK, "rig"), (CheckLevel.WARN, "rig")]
    assert findings[0].detail == f"{rig}: rig rig, 1000 Hz, 3 channels, 1 actuator, 0 with a force"
    assert findings[1].detail.startswith(f"{off}: nothing is listening there")
    assert [stream.rig for stream in rigs.streams] == ["rig"]


def test_listening_ends_when_all_have_spoken(rig):
    # an hour, if it did not
    assert heard(rigs_of(connect=(rig,)), 3600.0)[0].level is CheckLevel.OK


def test_a_rig_that_connects_is_heard_too(counting):
    rigs = rigs_of(bind=(ANY_PORT,))
    publisher = SignalPublisher(connect=rigs._endpoints[0].source.endpoints[0])
    with again_and_again(lambda turn: publisher.send(counting(turn, rig="north"))):
        findings = heard(rigs, 3600.0)
    publisher.close(linger=0.0)
    assert [each.level for each in findings] == [CheckLevel.OK]
    assert "rig north" in findings[0].detail


def test_who_listens_and_says_nothing_is_told_from_who_is_off():
    publisher = SignalPublisher(ANY_PORT)
    findings = heard(rigs_of(connect=(publisher.endpoint,), rig="south"), 0.2)
    publisher.close(linger=0.0)
    assert [each.level for each in findings] == [CheckLevel.WARN]
    assert "something is listening there, but no signals of rig 'south' were received" in findings[0].detail
    assert "no rig has connected" in heard(rigs_of(bind=(ANY_PORT,)), 0.1)[0].detail


def test_what_cannot_be_read_fails_and_says_why():
    with zmq.Context() as context, context.socket(zmq.PUB) as socket_:
        socket_.setsockopt(zmq.LINGER, 0)
        socket_.bind(ANY_PORT)
        url = socket_.getsockopt_string(zmq.LAST_ENDPOINT)
        with again_and_again(lambda _: socket_.send(b"{")):
            findings = heard(rigs_of(connect=(url,)), 2.0)
    assert [each.level for each in findings] == [CheckLevel.FAIL]
    assert f"{url}: its messages are rejected: " in findings[0].detail


def test_who_does_not_speak_zeromq_fails():
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)

        def greet(_: int) -> None:
            try:
                connection, _address = server.accept()
            except TimeoutError:
                return
            connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n" * 8)
            connection.close()

        with again_and_again(greet):
            findings = heard(rigs_of(connect=(f"tcp://127.0.0.1:{server.getsockname()[1]}",)), 3.0)
    assert [each.level for each in findings] == [CheckLevel.FAIL]
    assert "does not answer like a ZeroMQ publisher" in findings[0].detail


def test_a_rig_that_asks_for_keys_fails_for_who_has_none():
    publisher = SignalPublisher(ANY_PORT, security=Keys(*zmq.curve_keypair()))
    findings = heard(rigs_of(connect=(publisher.endpoint,)), 2.0)
    publisher.close(linger=0.0)
    assert [each.level for each in findings] == [CheckLevel.FAIL]
    assert "the server requires keys, so give --keys" in findings[0].detail


def test_two_rigs_of_which_one_would_be_followed_are_a_warning(rig, counting):
    other = SignalPublisher(ANY_PORT)
    with again_and_again(lambda turn: other.send(counting(turn, rig="other"))):
        findings = heard(rigs_of(connect=(rig, other.endpoint)), 3600.0)
    other.close(linger=0.0)
    assert [each.level for each in findings] == [CheckLevel.OK, CheckLevel.OK, CheckLevel.WARN]
    assert findings[2].detail == "other, rig all send, but only one is monitored: select it with --rig"


def test_endpoints_that_cannot_be_used_fail_beside_the_others(rig):
    findings = heard(rigs_of(connect=("tcp:/x", rig), bind=("tcp://0.0.0.0:*",)), 3600.0)
    levels = [each.level for each in findings]
    assert levels == [CheckLevel.FAIL, CheckLevel.FAIL, CheckLevel.OK]
    assert "without encryption" in findings[0].detail
    assert "'tcp:/x' is not an endpoint" in findings[1].detail


def test_everything_that_is_bound_is_bound_at_once_and_free_again():
    url, feed = free_url(), free_url()
    page = free_url().removeprefix("tcp://")
    given = Settings.model_validate(
        {"results": {"publish": url, "requests": url}, "viewers": {"plotjuggler": feed, "prometheus": page}}
    )
    with ExitStack() as stack:
        findings = list(sockets(given, False, OPEN, stack))
    said = {each.subject: each for each in findings}
    assert {name: each.level for name, each in said.items()} == {
        "results": CheckLevel.OK,
        "requests": CheckLevel.FAIL,
        "plotjuggler": CheckLevel.OK,
        "prometheus": CheckLevel.OK,
    }
    assert said["requests"].detail == f"{url} is in use: stop the other program or choose another"
    for each in (url, feed, f"tcp://{page}"):
        ZmqRequestServer(each).close()


def test_what_is_not_wanted_is_not_bound():
    given = Settings.model_validate({"results": {"publish": ANY_PORT, "requests": "none"}})
    with ExitStack() as stack:
        assert [each.subject for each in sockets(given, False, OPEN, stack)] == ["results"]
