"""Recording in a process of its own: the same file, and nothing lost however that process ends."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from time import sleep

import numpy as np
import pytest

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
from monitor.messages.health import Health
from monitor.recording import RecorderProcess, RunFileError, RunReader, RunWriter, recorder_process
from monitor.system.worker_process import POSSIBLE
from monitor.wire.native import Encoder
from tests import waiting

pytestmark = [
    pytest.mark.usefixtures("no_leftovers"),
    pytest.mark.skipif(not POSSIBLE, reason="there, no pipe can be written to without waiting"),
]

CHANNELS = (Channel("a", Role.AUXILIARY, "m"), Channel("b", Role.AUXILIARY))
STREAM = Stream("rig", 7, 1000.0, CHANNELS)
RESULTS = ResultStream("rig", 7, 1000.0, 5, (Column("fdb_delay", "s", "north"),))


def block(index: int, rows: int = 10, stream: Stream = STREAM) -> SignalBlock:
    samples = np.repeat(np.arange(index, index + rows, dtype=float)[:, None], 2, axis=1)
    return SignalBlock(stream, index, index / 1000.0, samples)


def feed(recorder: RecorderProcess | RunWriter, start: int, stop: int, stream: Stream = STREAM) -> None:
    for index in range(start, stop, 10):
        recorder.signals(block(index, stream=stream))
        recorder.results(ResultBlock(RESULTS, index, index / 1000.0, np.array([[index], [index + 5.0]])))
        if index % 100 == 0:
            recorder.event(Event(EventKind.NOTE, index / 1000.0, index, 0, f"at {index}"))


def until(condition: Callable[[], bool], recorder: RecorderProcess) -> None:
    waiting.until(condition, lambda: (recorder.health(Health()), adds_up(recorder)))


def adds_up(recorder: RecorderProcess) -> None:
    assert recorder.recorded + recorder.unrecorded + recorder.waiting == recorder._offered


def notes(recorder: RecorderProcess) -> list[str]:
    said: list[str] = []
    recorder.notes.serve(lambda request: said.append(request.text))
    return said


def stored(path: Path) -> tuple[object, ...]:
    with RunReader(path) as run:
        signals = list(run.signal_blocks(100_000))
        return (
            [(b.stream, b.index, b.time, b.samples.tobytes()) for b in signals],
            [values.tobytes() for values in run.results()],
            list(run.events()),
            run.settings,
            run.outcome,
        )


def numbers(folder: Path) -> list[int]:
    """Return the numbers of all samples in all run files, doubled ones twice, in their order."""
    found: list[int] = []
    for path in folder.glob("*.h5"):
        with RunReader(path) as run:
            for part in run.signal_blocks(100_000):
                assert np.array_equal(part.samples[:, 0], np.arange(part.index, part.index + len(part)))
                found += range(part.index, part.index + len(part))
    return sorted(found)


def test_it_is_the_file_that_a_thread_would_write(tmp_path: Path) -> None:
    other = Stream("rig", 9, 500.0, CHANNELS[:1])
    for name, kind in (("thread", RunWriter), ("process", RecorderProcess)):
        (tmp_path / name).mkdir()
        recorder = kind(tmp_path / name / "run.h5", {"window": 2.0, "name": "é"})
        feed(recorder, 0, 3000)
        feed(recorder, 3500, 4000, Stream("rig", 8, 1000.0, CHANNELS))
        recorder.signals(SignalBlock(other, 0, 1.5, np.ones((700, 1)), last=True))
        recorder.close()
        assert (recorder.recorded, recorder.unrecorded, recorder.waiting) == (4200, 0, 0)
        assert (recorder.outcome, recorder.breaks, recorder.failed, recorder.disk_hangs) == ("clean", 0, "", False)
        assert recorder.path == tmp_path / name / "run-2.h5"
        recorder.close()
    for name in ("run.h5", "run-2.h5"):
        assert stored(tmp_path / "process" / name) == stored(tmp_path / "thread" / name)


def test_an_encoder_that_is_shared_changes_nothing(tmp_path: Path) -> None:
    encoder = Encoder()
    recorder = RecorderProcess(tmp_path / "run.h5", {}, encoder=encoder)
    for index in range(0, 1000, 10):
        each = block(index, stream=STREAM if index < 500 else Stream("rig", 8, 1000.0, CHANNELS))
        assert encoder.encode(each) is encoder.encode(each)
        recorder.signals(each)
    recorder.close()
    assert numbers(tmp_path) == list(range(1000))


@pytest.mark.parametrize("seed", range(4))
def test_a_kill_of_the_process_loses_nothing(tmp_path: Path, monkeypatch, seed: int) -> None:
    monkeypatch.setattr(recorder_process, "_RESTART_INTERVAL", 0.05)
    monkeypatch.setattr(recorder_process, "_MAX_FAILED_STARTS", 100)
    chance = np.random.default_rng(seed)
    recorder = RecorderProcess(tmp_path / "run.h5", {}, flush_interval=0.05)
    sent = 0
    for kill in range(5):
        for _ in range(int(chance.integers(1, 40))):
            feed(recorder, sent, sent + 100)
            sent += 100
            sleep(chance.uniform(0.0, 0.01))
        os.kill(recorder._process.pid, signal.SIGKILL)
        until(lambda kill=kill: recorder.breaks == kill + 1, recorder)
    recorder.close()
    adds_up(recorder)
    assert (recorder.recorded, recorder.unrecorded) == (sent, 0)
    # the results of the last block before a death may be in neither file
    assert recorder.outcome in ("truncated", "lossy")
    # what had been written and not yet said is there twice, in two files
    assert sorted(set(numbers(tmp_path))) == list(range(sent))
    assert notes(recorder)[0] == "the recorder process died (signal 9): the recording continues in a new file"


def test_a_process_that_stands_still_is_told_and_bounded(tmp_path: Path) -> None:
    recorder = RecorderProcess(tmp_path / "run.h5", {}, flush_interval=0.05, queue_bytes=3 << 20)
    feed(recorder, 0, 1000)
    until(lambda: recorder.recorded == 1000, recorder)
    os.kill(recorder._process.pid, signal.SIGSTOP)
    wide = SignalBlock(STREAM, 1000, 1.0, np.zeros((5000, 2)))
    for number in range(100):
        recorder.signals(SignalBlock(STREAM, 1000 + 5000 * number, 1.0 + 5.0 * number, wide.samples))
        adds_up(recorder)
    assert recorder.recorded == 1000
    assert 0 < recorder.waiting <= 45 * 5000 < recorder.unrecorded
    sleep(0.3)
    assert recorder.unwritten_age >= 0.3
    os.kill(recorder._process.pid, signal.SIGCONT)
    until(lambda: recorder.waiting == 0, recorder)
    recorder.signals(block(501_000))
    recorder.close()
    assert recorder.recorded + recorder.unrecorded == 501_010
    assert recorder.outcome == "lossy"
    with RunReader(tmp_path / "run.h5") as run:
        assert (run.outcome, run.n_samples) == ("lossy", recorder.recorded)


def test_what_waited_for_the_disk_is_sent_a_few_messages_at_a_time(tmp_path: Path, monkeypatch) -> None:
    """The process takes all that it is sent, as one that reads meanwhile does; each message takes 0.02 ms."""
    now, sent = [100.0], [0]
    recorder = RecorderProcess(tmp_path / "run.h5", {})
    offer = recorder._process.offer

    def slow_offer(message: bytes) -> bool:
        now[0] += 2e-5
        sent[0] += 1
        return offer(message)

    with monkeypatch.context() as patched:
        patched.setattr(recorder._process, "offer", lambda _: False)
        feed(recorder, 0, 20_000)
    with monkeypatch.context() as patched:
        patched.setattr(recorder._process, "offer", slow_offer)
        patched.setattr(recorder_process, "monotonic", lambda: now[0])
        for index in range(20_000, 21_000, 10):
            sent[0] = 0
            recorder.signals(block(index))
            assert 2 <= sent[0] <= 15
    recorder.close()
    assert (recorder.recorded, recorder.outcome) == (21_000, "clean")


def test_close_waits_no_longer_than_it_is_told_to(tmp_path: Path) -> None:
    recorder = RecorderProcess(tmp_path / "run.h5", {}, flush_interval=0.05)
    feed(recorder, 0, 1000)
    until(lambda: recorder.recorded == 1000, recorder)
    os.kill(recorder._process.pid, signal.SIGSTOP)
    feed(recorder, 1000, 2000)
    assert not recorder.finish(timeout=0.05)
    recorder.close(timeout=0.05)
    assert (recorder.disk_hangs, recorder.outcome) == (True, "truncated")
    assert (recorder.recorded, recorder.unrecorded, recorder.waiting) == (1000, 1000, 0)
    recorder.signals(block(2000))
    assert recorder.unrecorded == 1010


def test_the_death_of_the_service_closes_the_file(tmp_path: Path) -> None:
    recorder = RecorderProcess(tmp_path / "run.h5", {}, flush_interval=100.0)
    feed(recorder, 0, 1000)
    until(lambda: recorder._progress.received == 1000, recorder)
    recorder._process.close_input()
    assert recorder._process.wait(20.0)
    recorder._process.close()
    with RunReader(tmp_path / "run.h5") as run:
        assert (run.n_samples, run.outcome) == (1000, "truncated")


def test_what_ends_the_process_again_and_again_is_given_up(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(recorder_process, "_RESTART_INTERVAL", 0.0)
    recorder = RecorderProcess(tmp_path / "run.h5", {}, flush_interval=100.0)
    # without results nothing is written before the interval is over
    for index in range(0, 1000, 10):
        recorder.signals(block(index))
    for kill in range(3):
        until(lambda: recorder._progress.received == 1000, recorder)
        os.kill(recorder._process.pid, signal.SIGKILL)
        until(lambda kill=kill: recorder.breaks == kill + 1, recorder)
    assert recorder.unrecorded == 1000
    feed(recorder, 1000, 2000)
    recorder.close()
    adds_up(recorder)
    assert (recorder.recorded, recorder.unrecorded, recorder.outcome) == (1000, 1000, "lossy")
    assert numbers(tmp_path) == list(range(1000, 2000))


def test_a_process_that_cannot_be_started_again_is_tried_until_it_can(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(recorder_process, "_RESTART_INTERVAL", 0.0)
    recorder = RecorderProcess(tmp_path / "run.h5", {}, flush_interval=0.05)
    feed(recorder, 0, 1000)

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with monkeypatch.context() as full:
        full.setattr(subprocess, "Popen", refuse)
        os.kill(recorder._process.pid, signal.SIGKILL)
        until(lambda: bool(recorder.failed), recorder)
        assert "cannot be restarted: [Errno" in recorder.failed
    feed(recorder, 1000, 2000)
    until(lambda: recorder.recorded == 2000, recorder)
    assert (recorder.failed, recorder.breaks) == ("", 1)
    recorder.close()
    assert sorted(set(numbers(tmp_path))) == list(range(2000))


def test_left_out_samples_are_counted_and_told(tmp_path: Path) -> None:
    recorder = RecorderProcess(tmp_path / "run.h5", {})
    feed(recorder, 0, 100)
    recorder.count_unrecorded(50)
    adds_up(recorder)
    recorder.close()
    assert (recorder.recorded, recorder.unrecorded, recorder.outcome) == (100, 50, "lossy")
    with RunReader(tmp_path / "run.h5") as run:
        assert run.outcome == "lossy"


def test_mistakes_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(RunFileError, match="the folder does not exist"):
        RecorderProcess(tmp_path / "none" / "run.h5", {})
    with pytest.raises(RunFileError, match="cannot be stored as JSON"):
        RecorderProcess(tmp_path / "run.h5", {"a": object()})
    recorder = RecorderProcess(tmp_path / "run.h5", {})
    with pytest.raises(ValueError, match="at most 16 bytes"):
        recorder.finish("an outcome that is far too long")
    recorder.close()
    assert list(tmp_path.iterdir()) == []


def test_a_recorder_without_a_service_does_not_wait_for_a_disk_for_ever(tmp_path: Path, monkeypatch) -> None:
    # as HDF5 does at times, it keeps all threads of its process waiting
    (tmp_path / "sitecustomize.py").write_text(
        "import ctypes\n"
        "from monitor.recording import recorder_program\n"
        "from monitor.recording.swmr_file import SwmrFile\n"
        "recorder_program._ALONE = 1\n"
        "SwmrFile.append = lambda *_: ctypes.PyDLL(None).sleep(3600)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    recorder = RecorderProcess(tmp_path / "run.h5", {}, flush_interval=0.05)
    feed(recorder, 0, 1000)
    until(lambda: recorder._unacknowledged.first is None, recorder)
    recorder._process.close_input()
    assert recorder._process.wait(20.0)
    assert recorder._process.end == f"signal {signal.SIGALRM:d}"
    recorder._process.close()


def test_an_unknown_number_of_samples_that_were_not_received_makes_the_run_lossy(tmp_path: Path) -> None:
    recorder = RecorderProcess(tmp_path / "run.h5", {})
    recorder.signals(block(0))
    recorder.count_unrecorded(0)
    recorder.close()
    assert (recorder.unrecorded, recorder.outcome) == (0, "lossy")
    with RunReader(tmp_path / "run.h5") as run:
        assert run.outcome == "lossy"


def test_it_reports_before_the_first_samples(tmp_path: Path) -> None:
    with closing(RecorderProcess(tmp_path / "run.h5", {})) as recorder:
        recorder._process.listen(40.0)
        assert recorder._process.lines()


def test_two_recorders_of_one_name_have_files_of_their_own(tmp_path: Path) -> None:
    recorders = [RecorderProcess(tmp_path / "run.h5", {}, flush_interval=0.05) for _ in range(2)]
    for start in range(0, 2000, 100):
        for number, recorder in enumerate(recorders):
            feed(recorder, 10_000 * number + start, 10_000 * number + start + 100)
    for recorder in recorders:
        recorder.close()
        assert (recorder.recorded, recorder.outcome) == (2000, "clean")
    assert {recorder.path.name for recorder in recorders} == {"run.h5", "run-2.h5"}
    assert numbers(tmp_path) == [*range(2000), *range(10_000, 12_000)]
