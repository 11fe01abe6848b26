"""Closing a recording: all that waits is written while the disk takes it, and what does not move is given up."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace

import pytest

from monitor.commands import service_files
from monitor.commands.process import memory_limit
from monitor.commands.service_files import close_recorder
from monitor.config import Settings
from monitor.recording import RunWriter
from monitor.wire.native import Encoder


class SlowRecorder:
    """Stores `per_poll` samples at every poll, which takes 1 s of its clock, until `stuck_at` of them are left."""

    path = Path("run.h5")
    recorded = 0
    queue_filled = 0.0

    def __init__(self, waiting: int, per_poll: int, stuck_at: int = 0) -> None:
        self.waiting, self.per_poll, self.stuck_at, self.now = waiting, per_poll, stuck_at, 0.0
        self.closed_with: float | None = None

    def finish(self, _outcome: str | None, _timeout: float) -> bool:
        self.now += 1.0
        stored = min(self.per_poll, self.waiting - self.stuck_at)
        self.recorded, self.waiting = self.recorded + stored, self.waiting - stored
        return not self.waiting

    def close(self, _outcome: str | None, timeout: float) -> None:
        self.closed_with = timeout


def close(recorder: SlowRecorder, *, stopped: bool, again_at: float = math.inf) -> list[str]:
    told: list[str] = []
    stop = SimpleNamespace(received=stopped, count=int(stopped))

    def clock() -> float:
        stop.count = int(stopped) + (recorder.now >= again_at)
        return recorder.now

    close_recorder(recorder, stop, told.append, failed=False, clock=clock)
    return told


def test_a_stop_waits_as_long_as_the_disk_takes_anything_and_says_what_is_left() -> None:
    recorder = SlowRecorder(waiting=1000, per_poll=10)
    told = close(recorder, stopped=True)
    assert (recorder.recorded, recorder.now) == (1000, 100.0)
    assert told[0] == "980 samples wait to be stored in run.h5; stop again to discard them"
    assert len(told) == 49


@pytest.mark.parametrize("stopped", [True, False])
def test_what_does_not_move_is_given_up_after_a_stop_and_else_at_the_next_one(stopped: bool) -> None:
    recorder = SlowRecorder(waiting=1000, per_poll=100, stuck_at=500)
    close(recorder, stopped=stopped, again_at=math.inf if stopped else 60.0)
    assert (recorder.recorded, recorder.closed_with) == (500, 1.0)
    assert recorder.now == (12.0 if stopped else 60.0)


def test_a_second_stop_discards_the_rest() -> None:
    recorder = SlowRecorder(waiting=1000, per_poll=10)
    close(recorder, stopped=True, again_at=30.0)
    assert recorder.recorded == 300


def test_the_memory_limit_is_the_smallest_of_all_groups_above(tmp_path: Path) -> None:
    groups, own = tmp_path / "groups", tmp_path / "own"
    (groups / "a/b/c").mkdir(parents=True)
    own.write_text("1:name=systemd:/x\n0::/a/b/c\n")
    assert memory_limit(groups, own) == math.inf
    for name, text in {"a": "1000000", "a/b": "600000", "a/b/c": "max"}.items():
        (groups / name / "memory.max").write_text(text + "\n")
    assert memory_limit(groups, own) == 600_000.0
    assert memory_limit(groups, tmp_path / "absent") == math.inf


def test_in_limited_memory_less_waits_for_the_disk_and_it_is_told(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("monitor.commands.process.memory_limit", lambda: 400.0 * (1 << 20))
    monkeypatch.setattr("monitor.system.worker_process.POSSIBLE", False)
    settings = Settings.model_validate({"record": {"path": str(tmp_path / "run.h5")}})
    recorder = service_files.open_recorder(settings, Encoder())
    assert isinstance(recorder, RunWriter)
    recorder.close()
    told: list[str] = []
    recorder.notes.serve(lambda request: told.append(request.text))
    assert told == ["the memory is limited to 400 MB: at most 50 MB of samples wait for the disk"]
