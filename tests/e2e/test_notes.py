"""Notes into a run that the real service records: over its socket, and from a shell."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import numpy as np
import pytest
import zmq

from monitor.__main__ import main
from monitor.commands import note
from monitor.messages.blocks import Channel, Event, EventKind, Role, SignalBlock, Stream
from monitor.messages.health import Health
from monitor.messages.requests import Answer, NoteRequest
from monitor.recording import RunReader
from monitor.transport.zeromq.requests import RequestClient, requests_url
from monitor.transport.zeromq.results import ResultPublisher, ResultSubscriber
from monitor.transport.zeromq.signals import SignalPublisher

ANY_PORT = "tcp://127.0.0.1:*"
QUICK = ("--measures", "nrmse", "--window", 0.5)
RATE = 200.0
STREAM = Stream(
    "rig", 1, RATE, (Channel("x.command", Role.COMMAND, "m", "x"), Channel("x.measured", Role.MEASURED, "m", "x"))
)


@pytest.fixture
def rig() -> Iterator[SignalPublisher]:
    publisher = SignalPublisher(ANY_PORT)
    yield publisher
    publisher.close(linger=0.0)


def moved(rig: SignalPublisher, first: int, rows: int = 20, last: bool = False) -> None:
    angle = 0.2 * (first + np.arange(float(rows)))
    samples = np.column_stack([np.sin(angle), np.sin(angle - 0.1)])
    rig.send(SignalBlock(STREAM, first, first / RATE, samples, last))


def health_of(results: str, enough: Callable[[Health], bool] = lambda _: True) -> Health:
    subscriber = ResultSubscriber(results, kinds=("health",))
    deadline = monotonic() + 60.0
    try:
        while monotonic() < deadline:
            for item in subscriber.receive(0.1):
                if isinstance(item, Health) and enough(item):
                    return item
    finally:
        subscriber.close()
    raise AssertionError(f"{results} says nothing of the kind")


def answered(client: RequestClient, request: NoteRequest) -> Answer:
    client.send(request)
    while not (answers := client.answers(1.0)):
        pass
    return answers[0]


def notes(path: Path) -> list[Event]:
    with RunReader(path) as run:
        assert run.outcome == "clean"
        return [event for event in run.events() if event.kind is EventKind.NOTE]


def test_notes_are_in_the_run_file_whether_the_rig_moves_or_is_silent(start, rig, tmp_path) -> None:
    kept = tmp_path / "run.h5"
    words = ("--connect", rig.endpoint, "--publish", ANY_PORT, "--record", kept, "--once", *QUICK)
    service = start("monitor", *words)
    results = service.results
    waiting = health_of(results)
    assert service.until(r"requests on (\S+)") == waiting.requests
    client = RequestClient(requests_url(waiting.requests, results))
    assert rig.wait_for_subscriber(60.0)
    assert answered(client, NoteRequest(text="nobody moves yet")).ok

    moved(rig, 0)
    moved(rig, 20, 80)
    moving = health_of(results, lambda health: health.counts.received == 100)
    assert moving.recording == str(kept)
    assert moving.disk_free > 0
    assert answered(client, NoteRequest(text="oil is warm")).ok
    assert answered(client, NoteRequest(text="knocked on the frame", time=0.25, index=50)).ok
    assert not answered(client, NoteRequest(text="x", index=-1)).ok

    # silent for longer than the service calls the stream a pause
    sleep(1.0)
    start("note", "valve\nopened: 50 µm", "--connect", results).wait()
    moved(rig, 100, 20)
    refused = health_of(results, lambda health: health.counts.received == 120).requests_refused
    assert refused == 1
    moved(rig, 120, last=True)
    service.wait()
    client.close()
    assert [(each.detail, each.index, each.time) for each in notes(kept)] == [
        ("nobody moves yet", 0, 0.0),
        ("oil is warm", 99, pytest.approx(0.495)),
        ("knocked on the frame", 50, 0.25),
        ("valve opened: 50 µm", 99, pytest.approx(0.495)),
    ]
    assert "at 0.495 s: oil is warm" in service.err


def test_notes_are_published_while_samples_come_and_no_sample_is_lost(start, rig, tmp_path) -> None:
    kept = tmp_path / "run.h5"
    words = ("--connect", rig.endpoint, "--publish", ANY_PORT, "--record", kept, "--once", *QUICK)
    service = start("monitor", *words)
    client = RequestClient(health_of(service.results).requests)
    subscriber = ResultSubscriber(service.results)
    # what is published is heard from here on
    assert gathered(subscriber, Health)
    assert rig.wait_for_subscriber(60.0)
    wanted, answers = [], []
    for i in range(200):
        moved(rig, 5 * i, 5, last=i == 199)
        if i % 10 == 5:
            wanted.append((f"note {i}", 5 * i))
            client.send(NoteRequest(text=f"note {i}", time=i / 40.0, index=5 * i))
        sleep(0.005)
        answers += client.answers()
    service.wait()
    while len(answers) < len(wanted):
        answers += client.answers(1.0)
    client.close()
    seen = subscriber.receive(1.0)
    while more := subscriber.receive(0.2):
        seen += more
    subscriber.close()
    assert all(answer.ok for answer in answers)
    assert [(each.detail, each.index) for each in notes(kept)] == wanted
    published = [item for item in seen if isinstance(item, Event) and item.kind is EventKind.NOTE]
    assert [(each.detail, each.index) for each in published] == wanted
    looks = [item for item in seen if isinstance(item, Health)]
    assert looks[-1].counts.received == 1000
    assert looks[-1].counts.lost == 0
    assert 0.0 < max(look.latency for look in looks) < 60.0


def gathered(subscriber: ResultSubscriber, kind: type) -> list[Any]:
    deadline = monotonic() + 60.0
    found: list[Any] = []
    while not found and monotonic() < deadline:
        found = [item for item in subscriber.receive(0.1) if isinstance(item, kind)]
    return found


def test_a_settings_file_opens_requests_to_others_and_hostile_bytes_do_no_harm(start, tmp_path) -> None:
    config = tmp_path / "lab.toml"
    config.write_text(f"[results]\npublish = '{ANY_PORT}'\nrequests = 'tcp://0.0.0.0:*'\n")
    service = start("monitor", "--bind", ANY_PORT, "--insecure", *QUICK, "--", config)
    bound = health_of(service.results).requests
    assert service.until(r"requests on (\S+)") == bound
    assert bound.startswith("tcp://0.0.0.0:")
    with zmq.Context() as context, context.socket(zmq.DEALER) as socket:
        socket.setsockopt(zmq.LINGER, 0)
        socket.connect(requests_url(bound, service.results))
        rng = np.random.default_rng(3)
        for size in rng.integers(0, 300, 150).tolist():
            socket.send_multipart([rng.bytes(size)] * (1 + size % 3))
        socket.send(b"x" * (1 << 20))
        health_of(service.results, lambda health: health.requests_refused >= 100)
    start("note", "still here", "--connect", service.results).wait()
    service.until("at 0.000 s: still here")
    service.stop()


def test_off_host_requests_need_to_be_said(capsys) -> None:
    words = ["monitor", "--publish", ANY_PORT, "--requests", "tcp://0.0.0.0:*"]
    assert main(words) == 2
    told = capsys.readouterr().err
    assert "open to other machines" in told
    assert told.count("\n") == 1


@pytest.fixture
def says_health() -> Iterator[Callable[[Health], str]]:
    """Publish a look at a service again and again; returns the endpoint."""
    sink, over = ResultPublisher(ANY_PORT), threading.Event()
    threads: list[threading.Thread] = []

    def publish(health: Health) -> str:
        def repeat() -> None:
            while not over.wait(0.05):
                sink.health(health)

        threads.append(threading.Thread(target=repeat))
        threads[0].start()
        return sink.endpoint

    yield publish
    over.set()
    for thread in threads:
        thread.join()
    sink.close()


@pytest.mark.parametrize(
    ("health", "text", "reason"),
    [
        (Health(), "x", "accepts no requests"),
        (Health(requests="nowhere"), "x", "'nowhere' is not an endpoint"),
        (Health(requests="tcp://127.0.0.1:9"), "x", "no answer from tcp://127.0.0.1:9 within 1 s"),
        (None, "x", "no monitor is publishing at "),
        (None, "x" * 201, "a note of 201 bytes: at most 200 are stored"),
        (None, " \t", "a note needs a text"),
    ],
)
def test_a_shell_is_told_in_one_line_why_there_is_no_note(
    monkeypatch, capsys, says_health, free_url, health, text, reason
) -> None:
    monkeypatch.setattr(note, "_REPLY_TIMEOUT", 1.0)
    results = free_url if health is None else says_health(health)
    assert main(["note", text, "--connect", results]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("synchroscope note: ")
    assert reason in told.err
    assert told.err.count("\n") == 1
