"""Files of one run: joined they are the run, and what is missing between them is a gap."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.__main__ import main
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
from monitor.recording import RunWriter
from replay.formats import RecordingError, Selection, open_recording
from replay.formats.joined import JoinedRecording, open_joined
from replay.record import read_record
from tests.mistakes import refusal_of

RATE, COUNT, DELAY = 500.0, 6000, 0.012
TIMES = np.arange(COUNT) / RATE
COMMAND = np.sin(2 * np.pi * 1.5 * TIMES) + 0.3 * np.sin(2 * np.pi * 4.0 * TIMES)
MEASURED = 0.98 * np.interp(TIMES - DELAY, TIMES, COMMAND)
ROWS = np.column_stack([TIMES, COMMAND, MEASURED])
STREAM = Stream("rig", 7, RATE, (Channel("c", Role.COMMAND, "mm", "a"), Channel("m", Role.MEASURED, "mm", "a")))


def csv(
    path: Path, rows: np.ndarray, *, relative: bool = False, header: str = "time [s],c [mm],a measured [mm]"
) -> Path:
    rows = rows - [rows[0, 0], 0.0, 0.0] if relative else rows
    np.savetxt(path, rows, "%.9g", ",", header=header.replace(",c", ",a command"), comments="")
    return path


def run_file(path: Path, begin: int, end: int, stream: Stream = STREAM, number: int = 0) -> Path:
    writer = RunWriter(path, {})
    for at in range(begin, end, 100):
        rows = slice(at, min(at + 100, end))
        writer.signals(SignalBlock(stream, at - number, TIMES[at], np.ascontiguousarray(ROWS[rows, 1:])))
    writer.close()
    return writer.path


def content(recording: JoinedRecording, start: float = 0.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return number, time and values of every sample."""
    blocks = list(recording.blocks(97, start))
    numbers = np.concatenate([block.index + np.arange(len(block)) for block in blocks])
    times = np.concatenate([block.time + np.arange(len(block)) / RATE for block in blocks])
    return numbers, times, np.concatenate([block.samples for block in blocks])


@given(
    st.lists(st.integers(10, COUNT - 10), min_size=1, max_size=3, unique=True).map(sorted),
    st.integers(0, 5),
    st.floats(0.0, 12.5),
)
def test_parts_of_a_run_are_the_run(tmp_path_factory, cuts: list[int], lost: int, start: float) -> None:
    folder = tmp_path_factory.mktemp("parts")
    begins, ends = [0, *(cut + lost for cut in cuts)], [*cuts, COUNT]
    pairs = [(b, e) for b, e in zip(begins, ends, strict=True) if e - b > 5]
    paths = [csv(folder / f"{k}.csv", ROWS[b:e]) for k, (b, e) in enumerate(pairs)]
    joined = open_joined(paths, Selection())
    there = np.concatenate([np.arange(b, e) for b, e in pairs])
    numbers, times, values = content(joined)
    np.testing.assert_array_equal(numbers, there)
    np.testing.assert_allclose(times, TIMES[there], atol=1e-6)
    np.testing.assert_allclose(values, ROWS[there, 1:], rtol=1e-8)
    assert (joined.n_samples, joined.duration) == (len(there), pytest.approx(COUNT / RATE))
    later = there[there >= start * RATE - 1e-6]
    at = joined.locate(start)
    assert at == pytest.approx(later[0] / RATE if len(later) else joined.duration)
    if len(later):
        np.testing.assert_array_equal(content(joined, at)[0], later)


@pytest.mark.parametrize("lost", [0, 40])
def test_run_files_of_one_start_of_the_rig_keep_its_numbers(tmp_path: Path, lost: int) -> None:
    paths = [run_file(tmp_path / "a.h5", 0, 2500), run_file(tmp_path / "b.h5", 2500 + lost, COUNT)]
    joined = open_joined(paths, Selection())
    np.testing.assert_array_equal(content(joined)[0], np.r_[0:2500, 2500 + lost : COUNT])
    assert joined.notes[-1] == f"b.h5 follows a.h5 after {lost / RATE:g} s ({lost} samples)"
    assert joined.duration == pytest.approx(COUNT / RATE)


def test_a_restart_of_the_rig_between_run_files_takes_no_time(tmp_path: Path) -> None:
    again = replace(STREAM, epoch=8)
    paths = [run_file(tmp_path / "a.h5", 0, 2500), run_file(tmp_path / "b.h5", 2500, COUNT, again, 2500)]
    joined = open_joined(paths, Selection())
    assert joined.notes[-1] == "b.h5 follows a.h5 after a restart of the rig"
    assert joined.duration == pytest.approx(COUNT / RATE)


@pytest.mark.parametrize("late", [0, 1])
def test_times_that_begin_again_do_not_tell_the_gap(tmp_path: Path, late: int) -> None:
    again = ROWS[2500:] - [TIMES[2500] - late / RATE, 0.0, 0.0]
    paths = [csv(tmp_path / "a.csv", ROWS[:2500]), csv(tmp_path / "b.csv", again)]
    joined = open_joined(paths, Selection())
    assert joined.notes[-1] == "b.csv follows a.csv after a gap of unknown length, taken as 1 s"
    np.testing.assert_array_equal(content(joined)[0], np.r_[0:2500, 3000 : COUNT + 500])


def test_results_and_events_of_run_files_follow_each_other(tmp_path: Path) -> None:
    columns = (Column("fdb_delay", "a", "s"),)
    paths = []
    for name, begin, end in (("a.h5", 0, 2500), ("b.h5", 2600, COUNT)):
        writer = RunWriter(tmp_path / name, {})
        writer.signals(SignalBlock(STREAM, begin, TIMES[begin], np.ascontiguousarray(ROWS[begin:end, 1:])))
        values = np.arange(begin, end, 100.0)[:, None]
        writer.results(ResultBlock(ResultStream("rig", 7, RATE, 100, columns), begin, TIMES[begin], values))
        writer.event(Event(EventKind.NOTE, TIMES[begin + 50], begin + 50, 0, name))
        writer.close()
        paths.append(writer.path)
    found = read_record(paths)
    rows = np.r_[0:2500:100, 2600:COUNT:100]
    np.testing.assert_allclose(found.results_time, rows / RATE)
    np.testing.assert_array_equal(found.results["fdb_delay"], rows)
    assert [(seconds, event.detail) for seconds, event in found.events] == [
        (50 / RATE, "a.h5"),
        (2650 / RATE, "b.h5"),
    ]


def test_what_is_no_part_is_refused(tmp_path: Path) -> None:
    first = csv(tmp_path / "a.csv", ROWS[:2500])
    header = "time [s],b command [mm],b measured [mm]"
    others = {
        csv(tmp_path / "early.csv", ROWS[2400:]): "begins 0.2 s before .*a.csv ends",
        csv(tmp_path / "slow.csv", ROWS[2500::2]): "250 Hz, but .*a.csv has 500 Hz",
        csv(tmp_path / "other.csv", ROWS[2500:], header=header): "is not in both files",
        run_file(tmp_path / "run.h5", 2500, COUNT, replace(STREAM, channels=open_recording(first).stream.channels)): (
            "a run file and another file"
        ),
    }
    for path, text in others.items():
        with pytest.raises(RecordingError, match=text):
            open_joined([first, path], Selection())


def test_units_of_the_first_part_are_those_of_all(tmp_path: Path) -> None:
    metres = ROWS[2500:] * [1.0, 1e-3, 1e-3]
    paths = [
        csv(tmp_path / "a.csv", ROWS[:2500]),
        csv(tmp_path / "b.csv", metres, header="time [s],c [m],a measured [m]"),
    ]
    joined = open_joined(paths, Selection())
    np.testing.assert_allclose(content(joined)[2], ROWS[:, 1:], rtol=1e-8)
    assert any("converted from m to mm" in note for note in joined.notes)


def test_the_command_assesses_them_as_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [csv(tmp_path / "a.csv", ROWS[:2500]), csv(tmp_path / "b.csv", ROWS[2600:])]
    assert main(["assess", *map(str, paths), "--join", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["samples"], found["duration_s"]) == (COUNT - 100, COUNT / RATE)
    assert found["pairs"][0]["headline"]["delay_ms"] == pytest.approx(12.0, abs=0.01)
    assert found["warnings"][0]["code"] == "gaps"
    assert "or in another order" in refusal_of(capsys, "assess", *paths[::-1], "--join")


def test_the_report_and_the_window_have_them_as_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [csv(tmp_path / "a.csv", ROWS[:2500]), csv(tmp_path / "b.csv", ROWS[2600:])]
    names = list(map(str, paths))
    assert main(["report", *names, "--join", "-o", str(tmp_path / "run.html")]) == 0
    page = (tmp_path / "run.html").read_text()
    assert "<title>a.csv + b.csv" in page and "b.csv follows a.csv after 0.2 s (100 samples)" in page
    assert "2 files: --join reports them as parts of one run" in refusal_of(capsys, "report", *names)
    assert main(["replay", *names, "--join", "--describe"]) == 0
    described = json.loads(capsys.readouterr().out)
    assert (described["n_samples"], described["duration"]) == (COUNT - 100, COUNT / RATE)
    assert [column["name"] for column in described["columns"]] == ["time", "a command", "a measured"]


def test_events_of_a_column_of_text_follow_each_other(tmp_path: Path) -> None:
    paths = []
    for name, part, word in (("a.csv", slice(0, 2500), "ramp"), ("b.csv", slice(2600, COUNT), "hold")):
        lines = [f"{t:.9g},{c:.9g},{m:.9g},{word}" for t, c, m in ROWS[part]]
        paths.append(tmp_path / name)
        paths[-1].write_text("time [s],a command,a measured,mode\n" + "\n".join(lines) + "\n")
    found = open_joined(paths, Selection()).timed_events()
    assert [(event.detail, event.index, at) for event, at in found] == [
        ("mode: ramp", 0, 0.0),
        ("mode: hold", 2600, pytest.approx(2600 / RATE)),
    ]
