"""The unit in examples/systemd: read by systemd, its command by our parser, its credentials by the service."""

from __future__ import annotations

import configparser
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from monitor.__main__ import parser_for
from monitor.config import MqttSettings
from monitor.transport.mqtt.credentials import CredentialError, password
from tests.needs import needs

UNIT = Path(__file__).parents[2] / "examples" / "systemd" / "synchroscope.service"
CREDENTIAL = "#LoadCredential="


@pytest.fixture
def service() -> configparser.SectionProxy:
    parser = configparser.ConfigParser(interpolation=None, strict=True)
    # as the documentation of configparser sets it: names keep their case
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read_string(UNIT.read_text())
    return parser["Service"]


def words_of(service: configparser.SectionProxy) -> list[str]:
    program, *words = shlex.split(service["ExecStart"])
    assert Path(program).name == "synchroscope"
    return words


def test_the_command_is_one_that_our_parser_takes(service):
    arguments = parser_for(words_of(service)).parse_args(words_of(service))
    assert arguments.subcommand == "monitor"
    assert arguments.config == Path("/etc/synchroscope/lab.toml")
    # a folder of its own state, where the service may write and where every run gets a name
    assert vars(arguments)["record.path"] == f"/var/lib/{service['StateDirectory']}/runs/"
    assert not arguments.check


def test_what_it_relies_on_elsewhere(service):
    # readiness and signs of life are told by `monitor.commands.sinks`, health twice a second
    assert service["Type"] == "notify"
    assert int(service["WatchdogSec"]) >= 10
    # a minute or two of compiling on the machines that we know
    assert int(service["TimeoutStartSec"]) >= 300
    assert service["KillSignal"] == "SIGTERM"
    # the recorder holds 30 s of the stream at most, which a slow disk must get
    assert int(service["TimeoutStopSec"]) > 60
    # a user's mistake ends with this code, as monitor.__main__ has it, and does not go away by itself
    assert (service["Restart"], service["RestartPreventExitStatus"]) == ("on-failure", "2")
    # kernels are compiled into memory that is written and run
    assert service.get("MemoryDenyWriteExecute", "no") == "no"
    assert service["Environment"] == f"XDG_CACHE_HOME=/var/cache/{service['CacheDirectory']}"


@needs("systemd-analyze")
@pytest.mark.parametrize("credential", [False, True])
def test_systemd_understands_every_line(tmp_path, credential):
    text = UNIT.read_text()
    assert text.count(CREDENTIAL) == 1
    if credential:
        text = text.replace(CREDENTIAL, CREDENTIAL.lstrip("#"))
    # it looks for the program, which is not installed here
    unit = tmp_path / UNIT.name
    unit.write_text(re.sub(r"^ExecStart=\S+", f"ExecStart={shutil.which('true')}", text, flags=re.M))
    verified = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, check=False, timeout=60
    )
    said = [line for line in verified.stderr.splitlines() if UNIT.name in line]
    assert (verified.returncode, said) == (0, []), verified.stderr


@needs("systemd-analyze")
def test_systemd_would_tell_of_a_line_that_it_does_not_understand(tmp_path):
    unit = tmp_path / UNIT.name
    unit.write_text("[Service]\nExecStart=/bin/true\nProtectSistem=strict\n")
    verified = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, timeout=60
    )
    assert "ProtectSistem" in verified.stderr


def test_a_credential_of_systemd_may_be_read_through_its_access_list(tmp_path, monkeypatch):
    secret = tmp_path / "mqtt-password"
    secret.write_text("right\n")
    # as systemd shows it where the service has a user of its own (systemd issue 29096)
    secret.chmod(0o440)
    settings = MqttSettings(host="broker", username="rig", password_file=str(secret))
    with pytest.raises(CredentialError, match="chmod 600"):
        password(settings, {})
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    assert password(settings, {}) == "right"
    secret.chmod(0o444)
    with pytest.raises(CredentialError, match="chmod 600"):
        password(settings, {})
    # not in a folder below, nor in one whose name begins alike
    for elsewhere in (tmp_path / "below", tmp_path.with_name(f"{tmp_path.name}-too")):
        elsewhere.mkdir()
        secret = elsewhere / "mqtt-password"
        secret.write_text("right\n")
        secret.chmod(0o440)
        with pytest.raises(CredentialError, match="chmod 600"):
            password(settings.model_copy(update={"password_file": str(secret)}), {})
