"""Disk, run file and alarm file as `monitor --check` sees them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from monitor.alarms.monitor import AlarmMonitor
from monitor.commands.checks import CheckLevel, CheckResult, checked
from monitor.commands.checks.recording import alarm_state, bytes_per_second, recording
from monitor.config import Settings
from monitor.messages.alarms import AlarmState
from monitor.messages.blocks import Channel, Column, ResultBlock, ResultStream, Role, SignalBlock, Stream
from monitor.messages.health import Health
from monitor.recording import RunWriter

CHANNELS = tuple(Channel(f"c{number}", Role.AUXILIARY) for number in range(6))
STREAM = Stream("frame", 1, 1000.0, CHANNELS)
COLUMNS = tuple(Column(f"y{number}", "1", "") for number in range(10))


def settings(path: object = "", **sections: dict[str, object]) -> Settings:
    return Settings.model_validate({"record": {"path": str(path)}, **sections})


def looked(given: Settings, duration: float | None = None) -> list[CheckResult]:
    return list(checked("record", lambda: recording(given, [STREAM], COLUMNS, duration)))


@pytest.fixture
def room(monkeypatch):
    """Let the disk seem to have so many bytes left."""
    return lambda free: monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))


def written(path: Path, seconds: int, every: int) -> int:
    """Return the size of a run file of so many seconds."""
    writer = RunWriter(path, {})
    results = ResultStream("frame", 1, 1000.0, every, COLUMNS)
    for first in range(0, 1000 * seconds, 1000):
        writer.signals(SignalBlock(STREAM, first, 0.001 * first, np.ones((1000, len(CHANNELS)))))
        rows = np.ones((1000 // every, len(COLUMNS)))
        writer.results(ResultBlock(results, first, 0.001 * first, rows))
    writer.close()
    assert not writer.failed
    return path.stat().st_size


@pytest.mark.parametrize("every", [1, 10])
def test_a_run_file_grows_as_was_reckoned(tmp_path, every):
    # long enough that the last chunk, which is there whole, does not matter
    grown = written(tmp_path / "long.h5", 400, every) - written(tmp_path / "short.h5", 100, every)
    reckoned = bytes_per_second(settings(indicators={"every": every}), STREAM, COLUMNS)
    assert grown / 300.0 == pytest.approx(reckoned, rel=0.02)


def test_a_good_disk_is_timed_and_nothing_stays(tmp_path):
    said = looked(settings(f"{tmp_path}/"))
    assert [(each.level, each.subject) for each in said] == [(CheckLevel.OK, "record"), (CheckLevel.OK, "disk speed")]
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_yet_to_be_made_is_not_made(tmp_path):
    assert [each.level for each in looked(settings(f"{tmp_path}/all/runs/"))] == [CheckLevel.OK, CheckLevel.OK]
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_a_folder_that_is_not_there_fails_as_the_service_would(tmp_path):
    (said,) = looked(settings(tmp_path / "none" / "run.h5"))
    assert said.level is CheckLevel.FAIL
    assert "does not exist" in said.detail


def test_a_file_in_the_way_fails(tmp_path):
    (tmp_path / "runs").write_text("")
    (said,) = looked(settings(tmp_path / "runs" / "run.h5"))
    assert said.level is CheckLevel.FAIL


# 6 channels at 1 kHz and 10 values at 200 Hz, 24 bytes beside either: 72 + 20.8 = 92.8 kB a second
@pytest.mark.parametrize(
    ("free", "duration", "level", "words"),
    [
        (92.8e3 * 7200, None, CheckLevel.WARN, "0.668 GB free, at the rate of the rig, 0.0928 MB/s, for 2 hours"),
        (92.8e3 * 86400, None, CheckLevel.OK, "for 24 hours"),
        (92.8e3 * 86400, 90000.0, CheckLevel.FAIL, "less than the 25 hours of the test"),
        (1e8, None, CheckLevel.FAIL, "free some space"),
    ],
)
def test_room_is_told_in_time(tmp_path, room, free, duration, level, words):
    room(free)
    said = looked(settings(tmp_path / "run.h5"), duration)[0]
    assert said.level is level
    assert words in said.detail


def test_without_a_rig_the_rate_is_said_to_be_a_guess(tmp_path):
    said = list(recording(settings(tmp_path / "run.h5"), [], [], 1e12))
    assert said[0].level is CheckLevel.OK
    assert "at an assumed 0.4 MB/s" in said[0].detail


def test_a_disk_that_refuses_is_heard_of(tmp_path, monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("monitor.recording.swmr_file.layout.create", refuse)
    (said,) = looked(settings(tmp_path / "run.h5"))
    assert said.level is CheckLevel.FAIL
    assert "cannot be written" in said.detail
    assert list(tmp_path.iterdir()) == []


def test_a_slow_disk_is_a_warning(tmp_path):
    said = looked(settings(tmp_path / "run.h5", record={"path": str(tmp_path / "run.h5"), "flush_interval": 1e-9}))
    assert [(each.level, each.subject) for each in said][1] == (CheckLevel.WARN, "disk speed")


def test_alarms_that_still_stand_are_told_and_left_alone(tmp_path):
    path = tmp_path / "alarms.json"
    given = settings(alarms={"state": str(path)})
    assert [each.level for each in alarm_state(given)] == [CheckLevel.OK]
    monitor = AlarmMonitor(given.alarms, 5.0)
    monitor.evaluate_health(Health(state="stale", age=60.0), 1.0, 10, 0.5)
    assert AlarmState.UNACKNOWLEDGED in [alarm.state for alarm in monitor.alarms]
    kept = monitor.snapshot()
    path.write_bytes(kept)
    (said,) = alarm_state(given)
    assert (said.level, said.detail) == (CheckLevel.OK, f"{path}: active alarms: dead_stream.trip")
    path.write_bytes(kept[:-3])
    (said,) = alarm_state(given)
    assert said.level is CheckLevel.WARN
    assert path.read_bytes() == kept[:-3]
    assert list(tmp_path.iterdir()) == [path]


def test_alarms_that_are_kept_nowhere_are_a_warning(tmp_path):
    assert [each.level for each in alarm_state(settings())] == [CheckLevel.WARN]
    (said,) = alarm_state(settings(alarms={"state": str(tmp_path / "none" / "a.json")}))
    assert said.level is CheckLevel.FAIL
    with pytest.raises(ValueError, match="is a folder: name a file in it"):
        list(alarm_state(settings(alarms={"state": str(tmp_path)})))


def test_what_a_rig_says_of_itself_fills_no_disk_and_no_memory(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(os, "urandom", lambda n: asked.append(n) or bytes(n))
    fast = Stream("frame", 1, 1e9, CHANNELS)
    list(recording(settings(f"{tmp_path}/"), [fast], COLUMNS, None))
    assert max(asked) <= 4 << 20


def test_a_check_that_breaks_is_a_failure_and_ends_none_of_the_others():
    def broken():
        raise MemoryError("no room")
        yield

    assert [(each.level, each.detail) for each in checked("record", broken)] == [(CheckLevel.FAIL, "no room")]
