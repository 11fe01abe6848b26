"""The real service and a real broker: killed, cut off, refused; set SYNCHROSCOPE_PAUSE for a longer absence."""

from __future__ import annotations

import json
import os
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic, sleep

import numpy as np
import pytest

from monitor.__main__ import main
from monitor.messages.alarms import AlarmReport, Transition
from monitor.messages.blocks import Channel, Role, SignalBlock, Stream
from monitor.messages.requests import AcknowledgeRequest, encode
from monitor.transport.zeromq.results import ResultSubscriber
from monitor.transport.zeromq.signals import SignalPublisher
from tests.monitor.mqtt.mosquitto import Authority, Mosquitto, here, passwords
from tests.monitor.mqtt.watcher import Watcher
from tests.needs import needs
from tests.waiting import until

pytestmark = needs("mosquitto")
PAUSE = float(os.environ.get("SYNCHROSCOPE_PAUSE", "1"))
ANY_PORT = "tcp://127.0.0.1:*"
RATE = 200.0
STREAM = Stream(
    "hall/1", 1, RATE, (Channel("x.command", Role.COMMAND, "m", "x"), Channel("x.measured", Role.MEASURED, "m", "x"))
)
SETTINGS = f"""
[results]
publish = "{ANY_PORT}"
[indicators]
measures = ["nrmse"]
window = 0.2
[[alarms.limit]]
value = "nrmse"
trip = 0.5
[mqtt]
host = "127.0.0.1"
rate = 20
"""


class Lab:
    """A broker with TLS and passwords, a rig, and a service between the two."""

    def __init__(self, folder: Path, start: Callable[..., object]) -> None:
        self.folder = folder
        self._start = start
        self.authority = Authority(folder, "authority")
        certificate, key = self.authority.issue("broker", here())
        users = passwords(folder, monitor="valve", display="lamp")
        secured = ("allow_anonymous false", f"password_file {users}", f"certfile {certificate}", f"keyfile {key}")
        self.broker = Mosquitto(folder, *secured, persistent=True)
        self.rig = SignalPublisher(ANY_PORT)
        self.watchers: list[Watcher] = []
        self.sent = self.services = 0
        self.word = folder / "word"
        self.word.write_text("valve\n")
        self.word.chmod(0o600)

    def service(self, *words: object, **more: object):
        """Start the service; `more` are keys of its broker."""
        lines = {"username": "monitor", "password_file": str(self.word), "ca": str(self.authority.path), **more}
        lines = {"port": self.broker.port, **lines}
        config = self.folder / f"lab-{self.services}.toml"
        self.services += 1
        written = "\n".join(f"{key} = {json.dumps(value)}" for key, value in lines.items())
        config.write_text(f"{SETTINGS}{written}\n")
        return self._start("monitor", "--connect", self.rig.endpoint, *words, "--", config)

    def watch(self, *topics: str, lasting: str = "") -> Watcher:
        trusted = ssl.create_default_context(cafile=str(self.authority.path))
        one = Watcher(self.broker.port, *topics, user=("display", "lamp"), tls=trusted, lasting=lasting)
        self.watchers.append(one)
        return one

    def move(self, blocks: int, error: float = 0.0) -> None:
        """Let the rig move, with an error of its measured signal; 0.1 s in as long."""
        for _ in range(blocks):
            angle = 0.2 * (self.sent + np.arange(20.0))
            samples = np.column_stack([np.sin(angle), (1.0 + error) * np.sin(angle)])
            self.rig.send(SignalBlock(STREAM, self.sent, self.sent / RATE, samples))
            self.sent += 20
            sleep(0.02)

    def close(self) -> None:
        for one in self.watchers:
            one.close()
        self.rig.close(0.0)
        self.broker.stop()


@pytest.fixture
def lab(start, tmp_path) -> Iterator[Lab]:
    one = Lab(tmp_path, start)
    yield one
    one.close()


def test_every_transition_of_an_absence_comes_once_and_in_order_and_what_was_said_outlives_the_service(lab) -> None:
    service = lab.service("--rig", "hall/1")
    results = ResultSubscriber(service.results, kinds=("alarms",))
    truth: list[Transition] = []

    def listen() -> None:
        for item in results.receive(0.0):
            if isinstance(item, AlarmReport):
                truth.extend(item.transitions)

    watcher = lab.watch("synchroscope/#", lasting="display")
    until(lambda: results.receive(0.1))
    assert lab.rig.wait_for_subscriber(60.0)
    lab.move(6)
    lab.move(6, 1.0)
    watcher.until("/alarm/x.nrmse.trip", lambda told: told["standing"])
    # nothing is on its way, which the broker's end would let come twice
    until(lambda: listen() or len(truth) == len(watcher.transitions()))
    watcher.settle()
    lab.broker.stop()
    over, error = monotonic() + PAUSE, 0.0
    while monotonic() < over or len(truth) < 8:
        lab.move(6, error)
        error = 1.0 - error
        listen()
    lab.broker.start()
    lab.move(6)
    lab.move(6, 1.0)
    deadline = monotonic() + 90.0
    while [each["number"] for each in watcher.transitions()] != [each.number for each in truth] or len(truth) < 9:
        assert monotonic() < deadline, (watcher.transitions()[-3:], truth[-3:])
        listen()
        sleep(0.05)
    results.close()
    assert [each["state"] for each in watcher.transitions()] == [each.state for each in truth]
    numbers = [each["number"] for each in watcher.transitions()]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    service.until("broker mqtts://127.0.0.1:[0-9]+: .*\n(.*\n)*.*connected")
    told = watcher.until("hall%2F1/indicators", lambda told: told["values"]["x"]["nrmse"] is not None)
    assert told["values"]["x"]["nrmse"] > 0.5
    watcher.until("hall%2F1/meta")
    service.kill()
    assert watcher.until("hall%2F1/status", lambda told: told["status"] == "offline")["reason"] == "lost"
    late = lab.watch("synchroscope/#")
    assert late.until("/status")["status"] == "offline"
    assert late.until("/meta")["sample_rate"] == RATE
    assert late.until("/alarm/x.nrmse.trip")["standing"]
    assert {one.topic.split("/")[3] for one in late.heard} == {"hall%2F1"}


def test_an_alarm_is_acknowledged_by_way_of_the_broker_which_refuses_another_service(lab) -> None:
    kept, wrong = lab.folder / "run.h5", lab.folder / "wrong"
    wrong.write_text("hammer\n")
    wrong.chmod(0o600)
    # both at once: their starts take the longest
    service = lab.service("--record", kept, commands=True, discovery=True)
    refused = lab.service(password_file=str(wrong))
    watcher = lab.watch("#")
    line = refused.until(r"at 0\.000 s: (broker .*)\n")
    assert line == f"broker mqtts://127.0.0.1:{lab.broker.port}: user or password refused"
    service.until("connected")
    assert lab.rig.wait_for_subscriber(60.0)
    lab.move(10, 1.0)
    # and goes on without
    refused.until("the stream starts")
    refused.stop()
    assert "hammer" not in refused.err
    watcher.until("/alarm/x.nrmse.trip", lambda told: told["needs_acknowledgement"])
    request = AcknowledgeRequest(alarm="x.nrmse.trip", by="display", id=7)
    watcher.send("synchroscope/v1/lab/hall%2F1/command", encode(request))
    assert watcher.until("/answer") == {"ok": True, "id": 7}
    after = watcher.until("/alarm/x.nrmse.trip", lambda told: told["state"] == "acknowledged")
    assert after["transition"]["by"] == "display"
    configured = [one for one in watcher.heard if one.topic.startswith("homeassistant/binary_sensor/")]
    assert any(one.json["name"] == "x.nrmse.trip" for one in configured)
    lab.rig.send(SignalBlock(STREAM, lab.sent, lab.sent / RATE, np.zeros((1, 2)), last=True))
    watcher.until("/status", lambda told: told.get("state") == "ended")
    service.stop()
    assert watcher.until("/status", lambda told: told["status"] == "offline")["reason"] == "ended"
    summary = watcher.until("/summary", lambda told: told["recording"]["outcome"])
    assert summary["recording"] == {"path": str(kept), "outcome": "clean", "recorded": lab.sent + 1, "unrecorded": 0}


@pytest.mark.parametrize(
    ("mode", "words", "told"),
    [
        (0o644, [], "can be read by others: chmod 600"),
        (0o600, ["--mqtt", "mqtts://monitor:valve@hall"], "a password does not belong on a command line"),
        (0o600, ["--mqtt", "hall/topic"], "write HOST, HOST:PORT, mqtt://HOST:PORT or mqtts://HOST:PORT"),
        (0o600, ["--mqtt", "mqtt://hall"], "mqtt: ca and certificate need tls"),
    ],
)
def test_mistakes_are_told_in_one_line(tmp_path, capsys, mode, words, told) -> None:
    word, config = tmp_path / "word", tmp_path / "lab.toml"
    word.write_text("valve\n")
    word.chmod(mode)
    authority = Authority(tmp_path, "authority").path
    config.write_text(f"{SETTINGS}username = 'monitor'\npassword_file = '{word}'\nca = '{authority}'\n")
    assert main(["monitor", "--quiet", *words, "--", str(config)]) == 2
    said = capsys.readouterr().err
    assert told in said
    assert said.count("\n") == 1
    assert "valve" not in said
