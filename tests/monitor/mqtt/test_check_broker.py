"""What `monitor --check` says of brokers: one in this process, and mosquitto with passwords, rules, certificates."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from monitor.commands.checks import CheckLevel, CheckResult, checked
from monitor.commands.checks import endpoints as checks_broker
from monitor.commands.checks.endpoints import broker as look
from monitor.config import MqttSettings
from tests.monitor.mqtt.conftest import Amqtt, free_port
from tests.monitor.mqtt.mosquitto import Authority, Mosquitto, here, passwords
from tests.needs import needs
from tests.waiting import until

needs_mosquitto = needs("mosquitto")


def met(port: int, rig: str = "north", **settings: object) -> CheckResult:
    given = MqttSettings.model_validate({"host": "127.0.0.1", "port": port, **settings})
    (said,) = checked("broker", lambda: look(given, rig))
    return said


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[..., Mosquitto]]:
    """Run brokers that are stopped at the end."""
    running: list[Mosquitto] = []

    def start(*lines: str) -> Mosquitto:
        running.append(Mosquitto(tmp_path, *lines))
        return running[-1]

    yield start
    for one in running:
        one.stop()


@pytest.fixture
def user(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "password").write_text("right\n")
    (tmp_path / "password").chmod(0o600)
    return {"username": "rig", "password_file": str(tmp_path / "password")}


def test_a_message_goes_there_and_back_and_nothing_stays(broker: Amqtt, watch):
    watcher = watch(broker.port)
    said = met(broker.port)
    assert said.level is CheckLevel.OK
    told = re.fullmatch(
        r"mqtt://127\.0\.0\.1:\d+: connected in \d+ ms unencrypted; round trip of (\S+) [\d.]+ ms", said.detail
    )
    assert told is not None, said.detail
    assert told[1] == "synchroscope/v1/lab/north/check"
    until(lambda: watcher.heard)
    # no status, no will, and for who comes later nothing at all
    assert {one.topic for one in watcher.heard} <= {told[1], f"{told[1]}/alarm/a.b"}
    later = watch(broker.port)
    later.send("last", b"")
    until(lambda: later.heard)
    assert [one.topic for one in later.heard] == ["last"]


def test_a_broker_that_is_away_is_a_warning():
    said = met(free_port())
    assert said.level is CheckLevel.WARN
    assert "and retries" in said.detail


def test_a_password_that_is_not_there_fails_before_anything_is_sent(monkeypatch):
    monkeypatch.delenv("SYNCHROSCOPE_MQTT_PASSWORD", raising=False)
    said = met(free_port(), username="rig")
    assert said.level is CheckLevel.FAIL
    assert "no password for 'rig'" in said.detail


@needs_mosquitto
def test_a_wrong_password_fails_and_the_right_one_is_known(run, tmp_path, user):
    file = passwords(tmp_path, rig="right")
    one = run("allow_anonymous false", f"password_file {file}")
    said = met(one.port, **user)
    assert said.level is CheckLevel.OK
    assert "unencrypted, as rig" in said.detail
    Path(user["password_file"]).write_text("wrong\n")
    assert met(one.port, **user).level is CheckLevel.FAIL


# where nobody may read, nothing comes back
@needs_mosquitto
@pytest.mark.parametrize(
    ("rule", "level", "words"),
    [("read", CheckLevel.FAIL, "refuses messages to"), ("write", CheckLevel.WARN, "check was not received")],
)
def test_a_user_who_may_not_both_write_and_read_is_told(run, tmp_path, user, rule, level, words, monkeypatch):
    monkeypatch.setattr(checks_broker, "_ROUND_TRIP_TIMEOUT", 0.3)
    file = passwords(tmp_path, rig="right")
    rules = tmp_path / "rules"
    rules.write_text(f"user rig\ntopic {rule} synchroscope/v1/lab/#\n")
    rules.chmod(0o600)
    one = run("allow_anonymous false", f"password_file {file}", f"acl_file {rules}")
    said = met(one.port, **user)
    assert said.level is level
    assert words in said.detail


@needs_mosquitto
def test_a_user_who_may_not_write_to_home_assistant_is_told(run, tmp_path, user):
    file = passwords(tmp_path, rig="right")
    rules = tmp_path / "rules"
    rules.write_text("user rig\ntopic readwrite synchroscope/v1/lab/#\n")
    rules.chmod(0o600)
    one = run("allow_anonymous false", f"password_file {file}", f"acl_file {rules}")
    given = MqttSettings.model_validate({"host": "127.0.0.1", "port": one.port, "discovery": True, **user})
    own, discovery = checked("broker", lambda: look(given, "north"))
    assert own.level is CheckLevel.OK
    assert discovery.level is CheckLevel.FAIL
    topic = "homeassistant/sensor/synchroscope_lab_north/check/config"
    assert f"refuses messages to {topic}: not authorized" in discovery.detail
    rules.write_text("user rig\ntopic readwrite synchroscope/v1/lab/#\ntopic readwrite homeassistant/#\n")
    one.stop()
    one.start()
    assert [each.level for each in look(given, "north")] == [CheckLevel.OK] * 2


# paho leaves the socket of a refused handshake to be collected
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@needs_mosquitto
def test_certificates_are_verified(run, tmp_path):
    right, wrong = Authority(tmp_path, "right"), Authority(tmp_path, "wrong")
    certificate, key = right.issue("broker", here())
    one = run("allow_anonymous true", f"certfile {certificate}", f"keyfile {key}")
    said = met(one.port, ca=str(right.path))
    assert said.level is CheckLevel.OK
    assert said.detail.startswith(f"mqtts://127.0.0.1:{one.port}: connected")
    said = met(one.port, ca=str(wrong.path))
    assert said.level is CheckLevel.FAIL
    assert "certificate of the broker rejected" in said.detail
