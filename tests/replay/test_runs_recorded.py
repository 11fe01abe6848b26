"""The catalogue beside what it lists: `assess` of a file, killed recorders, two commands at once, a lost index."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep

import numpy as np
import pytest

from monitor.config import IndicatorSettings
from monitor.engine.monitor import Monitor
from monitor.messages.blocks import Channel, Role, SignalBlock, Stream
from monitor.recording import RunWriter
from monitor.system.worker_process import POSSIBLE
from replay.assessment import assess
from replay.assessment.run import record_settings
from replay.assessment.summary import summarise
from replay.comparison import assess_run
from replay.formats import Selection, open_recording
from replay.formats.parts import RecordingPart
from replay.report.contents import report_contents
from replay.runs.index import INDEX_NAME, list_runs
from tests.replay.exported_run import record

RATE, DURATION, WINDOW = 256.0, 24.0, 2.0
ACTUATORS = "a", "b"
CHANNELS = tuple(
    Channel(f"{actuator}.{role}", role, "mm", actuator)
    for actuator in ACTUATORS
    for role in (Role.COMMAND, Role.MEASURED)
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    place = tmp_path / "runs"
    place.mkdir()
    return place


def motion(time: np.ndarray) -> np.ndarray:
    return 5.0 * np.sin(2.0 * np.pi * 0.9 * time) + 2.0 * np.sin(2.0 * np.pi * 2.3 * time + 1.0)


def monitored(path: Path, late: float, missing: int) -> None:
    """Record a test as a service does: `a` is 12 ms late, `b` 8 ms, and `late` s in the second half."""
    settings = IndicatorSettings(window=WINDOW, every=8)
    time = np.arange(round(DURATION * RATE)) / RATE
    later = np.where(time < 0.5 * DURATION, 0.008, late)
    samples = np.stack((motion(time), motion(time - 0.012), motion(time), motion(time - later)), 1)
    stream = Stream("rig", 1, RATE, CHANNELS)
    writer, monitor = RunWriter(path, {"indicators": settings.model_dump(mode="json")}), Monitor(settings)
    n = len(time)
    for start in range(0, n, 512):
        if missing and start == 2048:
            continue
        rows = slice(start, start + 512)
        block = SignalBlock(stream, start, 1_763_000_000.0 + start / RATE, samples[rows], last=start + 512 >= n)
        update = monitor.update(block)
        writer.signals(block)
        if update.results is not None:
            writer.results(update.results)
        for event in update.events:
            writer.event(event)
    writer.close()


@pytest.mark.parametrize(("late", "missing"), [(0.03, 0), (-0.025, 0), (0.03, 512)])
def test_the_worst_delay_is_that_of_assess(folder: Path, warm_kernels: None, late: float, missing: int) -> None:
    monitored(folder / "run.h5", late, missing)
    (row,) = list_runs(folder).rows
    recording = open_recording(folder / "run.h5", Selection())
    settings, _ = record_settings(recording, {})
    summary = summarise("run.h5", recording, assess(recording, settings))
    assert row.worst_actuator == summary.worst_actuator == "b"
    assert row.worst_delay_ms == pytest.approx(summary.worst_delay_ms, abs=1e-6)
    assert row.worst_delay_ms == pytest.approx(1e3 * late, abs=0.2)
    # anywhere in the second half, once the window is full of it
    for found in (row.worst_delay_at_s, summary.worst_delay_at_s):
        assert 0.5 * DURATION + WINDOW - 0.1 <= found <= DURATION
    ours = row.values()
    for key in ("start", "duration_s", "samples", "lost_samples", "gaps", "restarts", "outcome", "window_s", "notes"):
        assert ours[key] == summary.row()[key], key
    assert row.lost_samples == missing


_RECORDER = """
import os, signal, sys, time
import numpy as np
from monitor.messages.blocks import Channel, Role, SignalBlock, Stream
from monitor.recording import RecorderProcess

recorder = RecorderProcess(sys.argv[1], {}, flush_interval=0.05)
stream = Stream("rig", 1, 100.0, (Channel("c", Role.COMMAND, "mm", "a"), Channel("m", Role.MEASURED, "mm", "a")))
sent = 0
while recorder.recorded < 1000:
    recorder.signals(SignalBlock(stream, sent, sent / 100.0, np.zeros((100, 2))))
    sent += 100
    time.sleep(0.005)
print(recorder.recorded, sent, recorder._process.pid, flush=True)
if sys.argv[2] == "both":
    os.kill(recorder._process.pid, signal.SIGKILL)
os.kill(os.getpid(), signal.SIGKILL)
"""


def has_not_ended(process: int) -> bool:
    """Whether a process runs that is no child of this one; one that nobody waits for remains, as a zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not POSSIBLE, reason="there, no pipe can be written to without waiting")
@pytest.mark.parametrize(("killed", "outcome"), [("both", "open"), ("service", "truncated")])
def test_a_run_whose_service_was_killed_is_listed_as_what_it_is(folder: Path, killed: str, outcome: str) -> None:
    words = [sys.executable, "-c", _RECORDER, str(folder / "run.h5"), killed]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == -signal.SIGKILL, done.stderr
    acknowledged, sent, recorder = map(int, done.stdout.split())
    limit = monotonic() + 60.0
    while has_not_ended(recorder):
        assert monotonic() < limit
        sleep(0.02)
    (row,) = list_runs(folder).rows
    assert row.outcome == outcome
    assert acknowledged <= row.samples <= sent
    assert row.duration_s == row.samples / 100.0
    assert (row.lost_samples, row.restarts, row.worst_delay_ms, row.problem) == (0, 0, None, "")
    assert list_runs(folder).read == 0
    if outcome == "open":
        recover = [sys.executable, "-m", "monitor", "recover", str(folder / "run.h5")]
        subprocess.run(recover, check=True, capture_output=True, timeout=120)
        found = {each.file: (each.outcome, each.samples) for each in list_runs(folder).rows}
        assert found == {"run.h5": ("open", row.samples), "run.recovered.h5": ("recovered", row.samples)}


def test_two_commands_at_once_print_the_same_and_leave_a_whole_index(folder: Path) -> None:
    record(folder / "0.h5")
    for number in range(1, 30):
        shutil.copyfile(folder / "0.h5", folder / f"{number}.h5")
    words = [sys.executable, "-m", "monitor", "runs", str(folder), "--json"]
    started = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
    ended = [process.communicate(timeout=120) for process in started]
    assert [process.returncode for process in started] == [0, 0], ended
    first, second = (json.loads(out) for out, _ in ended)
    assert first == second
    assert first["index"] == str(folder / INDEX_NAME)
    assert first["found"] == 30
    listing = list_runs(folder)
    assert listing.read == 0
    assert [row.values() for row in listing.rows] == sorted(first["runs"], key=lambda row: row["file"])
    assert not list(folder.glob("*-journal"))


@pytest.mark.parametrize("loss", ["deleted", "emptied", "overwritten"])
def test_an_index_that_is_lost_while_files_are_read_stops_nothing(folder: Path, loss: str) -> None:
    for number in range(40):
        shutil.copyfile(folder / "0.h5", folder / f"{number}.h5") if number else record(folder / "0.h5")
    place = folder / INDEX_NAME

    def lose(_label: str, done: int, _total: int) -> None:
        if done != 20:
            return
        if loss == "deleted":
            place.unlink()
        elif loss == "emptied":
            os.truncate(place, 0)
        else:
            place.write_bytes(b"no database " * 4096)

    listing = list_runs(folder, progress=lose)
    assert len(listing.rows) == 40
    again = list_runs(folder)
    assert again.rows == listing.rows
    assert again.index == place
    assert list_runs(folder).read == 0


@pytest.mark.parametrize("jump", [0.0, 100.0, -20.0])
def test_times_after_a_restart_are_those_of_the_samples_whatever_the_clock_shows(
    folder: Path, warm_kernels: None, jump: float
) -> None:
    """The rig restarts in the middle, its clock `jump` s off; its delay is 8 ms, then 30 ms."""
    half = 0.5 * DURATION
    settings = IndicatorSettings(window=WINDOW, every=8)
    time = np.arange(round(DURATION * RATE)) / RATE
    samples = np.stack((motion(time), motion(time - np.where(time < half, 0.008, 0.03))), 1)
    writer, monitor = (
        RunWriter(folder / "run.h5", {"indicators": settings.model_dump(mode="json")}),
        Monitor(settings),
    )
    n = len(time)
    for start in range(0, n, 512):
        restarted = start >= n // 2
        index, clock = (start - n // 2, start / RATE + jump) if restarted else (start, start / RATE)
        stream = Stream("rig", 1 + restarted, RATE, CHANNELS[:2])
        block = SignalBlock(stream, index, 1000.0 + clock, samples[start : start + 512], last=start + 512 >= n)
        update = monitor.update(block)
        writer.signals(block)
        writer.results(update.results)
        for event in update.events:
            writer.event(event)
    writer.close()
    (row,) = list_runs(folder).rows
    recording = open_recording(folder / "run.h5", Selection())
    found = assess(recording, settings)
    np.testing.assert_allclose(found.series.elapsed, time[::8], atol=1e-9)
    summary = summarise("run.h5", recording, found)
    assert row.restarts == summary.restarts == 1
    for at in (row.worst_delay_at_s, summary.worst_delay_at_s):
        assert half + WINDOW - 0.1 <= at <= DURATION
    part = assess(RecordingPart(recording, half + 3.0), settings)
    assert (part.series.elapsed[0], part.series.elapsed[-1]) == pytest.approx((half + 3.0, DURATION - 8 / RATE))
    # the page: the windows of the report, and the compared stretch
    report = report_contents(folder / "run.h5", recording, found, [])
    worst = re.search(r"Worst window, [^,]+, (\S+) to (\S+) s", " ".join(report.lead))
    assert half + WINDOW - 0.1 <= float(worst[2]) <= DURATION
    run = assess_run(folder / "run.h5", recording, settings)
    later = run.part(found.pairs[0].pair, half + 1.0, DURATION).values["broadband_delay"]
    assert np.nanmedian(later) == pytest.approx(0.03, abs=2e-4)
