"""The sink against mosquitto: one that hangs, one that has kept its state, certificates that are not right."""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import BinaryIO

import numpy as np
import pytest
from cryptography import x509
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.reasoncodes import ReasonCode

from monitor.catalogue import outputs_by_name
from monitor.config import MqttSettings
from monitor.messages.alarms import Alarm, Severity
from monitor.messages.blocks import Column, ResultBlock, ResultStream
from monitor.messages.requests import NoteRequest, encode
from monitor.transport.mqtt import MqttSink, client, connection, credentials, payloads
from monitor.transport.mqtt.client import ConnectionTasks
from monitor.transport.mqtt.credentials import CredentialError, password, tls_context
from monitor.transport.mqtt.discovery import Discovery, StateEncoder
from monitor.transport.mqtt.outbox import DISCOVERED, STATUS, Outbox, RigTopics
from tests.monitor.mqtt.conftest import report, rows, transition
from tests.monitor.mqtt.mosquitto import Authority, Mosquitto, here, passwords
from tests.needs import needs
from tests.waiting import until

needs_mosquitto = needs("mosquitto")


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[..., Mosquitto]]:
    """Run brokers that are stopped at the end."""
    running: list[Mosquitto] = []

    def start(*lines: str, **more: bool) -> Mosquitto:
        running.append(Mosquitto(tmp_path, *lines, **more))
        return running[-1]

    yield start
    for one in running:
        one.stop()


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path, "authority")


def secured(run, authority: Authority, tmp_path: Path, *names: x509.GeneralName) -> Mosquitto:
    """Run a broker with a certificate for `names` and one user, desk."""
    certificate, key = authority.issue("broker", *(names or (here(),)))
    users = passwords(tmp_path, desk="valve")
    return run("allow_anonymous false", f"password_file {users}", f"certfile {certificate}", f"keyfile {key}")


def said(sink: MqttSink) -> str:
    """Return the first line about the connection."""
    lines: list[str] = []
    until(lambda: sink.command_handler.serve(lambda request: lines.append(request.text)) or lines)
    return lines[0]


@needs_mosquitto
def test_transitions_come_once_and_in_order_to_a_client_that_was_away_as_well(run, watch, tell) -> None:
    broker = run(persistent=True)
    # the broker keeps for it what it misses
    watcher = watch(broker.port, "synchroscope/#", lasting="display")
    sink = tell(broker.port)
    sink.alarms(report(transition(1)))
    until(lambda: len(watcher.transitions()) == 1 and not sink.broker.waiting)
    watcher.settle()
    broker.stop()
    for number in range(2, 150):
        sink.alarms(report(transition(number)))
    broker.start()
    until(lambda: len(watcher.transitions()) >= 149)
    until(lambda: not sink.broker.waiting)
    assert [each["number"] for each in watcher.transitions()] == list(range(1, 150))


@needs_mosquitto
def test_a_broker_that_hangs_is_noticed_and_nothing_is_lost(run, watch, tell, monkeypatch) -> None:
    monkeypatch.setattr(connection, "ANSWER_TIMEOUT", 0.5)
    broker = run()
    watcher = watch(broker.port, "synchroscope/#")
    sink = tell(broker.port, rate=100.0)
    until(lambda: sink.broker.state == "connected" and not sink.broker.waiting)
    broker.freeze()
    took = []
    for number in range(1, 200):
        began = monotonic()
        sink.results(rows(2 * number, [[1.0] * 6]))
        sink.alarms(report(transition(number)))
        took.append(monotonic() - began)
    until(lambda: sink.broker.state == "away")
    assert sink.broker.waiting >= 199
    assert sorted(took)[len(took) // 2] < 0.01
    broker.thaw()
    until(lambda: watcher.transitions() and watcher.transitions()[-1]["number"] == 199)
    # what was on its way when it froze may come twice, under the same number
    numbers = list(dict.fromkeys(each["number"] for each in watcher.transitions()))
    assert numbers == list(range(1, 200))


@needs_mosquitto
def test_a_broker_without_memory_is_told_everything_again(run, watch, tell) -> None:
    broker = run()
    sink = tell(broker.port)
    sink.results(rows(0, [[0.0] * 6]))
    sink.alarms(report(transition(1)))
    until(lambda: sink.broker.state == "connected" and not sink.broker.waiting)
    broker.stop()
    until(lambda: sink.broker.state == "away")
    broker.start()
    until(lambda: sink.broker.state == "connected" and not sink.broker.waiting)
    late = watch(broker.port)
    assert late.until("/status")["status"] == "online"
    assert late.until("/meta")["rig"] == "rig"
    again = late.until("/alarm/north.fdb_delay.trip")
    assert (again["refresh"], again["transition"]["number"]) == (True, 1)


@needs_mosquitto
def test_alarms_of_former_settings_are_taken_away_and_others_are_left(run, watch, tell, monkeypatch) -> None:
    monkeypatch.setattr(client, "_CLEANUP_DELAY", 0.2)
    broker = run()
    watcher = watch(broker.port)
    ours, others = "synchroscope/v1/lab/rig/alarm", "synchroscope/v1/lab/rig-2/alarm"
    sensors = "homeassistant/sensor/synchroscope_lab_rig"
    # one is longer than what is taken
    old = {f"{ours}/old.trip": b"{}", f"{ours}/long.trip": b"x" * 1_000_000, f"{sensors}/old/config": b"{}"}
    foreign = {f"{others}/old.trip", f"{sensors}_2/old/config"}
    for topic, payload in {**old, **dict.fromkeys(foreign, b"{}")}.items():
        watcher.send(topic, payload, retain=True)
    sink = tell(broker.port, discovery=True, discovery_values="all")
    sink.alarms(report(transition(1)))
    sink.results(rows(0, [[0.0] * 6]))
    until(lambda: old.keys() <= {one.topic for one in watcher.heard if not one.payload})
    until(lambda: not sink.broker.waiting)
    # and the connection has lasted
    assert len([one for one in watcher.on("rig/status") if one.json["status"] == "offline"]) == 0
    late = watch(broker.port)
    late.until("/status")
    until(lambda: f"{sensors}/north_fdb_delay/config" in {one.topic for one in late.heard})
    kept = {one.topic for one in late.heard}
    assert {topic for topic in kept if "/alarm/" in topic} == {f"{ours}/north.fdb_delay.trip", f"{others}/old.trip"}
    assert {topic for topic in kept if "/old/" in topic} == {f"{sensors}_2/old/config"}


@needs_mosquitto
def test_encrypted_and_known_by_a_password(run, authority, tmp_path, watch, tell) -> None:
    broker = secured(run, authority, tmp_path)
    word = tmp_path / "word"
    word.write_text("valve\n")
    word.chmod(0o600)
    given = {"username": "desk", "password_file": str(word), "ca": str(authority.path), "commands": True}
    sink = tell(broker.port, **given)
    trusted = ssl.create_default_context(cafile=str(authority.path))
    watcher = watch(broker.port, user=("desk", "valve"), tls=trusted)
    watcher.until("/status", lambda told: told["status"] == "online")
    watcher.send("synchroscope/v1/lab/rig/command", encode(NoteRequest(text="oil is warm", id=3)))
    notes: list[str] = []
    until(lambda: sink.command_handler.serve(lambda request: notes.append(request.text)) or watcher.on("/answer"))
    assert watcher.on("/answer")[0].json == {"ok": True, "id": 3}
    assert "oil is warm" in notes


@needs_mosquitto
def test_denied_discovery_is_counted_and_noted_once(run, tmp_path, watch, tell, monkeypatch) -> None:
    monkeypatch.setattr(client, "_CHECK_INTERVAL", 0.3)
    users, rules = passwords(tmp_path, desk="valve"), tmp_path / "rules"
    rules.write_text("user desk\ntopic readwrite synchroscope/v1/lab/#\n")
    rules.chmod(0o600)
    word = tmp_path / "word"
    word.write_text("valve\n")
    word.chmod(0o600)
    broker = run("allow_anonymous false", f"password_file {users}", f"acl_file {rules}")
    sink = tell(broker.port, username="desk", password_file=str(word), discovery=True)
    watcher = watch(broker.port, user=("desk", "valve"))
    sink.results(rows(0, [[0.0] * 6]))
    sink.alarms(report(transition(1)))
    until(lambda: sink.broker.denied and watcher.transitions() and not sink.broker.waiting)
    assert sink.broker.denied == len(sink._sensors) > 3
    notes: list[str] = []
    sink.command_handler.serve(lambda request: notes.append(request.text))
    # the connection has lasted
    assert len(notes) == 2
    topic = "homeassistant/sensor/synchroscope_lab_rig/check/config"
    assert f"refuses messages to {topic}: not authorized" in notes[1]
    assert watcher.until("/meta")["rig"] == "rig"
    # once it may, it does
    rules.write_text("user desk\ntopic readwrite synchroscope/v1/lab/#\ntopic readwrite homeassistant/#\n")
    broker.reload()
    until(lambda: not sink.broker.denied and not sink.broker.waiting)
    assert len({one.topic for one in watcher.heard if "/binary_sensor/" in one.topic}) == 1


@needs_mosquitto
def test_values_for_home_assistant_have_a_rate_of_their_own(run, watch, tell) -> None:
    broker = run()
    watcher = watch(broker.port)
    sink = tell(broker.port, discovery=True, rate=100.0, discovery_rate=2.0)
    sink.results(rows(0, [[0.0] * 6]))
    until(lambda: watcher.on("/meta"))
    began = monotonic()
    for number in range(1, 10_000):
        sink.results(rows(2 * number, [[0.001 * number, 1.0, 0.0, 0.0, 0.0, 0.5]]))
        sleep(0.01)
        if monotonic() - began > 2.2:
            break
    assert len(watcher.on("/indicators")) > 20
    states = watcher.on("rig/homeassistant")
    assert 2 <= len(states) <= 6
    assert states[-1].json["headline"]["north"]["delay"] > states[0].json["headline"]["north"]["delay"]


@needs_mosquitto
def test_known_by_a_certificate(run, authority, tmp_path, tell) -> None:
    certificate, key = authority.issue("broker", here())
    server = (f"certfile {certificate}", f"keyfile {key}", f"cafile {authority.path}")
    broker = run("require_certificate true", "use_identity_as_username true", *server)
    ours = authority.issue("monitor")
    both = {"certificate": str(ours[0]), "key": str(ours[1]), "ca": str(authority.path)}
    sink = tell(broker.port, **both)
    until(lambda: sink.broker.state == "connected")
    stranger = tell(broker.port, ca=str(authority.path))
    assert "connected" not in said(stranger)
    assert stranger.broker.state == "away"


@needs_mosquitto
# a handshake that fails leaves its socket to the collector: paho's
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("wrong", ["authority", "host", "password"])
def test_what_is_not_right_is_refused_and_told(run, authority, tmp_path, tell, monkeypatch, wrong) -> None:
    names = (x509.DNSName("elsewhere.lab"),) if wrong == "host" else ()
    broker = secured(run, authority, tmp_path, *names)
    trusted = Authority(tmp_path, "other").path if wrong == "authority" else authority.path
    monkeypatch.setenv("WORD", "hammer" if wrong == "password" else "valve")
    sink = tell(broker.port, username="desk", password_variable="WORD", ca=str(trusted))
    line = said(sink)
    expected = {
        "authority": "certificate of the broker rejected: unable to get local issuer certificate",
        "host": "certificate of the broker rejected: IP address mismatch",
        "password": "user or password refused",
    }
    assert expected[wrong] in line
    assert line.startswith(f"broker mqtts://127.0.0.1:{broker.port}: ")
    assert "\n" not in line
    assert sink.broker.state == "away"
    sink.alarms(report(transition(1)))
    assert sink.broker.waiting >= 1


def test_a_password_comes_from_a_file_for_its_owner_or_the_environment(tmp_path) -> None:
    word = tmp_path / "word"
    word.write_text("valve\n")
    given = MqttSettings(host="h", username="desk", password_file=str(word))
    word.chmod(0o640)
    with pytest.raises(CredentialError, match="can be read by others"):
        password(given)
    word.chmod(0o400)
    assert password(given) == "valve"
    word.chmod(0o600)
    named = MqttSettings(host="h", username="desk", password_variable="WORD")
    for content in (b"\n", b"a\nb\n", b"\xff", b"x" * 5000, b"a\x1bb", b"a\rb\n"):
        word.write_bytes(content)
        with pytest.raises(CredentialError, match="one line"):
            password(given)
        with pytest.raises(CredentialError, match="one line"):
            password(named, {"WORD": content.decode(errors="surrogateescape")})
    word.write_bytes(b"")
    with pytest.raises(CredentialError, match="one line"):
        password(given)
    word.unlink()
    with pytest.raises(CredentialError, match="cannot be read"):
        password(given)
    assert password(named, {"WORD": "valve"}) == "valve"
    with pytest.raises(CredentialError, match="set WORD"):
        password(named, {})
    assert password(MqttSettings(host="h"), {"SYNCHROSCOPE_MQTT_PASSWORD": "x"}) is None


def test_certificates_that_are_none_are_told_and_names_are_always_checked(tmp_path, authority) -> None:
    certificate, key = authority.issue("monitor")
    given = {"host": "h", "ca": str(authority.path), "certificate": str(certificate), "key": str(key)}
    context = tls_context(MqttSettings(**given))
    assert context is not None
    assert context.check_hostname
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2
    assert tls_context(MqttSettings(host="h")) is None
    key.chmod(0o644)
    with pytest.raises(CredentialError, match="can be read by others"):
        tls_context(MqttSettings(**given))
    key.chmod(0o600)
    key.write_text("nothing")
    with pytest.raises(CredentialError, match="no certificate with its key"):
        tls_context(MqttSettings(**given))
    with pytest.raises(CredentialError, match="no trusted certificates"):
        tls_context(MqttSettings(**given | {"ca": str(tmp_path / "none")}))


@pytest.mark.skipif(os.name != "posix", reason="links, pipes and owners are POSIX's")
def test_a_password_is_a_file_of_ours_and_no_link_or_pipe(tmp_path) -> None:
    word, link, pipe = tmp_path / "word", tmp_path / "link", tmp_path / "pipe"
    word.write_text("valve\n")
    word.chmod(0o600)
    link.symlink_to(word)
    os.mkfifo(pipe, 0o600)
    for path, told in ((link, "is a symbolic link"), (pipe, "is not a file")):
        with pytest.raises(CredentialError, match=told):
            password(MqttSettings(host="h", username="desk", password_file=str(path)))
    if os.geteuid() == 0:
        os.chown(word, 12345, -1)
        with pytest.raises(CredentialError, match="belongs to another user"):
            password(MqttSettings(host="h", username="desk", password_file=str(word)))


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="an open file has no name here")
def test_the_key_that_was_looked_at_is_the_one_that_is_used(tmp_path, authority, monkeypatch) -> None:
    certificate, key = authority.issue("monitor")
    other, whole = authority.issue("other")[1], credentials.open_guarded

    def exchanged(path: Path, forbidden: int) -> BinaryIO:
        file = whole(path, forbidden)
        other.replace(path)
        return file

    monkeypatch.setattr(credentials, "open_guarded", exchanged)
    given = {"host": "h", "ca": str(authority.path), "certificate": str(certificate), "key": str(key)}
    # the other key does not belong to the certificate
    assert tls_context(MqttSettings(**given)) is not None


class Refusing:
    """A connection whose first subscriptions fail."""

    def __init__(self, failures: int) -> None:
        self.failures, self.subscribed = failures, 0
        self.messages = self._none()

    async def subscribe(self, topic: str, qos: int) -> list[ReasonCode]:
        self.subscribed += 1
        return [ReasonCode(PacketTypes.SUBACK, identifier=128 if self.subscribed <= self.failures else 1)]

    async def _none(self) -> AsyncIterator[object]:
        await asyncio.Event().wait()
        yield


def test_a_refused_subscription_is_tried_again_and_noted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_SUBSCRIBE_INTERVAL", 0.0)
    notes: list[str] = []
    settings, topics = MqttSettings(host="h", username="desk", commands=True), RigTopics("lab", "rig")
    tasks = ConnectionTasks(settings, Outbox(), lambda: topics, lambda _: (), lambda *_: None, notes.append)
    connection = Refusing(3)

    async def check(topic: str) -> str:
        return ""

    async def run() -> None:
        running = asyncio.create_task(tasks.run(connection, topics, check))
        while connection.subscribed < 4:
            await asyncio.sleep(0.0)
        # once it is granted there are no more
        for _ in range(100):
            await asyncio.sleep(0.0)
        tasks.stop(0.0)
        await running

    asyncio.run(run())
    assert connection.subscribed == 4
    assert notes == ["broker mqtt://h:1883: no permission to read synchroscope/v1/lab/rig/command"]


PYTHON = os.environ.get("SYNCHROSCOPE_HOMEASSISTANT", "")
# a name that would end a literal or begin an expression in a template
ODD = 'o\'ne} {{ 1/0 }} "%7"'


@pytest.mark.skipif(not PYTHON, reason="SYNCHROSCOPE_HOMEASSISTANT is not set")
def test_home_assistant_accepts_every_sensor_and_reads_its_value() -> None:
    outputs = outputs_by_name()
    columns = [Column(name, output.unit, actuator) for actuator in ("north", ODD) for name, output in outputs.items()]
    columns += [Column("peak_error", unit, f"in {unit}") for unit in ("V", "mm", "°C", "kN", "")]
    stream = ResultStream("hall 7", 7, 100.0, 2, tuple(columns))
    topics = RigTopics("lab", "hall 7", plain=True)
    discovery = Discovery("homeassistant", topics, all_values=True, commands=True)
    alarms = tuple(
        Alarm(f"{actuator}.fdb_delay.{severity}", "fdb_delay", actuator, "s", severity, high=0.02)
        for actuator in ("north", ODD)
        for severity in Severity
    )
    values = 1e-3 * np.arange(1.0, 1.0 + len(columns))
    values[3] = np.nan
    block = ResultBlock(stream, 0, 0.0, values[np.newaxis])
    states = {
        topics.topic(DISCOVERED): StateEncoder(stream, all_values=True, window=2.0).message(block, payloads.now()),
        topics.topic(STATUS): payloads.status("online", state="receiving"),
    }
    for number, alarm in enumerate(alarms, 1):
        states[topics.topic(topics.alarm(alarm.name))] = payloads.alarm(alarm, transition(number, alarm))
    configs = {m.topic: json.loads(m.payload) for m in (*discovery.sensors(stream), *discovery.alarms(alarms))}
    given = {"configs": configs, "states": {topic: payload.decode() for topic, payload in states.items()}}
    program = Path(__file__).with_name("homeassistant_validate.py")
    done = subprocess.run(
        [PYTHON, program], input=json.dumps(given), capture_output=True, text=True, check=False, env={}
    )
    assert not done.returncode, done.stderr
    found = json.loads(done.stdout)
    # each but the button has a state
    assert len(found) == len(configs)
    read = json.loads(states[topics.topic(DISCOVERED)])["values"]["north"]
    shown = {
        topic.split("/")[3]: state for topic, state in found.items() if topic.startswith("homeassistant/sensor/")
    }
    assert len(read) > 30
    for name, value in read.items():
        state = shown[f"north_{name}"]
        assert state == "None" if value is None else float(state) == value, (name, state)
    assert [state for topic, state in found.items() if "/binary_sensor/" in topic] == ["ON", "OFF"] * 2
