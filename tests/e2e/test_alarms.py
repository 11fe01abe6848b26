"""Alarms of the real command: they occur, are asked for, are in the run file, and outlive a kill."""

from __future__ import annotations

import json
import signal
from time import monotonic, sleep

import numpy as np
import pytest

from monitor.__main__ import main
from monitor.messages.blocks import Channel, Role, SignalBlock, Stream
from monitor.recording import RunReader
from monitor.transport.zeromq.signals import SignalPublisher

ANY_PORT = "tcp://127.0.0.1:*"
RATE = 100.0
PATIENCE = 30.0
STREAM = Stream("rig", 1, RATE, tuple(Channel(f"a.{r}", r, "m", "a") for r in (Role.COMMAND, Role.MEASURED)))
CONFIG = """
[indicators]
window = 0.5
measures = ["nrmse"]
[record]
path = "{folder}/"
[alarms]
dead_stream = false
overload = false
lost_data = false
recording = false
[[alarms.limit]]
value = "nrmse"
warn = 0.5
latching = true
deadband = 0.1
"""


class Rig:
    """A sender whose actuator follows, or does not."""

    def __init__(self) -> None:
        self.publisher = SignalPublisher(ANY_PORT)
        self.index = 0

    def send(self, gain: float, rows: int = 60, last: bool = False) -> None:
        command = np.sin(0.3 * (self.index + np.arange(float(rows))))
        samples = np.column_stack([command, gain * command])
        self.publisher.send(SignalBlock(STREAM, self.index, self.index / RATE, samples, last))
        self.index += rows


@pytest.fixture
def rig():
    rig = Rig()
    yield rig
    rig.publisher.close()


def alarms(results: str, capsys) -> dict[str, dict[str, object]]:
    """Ask `synchroscope alarms` until it knows what there is."""
    capsys.readouterr()
    assert main(["alarms", "list", "--json", "--connect", results]) == 0
    return {alarm["name"]: alarm for alarm in json.loads(capsys.readouterr().out)["alarms"]}


def until(results: str, capsys, name: str, state: str, meanwhile=lambda: None) -> dict[str, object]:
    deadline = monotonic() + PATIENCE
    while True:
        alarm = alarms(results, capsys).get(name)
        if alarm is not None and alarm["state"] == state:
            return alarm
        assert monotonic() < deadline, (name, state, alarm)
        meanwhile()


def test_a_latched_alarm_is_asked_for_recorded_and_outlives_a_kill(start, rig, tmp_path, capsys) -> None:
    config = tmp_path / "lab.toml"
    config.write_text(CONFIG.format(folder=tmp_path))
    words = ("--connect", rig.publisher.endpoint, "--publish", ANY_PORT, "--", config)
    service = start("monitor", *words)
    results = service.results
    assert rig.publisher.wait_for_subscriber(60.0)
    name = "a.nrmse.warn"
    seen = until(results, capsys, name, "unacknowledged", lambda: rig.send(0.1))
    assert seen["active"] is True
    assert seen["last"] > 0.5
    until(results, capsys, name, "latched_unacknowledged", lambda: rig.send(1.0))
    assert main(["alarms", "acknowledge", "--by", "kim", "--connect", results, name]) == 0
    assert capsys.readouterr().out == f"{name}: latched acknowledged\n"
    until(results, capsys, name, "latched_acknowledged")
    deadline = monotonic() + PATIENCE
    while b"latched_acknowledged" not in (tmp_path / "alarms.json").read_bytes():
        assert monotonic() < deadline
        sleep(0.02)
    assert (tmp_path / "alarms.json").stat().st_mode & 0o777 == 0o600
    service.process.send_signal(signal.SIGKILL)
    service.process.wait()

    service = start("monitor", *words)
    results = service.results
    # before anything has come, and after
    until(results, capsys, name, "latched_acknowledged")
    assert rig.publisher.wait_for_subscriber(60.0)
    rig.send(1.0)
    until(results, capsys, name, "latched_acknowledged", lambda: rig.send(1.0))
    assert main(["alarms", "reset", "--by", "kim", "--json", "--connect", results]) == 0
    told = json.loads(capsys.readouterr().out)["alarms"]
    assert [(alarm["name"], alarm["state"]) for alarm in told] == [(name, "normal")]
    until(results, capsys, name, "normal")
    assert main(["alarms", "reset", name, "--connect", results]) == 2
    assert "it is normal: there is nothing to reset" in capsys.readouterr().err
    assert main(["alarms", "shelve", name, "--for", "600", "--connect", results]) == 0
    until(results, capsys, name, "shelved")
    assert main(["alarms", "--connect", results]) == 0
    assert "shelved for" in capsys.readouterr().out
    assert main(["alarms", "unshelve", name, "--connect", results]) == 0
    rig.send(1.0, last=True)
    service.stop()
    (run,) = (path for path in sorted(tmp_path.glob("*.h5"))[-1:])
    with RunReader(run) as reader:
        steps = [e.alarm for e in reader.events() if e.alarm is not None and e.alarm.name == name]
    # the numbers go on where those of the killed service, 1 to 3, ended
    assert [(step.number, step.previous, step.state) for step in steps] == [
        (4, "latched_acknowledged", "normal"),
        (5, "normal", "shelved"),
        (6, "shelved", "normal"),
    ]
    assert steps[0].reason == "reset by kim"
    capsys.readouterr()
    assert main(["assess", str(run)]) == 0
    assert f"{name} normal: reset by kim" in capsys.readouterr().out


def test_a_changed_limit_is_evaluated_recorded_and_outlives_a_kill(start, rig, tmp_path, capsys) -> None:
    config = tmp_path / "lab.toml"
    config.write_text(CONFIG.format(folder=tmp_path).replace("latching = true", "trip = 5.0"))
    words = ("--connect", rig.publisher.endpoint, "--publish", ANY_PORT, "--", config)
    service = start("monitor", *words)
    assert rig.publisher.wait_for_subscriber(60.0)
    name = "a.nrmse.warn"
    until(service.results, capsys, name, "unacknowledged", lambda: rig.send(0.1))
    value = float(alarms(service.results, capsys)[name]["last"])
    limit = ["alarms", "limit", "a.nrmse", "--connect", service.results]
    # further out than the trip, then both, then the value is normal
    assert main([*limit, "--warn", "9"]) == 2
    assert "a.nrmse: the trip limit (at most 5) must be further out" in capsys.readouterr().err
    assert main([*limit, "--warn", "9", "--trip", "10", "--by", "kim"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "a.nrmse.trip: at most 10; normal"
    until(service.results, capsys, name, "returned_unacknowledged", lambda: rig.send(0.1))
    assert main([*limit, "--warn", "0.1..0.4"]) == 0
    capsys.readouterr()
    assert main([*limit, "--warn", "3"]) == 2
    assert "has two limits, 0.1 to 0.4: write both as LOW..HIGH" in capsys.readouterr().err
    deadline = monotonic() + PATIENCE
    while b'"low":0.1,"high":0.4,"configured":[null,0.5]' not in (tmp_path / "alarms.json").read_bytes():
        assert monotonic() < deadline
        sleep(0.02)
    # the run file has the events once they are flushed
    (first_run,) = tmp_path.glob("*.h5")
    while True:
        with RunReader(first_run) as reader:
            changes = [event.limits for event in reader.events() if event.limits is not None]
        if len(changes) == 3:
            break
        assert monotonic() < deadline
        rig.send(0.1)
        sleep(0.02)
    service.process.send_signal(signal.SIGKILL)
    service.process.wait()
    assert [(each.name, each.low, each.high, each.previous_low, each.previous_high) for each in changes] == [
        (name, None, 9.0, None, 0.5),
        ("a.nrmse.trip", None, 10.0, None, 5.0),
        (name, 0.1, 0.4, None, 9.0),
    ]
    assert changes[0].by == "kim"

    service = start("monitor", *words)
    assert rig.publisher.wait_for_subscriber(60.0)
    found = until(service.results, capsys, name, "unacknowledged", lambda: rig.send(0.1))
    assert (found["low"], found["high"], found["configured"]) == (0.1, 0.4, [None, 0.5])
    assert value > 0.4
    assert main(["alarms", "limit", name, "--restore", "--connect", service.results]) == 0
    assert capsys.readouterr().out.startswith(f"{name}: at most 0.5; ")
    assert alarms(service.results, capsys)[name]["configured"] is None
    assert main(["alarms", "limit", name, "--restore", "--connect", service.results]) == 2
    rig.send(1.0, last=True)
    service.stop()
    with RunReader(max(tmp_path.glob("*.h5"))) as reader:
        later = [(each.limits, each.detail) for each in reader.events() if each.limits is not None]
    # what is in force from the start of a run, then what is changed in it
    assert {each.name: (each.low, each.high) for each, _ in later[:2]} == {
        name: (0.1, 0.4),
        "a.nrmse.trip": (None, 10.0),
    }
    assert later[0][1].endswith(", before this start")
    assert [(each.name, each.previous_high, each.high) for each, _ in later[2:]] == [(name, 0.4, 0.5)]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["limit", "x"], "--warn, --trip and --restore go with limit"),
        (["shelve", "x", "--for", "5", "--warn", "1"], "--warn, --trip and --restore go with limit"),
        (["shelve", "x"], "--for goes with shelve"),
        (["shelve", "--for", "5"], "shelve: which alarm?"),
        (["shelve", "x", "--for", "999999"], "at most 86400 s"),
        (["reset", "x", "--for", "5"], "--for goes with shelve"),
    ],
)
def test_a_mistake_is_one_line(words, reason, capsys) -> None:
    assert main(["alarms", *words]) == 2
    told = capsys.readouterr().err
    assert reason in told
    assert told.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--alarm", "fdb_dely=0.001"], "no value 'fdb_dely'; there are "),
        (["--record", "/dev/null/runs/"], "record.path: cannot create the folder /dev/null/runs: "),
        (["--record", "/proc/x"], "/proc/x: the folder does not exist or cannot be written to ("),
    ],
)
def test_what_can_never_be_is_refused_at_the_start(warm_kernels, words, reason, capsys) -> None:
    assert main(["monitor", *words, "--publish", ANY_PORT, "--bind", ANY_PORT, "--quiet", "--duration", "0.1"]) == 2
    told = capsys.readouterr().err
    assert reason in told
    assert told.count("\n") == 1
