"""A disk that is full, slow or gone while a run is recorded: what is told, what is kept and where it goes on."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.commands.service_files import UNKNOWN, DiskSpace
from monitor.messages.blocks import (
    Channel,
    Column,
    Event,
    EventKind,
    ResultBlock,
    ResultStream,
    Role,
    SignalBlock,
    Stream,
)
from monitor.recording import RunReader, RunWriter, run_files, swmr_file
from monitor.recording import writer as writer_module
from monitor.recording.queues import Backlog, UnacknowledgedMessages
from monitor.recording.run_files import RetryDelay
from monitor.recording.swmr_file import SwmrFile
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("no_leftovers")

STREAM = Stream("rig", 7, 1000.0, (Channel("a", Role.AUXILIARY), Channel("b", Role.AUXILIARY)))


def block(index: int, rows: int = 10) -> SignalBlock:
    samples = np.repeat(np.arange(index, index + rows, dtype=float)[:, None], 2, axis=1)
    return SignalBlock(STREAM, index, index / 1000.0, samples)


def notes(writer: RunWriter) -> list[str]:
    said: list[str] = []
    writer.notes.serve(lambda request: said.append(request.text))
    return said


def feed(writer: RunWriter, start: int, stop: int) -> None:
    for index in range(start, stop, 10):
        writer.signals(block(index))


def kept(*folders: Path) -> dict[str, tuple[list[int], str]]:
    """Return the numbers of the samples in every run file, and its outcome."""
    found = {}
    for path in (path for folder in folders for path in sorted(folder.glob("*.h5"), key=lambda path: path.stem)):
        with RunReader(path) as run:
            numbers = [int(x) for part in run.signal_blocks(1000) for x in part.samples[:, 0]]
            found[f"{path.parent.name}/{path.name}"] = numbers, run.outcome
    return found


@pytest.mark.skipif(sys.platform == "win32", reason="there, an open file cannot be moved or removed")
@pytest.mark.parametrize(
    "what", ["file renamed", "folder renamed", "file removed", "folder removed", "file replaced"]
)
def test_a_run_file_that_goes_while_it_is_recorded_is_told_and_another_one_is_begun(tmp_path, what) -> None:
    folder, away = tmp_path / "runs", tmp_path / "away"
    folder.mkdir()
    path = folder / "run.h5"
    writer = RunWriter(path, {}, flush_interval=0.01)
    feed(writer, 0, 1000)
    until(lambda: writer.recorded == 1000)
    if what == "file renamed":
        away.mkdir()
        path.rename(away / "mine.h5")
    elif what == "folder renamed":
        folder.rename(away)
    elif what == "folder removed":
        shutil.rmtree(folder)
    else:
        path.unlink()
    if what == "file replaced":
        path.write_text("mine")
    until(lambda: writer.breaks == 1)
    feed(writer, 1000, 3000)
    until(lambda: writer.recorded >= 2000)
    assert writer.unwritten_age < 2.0
    writer.close()
    told = notes(writer)
    goes_on = folder / ("run-2.h5" if what == "file replaced" else "run.h5")
    assert told[1] == f"the recording continues in {goes_on}" or told[1].endswith(goes_on.name)
    if "removed" in what or "replaced" in what:
        assert told[0] == "the run file run.h5 was removed: 1000 samples that were in it are lost"
        assert (writer.recorded, writer.unrecorded, writer.outcome) == (2000, 1000, "lossy")
    else:
        assert told[0] == "the run file run.h5 was moved or renamed: it ends with 1000 samples"
        assert (writer.recorded, writer.unrecorded, writer.outcome) == (3000, 0, "truncated")
        # what was moved is whole, and any HDF5 reader opens it
        assert list(kept(away).values()) == [(list(range(1000)), "truncated")]
    if what == "file replaced":
        assert path.read_text() == "mine"
        path.unlink()
    assert list(kept(folder).values()) == [(list(range(1000, 3000)), "lossy" if writer.unrecorded else "clean")]


def copied_over(path: Path) -> None:
    """Copy another recording of the same rig, which is being written, over the file, as ``cp`` does."""
    other = RunWriter(path.with_name("other.h5"), {}, flush_interval=0.01)
    feed(other, 0, 5000)
    until(lambda: other.recorded == 5000)
    path.write_bytes(other.path.read_bytes())
    other.close()
    other.path.unlink()


def changed(path: Path, offset: int, size: int) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(os.urandom(size))


OVERWRITTEN = {
    "truncated": lambda path: os.truncate(path, 0),
    "cut": lambda path: os.truncate(path, 5000),
    "beginning": lambda path: changed(path, 0, 4096),
    "superblock": lambda path: changed(path, 20, 4),
    "replaced by text": lambda path: path.write_bytes(b"mine\n" * 4_000_000),
    "another run": copied_over,
}


@pytest.mark.skipif(sys.platform != "linux", reason="only there is memory put in the place of the file")
@pytest.mark.parametrize("how", OVERWRITTEN)
def test_a_run_file_that_another_program_writes_to_is_left_to_it_and_another_one_is_begun(tmp_path, how) -> None:
    path = tmp_path / "run.h5"
    writer = RunWriter(path, {}, flush_interval=0.01)
    feed(writer, 0, 1000)
    until(lambda: writer.recorded == 1000)
    OVERWRITTEN[how](path)
    left = path.read_bytes()
    until(lambda: writer.breaks == 1)
    assert (writer.recorded, writer.unrecorded, writer.outcome) == (0, 1000, "lossy")
    feed(writer, 1000, 3000)
    writer.close()
    assert notes(writer)[0] == (
        "the run file run.h5 was truncated or overwritten by another program: 1000 of 1000 samples in it are lost"
    )
    assert (writer.recorded, writer.unrecorded, writer.outcome) == (2000, 1000, "lossy")
    # not a byte is written to what is no longer ours
    assert path.read_bytes() == left
    path.unlink()
    assert list(kept(tmp_path).values()) == [(list(range(1000, 3000)), "lossy")]


@pytest.mark.skipif(sys.platform == "win32", reason="there, an open file cannot be written to by others")
@pytest.mark.parametrize("what", ["samples", "root group"])
def test_a_closed_file_is_read_once_and_what_is_damaged_in_it_is_counted(tmp_path, what) -> None:
    path = tmp_path / "run.h5"
    writer = RunWriter(path, {}, flush_interval=0.01)
    for stop in (1000, 2000):
        feed(writer, stop - 1000, stop)
        until(lambda stop=stop: writer.recorded == stop)
    finish = SwmrFile.finish

    def finish_and_damage(file: SwmrFile, outcome: str) -> None:
        finish(file, outcome)
        number = np.array([1234.0, 1234.0]).tobytes()
        changed(path, path.read_bytes().find(number) if what == "samples" else 60, 4)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SwmrFile, "finish", finish_and_damage)
        writer.close()
    assert writer.recorded + writer.unrecorded == 2000
    # damaged samples: those that were written at once
    assert writer.unrecorded == 2000 if what == "root group" else 0 < writer.unrecorded <= 1000
    assert (writer.outcome, writer.breaks) == ("lossy", 1)
    assert notes(writer) == [f"the run file run.h5 is damaged: {writer.unrecorded} of 2000 samples are lost"]


@contextmanager
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def refuse(*_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as disk:
        disk.setattr(swmr_file.os, "posix_fallocate", refuse)
        yield


@pytest.mark.skipif(sys.platform != "linux", reason="only there is room taken first")
def test_when_a_full_disk_is_free_again_the_recording_goes_on_and_nothing_is_lost(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(run_files, "_MIN_DELAY", 0.01)
    monkeypatch.setattr(swmr_file, "_RESERVE_AHEAD", 0)
    monkeypatch.setattr(swmr_file, "_METADATA_BYTES", 0)
    writer = RunWriter(tmp_path / "run.h5", {}, flush_interval=0.01)
    feed(writer, 0, 1000)
    until(lambda: writer.recorded == 1000)
    with full_disk(monkeypatch):
        # more than there is room for in the chunks of the file
        feed(writer, 1000, 60_000)
        until(lambda: writer.failed != "")
        assert writer.failed == "No space left on device"
        before = writer.recorded
        sleep(0.1)
        assert (writer.recorded, writer.unrecorded, writer.breaks) == (before, 0, 1)
        assert writer.unwritten_age > 0.1
    feed(writer, 60_000, 61_000)
    until(lambda: writer.recorded == 61_000)
    assert (writer.failed, writer.breaks, writer.unwritten_age) == ("", 1, 0.0)
    writer.close()
    told = notes(writer)
    assert len(told) == 2
    assert told[0].endswith("run.h5: No space left on device; retrying")
    assert told[1].endswith("run-2.h5")
    found = kept(tmp_path)
    assert [outcome for _, outcome in found.values()] == ["truncated", "clean"]
    assert [number for numbers, _ in found.values() for number in numbers] == list(range(61_000))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run-2.h5", "run.h5"]


@pytest.mark.skipif(sys.platform != "linux", reason="only there is room taken first")
def test_a_disk_that_is_full_to_the_end_leaves_nothing_behind_and_all_is_counted(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(run_files, "_MIN_DELAY", 0.01)
    with full_disk(monkeypatch):
        writer = RunWriter(tmp_path / "run.h5", {}, flush_interval=0.01)
        feed(writer, 0, 1000)
        until(lambda: writer.failed != "")
        sleep(0.1)
        writer.close()
    assert (writer.recorded, writer.unrecorded, writer.breaks) == (0, 1000, 1)
    assert (writer.failed, writer.outcome, writer.disk_hangs) == ("No space left on device", "truncated", False)
    assert len(notes(writer)) == 1
    assert list(tmp_path.iterdir()) == []


@contextmanager
def hanging_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Within, whatever is appended waits."""
    goes_on, append = threading.Event(), SwmrFile.append

    def wait(file: SwmrFile, *rows: object) -> None:
        goes_on.wait(60.0)
        append(file, *rows)

    monkeypatch.setattr(SwmrFile, "append", wait)
    try:
        yield
    finally:
        goes_on.set()


def test_a_disk_that_hangs_is_seen_by_the_age_and_a_stop_does_not_wait_for_it(tmp_path, monkeypatch) -> None:
    with hanging_disk(monkeypatch):
        writer = RunWriter(tmp_path / "run.h5", {}, flush_interval=0.01)
        feed(writer, 0, 1000)
        assert writer.unwritten_age < 2.0
        until(lambda: writer.unwritten_age > 0.3)
        feed(writer, 1000, 2000)
        assert writer.unwritten_age > 0.3
        assert (writer.recorded, writer.unrecorded, writer.disk_hangs) == (0, 0, False)
        began = monotonic()
        writer.close(timeout=0.1)
        assert monotonic() - began < 5.0
        assert (writer.recorded, writer.unrecorded) == (0, 2000)
        assert (writer.disk_hangs, writer.outcome) == (True, "truncated")
    # the disk is there again: what was begun is finished, what waited is not
    writer.close()
    assert not writer.disk_hangs
    assert writer.recorded + writer.unrecorded == 2000
    assert [outcome for _, outcome in kept(tmp_path).values()] == ["lossy"]


def test_what_waits_for_a_disk_is_bounded_in_bytes_and_told_in_seconds_before(tmp_path, monkeypatch) -> None:
    with hanging_disk(monkeypatch):
        writer = RunWriter(tmp_path / "run.h5", {}, queue_bytes=100_000)
        assert writer.queue_filled == 0.0
        # of 16 bytes each, and 512 beside
        size, told = 16_512, {}
        for count, index in enumerate(range(0, 20_000, 1000), 1):
            writer.signals(block(index, 1000))
            told |= {text.replace("(0.0954 MB, 6.06 s at this rate) ", ""): count for text in notes(writer)}
            assert writer.queue_filled == min(count, 7) * size / 100_000
        assert writer.unrecorded == 20_000 - 7000
        assert told == {
            "half of the memory for samples that wait for the disk is in use": 5,
            "the memory for samples that wait for the disk is full: samples are now lost": 8,
        }
    writer.close()
    assert list(kept(tmp_path).values()) == [(list(range(7000)), "lossy")]


def test_the_age_is_that_of_the_oldest_that_waits() -> None:
    now = [0.0]
    backlog = Backlog(lambda: now[0])
    assert backlog.age == 0.0
    for now[0] in (0.0, 1.0, 2.0):
        backlog.add(10, 100)
    now[0] = 3.0
    ages = [(backlog.age, backlog.n_bytes)]
    for samples in (5, 5, 10):
        backlog.remove(samples, 10 * samples)
        ages.append((backlog.age, backlog.n_bytes))
    assert ages == [(3.0, 300), (3.0, 250), (2.0, 200), (1.0, 100)]
    backlog.remove(10, 100)
    assert (backlog.age, backlog.n_bytes) == (0.0, 0)


def test_a_disk_that_refuses_again_and_again_is_left_alone_for_longer() -> None:
    now = [0.0]
    delay = RetryDelay(lambda: now[0])
    assert delay.elapsed
    waits = []
    for _ in range(5):
        delay.failed()
        begun = now[0]
        while not delay.elapsed:
            now[0] += 0.5
        waits.append(now[0] - begun)
        delay.succeeded()
    assert waits == [1.0, 2.0, 4.0, 8.0, 8.0]
    # a recording that has lasted is interrupted for the first time again
    now[0] += 60.0
    delay.failed()
    now[0] += 1.0
    assert delay.elapsed


def test_an_event_is_kept_once_there_is_room_again(tmp_path, monkeypatch) -> None:
    with hanging_disk(monkeypatch):
        writer = RunWriter(tmp_path / "run.h5", {}, flush_interval=0.01, queue_bytes=100_000)
        for index in range(0, 20_000, 1000):
            writer.signals(block(index, 1000))
        writer.event(Event(EventKind.NOTE, 0.0, 0, 0, "no room"))
    until(lambda: writer.recorded == 7000)
    writer.event(Event(EventKind.NOTE, 0.0, 0, 0, "room"))
    writer.close()
    with RunReader(tmp_path / "run.h5") as run:
        assert [event.detail for event in run.events()] == ["room"]


def test_an_event_that_is_dropped_makes_the_outcome_lossy_and_a_later_file_is_clean(tmp_path, monkeypatch) -> None:
    other = Stream("rig", 8, 500.0, STREAM.channels)
    with hanging_disk(monkeypatch):
        writer = RunWriter(tmp_path / "run.h5", {}, flush_interval=0.01, queue_bytes=20_000)
        writer.signals(block(0, 1000))
        until(lambda: writer.unwritten_age > 0.0)
        for _ in range(100):
            writer.event(Event(EventKind.NOTE, 0.0, 0, 0, "a note"))
    until(lambda: writer.recorded == 1000 and not writer._queue)
    sleep(0.05)
    assert (writer.unrecorded, writer.outcome) == (0, "lossy")
    writer.signals(SignalBlock(other, 0, 0.0, block(0, 1000).samples))
    writer.close()
    assert writer.outcome == "lossy"
    assert {name.split("/")[1]: word for name, (_, word) in kept(tmp_path).items()} == {
        "run.h5": "lossy",
        "run-2.h5": "clean",
    }


@pytest.mark.skipif(sys.platform != "linux", reason="only there is memory put in the place of the file")
def test_a_file_whose_disk_does_not_even_take_the_outcome_is_still_put_into_memory(tmp_path, monkeypatch) -> None:
    file = SwmrFile(tmp_path / "run.h5", STREAM, None, b"{}")
    put: list[int] = []

    def refuse(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    def note(_memory: int, descriptor: int) -> None:
        put.append(descriptor)

    monkeypatch.setattr(swmr_file.os, "pwrite", refuse)
    monkeypatch.setattr(swmr_file.os, "dup2", note)
    file.abandon("truncated")
    assert put == [file._descriptor]


def test_a_recording_may_be_ended_without_giving_up_what_a_slow_disk_has_not_taken(tmp_path, monkeypatch) -> None:
    with hanging_disk(monkeypatch):
        writer = RunWriter(tmp_path / "run.h5", {}, flush_interval=0.01)
        feed(writer, 0, 1000)
        assert not writer.finish(timeout=0.01)
    assert writer.finish(timeout=30.0)
    assert (writer.recorded, writer.unrecorded, writer.outcome) == (1000, 0, "clean")
    writer.close()


def test_what_a_kill_may_lose_leaves_half_of_it_for_the_writing(tmp_path, monkeypatch) -> None:
    slept: list[float] = []

    class Watched(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            if timeout is not None:
                slept.append(timeout)
            return super().wait(timeout)

    monkeypatch.setattr(writer_module.threading, "Event", Watched)
    writer = RunWriter(tmp_path / "run.h5", {}, flush_interval=0.02)
    feed(writer, 0, 100)
    until(lambda: writer.recorded == 100)
    writer.close()
    # a sample that comes just after a flush waits for the sleep, and then for the disk and for the processor
    assert 0.0 < max(slept) <= 0.01


def test_a_file_is_begun_with_the_first_results(tmp_path) -> None:
    # no flush is due for a minute
    writer = RunWriter(tmp_path / "run.h5", {}, flush_interval=120.0)
    writer.signals(block(0))
    writer.results(
        ResultBlock(ResultStream("rig", 7, 1000.0, 1, (Column("v", "1", "a"),)), 0, 0.0, np.zeros((10, 1)))
    )
    until(lambda: writer.recorded == 10)
    writer.close()


MADE = """
import resource, signal, sys
from pathlib import Path
from monitor.messages.blocks import Channel, Column, ResultStream, Role, Stream
from monitor.recording import swmr_file
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
folder, stop = Path(sys.argv[1]), int(sys.argv[2])
limit = lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
abandon = swmr_file.SwmrFile.abandon
# the limit holds for memory files too, a full disk does not
swmr_file.SwmrFile.abandon = lambda self, outcome: (limit(resource.RLIM_INFINITY), abandon(self, outcome))
swmr_file.SwmrFile._reserve = lambda *_: None
of = Stream("rig", 1, 1000.0, tuple(Channel(str(k), Role.AUXILIARY) for k in range(16)))
results = ResultStream("rig", 1, 1000.0, 1, tuple(Column(f"v{k}", "1", "a") for k in range(40)))
refused = 0
for size in range(0, stop, 500):
    limit(size)
    try:
        swmr_file.SwmrFile(folder / "run.h5", of, results, b"{}")
    except swmr_file.DISK_ERRORS:
        refused += 1
print(refused, [path.name for path in folder.iterdir()])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of a file's size stands for a full disk")
def test_a_disk_that_refuses_while_a_file_is_made_ends_nothing_and_leaves_nothing_behind(tmp_path) -> None:
    done = subprocess.run([sys.executable, "-c", MADE, tmp_path, "8000"], capture_output=True, text=True)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "16 []\n")


def test_it_says_what_the_file_system_says(tmp_path) -> None:
    said = os.statvfs(tmp_path)
    space = DiskSpace(tmp_path)
    # others write to the disk meanwhile
    assert space.free == pytest.approx(said.f_bavail * said.f_frsize, rel=0.1)
    space.close()
    space.close()


def test_a_disk_that_cannot_be_asked_is_not_known(tmp_path) -> None:
    space = DiskSpace(tmp_path / "nowhere")
    assert space.free == UNKNOWN == -1
    space.close()


def test_it_is_looked_at_again(tmp_path) -> None:
    looks, again = [], threading.Event()

    def look(folder) -> int:
        looks.append(folder)
        if len(looks) == 3:
            again.set()
        return 10 * len(looks)

    space = DiskSpace(tmp_path, 0.01, look)
    assert space.free >= 10
    assert again.wait(10.0)
    space.close()
    assert space.free == 10 * len(looks)
    assert set(looks) == {tmp_path}


ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, 3)),
        st.tuples(st.just("header"), st.sampled_from([b"signals", b"results"])),
        st.tuples(st.just("send"), st.none()),
        st.tuples(st.just("settle"), st.integers(0, 4)),
        st.tuples(st.just("rewind"), st.none()),
    ),
    max_size=60,
)


@given(ACTIONS)
def test_whoever_is_told_from_the_start_lacks_nothing(actions) -> None:
    held = UnacknowledgedMessages()
    everything: list[tuple[bytes, int, bytes]] = []  # message, samples, stream
    told = 0  # of everything
    settled = 0
    for number, (what, how) in enumerate(actions):
        if what == "add":
            everything.append((b"%d" % number, how, b""))
            held.add(b"%d" % number, how)
        elif what == "header":
            everything.append((b"%d" % number, 0, how))
            held.add(b"%d" % number, stream=how)
        elif what == "send" and held.first is not None:
            held.sent()
            told = max(told, len(everything) - len(held._unsent))
        elif what == "settle":
            settled = min(settled + how, sum(samples for _, samples, _ in everything[:told]))
            held.release(settled)
        elif what == "rewind":
            held.rewind()
            _lacks_nothing(held, everything, settled)
    held.rewind()
    _lacks_nothing(held, everything, settled)
    assert held.n_bytes == sum(len(each.content) + 200 for each in held._unsent)
    while held.first is not None:
        held.sent()
    held.release(0, idle=True)
    assert held.n_bytes == 0


def _lacks_nothing(held: UnacknowledgedMessages, everything: list[tuple[bytes, int, bytes]], settled: int) -> None:
    again = [each.content for each in held._unsent]
    assert held.unsent == sum(each.samples for each in held._unsent)
    # the samples that are not settled, and what came behind the last that is
    count, needed, headers = 0, [], {}
    for message, samples, stream in everything:
        count += samples
        if count > settled or (samples == 0 and count == settled):
            needed.append(message)
        elif stream:
            headers[stream] = message
    assert again[-len(needed) :] == needed if needed else True
    # a header that was told before comes first
    assert set(headers.values()) <= set(again) or any(message in needed for message in again)
