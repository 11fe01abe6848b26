"""`synchroscope monitor --check`, the real command: lines that begin with a word, an exit code, nothing left over."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from monitor.__main__ import main
from monitor.messages.blocks import Channel, Role, SignalBlock, Stream
from monitor.transport.zeromq.allow_list import KeyFolder
from monitor.transport.zeromq.results import ResultPublisher
from monitor.transport.zeromq.signals import SignalPublisher

ANY_PORT = "tcp://127.0.0.1:*"
RATE = 200.0
STREAM = Stream(
    "frame", 1, RATE, (Channel("x.command", Role.COMMAND, "m", "x"), Channel("x.measured", Role.MEASURED, "m", "x"))
)
QUICK = ("--measures", "nrmse", "--window", "0.5")


@pytest.fixture
def rig() -> Iterator[str]:
    """One that sends for as long as the test lasts."""
    publisher = SignalPublisher(ANY_PORT)
    over = threading.Event()

    def send() -> None:
        index = 0
        while not over.wait(0.02):
            publisher.send(SignalBlock(STREAM, index, index / RATE, np.ones((4, 2))))
            index += 4

    thread = threading.Thread(target=send)
    thread.start()
    yield publisher.endpoint
    over.set()
    thread.join()
    publisher.close(linger=0.0)


def checked(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, dict[str, list[tuple[str, str]]]]:
    """Return the exit code, and what was said of each subject."""
    code = main(["monitor", *map(str, words), *QUICK, "--publish", ANY_PORT, "--check", "--json"])
    report = json.loads(capsys.readouterr().out)
    assert set(report) == {"ok", "findings"}
    assert report["ok"] == (code == 0) == all(each["level"] != "fail" for each in report["findings"])
    said: dict[str, list[tuple[str, str]]] = {}
    for each in report["findings"]:
        assert set(each) == {"level", "subject", "detail"}
        said.setdefault(each["subject"], []).append((each["level"], each["detail"]))
    return code, said


def test_a_rig_that_is_ready(warm_kernels, start, rig, tmp_path, free_url):
    settings = tmp_path / "lab.toml"
    settings.write_text(
        f'[stream]\nconnect = ["{rig}"]\n[results]\npublish = "{free_url}"\n'
        '[indicators]\nmeasures = ["nrmse", "fdb"]\n'
        '[[alarms.limit]]\nvalue = "nrmse"\nwarn = 0.1\ndeadband = 0.02\n'
    )
    (tmp_path / "runs").mkdir()
    done = start("monitor", settings, "--record", f"{tmp_path}/runs/", "--check").wait(0)
    lines = done.out.splitlines()
    subjects = [line[6:17].strip() for line in lines]
    assert {line[:6] for line in lines} == {"ok    "}, done.out
    assert subjects == [
        *("settings", "clock", "descriptors", "kernels", "keys", "results", "requests"),
        *("rig", "measures", "load", "alarms", "alarms", "alarm file", "record", "disk speed"),
    ]
    assert "rig frame, 200 Hz" in done.out
    assert done.err.splitlines()[-1] == "no failures, no warnings"
    assert list((tmp_path / "runs").iterdir()) == []
    # nobody holds it any more
    ResultPublisher(free_url).close()


def test_what_fails_and_what_only_may_go_wrong(warm_kernels, capsys, rig, tmp_path, free_url):
    code, said = checked(capsys, "--connect", rig, "--requests", free_url)
    assert code == 0
    assert [subject for subject, findings in said.items() if findings[0][0] == "warn"] == ["alarm file", "record"]
    taken = ResultPublisher(free_url)
    code, said = checked(
        capsys,
        *("--connect", rig, "--requests", free_url, "--alarm", "nrsme=1"),
        *("--record", tmp_path / "none" / "run.h5", "--duration", 10),
    )
    taken.close()
    assert code == 2
    failed = {subject for subject, findings in said.items() if "fail" in [level for level, _ in findings]}
    assert failed == {"requests", "alarms", "record", "alarm file"}
    assert "no value 'nrsme'; there are nrmse" in said["alarms"][0][1]


def test_every_wrong_setting_has_its_line(capsys, tmp_path):
    settings = tmp_path / "lab.toml"
    settings.write_text('[stream]\nconect = ["x"]\n[record]\nflush_interval = 0\n')
    assert main(["monitor", str(settings), "--check"]) == 2
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [
        f"fail  settings     {settings}: stream.conect: there is no such setting",
        f"fail  settings     {settings}: record.flush_interval: Flush every (s) must be greater than 0",
    ]
    assert [line[:4] for line in lines[2:]] == ["warn"]


def test_a_loose_key_fails_and_nothing_is_bound_or_heard_without_it(warm_kernels, capsys, rig, tmp_path):
    KeyFolder(tmp_path / "keys").prepare()
    (tmp_path / "keys" / "service.secret").chmod(0o640)
    code, said = checked(capsys, "--connect", rig, "--keys", tmp_path / "keys")
    assert code == 2
    assert [level for level, _ in said["keys"]] == ["fail"]
    assert "chmod 600" in said["keys"][0][1]
    assert "results" not in said
    assert said["rig"] == [("warn", "not checked, nor any endpoint bound, until the keys are valid")]


def test_an_ensemble_that_cannot_be_read_fails(warm_kernels, capsys, rig, tmp_path):
    path = tmp_path / "model.npz"
    path.write_bytes(b"no ensemble")
    code, said = checked(capsys, "--connect", rig, "--ensemble", path, "--response", "x.measured")
    assert code == 2
    assert said["model"][0][0] == "fail"
    assert "rig" in said and "results" in said


def test_json_alone_is_a_mistake(capsys):
    assert main(["monitor", "--json"]) == 2
    assert capsys.readouterr().err == "synchroscope monitor: --json goes with --check\n"
