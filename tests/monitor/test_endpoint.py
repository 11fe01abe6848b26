"""Endpoints: which are well formed, which can be used, and what mechanism a server asks for."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

import pytest
import zmq

from monitor.transport.base import TransportError
from monitor.transport.zeromq import endpoint
from monitor.transport.zeromq.endpoint import server_mechanism
from monitor.transport.zeromq.results import ResultPublisher, ResultSubscriber
from monitor.transport.zeromq.signals import SignalPublisher, SignalSubscriber

pytestmark = pytest.mark.usefixtures("no_leftovers")

MALFORMED = [
    "",
    "5555",
    "127.0.0.1:5555",
    "tcp://",
    "tcp://127.0.0.1",
    "tcp://127.0.0.1:",
    "tcp://127.0.0.1:port",
    "tcp://127.0.0.1:99999",
    "tcp://127.0.0.1:999999",
    "tcp://127.0.0.1:5555/path",
    "tcp://a b:5555",
    "tcp://[::1:5555",
    "udp://127.0.0.1:5555",
    "http://127.0.0.1:5555",
    "ipc://",
    "tcp://127.0.0.1:5555\n",
]


@pytest.mark.parametrize("url", MALFORMED)
@pytest.mark.parametrize("how", ["connect", "bind"])
def test_a_malformed_endpoint_is_told_in_one_line(url, how):
    with pytest.raises(TransportError) as caught:
        SignalSubscriber(**{how: [url]})
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("url", ["tcp://127.0.0.1:*", "tcp://127.0.0.1:0", "tcp://*:5555"])
def test_a_connection_needs_one_host_and_one_port(url):
    with pytest.raises(TransportError, match="only a bind"):
        ResultSubscriber(url)


def test_a_port_in_use_names_the_port_and_the_way_out():
    with ZmqContext() as context:
        taken = context.socket(zmq.PUB)
        port = taken.bind_to_random_port("tcp://127.0.0.1")
        url = f"tcp://127.0.0.1:{port}"
        for make in (
            lambda: SignalSubscriber(bind=[url]),
            lambda: ResultPublisher(url),
            lambda: SignalPublisher(url),
        ):
            with pytest.raises(TransportError) as caught:
                make()
            text = f"{url} is in use: stop the other program or choose another"
            assert str(caught.value) == text


def test_an_address_of_another_machine_cannot_be_bound():
    with pytest.raises(TransportError, match="not an address of this machine"):
        SignalSubscriber(bind=["tcp://192.0.2.1:5555"], insecure=True)


def test_an_ipc_path_without_its_folder_is_told(tmp_path):
    with pytest.raises(TransportError, match=r"folder does not exist|cannot be used"):
        SignalSubscriber(bind=[f"ipc://{tmp_path}/nowhere/socket"])


@pytest.mark.parametrize("url", ["tcp://*:*", "tcp://0.0.0.0:*", "tcp://192.0.2.1:*", "tcp://eth0:*"])
def test_other_machines_are_kept_out_unless_said(url):
    for make in (lambda: SignalSubscriber(bind=[url]), lambda: ResultPublisher(url), lambda: SignalPublisher(url)):
        with pytest.raises(TransportError, match="--insecure"):
            make()


def test_insecure_opens_to_other_machines():
    sink = ResultPublisher("tcp://*:*", insecure=True)
    assert sink.endpoint.startswith("tcp://0.0.0.0:")
    sink.close()


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("tcp://127.0.0.1:1", True),
        ("tcp://127.9.9.9:1", True),
        ("tcp://localhost:1", True),
        ("tcp://[::1]:1", True),
        ("ipc:///tmp/x", True),
        ("tcp://[::]:1", False),
        ("tcp://*:1", False),
        ("tcp://10.0.0.1:1", False),
    ],
)
def test_what_is_local(url, local):
    assert endpoint.is_local(url) is local


def test_nothing_to_listen_to_is_told():
    with pytest.raises(TransportError, match="nothing to listen to"):
        SignalSubscriber()


def test_a_publisher_binds_or_connects():
    for arguments in ({}, {"bind": "tcp://127.0.0.1:*", "connect": "tcp://127.0.0.1:5555"}):
        with pytest.raises(TransportError, match="one of the two"):
            SignalPublisher(**arguments)


def test_a_bad_second_endpoint_releases_the_first():
    source = SignalSubscriber(bind=["tcp://127.0.0.1:*"])
    (url,) = source.endpoints
    source.close()
    with pytest.raises(TransportError):
        SignalSubscriber(bind=[url], connect=["nonsense"])
    again = SignalSubscriber(bind=[url])
    assert again.endpoints == (url,)
    again.close()


def test_it_runs_in_a_context_of_the_caller(counting, subscribed, gather):
    with ZmqContext() as context:
        publisher = SignalPublisher("inproc://signals", context=context)
        source = SignalSubscriber(["inproc://signals"], context=context)
        subscribed(publisher, source)
        publisher.send(counting(5))
        (block,) = gather(source, bool)
        assert block.index == 5
        source.close()
        publisher.close()
        assert not context.closed


class ZmqContext:
    def __enter__(self):
        self.context = zmq.Context()
        return self.context

    def __exit__(self, *_):
        self.context.destroy(linger=0)


@pytest.fixture
def bound():
    with zmq.Context() as context, context.socket(zmq.PUB) as publisher:
        publisher.setsockopt(zmq.LINGER, 0)

        def bind(**options):
            for name, value in options.items():
                setattr(publisher, name, value)
            publisher.bind("tcp://127.0.0.1:*")
            return publisher.getsockopt_string(zmq.LAST_ENDPOINT)

        yield bind


def test_one_without_keys(bound):
    assert server_mechanism(bound()) == "NULL"


def test_one_that_asks_for_keys_says_so_every_time(bound):
    public, secret = zmq.curve_keypair()
    url = bound(curve_server=True, curve_publickey=public, curve_secretkey=secret)
    assert [server_mechanism(url) for _ in range(20)] == 20 * ["CURVE"]


def test_one_that_asks_for_a_password(bound):
    assert server_mechanism(bound(plain_server=True)) == "PLAIN"


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", bytes(64), b"\xff" * 64, b"\xff" * 20])
def test_one_that_speaks_something_else_wants_nothing(answer):
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            connection, _ = server.accept()
            with connection:
                connection.recv(64)
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        assert server_mechanism(f"tcp://127.0.0.1:{server.getsockname()[1]}") == ""
        thread.join()


def test_one_that_says_a_byte_now_and_then_is_not_waited_for():
    with socket.create_server(("127.0.0.1", 0)) as server:
        over = threading.Event()
        said = []

        def serve():
            connection, _ = server.accept()
            with connection, suppress(OSError):
                while len(said) < 64 and not over.wait(0.02):
                    connection.sendall(b"\xff")
                    said.append(1)

        thread = threading.Thread(target=serve)
        thread.start()
        assert server_mechanism(f"tcp://127.0.0.1:{server.getsockname()[1]}", 0.1) == ""
        over.set()
        thread.join()
        # it had more to say
        assert len(said) < 64


def test_a_name_that_is_none():
    assert server_mechanism(f"tcp://{'x' * 64}.lab:5555") == ""


def test_one_that_says_nothing_or_is_not_there():
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        assert server_mechanism(url, 0.05) == ""
    assert server_mechanism(url) == ""
    assert server_mechanism("ipc:///nowhere") == ""
