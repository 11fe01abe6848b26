"""The sink against a real broker in this process."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from dataclasses import replace
from time import monotonic

import pytest
from msgspec import structs

from monitor.messages.alarms import AlarmState
from monitor.messages.blocks import Event, EventKind
from monitor.messages.health import Health, StreamCounts
from monitor.messages.requests import AcknowledgeRequest, NoteRequest, encode
from monitor.transport.mqtt import client, connection, payloads
from monitor.transport.rate_limit import Backoff
from tests.monitor.mqtt.conftest import ALARM, COLUMNS, STREAM, report, rows, transition
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("no_leftovers")
NAN = float("nan")
HERE = "synchroscope/v1/lab/rig"


def connected(sink) -> None:
    until(lambda: sink.broker.state == "connected" and not sink.broker.waiting)


def test_who_comes_late_sees_what_there_is(broker, watch, tell) -> None:
    sink = tell(broker.port)
    sink.health(Health(rig="rig", state="receiving", window=2.0))
    sink.results(rows(0, [[0.01, 1.0, 0.0, NAN, 0.0, 0.5], [-0.04, 1.1, 0.0, NAN, 0.0, 0.25]]))
    sink.alarms(report())
    sink.alarms(report(transition(1)))
    connected(sink)
    late = watch(broker.port)
    status = late.until(f"{HERE}/status")
    assert (status["status"], status["state"]) == ("online", "receiving")
    meta = late.until(f"{HERE}/meta")
    assert meta["columns"][0] == {"name": "fdb_delay", "unit": "s", "actuator": "north"}
    assert (meta["actuators"], meta["window"], meta["every"]) == (["north", "south", "beam"], 2.0, 2)
    alarm = late.until(f"{HERE}/alarm/{ALARM.name}")
    assert (alarm["state"], alarm["standing"], alarm["active"]) == ("unacknowledged", True, True)
    assert alarm["transition"]["number"] == 1
    assert all(one.retained for one in late.heard)
    assert not late.on("/indicators")


def test_values_are_those_of_the_newest_row(broker, watch, tell) -> None:
    watcher = watch(broker.port)
    sink = tell(broker.port, rate=50.0)
    connected(sink)
    sink.health(Health(rig="rig", state="receiving", window=2.0))
    sink.results(rows(10, [[0.01, 1.0, 0.5, 0.0, 0.0, 0.5], [-0.04, 1.1, 0.5, NAN, 0.1, 0.25]]))
    told = watcher.until("/indicators")
    assert told["values"] == {
        "north": {"fdb_delay": -0.04, "fdb_ratio": 1.1, "fdb_delay_sd": 0.5},
        "south": {"fdb_delay": None},
    }
    assert (told["index"], told["time"]) == (12, pytest.approx(0.12))
    first = {"ratio": 1.1, "ratio_sd": None, "indicator": "fdb", "window": 2.0, "contradicting": []}
    assert told["headline"]["north"] == {"delay": -0.04, "delay_sd": 0.5, **first}
    assert watcher.until("/reliability")["values"] == {"beam": {"model_low": 0.1, "reliability_accumulated": 0.25}}


def test_the_newest_row_alone_goes_out_after_an_absence(broker, watch, tell) -> None:
    broker.stop()
    sink = tell(broker.port, backoff=Backoff(0.1, 0.1), rate=100.0)
    for first in range(0, 2000, 2):
        sink.results(rows(first, [[float(first)] * 6]))
    broker.start()
    watcher = watch(broker.port, f"{HERE}/indicators")
    # the one of the absence may have gone before the watcher came
    connected(sink)
    sink.results(rows(5000, [[1.0] * 6]))
    watcher.until("/indicators", lambda told: told["index"] == 5000)
    assert {one.json["index"] for one in watcher.heard} <= {1998, 5000}


def test_the_will_is_told_when_the_connection_breaks(broker, watch, tell, monkeypatch) -> None:
    made, whole = [], connection.MqttConnection.open
    monkeypatch.setattr(connection.MqttConnection, "open", lambda self: made.append(self) or whole(self))
    watcher = watch(broker.port)
    # one that does not come back while the test looks
    tell(broker.port, backoff=Backoff(10.0, 10.0, lambda: 1.0))
    watcher.until("/status", lambda told: told["status"] == "online")
    # as when the process dies
    made[0]._client.socket().shutdown(socket.SHUT_RDWR)
    gone = watcher.until("/status", lambda told: told["status"] == "offline")
    assert gone["reason"] == "lost"
    assert watch(broker.port).until("/status")["status"] == "offline"


@pytest.mark.parametrize(("state", "reason"), [("ended", "ended"), ("receiving", "stopped")])
def test_a_proper_end_says_why(broker, watch, tell, state, reason) -> None:
    watcher = watch(broker.port)
    sink = tell(broker.port)
    sink.health(Health(rig="rig", state=state, counts=StreamCounts(received=12, lost=3)))
    sink.results(rows(0, [[-0.5, 1.0, 0.0, NAN, 0.0, 0.5]], last=True))
    connected(sink)
    sink.close()
    last = watcher.until("/status", lambda told: told["status"] == "offline")
    assert last["reason"] == reason
    summary = watch(broker.port).until("/summary")
    assert summary["counts"]["lost"] == 3
    assert summary["worst"][0] == {"name": "fdb_delay", "actuator": "north", "unit": "s", "value": 0.5, "time": 0.0}
    assert [one.json["status"] for one in watcher.on("/status")][-1] == "offline"


@pytest.mark.parametrize("rig", ["rig", ""])
def test_the_summary_of_a_killed_service_is_replaced_at_once(broker, watch, tell, rig) -> None:
    sink = tell(broker.port, rig=rig)
    # far less than the interval of summaries
    sink.health(Health(state="waiting"))
    sink.health(Health(rig="rig", state="receiving", counts=StreamCounts(received=12)))
    summary = watch(broker.port).until(f"{HERE}/summary")
    assert summary["state"] == ("waiting" if rig else "receiving")


def test_the_name_of_the_rig_comes_with_its_first_block(broker, watch, tell, counting) -> None:
    watcher = watch(broker.port)
    sink = tell(broker.port, rig="")
    sink.alarms(report(transition(1)))
    watcher.until("lab/-/status", lambda told: told["status"] == "online")
    until(lambda: watcher.transitions())
    sink.signals(counting(0, rig="hall/7"))
    sink.alarms(report(transition(2)))
    watcher.until("lab/hall%2F7/status", lambda told: told["status"] == "online")
    until(lambda: len(watcher.transitions()) == 2)
    connected(sink)
    # nothing is left where it was, and nobody is told that a service has gone
    late = watch(broker.port, "synchroscope/v1/lab/+/status", "synchroscope/v1/lab/+/alarm/#")
    late.until(f"/alarm/{ALARM.name}")
    assert {one.topic.split("/")[3] for one in late.heard} == {"hall%2F7"}
    words = [one.json["status"] for one in watcher.on("/status") if one.payload]
    assert set(words) == {"online"}
    assert [each["number"] for each in watcher.transitions()] == [1, 2]


def test_transitions_of_an_absence_come_once_and_in_order_and_what_was_kept_is_there_again(
    broker, watch, tell
) -> None:
    other = structs.replace(ALARM, name="south.fdb_delay.trip")
    quiet = structs.replace(ALARM, name="quiet", state=AlarmState.ACKNOWLEDGED)
    alarms = (ALARM, other, quiet)
    watcher = watch(broker.port)
    back = threading.Event()
    sink = tell(broker.port, backoff=Backoff(0.01, 0.01, lambda: float(back.wait(30.0))))
    for number in (1, 2, 3):
        sink.alarms(report(transition(number), alarms=alarms))
    sink.results(rows(0, [[0.0] * 6]))
    connected(sink)
    until(lambda: len(watcher.transitions()) == 3)
    watcher.settle()
    broker.stop()
    for number in range(4, 40):
        # two at once, of two alarms
        steps = (transition(2 * number), transition(2 * number + 1, other))
        sink.alarms(report(*steps, alarms=alarms))
        sink.event(Event(EventKind.NOTE, 0.0, number, 0, str(number)))
    until(lambda: sink.broker.state == "away")
    assert sink.broker.waiting >= 108
    broker.start()
    watcher.wait()
    back.set()
    until(lambda: len(watcher.transitions()) >= 75)
    connected(sink)
    assert [each["number"] for each in watcher.transitions()] == [1, 2, 3, *range(8, 80)]
    until(lambda: len(watcher.on("/event")) == 36)
    notes = [one.json["detail"] for one in watcher.on("/event")]
    assert notes == [str(number) for number in range(4, 40)]
    late = watch(broker.port)
    for topic in ("/status", "/meta", f"/alarm/{other.name}", "/alarm/quiet"):
        late.until(topic)
    assert late.until("/alarm/quiet")["transition"] is None
    assert late.until(f"/alarm/{other.name}")["transition"]["number"] == 79
    assert sink.broker.dropped == 0


def test_an_alarm_that_is_no_more_is_taken_away(broker, watch, tell) -> None:
    sink = tell(broker.port, discovery=True)
    gone = structs.replace(ALARM, name="gone")
    sink.alarms(report(transition(1, gone), alarms=(ALARM, gone)))
    sink.alarms(report(alarms=(ALARM,)))
    connected(sink)
    late = watch(broker.port)
    late.until(f"/alarm/{ALARM.name}")
    assert not [one for one in late.heard if "gone" in one.topic]


def test_a_command_is_carried_out_and_answered(broker, watch, tell) -> None:
    watcher = watch(broker.port, f"{HERE}/answer")
    taken = []
    sink = tell(broker.port, commands=True, username="desk", password_variable="PATH")  # any password will do
    connected(sink)
    requests = [AcknowledgeRequest(alarm=ALARM.name, by="desk", id=5), NoteRequest(text="valve", id=6)]
    for request in requests:
        watcher.send(f"{HERE}/command", encode(request))
    watcher.send(f"{HERE}/command", b"{not json")
    until(lambda: sink.command_handler.serve(taken.append) or len(watcher.heard) == 3)
    assert [each for each in taken if not str(getattr(each, "text", "")).startswith("broker")] == requests
    assert [one.json for one in watcher.heard][:2] == [{"ok": True, "id": 5}, {"ok": True, "id": 6}]
    assert not watcher.heard[2].json["ok"]
    assert sink.command_handler.refused == 1


def test_a_retained_command_is_refused(broker, watch, tell) -> None:
    watcher = watch(broker.port, f"{HERE}/answer")
    watcher.send(f"{HERE}/command", encode(NoteRequest(text="old", id=9)), retain=True)
    taken = []
    sink = tell(broker.port, commands=True, username="desk", password_variable="PATH")
    until(lambda: sink.command_handler.serve(taken.append) or watcher.heard)
    assert not watcher.heard[0].json["ok"]
    assert "retained" in watcher.heard[0].json["reason"]
    assert not [each for each in taken if each.text == "old"]


def test_without_commands_nothing_is_taken(broker, watch, tell) -> None:
    watcher = watch(broker.port, f"{HERE}/answer")
    sink = tell(broker.port)
    connected(sink)
    watcher.send(f"{HERE}/command", encode(NoteRequest(text="let me in")))
    sink.event(Event(EventKind.NOTE, 0.0, 0))
    connected(sink)
    taken = []
    sink.command_handler.serve(taken.append)
    assert all(each.text.startswith("broker ") for each in taken)
    assert not watcher.heard


def test_a_command_that_is_too_long_is_refused_and_the_next_is_carried_out(broker, watch, tell) -> None:
    watcher = watch(broker.port)
    sink = tell(broker.port, commands=True, username="desk", password_variable="PATH")
    connected(sink)
    kept, taken = [], sink.command_handler.put
    sink.command_handler.put = sink._client._tasks._command = lambda payload, retained: (
        kept.append(len(payload)),
        taken(payload, retained),
    )
    # over the limit by a byte, and by more than is read at once
    for size in (client._MAX_PAYLOAD + 1, 2_000_000):
        watcher.send(f"{HERE}/command", b"x" * size)
    watcher.send(f"{HERE}/command", encode(NoteRequest(text="again", id=3)))
    said = []
    until(lambda: sink.command_handler.serve(said.append) or len(watcher.on("/answer")) == 3)
    answers = [one.json for one in watcher.on("/answer")]
    assert [each["ok"] for each in answers] == [False, False, True]
    assert max(kept) <= client._MAX_PAYLOAD
    # the connection has lasted
    assert [each.text for each in said][1:] == ["again"]


def test_what_nobody_foresaw_is_told_once_and_the_next_attempt_made(broker, watch, tell, monkeypatch) -> None:
    bad = [True, True]

    def message(*_: object) -> bytes:
        if bad:
            bad.pop()
            raise KeyError("x")
        return b"{}"

    monkeypatch.setattr(payloads.TelemetryEncoder, "message", message)
    watcher = watch(broker.port)
    sink = tell(broker.port)
    said = []
    first = 0
    while not watcher.on("/indicators"):
        connected(sink)
        sink.results(rows(first, [[0.0] * 6]))
        left = len(bad)
        until(lambda left=left: len(bad) < left or watcher.on("/indicators"))
        first += 2
    connected(sink)
    sink.alarms(report(transition(1)))
    until(lambda: watcher.transitions())
    sink.command_handler.serve(said.append)
    words = [each.text.split(": ", 1)[1] for each in said]
    assert words == ["connected", *2 * ["unexpected error: KeyError: 'x'", "connected"]]


def test_a_connection_that_cannot_be_made_is_told_and_tried_again(broker, tell, monkeypatch) -> None:
    whole, wrong = client.MqttConnection, [ValueError("no such topic")]

    def make(*given: object) -> connection.MqttConnection:
        if wrong:
            raise wrong.pop()
        return whole(*given)

    monkeypatch.setattr(client, "MqttConnection", make)
    sink = tell(broker.port)
    connected(sink)
    said = []
    sink.command_handler.serve(said.append)
    assert [each.text.split(": ", 1)[1] for each in said] == [
        "unexpected error: ValueError: no such topic",
        "connected",
    ]


def test_a_transition_of_an_alarm_that_is_no_more_leaves_nothing_behind(broker, watch, tell) -> None:
    sink = tell(broker.port)
    sink.alarms(report(transition(1), alarms=()))
    connected(sink)
    late = watch(broker.port)
    late.until("/status")
    late.settle()
    assert not [one for one in late.heard if "/alarm/" in one.topic]


def test_a_broker_that_never_answers_holds_up_nobody(tell, monkeypatch) -> None:
    monkeypatch.setattr(connection, "ANSWER_TIMEOUT", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        sink = tell(silent.getsockname()[1])
        said = []
        until(lambda: sink.command_handler.serve(said.append) or said)
        assert said[0].text.endswith("no answer from the broker")
        began = monotonic()
        for number in range(1000):
            sink.results(rows(2 * number, [[1.0] * 6]))
            sink.alarms(report(transition(number)))
        assert monotonic() - began < 5.0
        assert sink.broker.waiting >= 1000
        began = monotonic()
        sink.close()
        assert monotonic() - began < 10.0


def test_a_broker_that_hangs_up_before_it_answers_is_not_waited_for(tell) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        sink = tell(server.getsockname()[1])
        began = monotonic()
        peer = server.accept()[0]
        assert peer.recv(4096)
        peer.close()
        said = []
        until(lambda: sink.command_handler.serve(said.append) or said)
        assert monotonic() - began < connection.ANSWER_TIMEOUT
    assert said[0].text.endswith("connection closed by broker before it answered")


ACCEPTED = b"\x20\x02\x00\x00"
HOSTILE = {
    "an endless packet": (b"\x31\xff\xff\xff\x7f" + bytes(100_000), "the broker sent a packet of 268,435,455 bytes"),
    "a length without end": (b"\x31\xff\xff\xff\xff\x7f" + bytes(100), ""),
    "no topic": (b"\x31\x02\x00\x00", ""),
    "a topic that is no text": (b"\x31\x06\x00\x02\xff\xfeab", ""),
    "acknowledgements of nothing": (b"\x40\x02\xff\xff\x90\x03\xff\xff\x01\xb0\x02\xff\xff", None),
    "a packet cut short": (b"\x90\x01\x00", ""),
    "an unknown packet": (b"\xf0\x00", ""),
}


@pytest.mark.parametrize(("packet", "why"), HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("accepted", [True, False], ids=["after it answered", "instead of an answer"])
def test_a_hostile_broker_is_left_in_one_line(tell, caplog, monkeypatch, packet, why, accepted) -> None:
    monkeypatch.setattr(connection, "ANSWER_TIMEOUT", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:
        sink = tell(server.getsockname()[1], backoff=Backoff(0.01, 0.01))
        said, peers = [], []
        for _ in range(3 if why is not None else 1):
            peers.append(server.accept()[0])
            with contextlib.suppress(OSError):
                peers[-1].recv(4096)
                peers[-1].sendall((ACCEPTED if accepted else b"") + packet)
                peers[-1].settimeout(10.0)
                while why is not None and peers[-1].recv(4096):
                    pass
        until(lambda: sink.command_handler.serve(said.append) or said)
        sink.close()
        for peer in peers:
            peer.close()
    words = [each.text.split(": ", 1)[1] for each in said]
    assert all("\n" not in line for line in words)
    if why:
        assert words[-1].startswith(why) and words[-1].endswith("the limit is 4,194,304")
    assert not [record for record in caplog.records if record.name == "asyncio"]


def test_trouble_is_told_once(tell) -> None:
    # bound, so that no other test listens there meanwhile
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        sink = tell(bound.getsockname()[1], backoff=Backoff(0.01, 0.01))
        said = []
        until(lambda: sink.command_handler.serve(said.append) or said)
        deadline = monotonic() + 0.5
        while monotonic() < deadline:
            sink.command_handler.serve(said.append)
    assert len(said) == 1
    assert said[0].text.endswith(": connection refused: is the broker running, and on this port?")
    assert sink.broker.state == "away"


def test_home_assistant_is_told_what_there_is(broker, watch, tell) -> None:
    sink = tell(broker.port, discovery=True, discovery_values="all", discovery_rate=50.0)
    sink.results(rows(0, [[0.0] * 6]))
    sink.alarms(report())
    connected(sink)
    late = watch(broker.port, "homeassistant/#")
    sensor = late.until("sensor/synchroscope_lab_rig/north_fdb_delay/config")
    assert sensor["state_topic"] == f"{HERE}/homeassistant"
    assert sensor["availability_topic"] == f"{HERE}/status"
    assert sensor["value_template"] == """{{ value_json['values']["north"]["fdb_delay"] }}"""
    assert (sensor["unit_of_measurement"], sensor["device_class"]) == ("ms", "duration")
    fewer = replace(STREAM, columns=COLUMNS[:2])
    sink.results(rows(0, [[0.0, 1.0]], stream=fewer))
    sink.alarms(report(alarms=()))
    connected(sink)
    later = watch(broker.port, "homeassistant/#")
    later.until("north_fdb_ratio/config")
    connected(sink)
    assert {one.topic.split("/")[3] for one in later.heard} == {
        f"north_{which}_{quantity}" for which in ("fdb", "headline") for quantity in ("delay", "ratio")
    }
    assert json.loads(later.heard[0].payload)["device"]["identifiers"] == ["synchroscope_lab_rig"]
