"""Who gets in: real sockets, right and wrong keys, and an authenticator that has died."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic, sleep

import pytest
import zmq

from monitor.messages.blocks import Event, EventKind, SignalBlock
from monitor.messages.health import Health
from monitor.messages.requests import NoteRequest
from monitor.transport.base import TransportError
from monitor.transport.zeromq.allow_list import AllowList, KeyFolder, ZapAuthenticator
from monitor.transport.zeromq.endpoint import host_and_port
from monitor.transport.zeromq.key_files import Keys, client_keys, read_public, service_keys
from monitor.transport.zeromq.requests import RequestClient, ZmqRequestServer
from monitor.transport.zeromq.results import ResultPublisher, ResultSubscriber
from monitor.transport.zeromq.signals import SignalPublisher, SignalSubscriber

pytestmark = pytest.mark.usefixtures("no_leftovers")
LOOPBACK = "tcp://127.0.0.1:*"
TIMEOUT = 20.0


@dataclass
class House:
    """A folder of keys, and a context that is guarded by it."""

    folder: KeyFolder
    keys: Keys
    context: zmq.Context
    authenticator: ZapAuthenticator
    said: list[str]

    def client(self, name: str) -> Keys:
        return client_keys(self.folder.client(name))


@pytest.fixture
def house(no_leftovers, tmp_path: Path) -> Iterator[House]:
    folder = KeyFolder(tmp_path / "keys")
    folder.prepare()
    keys = service_keys(tmp_path / "keys")
    context = zmq.Context()
    said: list[str] = []
    allowed = AllowList(tmp_path / "keys" / "clients", {keys.public: "service"}, said.append)
    authenticator = ZapAuthenticator(context, allowed, said.append)
    yield House(folder, keys, context, authenticator, said)
    authenticator.close()
    context.term()


@pytest.fixture
def sink(house: House) -> Iterator[ResultPublisher]:
    sink = ResultPublisher(LOOPBACK, security=house.keys, context=house.context)
    yield sink
    sink.close(0.0)


def heard(url: str, keys: Keys | None, send: Callable[[], None], enough: Callable[[list], bool] = bool) -> list:
    """Subscribe, and return what came until it was enough."""
    subscriber = ResultSubscriber(url, kinds=("health",), security=keys, stale_after=1.0)
    found: list = []
    deadline = monotonic() + TIMEOUT
    try:
        while not enough(found):
            assert monotonic() < deadline, f"still waiting; so far {found}"
            send()
            found += subscriber.receive(0.05)
    finally:
        subscriber.close()
    return found


def refused(found: list) -> bool:
    """One line came that says so, and nothing else ever."""
    assert all(isinstance(item, Event) and item.kind is EventKind.NOTE for item in found), found
    return bool(found)


def test_the_right_key_gets_in_and_what_it_hears_is_encrypted(house, sink):
    secret = "a word that nobody else may read"
    found = heard(sink.endpoint, house.client("desk"), lambda: sink.health(Health(rig=secret)))
    assert isinstance(found[0], Health) and found[0].rig == secret
    assert heard(sink.endpoint, client_keys(house.folder.secret.parent), lambda: sink.health(Health()))
    assert not house.said


def test_a_key_that_is_not_on_the_list_is_told_so(house, sink):
    desk = house.client("desk")
    house.folder.remove("desk")
    (note,) = heard(sink.endpoint, desk, lambda: sink.health(Health()), refused)
    assert note.detail == f"{sink.endpoint}: refused: this key is not on the list of clients of the server"
    assert any(desk.public.decode() in text for text in house.said)
    assert house.authenticator.refused >= 1


def test_no_key_is_told_so(house, sink):
    note, *_ = heard(sink.endpoint, None, lambda: sink.health(Health()), refused)
    assert "requires keys" in note.detail and "\n" not in note.detail


def test_a_key_is_of_no_use_where_none_is_asked_for(house):
    plain = ResultPublisher(LOOPBACK)

    def named(found: list) -> bool:
        """The cause is certain: where the server closes before its greeting is read, a likely one is told first."""
        return refused(found) and any("no CURVE security" in note.detail for note in found)

    try:
        heard(plain.endpoint, house.client("desk"), lambda: plain.health(Health()), named)
    finally:
        plain.close(0.0)


def test_a_service_that_is_another_is_not_believed(house, sink, tmp_path):
    other = KeyFolder(tmp_path / "other")
    other.prepare()
    desk = replace(house.client("desk"), peer=read_public(other.public))
    note, *_ = heard(sink.endpoint, desk, lambda: sink.health(Health()), refused)
    assert "public key is not the one given here" in note.detail


def test_who_was_removed_is_kept_out_from_the_next_time_on_and_let_in_when_back(house, sink):
    desk = house.client("desk")
    assert heard(sink.endpoint, desk, lambda: sink.health(Health()))
    listed = house.folder.secret.parent / "clients" / "desk.public"
    away = listed.rename(listed.parent.parent / "away")
    heard(sink.endpoint, desk, lambda: sink.health(Health()), refused)

    def send():
        sink.health(Health())
        if house.authenticator.refused >= 2 and away.exists():
            away.rename(listed)

    found = heard(sink.endpoint, desk, send, lambda found: any(isinstance(item, Health) for item in found))
    # the same subscriber: it was refused, went on trying, and is in
    assert isinstance(found[0], Event)


@pytest.mark.parametrize("how", ["closed", "killed", "hangs", "never there"])
def test_without_an_authenticator_nobody_new_gets_in(house, sink, monkeypatch, how):
    desk = house.client("desk")
    staying = ResultSubscriber(sink.endpoint, kinds=("health",), security=desk)
    deadline = monotonic() + TIMEOUT
    while not staying.receive(0.05):
        assert monotonic() < deadline
        sink.health(Health())
    released = threading.Event()
    own = zmq.Context() if how == "never there" else None
    target = sink if own is None else ResultPublisher(LOOPBACK, security=house.keys, context=own)
    if how == "closed":
        house.authenticator.close()
    elif how == "killed":

        def die():
            raise RuntimeError

        monkeypatch.setattr(threading, "excepthook", lambda _: None)
        monkeypatch.setattr(house.authenticator, "_serve", die)
    elif how == "hangs":
        monkeypatch.setattr(house.authenticator, "_answer", lambda _: released.wait(60.0) and [b""] * 6)
    found = heard(target.endpoint, desk, lambda: target.health(Health()), lambda found: refused(found))
    assert len(found) == 1
    if how in ("closed", "killed"):
        assert not house.authenticator.alive
    # and again, for whoever comes later
    heard(target.endpoint, desk, lambda: target.health(Health()), refused)
    heard(target.endpoint, None, lambda: target.health(Health()), refused)
    # who was in before stays
    sink.health(Health(rig="still"))
    while not any(isinstance(item, Health) and item.rig == "still" for item in staying.receive(0.05)):
        assert monotonic() < deadline + TIMEOUT
    staying.close()
    released.set()
    if own is not None:
        target.close(0.0)
        own.term()


def test_a_client_that_cannot_be_judged_is_not_let_in_and_the_next_one_is(house, sink, monkeypatch):
    desk = house.client("desk")
    listed = house.folder.secret.parent / "clients" / "desk.public"
    away = listed.rename(listed.parent.parent / "away")

    def gone(_):
        # who read standard error has gone
        raise BrokenPipeError

    monkeypatch.setattr(house.authenticator, "_log_callback", gone)
    heard(sink.endpoint, desk, lambda: sink.health(Health()), refused)
    with monkeypatch.context() as broken:
        broken.setattr(house.authenticator, "_name", lambda _: 1 / 0)
        heard(sink.endpoint, desk, lambda: sink.health(Health()), refused)
    assert house.authenticator.alive
    away.rename(listed)
    assert heard(sink.endpoint, desk, lambda: sink.health(Health()), lambda found: Health in map(type, found))


def test_bare_zeromq_lets_in_any_key_where_nobody_looks():
    """Why all this is needed: keys alone keep nobody out."""
    public, secret = zmq.curve_keypair()
    with zmq.Context() as context, context.socket(zmq.PUSH) as server, context.socket(zmq.PULL) as client:
        server.linger = client.linger = 0
        server.curve_server, server.curve_secretkey = True, secret
        port = server.bind_to_random_port("tcp://127.0.0.1")
        client.curve_publickey, client.curve_secretkey = zmq.curve_keypair()
        client.curve_serverkey = public
        client.connect(f"tcp://127.0.0.1:{port}")
        server.send(b"x")
        assert client.poll(10_000)


@pytest.mark.parametrize("made", ["sink", "source", "publisher", "request_server"])
def test_other_machines_may_come_with_keys_and_not_without(house, made):
    make = {
        "sink": lambda url, **more: ResultPublisher(url, **more),
        "source": lambda url, **more: SignalSubscriber(bind=[url], **more),
        "publisher": lambda url, **more: SignalPublisher(url, **more),
        "request_server": lambda url, **more: ZmqRequestServer(url, **more),
    }[made]
    with pytest.raises(TransportError) as caught:
        make("tcp://0.0.0.0:*", context=house.context)
    assert "--keys" in str(caught.value) and "--insecure" in str(caught.value)
    make("tcp://0.0.0.0:*", context=house.context, security=house.keys).close()


def test_a_bound_source_takes_signals_from_who_is_listed_only(house, counting, gather, subscribed):
    source = SignalSubscriber(bind=[LOOPBACK], security=house.keys, context=house.context)
    (url,) = source.endpoints
    desk, gone = house.client("desk"), house.client("gone")
    house.folder.remove("gone")
    strangers = [SignalPublisher(connect=url, security=gone), SignalPublisher(connect=url)]
    rig = SignalPublisher(connect=url, security=desk)
    subscribed(rig, source)
    gather(source, lambda _: all(stranger.rejection for stranger in strangers))
    assert "not on the list" in strangers[0].rejection and "requires keys" in strangers[1].rejection
    for stranger in strangers:
        # and it does not go on as if somebody heard it, nor wait for ever
        with pytest.raises(TransportError, match=r"not on the list|requires keys"):
            stranger.send(counting(0, rig="stranger"))
    for index in range(20):
        rig.send(counting(index))
    found = gather(source, lambda found: found and found[-1].index == 19)
    assert [(item.stream.rig, item.index) for item in found] == [("rig", index) for index in range(20)]
    assert not rig.rejection
    for each in (source, rig, *strangers):
        each.close() if each is source else each.close(0.0)


def test_a_rig_with_keys_of_its_own_lets_the_service_in(house, tmp_path, counting, gather, subscribed):
    rig_folder = KeyFolder(tmp_path / "rig")
    rig_folder.prepare()
    rig_folder.admit("laboratory", house.folder.public)
    context = zmq.Context()
    authenticator = ZapAuthenticator(context, AllowList(tmp_path / "rig" / "clients"))
    rig = SignalPublisher(LOOPBACK, security=service_keys(tmp_path / "rig"), context=context)
    keys = service_keys(tmp_path / "keys", rig_folder.public)
    source = SignalSubscriber([rig.endpoint], security=keys, context=house.context)
    subscribed(rig, source)
    rig.send(counting(0))
    (block,) = gather(source, bool)
    assert isinstance(block, SignalBlock)
    source.close()
    rig.close(0.0)
    authenticator.close()
    context.term()


def test_requests_need_the_key_too(house):
    request_server = ZmqRequestServer(LOOPBACK, security=house.keys, context=house.context)
    taken: list = []
    gone = house.client("gone")
    house.folder.remove("gone")
    clients = {
        "desk": RequestClient(request_server.endpoint, security=house.client("desk"), timeout=TIMEOUT),
        "gone": RequestClient(request_server.endpoint, security=gone, timeout=1.0),
        "none": RequestClient(request_server.endpoint, timeout=1.0),
    }
    for name, client in clients.items():
        client.send(NoteRequest(text=name))
    answers: dict[str, list] = {name: [] for name in clients}
    deadline = monotonic() + TIMEOUT
    while not all(answers.values()):
        assert monotonic() < deadline
        request_server.serve(taken.append)
        for name, client in clients.items():
            answers[name] += client.answers(0.01)
    assert {name: found[0].ok for name, found in answers.items()} == {"desk": True, "gone": False, "none": False}
    assert [request.text for request in taken] == ["desk"]
    request_server.close()
    for client in clients.values():
        client.close()


@pytest.mark.parametrize(
    "frames",
    [
        [],
        [b"1.0"],
        [b"1.0", b"1", b"synchroscope", b"127.0.0.1", b"", b"NULL"],
        [b"1.0", b"1", b"other", b"127.0.0.1", b"", b"CURVE", b"k" * 32],
        [b"2.0", b"1", b"synchroscope", b"127.0.0.1", b"", b"CURVE", b"k" * 32],
        [b"1.0", b"1", b"synchroscope", b"\xff", b"", b"CURVE", b"k" * 31],
        [b"1.0", b"1", b"synchroscope", b"\xff", b"", b"CURVE", b"k" * 32],
        [b"1.0", b"1", b"synchroscope", b"127.0.0.1", b"", b"CURVE", b"k" * 32, b"k" * 32],
    ],
)
def test_a_question_that_is_not_understood_is_answered_with_no(house, frames):
    with house.context.socket(zmq.REQ) as asker:
        asker.linger = 0
        asker.connect("inproc://zeromq.zap.01")
        asker.send_multipart(frames or [b""])
        assert asker.poll(10_000)
        version, number, status, *_ = asker.recv_multipart()
    assert (version, status) == (b"1.0", b"400")
    assert number == (frames[1] if len(frames) > 1 else b"")
    assert house.authenticator.alive


class Relay:
    """Passes bytes on between a client and a server, and keeps what the client sent."""

    def __init__(self, url: str) -> None:
        self._server = host_and_port(url)
        self._open = [socket.create_server(("127.0.0.1", 0))]
        self.url = f"tcp://127.0.0.1:{self._open[0].getsockname()[1]}"
        self.sent: list[bytearray] = []
        self._threads: list[threading.Thread] = []
        self._begin(self._accept)

    def _begin(self, what: Callable[..., None], *arguments: object) -> None:
        self._threads.append(threading.Thread(target=what, args=arguments, daemon=True))
        self._threads[-1].start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._open[0].accept()
                server, said = socket.create_connection(self._server), bytearray()
                self._open += [client, server]
                self.sent.append(said)
                self._begin(self._pass_on, client, server, said)
                self._begin(self._pass_on, server, client, bytearray())

    @staticmethod
    def _pass_on(one: socket.socket, other: socket.socket, said: bytearray) -> None:
        with suppress(OSError):
            while part := one.recv(1 << 16):
                said += part
                other.sendall(part)

    def close(self) -> None:
        for each in self._open:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for each in self._open:
            each.close()


def test_a_session_that_is_replayed_byte_for_byte_is_not_heard(house, counting, gather, subscribed):
    desk = house.client("desk")
    with ExitStack() as stack:
        source = SignalSubscriber(bind=[LOOPBACK], security=house.keys, context=house.context)
        stack.callback(source.close)
        relay = Relay(source.endpoints[0])
        stack.callback(relay.close)
        rig = SignalPublisher(connect=relay.url, security=desk)
        stack.callback(rig.close, 0.0)
        subscribed(rig, source)
        for number in range(20):
            rig.send(counting(number))
        heard = gather(source, lambda found: len(found) == 20)
        assert [block.index for block in heard] == list(range(20))
        rig.close(0.0)
        (said,) = [bytes(each) for each in relay.sent if len(each) > 1000]
        # all at once, or little by little, as the server answers
        for size, pause in ((len(said), 0.0), (64, 0.001)):
            stranger = socket.create_connection(host_and_port(source.endpoints[0]), timeout=2.0)
            with stranger, suppress(OSError):
                for start in range(0, len(said), size):
                    stranger.sendall(said[start : start + size])
                    sleep(pause)
                while stranger.recv(1 << 16):
                    pass
        assert not [item for item in source.receive(0.5) if isinstance(item, SignalBlock)]
        # the door is still open for who has the key
        again = SignalPublisher(connect=source.endpoints[0], security=desk)
        stack.callback(again.close, 0.0)
        subscribed(again, source)
        again.send(counting(20))
        assert gather(source, lambda found: any(isinstance(item, SignalBlock) for item in found))[-1].index == 20
