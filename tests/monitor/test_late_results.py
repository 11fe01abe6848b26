"""Results that come long after their samples: each row goes to the file of its own samples, or to none."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.messages.alarms import AlarmAction, AlarmState, Severity, Transition
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
from monitor.recording import RecorderProcess, RunReader, RunWriter, recorder_process, run_files
from monitor.recording.queues import Backlog, NoteQueue, memory_size
from monitor.recording.recovery import recover
from monitor.recording.run_files import RunFiles
from monitor.system.worker_process import POSSIBLE
from replay.formats.base import Selection
from replay.formats.run_file import open_run_file
from replay.runs.reading import read_row
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("no_leftovers")

EVERY = 5


def stream(epoch: int, width: int = 2) -> Stream:
    return Stream("rig", epoch, 1000.0, tuple(Channel(f"c{k}", Role.AUXILIARY) for k in range(width)))


def results_of(of: Stream) -> ResultStream:
    return ResultStream("rig", of.epoch, 1000.0, EVERY, tuple(Column(c.name, "1", "") for c in of.channels))


def samples(of: Stream, index: int, rows: int = 10) -> SignalBlock:
    number = np.arange(index, index + rows, dtype=float)[:, None]
    return SignalBlock(of, index, index / 1000.0, np.repeat(number, len(of.channels), axis=1))


def results(of: Stream, index: int, rows: int = 2) -> ResultBlock:
    number = index + EVERY * np.arange(rows, dtype=float)[:, None]
    return ResultBlock(results_of(of), index, index / 1000.0, np.repeat(number, len(of.channels), axis=1))


def alarm(index: int) -> Transition:
    states = AlarmState.NORMAL, AlarmState.UNACKNOWLEDGED
    return Transition(1, "c0.v.warn", Severity.WARN, AlarmAction.OCCUR, *states, index / 1000.0, index)


Rows = list[tuple[int, int]]


def stored(path: Path) -> tuple[Rows, Rows, str]:
    """Return epoch and index of all samples and of all rows of results, and the outcome."""
    with RunReader(path) as run:
        epoch, index, _, values = run.results()
        assert np.array_equal(values, np.repeat(index[:, None].astype(float), values.shape[1], axis=1))
        signals = [(b.stream.epoch, b.index + k) for b in run.signal_blocks(1 << 20) for k in range(len(b))]
        return signals, list(zip(epoch.tolist(), index.tolist(), strict=True)), run.outcome


def of_folder(folder: Path) -> dict[str, tuple[Rows, Rows, str]]:
    return {path.name: stored(path) for path in folder.glob("*.h5")}


KINDS = [RunWriter, pytest.param(RecorderProcess, marks=pytest.mark.skipif(not POSSIBLE, reason="no process"))]


@pytest.mark.parametrize("kind", KINDS)
def test_results_follow_all_samples_through_a_restart_and_new_channels_to_their_own_files(tmp_path, kind) -> None:
    recorder = kind(tmp_path / "run.h5", {}, flush_interval=0.01)
    # a rig, the same after a restart, and with other channels: twice 2, then 3, then 2 again
    streams = [stream(1), stream(2), stream(3, 3), stream(4)]
    for of in streams:
        recorder.signals(samples(of, 0, 1000))
        recorder.results(results(of, 0, 0))
        recorder.signals(samples(of, 1000, 500))
    until(lambda: recorder.recorded == 6000, lambda: recorder.health(Health()))
    for of in streams:
        for index in range(0, 1500, 100):
            recorder.results(results(of, index, 20))
            if index == 700:
                recorder.event(Event.of_alarm(alarm(index)))
    recorder.close()
    assert (recorder.outcome, recorder.unrecorded, recorder.breaks) == ("clean", 0, 0)
    found = of_folder(tmp_path)
    for name, parts in {"run.h5": streams[:2], "run-2.h5": streams[2:3], "run-3.h5": streams[3:]}.items():
        assert found[name] == (
            [(of.epoch, k) for of in parts for k in range(1500)],
            [(of.epoch, k) for of in parts for k in range(0, 1500, EVERY)],
            "clean",
        )
        with RunReader(tmp_path / name) as run:
            alarms = [event.index for event in run.events() if event.kind is EventKind.ALARM]
            assert alarms == [700] * len(parts)


@pytest.mark.skipif(not POSSIBLE, reason="there is no recorder process")
def test_a_recorder_that_dies_while_results_lag_keeps_the_columns_and_no_row_is_in_another_file(
    tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(recorder_process, "_RESTART_INTERVAL", 0.05)
    recorder = RecorderProcess(tmp_path / "run.h5", {}, flush_interval=0.01)
    one, two = stream(1), stream(2)
    for of in (one, two):
        recorder.signals(samples(of, 0, 1000))
        recorder.results(results(of, 0, 0))
    until(lambda: recorder.recorded == 2000, lambda: recorder.health(Health()))
    recorder.results(results(one, 0, 20))
    until(lambda: recorder._unacknowledged.n_bytes == 0, lambda: recorder.health(Health()))
    os.kill(recorder._process.pid, signal.SIGKILL)
    until(lambda: recorder.breaks == 1, lambda: recorder.health(Health()))
    recorder.signals(samples(two, 1000, 1000))
    until(lambda: recorder.recorded == 3000, lambda: recorder.health(Health()))
    recorder.results(results(one, 100, 180))
    recorder.results(results(two, 0, 200))
    recorder.results(results(two, 1000, 200))
    recorder.close()
    told: list[str] = []
    recorder.notes.serve(lambda request: told.append(request.text))
    found = of_folder(tmp_path)
    assert found["run-2.h5"] == (
        [(2, k) for k in range(1000, 2000)],
        [(2, k) for k in range(1000, 2000, EVERY)],
        "clean",
    )
    assert found["run.h5"][0] == [(epoch, k) for epoch in (1, 2) for k in range(1000)]
    assert [text for text in told if "results" in text] == [
        "results from sample 100 on came after their file had ended and are not recorded: "
        "synchroscope assess computes them from the samples"
    ]


def test_a_file_is_closed_with_its_last_results_and_no_more_than_five_wait_for_theirs(tmp_path) -> None:
    backlog = Backlog()
    files = RunFiles(tmp_path / "run.h5", b"{}", backlog, NoteQueue())

    def add(item: SignalBlock | ResultBlock) -> None:
        backlog.add(len(item) if isinstance(item, SignalBlock) else 0, memory_size(item))
        assert files.add(item)

    streams = [stream(epoch, 1 + epoch % 2) for epoch in range(8)]
    for of in streams:
        add(samples(of, 0, 100))
        add(results(of, 0, 0))
    open_files = [path.name for path in tmp_path.glob("*.h5") if stored(path)[2] == "open"]
    assert len(open_files) == 1 + run_files._MAX_WAITING_FILES
    add(results(streams[5], 0, 20))
    # its own last results, and those of a later stream, after which there are none of an earlier one
    assert {path.name for path in tmp_path.glob("*.h5") if stored(path)[2] == "open"} == {"run-7.h5", "run-8.h5"}
    files.close()
    assert (backlog.samples, backlog.n_bytes) == (0, 0)
    assert [len(found[1]) for _, found in sorted(of_folder(tmp_path).items())] == [0, 0, 0, 0, 20, 0, 0, 0]


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_however_they_interleave_every_row_is_with_its_sample(tmp_path_factory, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("late")
    streams = [stream(epoch, data.draw(st.integers(1, 2))) for epoch in range(data.draw(st.integers(1, 4)))]
    arriving: list[SignalBlock | ResultBlock] = []
    computed: list[ResultBlock] = []
    for of in streams:
        blocks = [samples(of, index) for index in range(0, 10 * data.draw(st.integers(1, 4)), 10)]
        arriving += [blocks[0], results(of, 0, 0), *blocks[1:]]
        computed += [results(of, block.index) for block in blocks]
    # drawn before the thread is started: an example may end at any draw
    delayed = iter(data.draw(st.lists(st.booleans(), min_size=40, max_size=40)))
    writer = RunWriter(folder / "run.h5", {}, flush_interval=0.001)
    done = (-1, 0)
    while arriving or computed:
        first = computed[0] if computed else None
        arrived = first is not None and done >= (first.stream.epoch, first.index)
        if arriving and not (arrived and next(delayed)):
            item = arriving.pop(0)
            done = max(done, (item.stream.epoch, item.index))
            (writer.signals if isinstance(item, SignalBlock) else writer.results)(item)
        else:
            writer.results(computed.pop(0))
    writer.close()
    found = of_folder(folder)
    said: list[str] = []
    writer.notes.serve(lambda request: said.append(request.text))
    assert said == []
    assert writer.outcome == "clean"
    assert {outcome for *_, outcome in found.values()} == {"clean"}
    for signals, rows, _ in found.values():
        assert rows == [(epoch, index) for epoch, index in signals if index % EVERY == 0]


def test_a_run_whose_results_end_early_is_whole_and_every_reader_says_from_when(tmp_path) -> None:
    writer, of = RunWriter(tmp_path / "run.h5", {}, flush_interval=0.01), stream(1)
    writer.signals(samples(of, 500, 1000))
    writer.results(results(of, 500, 0))
    writer.signals(samples(of, 2000, 3000))
    writer.results(results(of, 500, 200))
    writer.results(results(of, 2000, 100))
    writer.close()
    # the last row is of sample 2495, and so of those up to 2499; the first sample is 500
    message = "results are missing from 2.000 s on: synchroscope assess computes them from the samples"
    row = read_row(tmp_path, "run.h5")
    assert row is not None
    assert (row.outcome, row.problem) == ("clean", message)
    assert open_run_file(tmp_path / "run.h5", Selection()).notes == (message,)
    assert recover(tmp_path / "run.h5").warnings == (message,)
    with RunReader(tmp_path / "run.h5") as run:
        assert run.first_without_results() == 1500


@pytest.mark.parametrize("rows", [0, 900, 1000])
def test_results_that_are_complete_but_for_half_a_second_are_not_said_to_be_missing(tmp_path, rows) -> None:
    writer, of = RunWriter(tmp_path / "run.h5", {}, flush_interval=0.01), stream(1)
    writer.signals(samples(of, 0, 5000))
    writer.results(results(of, 0, rows))
    writer.close()
    with RunReader(tmp_path / "run.h5") as run:
        assert run.first_without_results() == (None if rows else 0)
