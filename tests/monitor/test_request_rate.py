"""How many requests a request server carries out, by a clock that stands still until it is moved."""

from __future__ import annotations

from collections.abc import Iterator
from time import monotonic

import pytest

from monitor.messages.requests import Answer, NoteRequest
from monitor.transport.zeromq.request_client import RequestClient
from monitor.transport.zeromq.request_server import ZmqRequestServer

pytestmark = pytest.mark.usefixtures("no_leftovers")


class Flooded:
    """A request server, one client, and the time."""

    def __init__(self) -> None:
        self.now = 100.0
        self.request_server = ZmqRequestServer("tcp://127.0.0.1:*", clock=lambda: self.now)
        self.clients = [RequestClient(self.request_server.endpoint) for _ in range(2)]
        self.texts: list[str] = []

    def ask(self, number: int, client: int = 0) -> list[Answer]:
        """Return the answers to so many notes, no more of them on their way than the queues have room for."""
        found: list[Answer] = []
        deadline = monotonic() + 10.0
        for place in range(number):
            self.clients[client].send(NoteRequest(text=f"note {place}"))
            while len(found) < place - 8 or (place == number - 1 and len(found) < number):
                assert monotonic() < deadline
                self.request_server.serve(lambda request: self.texts.append(request.text))
                found += self.clients[client].answers(0.002)
        return found

    def close(self) -> None:
        for one in (*self.clients, self.request_server):
            one.close()


@pytest.fixture
def flooded() -> Iterator[Flooded]:
    one = Flooded()
    yield one
    one.close()


def test_fifty_at_once_and_the_others_are_refused_under_their_numbers(flooded) -> None:
    answers = flooded.ask(60)
    assert [answer.ok for answer in answers] == [True] * 50 + [False] * 10
    assert [answer.id for answer in answers] == list(range(1, 61))
    assert answers[-1].reason == "more than 20 requests a second: wait, then send it again"
    assert flooded.texts == [f"note {place}" for place in range(50)]
    assert flooded.request_server.refused == 10


@pytest.mark.parametrize(("pause", "more"), [(0.04, 0), (0.06, 1), (1.01, 20), (1000.0, 50)])
def test_a_pause_gives_back_twenty_a_second_and_fifty_at_most(flooded, pause, more) -> None:
    flooded.ask(50)
    flooded.now += pause
    assert sum(answer.ok for answer in flooded.ask(60)) == more


def test_the_limit_is_of_all_clients_together(flooded) -> None:
    flooded.ask(50)
    (answer,) = flooded.ask(1, client=1)
    assert not answer.ok
    flooded.now += 0.06
    assert flooded.ask(1, client=1) == [Answer(ok=True, id=2)]
