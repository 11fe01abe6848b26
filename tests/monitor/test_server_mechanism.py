"""What a publisher wants for security, as it greets: over real sockets, and from those who speak something else."""

import socket
import threading
from contextlib import suppress

import pytest
import zmq

from monitor.transport.zeromq.endpoint import server_mechanism


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
