"""The broker of docs/mqtt.md, made with its commands and files, run as on Debian, used by `monitor --check`."""

from __future__ import annotations

import json
import os
import pwd
import re
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep

import pytest

from monitor.__main__ import main
from monitor.config import MqttSettings
from monitor.messages.requests import AcknowledgeRequest, Request
from monitor.transport.mqtt import MqttSink
from tests.monitor.mqtt.conftest import report, transition
from tests.monitor.mqtt.mosquitto import PROGRAM
from tests.monitor.mqtt.watcher import Watcher
from tests.needs import needs
from tests.waiting import until

PAGE = (Path(__file__).parents[2] / "docs" / "mqtt.md").read_text()
USER = "mosquitto"


def can_run() -> bool:
    return os.geteuid() == 0 and USER in {each.pw_name for each in pwd.getpwall()}


pytestmark = [
    needs("mosquitto", "mosquitto_passwd", "openssl"),
    pytest.mark.skipif(not can_run(), reason="needs root and the user mosquitto, as Debian installs it"),
]


def fenced(first: str) -> str:
    """Return the code block that begins with this text."""
    found = re.search(rf"```\w*\n({re.escape(first)}.*?)```", PAGE, re.DOTALL)
    assert found is not None, first
    return found[1]


@pytest.fixture
def etc() -> Iterator[Path]:
    """Return a folder in place of /etc/mosquitto, which its user can enter: those of pytest are closed to others."""
    folder = Path("/tmp") / f"synchroscope-recipe-{os.getpid()}"
    folder.mkdir(mode=0o755)
    yield folder
    shutil.rmtree(folder)


def home_assistant(port: int, folder: Path, settings: MqttSettings) -> None:
    """Home Assistant's user reads sensors and alarms, announces itself, and presses the button."""
    trusted = ssl.create_default_context(cafile=str(folder / "ca.pem"))
    # the certificate has the name localhost, by which the service connects
    trusted.check_hostname = False
    sink = MqttSink(settings, "rig")
    watcher = Watcher(port, "synchroscope/#", "homeassistant/#", user=("homeassistant", "valve"), tls=trusted)
    try:
        sink.alarms(report(transition(1)))
        button = watcher.until("/acknowledge_alarms/config")
        watcher.send("homeassistant/status", b"online")
        until(lambda: watcher.on("homeassistant/status") and watcher.transitions())
        watcher.send(button["command_topic"], button["payload_press"].encode())
        asked: list[Request] = []
        until(lambda: sink.command_handler.serve(asked.append) or len(asked) == 2)
        assert asked[1] == AcknowledgeRequest(by="Home Assistant")
        # but no values of its own
        watcher.send("synchroscope/v1/hall-2/rig/status", b"{}")
        until(lambda: watcher.on("/answer"))
        assert watcher.until("/rig/status")["status"] == "online"
    finally:
        watcher.close()
        sink.close(0.5)


def test_the_recipe_works_as_it_is_written(etc: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

    def here(text: str) -> str:
        text = text.replace("/etc/mosquitto", str(etc)).replace("sudo ", "").replace("broker.lab", "localhost")
        return text.replace("listener 8883", f"listener {port}")

    for first in ("openssl req -x509", "sudo install"):
        subprocess.run(["bash", "-euc", here(fenced(first))], cwd=tmp_path, check=True, capture_output=True)
    for name in ("monitor", "homeassistant"):
        program = shutil.which("mosquitto_passwd")
        assert program is not None
        subprocess.run([program, "-b", etc / "passwords", name, "valve"], check=True, capture_output=True)
    (etc / "access").write_text(fenced("# the service: writes"))
    (etc / "hall-2.conf").write_text(here(fenced("listener 8883")))
    broker = subprocess.Popen([PROGRAM, "-c", etc / "hall-2.conf"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        deadline = monotonic() + 30.0
        while True:
            assert broker.poll() is None, broker.stderr.read().decode()
            try:
                socket.create_connection(("localhost", port), 1.0).close()
                break
            except OSError:
                assert monotonic() < deadline
                sleep(0.05)
        word, config = tmp_path / "word", tmp_path / "lab.toml"
        word.write_text("valve\n")
        word.chmod(0o600)
        lines = {"host": "localhost", "port": port, "lab": "hall-2", "ca": str(tmp_path / "ca.pem")}
        lines |= {"username": "monitor", "password_file": str(word), "discovery": True}
        written = "\n".join(f"{key} = {json.dumps(value)}" for key, value in lines.items())
        config.write_text(f'[results]\npublish = "tcp://127.0.0.1:*"\n[mqtt]\n{written}\n')
        main(["monitor", "--check", "--json", "--duration", "1", "--connect", "tcp://127.0.0.1:1", str(config)])
        found = json.loads(capfd.readouterr().out)["findings"]
        of_broker = [each for each in found if each["subject"] == "broker"]
        assert [each["level"] for each in of_broker] == ["ok", "ok"], of_broker
        assert "with TLS" in of_broker[0]["detail"]
        home_assistant(port, tmp_path, MqttSettings.model_validate({**lines, "commands": True}))
    finally:
        broker.terminate()
        broker.wait(30.0)
        broker.stderr.close()
