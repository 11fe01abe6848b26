"""`assess --messages`: what a window reads of a recording, compared with the recording and its assessment."""

from __future__ import annotations

import io
import math
import subprocess
import sys
from dataclasses import replace
from functools import partial

import msgspec
import numpy as np
import pytest
from msgspec import structs

from monitor.config import IndicatorSettings
from monitor.engine.monitor import Monitor
from monitor.messages.alarms import AlarmReport, LimitChange, Severity
from monitor.messages.blocks import Event, EventKind, ResultBlock, SignalBlock, TransferBlock
from monitor.messages.recordings import SIGNALS_COMPLETE, RunHeader
from monitor.recording import RunWriter
from monitor.system.worker_process import read_message
from monitor.transport.zeromq.results import ResultDecoder
from replay.assessment import assess
from replay.assessment.messages import write_messages
from replay.assessment.run import record_settings, updates
from replay.formats import ArrayRecording, Selection, open_recording
from replay.formats.joined import open_joined
from replay.simulations import simulation
from tests.mistakes import refusal_of


@pytest.fixture(scope="module")
def recording(warm_kernels):
    """Twelve seconds of three actuators."""
    return simulation("hybrid", duration=12.0)


def read(recording, given=None, result_bytes=math.inf):
    """Return the whole header and the messages."""
    output = io.BytesIO()
    write_messages(recording, given or {}, output, result_bytes)
    output.seek(0)
    decoder, found, headers = ResultDecoder(), [], []
    while (frames := read_message(output)) is not None:
        if frames[0] == b"run":
            headers.append(msgspec.json.decode(frames[1], type=RunHeader))
        elif frames[0] == SIGNALS_COMPLETE:
            # a display has nothing but signals until then
            assert headers and set(map(type, found)) <= {SignalBlock}
        elif frames[0] != b"progress":
            found += decoder.decode(frames, "")
    empty, header = headers
    assert empty == structs.replace(header, window=0.0, every=1, notes=())
    return header, found


def of(kind, messages):
    return [message for message in messages if isinstance(message, kind)]


def test_signals_results_and_transfer_function_are_those_of_the_assessment(recording):
    header, messages = read(recording)
    signals = np.concatenate([block.samples for block in of(SignalBlock, messages)])
    assert np.array_equal(signals, recording.samples)
    whole = assess(recording, record_settings(recording, {})[0])
    results = of(ResultBlock, messages)
    assert np.array_equal(np.concatenate([block.values for block in results]), whole.series.values, equal_nan=True)
    assert results[0].stream.columns == whole.series.columns
    *_, transfer = of(TransferBlock, messages)
    assert np.array_equal(transfer.values, whole.transfer.values, equal_nan=True)
    assert (header.n_samples, header.window, header.every) == (recording.n_samples, whole.settings.window, 1)
    assert header.duration == pytest.approx(12.0)


def test_transfer_functions_are_those_of_their_instants(recording):
    """Each is that of the samples up to its own, and the last is never left out."""
    found = of(TransferBlock, read(recording)[1])
    settings = record_settings(recording, {})[0]
    computed = [update.transfer for update in updates(recording, settings) if update.transfer is not None]
    assert len(found) > 2
    assert [block.index for block in found] == sorted({block.index for block in computed})
    for mine, theirs in zip(found, computed, strict=True):
        assert np.array_equal(mine.values, theirs.values, equal_nan=True)


def test_transfer_functions_of_a_long_recording_are_left_out_evenly(recording, monkeypatch):
    every = of(TransferBlock, read(recording)[1])
    monkeypatch.setattr("replay.assessment.messages._TRANSFER_BYTES", 2 * every[0].values.nbytes)
    fewer = of(TransferBlock, read(recording)[1])
    assert len(fewer) < len(every)
    assert sum(block.values.nbytes for block in fewer) <= 4 * every[0].values.nbytes
    assert fewer[-1].index == every[-1].index
    assert {block.index for block in fewer} <= {block.index for block in every}


@pytest.mark.parametrize("share", [0.5, 0.3, 0.01])
def test_rows_are_left_out_evenly_to_fit_the_memory(recording, share):
    results = of(ResultBlock, read(recording)[1])
    values, size = np.concatenate([b.values for b in results]), sum(b.values.nbytes for b in results)
    fewer = of(ResultBlock, read(recording, result_bytes=share * size)[1])
    every = fewer[0].stream.every
    assert every == math.ceil(1.0 / share)
    assert sum(block.values.nbytes for block in fewer) <= share * size + 8 * values.shape[1]
    for block in fewer:
        assert block.index % every == 0
        assert block.time == pytest.approx(block.index / block.stream.sample_rate)
        assert np.array_equal(block.values, values[block.index :: every][: len(block)], equal_nan=True)
    rows = sum(len(block) for block in fewer)
    assert rows == -(-len(values) // every)


def test_every_recorded_event_comes_after_the_samples_that_it_is_about(recording, tmp_path):
    path, half = tmp_path / "run.h5", recording.n_samples // 2
    writer = RunWriter(path, {"indicators": {"window": 1.0}})
    told = []
    for epoch in (3, 4, 5):
        stream, monitor = replace(recording.stream, epoch=epoch), Monitor(IndicatorSettings(window=1.0))
        for block in recording.blocks(700):
            if block.index < half:
                writer.signals(monitor.update(replace(block, stream=stream)).signals)
                events = [Event(EventKind.NOTE, block.time, block.index + 3, 0, f"{epoch} {block.index}")]
                if block.index == 0:
                    kind = EventKind.STARTED if epoch == 3 else EventKind.RESTART
                    events.insert(0, Event(kind, block.time, 0))
                for event in events:
                    writer.event(event)
                    told.append(event)
    writer.close()
    header, messages = read(open_recording(path))
    events = of(Event, messages)
    assert [(e.kind, e.detail) for e in events] == [(e.kind, e.detail) for e in told]
    assert header.n_breaks == 2
    epoch, end = 0, 0
    for message in messages:
        if isinstance(message, SignalBlock):
            epoch, end = message.stream.epoch, message.index + len(message)
        elif isinstance(message, Event) and message.kind is EventKind.NOTE:
            assert message.detail.startswith(f"{epoch} ")
            assert message.index < end


def test_events_of_joined_run_files_come_after_their_samples_and_all_kinds_are_kept(recording, tmp_path):
    told = []
    for epoch in (3, 4):
        writer = RunWriter(tmp_path / f"{epoch}.h5", {})
        for block in recording.blocks(700):
            writer.signals(replace(block, stream=replace(recording.stream, epoch=epoch)))
            kind = (EventKind.NOTE, EventKind.DECISION, EventKind.CONTRADICTION)[block.index // 700 % 3]
            told.append(Event(kind, block.time, block.index + 3, 0, f"{epoch} {block.index}"))
            writer.event(told[-1])
        writer.close()
    _, messages = read(open_joined([tmp_path / "3.h5", tmp_path / "4.h5"], Selection()))
    events = [event for event in of(Event, messages) if event.detail in {each.detail for each in told}]
    assert [(e.kind, e.detail) for e in events] == [(e.kind, e.detail) for e in told]
    now, computed = (0, 0), (0, 0)
    for message in messages:
        if isinstance(message, SignalBlock):
            now = message.stream.epoch, message.index + len(message)
        elif isinstance(message, ResultBlock):
            computed = message.stream.epoch, message.index + len(message)
        elif message in events:
            epoch, index = map(int, message.detail.split())
            # the signals of the first file are all there before anything is computed
            assert epoch == now[0] == computed[0] and index < now[1]
            assert index < computed[1] <= index + 4096 + 700
    assert sum(event.kind is EventKind.RESTART for event in of(Event, messages)) == 1


def test_a_record_that_is_too_short_for_the_settings_has_signals_and_a_note(recording):
    short = ArrayRecording(recording.stream, recording.samples[:40])
    _, messages = read(short, {"window": 0.001})
    assert sum(len(block) for block in of(SignalBlock, messages)) == 40
    assert not of(ResultBlock, messages)
    notes = [event.detail for event in of(Event, messages) if event.kind is EventKind.NOTE]
    assert [note for note in notes if note.startswith("no results: ")]


def test_settings_that_are_given_override_those_of_the_file(recording, tmp_path):
    writer = RunWriter(tmp_path / "run.h5", {"indicators": {"window": 1.0}})
    writer.signals(next(recording.blocks(4096)))
    writer.close()
    config = tmp_path / "lab.toml"
    config.write_text("[indicators]\nwindow = 0.8\n")
    for words, window in (((), 1.0), (("--config", str(config)), 0.8), (("--window", "0.5"), 0.5)):
        command = [sys.executable, "-m", "monitor", "assess", str(tmp_path / "run.h5"), "--messages", *words]
        done = subprocess.run(command, capture_output=True, check=True)
        sent = iter(partial(read_message, io.BytesIO(done.stdout)), None)
        _, header = [frames for frames in sent if frames[0] == b"run"]
        assert msgspec.json.decode(header[1], type=RunHeader).window == window
        assert not done.stderr


def test_the_limits_of_a_run_are_those_at_its_end_and_nobody_can_change_them(recording, tmp_path):
    actuator = next(channel.actuator for channel in recording.stream.channels if channel.actuator)
    limits = {"limit": [{"value": "nrmse", "warn": 0.1, "trip": 0.5}]}
    writer = RunWriter(tmp_path / "run.h5", {"indicators": {"window": 1.0}, "alarms": limits})
    for block in recording.blocks(4096):
        writer.signals(block)
    for number, high in enumerate((0.2, 0.3)):
        change = LimitChange(f"{actuator}.nrmse.warn", Severity.WARN, None, high, None, 0.1)
        writer.event(Event(EventKind.LIMITS, 1.0 + number, 100 + number, 0, "changed", limits=change))
    writer.close()
    _, messages = read(open_recording(tmp_path / "run.h5"))
    (report,) = of(AlarmReport, messages)
    found = {alarm.name: alarm for alarm in report.alarms}
    assert found[f"{actuator}.nrmse.warn"].high == 0.3
    assert found[f"{actuator}.nrmse.trip"].high == 0.5
    assert not any(alarm.changeable for alarm in report.alarms)
    assert [event.limits.high for event in of(Event, messages) if event.limits is not None] == [0.2, 0.3]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--messages", "--json"), "--messages takes one file"),
        (("--auxiliary",), "--auxiliary requires --messages"),
        (("--messages", "--config", "none.toml"), "none.toml: cannot be read"),
    ],
)
def test_mistakes_are_one_line(tmp_path, capsys, words, said):
    path = tmp_path / "x.csv"
    path.write_text("t,command,measured\n0,1,2\n0.1,2,3\n0.2,1,2\n")
    assert said in refusal_of(capsys, "assess", path, *words)
