"""NATS as broker of several rigs: one node, and a cluster of which nodes are killed."""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path

import aiomqtt
import pytest

from monitor.commands.checks import CheckLevel, checked
from monitor.commands.checks.endpoints import broker as check_broker
from monitor.config import MqttSettings
from monitor.messages.alarms import Alarm, Severity
from monitor.messages.blocks import ResultStream
from monitor.messages.requests import NoteRequest, encode
from monitor.transport.mqtt import MqttSink, payloads
from monitor.transport.mqtt.connection import MqttConnection
from tests.monitor.mqtt.conftest import ALARM, COLUMNS, report, rows, transition
from tests.monitor.mqtt.mosquitto import Authority, here
from tests.monitor.mqtt.nats import PAGE, Nats
from tests.needs import needs
from tests.waiting import until

pytestmark = needs("nats-server")
DESK = ("desk", "lamp")
PATIENCE = 120.0
RIG = "hall 7.b"
LEVEL = "hall%207%2Eb"


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[..., Nats]]:
    running: list[Nats] = []

    def start(nodes: int, **more: str) -> Nats:
        running.append(Nats(tmp_path, nodes, **more))
        return running[-1]

    yield start
    for one in running:
        one.stop()


@pytest.fixture
def user(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    monkeypatch.setenv("WORD", "valve")
    return {"username": "monitor", "password_variable": "WORD"}


def idle(sink: MqttSink) -> bool:
    return sink.broker.state == "connected" and not sink.broker.waiting


def test_one_node_takes_plain_topics_and_dots_are_reported(run, watch, tell, user) -> None:
    (port,) = run(1).ports
    given = {**user, "commands": True, "discovery": True}
    watcher = watch(port, "synchroscope/#", "homeassistant/#", user=DESK)
    sink = tell(port, RIG, plain_topics=True, **given)
    stream = ResultStream(RIG, 7, 100.0, 2, COLUMNS)
    sink.results(rows(0, [[0.0] * 6], stream=stream))
    sink.alarms(report(transition(1)))
    until(lambda: idle(sink) and watcher.transitions() and watcher.on("/indicators"))
    watcher.send(f"synchroscope/v1/lab/{LEVEL}/command", encode(NoteRequest(text="oil is warm", id=3)))
    notes: list[str] = []
    until(lambda: sink.command_handler.serve(lambda request: notes.append(request.text)) or watcher.on("/answer"))
    assert watcher.on("/answer")[0].json == {"ok": True, "id": 3}
    assert notes[-1] == "oil is warm"
    late = watch(port, "synchroscope/#", "homeassistant/#", user=DESK)
    until(lambda: late.on("/status") and late.on("/acknowledge_alarms/config"))
    until(lambda: late.on(f"{LEVEL}/alarm/north%2Efdb_delay%2Etrip"))
    # every retained message of the rig, as it was announced
    assert {one.topic for one in late.heard if one.retained} >= set(sink._sensors)

    dotted = tell(port, "other", **given)
    dotted.alarms(report(transition(1), alarms=(ALARM,)))
    lines: list[str] = []
    until(lambda: dotted.command_handler.serve(lambda request: lines.append(request.text)) or len(lines) >= 2)
    topic = "synchroscope/v1/lab/other/alarm/north.fdb_delay.trip"
    assert lines[1].endswith(f"connection closed by broker at {topic}: if it is NATS, set plain_topics")
    settings = MqttSettings(host="127.0.0.1", port=port, **given)
    found = list(checked("broker", lambda: check_broker(settings, "other")))
    assert found[-1].level is CheckLevel.FAIL
    assert found[-1].detail.endswith("check/alarm/a.b: it closes the connection; if it is NATS, set plain_topics")


def test_users_of_the_page_have_the_rights_they_need_and_no_more(run, watch, tell, tmp_path, monkeypatch) -> None:
    accounts = re.search(r"^accounts .*?^\] \} \}", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert accounts is not None
    authority = Authority(tmp_path, "authority")
    certificate, key = authority.issue("broker", here())
    tls = f'tls {{ cert_file: "{certificate}", key_file: "{key}" }}'
    (port,) = run(1, accounts=accounts[0].replace('"..."', "valve"), tls=tls).ports
    monkeypatch.setenv("WORD", "valve")
    given = {"username": "frame", "password_variable": "WORD", "ca": str(authority.path), "lab": "hall-2"}
    given |= {"commands": True, "discovery": True, "plain_topics": True}
    trusted = ssl.create_default_context(cafile=str(authority.path))
    watcher = watch(port, "synchroscope/#", "homeassistant/#", user=("display", "valve"), tls=trusted)
    sink = tell(port, "frame", **given)
    sink.results(rows(0, [[0.0] * 6], stream=ResultStream("frame", 7, 100.0, 2, COLUMNS)))
    sink.alarms(report(transition(1)))
    until(lambda: idle(sink) and watcher.transitions() and watcher.on("/acknowledge_alarms/config"))
    notes: list[str] = []
    sink.command_handler.serve(lambda request: notes.append(request.text))
    assert notes == [f"broker {sink.url}: connected"]
    # the display asks in vain, and the service of this rig cannot write another's topics
    watcher.send("synchroscope/v1/hall-2/frame/command", encode(NoteRequest(text="x", id=3)))
    other = tell(port, "tower", **given)
    until(lambda: idle(other))
    sink.alarms(report(transition(2)))
    until(lambda: len(watcher.transitions()) == 2)
    sink.command_handler.serve(lambda request: notes.append(request.text))
    assert len(notes) == 1
    assert not [one for one in watcher.heard if "/tower/" in one.topic]


# a leader is elected in up to some 20 s
@pytest.mark.slow
def test_a_cluster_keeps_what_is_retained_when_a_node_is_killed(run, watch, tell, user, monkeypatch) -> None:
    cluster = run(3)
    first, second, third = cluster.ports
    # a name with an address for each node; here they are told apart by their ports
    connect, addresses = socket.create_connection, [first, second]

    def anywhere(address: tuple[str, int], *given: object, **more: object) -> socket.socket:
        if address[1] != first:
            return connect(address, *given, **more)
        for port in addresses[:-1]:
            try:
                return connect((address[0], port), *given, **more)
            except OSError:
                pass
        return connect((address[0], addresses[-1]), *given, **more)

    watcher = watch(third, "synchroscope/#", user=DESK)
    monkeypatch.setattr(socket, "create_connection", anywhere)
    sink = tell(first, "north", plain_topics=True, **user)
    other = tell(third, "south", plain_topics=True, **user)
    sink.alarms(report(transition(1)))
    south = Alarm("south.fdb_delay.trip", "fdb_delay", "south", "s", Severity.TRIP, high=0.02)
    other.alarms(report(transition(1, south), alarms=(south,)))
    until(lambda: idle(sink) and idle(other) and len(watcher.transitions()) == 2, patience=PATIENCE)
    cluster.kill(0)
    for number in range(2, 20):
        sink.alarms(report(transition(number)))
    until(lambda: idle(sink) and len(watcher.transitions()) >= 20, patience=PATIENCE)
    # what was on its way when the node died may come twice, under the same number
    north = [each["number"] for each in watcher.transitions() if each["name"] == ALARM.name]
    assert list(dict.fromkeys(north)) == list(range(1, 20))
    # while leaders are elected, a node answers a subscription with a failure
    late = watch(second, "synchroscope/#", user=DESK)
    until(lambda: late.on("south/status") or late.subscribe(), patience=PATIENCE)
    for rig, number in (("north", 19), ("south", 1)):
        assert late.until(f"{rig}/status")["status"] == "online"
        assert late.until(f"{rig}/alarm/{rig}%2Efdb_delay%2Etrip")["transition"]["number"] == number

    # a service that is killed on another node
    async def die() -> None:
        will = aiomqtt.Will("synchroscope/v1/lab/west/status", payloads.will(), qos=1, retain=True)
        settings = MqttSettings(host="127.0.0.1", port=second, **user)
        connection = MqttConnection(settings, "west", "valve", None, will)
        await connection.open()
        connection.abort()

    asyncio.run(die())
    assert watcher.until("west/status")["reason"] == "lost"
