"""Requests: what is one, and what a server over real sockets makes of good and hostile ones."""

from __future__ import annotations

import itertools
import json
import unicodedata
from collections.abc import Callable, Iterator
from time import monotonic, sleep

import msgspec
import pytest
import zmq
from hypothesis import given
from hypothesis import strategies as st

from monitor.messages.requests import (
    MAX_NOTE,
    MAX_REQUEST,
    Answer,
    NoteRequest,
    Request,
    RequestError,
    decode_answer,
    decode_request,
    encode,
)
from monitor.recording import layout
from monitor.transport.base import TransportError
from monitor.transport.zeromq.requests import RequestClient, ZmqRequestServer, requests_url
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("no_leftovers")
LINES = st.text(st.characters(categories=("L", "N", "P", "S")), min_size=1, max_size=50)
TIMES = st.none() | st.floats(allow_nan=False, allow_infinity=False)
INDICES = st.none() | st.integers(0, (1 << 62) - 1)
NUMBERS = st.integers(0, 1 << 53)


def refused(payload: bytes) -> RequestError:
    with pytest.raises(RequestError) as caught:
        decode_request(payload)
    text = str(caught.value)
    assert text
    assert text.isprintable()
    assert len(text) <= 240
    return caught.value


@given(LINES, TIMES, INDICES, NUMBERS)
def test_a_note_comes_back_as_it_was_sent(text, time, index, number) -> None:
    note = NoteRequest(text=text, time=time, index=index, id=number)
    assert note.text == text
    assert decode_request(encode(note)) == note


@given(LINES, TIMES, INDICES, NUMBERS)
def test_json_of_another_program_is_the_same_note(text, time, index, number) -> None:
    written = json.dumps({"id": number, "time": time, "request": "note", "index": index, "text": text})
    assert decode_request(written.encode()) == NoteRequest(text=text, time=time, index=index, id=number)


@given(st.booleans(), LINES | st.just(""), NUMBERS)
def test_an_answer_comes_back(ok, reason, number) -> None:
    answer = Answer(ok=ok, reason=reason, id=number)
    assert decode_answer(encode(answer)) == answer
    assert json.loads(encode(answer))["ok"] is ok


def test_the_shortest_forms() -> None:
    assert json.loads(encode(NoteRequest(text="a"))) == {"request": "note", "text": "a"}
    assert encode(Answer(ok=True)) == b'{"ok":true}'


@given(st.text(max_size=60))
def test_a_text_becomes_one_line_without_control_characters(text) -> None:
    try:
        line = NoteRequest(text=text).text
    except ValueError as problem:
        assert "needs a text" in str(problem)
        assert not any(c.isprintable() and not c.isspace() for c in text)
        return
    assert len(line.splitlines()) == 1
    # controls, formats, surrogates, unassigned, separators but the blank
    assert not {unicodedata.category(c) for c in line} & {"Cc", "Cf", "Cs", "Cn", "Zl", "Zp"}
    kept = [c for c in text if c.isprintable() and not c.isspace()]
    assert [c for c in line if c != " "] == kept
    assert NoteRequest(text=line).text == line


def test_white_space_of_any_kind_is_one_blank() -> None:
    assert NoteRequest(text="\tvalve \r\n opened\x00\u2028by hand\x1b[31m\n").text == "valve opened by hand[31m"


@pytest.mark.parametrize(("letter", "most"), [("x", 200), ("ü", 100), ("漢", 66), ("🙂", 50)])
def test_a_note_may_have_as_many_bytes_as_the_run_file_keeps(letter, most) -> None:
    assert MAX_NOTE == layout.DETAIL_BYTES
    assert NoteRequest(text=letter * most).text == letter * most
    with pytest.raises(ValueError, match=rf"{len(letter.encode()) * (most + 1)} bytes: at most 200 are stored"):
        NoteRequest(text=letter * (most + 1))
    assert "at most 200" in str(refused(msgspec.json.encode({"request": "note", "text": letter * (most + 1)})))


@pytest.mark.parametrize("time", [float("nan"), float("inf")])
def test_a_time_is_finite(time) -> None:
    with pytest.raises(ValueError, match="must be finite"):
        NoteRequest(text="a", time=time)


HOSTILE = [
    b"",
    b"\x00",
    b"\xff\xfe",
    b"null",
    b"7",
    b'"note"',
    b"[]",
    b"{}",
    b'{"request":"note"}',
    b'{"text":"a"}',
    b'{"request":7,"text":"a"}',
    b'{"request":"shelve","text":"a"}',
    b'{"request":"note","text":null}',
    b'{"request":"note","text":7}',
    b'{"request":"note","text":""}',
    b'{"request":"note","text":"\\n\\u0007"}',
    b'{"request":"note","text":"\xff"}',
    b'{"request":"note","text":"\\ud800"}',
    b'{"request":"note","text":"a","colour":"red"}',
    b'{"request":"note","text":"a","time":"now"}',
    b'{"request":"note","text":"a","time":NaN}',
    b'{"request":"note","text":"a","time":1e999}',
    b'{"request":"note","text":"a","index":-1}',
    b'{"request":"note","text":"a","index":1.5}',
    b'{"request":"note","text":"a","index":4611686018427387904}',
    b'{"request":"note","text":"a","id":-1}',
    b'{"request":"note","text":"a","id":1' + b"0" * 300 + b"}",
    b'{"request":"note","text":"a"}{}',
    b"[" * 9000,
    b'{"request":' * 1000,
    b'{"x":' + b"[" * 9000,
    b'{"request":"note","text":"' + b"a" * MAX_REQUEST + b'"}',
]


@pytest.mark.parametrize("payload", HOSTILE, ids=lambda payload: repr(payload[:50]))
def test_what_is_no_request_is_refused_in_one_line(payload) -> None:
    refused(payload)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_request_or_refused(payload) -> None:
    with pytest.raises(RequestError):
        decode_request(payload)
    with pytest.raises(RequestError):
        decode_answer(payload)


@given(st.data())
def test_a_damaged_request_never_raises_anything_else(data) -> None:
    whole = bytearray(encode(NoteRequest(text="valve opened", time=1.5, index=3, id=9)))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        note = decode_request(bytes(whole))
    except RequestError:
        return
    assert len(note.text.encode()) <= MAX_NOTE


def test_a_request_that_is_not_known_yet_is_refused_under_its_number() -> None:
    assert refused(b'{"request":"shelve","alarm":"delay","id":12}').number == 12
    assert refused(b'{"request":"note","text":"","id":13}').number == 13
    assert refused(b"nothing").number == 0


ANY_PORT = "tcp://127.0.0.1:*"


class Taken:
    """A request server that stores texts, and refuses those that begin with no; its clock advances 1 s a request."""

    def __init__(self) -> None:
        self.request_server = ZmqRequestServer(ANY_PORT, clock=itertools.count().__next__)
        self.texts: list[str] = []

    def take(self, request: Request) -> None:
        if request.text.startswith("no"):
            raise ValueError(f"not {request.text!r}")
        self.texts.append(request.text)

    def serve_until(self, done: Callable[[], bool]) -> None:
        until(done, lambda: self.request_server.serve(self.take))


@pytest.fixture
def taken() -> Iterator[Taken]:
    one = Taken()
    yield one
    one.request_server.close()
    one.request_server.close()


@pytest.fixture
def client(taken: Taken) -> Iterator[RequestClient]:
    one = RequestClient(taken.request_server.endpoint)
    yield one
    one.close()
    one.close()


@pytest.fixture
def raw(taken: Taken) -> Iterator[Callable[[int], zmq.Socket[bytes]]]:
    """Sockets of a kind, connected to the request_server, of a program that is not ours."""
    with zmq.Context() as context:
        opened: list[zmq.Socket[bytes]] = []

        def connect(kind: int) -> zmq.Socket[bytes]:
            socket = context.socket(kind)
            socket.setsockopt(zmq.LINGER, 0)
            socket.connect(taken.request_server.endpoint)
            opened.append(socket)
            return socket

        yield connect
        for socket in opened:
            socket.close()


def heard(taken: Taken, client: RequestClient, number: int = 1) -> list[Answer]:
    found: list[Answer] = []

    def complete() -> bool:
        found.extend(client.answers())
        return len(found) >= number

    taken.serve_until(complete)
    return found


def asked(taken: Taken, socket: zmq.Socket[bytes], *frames: bytes) -> list[bytes]:
    socket.send_multipart(frames)
    taken.serve_until(lambda: bool(socket.poll(0)))
    return socket.recv_multipart()


def test_every_request_is_carried_out_once_and_answered_under_its_number(taken, client) -> None:
    numbers = [client.send(NoteRequest(text=f"no {i}")) for i in range(40)]
    answers = heard(taken, client, 40)
    assert [answer.id for answer in answers] == numbers == list(range(1, 41))
    assert not any(answer.ok for answer in answers)
    assert answers[0].reason == "not 'no 0'"
    assert taken.request_server.refused == 40
    assert client.send(NoteRequest(text="valve opened")) == 41
    assert heard(taken, client) == [Answer(ok=True, id=41)]
    assert taken.texts == ["valve opened"]
    assert client.answers() == []


def test_two_clients_hear_their_own_answers(taken, client) -> None:
    other = RequestClient(taken.request_server.endpoint)
    client.send(NoteRequest(text="first"))
    other.send(NoteRequest(text="no second"))
    assert heard(taken, client) == [Answer(ok=True, id=1)]
    assert heard(taken, other) == [Answer(ok=False, reason="not 'no second'", id=1)]
    other.close()


@pytest.mark.parametrize("kind", [zmq.REQ, zmq.DEALER])
def test_a_program_in_any_language_asks_with_one_frame(taken, raw, kind) -> None:
    socket = raw(kind)
    assert asked(taken, socket, b'{"request":"note","text":"by hand"}') == [b'{"ok":true}']
    assert asked(taken, socket, b'{"text":"by hand","id":5,"request":"note"}') == [b'{"ok":true,"id":5}']
    assert taken.texts == ["by hand", "by hand"]


@pytest.mark.parametrize(
    "frames",
    [
        (b"\xff\x00",),
        (b"{",),
        (b'{"request":"shelve"}',),
        (b'{"request":"note","text":"' + b"x" * 201 + b'"}',),
        (b"x" * 20_000,),
        (b'{"request":"note","text":"a"}', b'{"request":"note","text":"b"}'),
        tuple(b"x" for _ in range(60)),
    ],
    ids=lambda frames: f"{len(frames)} of {frames[0][:20]!r}",
)
@pytest.mark.parametrize("kind", [zmq.REQ, zmq.DEALER])
def test_hostile_bytes_are_counted_and_refused_with_a_reason(taken, raw, kind, frames) -> None:
    socket = raw(kind)
    (answer,) = asked(taken, socket, *frames)
    assert answer.startswith(b'{"ok":false,"reason":"')
    assert taken.request_server.refused == 1
    assert taken.texts == []
    assert asked(taken, socket, b'{"request":"note","text":"still here"}') == [b'{"ok":true}']


def test_a_message_that_is_only_an_empty_frame_is_refused(taken, raw) -> None:
    assert asked(taken, raw(zmq.DEALER), b"") == [b"", b'{"ok":false,"reason":"a request has one frame"}']


def test_a_frame_over_the_limit_costs_its_sender_the_connection_and_nobody_else(taken, client, raw) -> None:
    raw(zmq.DEALER).send(b"x" * (1 << 20))
    client.send(NoteRequest(text="valve opened"))
    assert heard(taken, client) == [Answer(ok=True, id=1)]
    assert taken.texts == ["valve opened"]


def test_some_tens_at_most_in_one_turn(taken, raw) -> None:
    socket = raw(zmq.DEALER)
    for _ in range(60):
        socket.send(b'{"request":"note","text":"again"}')
    taken.serve_until(lambda: len(taken.texts) > 0)
    before = len(taken.texts)
    sleep(0.1)
    taken.request_server.serve(taken.take)
    assert 10 <= len(taken.texts) - before <= 50
    taken.serve_until(lambda: len(taken.texts) == 60)


def test_a_client_that_never_reads_holds_up_nobody(taken, client, raw) -> None:
    deaf = raw(zmq.DEALER)
    deaf.setsockopt(zmq.RCVHWM, 1)
    sent = 0
    deadline = monotonic() + 20.0
    while sent < 3000 and monotonic() < deadline:
        try:
            deaf.send(b'{"request":"note","text":"deaf"}', zmq.NOBLOCK)
            sent += 1
        except zmq.Again:
            taken.request_server.serve(taken.take)
    assert sent == 3000
    # while the flood is worked off the client may be asked to come again
    answers: list[Answer] = []
    while not any(answer.ok for answer in answers) and monotonic() < deadline:
        client.send(NoteRequest(text="heard"))
        answers = heard(taken, client)
        assert all(answer.ok or "send it again" in answer.reason for answer in answers)
    assert [answer.ok for answer in answers] == [True]


def test_without_a_service_the_answer_is_given_here_and_nothing_goes_out_later(free_port) -> None:
    now = 0.0
    client = RequestClient(free_port, timeout=2.0, clock=lambda: now)
    assert client.send(NoteRequest(text="early")) == 1
    now = 1.5
    assert client.send(NoteRequest(text="later")) == 2
    assert client.answers() == []
    now = 2.5
    early, later = client.answers()
    assert (early.id, early.ok, later.id, later.ok) == (1, False, 2, False)
    assert f"no answer from {free_port} within 2 s" in early.reason
    taken = ZmqRequestServer(free_port)
    texts: list[str] = []
    client.send(NoteRequest(text="at last"))
    deadline = monotonic() + 10.0
    answers: list[Answer] = []
    while not answers and monotonic() < deadline:
        taken.serve(lambda request: texts.append(request.text))
        answers = client.answers(0.02)
    assert answers == [Answer(ok=True, id=3)]
    assert texts == ["at last"]
    client.close()
    taken.close()


def test_what_was_just_sent_may_have_time_to_leave(taken: Taken) -> None:
    client = RequestClient(taken.request_server.endpoint)
    client.send(NoteRequest(text="the last word"))
    client.close(10.0)
    client.close()
    taken.serve_until(lambda: taken.texts == ["the last word"])


def test_a_queue_that_is_full_refuses_here(free_port) -> None:
    client = RequestClient(free_port)
    numbers = [client.send(NoteRequest(text="a")) for _ in range(300)]
    refused = client.answers()
    assert numbers == list(range(1, 301))
    assert 0 < len(refused) < 300
    assert {answer.ok for answer in refused} == {False}
    assert "wait for the service" in refused[0].reason
    client.close()


@pytest.fixture
def free_port() -> str:
    with zmq.Context() as context, context.socket(zmq.PULL) as socket:
        return f"tcp://127.0.0.1:{socket.bind_to_random_port('tcp://127.0.0.1')}"


def test_answers_that_are_none_are_not_believed() -> None:
    with zmq.Context() as context, context.socket(zmq.ROUTER) as service:
        port = service.bind_to_random_port("tcp://127.0.0.1")
        client = RequestClient(f"tcp://127.0.0.1:{port}")
        client.send(NoteRequest(text="a"))
        identity, _ = service.recv_multipart()
        for answer in (b"", b"\xff", b'{"ok":1}', b'{"ok":true}', b'{"ok":true,"id":7}', b'{"ok":true,"id":1}'):
            service.send_multipart([identity, answer])
        service.send_multipart([identity, b'{"ok":true,"id":1}'])
        found: list[Answer] = []
        deadline = monotonic() + 10.0
        while not found and monotonic() < deadline:
            found += client.answers(0.1)
        assert found == [Answer(ok=True, id=1)]
        client.close()


@pytest.mark.parametrize("url", ["tcp://0.0.0.0:*", "tcp://*:*"])
def test_other_machines_are_kept_out_unless_said(url) -> None:
    with pytest.raises(TransportError, match="--insecure"):
        ZmqRequestServer(url)
    request_server = ZmqRequestServer(url, insecure=True)
    assert request_server.endpoint.startswith("tcp://0.0.0.0:")
    request_server.close()


@pytest.mark.parametrize("url", ["", "5555", "tcp://127.0.0.1"])
def test_a_malformed_endpoint_is_told(url) -> None:
    for make in (ZmqRequestServer, RequestClient):
        with pytest.raises(TransportError, match="not an endpoint"):
            make(url)


@pytest.mark.parametrize(
    ("requests", "results", "url"),
    [
        ("tcp://127.0.0.1:7001", "tcp://127.0.0.1:5556", "tcp://127.0.0.1:7001"),
        ("tcp://127.0.0.1:7001", "tcp://localhost:5556", "tcp://127.0.0.1:7001"),
        ("tcp://0.0.0.0:7001", "tcp://rig.lab:5556", "tcp://rig.lab:7001"),
        ("tcp://[::]:7001", "tcp://[fe80::1]:5556", "tcp://[fe80::1]:7001"),
        ("tcp://0.0.0.0:7001", "tcp://127.0.0.1:5556", "tcp://127.0.0.1:7001"),
        ("tcp://10.0.0.5:7001", "tcp://rig.lab:5556", "tcp://10.0.0.5:7001"),
        ("ipc:///run/requests", "tcp://127.0.0.1:5556", "ipc:///run/requests"),
    ],
)
def test_where_a_client_connects_to(requests, results, url) -> None:
    assert requests_url(requests, results) == url


def test_a_service_without_requests_or_with_its_own_machine_s_only_is_told() -> None:
    with pytest.raises(TransportError, match="accepts no requests"):
        requests_url("", "tcp://127.0.0.1:5556")
    with pytest.raises(TransportError, match="from its own machine only"):
        requests_url("tcp://127.0.0.1:7001", "tcp://10.0.0.5:5556")


def test_who_asks_a_thousand_times_at_once_gets_as_many_answers():
    request_server = ZmqRequestServer("tcp://127.0.0.1:*")
    with zmq.Context() as context, context.socket(zmq.DEALER) as client:
        client.setsockopt(zmq.LINGER, 0)
        client.connect(request_server.endpoint)
        for _ in range(10):
            for number in range(1000):
                client.send(b'{"request":"none","id":%d}' % number)
            found, deadline = 0, monotonic() + 20.0
            while found < 1000:
                assert monotonic() < deadline, f"{found} answers"
                request_server.serve(lambda _: None)
                while client.poll(1):
                    client.recv_multipart()
                    found += 1
    request_server.close()


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
