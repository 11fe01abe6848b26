"""The file that keeps alarms: whole or not at all, its owner's alone, and nobody waits for it."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from monitor.commands.service_files import alarm_path, restore_alarms
from monitor.config import Settings, load_settings
from monitor.messages.alarms import Alarm, AlarmAction, AlarmReport, AlarmState, Severity, Transition
from monitor.messages.requests import MAX_NOTE, NoteRequest, ShelveRequest
from monitor.recording import alarm_file
from monitor.recording.alarm_file import AlarmStateFile
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("no_leftovers")

STEP = Transition(1, "a.warn", Severity.WARN, AlarmAction.OCCUR, AlarmState.NORMAL, AlarmState.UNACKNOWLEDGED, 0.0, 0)
TOLD = AlarmReport((), (STEP,))


def content(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


def test_every_transition_is_written_and_the_file_is_its_owners_alone(tmp_path) -> None:
    path, states = tmp_path / "alarms.json", iter([b"one", b"two", b"end"])
    file = AlarmStateFile(path, lambda: next(states))
    for expected in (b"one", b"two"):
        file.alarms(AlarmReport())
        file.alarms(TOLD)
        until(lambda expected=expected: content(path) == expected)
    assert path.stat().st_mode & 0o777 == 0o600
    file.close()
    file.close()
    assert content(path) == b"end"
    assert os.listdir(tmp_path) == ["alarms.json"]  # noqa: PTH208 all of them, hidden ones too


def test_the_time_on_the_shelf_is_written_now_and_then(tmp_path) -> None:
    path, now = tmp_path / "alarms.json", [0.0]
    shelved = Alarm("a.warn", "a", "", "", Severity.WARN, state=AlarmState.SHELVED, shelved_for=60.0)
    file = AlarmStateFile(path, lambda: f"{now[0]}".encode(), clock=lambda: now[0])
    for now[0] in (1.0, 29.0):
        file.alarms(AlarmReport((shelved,)))
    now[0] = 31.0
    file.alarms(AlarmReport())
    assert content(path) == b""
    file.alarms(AlarmReport((shelved,)))
    until(lambda: content(path) == b"31.0")
    file.close()


def test_nobody_waits_for_a_disk_that_hangs_and_the_newest_state_is_written(tmp_path, monkeypatch) -> None:
    path, go, written = tmp_path / "alarms.json", threading.Event(), []

    def slow(_path: Path, state: bytes) -> None:
        go.wait(30.0)
        written.append(state)

    monkeypatch.setattr(alarm_file, "atomic_write", slow)
    states = iter(range(1000))
    file = AlarmStateFile(path, lambda: b"%d" % next(states))
    for _ in range(500):
        file.alarms(TOLD)
    assert written == []
    go.set()
    file.close()
    assert written[-1] == b"500"
    assert len(written) <= 3


def test_what_cannot_be_written_is_told_once_and_tried_again(tmp_path) -> None:
    folder = tmp_path / ("x" * 120)
    file = AlarmStateFile(folder / "alarms.json", lambda: b"state", ("at first",))
    said: list[str] = []

    def hear(request: object) -> None:
        assert isinstance(request, NoteRequest)
        said.append(request.text)

    file.notes.serve(hear)
    assert said == ["at first"]
    for _ in range(2):
        file.alarms(TOLD)
        until(lambda: file.notes.serve(hear) or len(said) > 1)
    assert len(said) == 2
    assert said[1].startswith("alarms are not saved in …")
    assert said[1].endswith("alarms.json: No such file or directory")
    folder.mkdir()
    file.alarms(TOLD)
    until(lambda: content(folder / "alarms.json") == b"state")
    file.notes.serve(hear)
    file.close()
    assert len(said) == 2


def settings(**sections: dict[str, object]) -> Settings:
    return load_settings(None, sections)


def test_it_lies_where_the_settings_say_or_beside_the_recording(tmp_path) -> None:
    assert alarm_path(settings()) is None
    assert alarm_path(settings(alarms={"state": "x.json"})) == Path("x.json")
    assert alarm_path(settings(record={"path": "runs/"})) == Path("runs/alarms.json")
    assert alarm_path(settings(record={"path": str(tmp_path)})) == tmp_path / "alarms.json"
    assert alarm_path(settings(record={"path": "a/run.h5"})) == Path("a/run.alarms.json")


def test_alarms_come_back_and_a_damaged_file_is_put_aside(tmp_path) -> None:
    path, said = tmp_path / "alarms.json", []
    wanted = settings(alarms={"state": str(path)})
    alarms, file = restore_alarms(wanted)
    alarms.handle_request(ShelveRequest(alarm="disk.warn", seconds=60.0), 0.0, 0)
    file.close()
    alarms, file = restore_alarms(wanted)
    assert {alarm.name for alarm in alarms.alarms if alarm.state is AlarmState.SHELVED} == {"disk.warn"}
    file.close()
    assert said == []
    path.write_bytes(content(path)[:-7])
    alarms, file = restore_alarms(wanted)
    assert {alarm.state for alarm in alarms.alarms} == {AlarmState.NOT_JUDGED}
    file.notes.serve(lambda request: said.append(request.text))
    # once, and the sentence has its end
    why = "the saved alarms cannot be read: Input data was truncated"
    assert said == [f"alarms start from normal, alarms.json is now alarms.json.bad: {why}"]
    file.close()
    assert path.with_name("alarms.json.bad").exists()


def test_a_file_without_end_and_a_folder_that_is_none_are_told(tmp_path) -> None:
    said: list[str] = []
    path = tmp_path / "alarms.json"
    with path.open("wb") as long:
        long.truncate(1 << 23)
    _, file = restore_alarms(settings(alarms={"state": str(path)}))
    file.notes.serve(lambda request: said.append(request.text))
    file.close()
    assert "more than 4194304 bytes" in said[0]
    with pytest.raises(ValueError, match="does not exist"):
        restore_alarms(settings(alarms={"state": str(tmp_path / "none" / "x.json")}))
    with pytest.raises(ValueError, match="is a folder: name a file in it"):
        restore_alarms(settings(alarms={"state": str(tmp_path)}))


def test_a_file_with_the_longest_name_is_told_in_a_note_that_fits(tmp_path) -> None:
    path, said = tmp_path / ("ö" * 125 + ".json"), []
    path.write_bytes(b"{")
    _, file = restore_alarms(settings(alarms={"state": str(path)}))
    file.notes.serve(lambda request: said.append(request.text))
    file.close()
    assert len(said[0].encode()) <= MAX_NOTE
    put_aside = tmp_path / ("x" * 236 + ".json")
    put_aside.write_bytes(b"{")
    _, file = restore_alarms(settings(alarms={"state": str(put_aside)}))
    file.notes.serve(lambda request: said.append(request.text))
    file.close()
    assert ".json is now …" in said[1]
    assert len(said[1].encode()) <= MAX_NOTE


def test_what_was_put_aside_is_never_written_over(tmp_path) -> None:
    path = tmp_path / "alarms.json"
    for content_ in (b"one", b"two", b"three"):
        path.write_bytes(content_)
        alarm_file.move_aside(path)
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == {
        "alarms.json.bad": b"one",
        "alarms.json.bad.1": b"two",
        "alarms.json.bad.2": b"three",
    }


def test_a_file_that_cannot_be_read_now_stays_and_the_service_does_not_start(tmp_path, monkeypatch) -> None:
    def full(_path: Path) -> bytes:
        raise OSError(24, "Too many open files")

    (tmp_path / "alarms.json").write_bytes(b"whole")
    monkeypatch.setattr(alarm_file, "read_state", full)
    with pytest.raises(ValueError, match="cannot be read: Too many open files"):
        restore_alarms(settings(alarms={"state": str(tmp_path / "alarms.json")}))
    assert [each.name for each in tmp_path.iterdir()] == ["alarms.json"]


def test_the_folder_is_on_the_disk_too(tmp_path, monkeypatch) -> None:
    synced: list[bool] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(stat.S_ISDIR(os.fstat(descriptor).st_mode)))
    alarm_file.atomic_write(tmp_path / "alarms.json", b"x")
    assert synced == [False, True]


@pytest.mark.skipif(os.name != "posix", reason="there are no such locks")
def test_a_second_service_does_not_share_the_file_and_begins_once_the_first_has_ended(tmp_path) -> None:
    wanted = settings(record={"path": f"{tmp_path}/"})
    _, first = restore_alarms(wanted)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"alarms\.json is used by another service: name another file"):
            restore_alarms(wanted)
    # a file of its own in the same folder
    _, own = restore_alarms(settings(alarms={"state": str(tmp_path / "other.json")}))
    assert first is not None and own is not None
    first.close()
    _, next_one = restore_alarms(wanted)
    assert next_one is not None
    next_one.close()
    own.close()
    assert sorted(os.listdir(tmp_path)) == ["alarms.json", "other.json"]  # noqa: PTH208 hidden ones too


@pytest.mark.skipif(os.name != "posix", reason="there are no such locks")
def test_a_service_that_was_killed_leaves_no_lock_that_counts(tmp_path) -> None:
    path = tmp_path / "alarms.json"
    code = "import sys, os; from pathlib import Path; from monitor.recording import alarm_file as a\n"
    code += "a.lock(Path(sys.argv[1])); os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", code, path], check=False)
    assert (tmp_path / ".alarms.json.lock").exists()
    _, file = restore_alarms(settings(alarms={"state": str(path)}))
    assert file is not None
    file.close()
