"""Measures, model, alarms, keys and the machine as `monitor --check` sees them."""

from __future__ import annotations

import configparser
import re
import resource
import shlex
import shutil
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from monitor.__main__ import parser_for
from monitor.commands.checks import CheckLevel, checked, fail, machine, ok, values
from monitor.commands.checks.endpoints import keys, no_keys
from monitor.config import IndicatorSettings, MqttSettings, Settings
from monitor.engine.monitor import Monitor
from monitor.ensembles.plan_files import open_plan
from monitor.messages.blocks import Channel, Column, Role, SignalBlock, Stream
from monitor.transport.mqtt.credentials import CredentialError, password
from monitor.transport.zeromq.allow_list import KeyFolder
from tests.needs import needs

ROOT = Path(__file__).parents[2]
CHANNELS = tuple(
    Channel(f"{name}.{role}", role, "m" if role is not Role.FORCE else "N", name)
    for name in ("north", "south")
    for role in (Role.COMMAND, Role.MEASURED, Role.FORCE)
)
STREAM = Stream("frame", 1, 100.0, CHANNELS)


def settings(**sections: object) -> Settings:
    return Settings.model_validate(sections)


def published(given: Settings, stream: Stream = STREAM) -> tuple[Column, ...]:
    """Return what the engine really publishes."""
    update = Monitor(given.indicators).update(SignalBlock(stream, 0, 0.0, np.zeros((1, len(stream.channels)))))
    assert update.results is not None
    return update.results.stream.columns


def test_a_line_begins_with_the_word_and_stays_one_line():
    assert str(ok("rig", "good")) == "ok    rig          good"
    assert str(fail("alarm file", "bad\n  thing")) == "fail  alarm file   bad thing"


def test_every_line_is_told_of_on_the_page():
    files = [*(ROOT / "monitor" / "commands" / "checks").glob("*.py"), ROOT / "monitor" / "commands" / "check.py"]
    sources = "".join(path.read_text() for path in files)
    subjects = set(re.findall(r'\b(?:ok|warn|fail|found)\(\s*"([^"]+)"', sources))
    # those of the outlets stand in a list
    subjects |= set(re.findall(r'^ {8}\("(\w+)", ', sources, re.M))
    rows = re.findall(r"^\| (`.+?`) \|", (ROOT / "docs" / "a-day.md").read_text(), re.M)
    assert {name for row in rows for name in re.findall("`(.+?)`", row)} == subjects


def test_what_keeps_a_look_from_looking_is_a_failure():
    def look():
        yield ok("disk", "first")
        raise OSError("then not")

    assert list(checked("disk", look)) == [ok("disk", "first"), fail("disk", "then not")]


@pytest.mark.parametrize("measures", [["fdb"], ["nrmse", "hsem"], ["paei", "ti", "peak_error"]])
def test_the_columns_are_those_that_the_engine_publishes(warm_kernels, measures):
    given = settings(indicators={"measures": measures})
    columns: list[Column] = []
    said = list(values.measures(given.indicators, STREAM, columns))
    assert tuple(columns) == published(given)
    assert [each.level for each in said] == [CheckLevel.OK]
    assert f"window of 2 s, 200 samples; {len(columns)} values, 100 times per second" in said[0].detail


@pytest.mark.parametrize("measures", [["fdb"], ["nrmse", "hsem", "transfer"]])
def test_without_a_rig_every_name_that_a_rig_would_have_is_known_and_no_other(warm_kernels, measures):
    # a window that no rig's rate is known for: it changes no name
    given = settings(indicators={"measures": measures, "window": 1e-4})
    real = published(settings(indicators={"measures": measures}))
    every = [{"value": column.name, "actuator": column.actuator, "warn": 1.0} for column in real]
    every += [{"value": "health.lost", "warn": 0.0}]
    good = given.model_copy(update={"alarms": settings(alarms={"limit": every}).alarms})
    assert CheckLevel.FAIL not in [each.level for each in values.assumed_alarms(good, None)]
    values.check_published(good, None)
    wrong = settings(indicators={"measures": measures}, alarms={"limit": [{"value": "paei_delay", "warn": 1.0}]})
    said = list(values.assumed_alarms(wrong, None))
    assert said[0].level is CheckLevel.FAIL
    assert "no value 'paei_delay'; there are " in said[0].detail
    with pytest.raises(ValueError, match=r"^alarms: no value 'paei_delay'; there are "):
        values.check_published(wrong, None)


def test_limits_on_values_of_a_rig_that_was_heard(warm_kernels):
    given = settings(
        indicators={"measures": ["fdb"]},
        alarms={
            "dead_stream": False,
            "overload": False,
            "lost_data": False,
            "recording": False,
            "limit": [{"value": "fdb_delay", "warn": 0.01, "trip": 0.02, "deadband": 0.001}],
        },
    )
    # two actuators, a warn and a trip each
    assert list(values.alarms(given, published(given))) == [
        ok("alarms", "4, of 1 limits and the built-in ones"),
        ok("alarms", "fdb_delay warn above 0.01, trip above 0.02"),
    ]
    west = settings(alarms={"limit": [{"value": "fdb_delay", "actuator": "west", "warn": 0.01}]})
    said = list(values.alarms(west, published(given)))
    assert said[0] == fail("alarms", "no value 'fdb_delay' of 'west'; there are north, south")
    # it may come with another rig
    values.check_published(west, None)


def test_where_limits_lie_and_which_may_chatter(warm_kernels):
    limits = [
        {"value": "fdb_delay", "warn": 0.02},
        {"value": "fdb_ratio", "actuator": "north", "trip": [0.9, 1.1], "off_delay": 1.0},
        {"value": "nrmse", "side": "below", "warn": 0.5, "trip": 0.2, "deadband": 0.1},
        {"value": "health.lost", "warn": 0.0},
        {"value": "paei_ratio", "warn": 1.0, "in_service": False},
    ]
    given = settings(alarms={"limit": limits})
    said = list(values.alarms(given, published(given)))
    assert [each.detail for each in said if each.level is CheckLevel.OK][1:] == [
        "fdb_delay warn above 0.02",
        "north fdb_ratio trip below 0.9 and above 1.1",
        "nrmse warn below 0.5, trip below 0.2",
        "health.lost warn above 0",
    ]
    assert [each.detail for each in said if each.level is CheckLevel.WARN] == [
        "fdb_delay: may chatter without a deadband: in the settings, or VALUE=WARN,deadband=D"
    ]


def test_a_window_that_does_not_fit_the_rig_fails(warm_kernels):
    said = list(
        checked("measures", lambda: values.measures(settings(indicators={"window": 0.01}).indicators, STREAM, []))
    )
    assert [each.level for each in said] == [CheckLevel.FAIL]
    assert "window" in said[0].detail


def test_a_rig_without_actuators_is_a_warning():
    alone = Stream("frame", 1, 100.0, (Channel("x", Role.AUXILIARY),))
    assert [each.level for each in values.measures(settings().indicators, alone, [])] == [CheckLevel.WARN]


def test_a_model_is_looked_for_among_the_channels(tmp_path):
    time_, shape = 0.01 * np.arange(50), np.sin(np.arange(50.0))[:, None]
    np.savez(tmp_path / "model.npz", time=time_, response=shape * [0.9, 1.0, 1.1])
    given = settings(reliability={"channel": "north.measured", "ensemble": str(tmp_path / "model.npz")})
    plan = open_plan(given.reliability)
    assert plan is not None
    columns: list[Column] = []
    assert [each.level for each in values.model(plan, STREAM, columns)] == [CheckLevel.OK]
    assert {"reliability_accumulated", "reliability_decision"} <= {column.name for column in columns}
    limit = {"value": "reliability_accumulated", "warn": 0.5, "side": "below"}
    assumed = given.model_copy(update={"alarms": settings(alarms={"limit": [limit]}).alarms})
    assert CheckLevel.FAIL not in [each.level for each in values.assumed_alarms(assumed, plan)]
    values.check_published(assumed, plan)
    with pytest.raises(ValueError, match="reliability_accumulated"):
        values.check_published(assumed, None)
    elsewhere = Stream("frame", 1, 100.0, CHANNELS[3:])
    said = list(checked("model", lambda: values.model(plan, elsewhere, [])))
    assert [each.level for each in said] == [CheckLevel.FAIL]
    assert "no channel 'north.measured'" in said[0].detail


def levels(folder: Path, **more: str) -> list[tuple[CheckLevel, str]]:
    given = settings(security={"keys": str(folder), **more})
    return [(each.level, each.detail) for each in checked("keys", lambda: keys(given))]


def test_keys_are_read_as_the_service_reads_them(tmp_path):
    folder = tmp_path / "keys"
    assert levels(folder)[0][0] is CheckLevel.FAIL
    KeyFolder(folder).prepare()
    assert [level for level, _ in levels(folder)] == [CheckLevel.WARN]
    assert "no client is admitted" in levels(folder)[0][1]
    handed = KeyFolder(folder).client("window")
    (good, names), (left, remedy) = levels(folder)
    assert (good, left) == (CheckLevel.OK, CheckLevel.WARN)
    assert names.endswith("admitted: window")
    assert "transfer the secret keys of window" in remedy
    (handed / "window.secret").unlink()
    assert [level for level, _ in levels(folder)] == [CheckLevel.OK]
    assert levels(folder, rig_key=str(tmp_path / "none"))[0][0] is CheckLevel.FAIL
    (folder / "clients" / "window.public").write_text("no key\n")
    assert CheckLevel.FAIL in [level for level, _ in levels(folder)]
    (folder / "service.secret").chmod(0o644)
    assert levels(folder)[0] == (
        CheckLevel.FAIL,
        f"{folder}/service.secret can be read by others: chmod 600 {folder}/service.secret",
    )


def test_a_rig_elsewhere_that_is_heard_in_plain_is_named(tmp_path):
    KeyFolder(tmp_path / "keys").prepare()
    for url, named in [("tcp://127.0.0.1:5555", False), ("tcp://rig:5555", True)]:
        given = settings(security={"keys": str(tmp_path / "keys")}, stream={"connect": [url]})
        warned = [each.detail for each in keys(given) if each.level is CheckLevel.WARN]
        assert any("not encrypted" in detail and url in detail for detail in warned) is named


def test_a_public_key_of_another_pair_fails(tmp_path):
    for name in ("one", "other"):
        KeyFolder(tmp_path / name).prepare()
    (tmp_path / "other" / "service.public").replace(tmp_path / "one" / "service.public")
    assert any("does not match" in detail for level, detail in levels(tmp_path / "one") if level is CheckLevel.FAIL)


def test_without_keys_what_is_open_to_others_is_named():
    assert [each.level for each in no_keys(settings())] == [CheckLevel.OK]
    given = settings(results={"publish": "tcp://0.0.0.0:5556"}, viewers={"plotjuggler": "tcp://*:9872"})
    said = list(no_keys(given))
    assert [each.level for each in said] == [CheckLevel.WARN]
    assert said[0].detail.endswith("can reach tcp://0.0.0.0:5556, tcp://*:9872")


@pytest.mark.parametrize(("resolution", "level"), [(1e-9, CheckLevel.OK), (0.0156, CheckLevel.WARN)])
def test_a_coarse_clock_is_a_warning(monkeypatch, resolution, level):
    told = SimpleNamespace(resolution=resolution, implementation="of the test")
    monkeypatch.setattr(time, "get_clock_info", lambda name: told if name == "monotonic" else None)
    assert [each.level for each in machine.clock()] == [level]


@pytest.mark.parametrize(
    ("most", "level"), [(1024, CheckLevel.WARN), (65536, CheckLevel.OK), (resource.RLIM_INFINITY, CheckLevel.OK)]
)
def test_few_descriptors_are_a_warning(monkeypatch, most, level):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (most, most))
    monkeypatch.setattr(resource, "setrlimit", lambda *_: None)
    assert [each.level for each in machine.descriptors()] == [level]


def test_kernels_that_have_been_compiled_are_loaded(warm_kernels, monkeypatch):
    (said,) = machine.kernels(IndicatorSettings(measures=("nrmse",)), reliability=False)
    assert said.level is CheckLevel.OK
    monkeypatch.setenv("SYNCHROSCOPE_KERNELS_IN_MEMORY", "/home/rig/.cache: Read-only file system")
    (said,) = machine.kernels(IndicatorSettings(measures=("nrmse",)), reliability=False)
    assert said.level is CheckLevel.WARN
    assert "at every start: /home/rig/.cache: Read-only file system; set NUMBA_CACHE_DIR" in said.detail


@pytest.mark.parametrize(
    ("alone", "together", "level", "said"),
    [
        (0.002, 0.001, CheckLevel.OK, "about 20 % of one of "),
        (0.007, 0.002, CheckLevel.WARN, "20 % when waiting messages are joined: results may be late"),
        (0.02, 0.0095, CheckLevel.WARN, "too much even when waiting messages are joined, 95 %"),
    ],
)
def test_the_load_is_a_share_of_a_processor(monkeypatch, alone, together, level, said):
    monkeypatch.setattr(machine, "seconds_per_sample", lambda *_: (alone, together))
    (finding,) = machine.load(IndicatorSettings(), None, STREAM, 2, 200.0)
    assert finding.level is level
    assert said in finding.detail
    assert f"messages of 2 samples: {2e6 * alone:.0f} us each" in finding.detail


def test_the_load_is_measured_on_what_the_service_does(warm_kernels, monkeypatch):
    followed: list[int] = []
    update = Monitor.update

    def counted(monitor: Monitor, block: SignalBlock):
        followed.append(len(block))
        found = update(monitor, block)
        assert monitor.settings.every == 5
        return found

    monkeypatch.setattr(Monitor, "update", counted)
    fast = Stream("frame", 1, 1000.0, CHANNELS)
    alone, together = machine.seconds_per_sample(settings().indicators, None, fast, 3, 200.0)
    assert 0.0 < together <= alone < np.inf
    # a window first; then messages by themselves, then those that waited, taken together
    assert followed[0] == 2001
    assert set(followed[1:]) >= {3, 48}
    assert followed.count(3) >= 200


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
